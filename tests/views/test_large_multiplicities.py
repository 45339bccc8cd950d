"""Aggregates for which copies do not count, over joins with more rows than 64 bits count; against Python's integers."""

from __future__ import annotations

from typing import Any

import pytest

import livejoin
from livejoin.errors import CapacityError

ATOMS = 8
FROM = ", ".join(f"T t{i}" for i in range(ATOMS))
ON = " AND ".join(f"t{i}.g = t{i + 1}.g" for i in range(ATOMS - 1))
ALL = [(i % 2, i) for i in range(600)]
FEW = ALL[:6]

Groups = dict[int, list[int]]


def groups_of(rows: list[tuple[int, int]]) -> Groups:
    found: Groups = {}
    for group, value in rows:
        found.setdefault(group, []).append(value)
    return found


def filled(threads: int = 1) -> livejoin.Database:
    database = livejoin.Database(threads=threads)
    database.create_table("T", "g INT, x INT")
    return database


def deleted(rows: list[tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"g": group, "x": value, "_change_type": "delete"} for group, value in rows]


def rows_of(view: livejoin.View) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in view.to_arrow().to_pylist()}


def extremes(groups: Groups) -> set[tuple[Any, ...]]:
    return {(g, min(v), max(v), len(set(v)), min(v) > 0, max(v) > 3) for g, v in groups.items()}


@pytest.mark.parametrize("threads", [1, 2])
def test_copies_do_not_count(threads: int) -> None:
    """Each group has 300**8 rows in the join, then 3**8, then as many as before; deltas lead from one to the next."""
    assert len(ALL[::2]) ** ATOMS > 1 << 63
    database = filled(threads)
    calls = "MIN(t1.x), MAX(t1.x), COUNT(DISTINCT t1.x), BOOL_AND(t1.x > 0), BOOL_OR(t1.x > 3)"
    columns = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls.split(", ")))
    grouped = database.create_view("grouped", f"SELECT t0.g, {columns} FROM {FROM} WHERE {ON} GROUP BY t0.g")
    whole = database.create_view("whole", f"SELECT MIN(t1.x) AS a, MAX(t2.x) AS b FROM {FROM} WHERE {ON}")
    having = database.create_view(
        "having", f"SELECT t0.g, MIN(t1.x) AS a FROM {FROM} WHERE {ON} GROUP BY t0.g HAVING MAX(t1.x) > 100"
    )
    inner = f"(SELECT t0.g, MAX(t1.x) AS a FROM {FROM} WHERE {ON} GROUP BY t0.g) q"
    nested = database.create_view("nested", f"SELECT T.x, q.a FROM {inner} JOIN T ON q.g = T.g WHERE T.x < 2")
    total: dict[tuple[Any, ...], int] = {}
    for change, rows in ((ALL, ALL), (deleted(ALL[6:]), FEW), (ALL[6:], ALL), (deleted(ALL), [])):
        delta = database.apply("T", change)["grouped"].to_pylist()
        for *values, kind, _version in (tuple(row.values()) for row in delta):
            total[tuple(values)] = total.get(tuple(values), 0) + (1 if kind in ("insert", "update_postimage") else -1)
        groups, values = groups_of(rows), [value for _, value in rows]
        assert rows_of(grouped) == extremes(groups) == {row for row, times in total.items() if times}
        assert rows_of(whole) == {(min(values, default=None), max(values, default=None))}
        assert rows_of(having) == {(g, min(v)) for g, v in groups.items() if max(v) > 100}
        assert rows_of(nested) == {(x, max(v)) for v in groups.values() for x in v if x < 2}
        database._check()


@pytest.mark.parametrize("group", ["GROUP BY t0.g", ""])
@pytest.mark.parametrize("call", ["COUNT(*)", "SUM(t1.x)", "COUNT(t1.x)", "AVG(t1.x)"])
def test_what_counts_copies_beside_them_is_refused_by_name(call: str, group: str) -> None:
    """A count that does not fit is no other number; the commit fails, and the view goes on."""
    database = filled()
    view = database.create_view("v", f"SELECT MIN(t1.x) AS a, {call} AS b FROM {FROM} WHERE {ON} {group}")
    database.apply("T", FEW)
    before = rows_of(view)
    with pytest.raises(
        CapacityError, match=rf"{call.partition('(')[0]} would count them all; make two views: one of MIN"
    ):
        database.apply("T", ALL[6:])
    assert rows_of(view) == before
    database.apply("T", deleted(FEW[2:]))
    number = {"COUNT(*)": 1, "SUM(t1.x)": None, "COUNT(t1.x)": 1, "AVG(t1.x)": None}[call]
    groups = groups_of(FEW[:2])
    if group:
        assert rows_of(view) == {(v[0], number or v[0]) for v in groups.values()}
    else:
        expected = {"COUNT": 2, "SUM": 1, "AVG": 0.5}[call.partition("(")[0]]
        assert rows_of(view) == {(0, expected)}
    database._check()


def test_counts_of_other_groups_may_be_as_large() -> None:
    """Each of two groups has more than half of 2**63 rows: the bound is that of a group."""
    database = filled()
    view = database.create_view("v", f"SELECT t0.g, MIN(t1.x) AS a, COUNT(*) AS n FROM {FROM} WHERE {ON} GROUP BY t0.g")
    rows = ALL[: 2 * 220]
    assert 1 << 62 < 220**ATOMS < 1 << 63
    database.apply("T", rows)
    assert rows_of(view) == {(0, 0, 220**ATOMS), (1, 1, 220**ATOMS)}
