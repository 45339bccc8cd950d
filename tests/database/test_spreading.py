"""Joins that go over to cells when commits come to be large enough for it, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.dataflow.moving import spreading
from livejoin.dataflow.moving.spreading import HANDED_OVER, Spreading, Work
from livejoin.dataflow.node import Node
from livejoin.errors import MemoryLimitError
from livejoin.families.cells.task_runner import Spent

SQL = {
    "path": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "ends": "SELECT DISTINCT A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "number": "SELECT count(*) AS n, sum(A.src) AS s FROM G A JOIN G B ON A.dst = B.src",
}


@pytest.fixture(autouse=True)
def whole_at_first(monkeypatch: pytest.MonkeyPatch, cells_from_the_start: None) -> None:
    monkeypatch.setattr(spreading, "WHOLE_AT_FIRST", True)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[float, float]]]:
    """What each commit says of the form in use and of the other one; that of cells is always the better one."""
    said: list[tuple[float, float]] = [(1.0, 0.0)]
    monkeypatch.setattr(spreading, "HANDED_OVER", 0.0)
    monkeypatch.setattr("livejoin.dataflow.node.HANDED_OVER", 0.0)
    for name in ("_if_split", "_if_whole"):
        monkeypatch.setattr(Spreading, name, lambda *_: said[-1])
    yield said


def edges(seed: int, number: int = 60) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in np.random.default_rng(seed).integers(0, 12, (number, 2))]


def database(threads: int, **options: Any) -> livejoin.Database:
    made = livejoin.Database(threads=threads, **options)
    made.create_table("G", "src BIGINT, dst BIGINT", window_rows=150)
    for name, sql in SQL.items():
        made.create_view(name, sql)
    return made


def rows(table: Any) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def cells(made: livejoin.Database) -> list[int | float]:
    return [made.views[name].stats()["cells"] for name in SQL]


def test_small_commits_leave_a_join_in_one_piece() -> None:
    made = database(2)
    for seed in range(20):
        made.apply("G", edges(seed, 3))
    assert cells(made) == [1, 1, 1]
    assert "in one piece so far" in made.views["path"].explain().reason
    assert all(node.spreading is not None and node.spreading.moves == 0 for node in made.views["path"]._below)


@pytest.mark.parametrize("threads", [2, 4])
def test_a_join_that_goes_over_and_back_is_what_it_was(threads: int, eager: list[tuple[float, float]]) -> None:
    """Results, deltas, positions and counters are those of one thread, in each form."""
    several, one = database(threads), database(1)
    seen = set()
    for seed in range(30):
        eager.append((1.0, 0.0) if seed // 3 % 2 == 0 else (0.0, 1.0))
        if seed % 5 == 4:
            data = [{"src": a, "dst": b, "_seq": i} for i, (a, b) in enumerate(edges(seed, 20))]
            commits = [made.replay({"G": data}) for made in (several, one)]
        else:
            commits = [made.apply("G", edges(seed)) for made in (several, one)]
        for name in SQL:
            assert rows(commits[0][name]) == rows(commits[1][name]), (seed, name)
            assert rows(several.views[name].to_arrow()) == rows(one.views[name].to_arrow())
            assert several.views[name].count() == one.views[name].count()
        if seed % 4 == 3:
            eager.append((1.0, 0.0))
        seen.add(tuple(cells(several)))
        several._check()
    assert (threads,) * 3 in seen
    assert (1, 1, 1) in seen
    assert several.views["number"].stats()["changes"] == one.views["number"].stats()["changes"]


def test_the_form_is_saved(tmp_path: Path, eager: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch) -> None:
    made = database(2)
    for seed in range(2):  # the first says that cells are better, and the second one goes over
        made.apply("G", edges(seed))
    assert cells(made) == [2, 2, 2]
    eager.append((0.0, 1.0))
    assert "It runs in 2 cells by" in made.views["path"].explain().reason
    made.save(tmp_path)
    loaded: list[Node] = []
    monkeypatch.setattr(Node, "load", lambda node, load=Node.load: (loaded.append(node), load(node))[1])
    other = livejoin.Database.load(tmp_path, threads=2, trusted=True)
    assert not loaded
    assert cells(other) == [2, 2, 2]
    third = livejoin.Database.load(tmp_path, threads=1, trusted=True)
    assert cells(third) == [1, 1, 1]
    commits = [one.apply("G", edges(9)) for one in (made, other, third)]
    for name in SQL:
        assert rows(commits[0][name]) == rows(commits[1][name]) == rows(commits[2][name])
    other._check()


def test_without_memory_it_stays_as_it_is(eager: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch) -> None:
    made, one = database(2), database(1)

    def refused(*_: object) -> None:
        raise MemoryLimitError("no memory")

    monkeypatch.setattr(Node, "move", refused)
    for seed in range(3):
        commits = [each.apply("G", edges(seed)) for each in (made, one)]
        assert all(rows(commits[0][name]) == rows(commits[1][name]) for name in SQL)
    assert cells(made) == [1, 1, 1]
    made._check()


def spreading_of(sql: str) -> Spreading:
    made = livejoin.Database(threads=2)
    made.create_table("G", "src BIGINT, dst BIGINT")
    (node,) = (node for node in made.create_view("v", sql)._below if node.spreading is not None)
    assert node.spreading is not None
    return node.spreading


@pytest.mark.parametrize(
    "seconds, changed, goes", [(20e-3, 0, False), (20e-3, 10**6, True), (2e-4, 10**4, False), (20e-3, 10**4, False)]
)
def test_what_is_enumerated_pays(seconds: float, changed: int, goes: bool) -> None:
    """Commits of 10,000 edges of which one makes much and one makes nothing, and a small one."""
    one = spreading_of(
        "SELECT A.src AS a, B.src AS b, C.src AS c FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src"
    )
    for _ in range(100):
        one.note(Work(seconds, 10_000, changed, False, None))
    assert one.is_due(10_000) is goes


def test_counts_pay_where_commits_are_large() -> None:
    one = spreading_of("SELECT count(*) AS n FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src")
    for _ in range(1000):
        one.note(Work(6e-4, 2_000, 0, False, None))
    assert not one.is_due(1000)
    for _ in range(100):
        one.note(Work(6e-3, 20_000, 0, False, None))
    assert one.is_due(1000)


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("is_split", [False, True])
def test_commits_that_compile_kernels_say_nothing(before: int, is_split: bool) -> None:
    """Seconds for a hundred edges, at first and between commits like others."""
    one = spreading_of(SQL["path"])
    usual = Work(8e-4, 100, 100, False, Spent(1e-4, 1e-4, 2e-4) if is_split else None)
    slow = Work(4.0, 100, 100, False, Spent(2.0, 3.0, 3.0) if is_split else None)
    for each in [usual] * before + [slow] + [usual] * 5 + [slow] + [usual] * 5:
        one.note(each)
        assert is_split or not one.is_due(10_000)
    others = spreading_of(SQL["path"])
    for _ in range(before + 12):
        others.note(usual)
    rows = 10_000
    assert one.is_due(rows) == others.is_due(rows)


def test_small_commits_lead_back_and_each_time_later() -> None:
    one = spreading_of(SQL["path"])
    small = Work(HANDED_OVER, 10, 10, False, Spent(own=2e-5, longest=2e-5, total=2e-5))
    taken = []
    for _ in range(3):
        commits = 0
        while not one.is_due(50_000):
            one.note(small)
            commits += 1
        one.move(50_000, False)
        taken.append(commits)
    assert taken == sorted(taken)
    assert taken[2] > 2 * taken[0]


def test_what_was_measured_in_one_piece_leads_back_from_cells_that_are_slower() -> None:
    """Prediction alone would stay: it takes cells whose events cost more for a sign that all events cost more."""
    one = spreading_of("SELECT count(*) AS n FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src")
    whole = Work(6e-4, 1_000, 1, False, None)
    slower = Work(9e-4, 1_000, 1, False, Spent(own=7e-4, longest=7e-4, total=14e-4))
    for _ in range(20):
        one.note(whole)
    one.move(1_000, True)
    for _ in range(20):
        one.note(slower)
    assert one.is_due(1_000)
    one.move(1_000, False)
    for _ in range(200):
        one.note(whole)
    assert not one.is_due(1_000), "cells were measured to be slower"
