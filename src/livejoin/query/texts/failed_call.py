"""A call of a function that has no value."""

from __future__ import annotations

LONGEST = 1 << 26
"""Characters of the longest string that is made."""


class FailedCall(Exception):
    """A call of a function has no value; caught where results are remembered, and never seen by users.

    Args:
        code: The error's code (`livejoin.kernels.evaluate.layout`).
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
