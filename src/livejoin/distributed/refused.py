"""Changes that conflict with what is in a table, left out where they come: `on_conflict` in cells.

Law: a row that a deletion does not find is absent in all cells that it comes to, since each table of a cell has all
rows that the route brings there; a second row with a UNIQUE value comes to one cell, which owns the table. So each cell
leaves changes out by itself, and all leave out the same; the home of the row tells of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from livejoin.checkpoint.batch import REASON
from livejoin.checkpoint.incoming.settled import settled
from livejoin.checkpoint.policy import Policy
from livejoin.database.refusals import Refusal, refused_changes, without
from livejoin.database.transactions.watermarks import LateChanges
from livejoin.distributed.cell import Cell
from livejoin.errors import (
    AbsentRowError,
    CapacityError,
    ChangeError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
)
from livejoin.plan.stages import Staged
from livejoin.schema import SEQUENCE, WITHOUT

_STEP = re.compile(r"'(#\d+)'")  # the name of what a stage shows
_OF_STEPS = re.compile(rf"(views? )?{_STEP.pattern}(, {_STEP.pattern})*")


@dataclass(frozen=True)
class Applied:
    """The outcome of changes in a cell.

    Args:
        told: The deltas of the relations that the stage shows.
        changes: The changes that were applied, by table.
        refused: The changes that conflict, by the table of the cell, each with the reason in the column ``_reason``.
        late: Likewise those that are late for a watermark that refuses them.
    """

    told: Mapping[str, pa.Table]
    changes: Mapping[str, pa.Table]
    refused: Mapping[str, pa.Table] = field(default_factory=dict)
    late: Mapping[str, pa.Table] = field(default_factory=dict)


def bases_of(staged: Staged, stage: int) -> dict[str, str]:
    """The tables of the cells of a stage to which changes of base tables come, each with the name of that.

    Their own names begin with it, as it was given.
    """
    return {
        table.name: table.name[: len(exchange.relation)]
        for exchange in staged.stages[stage].exchanges
        if exchange.relation in staged.homes
        for table, _ in exchange.tables
    }


def settle(cell: Cell, changes: Mapping[str, pa.Table], bases: Mapping[str, str]) -> dict[str, pa.Table]:
    """Changes that speak of rows that the cell has, as changes that say themselves what they bring.

    Args:
        cell: The cell.
        changes: By table, as `Cell.changes` has them.
        bases: As `bases_of`.

    Raises:
        ChangeValueError: A row lacks a value that nobody has.
    """
    found = dict(changes)
    for exchange in cell.stage.exchanges:
        for table, _ in exchange.tables:
            if table.name in changes and WITHOUT in changes[table.name].column_names:
                one = settled(cell.database, table, _in_sequence(changes[table.name]))
                if one.refused:
                    raise ChangeValueError(one.refused[0].reason, bases[table.name])  # senders saw all other reasons
                found[table.name] = one.changes
    return {name: rows for name, rows in found.items() if rows.num_rows}


def _in_sequence(changes: pa.Table) -> pa.Table:
    """Changes in their order."""
    if SEQUENCE not in changes.column_names:
        return changes
    order = np.argsort(changes.column(SEQUENCE).to_numpy(), kind="stable")
    return changes.drop_columns([SEQUENCE]).take(order)


def apply(cell: Cell, changes: Mapping[str, pa.Table], bases: Mapping[str, str], policy: Policy) -> Applied:
    """Apply changes in a cell, without those that conflict or are late, where these may be left out.

    Args:
        cell: The cell.
        changes: By table.
        bases: As `bases_of`.
        policy: Whether they may.

    Raises:
        LivejoinError: As `Cell.apply`; an error of a base table has the name that it was given.
    """
    try:
        return Applied(cell.apply(changes), changes)
    except ChangeError as error:
        if error.table not in bases:
            raise
        if policy.on_conflict == "fail" and not _may_be_late(error, policy):
            raise _of_base(error, bases) from error
    found = Counter[str]()

    def takes_out(refusal: Refusal) -> bool:
        found[refusal.table] += 1
        may_go = refusal.is_conflict if policy.on_conflict != "fail" else False
        may_go |= policy.on_bad_rows != "fail" and issubclass(refusal.kind, LateChanges)
        return may_go and refusal.table in bases and found[refusal.table] <= policy.most

    try:
        refused = refused_changes(cell.database, changes, cell.manner(changes), takes_out)
    except ChangeError as error:
        if error.table not in bases:
            raise
        named = _of_base(error, bases)
        if found[error.table] > policy.most:
            named.add_note(f"it is one of more than {policy.most:,} changes of this batch that are refused")
        raise named from error
    left = without(changes, refused)
    late = [one for one in refused if issubclass(one.kind, LateChanges)]
    others = [one for one in refused if not issubclass(one.kind, LateChanges)]
    return Applied(cell.apply(left), left, _with_reasons(changes, others), _with_reasons(changes, late))


def _may_be_late(error: ChangeError, policy: Policy) -> bool:
    """Whether an error is of changes that are late, and may be left out."""
    return isinstance(error, LateChanges) and policy.on_bad_rows != "fail"


def attempt(
    cell: Cell, changes: Mapping[str, pa.Table], bases: Mapping[str, str], policy: Policy
) -> dict[str, pa.Table]:
    """What `Cell.apply` would tell of changes without those that conflict or are late; nothing is applied.

    Args:
        cell: The cell.
        changes: By table.
        bases: As `bases_of`.
        policy: Whether late changes may be left out.

    Raises:
        LivejoinError: As `Cell.apply`, but for conflicts of changes of base tables, and late ones.

    Cost: that of the commit, once more for each conflict where a table of the cell has a key.
    """
    left = dict(changes)
    while True:
        try:
            return cell.would_tell({name: rows for name, rows in left.items() if rows.num_rows})
        except (AbsentRowError, DuplicateKeyError) as error:
            if error.table not in bases or error.row < 0:
                raise
            rows = left[error.table]
            left[error.table] = pa.concat_tables([rows.slice(0, error.row), rows.slice(error.row + 1)])
        except LateChanges as error:
            if not _may_be_late(error, policy):
                raise
            rows = left[error.table]
            left[error.table] = rows.take(np.setdiff1d(np.arange(rows.num_rows), error.rows))


def of_views(error: LivejoinError, staged: Staged) -> LivejoinError:
    """An error with the names of the views in the place of what stages show on the way to them."""

    def named(found: re.Match[str]) -> str:
        steps = _STEP.findall(found[0])
        names = dict.fromkeys(view for step in steps for view in staged.views_over.get(step, ()))
        kind = "" if found[1] is None else "view " if len(names) == 1 else "views "
        return kind + ", ".join(map(repr, names)) if names else found[0]

    text = _OF_STEPS.sub(named, str(error))
    if text == str(error) or not isinstance(error, (ExpressionError, CapacityError)):
        return error
    found = type(error)(text)
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


@contextmanager
def of_base(bases: Mapping[str, str]) -> Iterator[None]:
    """Give an error of a table of a cell the name of its base table."""
    try:
        yield
    except ChangeError as error:
        if error.table not in bases:
            raise
        raise _of_base(error, bases) from error


def refuse_too_many(refused: Mapping[str, int], policy: Policy) -> None:
    """Raise LivejoinError where more changes of a batch were left out than may be."""
    if sum(refused.values()) > policy.most:
        listed = ", ".join(f"{number:,} of table {table!r}" for table, number in refused.items())
        msg = (
            f"{sum(refused.values()):,} changes of this batch cannot be applied ({listed}), and max_bad_rows is "
            f"{policy.most:,}: a feed of which more are bad is broken"
        )
        raise LivejoinError(msg)


def _with_reasons(changes: Mapping[str, pa.Table], refused: list[Refusal]) -> dict[str, pa.Table]:
    """The changes that were refused, by table."""
    found = {}
    for name in dict.fromkeys(one.table for one in refused):
        rows = sorted((one.row, one.reason) for one in refused if one.table == name)
        reasons = pa.array([reason for _, reason in rows], pa.string())
        found[name] = changes[name].take([row for row, _ in rows]).append_column(REASON, reasons)
    return found


def _of_base(error: ChangeError, bases: Mapping[str, str]) -> ChangeError:
    """An error with the name of the base table; positions in what came to a cell say nothing to people."""
    found = type(error)(error.message, bases[error.table])
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found
