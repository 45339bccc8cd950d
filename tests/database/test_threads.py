"""Databases with several threads: the same answers and deltas as with one, always (see `harness.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from harness import Harness
from livejoin.dataflow.node import Node
from livejoin.errors import SchemaError
from livejoin.families.cells import task_runner
from livejoin.kernels import route
from livejoin.kernels.crown import maintain
from livejoin.kernels.join import records
from livejoin.plan.operators import BagOperator
from random_relational import CLASSES
from random_scenarios import random_scenarios
from scenario import Scenario
from strategies import EXAMPLES, FUZZ, IS_FUZZ

THREADS = (1, 2, 4)
SOME = settings(FUZZ, max_examples=max(2, EXAMPLES // 20))


@pytest.fixture(autouse=True, scope="module")
def _small_commits_use_the_pool() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_runner, "LEAST_SECONDS", 8 * task_runner._PACE)  # both ways are taken
        yield


by_class = pytest.mark.parametrize("kind", ["joins", *CLASSES])


def created(scenario: Scenario, threads: int) -> Harness:
    harness = Harness(scenario.tables, threads)
    harness.create_view("v", scenario.queries[0])
    harness.create_view("quiet", scenario.queries[0], deltas=False)
    return harness


@by_class
@SOME
@given(st.data())
def test_commits(kind: str, data: st.DataObject) -> None:
    """With any number of threads commits give DuckDB's deltas and results, and bad ones change nothing."""
    scenario = data.draw(random_scenarios(kind, errors=True))
    note(scenario.script())
    for threads in THREADS[1:]:
        harness = created(scenario, threads)
        for commit, form in zip(scenario.commits, scenario.forms, strict=True):
            harness.run(commit, form)


@by_class
@SOME
@given(st.data())
def test_changes_one_by_one(kind: str, data: st.DataObject) -> None:
    """A replay at granularity "change" gives the delta of every change, in the order of versions."""
    scenario = data.draw(random_scenarios(kind, max_commits=2))
    note(scenario.script())
    threads = data.draw(st.sampled_from(THREADS[1:]), label="threads")
    harness = created(scenario, threads)
    for commit in scenario.commits:
        if harness.grows_large(commit.changes):
            break
        if commit.changes:
            harness.replay(commit.changes)


@by_class
@SOME
@given(st.data())
def test_a_life(kind: str, data: st.DataObject) -> None:
    """A view over filled tables through commits, and snapshots that are loaded with other numbers of threads."""
    scenario = data.draw(random_scenarios(kind))
    note(scenario.script())
    harness = Harness(scenario.tables, data.draw(st.sampled_from(THREADS), label="threads"))
    for number, (commit, form) in enumerate(zip(scenario.commits, scenario.forms, strict=True)):
        if number == len(scenario.commits) // 2:
            harness.create_view("v", scenario.queries[0])
        harness.run(commit, form)
        if data.draw(st.booleans(), label="reload"):
            harness.reload(data.draw(st.sampled_from(THREADS), label="threads"))
            assert harness.database.threads in THREADS


QUERIES = {
    "path": "SELECT A.src AS a, A.dst AS b, B.dst AS c, C.dst AS d FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src WHERE C.dst % 3 = 0",
    "ends": "SELECT DISTINCT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src",
    "out": "SELECT DISTINCT A.src, A.dst FROM G A JOIN G B ON A.dst = B.src",
    "sums": "SELECT A.src, count(*) AS n, sum(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "number": "SELECT count(*) AS n FROM G A JOIN G B ON A.dst = B.src",
    "totals": "SELECT count(*) AS n, sum(A.src - 9) AS s, avg(C.dst) AS m FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src WHERE C.dst % 3 = 0",
    "none": "SELECT count(*) AS n, sum(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src WHERE A.src > 90",
    "whole": "SELECT DISTINCT 1 AS one FROM G A JOIN G B ON A.dst = B.src",
    "triangle": "SELECT A.src AS a, B.src AS b, C.src AS c FROM G A, G B, G C "
    "WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    "corners": "SELECT A.src AS a, count(*) AS n FROM G A, G B, G C "
    "WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src GROUP BY A.src",
}


