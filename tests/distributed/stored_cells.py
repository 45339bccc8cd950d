"""Cells whose checkpoint is in an object store: drivers and hosts that die, sleep and wake up, and attempts twice.

Laws: what was delivered adds up to the views over all batches, at each step; what a manifest lists is there, and is
neither written over nor removed, whatever comes late.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

from driven_cells import LocalSteps
from livejoin.checkpoint.job import job_of
from livejoin.distributed import Cells, Declared, Manifest, Manifests, Outcome, Plan, Task
from livejoin.distributed import cells as cells_module
from livejoin.distributed import parts as parts_module
from livejoin.distributed.driver import commit, is_next, read_delta
from livejoin.distributed.parts import CellPart, advance, by_cell
from livejoin.distributed.states import parts_of
from livejoin.errors import LivejoinError, StateError
from livejoin.schema import Table
from livejoin.sql import parse_columns
from livejoin.state import objects as objects_module
from livejoin.state.objects import Data, Objects
from livejoin.state.store_folder import StorePath
from memory_objects import Killed, MemoryObjects, Seen, Sight
from oracle import connect, multiset, signed_multiset, without_zeros
from scenario import Row

VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "ends": "SELECT dst, COUNT(*) AS n, SUM(src) AS s FROM G GROUP BY dst",
    "total": "SELECT COUNT(*) AS n, MAX(src) AS most FROM G",
}
CHANCE = 0.08


def hurry(patch: pytest.MonkeyPatch, patience: float = 0.02) -> None:
    """Let nobody wait for long, snapshots and merged logs come often, and half of the parts be files."""
    patch.setattr(objects_module, "PATIENCE", patience)
    patch.setattr(objects_module, "_FIRST_PAUSE", 0.001)
    patch.setattr(cells_module, "LEAST_LOG", 3_000)
    patch.setattr(cells_module, "MOST_FILES", 2)
    patch.setattr(parts_module, "SMALL", 1_500)


@contextmanager
def hurried_cells() -> Iterator[None]:
    """As `hurry`, for a while, on the way to a real store: a request takes longer there, and a batch is dozens."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, 0.5)
        yield


_TRIES = 80
_NO_FAULTS = {"starts", "moves", "drivers that sleep", "host that dies", "task that sleeps", "late and refused"}


class WrittenOnce(MemoryObjects):
    """A store in which an object that is there is written again with the same content alone."""

    def put(self, key: str, data: Data) -> None:
        before = self.there.get(key)
        assert before is None or key.startswith(("lease", "probe")) or before == bytes(data), f"{key} is written over"
        super().put(key, data)


def place(objects: Objects) -> StorePath:
    """Where livejoin's half of a checkpoint is."""
    return StorePath(objects, "livejoin")


def expected(edges: Counter[Row]) -> dict[str, Counter[Row]]:
    """The rows of each view over edges, by DuckDB."""
    rows = list(edges.elements())
    columns = list(zip(*rows, strict=True)) or [(), ()]
    connection = connect()
    types = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    connection.register("G", pa.table([list(column) for column in columns], schema=types))
    return {name: multiset(connection.sql(sql).to_arrow_table()) for name, sql in VIEWS.items()}


@dataclass
class Host:
    """A process of an executor.

    Args:
        objects: The store as it sees it.
        memories: What it remembers of the cells, by plan.
    """

    objects: Seen
    memories: dict[str, Cells] = field(default_factory=dict)

    def run(
        self, plan: Plan, task: Task, stage: int, cell: int, came: Sequence[CellPart]
    ) -> tuple[Outcome, list[CellPart]]:
        """An attempt of a cell's part."""
        cells = self.memories.setdefault(plan.digest, Cells(plan.staged, plan.limits))
        here = replace(task, folder=place(self.objects)).of(stage, cell)
        return advance(cells, plan, here, stage, cell, came)


