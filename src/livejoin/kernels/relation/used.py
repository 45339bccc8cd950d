"""Which codes of a dictionary the rows of a table hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Addresses, Line
from livejoin.kernels.relation.buffers import opened
from livejoin.words import NULL_CODE

AT_ONCE = 8
"""Columns that one call goes through: a bit of a byte for each."""

Marks = npt.NDArray[np.uint8]


@kernel
def mark_used(table: Addresses, ids: Line, columns: Line, bits: Marks, marks: Marks, counts: Line) -> int:
    """Mark the codes in some columns of rows; the first that is none of the dictionary, or -1.

    Args:
        table: The buffers of the table.
        ids: The rows.
        columns: Which columns, at most `AT_ONCE`.
        bits: Of each column, another one for each.
        marks: A byte a code of the dictionary; the bits of the columns that hold it are set.
        counts: For each column the number of codes whose bit was not set before; added to.

    Cost: O(rows * columns).
    """
    t = opened(table)
    for id_ in ids:
        at = id_ * t.stride + t.first
        for place in range(columns.shape[0]):
            code = int(t.words[at + columns[place]])
            if code == NULL_CODE:
                continue
            if code < 0 or code >= marks.shape[0]:
                return code
            if marks[code] & bits[place] == 0:
                marks[code] |= bits[place]
                counts[place] += 1
    return -1
