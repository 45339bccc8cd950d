"""Sizes of results, which may be beyond 64 bits though the state is small."""

from __future__ import annotations

from livejoin.errors import CapacityError

MAX_COUNT = 9.0e18
"""From here on a size is told about, as a float."""


def exactly(size: int | float) -> int:
    """A size that must be exact.

    Raises:
        CapacityError: It is beyond 64 bits.
    """
    if isinstance(size, float) or size > MAX_COUNT:
        msg = f"the result has about {float(size):.3g} rows, more than 64 bits count"
        raise CapacityError(msg)
    return size