class Hosts:
    """The executors; what sleeps in them goes on later.

    Args:
        sight: The store as a process sees it.
        draw: What chance has a part in.
    """

    def __init__(self, sight: Sight, draw: random.Random) -> None:
        self.draw = draw
        self.happened = Counter[str]()
        self.asleep = list[Callable[[], object]]()
        self._sight = sight
        self._hosts = [self._host() for _ in range(2)]

    def _host(self) -> Host:
        return Host(self._sight(self.draw, CHANCE))

    def attempt(
        self, plan: Plan, task: Task, stage: int, cell: int, came: Sequence[CellPart]
    ) -> tuple[Outcome, list[CellPart]]:
        """A cell's part, which a second host does if one dies; of two attempts at once one counts."""
        if self.draw.random() < 0.1:
            sleeper = self._host()
            self.asleep.append(lambda: sleeper.run(plan, task, stage, cell, came))
            self.happened["task that sleeps"] += 1
        found = list[tuple[Outcome, list[CellPart]]]()
        wanted = self.draw.choice([1, 1, 1, 2])
        for _ in range(12):
            number = self.draw.randrange(len(self._hosts))
            host = self._hosts[number]
            try:
                found.append(host.run(plan, task, stage, cell, came))
            except (LivejoinError, Killed):
                if not host.objects.is_dead:
                    raise
            if host.objects.is_dead:  # nobody hears of an error of it
                self.asleep.append(host.objects.land)
                self.happened += host.objects.happened
                self.happened["host that dies"] += 1
                self._hosts[number] = self._host()
            if len(found) == wanted:
                break
        return self.draw.choice(found)

    def wake(self, share: float = 1.0) -> None:
        """Let some of what sleeps go on."""
        awake = [one for one in self.asleep if self.draw.random() < share]
        self.asleep = [one for one in self.asleep if one not in awake]
        for one in awake:
            with suppress(LivejoinError, OSError, Killed):
                one()


class StoredSteps(LocalSteps):
    """As `LocalSteps`, in hosts with sights of their own."""

    def __init__(self, hosts: Hosts, changes: Mapping[str, pa.Table], tables: Sequence[Table]) -> None:
        super().__init__(hosts.draw, {}, changes, tables=tables)
        self._hosts = hosts

    def _through(self, parts: Any, plan: Plan, task: Task) -> list[Outcome]:
        parts, done = list(parts), list[Outcome]()
        for stage in range(len(plan.staged.stages)):
            came = {cell: list[CellPart]() for cell in range(plan.cells)} | dict(by_cell(parts, stage))
            for cell, mine in came.items():
                if not mine and task.held.get((stage, cell)):
                    continue
                outcome, sent = self._hosts.attempt(plan, task, stage, cell, mine)
                done.append(outcome)
                parts += sent
            self._hosts.wake(0.02)
        return done


class Driver:
    """A driver, and what it delivered.

    Args:
        objects: The store as it sees it.
        hosts: The executors.
        cells: How many cells are asked for.
        output: What was delivered, by view and batch; changed.
        versions: For how many batches states stay.

    Raises:
        LivejoinError: The checkpoint is refused.
    """

    def __init__(
        self,
        objects: Objects,
        hosts: Hosts,
        cells: int,
        output: dict[tuple[str, int], Counter[Row]],
        versions: int = 1,
    ) -> None:
        self._hosts, self._output = hosts, output
        self.manifests = Manifests(place(objects), versions, versions)
        self._table = parse_columns("G", "src BIGINT, dst BIGINT")
        job = job_of({"G": self._table}, VIEWS, frozenset(), keep_all=True)
        self.declared = Declared(place(objects), job, cells, last=self.manifests.last)

    def take(self, number: int, changes: pa.Table) -> None:
        """A batch as Spark calls with it."""
        is_new = is_next(self.manifests, number)
        last = self.manifests.last
        if last is not None and self.manifests.done != last.batch_id:
            self.deliver(last)
        if is_new:
            steps = StoredSteps(self._hosts, {"G": changes}, [self._table])
            self.deliver(commit(self.declared, self.manifests, "difference", number, steps).manifest)

    def deliver(self, manifest: Manifest) -> None:
        """Write the deltas of a batch as files of its number, over those that are there, which say the same."""
        for view in VIEWS:
            delta = read_delta(self.declared, self.manifests, manifest, view).drop_columns(["_commit_version"])
            rows = without_zeros(signed_multiset(delta))
            assert self._output.setdefault((view, manifest.batch_id), rows) == rows, "a batch is told in two ways"
        self.manifests.finish(manifest.batch_id, [])


