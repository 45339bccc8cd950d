"""A family that the library does not know plans, explains and runs by one entry in the registry, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from nested_loop import LoopProgram, NestedLoop

import livejoin
from livejoin.errors import SchemaError, UnsupportedQueryError
from livejoin.families import registry
from livejoin.search.guarantee import UpdateBound

QUERIES = {
    "hops": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "filtered": "SELECT A.src AS a, K.name AS n FROM G A JOIN K ON A.dst = K.id WHERE A.src > 1 AND K.id < 5",
    "distinct": "SELECT DISTINCT A.src AS a, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "counted": "SELECT A.src AS a, count(*) AS n, sum(B.dst * A.dst) AS s FROM G A JOIN G B ON A.dst = B.src "
    "GROUP BY A.src",
    "stored": "SELECT A.src AS a, max(K.name) AS m FROM G A JOIN K ON A.dst = K.id GROUP BY A.src",
    "whole": "SELECT count(*) AS n FROM G A JOIN K ON A.dst = K.id",
    "product": "SELECT G.src AS a, K.id AS b FROM G, K",
    "one": "SELECT src FROM G WHERE dst > 2",
}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> NestedLoop:
    family = NestedLoop(("nested-loop",), UpdateBound.POLYNOMIAL)
    monkeypatch.setattr(registry, "FAMILIES", (*registry.FAMILIES, family))
    return family


def filled(threads: int = 1, deltas: bool = True) -> livejoin.Database:
    """A view of every query by the family and by the planner's choice."""
    db = livejoin.Database(threads=threads)
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=12)
    db.create_table("K", "id BIGINT PRIMARY KEY, name STRING")
    for name, sql in QUERIES.items():
        chosen: Any = "nested-loop"
        db.create_view(f"{name}_loop", sql, algorithm=chosen, deltas=deltas)
        db.create_view(f"{name}_auto", sql, deltas=deltas)
    return db


def lines(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def agree(db: livejoin.Database, commit: Any = None) -> None:
    for name in QUERIES:
        loop, auto = db.views[f"{name}_loop"], db.views[f"{name}_auto"]
        assert lines(loop.to_arrow()) == lines(auto.to_arrow()), name
        assert loop.count() == auto.count(), name
        if commit is not None:
            assert lines(commit[loop.name]) == lines(commit[auto.name]), name
    db._check()


@pytest.mark.parametrize(("threads", "deltas"), [(1, True), (2, True), (1, False)])
def test_it_runs(registered: NestedLoop, tmp_path: Path, threads: int, deltas: bool) -> None:
    chance = random.Random(threads)
    db = filled(threads, deltas)
    names: dict[int, str] = {}
    for step in range(25):
        edges = [(chance.randrange(6), chance.randrange(6)) for _ in range(chance.randrange(1, 4))]
        key = chance.randrange(8)
        data = [{"id": key, "name": names.pop(key), "_change_type": "delete"}] if key in names else [(key, f"n{step}")]
        if isinstance(data[0], tuple):
            names[key] = f"n{step}"
        drop = [{"src": a, "dst": b, "_change_type": "delete"} for a, b in edges]
        whole = drop if step % 3 == 2 else edges
        commit = db.apply({"G": whole, "K": data}, on_conflict="ignore")
        agree(db, commit if deltas else None)
    for name in ("hops", "counted", "one"):
        loop = db.views[f"{name}_loop"]
        rows = [tuple(row.values()) for row in loop.to_arrow().to_pylist()]
        assert sorted(map(loop.at, range(len(rows)))) == sorted(rows)
        if name != "one":  # which hides a column
            assert all(loop.multiplicity(row) == rows.count(row) for row in rows)
    db.save(tmp_path)
    again = livejoin.Database.load(tmp_path)
    agree(again, again.apply("G", [(1, 2), (2, 1)]) if deltas else None)


def test_it_is_planned_and_explained(registered: NestedLoop) -> None:
    db = filled()
    for name in QUERIES:
        view = db.views[f"{name}_loop"]
        told = view.explain()
        assert isinstance(view._joins[0].physical, LoopProgram)
        assert told.plan.kind == "nested loop"
        assert told.digest == view._joins[0].physical.digest
        assert [plan.chosen for plan in told.alternatives] == [True]
        assert "algorithm='nested-loop'" in told.reason
        assert "a loop in a loop" in told.guarantee.source
        assert "nested loop" in str(told)
        assert told.json()
        assert told.svg().startswith("<svg")
        assert told.html()
    assert "of each group computed anew" in str(db.views["counted_loop"].explain())


def test_it_says_what_it_does_not_take(registered: NestedLoop) -> None:
    db = filled()
    chosen: Any = "nested-loop"
    three = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    for sql in (three, three.replace("SELECT", "SELECT DISTINCT")):
        with pytest.raises(UnsupportedQueryError, match="algorithm='nested-loop' does not maintain this join"):
            db.create_view("v", sql, algorithm=chosen)
    assert "v" not in db.views


@pytest.mark.parametrize("bound", [UpdateBound.ALWAYS, UpdateBound.POLYNOMIAL])
def test_the_planner_takes_it_where_it_promises_more(monkeypatch: pytest.MonkeyPatch, bound: UpdateBound) -> None:
    """Of the families that ``auto`` selects the one with the best bound runs, and the others are compared with it."""
    monkeypatch.setattr(registry, "FAMILIES", (*registry.FAMILIES, NestedLoop(("auto",), bound)))
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_table("H", "src BIGINT, dst BIGINT")
    view = db.create_view("v", "SELECT A.src, B.dst AS b FROM G A JOIN H B ON A.dst = B.src")
    told = view.explain()
    assert ["nested loop" in plan.title for plan in told.alternatives].count(True) == 1
    # The join tree promises O(1) as well, and a change is predicted to touch less.
    assert told.plan.kind == "join tree"
    monkeypatch.setattr(registry, "FAMILIES", (*registry.FAMILIES, NestedLoop(("auto",), bound, touches=0.0)))
    again = db.explain(view.sql)
    assert (again.plan.kind == "nested loop") == (bound == UpdateBound.ALWAYS)
    assert ("expected to touch 0 records and keys" in again.reason) == (bound == UpdateBound.ALWAYS)


def test_unknown_to_others() -> None:
    """Without the entry there is no such algorithm."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    chosen: Any = "nested-loop"
    with pytest.raises(SchemaError, match="there is no algorithm 'nested-loop'"):
        db.create_view("v", "SELECT src FROM G", algorithm=chosen)
