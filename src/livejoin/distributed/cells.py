"""What a cell does in a batch, in whatever process: it finds its state, applies what it is brought, and writes it down.

The state is found warm, where the process has it as the manifest has it, or made from its snapshot and its log. A cell
that an attempt took further than the manifest is not what the manifest has, so that it is made anew: attempts, also of
the same cell at the same time on two hosts, do not see each other.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa

from livejoin.checkpoint.batch import LoggedBatch, encoded
from livejoin.database import Database
from livejoin.database.base_rows import keys_of, rows_with
from livejoin.database.of_stage import bare_tables_of, tables_of
from livejoin.database.refreshing import apply_any
from livejoin.database.shared_watermarks import begin, hear, own
from livejoin.database.snapshots.carried import bring, mark, occurrences, rows_with_dead
from livejoin.database.snapshots.tables import NO_LIMITS, Limits, size_of_tables
from livejoin.distributed.cell import Brought, Cell, changes_of
from livejoin.distributed.exchange import first_of
from livejoin.distributed.files import (
    batches_of,
    bytes_of,
    read_tables,
    write_delta,
    write_file,
    write_part,
    write_tables,
)
from livejoin.distributed.load import joins
from livejoin.distributed.manifest import Held
from livejoin.distributed.refused import Applied, apply, attempt, bases_of, of_base, settle
from livejoin.distributed.static_rows import with_refreshed
from livejoin.distributed.task import Fill, Outcome, Task
from livejoin.plan.stages import Cube, Everywhere, Home, Stage, Staged
from livejoin.schema import TOO_LATE
from livejoin.schema.watermarks import WATERMARK_COLUMN, watermark_name
from livejoin.state.store_folder import Place

LEAST_LOG = 1 << 20
"""Bytes behind a snapshot that are too few for another one."""
MOST_FILES = 64
"""Files behind a snapshot; of more, the last ones become one."""


@dataclass
class _Warm:
    """A cell that a process has; changed in place."""

    state: str
    cell: Cell


class Cells:
    """The cells that a process has the states of; mutable. It is a cache: without it the same happens, slower.

    Args:
        staged: The stages.
        limits: Of each cell's database.
    """

    def __init__(self, staged: Staged, limits: Limits = NO_LIMITS) -> None:
        self.staged = staged
        self._limits = limits
        self._views: dict[str, list[str]] = {}
        for view, relation in staged.views.items():
            self._views.setdefault(relation, []).append(view)
        self._bases = [bases_of(staged, stage) for stage in range(len(staged.stages))]
        self._joins = [{digest: names for digest, (_, names) in joins(stage).items()} for stage in staged.stages]
        self._warm: dict[tuple[Place, int, int], _Warm] = {}

    def run(self, task: Task, stage: int, cell: int, brought: Brought) -> tuple[Outcome, dict[str, pa.Table]]:
        """A cell's part of a batch.

        Args:
            task: The batch.
            stage: The stage.
            cell: The cell.
            brought: The parts that are brought to the cell.

        Returns:
            What it did, and the deltas of the relations that the stage shows.

        Raises:
            LivejoinError: The changes cannot be applied, a file is damaged or missing, the disk refuses; nothing of
                the batch is left but files that nobody lists.
        """
        if task.fill is not None:
            return self._filled(task, task.fill, stage, cell, changes_of(self.staged.stages[stage], brought))
        if task.asks:
            return self._asked(task, stage, cell), {}
        if task.is_trial:
            return self._tried(task, stage, cell, brought)
        key, held = (task.folder, stage, cell), task.held.get((stage, cell), Held())
        warm = self._warm.pop(key, None)  # what fails is not warm any more
        was_warm = warm is not None and warm.state == held.state
        was_rebuilt = not was_warm and held != Held()
        if warm is None or not was_warm:
            warm = self._made(task, stage, cell, held)
        changes = self._changes(task, warm.cell, stage, brought)
        marks = _marks_of(self.staged.stages[stage], task.marks, changes)
        name = f"{task.batch_id:08d}-{stage}-{cell}-{uuid.uuid4().hex}"
        is_logged = bool(changes) or held == Held()
        with ThreadPoolExecutor(1) as disk:  # which is waited for while the changes are applied, if they all are
            early = disk.submit(_logged, task, name, {**changes, **marks}) if is_logged and task.policy.fails else None
            began = time.perf_counter()
            applied = apply(warm.cell, changes, self._bases[stage], task.policy)
            seconds = held.seconds + time.perf_counter() - began
        told = dict(applied.told)
        if is_logged:
            size = _logged(task, name, {**applied.changes, **marks}) if early is None else early.result()
            log = (*held.log, (f"{name}.batch", size))
            held = self._kept(task, name, warm.cell, Held(held.snapshot, log, seconds=seconds))
        results = {view: told[relation] for relation in told for view in self._views.get(relation, ())}
        warm.state = held.state
        self._warm[key] = warm
        ignored, late = self._left_out(stage, warm.cell)
        outcome = replace(
            self._outcome(task, stage, warm, held, results, was_warm),
            changes=sum(rows.num_rows for rows in changes.values()),
            delta_rows=sum(delta.num_rows for delta in told.values()),
            was_rebuilt=was_rebuilt,
            ignored=ignored,
            late=late,
        )
        return self._with_refused(task, outcome, applied) if applied.refused or applied.late else outcome, told

    def _changes(self, task: Task, cell: Cell, stage: int, brought: Brought) -> dict[str, pa.Table]:
        """The changes of a cell's tables, as they are applied."""
        for name, table in self.staged.stages[stage].watched:
            if name in task.marks:
                hear(cell.database, table.name, task.marks[name])
        changes = settle(cell, cell.changes(brought), self._bases[stage])
        if not task.refreshed:
            return changes
        with of_base(self._bases[stage]):
            return with_refreshed(cell, changes, task.refreshed)

    def _left_out(self, stage: int, cell: Cell) -> tuple[dict[str, int], int]:
        """How many changes of the base tables that are at home in a cell had no effect, by reason, and were late."""
        found, all_late = Counter[str](), 0
        homes = (home for homes in self.staged.homes.values() for home in homes if home.stage == stage)
        for home in homes:
            if home.table in cell.too_late:  # a join may bring a row to several cells
                found[TOO_LATE] += first_of(cell.too_late[home.table], home, cell.number).num_rows
            elif not (isinstance(home.route, Everywhere) and cell.number):
                ignored, late = cell.left_out.get(home.table.lower(), (0, 0))
                found[cell.database.tables[home.table].why_ignored] += ignored
                all_late += late
        return dict(+found), all_late

    def _with_refused(self, task: Task, outcome: Outcome, applied: Applied) -> Outcome:
        """An outcome that tells of changes that were left out, of those whose home the cell is."""
        conflicts = self._at_home(outcome, applied.refused)
        late = self._at_home(outcome, applied.late)
        told = [conflicts] if task.policy.on_conflict == "dead_letter" else []
        told += [late] if task.policy.on_bad_rows == "dead_letter" else []
        letters = {}
        for name in dict.fromkeys(name for rows in told for name in rows):
            whole = pa.concat_tables([rows[name] for rows in told if name in rows], promote_options="default")
            letters[name] = write_delta(task, outcome.stage, outcome.cell, name, whole)
        return replace(outcome, refused=_numbers(conflicts), letters=letters, bad=_numbers(late))

    def _at_home(self, outcome: Outcome, refused: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """For each base table the changes that were left out, of those whose home the cell is; without empty ones."""
        found = {}
        for name, homes in self.staged.homes.items():
            mine = [
                first_of(refused[home.table], home, outcome.cell)
                for home in homes
                if home.stage == outcome.stage and home.table in refused
            ]
            rows = pa.concat_tables(mine) if mine else None
            if rows is not None and rows.num_rows:
                found[name] = rows
        return found

    def _tried(self, task: Task, stage: int, cell: int, brought: Brought) -> tuple[Outcome, dict[str, pa.Table]]:
        """A cell's part of a batch that is only tried: it says what it would tell, and stays as it is, and warm."""
        warm, held = self._as_it_is(task, stage, cell)
        changes = self._changes(task, warm.cell, stage, brought)
        return Outcome(stage, cell, held), attempt(warm.cell, changes, self._bases[stage], task.policy)

    def _asked(self, task: Task, stage: int, cell: int) -> Outcome:
        """The rows here that are asked for; the cell stays as it is, and warm."""
        warm, held = self._as_it_is(task, stage, cell)
        found = {}
        for name, keys in task.asks.items():
            home = home_of(self.staged, name)
            if home.stage == stage:
                words = keys_of(warm.cell.database, home.table, keys)
                rows, _ = rows_with(warm.cell.database, home.table, words)
                if rows.num_rows:
                    found[name] = write_delta(task, stage, cell, name, rows)
        return Outcome(stage, cell, held, found=found)

    def _as_it_is(self, task: Task, stage: int, cell: int) -> tuple[_Warm, Held]:
        """A cell as the manifest has it, which stays warm, and what it holds."""
        key, held = (task.folder, stage, cell), task.held.get((stage, cell), Held())
        warm = self._warm.get(key)
        if warm is None or warm.state != held.state:
            warm = self._warm[key] = self._made(task, stage, cell, held)
        return warm, held

    def _filled(
        self, task: Task, fill: Fill, stage: int, cell: int, changes: Mapping[str, pa.Table]
    ) -> tuple[Outcome, dict[str, pa.Table]]:
        """A cell's part of filling: its tables, as they come, then its views; it holds a snapshot, and is warm."""
        plan = self.staged.stages[stage]
        database = bare_tables_of(plan, self._limits)
        for exchange in plan.exchanges:
            for table, _ in exchange.tables:
                if table.name in changes:
                    with of_base(self._bases[stage]):
                        bring(database, table.name, changes[table.name])
                if exchange.relation in fill.marks:
                    mark(database, table.name, fill.marks[exchange.relation])
                begin(database, table, task.marks.get(exchange.relation))
        name = f"{task.batch_id:08d}-{stage}-{cell}-{uuid.uuid4().hex}.tables"
        write_tables(task.folder, name, database)
        warm = _Warm(name, Cell(plan, cell, database, is_new=False))
        asked = {self.staged.views[view] for view in fill.views}
        told = {
            relation: rows
            for relation in database.views
            if (relation in asked or self.staged.readers(relation)) and (rows := warm.cell.whole(relation)).num_rows
        }
        results = {view: told[relation] for view in fill.views if (relation := self.staged.views[view]) in told}
        self._warm[task.folder, stage, cell] = warm
        return self._outcome(task, stage, warm, Held(name), results, was_warm=False), told

    def _outcome(
        self, task: Task, stage: int, warm: _Warm, held: Held, results: Mapping[str, pa.Table], was_warm: bool
    ) -> Outcome:
        """What a cell says of what it did; the deltas of views are written."""
        cell, database = warm.cell.number, warm.cell.database
        deltas = {view: (write_part(task, stage, cell, view, delta), delta.num_rows) for view, delta in results.items()}
        figures = {relation: view.stats() for relation, view in database.views.items()}
        rows = {
            view: int(figures[relation]["rows"])
            for relation, views in self._views.items()
            if relation in figures
            for view in views
        }
        homes = {
            name: rows_with_dead(database, home.table)
            for name, homes in self.staged.homes.items()
            for home in homes
            if home.stage == stage
        }
        loads = {
            digest: sum(occurrences(database, name) for name in names) for digest, names in self._joins[stage].items()
        }
        marks = dict[str, int]()
        for relation, table in self.staged.stages[stage].watched:
            if (time := own(database, table.name)) is not None:
                marks[relation] = max(time, marks.get(relation, time))
        return Outcome(
            stage,
            cell,
            replace(held, rows=homes, loads=loads),
            deltas,
            rows,
            int(database.stats()["state_bytes"]),
            was_warm,
            os.getpid(),
            lambda_observed=max((one["lambda_observed"] for one in figures.values()), default=0.0),
            marks=marks,
        )

    def _made(self, task: Task, stage: int, cell: int, held: Held) -> _Warm:
        """A cell as the manifest has it: its snapshot, the log behind it applied to the tables, and then its views."""
        plan = self.staged.stages[stage]
        database = held_tables(task.folder, plan, held, self._limits)
        return _Warm(held.state, Cell(plan, cell, database, is_new=held == Held()))

    def _kept(self, task: Task, name: str, cell: Cell, held: Held) -> Held:
        """What a cell holds, with another snapshot where one is due, or with fewer files.

        One is due when the log has come to be as large, or would take too long.
        """
        sizes = [size for _, size in held.log]
        stages, limit = len(self.staged.stages), task.recovery_seconds
        too_long = limit is not None and held.seconds * stages > limit
        if too_long or sum(sizes) > max(LEAST_LOG, size_of_tables(cell.database)):
            write_tables(task.folder, f"{name}.tables", cell.database)
            return Held(f"{name}.tables")
        if len(sizes) <= MOST_FILES:
            return held
        first = _merged_from(sizes)
        data = b"".join(bytes_of(task.folder, file, size) for file, size in held.log[first:])
        file = f"{task.batch_id:08d}{name[8:-_DIGITS]}{uuid.uuid4().hex}.batch"
        log = (*held.log[:first], (file, write_file(task.folder, file, data)))
        return replace(held, log=log)


def _numbers(rows: Mapping[str, pa.Table]) -> dict[str, int]:
    return {name: one.num_rows for name, one in rows.items()}


def home_of(staged: Staged, name: str) -> Home:
    """The table of the cells that has all rows of a base table with a key: to a key's owner they come, or to all cells.

    Args:
        staged: The stages.
        name: The base table.
    """
    home = staged.homes[name.lower()][0]
    assert not isinstance(home.route, Cube), "a join brings rows of what an owner shows"
    return home


_DIGITS = 32  # of what tells attempts apart in the name of a file


def _merged_from(sizes: Sequence[int]) -> int:
    """From which file on a log becomes one file: at least half of them, and those before that are not much larger.

    So the sizes fall by half or more, and each change is written again as often as the logarithm of their number.
    """
    first = len(sizes) // 2
    total = sum(sizes[first:])
    while first and sizes[first - 1] <= 2 * total:
        first -= 1
        total += sizes[first]
    return first


def held_tables(folder: Place, stage: Stage, held: Held, limits: Limits) -> Database:
    """The tables of a cell as the manifest has them: a snapshot, and the log behind it applied; without views.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
        MemoryLimitError: The tables take more than the limit.
    """
    database = read_tables(folder, held.snapshot, limits) if held.snapshot else tables_of(stage, limits)
    for file, size in held.log:
        for batch in batches_of(folder, file, size):
            changes = _heard(database, stage, batch.changes)
            if changes:
                by_key = not stage.by_key.isdisjoint(changes)
                apply_any(database, changes, "update" if by_key else "error")
    return database


def _marks_of(stage: Stage, marks: Mapping[str, int], changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """For the log: the watermarks that said which of some changes are late, by the tables that have them."""
    return {
        watermark_name(table.name): pa.table({WATERMARK_COLUMN: pa.array([marks[name]], pa.int64())})
        for name, table in stage.watched
        if name in marks and table.name in changes
    }


def _heard(database: Database, stage: Stage, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The changes of a log, without the watermarks beside them, of which the database hears."""
    left = dict(changes)
    for _, table in stage.watched:
        if (found := left.pop(watermark_name(table.name), None)) is not None:
            hear(database, table.name, found.column(WATERMARK_COLUMN)[0].as_py())
    return left


def _logged(task: Task, name: str, changes: Mapping[str, pa.Table]) -> int:
    """Write the changes of a cell's tables; the bytes of the file."""
    batch = LoggedBatch(task.batch_id, task.epoch, task.plan, task.batch_id, None, changes=changes)
    return write_file(task.folder, f"{name}.batch", encoded(batch))
