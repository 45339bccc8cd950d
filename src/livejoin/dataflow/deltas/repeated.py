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
    row, given = 0, 0  # the first row that was not given wholly, and how often it was
    while row < weights.shape[0]:
        left = weights[row : row + max_rows].copy()
        left[0] -= given
        ends = np.cumsum(np.minimum(left, max_rows))  # the multiplicities themselves may add up to more than 64 bits
        places = np.searchsorted(ends, np.arange(min(int(ends[-1]), max_rows)), side="right")
        yield table.take(pa.array(row + places))
        last = int(places[-1])
        times = int(np.count_nonzero(places == last)) + (given if last == 0 else 0)
        whole = times == int(weights[row + last])
        row, given = row + last + whole, 0 if whole else times
