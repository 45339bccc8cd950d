"""Changes without which a batch can be applied, where expressions and columns refuse them: `on_bad_rows` in cells.

An expression may fail in any stage, for a row that several changes make together, and a change that is left out has to
be left out of every cell. So they are looked for as one engine does it: the changes of the batch have an order, by
table, by the task that read them, and as they stand there; the shortest beginning of it that fails ends with a change
that is left out. A try is a batch that goes through all stages and is undone in each cell. What values say by
themselves is seen where they are read.

The batch is written down once more for that, as it came, since what Spark reads again may come in another order. No
manifest lists these files; they go with the batch.

Law: what is left out of a batch is what `livejoin.checkpoint.engine` leaves out that gets the changes in that order.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Protocol

import numpy as np
import pyarrow as pa

from livejoin.changes import read_changes
from livejoin.checkpoint.batch import LoggedBatch, encoded
from livejoin.checkpoint.incoming.malformed import of_changes_alone
from livejoin.checkpoint.incoming.settled import to_settle, truncations
from livejoin.checkpoint.letters import as_letters, told
from livejoin.distributed.declaration import Plan
from livejoin.distributed.files import batches_of, write_delta, write_file
from livejoin.distributed.parts import CellPart, Outbox
from livejoin.distributed.task import Outcome, Task
from livejoin.errors import ChangeError, ChangeValueError, ExpressionError, LivejoinError
from livejoin.schema import WITHOUT, Table


@dataclass(frozen=True)
class Kept:
    """Changes of a batch that one task read, as they came.

    Args:
        sender: The task's name; names sort in an order that is the same in every attempt.
        file: Where they are.
        rows: How many there are of each table, 0 too, in the order of the tables.
        refused: For each table the rows with values that its columns do not take, each with the reason.
        time: The time of the batch; None where nothing came.
    """

    sender: str
    file: str
    rows: Mapping[str, int]
    refused: Mapping[str, Sequence[tuple[int, str]]]
    time: datetime | None


@dataclass(frozen=True)
class Some:
    """Some of these changes.

    Args:
        kept: All of them.
        ends: How many of each table are taken, from the first one on.
        gone: For each table the rows that are not.
    """

    kept: Kept
    ends: Mapping[str, int]
    gone: Mapping[str, Sequence[int]]


class Tries(Protocol):
    """What runs in other processes."""

    def keep(self, task: Task) -> list[Kept]:
        """`keep` of what each task reads of the batch."""

    def run_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> list[Outcome]:
        """Run the changes, as `send` sends them, through the stages; the outcomes of the cells."""

    def try_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> None:
        """As `run_kept`, for a batch that is only tried."""


@dataclass(frozen=True)
class WithoutBad:
    """A batch that was applied without some changes.

    Args:
        done: The outcomes of the cells.
        changes: How many had come.
        time: The time of the batch; None where nothing came.
        refused: How many were left out, by table.
        letters: For each table the file with them, if anybody is told of them.
    """

    done: list[Outcome]
    changes: int
    time: datetime | None
    refused: Mapping[str, int]
    letters: Mapping[str, str] = field(default_factory=dict)


def without_bad(steps: Tries, plan: Plan, task: Task) -> WithoutBad:
    """Apply a batch without the changes that expressions and columns refuse.

    Args:
        steps: Runs what runs in other processes.
        plan: The plan.
        task: The batch; its policy lets them be left out.

    Raises:
        LivejoinError: A cell could not do its part for another reason, or too many changes are refused.

    Cost: that of the batch, as often as changes are left out for an expression, times the logarithm of their number.
    """
    batch = _Batch(sorted(steps.keep(task), key=lambda one: one.sender))
    refused = batch.refused
    if refused:
        last = max(refused)
        _check_number(refused, task, ChangeValueError(refused[last], batch.table(last)))
    while (error := _failure(steps, plan, task, batch.first(batch.changes, refused))) is not None:
        good, bad = 0, batch.changes
        while bad - good > 1:
            middle = (good + bad) // 2
            failure = _failure(steps, plan, task, batch.first(middle, refused))
            good, bad, error = (good, middle, failure) if failure is not None else (middle, bad, error)
        refused[bad - 1] = str(error)
        _check_number(refused, task, error)
    done = steps.run_kept(plan, replace(task, time=batch.time), batch.first(batch.changes, refused))
    letters = {}
    if task.policy.on_bad_rows == "dead_letter":
        letters = {name: write_delta(task, 0, 0, name, rows) for name, rows in batch.letters(task, refused).items()}
    return WithoutBad(done, batch.changes, batch.time, batch.numbers(refused), letters)


def keep(
    task: Task, sender: str, tables: Iterable[Table], changes: Mapping[str, pa.Table], time: datetime | None
) -> Kept:
    """Write changes down as they came.

    Args:
        task: The batch.
        sender: The name of who read them.
        tables: The base tables, in their order.
        changes: By table, as they are sent.
        time: The time of the batch.

    Raises:
        ChangeFormatError: The rows are no changes.
        LivejoinError: More values than may be left out are refused.
        StorageError: The disk refuses.

    Cost: linear in the changes, once more for each that is refused.
    """
    tables = list(tables)
    refused = {
        table.name: _refused_values(table, changes[table.name], task) for table in tables if table.name in changes
    }
    file = f"{task.batch_id:08d}-{sender}-{uuid.uuid4().hex}.parts"
    batch = LoggedBatch(task.batch_id, task.epoch, task.plan, task.batch_id, time, changes=changes)
    write_file(task.folder, file, encoded(batch))
    rows = {table.name: changes[table.name].num_rows if table.name in changes else 0 for table in tables}
    return Kept(sender, file, rows, refused, time)


def send(plan: Plan, task: Task, some: Some) -> list[CellPart]:
    """Some changes, to the cells.

    Raises:
        StateError: The file is missing or damaged.
        StorageError: The disk refuses.
    """
    outbox = Outbox(plan, some.kept.sender)
    for name, rows in _changes(task, some.kept).items():
        taken = np.setdiff1d(np.arange(some.ends[name]), some.gone.get(name, ()), assume_unique=True)
        outbox.send(name.lower(), of_changes_alone(rows).take(taken))
    return outbox.left(task.folder, task.batch_id)


def to_send(table: Table, changes: pa.Table) -> pa.Table:
    """Changes as they are sent, before rows go where their values say.

    Raises:
        ChangeFormatError: Something is no change of the table.
        ChangeValueError: A row lacks a value, or has NULL where its table takes none.
        StateError: As `livejoin.checkpoint.incoming.settled.to_settle`.

    Cost: O(columns) where nothing is lacking.
    """
    found = to_settle(table, changes)
    if found.refused:
        raise of_table(told(found.refused[0], changes))
    refuse_null(table, found.changes)
    return found.changes


def refuse_null(table: Table, changes: pa.Table) -> None:
    """Refuse NULL where a table takes none, before rows go where their values say: with NULL they may go nowhere.

    Raises:
        ChangeValueError: There is one.

    Cost: O(columns) where there is none.
    """
    if any(table.requires(i) and changes.column(i).null_count for i in range(len(table.columns))):
        try:
            _read(table, _rows(changes))
        except ChangeValueError as error:
            raise of_table(error) from error


def of_table(error: ChangeError) -> ChangeError:
    """An error without the position of its change, which says nothing to people where several tasks read a batch."""
    found = type(error)(error.message, error.table)
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


class _Batch:
    """The changes of a batch in their order.

    Args:
        kept: The changes that tasks read, in their order.
    """

    def __init__(self, kept: Sequence[Kept]) -> None:
        self._kept = kept
        names = kept[0].rows if kept else ()
        self._pieces = [(name, place) for name in names for place in range(len(kept))]
        self._bounds = [0, *accumulate(kept[place].rows[name] for name, place in self._pieces)]
        self.changes = self._bounds[-1]
        self.time = next((one.time for one in kept if one.time is not None), None)

    @property
    def refused(self) -> dict[int, str]:
        """The changes with values that columns do not take, by their place in the order, each with the reason."""
        return {
            begin + row: reason
            for begin, (name, place) in zip(self._bounds, self._pieces, strict=False)
            for row, reason in self._kept[place].refused.get(name, ())
        }

    def first(self, count: int, refused: Iterable[int]) -> list[Some]:
        """The first of them, without some."""
        ends: list[dict[str, int]] = [{} for _ in self._kept]
        for begin, (name, place) in zip(self._bounds, self._pieces, strict=False):
            ends[place][name] = min(max(count - begin, 0), self._kept[place].rows[name])
        gone: list[dict[str, list[int]]] = [{} for _ in self._kept]
        for name, place, row in self._places(refused):
            gone[place].setdefault(name, []).append(row)
        return [Some(*one) for one in zip(self._kept, ends, gone, strict=True) if any(one[1].values())]

    def table(self, number: int) -> str:
        """The table of a change."""
        ((name, _, _),) = self._places([number])
        return name

    def numbers(self, refused: Iterable[int]) -> dict[str, int]:
        """How many of each table some are."""
        names = [name for name, _, _ in self._places(refused)]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def letters(self, task: Task, refused: Mapping[int, str]) -> dict[str, pa.Table]:
        """Changes that were refused, by table, each with ``_reason``."""
        found: dict[str, list[pa.Table]] = {}
        places = list(zip(self._places(refused), refused.values(), strict=True))
        for number in sorted({place for (_, place, _), _ in places}):
            came = _changes(task, self._kept[number])
            for name, rows in came.items():
                mine = [(row, reason) for (of, place, row), reason in places if (of, place) == (name, number)]
                if mine:
                    reasons = pa.array([reason for _, reason in mine], pa.string())
                    found.setdefault(name, []).append(as_letters(rows.take([row for row, _ in mine]), reasons))
        return {name: pa.concat_tables(pieces) for name, pieces in found.items()}

    def _places(self, numbers: Iterable[int]) -> list[tuple[str, int, int]]:
        """Of changes, by their place in the order, the table, who read it, and the row there."""
        found = []
        for number in numbers:
            piece = int(np.searchsorted(self._bounds, number, side="right")) - 1
            found.append((*self._pieces[piece], number - self._bounds[piece]))
        return found


def _failure(steps: Tries, plan: Plan, task: Task, some: Sequence[Some]) -> LivejoinError | None:
    """Why an expression or a row lacks a value where some changes are applied, but for conflicts; None if none does."""
    try:
        steps.try_kept(plan, task.trial, some)
    except (ChangeValueError, ExpressionError) as error:
        return error
    return None


def _check_number(refused: Sized, task: Task, error: LivejoinError) -> None:
    """Raise the error of a change if more are refused than may be."""
    if len(refused) > task.policy.most:
        error.add_note(f"it is one of more than {task.policy.most:,} changes of this batch that are refused")
        raise error


def _refused_values(table: Table, changes: pa.Table, task: Task) -> list[tuple[int, str]]:
    """The changes with values that columns do not take, each with the reason."""
    refused = to_settle(table, changes).refused
    found = [(one.row, one.reason) for one in refused]
    if refused:
        _check_number(found, task, of_table(told(refused[-1], changes)))
    left = np.setdiff1d(np.flatnonzero(~truncations(changes)), [row for row, _ in found])
    rows = of_changes_alone(changes)
    rows = rows.drop_columns([WITHOUT]) if WITHOUT in rows.column_names else rows
    while True:
        try:
            _read(table, rows if len(left) == rows.num_rows else rows.take(left))
        except ChangeValueError as error:
            if error.row < 0:
                raise
            found.append((int(left[error.row]), error.message))
            _check_number(found, task, of_table(error))
            left = np.delete(left, error.row)
        except ChangeError as error:
            raise of_table(error) from error
        else:
            return found


def _rows(changes: pa.Table) -> pa.Table:
    """Changes of rows, which are not truncations, without what they lack."""
    if WITHOUT not in changes.column_names:
        return changes
    return changes.filter(pa.array(~truncations(changes))).drop_columns([WITHOUT])


def _read(table: Table, changes: pa.Table) -> None:
    """Read changes as a cell does."""
    read_changes(table, changes, by_key="always" if table.takes_place else "given")


def _changes(task: Task, kept: Kept) -> Mapping[str, pa.Table]:
    (batch,) = batches_of(task.folder, kept.file)
    return batch.changes
