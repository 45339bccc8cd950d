"""Sorting the rows of a result by the ORDER BY of its query, for reading; see `livejoin.query.bound_query.Query`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.query.orders import SortKey


def sorted_rows(rows: pa.Table, order: Sequence[SortKey]) -> pa.Table:
    """Sort rows by an order. NaN is the greatest number; strings are compared by their bytes.

    Cost: O(rows * log(rows)) for each key; the rows once more in memory.
    """
    columns: list[pa.ChunkedArray] = []
    keys: list[tuple[str, Literal["ascending", "descending"]]] = []

    def add(column: pa.ChunkedArray, descending: bool) -> None:
        keys.append((str(len(columns)), "descending" if descending else "ascending"))
        columns.append(column)

    for key in order:
        column = rows.column(key.column)
        add(pc.is_null(column), key.nulls_first)
        if pa.types.is_floating(column.type):
            add(pc.fill_null(pc.is_nan(column), False), key.descending)
            column = pc.if_else(pc.is_nan(column), 0.0, column).cast(column.type)
        elif pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        add(column, key.descending)
    placed = pc.sort_indices(pa.table(columns, names=[name for name, _ in keys]), sort_keys=keys)
    return rows.take(placed)
