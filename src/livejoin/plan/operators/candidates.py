"""How many rows of an order are its candidates: those that are kept for the first ones, where all can be read again.

They are a constant share of the rows, so that reading all again costs O(1) for each candidate that has gone since.
"""

from __future__ import annotations

_LEAST = 1 << 12  # candidates behind those that are needed

SHARE = 16
"""Of so many rows one is a candidate."""


def wanted(rows: int, needed: int) -> int:
    """How many of the rows shall be candidates, where so many are needed.

    >>> wanted(1_000_000, 10)
    62510
    """
    return needed + max(_LEAST, rows // SHARE)
