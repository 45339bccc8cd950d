"""Joins that keep records of those rows alone that take part in some atom: the same answers, in less memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.dataflow.blocks import passing
from livejoin.dataflow.moving import forms
from livejoin.dataflow.node import Node
from livejoin.errors import ExpressionError
from strategies import IS_FUZZ

SQL = {
    "rows": "SELECT A.a, A.b, B.b AS c, B.d FROM R A JOIN R B ON A.b = B.a WHERE A.d < 20 AND B.d > 70",
    "once": "SELECT DISTINCT A.b, S.e FROM R A JOIN S ON A.b = S.e WHERE A.d < 10 AND S.f IS NOT NULL",
    "sums": "SELECT A.a, COUNT(*) AS n, SUM(S.f) AS s FROM R A JOIN S ON A.b = S.e WHERE A.d < 20 AND S.f < 30 "
    "GROUP BY A.a",
    "number": "SELECT COUNT(*) AS n FROM R A JOIN R B ON A.b = B.a WHERE A.d < 20 AND B.d < 20",
    "nested": "SELECT g.a, g.n, S.f FROM (SELECT a, COUNT(*) AS n FROM R WHERE d < 30 GROUP BY a) g "
    "JOIN S ON g.n = S.e WHERE g.n < 3 AND S.f < 30",
}
NOT = {"all": "SELECT A.a, B.b FROM R A JOIN R B ON A.b = B.a", "some": "SELECT S.f, A.a FROM R A JOIN S ON A.b = S.e"}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done as soon as anything is saved."""
    monkeypatch.setattr(forms, "LEAST_WASTE", 1)
    monkeypatch.setattr(forms, "_SHARE", 1 << 40)
    monkeypatch.setattr(passing, "_PERIOD", 1)
    monkeypatch.setattr(passing, "_SAMPLED", 1)
    monkeypatch.setattr(passing, "_NUMBERED", 0.0)


def database(threads: int = 1) -> livejoin.Database:
    made = livejoin.Database(threads=threads)
    made.create_table("R", "a BIGINT NOT NULL, b BIGINT NOT NULL, d BIGINT NOT NULL", window_rows=300)
    made.create_table("S", "e BIGINT NOT NULL, f BIGINT")
    for name, sql in (SQL | NOT).items():
        made.create_view(name, sql)
    return made


def changes(random: np.random.Generator, number: int = 60) -> dict[str, list[Any]]:
    r = [tuple(map(int, row)) for row in random.integers(0, [15, 15, 100], (number, 3))]
    s = [(int(e), None if f > 60 else int(f)) for e, f in random.integers(0, [15, 80], (number // 3, 2))]
    return {"R": r, "S": s}


def rows(table: Any) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def left_out(made: livejoin.Database) -> set[str]:
    return {name for name in made.views if any(forms.leaves_out(node) for node in made.views[name]._below)}


@pytest.mark.parametrize("threads", [1, 2])
def test_answers_are_those_of_joins_with_all_records(
    eager: None, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Deltas, results, positions and look-ups, with windows, deletions and both granularities."""
    monkeypatch.setattr("livejoin.dataflow.moving.spreading.WHOLE_AT_FIRST", True)
    random = np.random.default_rng(4)
    one, other = database(threads), None
    with monkeypatch.context() as patch:
        patch.setattr(forms, "LEAST_WASTE", 1 << 60)
        other = database()
    there: list[Any] = []
    for step in range(14 if IS_FUZZ else 8):
        given = changes(random)
        there += given["S"]
        gone = [there.pop(int(random.integers(len(there)))) for _ in range(12)] if step else []
        given["S"] = [
            *({"e": e, "f": f, "_change_type": "insert"} for e, f in given["S"]),
            *({"e": e, "f": f, "_change_type": "delete"} for e, f in gone),
        ]
        if step % 4 == 3:
            given["R"] = [{"a": a, "b": b, "d": d, "_seq": i} for i, (a, b, d) in enumerate(given["R"])]
            given["S"] = [{**row, "_seq": 1000 + i} for i, row in enumerate(given["S"])]
        commits = []
        for made in (one, other):
            with monkeypatch.context() as patch:
                if made is other:
                    patch.setattr(forms, "LEAST_WASTE", 1 << 60)
                commits.append(made.replay(given) if step % 4 == 3 else made.apply(given))
        for name in SQL | NOT:
            assert rows(commits[0][name]) == rows(commits[1][name]), (step, name)
            mine, theirs = one.views[name], other.views[name]
            assert rows(mine.to_arrow()) == rows(theirs.to_arrow())
            assert mine.count() == theirs.count()
            if mine.count() and name in ("rows", "once", "sums", "number"):
                assert mine.at(0) in theirs
                assert theirs.at(0) in mine
        one._check()
    assert left_out(one) == set(SQL)
    assert not left_out(other)
    assert "Rows that take part in no atom have no record in it" in one.views["rows"].explain().reason


def test_a_commit_that_fails_is_undone(eager: None) -> None:
    made, random = database(), np.random.default_rng(5)
    made.create_view("quotients", "SELECT 7 div S.f AS q FROM R A JOIN S ON A.b = S.e WHERE A.d < 50 AND S.f < 40")
    good = changes(random)
    good["S"] = [(e, 1 + (f or 0)) for e, f in good["S"]]
    for _ in range(2):
        made.apply(good)
    assert left_out(made)
    before = {name: rows(view.to_arrow()) for name, view in made.views.items()}
    with pytest.raises(ExpressionError):
        made.apply({"R": [(1, e, 1) for e in range(15)], "S": [(e, 0) for e in range(15)]})
    made._check()
    assert {name: rows(view.to_arrow()) for name, view in made.views.items()} == before


def test_the_form_is_saved(eager: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, random = database(), np.random.default_rng(6)
    for _ in range(3):
        made.apply(changes(random))
    made.save(tmp_path)
    loaded: list[Node] = []
    monkeypatch.setattr(Node, "load", lambda node, load=Node.load: (loaded.append(node), load(node))[1])
    other = livejoin.Database.load(tmp_path, trusted=True)
    assert not loaded
    assert left_out(other) == left_out(made) == set(SQL)
    given = changes(random)
    commits = [one.apply(given) for one in (made, other)]
    assert all(rows(commits[0][name]) == rows(commits[1][name]) for name in SQL)
    other._check()


def test_it_takes_less_memory_where_few_rows_pass() -> None:
    """By what the product decides itself, and not where most rows pass."""
    sizes = {}
    for share in (5, 95):
        made = livejoin.Database()
        made.create_table("R", "a BIGINT NOT NULL, b BIGINT NOT NULL, d BIGINT NOT NULL")
        view = made.create_view(
            "v", f"SELECT A.a, B.b FROM R A JOIN R B ON A.b = B.a WHERE A.d < {share} AND B.d < {share}", deltas=False
        )
        random = np.random.default_rng(7)
        for _ in range(4):
            made.apply("R", [tuple(map(int, row)) for row in random.integers(0, [1 << 40, 1 << 40, 100], (10_000, 3))])
        sizes[share] = (view.stats()["capacity_bytes"], left_out(made))
    assert sizes[5][1] == {"v"}
    assert sizes[95][1] == set()
    assert 4 * sizes[5][0] < sizes[95][0]
