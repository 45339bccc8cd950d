"""Commits of the changes that are good: the others are left out, each with the reason.

A change is bad by itself where it is no change of its table, or a value does not fit its column; and among the others
where a view's expression has no value for what it brings, or an assertion would not hold. Law: the commit is that of
the other changes, in their order, and each of those left out fails where it is added to changes that are good.
Conflicts are not bad rows: what becomes of them is said by ``on_conflict``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa

from livejoin.changes import ChangeBatch, Intake
from livejoin.changes.source import as_pieces, take
from livejoin.database.commit import BadRow, Commit
from livejoin.database.contents import Contents
from livejoin.database.transactions import transaction
from livejoin.database.transactions.assertions import refuse_violations
from livejoin.database.transactions.requests import Numbered
from livejoin.database.transactions.staging import OnConflict
from livejoin.database.transactions.violators import violators
from livejoin.database.transactions.watermarks import LateChanges
from livejoin.errors import (
    AbsentRowError,
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    ViolationError,
)
from livejoin.words import Words

OnBadRows = Literal["fail", "skip", "dead_letter"]
"""What becomes of changes that are none, or that a view has no value for."""
ON_BAD_ROWS: tuple[OnBadRows, ...] = ("fail", "skip", "dead_letter")

OF_A_ROW = (ChangeFormatError, ChangeValueError)
"""The errors of a change by itself, if they name its row."""

Done = TypeVar("Done")


def commit_good(
    contents: Contents,
    named: Mapping[str, object],
    on_conflict: OnConflict,
    intake: Intake,
    notes: Mapping[str, Any],
    request: Numbered | None = None,
) -> tuple[Commit, list[BadRow]]:
    """Apply the good ones of some changes as one commit (`with_good`).

    Args:
        contents: The database's contents.
        named: The changes of each table.
        on_conflict: What happens to conflicts.
        intake: How far data may differ from what tables are declared to be.
        notes: JSON values that stand with the commit.
        request: The request of a client that it answers.
    """

    def commit(batches: list[ChangeBatch], left_out: int) -> Commit:
        noted = notes if request is None else {**notes, "request": request.noted(left_out)}
        return transaction.commit(contents, batches, on_conflict, noted)

    return with_good(contents, named, on_conflict, intake, commit)


def with_good(
    contents: Contents,
    named: Mapping[str, object],
    on_conflict: OnConflict,
    intake: Intake,
    step: Callable[[list[ChangeBatch], int], Done],
) -> tuple[Done, list[BadRow]]:
    """Do something with the good ones of some changes.

    Args:
        contents: The database's contents.
        named: The changes of each table.
        on_conflict: What happens to conflicts.
        intake: How far data may differ from what tables are declared to be.
        step: The commit, or one that is tried; it is told how many changes are left out.

    Returns:
        What the step gave, and the changes that were left out, in the order of each table's data.

    Raises:
        LivejoinError: As for `livejoin.Database.apply`, where what fails is no single change: a column that is missing
            in all rows, a conflict.

    Where an assertion would not hold, changes are left out until it does (`livejoin.database.transactions.violators`).

    Cost: that of the commit where all are good. For b bad ones of n, b log n pieces are read once more; where a view
    has no value, log n commits are tried for each.
    """
    good = Good(contents, named, False, on_conflict, intake)
    while True:
        batches = good.read()
        names = {batch.table.name: name for batch, name in zip(batches, good.kept, strict=True)}
        try:
            done = step(batches, len(good.reasons))
        except LateChanges as error:
            for row in error.rows[::-1].tolist():
                good.leave_out(names[error.table], row, error)
        except ChangeValueError as error:
            if error.row < 0:
                raise
            good.leave_out(names[error.table], error.row, error)
        except ExpressionError as error:
            tables = np.repeat(np.arange(len(batches)), [batch.length for batch in batches])
            rows = np.concatenate([np.arange(batch.length) for batch in batches])

            def attempt(some: list[ChangeBatch], _: list[Words], manner: OnConflict) -> None:
                transaction.trial(contents, some, manner)

            table, position, why = guilty(batches, (tables, rows), attempt, error)
            good.leave_out(names[batches[table].table.name], position, why)
        except ViolationError:

            def fails(kept: list[Words], batches: Sequence[ChangeBatch] = batches) -> LivejoinError | None:
                return _failure(batches, kept, _manner(batches), partial(_try_all, contents))

            for table, position, why in reversed(violators([batch.length for batch in batches], fails)):
                good.leave_out(names[batches[table].table.name], position, why)
        else:
            return done, good.letters()


def _try_all(contents: Contents, some: list[ChangeBatch], _: list[Words], on_conflict: OnConflict) -> None:
    """Try some changes.

    Raises:
        ViolationError: An assertion would not hold.
    """
    transaction.trial(contents, some, on_conflict, lambda commit: refuse_violations(commit.violations))


class Good:
    """Changes without those that were left out; mutable.

    Args:
        contents: The database's contents.
        named: The changes of each table.
        needs_sequence: Whether they have ``_seq``.
        on_conflict: What happens to conflicts.
        intake: How far data may differ from what tables are declared to be.

    Attributes:
        kept: By the names of the tables the positions of the changes that are not left out.
        reasons: By name and position why the others are.
    """

    def __init__(
        self,
        contents: Contents,
        named: Mapping[str, object],
        needs_sequence: bool,
        on_conflict: OnConflict,
        intake: Intake,
    ) -> None:
        self._contents = contents
        self._reading = needs_sequence, on_conflict, intake
        self._data = {name: as_pieces(contents.catalog[name], given) for name, given in named.items()}
        self.kept = {name: np.arange(len(given)) for name, given in self._data.items()}
        self.reasons: dict[tuple[str, int], str] = {}

    def leave_out(self, name: str, position: int, error: LivejoinError) -> None:
        """Leave one out, by its position among those that are kept."""
        self.note(name, int(self.kept[name][position]), error)
        self.kept[name] = np.delete(self.kept[name], position)

    def note(self, name: str, row: int, error: LivejoinError) -> None:
        """Take note of why a change is left out, by its position among all."""
        self.reasons[name, row] = reason_of(error)

    def read(self) -> list[ChangeBatch]:
        """The batches of those that can be read; the others are left out.

        Raises:
            ChangeFormatError, ChangeValueError: No single change is wrong, but all.
        """
        while True:
            some = {name: take(self._data[name], rows) for name, rows in self.kept.items()}
            try:
                batches = transaction.read(self._contents, some, *self._reading)
                for batch, (name, kept) in zip(batches, self.kept.items(), strict=True):
                    batch.origin = None if len(kept) == len(self._data[name]) else kept
                return batches
            except OF_A_ROW as error:
                if error.row < 0:
                    raise
                name = next(name for name in self.kept if self._contents.catalog[name].name == error.table)

                def read(part: Any, name: str = name) -> object:
                    return transaction.read(self._contents, {name: part}, *self._reading)

                bad = list(unreadable(read, some[name]))
                for position, reason in reversed(bad or [(error.row, error)]):
                    self.leave_out(name, position, reason)

    def letters(self) -> list[BadRow]:
        """The changes that were left out, with the reasons, in the order of the data."""
        return bad_rows_of(self._data, self.reasons)


def reason_of(error: LivejoinError) -> str:
    """Why a change is left out, without its place; of a violation without the rows, which its writer may not know."""
    if isinstance(error, ViolationError):
        return f"with it, assertion {error.assertion!r} would not hold"
    return error.message if isinstance(error, ChangeError) else str(error)


def bad_rows_of(data: Mapping[str, Any], reasons: Mapping[tuple[str, int], str]) -> list[BadRow]:
    """The changes that were left out, by table and position, with the reasons, in the order of the data."""
    return [BadRow(name, row, reasons[name, row], _as_given(data[name], row)) for name, row in _ordered(data, reasons)]


def _ordered(data: Iterable[str], places: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    order = {name: number for number, name in enumerate(data)}
    return sorted(places, key=lambda place: (order[place[0]], place[1]))


def _as_given(data: Any, row: int) -> Any:
    """A change as it was given; one of Arrow as a dict."""
    if not isinstance(data, pa.Table):
        return data[row]
    found: dict[str, Any] = {}
    for name, column in zip(data.column_names, data.columns, strict=True):
        try:
            found[name] = column[row].as_py()
        except (pa.ArrowException, ValueError, OverflowError):  # no object of Python, or no value at all
            found[name] = None
    return found


def unreadable(read: Callable[[Any], object], data: Any) -> Iterator[tuple[int, LivejoinError]]:
    """The changes of a table that cannot be read by themselves, in their order, by halving."""
    pieces = [(0, len(data))]
    while pieces:
        begin, end = pieces.pop()
        try:
            read(take(data, np.arange(begin, end)))
        except OF_A_ROW as error:
            if end - begin == 1:
                yield begin, error
            else:
                middle = (begin + end) // 2
                pieces += [(middle, end), (begin, middle)]


Attempt = Callable[[list[ChangeBatch], list[Words], OnConflict], object]
"""Tries some changes of each table, which stand at these positions of its batch."""


def guilty(
    batches: Sequence[ChangeBatch], order: tuple[Words, Words], attempt: Attempt, error: LivejoinError
) -> tuple[int, int, LivejoinError]:
    """The batch and position of a change with which an expression fails, beside those before, with which none does.

    Args:
        batches: The changes of each table.
        order: The changes in the order in which they are added: their batches, and their positions there.
        attempt: Tries some of them.
        error: How the expression fails with all.
    """
    tables, rows = order
    manner = _manner(batches)

    def fails(count: int) -> LivejoinError | None:
        first = [np.sort(rows[:count][tables[:count] == number]) for number in range(len(batches))]
        return _failure(batches, first, manner, attempt)

    good, bad = 0, int(rows.shape[0])
    while bad - good > 1:
        middle = (good + bad) // 2
        failure = fails(middle)
        good, bad, error = (good, middle, failure) if failure is not None else (middle, bad, error)
    return int(tables[good]), int(rows[good]), error


def _manner(batches: Sequence[ChangeBatch]) -> OnConflict:
    """What happens to the conflicts of a part of some changes, of which another part may be missing."""
    return "update" if any(batch.by_key and not batch.table.append_only for batch in batches) else "ignore"


def _failure(
    batches: Sequence[ChangeBatch], kept: list[Words], manner: OnConflict, attempt: Attempt
) -> LivejoinError | None:
    """Why some changes cannot be applied, but for those that conflict because others are missing."""
    while True:
        some = [batch.take(rows) for batch, rows in zip(batches, kept, strict=True)]
        try:
            attempt(some, kept, manner)
        except (AbsentRowError, DuplicateKeyError) as conflict:
            number = next(i for i, batch in enumerate(batches) if batch.table.name == conflict.table)
            kept[number] = np.delete(kept[number], conflict.row)
        except (ExpressionError, ViolationError) as error:
            return error
        else:
            return None