def graph(threads: int, algorithm: str = "auto", views: Iterable[str] = QUERIES) -> livejoin.Database:
    database = livejoin.Database(threads=threads)
    database.create_table("G", "src BIGINT, dst BIGINT", window_rows=150)
    for name in views:
        database.create_view(name, QUERIES[name], algorithm=algorithm)
    return database


def edges(seed: int, number: int) -> list[tuple[int, int]]:
    """Edges with some heavy nodes."""
    random = np.random.default_rng(seed)
    return [(int(a * b) // 12, int(c)) for a, b, c in random.integers(0, 20, (number, 3))]


def rows(table: Any) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("algorithm", ["crown", "dyn", "change-propagation"])
def test_all_algorithms_agree_with_one_thread(algorithm: str) -> None:
    """The same deltas, change for change and by commit, and the same results; windows move rows between cells."""
    views = QUERIES if IS_FUZZ or algorithm == "crown" else ("path", "ends", "sums", "triangle")
    databases = [graph(threads, algorithm, views) for threads in (THREADS if IS_FUZZ else (1, 4))]
    for seed in range(4 if IS_FUZZ else 3):
        if seed % 2:
            data = [{"src": a, "dst": b, "_seq": i} for i, (a, b) in enumerate(edges(seed, 60 if IS_FUZZ else 30))]
            commits = [database.replay({"G": data}) for database in databases]
        else:
            commits = [database.apply("G", edges(seed, 100)) for database in databases]
        for name in views:
            deltas = [rows(commit[name]) for commit in commits]
            assert all(one == deltas[0] for one in deltas[1:]), name
            versions = commits[-1][name]["_commit_version"].to_pylist()
            assert versions == sorted(versions)
            results = [rows(database.views[name].to_arrow()) for database in databases]
            assert all(one == results[0] for one in results[1:]), name
            assert len({database.views[name].count() for database in databases}) == 1
        for database in databases:
            database._check()


@pytest.mark.nojit
def test_a_small_graph() -> None:
    """Uncompiled kernels give the same, one change after the other."""
    commits = []
    for threads in (1, 2):
        database = livejoin.Database(threads=threads)
        database.create_table("G", "src BIGINT, dst BIGINT", window_rows=9)
        for name in ("path", "out"):
            database.create_view(name, QUERIES[name])
        for seed in (1, 2):
            commit = database.apply("G", edges(seed, 10))
            commits.append([rows(commit[name]) for name in ("path", "out")])
        database._check()
    assert commits[:2] == commits[2:]


def test_deletions_of_a_commit_stand_before_its_insertions() -> None:
    """As with one thread, so that a sink with keys can apply a delta row by row."""
    database = graph(4)
    database.apply("G", edges(1, 150))
    kinds = database.apply("G", edges(2, 60))["path"]["_change_type"].to_pylist()
    assert set(kinds) == {"insert", "delete"}
    assert kinds == sorted(kinds)


@pytest.mark.parametrize("owner, name", [(records, "load"), (maintain, "maintain"), (route, "route")])
def test_a_cell_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Whichever cell it is, the commit is undone in all of them."""
    database = graph(4)
    database.apply("G", edges(1, 100))
    before = {view: rows(database.views[view].to_arrow()) for view in QUERIES}
    function, calls = getattr(owner, name), iter(range(1000))

    def failing(*arguments: object) -> object:
        if next(calls) == 2:
            raise MemoryError
        return function(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, failing)
        with pytest.raises(MemoryError):
            database.apply("G", edges(2, 100))
    database._check()
    assert {view: rows(database.views[view].to_arrow()) for view in QUERIES} == before
    other = graph(1)
    other.apply("G", edges(1, 100))
    mine, theirs = database.apply("G", edges(3, 50)), other.apply("G", edges(3, 50))
    assert all(rows(mine[view]) == rows(theirs[view]) for view in QUERIES)


def test_a_snapshot_is_restored_with_as_many_threads_and_rebuilt_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = graph(2)
    database.apply("G", edges(1, 140))
    database.save(tmp_path)
    rebuilt: list[str] = []
    load = Node.load

    def counted(node: Node) -> Any:
        rebuilt.append(node.digest)
        return load(node)

    monkeypatch.setattr(Node, "load", counted)
    loaded = {threads: livejoin.Database.load(tmp_path, threads=threads, trusted=True) for threads in (2, 4, 1)}
    split = [name for name in QUERIES if database.views[name].stats()["cells"] > 1]
    below = [node for name in split for node in database.views[name]._below]
    whole = [node for node in below if isinstance(node.plan, BagOperator) and node.cells == 1]
    assert whole  # a bag that is not split is read as it was
    assert set(rebuilt) == {node.digest for node in below if node not in whole}
    expected = database.apply("G", edges(2, 80))
    for threads, other in loaded.items():
        assert other.threads == threads
        found = other.apply("G", edges(2, 80))
        assert all(rows(found[name]) == rows(expected[name]) for name in QUERIES)
        other._check()


def test_what_cannot_be_split_says_so() -> None:
    database = graph(4)
    assert database.views["path"].stats()["cells"] == 4
    assert database.views["whole"].stats()["cells"] == 1
    told = database.views["whole"].explain()
    assert told.cells is not None
    assert (told.cells.number, told.cells.variable) == (1, None)
    assert "not split" in str(told)
    path = database.views["path"].explain()
    assert path.cells is not None
    assert path.cells.variable == "A.dst"
    assert path.cells.replicated == ("C",)
    assert path.to_dict()["cells"]["number"] == 4
    assert "replicated in every cell: C" in str(path)
    assert graph(1).views["path"].explain().cells is None


def test_cells_of_one_result_are_added_up() -> None:
    """A count or a sum of all results is split by any variable, and is read as if it were in one piece."""
    several, one = graph(4), graph(1)
    for database in (several, one):
        database.apply("G", edges(1, 120))
    for name in ("number", "totals", "none"):
        view, other = several.views[name], one.views[name]
        assert view.stats()["cells"] == 4
        assert "added up" in str(view.explain())
        row = view.at(0)
        assert (row, view.count()) == (other.at(0), 1)
        assert row in view
        assert tuple((value or 0) + 1 for value in row) not in view


def test_rows_are_kept_only_where_they_are_needed() -> None:
    """Four cells of a join whose tables are all split take little more space than one."""
    sizes, used = {}, {}
    for threads in (1, 4):
        database = livejoin.Database(threads=threads)
        for name in "RST":
            database.create_table(name, "a BIGINT, b BIGINT")
        view = database.create_view("v", "SELECT R.b, S.b AS c, T.b AS d FROM R, S, T WHERE R.a = S.a AND S.a = T.a")
        data = [(i % 5000, i) for i in range(20_000)]
        database.apply({"R": data, "S": data, "T": data})
        sizes[threads], used[threads] = view.stats()["capacity_bytes"], view.stats()["state_bytes"]
        assert view.stats()["atom_rows"] == 60_000
    assert sizes[4] < 1.25 * sizes[1]
    assert used[4] < 1.35 * used[1]  # of which the numbers of rows are 0.32: 4 bytes in each cell for each row


@pytest.mark.parametrize("threads", [0, -1, 2.0, True, "2", 100_000])
def test_a_wrong_number_of_threads(threads: Any) -> None:
    with pytest.raises(SchemaError, match=r"threads is .*allowed are 1 to"):
        livejoin.Database(threads=threads)
