"""Changes that speak of rows that are there, as changes that say themselves what they bring.

A stream may bring ``truncate``, a deletion of all rows, and rows that lack values. The column `WITHOUT` says why, as
JSON by column: ``unchanged``, it is the value of the row that the change replaces; ``absent``, the column was not there
then, and nobody knows what the row has in it; ``gone``, the column is not there any more; or ``=`` and a text that is
no value of the column's type. Columns that are not kept do not matter.

Law: applied one after the other, the changes that come out do what those that go in say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database import Database
from livejoin.database.base_rows import all_rows, keys_of, rows_with
from livejoin.database.refusals import Refusal
from livejoin.errors import ChangeFormatError, StateError
from livejoin.schema import ABSENT, CHANGE_TYPE, GONE, TEXT, UNCHANGED, WITHOUT, Table

_TRUNCATE = "truncate"
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_GOING = ("delete", _BEFORE)

_Flags = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Settled:
    """Changes, and those that are refused.

    Args:
        changes: The others, without `WITHOUT`.
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
        StateError: A column that is kept was not there when a row was changed, or nobody has an unchanged value.

    Cost: little where no row lacks a value and none is a truncation; else linear in the changes, and a look at an
    index for each row that keeps a value; for a truncation O(rows of the table).
    """
    if WITHOUT not in changes.column_names:
        return Settled(changes)
    whole = np.asarray(pc.fill_null(pc.equal(changes.column(CHANGE_TYPE), _TRUNCATE), False))
    first = int(np.flatnonzero(whole)[-1]) + 1 if whole.any() else 0
    rest = changes.slice(first)
    lacking = _lacking(table, rest)
    rest = rest.drop_columns([WITHOUT])
    refused = [Refusal(table.name, first + row, _no_value(table, *what), False) for row, what in lacking.texts.items()]
    if refused:
        here = np.setdiff1d(np.arange(rest.num_rows), [*lacking.texts])
        rest = rest.take(here)
        lacking = _Lacking({name: flags[here] for name, flags in lacking.unchanged.items()})
    if any(flags.any() for flags in lacking.unchanged.values()):
        rest = _filled(database, table, rest, lacking.unchanged)
    if first:
        gone = all_rows(database, table.name)
        gone = gone.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("delete"), gone.num_rows))
        rest = pa.concat_tables([gone.select(rest.column_names).cast(rest.schema), rest])
    return Settled(rest, tuple(refused))


def complete(table: Table, changes: pa.Table) -> pa.Table:
    """The changes where nobody knows the rows that are there.

    Raises:
        ChangeFormatError: They speak of such rows, or have a text that is no value.
        StateError: As `settled`.
    """
    if WITHOUT not in changes.column_names:
        return changes
    lacking = _lacking(table, changes)
    for name in lacking.unchanged:
        msg = (
            f"column {name!r} of an updated row is large and was not changed, so that it was not sent, and cells do "
            "not look up what it was: ALTER TABLE ... REPLICA IDENTITY FULL lets it be sent, or run the job with "
            "mode='embedded'"
        )
        raise ChangeFormatError(msg, table.name)
    for what in lacking.texts.values():
        raise ChangeFormatError(_no_value(table, *what), table.name)
    if pc.any(pc.equal(changes.column(CHANGE_TYPE), _TRUNCATE)).as_py():
        msg = (
            "it was truncated, or what it holds is read anew, and cells do not delete all rows of a table: use DELETE, "
            "or mode='embedded'; to go on, start over with an empty checkpoint and another slot"
        )
        raise ChangeFormatError(msg, table.name)
    return changes.drop_columns([WITHOUT])


def _lacking(table: Table, changes: pa.Table) -> _Lacking:
    """What rows lack; of one that goes by its key, only the key counts."""
    found = _Lacking()
    said = changes.column(WITHOUT)
    rows = np.flatnonzero(np.asarray(said.is_valid()))
    names = {column.name for column in table.columns}
    keys = {table.columns[position].name for position in table.primary_key}
    kinds = changes.column(CHANGE_TYPE).take(rows).to_pylist()
    for row, text, kind in zip(rows.tolist(), said.take(rows).to_pylist(), kinds, strict=True):
        for name, why in json.loads(text).items():
            if name not in (keys if keys and kind in _GOING else names):
                continue
            if why == ABSENT:
                raise StateError(_absent(table, name))
            if why == GONE:
                raise StateError(_gone(table, name))
            if why == UNCHANGED:
                found.unchanged.setdefault(name, np.zeros(changes.num_rows, np.bool_))[row] = True
            else:
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


def _filled(database: Database, table: Table, changes: pa.Table, unchanged: Mapping[str, _Flags]) -> pa.Table:
    """The changes of a table with a key, with the values that they leave as they were.

    The row before is that of the last change of the same key, or the one that is there. Where an update changes the key
    itself, it is that of the key that goes, which stands right before.
    """
    keys = keys_of(database, table.name, changes)
    count = changes.num_rows
    kinds = np.asarray(changes.column(CHANGE_TYPE))
    own = np.arange(count)
    by = np.where((kinds == _AFTER) & (np.roll(kinds, 1) == _BEFORE) & (own > 0), own - 1, own)
    before = _last_of_same_key(keys)[by]
    for name, flags in unchanged.items():
        source = _followed(np.where(flags & (before >= 0), before, own))
        rows, places = rows_with(database, table.name, keys[:, by[source]])
        values = changes.column(name).combine_chunks()
        there = rows.column(name).combine_chunks().cast(values.type)
        taken = pa.concat_arrays([values, there]).take(
            pa.array(np.where(flags[source], count + places, source), mask=flags[source] & (places < 0))
        )
        lost = np.flatnonzero(flags & flags[source] & (places < 0))
        lost = np.append(lost, np.flatnonzero(flags & ~flags[source] & np.isin(kinds[source], _GOING)))
        if lost.size:
            msg = (
                f"column {name!r} of an updated row was not changed and not sent, and there is no row with its key: a "
                "change was left out before. Start over with an empty checkpoint and another slot"
            )
            raise StateError(f"table {table.name!r}: {msg}")
        changes = changes.set_column(changes.column_names.index(name), changes.field(name), taken)
    return changes


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
