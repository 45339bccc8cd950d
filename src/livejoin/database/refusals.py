"""Which changes of a commit are in its way: what would be applied without them is not lost for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.staging import OnConflict
from livejoin.errors import (
    AbsentRowError,
    ChangeError,
    ChangeFormatError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
)

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Refusal:
    """A change that was taken out of a commit.

    Args:
        table: Its table.
        row: Its position among the changes that were given for the table.
        reason: Why it cannot be applied.
        kind: The class of the error that it would end a commit with.
    """

    table: str
    row: int
    reason: str
    kind: type[LivejoinError]

    @property
    def is_conflict(self) -> bool:
        """Whether that is for what else is in the table: an absent row, a second row with a key."""
        return issubclass(self.kind, (AbsentRowError, DuplicateKeyError))


def refused_changes(
    database: Database,
    changes: Mapping[str, pa.Table],
    on_conflict: OnConflict,
    takes_out: Callable[[Refusal], bool],
) -> list[Refusal]:
    """Changes without which the others can be applied as one commit; nothing is applied.

    A change whose error names it is taken out and the rest is tried again. An error of an expression names none, since
    the row that fails may come of several: then the changes are halved until one is left that fails with those that
    are known to be good; conflicts do not count for that, as halves miss each other's rows.

    Args:
        database: The database.
        changes: The changes by table.
        on_conflict: As for `Database.apply`.
        takes_out: Whether a change may be taken out; else the error is raised.

    Returns:
        Those that have to go, in no order.

    Raises:
        LivejoinError: What is in the way is no single change, or one that may not be taken out.

    Cost: that of the commit for each change that is taken out, and log(changes) times that for errors of expressions.
    """
    kept = {name: np.arange(rows.num_rows) for name, rows in changes.items()}
    found: list[Refusal] = []
    while (error := _refusal(database, changes, kept, on_conflict)) is not None:
        if isinstance(error, ExpressionError):
            name, row, error = _guilty(database, changes, kept, error)
        elif isinstance(error, ChangeError) and not isinstance(error, ChangeFormatError) and error.row >= 0:
            name, row = error.table, int(kept[error.table][error.row])
        else:
            raise error
        reason = error.message if isinstance(error, ChangeError) else str(error)
        refusal = Refusal(name, row, reason, type(error))
        if not takes_out(refusal):
            raise error
        found.append(refusal)
        kept[name] = kept[name][kept[name] != row]
    return found


def without(changes: Mapping[str, pa.Table], refused: list[Refusal]) -> dict[str, pa.Table]:
    """The other changes; tables of which none is left are left out."""
    kept = {}
    for name, rows in changes.items():
        gone = [refusal.row for refusal in refused if refusal.table == name]
        if len(gone) < rows.num_rows:
            kept[name] = rows.take(np.setdiff1d(np.arange(rows.num_rows), gone)) if gone else rows
    return kept


@alone
def told_by(database: Database, changes: Mapping[str, pa.Table], on_conflict: OnConflict) -> dict[str, pa.Table]:
    """The deltas that a commit would have, by view; nothing is applied. Cost and errors as `Database.apply`."""
    found: dict[str, pa.Table] = {}

    def look(commit: Commit) -> None:
        found.update((view, commit[view]) for view in commit.views)

    contents = database._contents
    transaction.trial(contents, transaction.read_any(contents, changes, False, on_conflict), on_conflict, look)
    return found


def manner_for(database: Database, tables: Iterable[str], on_conflict: OnConflict) -> OnConflict:
    """What happens to conflicts of changes of some tables: only where one of them has a key can rows be replaced."""
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
        transaction.trial(contents, transaction.read_any(contents, named, False, manner), manner)
    except LivejoinError as error:
        return error
    return None


def _guilty(
    database: Database, changes: Mapping[str, pa.Table], kept: Mapping[str, Rows], error: LivejoinError
) -> tuple[str, int, LivejoinError]:
    """A change that an expression fails with, beside changes that it does not fail with; and how it fails."""
    names = list(changes)
    tables = np.repeat(np.arange(len(names)), [kept[name].shape[0] for name in names])
    rows = np.concatenate([kept[name] for name in names])

    manner: OnConflict = "update" if any(database.tables[name].takes_place for name in names) else "ignore"

    def fails(count: int) -> LivejoinError | None:
        first = {name: rows[:count][tables[:count] == place] for place, name in enumerate(names)}
        refused = _refusal(database, changes, first, manner)
        while isinstance(refused, (AbsentRowError, DuplicateKeyError)):  # what it looks for comes behind
            first[refused.table] = np.delete(first[refused.table], refused.row)
            refused = _refusal(database, changes, first, manner)
        return refused if isinstance(refused, ExpressionError) else None

    good, bad = 0, rows.shape[0]
    while bad - good > 1:
        middle = (good + bad) // 2
        failure = fails(middle)
        good, bad, error = (good, middle, failure) if failure is not None else (middle, bad, error)
    return names[tables[good]], int(rows[good]), error
