"""The watermarks of tables in a commit: which changes are late, and how far a watermark moves.

The watermark of a table is the one row of a table of its own (`livejoin.schema.watermarks`), which changes in the
commits of the table. So views read it, and folders, snapshots, undo and previews have it, as any other row. A log has
all changes, also those that are late: who applies it again leaves out the same ones.

Law: what is left out depends on the rows and the watermark before the commit alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from livejoin.catalog import tables_beside
from livejoin.changes import ChangeBatch
from livejoin.changes.batch import Flags
from livejoin.database.contents import Contents
from livejoin.database.transactions.staging import Granularity, TableInput
from livejoin.errors import ChangeFormatError, ChangeValueError, SchemaError
from livejoin.kernels.relation.staging import AT_ONCE
from livejoin.schema import SqlType, Table
from livejoin.schema.watermarks import (
    SEALED_AT,
    freed_name,
    freeing_name,
    is_sealed,
    watched_name,
    watermark_name,
)
from livejoin.sql import ColumnChange, RenameTable
from livejoin.state.table import BaseTable, Staged
from livejoin.words import NULL_CODE, Words

LEAST = -(1 << 63)
"""The time of a watermark that has no row yet."""
EPOCH = dt.datetime(1970, 1, 1)
BEGINNING = (dt.datetime.min - EPOCH) // dt.timedelta(microseconds=1)
"""The time before which nothing is freed, as no time that a row has is before it."""


class LateChanges(ChangeValueError):
    """Changes of a time before the watermark of their table.

    Attributes:
        rows: The positions of all of them among the changes of the table, ascending.
    """

    rows: Words


def watermark_of(contents: Contents, table: Table) -> BaseTable | None:
    """The table that has the watermark of a table; None if it has none."""
    return None if table.watermark is None else contents.tables.get(watermark_name(table.name))


def freed_of(contents: Contents, table: Table) -> BaseTable | None:
    """The table that has the time before which rows of a table are freed; None if it frees none."""
    return contents.tables.get(freed_name(table.name)) if table.keep == "open" else None


def freeing(contents: Contents, table: Table) -> Table | None:
    """The table whose rows are freed before the time that a table has; None if it has none."""
    name = freeing_name(table.name)
    if name is None or name not in contents.catalog or contents.catalog[name].keep == "all":
        return None
    return contents.catalog[name]


def _kept_for(contents: Contents, table: Table) -> str:
    """What a table has that commits of another one change; empty if it is any table."""
    if (owner := watched(contents, table)) is not None:
        return f"the watermark of {owner.name!r}"
    if (owner := freeing(contents, table)) is not None:
        return f"the time before which {owner.name!r} has freed its rows"
    if is_sealed(table.name) and table.columns[0].name == SEALED_AT:
        return "the closed windows of a view whose table frees its rows"
    return ""


def watched(contents: Contents, table: Table) -> Table | None:
    """The table whose watermark a table has; None if it has none."""
    name = watched_name(table.name)
    if name is None or name not in contents.catalog or contents.catalog[name].watermark is None:
        return None
    return contents.catalog[name]


def refuse_watermark_name(contents: Contents, table: Table) -> None:
    """Refuse a table of which the watermark has no name, as another table or view has it.

    Raises:
        SchemaError: The name is taken.
    """
    if table.watermark is not None:
        contents.refuse_taken(watermark_name(table.name))
        if table.keep == "open":
            contents.refuse_taken(freed_name(table.name))


def add_watermarks(contents: Contents, tables: Iterable[Table]) -> None:
    """Add the tables of the watermarks that are missing; those of a kill in CREATE TABLE are."""
    for table in tables:
        for beside in tables_beside(table):
            if beside.name not in contents.tables:
                contents.add_table(beside)


def refuse_altered_watermark(contents: Contents, table: Table, change: ColumnChange) -> None:
    """Refuse to alter the table of a watermark, and to rename the table that it is named after.

    Raises:
        SchemaError: The table is such.
    """
    if what := _kept_for(contents, table):
        msg = f"the table {table.name!r} has {what}; it is not altered"
        raise SchemaError(msg)
    if table.watermark is not None and isinstance(change, RenameTable):
        msg = (
            f"table {table.name!r} has a watermark, in a table that is named after it, which views read; it is not "
            "renamed: create another table, and insert the rows"
        )
        raise SchemaError(msg)


def refuse_dropped_watermark(contents: Contents, table: Table) -> None:
    """Refuse to drop the table of a watermark.

    Raises:
        SchemaError: The table is such.
    """
    if what := _kept_for(contents, table):
        msg = f"the table {table.name!r} has {what}, with which it comes and goes"
        raise SchemaError(msg)


def refuse_given_watermark(contents: Contents, table: Table) -> None:
    """Refuse changes of the table of a watermark, which a user gives.

    Raises:
        ChangeFormatError: The table is such.
    """
    if what := _kept_for(contents, table):
        msg = f"the table has {what}, which commits of that table move; nobody else changes it"
        raise ChangeFormatError(msg, table.name)


def with_watermarks(
    contents: Contents, changes: Sequence[tuple[ChangeBatch, Words]], granularity: Granularity
) -> Sequence[tuple[ChangeBatch, Words]]:
    """The changes of a commit, and behind them no change yet of each watermark that it may move.

    Raises:
        ChangeFormatError: Each change has a version of its own, and a table has a watermark.
    """
    marks = [(batch.table, base) for batch, _ in changes if (base := watermark_of(contents, batch.table)) is not None]
    given = {batch.table.name for batch, _ in changes}
    for batch, _ in changes:  # the first commit of a table brings the time before which nothing is freed yet
        base = freed_of(contents, batch.table)
        if base is not None and base.begin == LEAST and base.table.name not in given:
            marks.append((batch.table, base))
    if not marks:
        return changes
    if granularity == "change":
        msg = (
            "the table has a watermark, which moves at the end of a commit, and a replay makes a version of each "
            "change; give the changes by db.apply, or replay them with granularity='commit'"
        )
        raise ChangeFormatError(msg, marks[0][0].name)
    nothing = np.empty(0, np.int64)
    return [*changes, *((_inserted(base, nothing), nothing) for _, base in marks)]


def _inserted(base: BaseTable, times: Words) -> ChangeBatch:
    ones = np.ones(times.shape, np.int64)
    return ChangeBatch(base.table, (), ones, None, words=times[np.newaxis], is_derived=True)


def in_time(contents: Contents, given: TableInput, *, is_completed: bool = False) -> TableInput:
    """The changes of a table without those that are late and skipped.

    Args:
        contents: The database's contents.
        given: The changes, of which some may leave columns out.
        is_completed: Whether these columns have values now.

    Raises:
        LateChanges: There are late ones, and the table refuses them.

    Cost: O(1) expected for each change; O(n log n) for n of them where some are late and others are deletions.
    """
    batch, base = given.batch, watermark_of(contents, given.table)
    if base is None or not batch.length or batch.is_derived:
        return given
    mark = max(base.begin, contents.heard.get(given.table.name.lower(), LEAST))
    if mark == LEAST:
        return given
    late = _late(given, mark, is_completed)
    if not late.any():
        return given
    if batch.table.late == "refuse":
        raise _refusal(contents, batch, base.table.columns[0].type, mark, np.flatnonzero(late))
    kept = np.flatnonzero(~late)
    taken, found = batch.take(kept), np.ascontiguousarray(given.words[:, kept])
    taken.origin = batch.origins(kept)
    if batch.written is not None:
        taken.written = lambda: found
    places = kept if given.places_in_whole is None else given.places_in_whole[kept]
    selections = {} if batch.replaces is None else given.selections
    return TableInput(
        given.base, taken, found, given.versions[kept], selections, given.fresh, given.whole or given, places
    )


def _late(given: TableInput, mark: int, is_completed: bool) -> Flags:
    """Which changes are of a time before a watermark: by themselves, or by the row with their key.

    In a table with a key, a deletion with a late row of its key behind it in the commit is part of an update that is
    late.
    """
    table, batch, words = given.table, given.batch, given.words
    assert table.watermark is not None
    column = table.watermark.column
    times = words[column]
    late: Flags = (times != NULL_CODE) & (times < mark)
    if batch.by_key and column not in table.primary_key:
        late &= batch.weights > 0  # a deletion says the key alone
    if batch.given is not None and not is_completed:
        late &= batch.given[column]  # else it has the time of the row with its key, or of a change in time
    if not table.primary_key:
        return late
    keys = words[list(table.primary_key)]
    comes_late = late & (batch.weights > 0)
    if comes_late.any() and (batch.weights < 0).any():
        late |= _is_behind(keys, batch, comes_late) & (batch.weights < 0)
    for begin in range(0, batch.length, AT_ONCE):
        there = given.base.find_key(np.ascontiguousarray(keys[:, begin : begin + AT_ONCE]))
        known = np.flatnonzero(there >= 0)
        old = given.base.columns_of(there[known], [column])[0]
        late[begin + known] |= (old != NULL_CODE) & (old < mark)
    return late


def _is_behind(keys: Words, batch: ChangeBatch, flags: Flags) -> Flags:
    """Whether the next change of each one's key has a flag; where changes have no order, whether any other one has."""
    place = np.arange(batch.length) if batch.sequence is None else batch.sequence
    first = place if batch.by_key else flags  # those with a flag are the last of their keys
    order = np.lexsort((first, *keys[::-1]))
    found, of_key = np.zeros(batch.length, np.bool_), keys[:, order]
    is_same = (of_key[:, 1:] == of_key[:, :-1]).all(axis=0)
    if batch.by_key:
        found[order[:-1]] = is_same & flags[order[1:]]
        return found
    last = np.flatnonzero(np.append(~is_same, True))  # of each key
    found[order] = flags[order][last[np.searchsorted(last, np.arange(batch.length))]]
    return found


