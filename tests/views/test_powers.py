"""Counts of joins of equal atoms are powers of the numbers of their rows, and say what DuckDB says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.plan.operators import AggregateOperator, AnnotatedOperator, JoinOperator, SelectedOperator, StoredOperator
from oracle import assert_same_rows, connect, multiset, signed_multiset, without_zeros

SEED = 6
COMMITS = 10
ON = "FROM T a JOIN T b ON a.x = b.x JOIN T c ON b.x = c.x"
POWERS = {
    "all": f"SELECT COUNT(*) AS n {ON}",
    "by x": f"SELECT b.x, COUNT(*) AS n {ON} GROUP BY b.x",
    "with many": f"SELECT a.x + 1 AS y, COUNT(*) AS n {ON} GROUP BY a.x HAVING COUNT(*) > 8",
    "some": f"SELECT COUNT(*) AS n {ON} WHERE a.s = 'a' AND b.s = 'a' AND c.s = 'a'",
    "none": f"SELECT COUNT(*) AS n {ON} WHERE a.y > 99 AND b.y > 99 AND c.y > 99",
    "by all columns": (
        "SELECT b.y, a.x, a.y AS z, COUNT(*) AS n FROM T a, T b WHERE a.x = b.x AND a.y = b.y GROUP BY b.y, a.x, a.y"
    ),
    "two columns": "SELECT a.y, COUNT(*) AS n FROM T a, T b WHERE a.x = b.x AND a.y = b.y GROUP BY a.y",
    "of groups": (
        "SELECT COUNT(*) AS n FROM (SELECT x, s, COUNT(*) AS m FROM T GROUP BY x, s) a "
        "JOIN (SELECT x, s, COUNT(*) AS m FROM T GROUP BY x, s) b ON a.m = b.m"
    ),
}
BESIDE = {
    "by a column of one": f"SELECT a.y, COUNT(*) AS n {ON} GROUP BY a.y",
    "a sum": f"SELECT a.x, SUM(b.y) AS n {ON} GROUP BY a.x",
    "another filter": f"SELECT COUNT(*) AS n {ON} WHERE a.s = 'a'",
    "sums beside two": (
        "SELECT r.x, r.s, COUNT(*) AS n, SUM(r.y) AS t, COUNT(r.y) AS k, ROUND(VAR_POP(CAST(r.y AS INT)), 6) AS v "
        "FROM T r JOIN T b ON r.y = b.x JOIN T c ON r.y = c.x GROUP BY r.x, r.s"
    ),
    "all of three": (
        "SELECT COUNT(*) AS n, SUM(r.x) AS t FROM T r, T b, T c, T d WHERE r.y = b.x AND b.x = c.x AND c.x = d.x"
    ),
    "two sets": (
        "SELECT COUNT(*) AS n FROM T b, T c, T r, T d, T e "
        "WHERE b.x = r.x AND c.x = r.x AND d.y = r.y AND e.y = r.y AND d.s = 'a' AND e.s = 'a'"
    ),
    "by their column": (
        "SELECT b.x, COUNT(*) AS n FROM T r, T q, T b, T c WHERE r.y = q.x AND q.y = b.x AND c.x = b.x GROUP BY b.x"
    ),
    "not free-connex": (
        "SELECT r.x, q.y, COUNT(*) AS n, MIN(r.s) AS m FROM T r, T q, T b, T c "
        "WHERE r.y = q.x AND q.x = b.x AND c.x = b.x GROUP BY r.x, q.y"
    ),
    "two columns beside": (
        "SELECT r.s, COUNT(*) AS n FROM T r, T b, T c WHERE r.x = b.x AND r.y = b.y AND r.x = c.x AND r.y = c.y "
        "GROUP BY r.s"
    ),
    "groups beside": (
        "SELECT r.s, COUNT(*) AS n FROM T r JOIN (SELECT x, s, COUNT(*) AS m FROM T GROUP BY x, s) b ON r.y = b.m "
        "JOIN (SELECT x, s, COUNT(*) AS m FROM T GROUP BY x, s) c ON r.y = c.m GROUP BY r.s"
    ),
}
JOINS = {
    "the least": "SELECT r.s, MIN(r.y) AS m FROM T r, T b, T c WHERE r.y = b.x AND b.x = c.x GROUP BY r.s",
    "another column": "SELECT COUNT(*) AS n FROM T a JOIN T b ON a.x = b.y",
    "a path": "SELECT COUNT(*) AS n FROM T a JOIN T b ON a.x = b.x JOIN T c ON b.y = c.y",
    "distinct": f"SELECT COUNT(DISTINCT a.y) AS n {ON}",
    "a product": "SELECT COUNT(*) AS n FROM T a, T b",
}


def plans(view: livejoin.View) -> set[type]:
    return {type(node.plan) for node in view._below}


def counts(view: livejoin.View) -> int:
    """The relations of counts that its join reads."""
    return sum(isinstance(node.plan, StoredOperator) and node.plan.name.startswith("counts of") for node in view._below)


@pytest.mark.parametrize("granularity", ["change", "commit"])
def test_counts_of_equal_atoms(granularity: Any) -> None:
    """Duplicates, NULLs in the columns that are joined on, and rows that go."""
    chance = np.random.default_rng(SEED)
    db, duck = livejoin.Database(), connect()
    db.create_table("T", "x BIGINT, y BIGINT, s STRING")
    duck.execute("CREATE TABLE T (x BIGINT, y BIGINT, s VARCHAR)")
    queries = POWERS | BESIDE | JOINS
    views = {name: db.create_view(name, sql) for name, sql in queries.items()}
    for name in POWERS:
        assert SelectedOperator in plans(views[name]) and not plans(views[name]) & {JoinOperator, AnnotatedOperator}, (
            name
        )
    for name in (*BESIDE, *JOINS):
        assert plans(views[name]) & {JoinOperator, AnnotatedOperator}, name
        assert counts(views[name]) == {"two sets": 2}.get(name, int(name in BESIDE)), name
    totals = {name: multiset(view.to_arrow()) for name, view in views.items()}
    there: list[tuple[Any, ...]] = []
    for number in range(COMMITS):
        rows: list[dict[str, Any]] = []
        for _ in range(6):
            if there and chance.integers(3) == 0:
                row, kind = there.pop(int(chance.integers(len(there)))), "delete"
            else:
                x, y = (None if chance.integers(6) == 0 else int(chance.integers(3)) for _ in range(2))
                row, kind = (x, y, "ab"[chance.integers(2)]), "insert"
                there.append(row)
            named = dict(zip("xys", row, strict=True))
            rows.append({**named, "_change_type": kind, "_seq": 10 * number + len(rows)})
        commit = db.replay({"T": rows}, granularity=granularity)
        duck.execute("DELETE FROM T")
        duck.executemany("INSERT INTO T VALUES (?, ?, ?)", there)
        for name, view in views.items():
            expected = multiset(duck.sql(queries[name]).to_arrow_table())
            assert_same_rows(multiset(view.to_arrow()), expected, name)
            for row, by in signed_multiset(commit[name]).items():
                totals[name][row] += by
            assert_same_rows(without_zeros(totals[name]), expected, f"deltas of {name}")
        db._check()


def test_a_count_by_all_columns_is_added_up_nowhere() -> None:
    db = livejoin.Database()
    db.create_table("T", "x BIGINT, y BIGINT, s STRING")
    for name, number in (("by x", 1), ("by all columns", 1), ("two columns", 2), ("all", 2)):
        view = db.create_view("v", POWERS[name])
        assert sum(type(node.plan) is AggregateOperator for node in view._below) == number, name
        db.drop_view("v")


def test_a_count_by_all_columns_that_is_too_large_fails_the_commit() -> None:
    db = livejoin.Database()
    db.create_table("T", "x BIGINT")
    text = "FROM T a " + " ".join(f"JOIN T {name} ON a.x = {name}.x" for name in "bcdefghijklmnopq")
    view = db.create_view("v", f"SELECT a.x, COUNT(*) AS n {text} GROUP BY a.x")
    db.apply("T", [(1,)] * 13)
    assert view.to_arrow().to_pylist() == [{"x": 1, "n": 13**17}]
    with pytest.raises(livejoin.CapacityError, match=r"view 'v': .*is more than BIGINT can hold; let fewer rows match"):
        db.apply("T", [(1,), (1,)])
    assert view.to_arrow().to_pylist() == [{"x": 1, "n": 13**17}]
    db._check()


def test_an_explanation_names_the_power() -> None:
    db = livejoin.Database()
    db.create_table("T", "x BIGINT, y BIGINT, s STRING")
    told = db.explain(POWERS["all"])
    assert "a, b, c are equal but for their names" in told.reason and "to the power 3" in told.reason
    assert "power" not in db.explain(POWERS["all"], algorithm="crown").reason


def test_a_count_that_is_too_large_fails_the_commit() -> None:
    """More than 64 bits count, and more than 38 digits; what was there stays."""
    db = livejoin.Database()
    db.create_table("T", "x BIGINT")
    atoms = "abcdefghijklmnopq"
    text = "FROM T a " + " ".join(f"JOIN T {name} ON a.x = {name}.x" for name in atoms[1:])
    view = db.create_view("v", f"SELECT COUNT(*) AS n {text}")
    db.apply("T", [(1,)] * 13)
    assert view.to_arrow().to_pylist() == [{"n": 13 ** len(atoms)}]
    for more in (10, 1_000):
        with pytest.raises(livejoin.CapacityError, match=r"view 'v': .*(BIGINT cannot hold|more than 38 digits)"):
            db.apply("T", [(1,)] * more)
        assert view.to_arrow().to_pylist() == [{"n": 13 ** len(atoms)}]
    db._check()


def test_counts_beside_other_atoms_are_for_auto_alone_and_explained() -> None:
    db = livejoin.Database()
    db.create_table("T", "x BIGINT, y BIGINT, s STRING")
    told = str(db.explain(BESIDE["sums beside two"]))
    assert "counts of b, c" in told
    assert "b^2" in told
    assert counts(db.create_view("v", BESIDE["sums beside two"], algorithm="crown")) == 0


def test_a_count_beside_another_atom_that_is_too_large_fails_the_commit() -> None:
    """More than 64 bits count, and more than 128 bits."""
    db = livejoin.Database()
    db.create_table("R", "x BIGINT")
    db.create_table("T", "x BIGINT")
    atoms = "bcdefghijklmnopq"
    text = "FROM R a " + " ".join(f"JOIN T {name} ON a.x = {name}.x" for name in atoms)
    view = db.create_view("v", f"SELECT COUNT(*) AS n {text}")
    db.apply({"R": [(1,)], "T": [(1,)] * 13})
    assert view.to_arrow().to_pylist() == [{"n": 13 ** len(atoms)}]
    for more in (10, 1_000):
        with pytest.raises(livejoin.CapacityError, match="view 'v': "):
            db.apply("T", [(1,)] * more)
        assert view.to_arrow().to_pylist() == [{"n": 13 ** len(atoms)}]
    db._check()
