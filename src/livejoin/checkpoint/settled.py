"""Changes that speak of rows that are there, as changes that say themselves what they bring; others are refused.

A stream may bring ``truncate``, a deletion of all rows, and rows that lack values. The column `WITHOUT` says why, as
JSON by column: ``unchanged``, it is the value of the row that the change replaces; ``absent``, the column was not there
then, and nobody knows what the row has in it; ``gone``, the column is not there any more; or ``=`` and a text that is
no value of the column's type. Columns that are not kept do not matter.

Law: applied one after the other, the changes that come out do what those that go in say.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.malformed import TRUNCATE, malformed, of_changes_alone
from livejoin.database import Database
from livejoin.database.base_rows import all_rows, keys_of, rows_with
from livejoin.database.refusals import Refusal
from livejoin.errors import ChangeError, ChangeFormatError, ChangeValueError, StateError
from livejoin.schema import ABSENT, CHANGE_TYPE, GONE, TEXT, UNCHANGED, WITHOUT, Table

_BEFORE, _AFTER = "update_preimage", "update_postimage"
_GOING = ("delete", _BEFORE)

_Flags = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Settled:
    """Changes, and those that are refused.

    Args:
        changes: The others, without `WITHOUT` and what else is not of changes.
        refused: Why, with positions among those that came.
    """

    changes: pa.Table
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, eq=False)
class _Lacking:
    """What is not there of the columns that count.

    Args:
        unchanged: For a column the rows that keep the value that was there.
        texts: For a row the first text that is no value, and its column.
    """

    unchanged: dict[str, _Flags] = field(default_factory=dict)
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)


def settled(database: Database, table: Table, changes: pa.Table) -> Settled:
    """What the changes of a table come to.

    Args:
        database: As it is before them.
        table: The table, with the columns that are kept.
        changes: They have these columns.

    Raises:
        StateError: A column that is kept was not there when a row was changed.

    Cost: as `malformed` where no row lacks a value and none is a truncation; else linear in the changes, and a look at
    an index for each row that keeps a value; for a truncation O(rows of the table).
    """
    if WITHOUT not in changes.column_names:
        return to_settle(table, changes)
    first = _behind_truncation(changes)
    rest = changes.slice(first)
    lacking = _lacking(table, rest)
    errors = _errors(table, rest, lacking)
    rest, here = _without(of_changes_alone(rest).drop_columns([WITHOUT]), errors)
    if lacking.unchanged:
        unchanged = {name: flags[here] for name, flags in lacking.unchanged.items()}
        rest, lost = _filled(database, table, rest, unchanged, here, is_empty=first > 0)
        errors |= {int(here[row]): ChangeValueError(_lost(name)) for row, name in lost.items()}
        rest, _ = _without(rest, lost)
    if first:
        gone = all_rows(database, table.name)
        gone = gone.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("delete"), gone.num_rows))
        rest = pa.concat_tables([gone.select(rest.column_names).cast(rest.schema), rest])
    return Settled(rest, _refusals(table, errors, first))


def to_settle(table: Table, changes: pa.Table) -> Settled:
    """Changes whose tables are elsewhere, each part of them where `settled` is called with it, but for those refused.

    They keep `WITHOUT` only where it says something. A key whose changed row lacks a value is refused: the row before
    may be in another place.

    Raises:
        StateError: As `settled`.
    """
    if WITHOUT not in changes.column_names:
        errors = _errors(table, changes, _Lacking())
        rest, _ = _without(of_changes_alone(changes), errors)
        return Settled(rest, _refusals(table, errors, 0))
    first = _behind_truncation(changes)
    rest = changes.slice(first)
    lacking = _lacking(table, rest)
    errors = _errors(table, rest, lacking)
    moves = np.asarray(pc.fill_null(pc.equal(rest.column(CHANGE_TYPE), _AFTER), False))
    for name, flags in lacking.unchanged.items():
        errors |= {row: ChangeValueError(_moved(name)) for row in np.flatnonzero(flags & moves).tolist()} | errors
    changes, _ = _without(of_changes_alone(changes), [first + row for row in errors])
    if not first and not lacking.unchanged:
        changes = changes.drop_columns([WITHOUT])
    return Settled(changes, _refusals(table, errors, first))


def _errors(table: Table, changes: pa.Table, lacking: _Lacking) -> dict[int, ChangeError]:
    """The changes that say nothing, by their places, each with the reason."""
    values: dict[int, ChangeError] = {
        row: ChangeValueError(_no_value(table, *what)) for row, what in lacking.texts.items()
    }
    return values | {row: ChangeFormatError(why) for row, why in malformed(table, changes).items()}


def _refusals(table: Table, errors: Mapping[int, ChangeError], first: int) -> tuple[Refusal, ...]:
    """Refusals of changes that stand behind so many others, in their order, with errors that say where."""
    return tuple(
        Refusal(table.name, first + row, type(error)(error.message, table.name, first + row))
        for row, error in sorted(errors.items(), key=lambda one: one[0])
    )


def truncations(changes: pa.Table) -> _Flags:
    """Which of some changes delete all rows of their table."""
    if WITHOUT not in changes.column_names:
        return np.zeros(changes.num_rows, np.bool_)
    return np.asarray(pc.fill_null(pc.equal(changes.column(CHANGE_TYPE), TRUNCATE), False))


def _behind_truncation(changes: pa.Table) -> int:
    """How many changes do not count any more, since all rows are deleted behind them."""
    found = np.flatnonzero(truncations(changes))
    return int(found[-1]) + 1 if found.size else 0


def _without(changes: pa.Table, rows: Collection[int]) -> tuple[pa.Table, _Places]:
    """The changes but for some, and which they are."""
    here = np.arange(changes.num_rows)
    if not rows:
        return changes, here
    here = np.setdiff1d(here, [*rows])
    return changes.take(here), here


def _lacking(table: Table, changes: pa.Table) -> _Lacking:
    """What rows lack; of one that goes by its key, only the key counts."""
    found = _Lacking()
    said = changes.column(WITHOUT)
    rows = np.flatnonzero(np.asarray(said.is_valid()))
    names = {column.name for column in table.columns}
    keys = {table.columns[position].name for position in table.primary_key}
    goes = np.isin(np.asarray(changes.column(CHANGE_TYPE).take(rows)), _GOING)
    texts = said.take(rows).combine_chunks().dictionary_encode()
    codes = np.asarray(texts.indices)
    for code, text in enumerate(texts.dictionary.to_pylist()):
        for name, why in json.loads(text).items():
            mine = rows[(codes == code) & ~(goes & (name not in keys) & bool(keys))] if name in names else rows[:0]
            if not mine.size:
                continue
            if why == ABSENT:
                raise StateError(_absent(table, name))
            if why == GONE:
                raise StateError(_gone(table, name))
            if why == UNCHANGED:
                found.unchanged.setdefault(name, np.zeros(changes.num_rows, np.bool_))[mine] = True
            else:
                for row in mine.tolist():
                    found.texts.setdefault(row, (name, why.removeprefix(TEXT)))
    return found


def _no_value(table: Table, name: str, text: str) -> str:
    kind = table.columns[table.position(name)].declared
    return (
        f"column {name!r} has the value {text:.60}, which {kind} cannot hold. If its type has become a wider one, "
        "start the query again. Else let no view read the column, or let such changes be left out: "
        'on_bad_rows = "skip" or "dead_letter"'
    )


def _absent(table: Table, name: str) -> str:
    return (
        f"table {table.name!r}: a row was changed before the column {name!r} came, whose value in it was computed (by "
        "a default that is not constant, or as an identity) and is not in the log. Let no view read it. To have its "
        "values, add another column without a default, start with views that read that one, and copy: UPDATE t SET "
        "new = old"
    )


def _gone(table: Table, name: str) -> str:
    return (
        f"table {table.name!r}: the column {name!r} of the stream is not there any more. Where it was renamed, start "
        f'the query again with its new name: columns={{"{table.name}": {{"{name}": "..."}}}} of read_postgres, or '
        "columns of the table in a pipeline file. Where it was dropped, start it with views that do not read it"
    )


def _lost(name: str) -> str:
    return (
        f"column {name!r} of an updated row is large and was not changed, so that it was not sent, and there is no row "
        f"with its key: a change was left out before. {_send_again(name)}"
    )


def _moved(name: str) -> str:
    return (
        f"column {name!r} of a row whose key was changed is large and was not changed itself: it was not sent, and "
        "another cell may have the row of before; ALTER TABLE ... REPLICA IDENTITY FULL lets later changes have it. "
        f"{_send_again(name)}"
    )


def _send_again(name: str) -> str:
    return (
        'Let no view read the column. Or let such changes be left out, on_bad_rows = "skip" or "dead_letter", and send '
        f"the row again, as by UPDATE t SET {name} = {name} || ''"
    )


def _filled(
    database: Database,
    table: Table,
    changes: pa.Table,
    unchanged: Mapping[str, _Flags],
    numbers: _Places,
    is_empty: bool,
) -> tuple[pa.Table, dict[int, str]]:
    """The changes of a table with a key, with the values that they leave as they were, and rows whose value is lost.

    The row before is that of the last change of the same key, or the one that is there. Where an update changes the key
    itself, it is that of the key that goes, which stands right before.

    Args:
        database: As it is before.
        table: The table.
        changes: The changes.
        unchanged: For a column the rows that keep the value that was there.
        numbers: The place that each change had among those that came.
        is_empty: Whether no row is there any more.
    """
    keys = keys_of(database, table.name, changes)
    count = changes.num_rows
    kinds = np.asarray(changes.column(CHANGE_TYPE))
    own = np.arange(count)
    moves = kinds == _AFTER
    is_pair = (np.diff(numbers, prepend=-2) == 1) & (np.roll(kinds, 1) == _BEFORE)
    by = np.where(moves, own - 1, own)
    before = np.where(moves & ~is_pair, -1, _last_of_same_key(keys)[by])
    lost: dict[int, str] = {}
    for name, flags in unchanged.items():
        source = _followed(np.where(flags & (before >= 0), before, own))
        rows, places = rows_with(database, table.name, keys[:, by[source]])
        if is_empty:
            places = np.full_like(places, -1)
        places = np.where((moves & ~is_pair)[source], -1, places)
        values = changes.column(name).combine_chunks()
        there = rows.column(name).combine_chunks().cast(values.type)
        is_kept = flags[source] & (places >= 0)
        taken = pa.concat_arrays([values, there]).take(pa.array(np.where(is_kept, count + places, source)))
        is_lost = flags & np.where(flags[source], places < 0, np.isin(kinds[source], _GOING))
        lost |= dict.fromkeys(np.flatnonzero(is_lost).tolist(), name)
        changes = changes.set_column(changes.column_names.index(name), changes.field(name), taken)
    return changes, lost


def _last_of_same_key(keys: npt.NDArray[np.int64]) -> _Places:
    """For each change the one before it with its key; -1 for the first."""
    count = keys.shape[1]
    order = np.lexsort((np.arange(count), *keys))
    sorted_keys = keys[:, order]
    same = np.append(False, (sorted_keys[:, 1:] == sorted_keys[:, :-1]).all(axis=0))
    found = np.full(count, -1)
    found[order[1:]] = np.where(same[1:], order[:-1], -1)
    return found


def _followed(source: _Places) -> _Places:
    """Where the way from each place ends; every step goes back, or stays."""
    while True:
        further = source[source]
        if np.array_equal(further, source):
            return source
        source = further