def _refusal(contents: Contents, batch: ChangeBatch, kind: SqlType, mark: int, rows: Words) -> LateChanges:
    time = contents.codec.decode(np.array([mark]), kind).cast(pa.string())[0].as_py()
    assert batch.table.watermark is not None
    name = batch.table.columns[batch.table.watermark.column].name
    msg = (
        f"the change is late: its {name}, or that of the row with its key, is before the watermark {time}; "
        "on_bad_rows='dead_letter' leaves such changes out and returns them, a table with late='skip' counts them"
    )
    error = LateChanges(msg, batch.table.name, int(rows[0]))
    error.rows = rows
    return error


def with_late_counted(given: TableInput, whole: TableInput, done: Staged) -> Staged:
    """What a staging did, with the changes that were left out of all of them before it as late ones."""
    late = done.late + whole.batch.length - given.batch.length
    given.base.note_late(late)
    return replace(done, late=late)


def moved_on(contents: Contents, given: TableInput, stagings: Mapping[str, Staged], version: int) -> TableInput:
    """The changes of a table; of a watermark one row if it moves by what a commit does to its table.

    Args:
        contents: The database's contents.
        given: The changes, none yet of a watermark.
        stagings: The stagings of the tables before it, by their names in lower case.
        version: The version of the commit.

    Cost: O(rows that come).
    """
    owner = watched(contents, given.table)
    if owner is None or owner.watermark is None or owner.name.lower() not in stagings:
        is_first = freeing(contents, given.table) is not None and given.base.begin == LEAST
        return _with_time(contents, given, BEGINNING, version) if is_first and given.batch.is_derived else given
    staged = stagings[owner.name.lower()]
    base = contents.tables[owner.name.lower()]
    times = base.columns_of(staged.rows[staged.weights > 0], [owner.watermark.column])[0]
    times = times[times != NULL_CODE]
    newest = int(times.max()) - owner.watermark.delay if times.size else LEAST
    if newest <= given.base.begin:
        return given
    return _with_time(contents, given, newest, version)


def _with_time(contents: Contents, given: TableInput, time: int, version: int) -> TableInput:
    words = np.array([time])
    selections = contents.graph.select(given.table.name, words[np.newaxis], True)
    return TableInput(given.base, _inserted(given.base, words), words[np.newaxis], np.array([version]), selections)
