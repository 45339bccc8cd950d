"""Rows of closed windows leave a table with ``keep = "open"``, and its views with EMIT FINAL keep what they showed.

Before a commit of such a table there may be one of its own, which *seals*. It moves the time of the table `freed_name`
up to the first window that is open in some view. With that time the rows before it leave the table, their groups leave
the views, and what leaves a view by that comes into the table of its closed windows (`sealed_name`). So a view is

    its query over the rows that are there, of windows that begin at that time or behind it; and its closed windows

Laws: a commit that seals changes no view, but for closed windows older than ``keep_final``, which leave. What a table
frees is in no open window of any view, so that no later change is of a group that was sealed. A log has the time and
the closed windows; who applies it again frees the same rows.

Cost: O(rows of the table), once its rows are a quarter more than it had behind the last time: O(1) amortised for each.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from livejoin.changes import STRICT, ChangeBatch, read_changes
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.transactions.watermarks import BEGINNING, LEAST, freed_of, freeing, watermark_of
from livejoin.errors import SchemaError
from livejoin.query.bound_query import Query
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Column, SqlType, Table
from livejoin.schema.watermarks import SEALED_AT, is_sealed
from livejoin.sql import names_read
from livejoin.state.table import BaseTable
from livejoin.words import NULL_CODE, Words

logger = logging.getLogger("livejoin")

LEAST_ROWS = 256
"""Rows that come at least before a table looks for rows that it can free."""
_SHARE = 4
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(eq=False)
class Sealing:
    """A commit that seals.

    Args:
        time: The change of the time before which rows are freed.
        names: The views with EMIT FINAL over the table, with the tables of their closed windows.
        watermark: The watermark, which has closed what is sealed.
        oldest: The watermark of the closed windows that stay longest: those before it leave.
        closed: Rows that left the views, by the tables of their closed windows, once it was tried.
    """

    time: ChangeBatch
    names: Mapping[str, str]
    watermark: int
    oldest: int
    closed: dict[str, ChangeBatch] = field(default_factory=dict)

    @property
    def changes(self) -> list[ChangeBatch]:
        """The changes of the commit."""
        return [*self.closed.values(), self.time]

    def note(self, contents: Contents, commit: Commit) -> None:
        """Take note of what leaves the views when the rows are freed; called before that is undone."""
        at = pa.scalar(self.watermark, pa.int64()).cast(pa.timestamp("us"))
        for view, sealed in self.names.items():
            if sealed in self.closed:
                continue
            rows, base = commit[view].drop_columns([CHANGE_TYPE, COMMIT_VERSION]), contents.tables[sealed]
            come = pa.Table.from_arrays([pa.repeat(at, rows.num_rows), *rows.columns], schema=base.table.arrow)
            go = contents.rows_of(base, _ids_before(base, 0, self.oldest))
            kinds = pa.array(["insert"] * come.num_rows + ["delete"] * go.num_rows, pa.string())
            if kinds:
                data = pa.concat_tables([come, go]).append_column(CHANGE_TYPE, kinds)
                self.closed[sealed] = read_changes(base.table, data, False, "never", STRICT)


def sealings(contents: Contents, batches: Sequence[ChangeBatch]) -> Iterator[Sealing]:
    """The commits that seal before a commit of some changes; mostly none."""
    for batch in batches:
        table = batch.table
        if table.keep == "open" and (found := _sealing(contents, table)) is not None:
            yield found


def _sealing(contents: Contents, table: Table) -> Sealing | None:
    base, mark, freed = contents.tables[table.name.lower()], watermark_of(contents, table), freed_of(contents, table)
    before = min(contents.sealed_at.get(table.name.lower(), 0), base.total)
    if mark is None or freed is None or mark.begin == LEAST or base.total - before < max(LEAST_ROWS, before // _SHARE):
        return None
    closings = {
        view.name: view._query.closing
        for view in contents.views.values()
        if view._query.closing is not None and view._query.closing.table == table.name.lower()
    }
    if not closings:
        return None
    to = min(one.first_open(mark.begin) for one in closings.values())
    if to <= freed.begin:
        return None
    time = ChangeBatch(freed.table, (), np.ones(1, np.int64), None, words=np.array([[to]]))
    oldest = LEAST if table.keep_final is None else to - table.keep_final // _MICROSECOND
    return Sealing(time, {name: one.sealed for name, one in closings.items()}, mark.begin, oldest)


def note_sealed(contents: Contents, sealing: Sealing) -> None:
    """Take note that a commit that seals stands."""
    table = freeing(contents, sealing.time.table)
    assert table is not None
    contents.sealed_at[table.name.lower()] = contents.tables[table.name.lower()].total


def with_freed(contents: Contents, changes: Sequence[tuple[ChangeBatch, Words]]) -> Sequence[tuple[ChangeBatch, Words]]:
    """The changes of a commit; of one that seals, behind them the rows that it frees.

    Cost: O(rows of the table) where it seals.
    """
    for batch, versions in changes:
        table = None if batch.is_derived or not batch.length else freeing(contents, batch.table)
        if table is not None and table.watermark is not None:
            words = batch.written() if batch.words is None and batch.written is not None else batch.words
            assert words is not None
            freed = _freed(contents.tables[table.name.lower()], table.watermark.column, int(words[0, 0]))
            return [*changes, (freed, np.full(freed.length, versions[0]))]
    return changes


def _freed(base: BaseTable, column: int, time: int) -> ChangeBatch:
    """The deletion of the rows of a table before a time, each as often as it is there."""
    words = base.values_of(_ids_before(base, column, time))
    gone = -np.ones(words.shape[1], np.int64)
    return ChangeBatch(base.table, (), gone, None, written=lambda: words, is_derived=True)


def _ids_before(base: BaseTable, column: int, time: int) -> Words:
    ids, copies = base.live_rows()
    times = base.columns_of(ids, [column])[0]
    chosen = (times != NULL_CODE) & (times < time)
    return np.repeat(ids[chosen], copies[chosen])


def refuse_open(contents: Contents, sql: str, query: Query, deltas: bool) -> None:
    """Refuse a view that would read rows of closed windows, of a table that frees them.

    Raises:
        SchemaError: The view reads such a table, and has no EMIT FINAL, or no deltas.
    """
    if query.closing is not None:
        if not deltas:
            msg = (
                f"the table {query.closing.table!r} has keep = 'open', and what leaves its views as rows are freed "
                "is found by their deltas; leave deltas=False out"
            )
            raise SchemaError(msg)
        return
    for table in contents.catalog:
        if table.keep == "open" and table.name.lower() in names_read(sql):
            msg = (
                f"table {table.name!r} has keep = 'open': rows leave it when their windows are closed, and a view is "
                "over all rows. Group by window(ts, ...) with EMIT FINAL, and read that view; or leave keep out"
            )
            raise SchemaError(msg)


def with_sealed(contents: Contents, query: Query) -> bool:
    """Add the table of the closed windows of a query, if it needs one that is not there; whether it was added."""
    if query.closing is None or query.closing.sealed in contents.catalog:
        return False
    shown = query.root.types
    columns = (
        Column(SEALED_AT, SqlType("timestamp"), nullable=False),
        *(Column(f"c{i}", t) for i, t in enumerate(shown)),
    )
    contents.add_table(Table(query.closing.sealed, columns))
    return True


def begin_of(contents: Contents, query: Query) -> int | None:
    """The start of the first window that a new view has, if its table has freed rows; of one like it the same."""
    closing = query.closing
    if closing is None:
        return None
    for view in contents.views.values():
        if view._query.closing is not None and view._query.closing.sealed == closing.sealed:
            return view._options.begins
    freed = freed_of(contents, contents.catalog[closing.table])
    if freed is None or freed.begin <= BEGINNING:
        return None
    return closing.offset - (closing.offset - freed.begin) // closing.slide * closing.slide


def drop_unread(contents: Contents) -> None:
    """Drop the tables of closed windows that no view has; those of a kill in CREATE or DROP VIEW are there."""
    read = {view._query.closing.sealed for view in contents.views.values() if view._query.closing is not None}
    for table in list(contents.catalog):
        if is_sealed(table.name) and table.columns[0].name == SEALED_AT and table.name.lower() not in read:
            contents.drop_table(table)


def refuse_forgetting(contents: Contents, old: Query, new: Query) -> None:
    """Refuse another query for a view whose closed windows are all that is left of rows.

    Raises:
        SchemaError: There are such windows, and the other query is not the same text.
    """
    if old.closing is None or (new.closing is not None and new.closing.sealed == old.closing.sealed):
        return
    if contents.tables[old.closing.sealed].rows:
        msg = (
            f"the view has closed windows whose rows table {old.closing.table!r} has freed, so that another query has "
            "no rows for them; create another view, or drop this one and its closed windows"
        )
        raise SchemaError(msg)
