"""Rows with multiplicities as rows that stand there as often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from livejoin.words import Words


def repeated(table: pa.Table, weights: Words, max_rows: int) -> Iterator[pa.Table]:
    """Each row as often as its weight says, in tables of at most ``max_rows`` rows."""
    if weights.size == 0 or int(weights.max()) == 1:
        yield table
        return
    ends = np.cumsum(weights)
    for begin in range(0, int(ends[-1]), max_rows):
        wanted = np.arange(begin, min(begin + max_rows, int(ends[-1])))
        yield table.take(pa.array(np.searchsorted(ends, wanted, side="right")))
