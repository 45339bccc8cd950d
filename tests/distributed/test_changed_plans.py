"""A checkpoint of cells goes on as another job, in another number of cells: what is told adds up to the results.

Beside the cells there is one embedded database with the same tables and changes; DuckDB runs the views over its rows.
Attempts die before they commit, drivers die when they have committed, and the next one may have another job.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.job import Job, job_of
from livejoin.checkpoint.row_digest import digest
from livejoin.checkpoint.static_tables import OnStaticChange
from livejoin.distributed import Declared, Manifests, load
from livejoin.distributed.begin import check_columns
from livejoin.distributed.driver import Committed, commit, read_delta
from livejoin.errors import DuplicateKeyError, StateError
from livejoin.schema import Table, TableSettings
from livejoin.sql import parse_columns
from oracle import connect, signed_multiset, without_zeros
from scenario import Row
from strategies import EXAMPLES

TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "T": ("a BIGINT, b STRING", {}),
    "G": ("src BIGINT, dst BIGINT", {"window_rows": 20}),
    "P": ("id BIGINT PRIMARY KEY, nr BIGINT, town STRING", {"sequence_by": "nr"}),
    "E": ("moment BIGINT, n BIGINT", {"window_range": ("moment", 10)}),
    "S": ("a BIGINT NOT NULL, name STRING", {"static": True}),
}
STATIC = pa.table({"a": pa.array([0, 1, 2, 2], pa.int64()), "name": ["zero", "one", "two", None]})
TEXTS = {
    "u": ["SELECT a, b FROM T", "SELECT b AS a, b FROM T WHERE a > 2", "select a, -- as it is\n b from T"],
    "v": [
        "SELECT x.a AS a, y.b AS b FROM T x JOIN T y ON x.a = y.a",
        "SELECT T.a AS a, P.town AS b FROM T JOIN P ON T.a = P.id",
        "SELECT a, b FROM T WHERE a IN (SELECT src FROM G)",
    ],
    "w": [
        "SELECT src AS k, COUNT(*) AS n FROM G GROUP BY src",
        "SELECT town AS k, COUNT(*) AS n FROM P GROUP BY town",
        "SELECT A.src AS k, COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    ],
    "x": ["SELECT COUNT(*) AS n, MAX(a) AS m FROM T", "SELECT SUM(n) AS n, MAX(moment) AS m FROM E"],
    "y": ["SELECT id FROM P WHERE id NOT IN (SELECT a FROM T WHERE a IS NOT NULL)", "SELECT DISTINCT a AS id FROM T"],
    "z": [
        "SELECT T.b AS b, S.name AS name FROM T JOIN S ON T.a = S.a",
        "SELECT b, name FROM T LEFT JOIN S ON T.a = S.a",
    ],
}


class Changing:
    """A checkpoint of cells, the database beside it, and what a reader of the output has.

    Args:
        path: The checkpoint.
        dice: What chance has a part in.
    """

    def __init__(self, path: Path, dice: Random) -> None:
        self.path, self.dice = path, dice
        self.whole = livejoin.Database()
        self.told: dict[str, Counter[Row]] = {}
        self.memories: Memories = {}
        self.rows: list[tuple[int | None, str]] = []
        self.clock = 0
        self.manifests: Manifests | None = None
        self.static = STATIC

    def open(
        self,
        job: Job,
        cells: int,
        initial: Initial = "difference",
        anew: bool = False,
        on_static_change: OnStaticChange = "refresh",
    ) -> Declared:
        """A driver; hosts may remember what they had."""
        self.close()
        if self.dice.random() < 0.5:
            self.memories.clear()
        self.manifests, self.initial = Manifests(self.path), initial
        self.declared = Declared(self.path, job, cells, last=self.manifests.last, anew=anew)
        check_columns(self.declared, initial)
        self.declared.compare(digests(self.declared.held_static, self.static), on_static_change)
        for name, table in self.declared.job.tables.items():
            if name.lower() not in self.whole._contents.tables:
                self.whole._contents.add_table(table)
                if table.static:
                    self.whole.apply(name, self.static)
        return self.declared

    def close(self) -> None:
        if self.manifests is not None:
            self.manifests.close()
            self.manifests = None

    def attempt(self, changes: Mapping[str, pa.Table]) -> Committed:
        assert self.manifests is not None
        last = self.manifests.last
        static, refreshed = (
            {table.name: _inserted(self.static) for table in some}
            for some in (self.declared.unfilled, self.declared.refreshed)
        )
        read = {**digests(self.declared.unfilled, self.static), **digests(self.declared.refreshed, self.static)}
        self.steps = LocalSteps(self.dice, self.memories, changes, static, refreshed=refreshed, digests=read)
        return commit(self.declared, self.manifests, self.initial, 0 if last is None else last.batch_id + 1, self.steps)

    def dies(self, changes: Mapping[str, pa.Table]) -> None:
        """A batch of which nothing is committed, as its driver dies."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Manifests, "commit", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                self.attempt(changes)

    def result(self, sql: str) -> Counter[Row]:
        """What DuckDB makes of a query over the rows of the database beside."""
        with connect() as other:
            for name, table in self.whole.tables.items():
                self.whole.create_view("all_rows", f"SELECT * FROM {name}")
                other.register(name, self.whole.views["all_rows"].to_arrow())
                self.whole.drop_view("all_rows")
                assert table.name == name
            for name, text in self.declared.job.views.items():
                other.execute(f"CREATE VIEW {name} AS {text}")
            return Counter(other.execute(sql).fetchall())

    def told_before(self) -> None:
        """What a reader makes of the views of a job that begins: a new output, or what is said of the one it has."""
        before = self.declared.before
        if before is None and self.declared.is_chosen:
            return
        job = self.declared.job
        changed = job.views if before is None else (*before.changes.new, *before.changes.changed)
        for name in changed:
            is_kept = before is not None and name in before.changes.changed and self.initial == "difference"
            if self.initial == "nothing":
                self.told[name] = self.result(job.views[name])
            elif not is_kept:
                self.told[name] = Counter()

    def apply(self, changes: Mapping[str, pa.Table]) -> None:
        """A batch that is committed and delivered, and what comes of it."""
        self.told_before()
        refreshed = [table.name for table in self.declared.refreshed]
        self.deliver(self.attempt(changes))
        for name in refreshed:
            self.whole.refresh(name, self.static)
        self.whole.apply(dict(changes), on_conflict="update") if "P" in changes else self.whole.apply(dict(changes))
        self.check()

    def deliver(self, committed: Committed) -> None:
        assert self.manifests is not None
        for view in self.declared.job.views:
            delta = read_delta(self.declared, self.manifests, committed.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(committed.manifest.batch_id, [])

    def check(self) -> None:
        for name, sql in self.declared.job.views.items():
            assert without_zeros(self.told[name]) == self.result(sql), (name, sql)

    def batch(self, tables: Sequence[str]) -> dict[str, pa.Table]:
        """Some changes of some tables."""
        dice, found = self.dice, {}
        self.clock += dice.randrange(4)
        some = [(dice.choice([None, *range(6)]), dice.choice("pqr"), "insert") for _ in range(dice.randrange(6))]
        gone = [self.rows.pop(dice.randrange(len(self.rows))) for _ in range(min(len(self.rows), dice.randrange(3)))]
        if "T" in tables:
            self.rows += [(a, b) for a, b, _ in some]
            found["T"] = _changes(["a", "b"], [*some, *((a, b, "delete") for a, b in gone)])
        edges = [(dice.randrange(6), dice.randrange(6), "insert") for _ in range(dice.randrange(8))]
        people = [
            (dice.randrange(6), self.clock - dice.randrange(8), dice.choice(["x", "y", None]), kind)
            for kind in dice.choices(["upsert", "delete"], [2, 1], k=dice.randrange(5))
        ]
        events = [(self.clock - dice.randrange(14), dice.randrange(9), "insert") for _ in range(dice.randrange(4))]
        found["G"] = _changes(["src", "dst"], edges)
        found["P"] = _changes(["id", "nr", "town"], people)
        found["E"] = _changes(["moment", "n"], events)
        return {name: rows for name, rows in found.items() if name in tables and rows.num_rows}


def _changes(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Rows with their kinds as changes."""
    types = [pa.string() if name in ("b", "town") else pa.int64() for name in names] + [pa.string()]
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=[*names, "_change_type"])


def digests(tables: Sequence[Table], rows: pa.Table) -> dict[str, str]:
    """Those of static tables that all have the same rows."""
    return {table.name.lower(): digest(table, rows).of(table) for table in tables}


def _inserted(rows: pa.Table) -> pa.Table:
    return rows.append_column("_change_type", pa.repeat(pa.scalar("insert"), rows.num_rows))


def job(views: Mapping[str, str], tables: Mapping[str, tuple[str, dict[str, Any]]] = TABLES) -> Job:
    """A job of some tables."""
    declared = {
        name: parse_columns(name, columns, TableSettings(**options)) for name, (columns, options) in tables.items()
    }
    return job_of(declared, views, frozenset(), keep_all=True)


FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
LIVES = max(1, EXAMPLES // 50)
STARTS = 4


@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_jobs_that_change(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    changing = Changing(tmp_path, dice)
    tables = {name: TABLES[name] for name in ("T", "G", "P", "E")}
    views: dict[str, str] = {}
    for number in range(STARTS):
        if number == 2:
            tables = TABLES
        names = [name for name in TEXTS if name != "z" or "S" in tables]
        asked = {name: dice.choice(TEXTS[name]) for name in dice.sample(names, dice.randrange(1, 4))}
        views = {**{name: sql for name, sql in views.items() if dice.random() < 0.5}, **asked}
        initial: Initial = dice.choice(["whole", "nothing"])
        changing.open(job(views, tables), dice.randrange(1, 4), initial, anew=dice.random() < 0.2)
        if dice.random() < 0.5:
            changing.dies(changing.batch([]))
            changing.open(job(views, tables), dice.randrange(1, 4), initial)
        for _ in range(2):
            changing.apply(changing.batch(list(tables)))
    changing.close()


def begun(path: Path, first: Job, changes: Mapping[str, Sequence[tuple[object, ...]]], cells: int = 2) -> Changing:
    """A checkpoint with one batch of rows that are inserted."""
    changing = Changing(path, Random(1))
    changing.open(first, cells)
    changing.apply({name: rows_of(changing, name, rows) for name, rows in changes.items()})
    return changing


def rows_of(changing: Changing, name: str, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Rows as insertions."""
    columns = changing.declared.job.tables[name].columns
    lines = zip(*rows, strict=True)
    return _inserted(
        pa.table({c.name: pa.array(list(line), c.type.arrow) for c, line in zip(columns, lines, strict=True)})
    )


T = {"T": TABLES["T"]}
LETTERS = [(1, "x"), (1, "x"), (2, "y"), (None, "z"), (None, None)]


def test_formatting_is_no_change(tmp_path: Path) -> None:
    changing = begun(tmp_path, job({"v": "SELECT a, b FROM T"}, T), {"T": LETTERS})
    plan = changing.declared.plan
    declared = changing.open(job({"v": "select a, -- the number\n b from T"}, T), 2)
    assert (declared.before, declared.plan) == (None, plan)
    changing.apply({"T": rows_of(changing, "T", [(7, "q")])})
    assert changing.steps.moves == 0


def test_a_view_with_another_query_tells_the_difference(tmp_path: Path) -> None:
    views = {"v": "SELECT a, b FROM T", "w": "SELECT b, a FROM v", "k": "SELECT b FROM T"}
    changing = begun(tmp_path, job(views, T), {"T": LETTERS})
    other = {
        **views,
        "v": "SELECT a, b FROM T WHERE a = 1 OR b = 'z'",
        "n": "SELECT b, COUNT(*) AS n FROM T GROUP BY b",
    }
    changing.open(job(other, T), 3)
    changing.told_before()
    gone = _changes(["a", "b"], [(1, "x", "delete"), (9, "z", "insert")])
    committed = changing.attempt({"T": gone})
    assert changing.manifests is not None
    delta = read_delta(changing.declared, changing.manifests, committed.manifest, "v")
    assert signed_multiset(delta.drop_columns(["_commit_version"])) == Counter(
        {(2, "y"): -1, (None, None): -1, (1, "x"): -1, (9, "z"): 1}
    )
    changing.deliver(committed)
    changing.whole.apply({"T": gone})
    assert without_zeros(changing.told["w"]) == Counter({("x", 1): 1, ("z", None): 1, ("z", 9): 1})
    assert without_zeros(changing.told["n"]) == Counter({("x", 1): 1, ("y", 1): 1, ("z", 2): 1, (None, 1): 1})
    assert without_zeros(changing.told["k"]) == Counter({("x",): 1, ("y",): 1, ("z",): 2, (None,): 1})


def test_a_batch_that_is_not_delivered_when_the_job_changes(tmp_path: Path) -> None:
    """It is delivered as it was committed, but for views that are there no more or have other columns."""
    views = {"v": "SELECT a, b FROM T", "w": "SELECT b FROM T", "gone": "SELECT a FROM T"}
    changing = begun(tmp_path, job(views, T), {"T": LETTERS})
    more = rows_of(changing, "T", [(5, "q")])
    left = changing.attempt({"T": more})
    changing.whole.apply({"T": more})
    other = {"v": "SELECT a, b FROM T WHERE a > 1", "w": "SELECT b, a FROM T", "n": "SELECT COUNT(*) AS n FROM T"}
    with pytest.raises(StateError, match=r"view 'w' has other columns than before: was \(b string\), is now"):
        changing.open(job(other, T), 2)
    changing.open(job({**other, "w": views["w"]}, T), 2)
    changing.told["n"] = Counter()
    changing.deliver(left)
    changing.apply({"T": rows_of(changing, "T", [(6, "r")])})


def test_tables_and_columns_come_and_go(tmp_path: Path) -> None:
    tables = {"T": TABLES["T"], "P": TABLES["P"], "N": ("n BIGINT, s VARCHAR(2)", {})}
    views = {"v": "SELECT T.a AS a, N.s AS s FROM T JOIN N ON T.a = N.n"}
    changing = begun(tmp_path, job(views, tables), {"T": LETTERS, "N": [(1, "ab"), (None, "cd")]})
    with pytest.raises(StateError, match=r"table 'T': column 'b' was STRING and is now BIGINT.*'N'.*VARCHAR\(1\)"):
        changing.open(
            job({"v": "SELECT a FROM T"}, {"T": ("a BIGINT, b BIGINT", {}), "N": ("n BIGINT, s VARCHAR(1)", {})}), 2
        )
    wider = {
        "T": TABLES["T"],
        "N": ("more DOUBLE, n BIGINT, s VARCHAR(5)", {}),
        "P": ("id BIGINT PRIMARY KEY, nr INT", {}),
    }
    views = {**views, "w": "SELECT n, s, more FROM N", "people": "SELECT id, nr FROM P"}
    changing.open(job(views, wider), 3)
    assert [column.name for column in changing.declared.job.tables["N"].columns] == ["n", "s", "more"]
    changing.attempt({"N": rows_of(changing, "N", [(2, "abcde", 0.5)]), "P": rows_of(changing, "P", [(1, 2)])})
    assert changing.manifests is not None and changing.manifests.last is not None
    told = Counter[Row]()
    for view in ("w", "people"):
        delta = read_delta(changing.declared, changing.manifests, changing.manifests.last, view)
        told.update(signed_multiset(delta.drop_columns(["_commit_version"])))
    assert told == Counter({(1, "ab", None): 1, (None, "cd", None): 1, (2, "abcde", 0.5): 1, (1, 2): 1})
    changing.manifests.finish(1, [])
    assert changing.manifests.last.filled == {"t", "n", "p"}
    changing.open(job({"w": views["w"]}, {"N": wider["N"]}), 1)
    changing.attempt({})
    assert changing.manifests.last.filled == {"n"}


def test_what_a_table_knows_beside_its_rows_goes_on(tmp_path: Path) -> None:
    """The end of a window, the order of its rows, deleted keys: what comes late is late in the new cells, too."""
    tables = {name: TABLES[name] for name in ("G", "P", "E")}
    views = {"edges": "SELECT src, dst FROM G", "people": "SELECT id, nr, town FROM P", "e1": "SELECT moment, n FROM E"}
    changing = begun(
        tmp_path,
        job(views, tables),
        {
            "G": [(n % 3, n % 2) for n in range(40)],
            "P": [(n, 10, "x") for n in range(6)],
            "E": [(100, 1), (95, 2), (93, 3)],
        },
    )
    dead = _changes(["id", "nr", "town"], [(1, 20, None, "delete"), (2, 21, None, "delete")])
    changing.apply({"E": _changes(["moment", "n"], [(100, 1, "delete")]), "P": dead})
    for cells in (3, 1, 2):
        changing.open(job(views, tables), cells)
        late = _changes(["id", "nr", "town"], [(1, 15, "late", "upsert"), (2, 30 + cells, "y", "upsert")])
        changing.apply({"E": rows_of(changing, "E", [(90, 7), (92, 8)]), "P": late})
        changing.apply({"G": rows_of(changing, "G", [(cells, 9), (2, 0), (2, 0)])})
    assert (1, 15, "late") not in without_zeros(changing.told["people"])


def test_static_rows_are_checked(tmp_path: Path) -> None:
    tables = {"T": TABLES["T"], "S": ("a BIGINT PRIMARY KEY, name STRING", {"static": True})}
    changing = Changing(tmp_path, Random(2))
    rows = pa.table({"a": pa.array([1, 2, 2], pa.int64()), "name": ["one", "two", "deux"]})
    changing.static = rows.slice(0, 2)
    changing.open(job({"v": "SELECT b, name FROM T JOIN S ON T.a = S.a"}, tables), 2)
    changing.static = rows
    with pytest.raises(DuplicateKeyError, match="table 'S'"):
        changing.attempt({})
    changing.static = rows.slice(0, 2)
    changing.open(changing.declared.job, 2)
    changing.apply({"T": rows_of(changing, "T", LETTERS)})


def test_files_of_a_plan(tmp_path: Path) -> None:
    changing = begun(tmp_path, job({"v": "SELECT a, b FROM T"}, T), {"T": LETTERS})
    changing.open(job({"v": "SELECT a, b FROM T"}, T), 3)
    changing.apply({})
    (plan,) = tmp_path.glob("*.plan")
    assert plan.stem == changing.declared.plan.digest
    assert len(list(tmp_path.glob("*.tables"))) == 3
    plan.rename(tmp_path / "kept")
    with pytest.raises(StateError, match=r"\.plan is missing, the plan of the newest manifest"):
        changing.open(job({"v": "SELECT a, b FROM T"}, T), 3)


def test_a_load_that_is_not_as_it_was_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values were even when it was chosen where rows go; then one of them is frequent, and it is chosen anew."""
    monkeypatch.setattr(load, "LEAST_ROWS", 100)
    declared = job(
        {"v": "SELECT x.a AS a, x.b AS b, S.name AS name FROM T x JOIN S ON x.a = S.a"}, {**T, "S": TABLES["S"]}
    )
    changing = Changing(tmp_path, Random(3))
    changing.static = pa.table({"a": pa.array(range(500), pa.int64()), "name": ["n"] * 500})
    changing.open(declared, 4)
    even = rows_of(changing, "T", [(n, "x") for n in range(500)])
    changing.apply({"T": even})
    assert changing.manifests is not None and changing.manifests.last is not None
    assert not list(load.off_load(changing.declared.plan, changing.manifests.last))
    changing.apply({"T": rows_of(changing, "T", [(7, str(n)) for n in range(3000)])})
    ((digest, line),) = load.off_load(changing.declared.plan, changing.manifests.last)
    assert re.search(
        r"of the join of T x, S S the busiest cell has 3,\d+ rows, 3\.\d times the mean, where 1\.\d", line
    )
    changing.open(declared, 4, anew=True)
    changing.apply({})
    assert changing.steps.moves == 1
    (again,) = load.joins(changing.declared.plan.staged.stages[0])
    loads = [one.loads[again] for one in changing.manifests.last.cells.values()]
    assert again != digest
    assert max(loads) < 2 * sum(loads) / 4, "rows with the frequent value are in several cells"
