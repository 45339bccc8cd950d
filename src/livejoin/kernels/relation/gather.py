"""Some columns of given rows; nothing else is read, as rows are wide and most readers want little of them."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix, Offsets, RowWords


@kernel
def gather(table: RowWords, stride: int, offsets: Offsets, rows: Line, values: Matrix) -> None:
    """Copy columns of rows.

    Args:
        table: The table's words.
        stride: Words a row.
        offsets: int64, offsets of the columns in a row.
        rows: int64, ids of rows.
        values: int64 of shape (columns, rows), written.

    Cost: O(columns) a row.
    """
    for i in range(rows.shape[0]):
        at = rows[i] * stride
        for c in range(offsets.shape[0]):
            values[c, i] = table[at + offsets[c]]
