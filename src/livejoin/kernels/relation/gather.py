"""Some columns of given rows; nothing else is read, as rows are wide and most readers want little of them."""

from __future__ import annotations

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Matrix, Values
from livejoin.kernels.relation.buffers import TableBuffers, opened


@inlined
def _gather(t: TableBuffers, columns: Line, number: int, rows: Line, n: int, values: Values) -> None:
    for i in range(n):
        at = rows[i] * t.stride + t.first
        for c in range(number):
            values[c * n + i] = t.words[at + columns[c]]


@kernel
def gather(table: Addresses, columns: Line, rows: Line, values: Matrix) -> None:
    """Copy columns of rows.

    Args:
        table: The buffers of the table.
        columns: int64, which columns.
        rows: int64, ids of rows.
        values: int64 of shape (columns, rows), written.

    Cost: O(columns) a row.
    """
    _gather(opened(table), view(columns), columns.shape[0], view(rows), rows.shape[0], view(values))
