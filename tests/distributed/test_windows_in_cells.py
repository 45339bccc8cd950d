"""A window by range whose rows are spread: each cell is told the newest time, and lets go what one engine lets go."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.job import job_of
from livejoin.distributed import Declared, Manifests, declaration
from livejoin.distributed.driver import Committed, commit, read_delta
from livejoin.errors import StateError
from livejoin.plan.dispatch import TableSample, sampled
from livejoin.plan.stages import Cube
from oracle import signed_multiset, without_zeros
from scenario import Row
from strategies import IS_FUZZ

VIEWS = {
    "pairs": "SELECT x.k AS k, x.n AS a, y.n AS b FROM E x JOIN E y ON x.k = y.k AND x.n < y.n",
    "named": "SELECT E.n AS n, P.v AS v FROM E JOIN P ON E.k = P.k",
    "follows": "SELECT x.n AS a, y.k AS b FROM E x LEFT JOIN E y ON x.n = y.k",
    "groups": "SELECT k, COUNT(*) AS n, MIN(n) AS least FROM E GROUP BY k",
    "all": "SELECT COUNT(*) AS n, SUM(n) AS total FROM E",
}
JOINS = {name: VIEWS[name] for name in ("pairs", "named", "follows")}
TIMES: dict[str, tuple[object, Callable[[int], object]]] = {
    "BIGINT": (10, lambda time: time),
    "INT": (10, lambda time: time - 2**31),
    "DATE": (dt.timedelta(days=10), lambda time: dt.date(1969, 12, 20) + dt.timedelta(days=time)),
    "TIMESTAMP": (
        dt.timedelta(minutes=10),
        lambda time: dt.datetime(1969, 12, 31, 23, 30, tzinfo=dt.UTC) + dt.timedelta(minutes=time),
    ),
}


class Both:
    """Cells, and one engine that gets the same changes.

    Args:
        path: The checkpoint.
        kind: The type of the times.
        views: The views.
        dice: What chance has a part in.
    """

    def __init__(self, path: Path, kind: str, views: dict[str, str], dice: Random) -> None:
        self.path, self.views, self.dice, self.memories = path, views, dice, Memories()
        self.whole = livejoin.Database()
        width, self.time = TIMES[kind]
        self.whole.create_table("E", f"at {kind}, k BIGINT, n BIGINT, note STRING", window_range=("at", width))
        self.whole.create_table("P", "k BIGINT PRIMARY KEY, v BIGINT")
        for name, sql in views.items():
            self.whole.create_view(name, sql)
        self.tables = {table.name: table for table in self.whole._contents.catalog}
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in views}
        self.manifests: Manifests | None = None
        self.rows: list[tuple[object, ...]] = []

    def start(self, cells: int) -> None:
        """A driver, with so many cells."""
        if self.manifests is not None:
            self.manifests.close()
        self.memories.clear()
        self.manifests = Manifests(self.path)
        job = job_of(self.tables, self.views, frozenset(), keep_all=True)
        self.declared = Declared(self.path, job, cells, last=self.manifests.last)

    def apply(self, changes: dict[str, pa.Table]) -> Committed:
        """A batch in cells and in the engine; what was told adds up, and as much was left out."""
        assert self.manifests is not None
        last = self.manifests.last
        number = 0 if last is None else last.batch_id + 1
        samples: dict[str, TableSample] = {
            name.lower(): sampled(table, table.arrow.empty_table(), total=1000) for name, table in self.tables.items()
        }
        steps = LocalSteps(self.dice, self.memories, changes, None, samples, list(self.tables.values()))
        done = commit(self.declared, self.manifests, "difference", number, steps)
        for view in self.views:
            delta = read_delta(self.declared, self.manifests, done.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(number, [])
        whole = self.whole.apply(changes, on_conflict="update" if "P" in changes else "error")
        assert sum(done.ignored.values()) == whole.ignored
        for view, told in self.told.items():
            held = Counter(tuple(row.values()) for row in self.whole.views[view].to_arrow().to_pylist())
            assert without_zeros(told) == held, (view, number)
        return done

    def events(self, rows: list[tuple[object, ...]], gone: list[tuple[object, ...]]) -> pa.Table:
        """Changes of the table with the window."""
        whole = [*((*row, "insert") for row in rows), *((*row, "delete") for row in gone)]
        at, k, n, note, kinds = ([row[i] for row in whole] for i in range(5))
        kept = self.tables["E"].arrow
        arrays = [pa.array(line, field.type) for line, field in zip((at, k, n, note), kept, strict=True)]
        return pa.table([*arrays, pa.array(kinds, pa.string())], names=[*kept.names, "_change_type"])

    def batch(self, clock: int) -> dict[str, pa.Table]:
        """A few rows about a time, some of them late, and deletions of rows that are still there."""
        dice = self.dice
        rows = [
            (
                self.time(clock - dice.randrange(16)),
                dice.choice([None, *range(4)]),
                dice.randrange(6),
                dice.choice("xy"),
            )
            for _ in range(dice.choice([0, 1, 1, 2, 6]))
        ]
        there = [tuple(row.values()) for row in self._all().to_pylist()]
        gone = dice.sample(there, min(len(there), dice.randrange(3)))
        found = {"E": self.events([*rows], gone)}
        if dice.random() < 0.4:
            keys = pa.array([dice.randrange(4) for _ in range(2)], pa.int64())
            found["P"] = pa.table({"k": keys, "v": keys, "_change_type": ["upsert", dice.choice(["upsert", "delete"])]})
        return {name: one for name, one in found.items() if one.num_rows}

    def _all(self) -> pa.Table:
        self.whole.create_view("there", "SELECT * FROM E")
        try:
            return self.whole.views["there"].to_arrow()
        finally:
            self.whole.drop_view("there")


@pytest.mark.parametrize(
    ("kind", "views"),
    [
        ("BIGINT", JOINS),
        pytest.param("INT", VIEWS, marks=pytest.mark.torture),
        pytest.param("DATE", JOINS, marks=pytest.mark.torture),
        ("TIMESTAMP", VIEWS),
    ],
)
def test_rows_leave_all_cells_as_they_leave_one_engine(tmp_path: Path, kind: str, views: dict[str, str]) -> None:
    """Batches of a few rows, so that most cells know but their time; drivers with other numbers of cells."""
    dice = Random(kind)
    both, clock, ignored = Both(tmp_path, kind, views, dice), 20, 0
    for cells in (3, 1, 5):
        both.start(cells)
        for _ in range(7 if IS_FUZZ else 3):
            clock += dice.choice([0, 0, 1, 2, 4, 30])
            if changes := both.batch(clock):
                ignored += sum(both.apply(changes).ignored.values())
    assert ignored, "some came too late"
    route = both.declared.plan.staged.homes["e"][0].route
    assert isinstance(route, Cube) is (views == JOINS), "several cells may have a row of a join"


def test_a_row_that_comes_and_goes_moves_the_windows_of_all_cells(tmp_path: Path) -> None:
    both = Both(tmp_path, "BIGINT", {"groups": VIEWS["groups"]}, Random(1))
    both.start(4)
    rows: list[tuple[object, ...]] = [(number, number, number, "x") for number in range(8)]
    both.apply({"E": both.events(rows, [])})
    assert len(both.told["groups"]) == 8
    last: list[tuple[object, ...]] = [(15, 0, 0, "x")]
    done = both.apply({"E": both.events(last, last)})
    assert {one.cell for one in done.done} == set(range(4))
    assert {row[0] for row in without_zeros(both.told["groups"])} == {6, 7}
    files = {where: len(held.log) for where, held in done.manifest.cells.items()}
    late: list[tuple[object, ...]] = [(3, 1, 1, "x")]
    again = both.apply({"E": both.events(late, [])})
    assert sum(again.ignored.values()) == 1
    written = {where: len(held.log) for where, held in again.manifest.cells.items()}
    assert sum(written.values()) == sum(files.values()) + 1, "a time that is not news is written down nowhere"


def test_only_one_row_of_what_a_task_reads_goes_to_every_cell(tmp_path: Path) -> None:
    both = Both(tmp_path, "BIGINT", {"groups": VIEWS["groups"]}, Random(1))
    both.start(4)
    rows: list[tuple[object, ...]] = [(number % 7, number, number, "x") for number in range(100)]
    done = both.apply({"E": both.events(rows, [])})
    assert sum(one.changes for one in done.done if one.stage == 0) <= 100 + 4 * 2


def test_a_checkpoint_where_one_cell_had_the_window_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(tmp_path, "BIGINT", {"groups": VIEWS["groups"]}, Random(1))
    with monkeypatch.context() as before:
        before.setattr(declaration, "FORMAT_OF_WINDOWS", declaration.FORMAT)
        both.start(2)
        both.apply({"E": both.events([(1, 1, 1, "x")], [])})
    with pytest.raises(StateError, match=r"the format 2, and this version of livejoin reads 3"):
        both.start(2)
