"""Windows by range: which rows are too late, asked before the rows are applied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.engine import Database
from livejoin.database.transactions.guard import alone
from livejoin.schema import Table
from livejoin.state.codec import fixed_words
from livejoin.words import Words


@alone
def too_late(database: Database, name: str, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows are too old for the window of a table.

    Args:
        database: The database of the table.
        name: The table, which has a window by range.
        rows: Rows whose first columns are those of the table, by position; the time is nowhere NULL.

    Cost: O(rows).
    """
    base = database._contents.tables[name.lower()]
    late: npt.NDArray[np.bool_] = _times(base.table, rows) < base.begin
    return late


@alone
def moves(database: Database, name: str, rows: pa.Table) -> bool:
    """Whether one of some rows is newer than all before, so that the table's window moves. See `too_late`."""
    base = database._contents.tables[name.lower()]
    assert base.table.window_range is not None
    reach = base.table.window_range.width - 1
    return int(_times(base.table, rows).max()) - reach > base.begin


def _times(table: Table, rows: pa.Table) -> Words:
    """The words of the rows' times."""
    assert table.window_range is not None
    place = table.window_range.column
    kind = table.columns[place].type
    words = np.empty(rows.num_rows, np.int64)
    begin = 0
    for chunk in rows.column(place).cast(kind.arrow).chunks:
        fixed_words(chunk, kind, words[begin : begin + len(chunk)])
        begin += len(chunk)
    return words