def changes_of(draw: random.Random, edges: Counter[Row]) -> pa.Table:
    """Edges that come and go; ``edges`` has them behind it."""
    gone = draw.sample(sorted(edges.elements()), min(edges.total(), draw.randrange(3)))
    come = [(draw.randrange(5), draw.randrange(5)) for _ in range(draw.randrange(1, 7))]
    rows = [*((*row, "delete") for row in gone), *((*row, "insert") for row in come)]
    edges.subtract(gone)
    edges.update(come)
    columns = list(zip(*rows, strict=True))
    return pa.table(
        {name: pa.array(list(column)) for name, column in zip(("src", "dst", "_change_type"), columns, strict=True)}
    )


def check_state(objects: Objects, edges: Counter[Row]) -> None:
    """Assert that a reader finds the views, and that all files of the newest manifest are there."""
    for view, rows in expected(edges).items():
        found, _ = parts_of(place(objects), view, None)
        batches = [batch for part in found for batch in part.rows()]
        assert Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist()) == rows, view


def storm(seed: int, least: Sequence[int], sight: Sight) -> Counter[str]:
    """Run batches until there were so many of them and so many faults.

    Args:
        seed: The seed of what is drawn.
        least: How many batches there are at least, and how many faults.
        sight: The store as a process sees it.

    Returns:
        What happened, by kind; ``starts``, ``moves``, ``drivers that sleep`` and ``batches`` too.
    """
    draw = random.Random(seed)
    hosts, output, edges = Hosts(sight, draw), dict[tuple[str, int], Counter[Row]](), Counter[Row]()
    happened, sleepers = Counter[str](), list[Driver]()
    objects, driver, cells, number = sight(draw, 0.0), None, 2, 0

    def faults() -> int:
        every = happened + hosts.happened
        return sum(count for kind, count in every.items() if kind not in _NO_FAULTS)

    while number < least[0] or faults() < least[1]:
        changes, why = changes_of(draw, edges), Counter[str]()
        if driver is not None and not objects.is_dead and draw.random() < 0.1:
            sleepers.append(driver)
            driver, objects.chance = None, 0.0
            happened += objects.happened
            objects.happened.clear()
        for _ in range(_TRIES):
            try:
                if driver is None or objects.is_dead:
                    driver = None
                    objects = sight(draw, CHANCE / 4)
                    moved = draw.choice([cells, cells, cells, 2, 3])
                    driver = Driver(objects, hosts, moved, output)
                    happened["moves"] += moved != cells
                    cells = moved
                    happened["starts"] += 1
                    objects.chance = CHANCE
                driver.take(number, changes)
                break
            except (LivejoinError, Killed) as error:
                why[f"{type(error).__name__} {error}"] += 1
                happened += objects.happened
                objects.happened.clear()
                objects.chance = 0.0
                hosts.asleep.append(objects.land)
                hosts.wake(0.3)
                if driver is not None and not objects.is_dead and draw.random() < 0.5:
                    sleepers.append(driver)
                driver = None
        else:
            raise AssertionError(f"no start brought batch {number} to its end: {why}")
        objects.chance = 0.0
        total = dict[str, Counter[Row]]()
        for (view, _), rows in output.items():
            total.setdefault(view, Counter()).update(rows)
        assert {view: without_zeros(rows) for view, rows in total.items()} == expected(edges)
        check_state(objects, edges)
        number += 1
        for asleep in sleepers:
            happened["drivers that sleep"] += 1
            with pytest.raises(StateError, match="belongs to another driver by now"):
                asleep.manifests.commit(Manifest(number, asleep.manifests.epoch, "", None))
        sleepers.clear()
        hosts.wake(0.3)
        objects.chance = CHANCE
    objects.chance = 0.0
    hosts.wake()
    check_state(objects, edges)
    last = Driver(sight(draw, 0.0), hosts, cells, output).manifests.last
    assert last is not None
    assert last.batch_id == number - 1
    happened["batches"] = number
    return happened + hosts.happened + objects.happened
