"""Which changes of a commit cannot be applied, so that the others can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.assertions import refuse_violations
from livejoin.database.transactions.bad_rows import reason_of
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.staging import OnConflict
from livejoin.database.transactions.violators import violators
from livejoin.database.transactions.watermarks import LateChanges
from livejoin.errors import (
    AbsentRowError,
    ChangeError,
    ChangeFormatError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    ViolationError,
)

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Refusal:
    """A change that was taken out of a commit.

    Args:
        table: The table of the change.
        row: The position of the change among those that were given for the table.
        reason: Why the change cannot be applied.
        kind: The class of the error that the change raises.
    """

    table: str
    row: int
    reason: str
    kind: type[LivejoinError]

    @property
    def is_conflict(self) -> bool:
        """Whether the reason is another row of the table: an absent row, or a second row with a key."""
        return issubclass(self.kind, (AbsentRowError, DuplicateKeyError))


def refused_changes(
    database: Database,
    changes: Mapping[str, pa.Table],
    on_conflict: OnConflict,
    takes_out: Callable[[Refusal], bool],
) -> list[Refusal]:
    """The changes to leave out so that the others can be applied as one commit; nothing is applied.

    A change that its error names is left out, and the rest is tried again. An error of an expression names no change,
    since the failing row may come from several tables. The changes are then halved until one is left that fails beside
    changes that are known to be good. Conflicts do not count in that search, because a half may miss a row that the
    other half brings. Where assertions would not hold, changes are left out until they do
    (`livejoin.database.transactions.violators`).

    Args:
        database: The database.
        changes: The changes by table.
        on_conflict: As for `Database.apply`.
        takes_out: Called with the refusal of a change: whether the change may be left out. If not, the change's
            error is raised.

    Returns:
        The changes to leave out, in no order.

    Raises:
        LivejoinError: No single change is the reason, or ``takes_out`` keeps one that is.

    Cost: the commit once for each change that is left out, times log(changes) for errors of expressions.
    """
    kept = {name: np.arange(rows.num_rows) for name, rows in changes.items()}
    found: list[Refusal] = []
    while (error := _refusal(database, changes, kept, on_conflict)) is not None:
        if isinstance(error, ViolationError):
            for name, row, why in _violators(database, changes, kept):
                refusal = Refusal(name, row, reason_of(why), type(why))
                if not takes_out(refusal):
                    raise error
                found.append(refusal)
                kept[name] = kept[name][kept[name] != row]
            continue
        if isinstance(error, ExpressionError):
            name, row, error = _guilty(database, changes, kept, error)
        elif isinstance(error, LateChanges):  # all of them at once: each try is a commit
            rows = kept[error.table][error.rows]
            refusals = [Refusal(error.table, int(row), reason_of(error), type(error)) for row in rows]
            if not all(map(takes_out, refusals)):
                raise error
            found += refusals
            kept[error.table] = np.delete(kept[error.table], error.rows)
            continue
        elif isinstance(error, ChangeError) and not isinstance(error, ChangeFormatError) and error.row >= 0:
            name, row = error.table, int(kept[error.table][error.row])
        else:
            raise error
        refusal = Refusal(name, row, reason_of(error), type(error))
        if not takes_out(refusal):
            raise error
        found.append(refusal)
        kept[name] = kept[name][kept[name] != row]
    return found


def without(changes: Mapping[str, pa.Table], refused: list[Refusal]) -> dict[str, pa.Table]:
    """The changes that are not refused; a table with no changes left is missing."""
    kept = {}
    for name, rows in changes.items():
        gone = [refusal.row for refusal in refused if refusal.table == name]
        if len(gone) < rows.num_rows:
            kept[name] = rows.take(np.setdiff1d(np.arange(rows.num_rows), gone)) if gone else rows
    return kept


@alone
def told_by(database: Database, changes: Mapping[str, pa.Table], on_conflict: OnConflict) -> dict[str, pa.Table]:
    """The deltas by view that a commit would have; nothing is applied. Cost and errors as for `Database.apply`."""
    found: dict[str, pa.Table] = {}

    def look(commit: Commit) -> None:
        found.update((view, commit[view]) for view in commit.views)

    contents = database._contents
    transaction.trial(contents, transaction.read_any(contents, changes, False, on_conflict), on_conflict, look)
    return found


def manner_for(database: Database, tables: Iterable[str], on_conflict: OnConflict) -> OnConflict:
    """The ``on_conflict`` for some tables: rows can be replaced only where one of the tables has a key."""
    if on_conflict != "update" or any(database.tables[name].takes_place for name in tables):
        return on_conflict
    return "error"


@alone
def _refusal(
    database: Database, changes: Mapping[str, pa.Table], kept: Mapping[str, Rows], on_conflict: OnConflict
) -> LivejoinError | None:
    """Why some of the changes cannot be applied as one commit."""
    named = {
        name: rows if kept[name].shape[0] == rows.num_rows else rows.take(kept[name])
        for name, rows in changes.items()
        if kept[name].shape[0]
    }
    if not named:
        return None
    contents = database._contents
    manner = manner_for(database, named, on_conflict)
    try:
        batches = transaction.read_any(contents, named, False, manner)
        transaction.trial(contents, batches, manner, lambda commit: refuse_violations(commit.violations))
    except LivejoinError as error:
        return error
    return None


def _violators(
    database: Database, changes: Mapping[str, pa.Table], kept: Mapping[str, Rows]
) -> list[tuple[str, int, LivejoinError]]:
    """The changes to leave out so that assertions hold, with the reasons."""
    names = list(changes)

    def fails(places: list[Rows]) -> LivejoinError | None:
        chosen = {name: kept[name][rows] for name, rows in zip(names, places, strict=True)}
        return _but_for_conflicts(database, changes, chosen)

    found = violators([kept[name].shape[0] for name in names], fails)
    return [(names[number], int(kept[names[number]][row]), why) for number, row, why in found]


def _but_for_conflicts(
    database: Database, changes: Mapping[str, pa.Table], kept: dict[str, Rows]
) -> LivejoinError | None:
    """Why some of the changes cannot be applied, but for those of which others that they look for are missing."""
    manner: OnConflict = "update" if any(database.tables[name].takes_place for name in changes) else "ignore"
    refused = _refusal(database, changes, kept, manner)
    while isinstance(refused, (AbsentRowError, DuplicateKeyError)):
        kept[refused.table] = np.delete(kept[refused.table], refused.row)
        refused = _refusal(database, changes, kept, manner)
    return refused


def _guilty(
    database: Database, changes: Mapping[str, pa.Table], kept: Mapping[str, Rows], error: LivejoinError
) -> tuple[str, int, LivejoinError]:
    """A change that an expression fails on, beside good changes; and its error."""
    names = list(changes)
    tables = np.repeat(np.arange(len(names)), [kept[name].shape[0] for name in names])
    rows = np.concatenate([kept[name] for name in names])

    def fails(count: int) -> LivejoinError | None:
        first = {name: rows[:count][tables[:count] == place] for place, name in enumerate(names)}
        refused = _but_for_conflicts(database, changes, first)
        return refused if isinstance(refused, ExpressionError) else None

    good, bad = 0, rows.shape[0]
    while bad - good > 1:
        middle = (good + bad) // 2
        failure = fails(middle)
        good, bad, error = (good, middle, failure) if failure is not None else (middle, bad, error)
    return names[tables[good]], int(rows[good]), error
