"""Watermarks of spread tables: cells leave out what one process leaves out, and close the same windows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.policy import Policy
from livejoin.distributed import Declared, Manifests
from livejoin.distributed.driver import Committed, commit, read_delta, read_letters
from livejoin.errors import LivejoinError
from livejoin.plan.dispatch import TableSample, sampled
from oracle import signed_multiset, without_zeros
from scenario import Row
from strategies import IS_FUZZ

MINUTE = dt.timedelta(minutes=1)
BEGIN = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
VIEWS = {
    "closed": (
        "SELECT k, window.start AS b, COUNT(*) AS c, SUM(n) AS s FROM E GROUP BY k, window(at, '10 minutes') EMIT FINAL"
    ),
    "hops": "SELECT window.end AS e, COUNT(*) AS c FROM E GROUP BY window(at, '10 minutes', '5 minutes') EMIT FINAL",
    "sessions": (
        "SELECT k, session_window.start AS b, MAX(n) AS m FROM E GROUP BY k, session_window(at, '4 minutes') EMIT FINAL"
    ),
    "open": "SELECT k, COUNT(*) AS c, MIN(at) AS least FROM E GROUP BY k",
    "pairs": "SELECT x.n AS a, y.n AS b, P.v AS v FROM E x JOIN E y ON x.k = y.k AND x.n < y.n JOIN P ON x.k = P.k",
    "mark": "SELECT at FROM livejoin_watermark_e",
    "behind": "SELECT COUNT(*) AS c FROM E JOIN livejoin_watermark_e w ON E.at < w.at",
}
KEYS = {
    "no key": "id BIGINT, k BIGINT, at TIMESTAMP, n BIGINT",
    "a key": "id BIGINT PRIMARY KEY, k BIGINT, at TIMESTAMP, n BIGINT",
    "two keys": "id BIGINT PRIMARY KEY, k BIGINT, at TIMESTAMP, n BIGINT UNIQUE",
}


class Both:
    """Cells, and one process that gets the same changes.

    Args:
        path: The checkpoint.
        columns: The columns of the table with the watermark.
        late: The way to treat late changes.
        dice: What chance has a part in.
        views: The views.
    """

    def __init__(self, path: Path, columns: str, late: Any, dice: Random, views: dict[str, str]) -> None:
        self.path, self.dice, self.memories, self.views = path, dice, Memories(), dict(views)
        self.order = Random(1)  # in which cells run, apart from what the batches are
        self.whole = livejoin.Database()
        self.whole.create_table("E", columns, watermark=("at", 5 * MINUTE), late=late)
        self.whole.create_table("P", "k BIGINT PRIMARY KEY, v BIGINT")
        for name, sql in views.items():
            self.whole.create_view(name, sql)
        self.has_key = "KEY" in columns
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in views}
        self.manifests: Manifests | None = None
        self.number = 0

    def start(self, cells: int) -> None:
        """A driver, with so many cells."""
        if self.manifests is not None:
            self.manifests.close()
        self.memories.clear()
        self.manifests = Manifests(self.path)
        self.tables = {name: self.whole._contents.catalog[name] for name in ("E", "P")}
        job = job_of(self.tables, self.views, frozenset(), keep_all=True)
        self.declared = Declared(self.path, job, cells, last=self.manifests.last)

    def apply(self, changes: dict[str, pa.Table], policy: Policy | None = None) -> Committed:
        """A batch in cells and in one process: what was told adds up, as much was late, the watermark is the same."""
        assert self.manifests is not None
        last = self.manifests.last
        number = 0 if last is None else last.batch_id + 1
        samples: dict[str, TableSample] = {
            name.lower(): sampled(table, table.arrow.empty_table(), total=1000) for name, table in self.tables.items()
        }
        steps = LocalSteps(self.order, self.memories, changes, None, samples, list(self.tables.values()))
        done = commit(self.declared, self.manifests, "difference", number, steps, policy or Policy())
        for view in self.views:
            delta = read_delta(self.declared, self.manifests, done.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(number, [])
        by_key = "P" in changes or self.has_key
        one = self.whole.apply(
            changes,
            on_conflict="update" if by_key else "error",
            on_bad_rows="fail" if policy is None else "dead_letter",
        )
        assert done.late == one.late
        assert sum(done.ignored.values()) == one.ignored
        if policy is not None:
            letters = read_letters(self.declared, self.manifests, done.manifest)
            found = sorted(letters["E"].column("id").to_pylist()) if "E" in letters else []
            assert found == sorted(row.change["id"] for row in one.dead_letters)
            assert done.bad.get("E", 0) == len(found)
        for view, told in self.told.items():
            held = Counter(local(tuple(row.values())) for row in self.whole.views[view].to_arrow().to_pylist())
            assert Counter({local(row): n for row, n in without_zeros(told).items()}) == held, (view, number)
        at = [row["at"] for row in self.whole.tables["livejoin_watermark_E"].to_pylist()]
        assert done.manifest.marks == ({"e": word_of(*at)} if at else {})
        return done

    def batch(self, clock: int) -> dict[str, pa.Table]:
        """A few changes about a time, some of them late: of rows that come, go, and take the place of others."""
        dice, found = self.dice, []
        for _ in range(dice.choice([0, 1, 1, 2, 6])):
            time = dice.choice([None, *[BEGIN + (clock - dice.randrange(14)) * MINUTE] * 9])
            if self.has_key and dice.random() < 0.4 and self.number:
                row = (dice.randrange(self.number), dice.randrange(3), time, 10_000 + self.number)
            else:
                row = (self.number, dice.choice([None, 0, 1, 2]), time, self.number)
            self.number += 1
            found.append((*row, "upsert" if self.has_key else "insert"))
        there = sorted((tuple(row.values()) for row in self.whole.tables["E"].to_pylist()), key=repr)
        gone = dice.sample(there, min(len(there), dice.choice([0, 0, 1, 3])))
        came = {row[0] for row in found}
        found += [(*row, "delete") for row in gone if self.has_key or row[0] not in came]
        if self.has_key:
            dice.shuffle(found)
        changes = {
            "E": pa.table(
                {c: [r[i] for r in found] for i, c in enumerate(("id", "k", "at", "n", "_change_type"))}, schema=SCHEMA
            )
        }
        if dice.random() < 0.4:
            keys = pa.array([dice.randrange(3) for _ in range(2)], pa.int64())
            changes["P"] = pa.table(
                {"k": keys, "v": keys, "_change_type": ["upsert", dice.choice(["upsert", "delete"])]}
            )
        return {name: one for name, one in changes.items() if one.num_rows}


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("k", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
        ("_change_type", pa.string()),
    ]
)


def local(row: Row) -> Row:
    """A row whose instants are times: one process shows them so, and a checkpoint with their zone."""
    return tuple(one.replace(tzinfo=None) if isinstance(one, dt.datetime) else one for one in row)


def word_of(time: dt.datetime) -> int:
    return (time.replace(tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("key", "late"),
    [
        ("no key", "skip"),
        ("a key", "refuse"),
        *(
            pytest.param(*one, marks=pytest.mark.torture)
            for one in [("no key", "refuse"), ("a key", "skip"), ("two keys", "skip"), ("two keys", "refuse")]
        ),
    ],
)
def test_cells_leave_out_and_close_what_one_process_does(tmp_path: Path, key: str, late: str) -> None:
    """Batches of a few rows, so that most cells hear of the time alone; drivers with other numbers of cells."""
    dice = Random(f"{key} {late}")
    some = ("closed", "pairs", "mark")  # a key is seen in what comes and goes, whatever views do with it
    views = VIEWS if IS_FUZZ or key == "no key" else {name: VIEWS[name] for name in some}
    both, clock, left_out = Both(tmp_path, KEYS[key], late, dice, views), 20, 0
    policy = None if late == "skip" else Policy(on_bad_rows="dead_letter")
    for cells in (3, 3, 1, 4) if IS_FUZZ else (3, 4):
        both.start(cells)
        for _ in range(6 if IS_FUZZ else 3):
            clock += dice.choice([0, 1, 2, 4, 15, 15])
            if changes := both.batch(clock):
                done = both.apply(changes, policy)
                left_out += done.late + sum(done.bad.values())
    assert left_out > 3
    assert sum(both.told["closed"].values()) > 3


def rows(*given: tuple[int, int, int]) -> dict[str, pa.Table]:
    """Insertions of rows, each an id, a value of k and minutes."""
    whole = [(one, k, BEGIN + minutes * MINUTE, one, "insert") for one, k, minutes in given]
    return {"E": pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in whole], schema=SCHEMA)}


def test_a_watermark_stays_where_its_newest_row_is_gone_and_cells_come(tmp_path: Path) -> None:
    """What a cell is told is not what its rows say; and another number of cells begins with it."""
    both = Both(tmp_path, KEYS["no key"], "skip", Random(1), {"closed": VIEWS["closed"], "mark": VIEWS["mark"]})
    both.start(4)
    both.apply(rows(*((number, number, number) for number in range(8)), (8, 0, 40)))
    gone = rows((8, 0, 40))["E"]
    assert both.apply({"E": gone.set_column(4, "_change_type", pa.array(["delete"]))}).late == 0
    for cells in (4, 2, 5):
        both.start(cells)
        assert both.apply(rows(*((100 * cells + number, number, 34) for number in range(5)))).late == 5
        assert both.apply(rows((1000 + cells, cells, 35))).late == 0
    assert both.apply(rows((2000, 1, 60), (2001, 2, 0))).late == 1
    assert {row[1].minute for row in without_zeros(both.told["closed"])} == {0, 30}


def test_a_late_change_ends_the_batch_where_none_may_be(tmp_path: Path) -> None:
    both = Both(tmp_path, KEYS["a key"], "refuse", Random(1), {"closed": VIEWS["closed"]})
    both.start(3)
    both.apply(rows((1, 1, 30)))
    with pytest.raises(LivejoinError, match="the change is late: its at, or that of the row with its key, is before"):
        both.apply(rows((2, 2, 24)))
    both.apply(rows((3, 2, 25)))
