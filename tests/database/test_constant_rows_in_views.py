"""Views over constant rows follow the tables that they are joined with; those of constants alone never change."""

from __future__ import annotations

from pathlib import Path

import pytest

from livejoin import Database

VIEWS = {
    "one": "SELECT 1 AS a, 'x' AS b",
    "none": "SELECT 1 AS a WHERE 1 = 2",
    "listed": "SELECT x, y FROM VALUES (1, 'a'), (2, NULL), (1, 'a') AS v(x, y)",
    "counted": "SELECT COUNT(*) AS n",
    "named": "SELECT R.k, v.y FROM R JOIN VALUES (1, 'one'), (2, 'two') AS v(k, y) ON R.k = v.k",
    "padded": "SELECT v.k, R.a FROM VALUES (1), (5) AS v(k) LEFT JOIN R ON R.k = v.k",
    "more": "SELECT k FROM R UNION ALL SELECT 7",
}


def contents(database: Database) -> dict[str, list[tuple[object, ...]]]:
    return {
        name: sorted((tuple(row.values()) for row in database.views[name].to_arrow().to_pylist()), key=repr)
        for name in VIEWS
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_they_follow(threads: int, tmp_path: Path) -> None:
    database = Database(threads=threads)
    database.create_table("R", "k INT, a INT")
    for name, sql in VIEWS.items():
        database.create_view(name, sql)
    constant = {
        "one": [(1, "x")],
        "none": [],
        "listed": [(1, "a"), (1, "a"), (2, None)],
        "counted": [(1,)],
    }
    empty = {"named": [], "padded": [(1, None), (5, None)], "more": [(7,)]}
    assert contents(database) == constant | empty
    commit = database.apply({"R": [(1, 10), (1, 11), (2, 20), (3, 30)]})
    filled = {
        "named": [(1, "one"), (1, "one"), (2, "two")],
        "padded": [(1, 10), (1, 11), (5, None)],
        "more": [(1,), (1,), (2,), (3,), (7,)],
    }
    assert contents(database) == constant | filled
    assert all(commit[name].num_rows == 0 for name in constant)
    assert sorted(commit["padded"]["_change_type"].to_pylist()) == ["delete", "insert", "insert"]
    database._check()
    database.save(tmp_path / "saved")
    loaded = Database.load(tmp_path / "saved")
    for one in (database, loaded):
        one.apply({"R": [{"k": 1, "a": 10 + i, "_change_type": "delete"} for i in range(2)]})
        assert contents(one)["padded"] == [(1, None), (5, None)]
        assert contents(one)["named"] == [(2, "two")]
        one._check()


def test_they_are_read_and_explained() -> None:
    database = Database()
    view = database.create_view("v", VIEWS["listed"])
    assert (view.count(), view.at(1), view.multiplicity((1, "a")), (2, None) in view) == (3, (2, None), 2, True)
    assert [row["x"] for row in view.sample(4, seed=1).to_pylist()].count(3) == 0
    told = view.explain()
    assert told.guarantee.update == "no change reaches constant rows"
    assert any("3 constant rows: nothing is stored, and nothing changes" in line for line in told.operators)
    assert "constant rows" in str(database.explain())
    assert database.create_view("w", "SELECT y, COUNT(*) AS n FROM v GROUP BY y").count() == 2
    database.drop_view("v", cascade=True)
    assert not database.views
