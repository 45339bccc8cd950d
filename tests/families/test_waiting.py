"""What changes an annotation waits at its slot until the changes of a version are over, and goes up once."""

from __future__ import annotations

from typing import Any

import pytest

import livejoin

_QUERY = "SELECT r.g, COUNT(*) AS n, SUM(s.x) AS total FROM r {join} s ON r.k = s.k GROUP BY r.g"
_PARENTS = 50


def _database(join: str) -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database()
    db.execute("CREATE TABLE r (g BIGINT, k BIGINT); CREATE TABLE s (k BIGINT, x BIGINT)")
    return db, db.create_view("v", _QUERY.format(join=join))


def _touched(db: livejoin.Database) -> int:
    return sum(node.counters().get("touched", 0) for node in db._contents.graph.nodes)


def _check(db: livejoin.Database) -> None:
    for node in db._contents.graph.nodes:
        node._check()


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
def test_parents_are_visited_once_a_version_however_many_changes_reach_their_slot(join: str) -> None:
    db, view = _database(join)
    db.apply({"r": [(g, 0) for g in range(_PARENTS)], "s": [(0, 1)]})
    before = _touched(db)
    commit = db.apply("s", [(0, x) for x in range(2, 42)])
    assert _touched(db) - before <= 2 * _PARENTS
    assert view.to_pylist() == [{"g": g, "n": 41, "total": sum(range(42))} for g in range(_PARENTS)]
    assert commit["v"].num_rows == 2 * _PARENTS, "each group once before and once behind"
    _check(db)


def test_what_comes_and_goes_in_one_version_touches_no_parent() -> None:
    db, view = _database("JOIN")
    db.apply({"r": [(g, 0) for g in range(_PARENTS)], "s": [(0, 1), (0, 5)]})
    before = _touched(db)
    deleted = [{"k": 0, "x": 5, "_change_type": "delete"}]
    commit = db.apply(
        "s", [*deleted, {"k": 0, "x": 3, "_change_type": "insert"}, {"k": 0, "x": 2, "_change_type": "insert"}]
    )
    assert _touched(db) - before <= _PARENTS
    assert [row["n"] for row in view.to_pylist()] == [3] * _PARENTS
    again = [{"k": 0, "x": x, "_change_type": "delete"} for x in (3, 2)]
    commit = db.apply(
        "s", [*again, {"k": 0, "x": 4, "_change_type": "insert"}, {"k": 0, "x": 1, "_change_type": "insert"}]
    )
    assert commit["v"].num_rows == 0, "two rows of 5 together went, and two of 5 came"
    _check(db)


_STEPS: list[dict[str, list[Any]]] = [
    {"s": [(1, 7)], "r": [(1, 1)]},
    # The last row of a key goes, and with it the row above, which is in no semi-join view then.
    {"s": [(1, 7, "delete"), (2, 3)], "r": [(1, 1, "delete"), (2, 2)]},
    # A row above comes while the key's last row goes: its annotation is that of before until all is settled.
    {"s": [(2, 3, "delete")], "r": [(3, 2), (4, 2), (4, 2)]},
    {"s": [(2, 1), (2, 2)], "r": [(4, 2, "delete")]},
    {"s": [(2, 1, "delete"), (2, 2, "delete")], "r": [(2, 2, "delete"), (3, 2, "delete"), (4, 2, "delete")]},
]


@pytest.mark.parametrize("deltas", [True, False])
@pytest.mark.parametrize("tables", [("s", "r"), ("r", "s")])
def test_rows_above_that_come_and_go_while_a_difference_waits(tables: tuple[str, str], deltas: bool) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE r (g BIGINT, k BIGINT); CREATE TABLE s (k BIGINT, x BIGINT)")
    view = db.create_view("v", _QUERY.format(join="JOIN"), deltas=deltas)
    for step in _STEPS:
        changes = {
            name: [
                dict(zip(columns, (*row, "insert")[:3], strict=True))
                for row in step[name]
                for columns in [("g" if name == "r" else "k", "k" if name == "r" else "x", "_change_type")]
            ]
            for name in tables
        }
        db.apply(changes)
        expected = db.sql(_QUERY.format(join="JOIN") + " ORDER BY g").to_pylist()
        assert sorted(view.to_pylist(), key=lambda row: row["g"]) == expected
        _check(db)
