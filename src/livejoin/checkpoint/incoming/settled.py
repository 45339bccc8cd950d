"""Changes that refer to other rows, turned into changes that have all their values; the rest is refused.

A stream may bring ``truncate``, a deletion of all rows, and rows that lack values. The column `WITHOUT` says why a
value is missing, as JSON by column:

- ``unchanged``: the value is that of the row that the change replaces;
- ``absent``: the column did not exist then, and nobody knows the value;
- ``gone``: the column does not exist any more;
- ``=`` and a text: the text is no value of the column's type;
- ``lost``, added by `livejoin.checkpoint.incoming.moved`: the value is unchanged, and nobody has it.

Columns that are not kept do not matter.

Law: the resulting changes, applied one after the other, do what the original ones say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.incoming.filled import Places, RowsOfDatabase, filled
from livejoin.checkpoint.incoming.lacking import AFTER, Flags, Lacking, first_of, lacking, no_value, not_there
from livejoin.checkpoint.incoming.malformed import TRUNCATE, malformed, of_changes_alone
from livejoin.database import Database
from livejoin.database.base_rows import all_rows
from livejoin.database.refusals import Refusal
from livejoin.errors import ChangeError, ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_TYPE, WITHOUT, Table

Why: TypeAlias = tuple[str, type[ChangeError]]
"""Why a change is refused, and the class of the error that says so."""


@dataclass(frozen=True, eq=False)
class Settled:
    """Complete changes, and refusals of the others.

    Args:
        changes: The complete changes, without `WITHOUT` and other helper columns.
        refused: The refused changes with their reasons; positions are those among the original changes.
    """

    changes: pa.Table
    refused: tuple[Refusal, ...] = ()


def settled(database: Database, table: Table, changes: pa.Table) -> Settled:
    """Complete the changes of a table.

    Args:
        database: The database before the changes.
        table: The table, with the columns that are kept.
        changes: The changes, with these columns.

    Raises:
        StateError: A column that is kept did not exist when a row was changed.

    Cost: as `malformed` if no row lacks a value and none is a truncation. Else linear in the changes, and one look at
    an index for each row that keeps a value; for a truncation O(rows of the table).
    """
    if WITHOUT not in changes.column_names:
        return to_settle(table, changes)
    first = 0 if table.append_only else behind_truncation(changes)
    rest = changes.slice(first)
    lacks = lacking(table, rest)
    reasons = reasons_of(table, rest, lacks)
    rest, here = without(of_changes_alone(rest).drop_columns([WITHOUT]), reasons)
    if lacks.unchanged:
        unchanged = {name: flags[here] for name, flags in lacks.unchanged.items()}
        found = filled(RowsOfDatabase(database, table, rest), rest, unchanged, here, is_empty=first > 0)
        losing = first_of(found.lost)
        reasons |= {int(here[row]): _valueless(name) for row, name in losing.items()}
        rest, _ = without(found.changes, losing)
    if first:
        gone = all_rows(database, table.name)
        gone = gone.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("delete"), gone.num_rows))
        rest = pa.concat_tables([gone.select(rest.column_names).cast(rest.schema), rest])
    return Settled(rest, _refusals(table, reasons, first))


def to_settle(table: Table, changes: pa.Table) -> Settled:
    """Changes for cells, each of which calls `settled` with its part; refused changes are left out.

    `WITHOUT` is kept where it says something. An update of a key that lacks a value is refused here: its old row may be
    in another cell, and `livejoin.checkpoint.incoming.moved` has not found the value.

    Raises:
        StateError: As `settled`.
    """
    if WITHOUT not in changes.column_names:
        reasons = reasons_of(table, changes, Lacking())
        rest, _ = without(of_changes_alone(changes), reasons)
        return Settled(rest, _refusals(table, reasons, 0))
    first = 0 if table.append_only else behind_truncation(changes)
    rest = changes.slice(first)
    lacks = lacking(table, rest)
    reasons = reasons_of(table, rest, lacks)
    under_another = comes_under_another_key(rest)
    losing = first_of({name: flags & under_another for name, flags in lacks.unchanged.items()})
    reasons = {row: _valueless(name) for row, name in losing.items()} | reasons
    changes, _ = without(of_changes_alone(changes), [first + row for row in reasons])
    if not first and not lacks.unchanged:
        changes = changes.drop_columns([WITHOUT])
    return Settled(changes, _refusals(table, reasons, first))


def reasons_of(table: Table, changes: pa.Table, lacks: Lacking) -> dict[int, Why]:
    """The invalid changes, by their positions, each with the reason."""
    found: dict[int, Why] = {row: _valueless(name) for row, name in first_of(lacks.lost).items()}
    found |= {row: (no_value(table, *what), ChangeValueError) for row, what in lacks.texts.items()}
    return found | {row: (why, ChangeFormatError) for row, why in malformed(table, changes).items()}


def _valueless(name: str) -> Why:
    return not_there(name), ChangeValueError


def _refusals(table: Table, reasons: Mapping[int, Why], first: int) -> tuple[Refusal, ...]:
    """Refusals of changes in their order; ``first`` is added to their positions."""
    return tuple(Refusal(table.name, first + row, *reasons[row]) for row in sorted(reasons))


def comes_under_another_key(changes: pa.Table) -> Flags:
    """Which changes insert a row in the place of one with another key, whose deletion stands right before."""
    return np.asarray(pc.fill_null(pc.equal(changes.column(CHANGE_TYPE), AFTER), False))


def truncations(changes: pa.Table) -> Flags:
    """Which of some changes delete all rows of their table."""
    if WITHOUT not in changes.column_names:
        return np.zeros(changes.num_rows, np.bool_)
    return np.asarray(pc.fill_null(pc.equal(changes.column(CHANGE_TYPE), TRUNCATE), False))


def behind_truncation(changes: pa.Table) -> int:
    """How many changes are overtaken by a later truncation of the table."""
    found = np.flatnonzero(truncations(changes))
    return int(found[-1]) + 1 if found.size else 0


def without(changes: pa.Table, rows: Collection[int]) -> tuple[pa.Table, Places]:
    """The changes without some rows, and the positions of the rest."""
    here = np.arange(changes.num_rows)
    if not rows:
        return changes, here
    here = np.setdiff1d(here, [*rows])
    return changes.take(here), here
