"""Cyclic queries through the database: incremental equals recomputed by DuckDB, always (see `harness.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Harness
from oracle import canonical_row, difference, multiset, signed_multiset
from scenario import Change, ColumnSpec, QuerySpec, Row, TableSpec
from strategies import EXAMPLES, FUZZ, type_named

SOME = settings(FUZZ, max_examples=max(2, EXAMPLES // 3))  # the harness takes its time
BIGINT, STRING, INT, DECIMAL = (type_named(name) for name in ("BIGINT", "STRING", "INT", "DECIMAL(9, 2)"))
G = TableSpec("G", (ColumnSpec("src", BIGINT), ColumnSpec("dst", BIGINT), ColumnSpec("w", INT)))
H = TableSpec("H", (ColumnSpec("a", BIGINT, True), ColumnSpec("b", BIGINT, True), ColumnSpec("s", STRING)), (0, 1))
W = TableSpec("W", (ColumnSpec("x", BIGINT), ColumnSpec("y", BIGINT), ColumnSpec("d", DECIMAL)), window_rows=3)

TRIANGLE = "A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
JOINS = {
    "triangle": ("G A, G B, G C", TRIANGLE),
    "filtered": ("G A, G B, G C", f"{TRIANGLE} AND A.w > 0 AND C.src IS NOT NULL"),
    "mixed": ("G A, H B, W C", "A.dst = B.a AND B.b = C.x AND C.y = A.src"),
    "lollipop": ("G A, G B, G C, H D", f"{TRIANGLE} AND D.a = A.src"),
    "4-cycle": ("G A, H B, G C, W D", "A.dst = B.a AND B.b = C.src AND C.dst = D.x AND D.y = A.src"),
    "clique": ("G A, G B, G C, H D, H E", f"{TRIANGLE} AND D.a = A.src AND D.b = E.a AND E.b = B.src"),
    "two": ("G A, G B, G C, H D", TRIANGLE),
}
FIRST = dict.fromkeys(JOINS, "A.w") | {"clique": "B.w", "two": "D.s"}
SELECTS = (
    "SELECT A.src AS p, A.dst AS q, {first} AS r, A.w AS s FROM {join}",
    "SELECT {first} AS p FROM {join}",
    "SELECT A.src + 1 AS p, coalesce(A.w, 0) AS q FROM {join}",
)
WHOLE = (
    "SELECT count(*) AS n FROM {join}",
    "SELECT A.src AS p, count(*) AS n, sum(A.w) AS t, max({first}) AS m FROM {join} GROUP BY A.src",
    "SELECT DISTINCT A.src AS p FROM {join}",
    "SELECT DISTINCT A.src AS p, {first} AS q FROM {join}",
    "SELECT A.dst AS p, sum(CAST(A.w AS DECIMAL(18, 0)) * A.src) AS t FROM {join} GROUP BY A.dst",
    "SELECT A.src AS p, count(DISTINCT A.w) AS n FROM {join} GROUP BY A.src HAVING count(*) > 1",
)
"""Queries whose deltas are compared as they add up: groups are replaced, so that a delta has pairs."""


def sql_of(shape: str, name: str) -> str:
    tables, conditions = JOINS[name]
    return shape.format(first=FIRST[name], join=f"{tables} WHERE {conditions}")


@st.composite
def changes(draw: st.DrawFn, present: dict[str, Counter[Row]]) -> list[Change]:
    """Some changes of the rows that are there; a deletion names a row, an insertion keeps the primary key."""
    made: list[Change] = []
    for _ in range(draw(st.integers(1, 5))):
        table = draw(st.sampled_from((G, G, G, H, W)))
        rows = sorted(present[table.name].elements(), key=repr)
        if rows and draw(st.integers(0, 2)) == 0:
            row = draw(st.sampled_from(rows))
            present[table.name][row] -= 1
            made.append(Change(table.name, "delete", row))
            continue
        small = st.integers(0, 2)
        first = draw(small if table is H else st.one_of(small, small, st.none()))
        row = (first, draw(small), draw(st.one_of(st.none(), st.sampled_from(table.columns[2].type.values[:3]))))
        if table is H and any(row[:2] == other[:2] for other in rows):
            continue
        present[table.name][row] += 1
        made.append(Change(table.name, "insert", row))
        if table is W and present["W"].total() > 3:
            return made  # what the window takes out is the oracle's to say
    return made


def synchronised(harness: Harness) -> dict[str, Counter[Row]]:
    return {name: Counter(map(canonical_row, rows)) for name, rows in harness.oracle.rows.items()}


@SOME
@given(st.data())
def test_joins(data: st.DataObject) -> None:
    """Joins with multiplicities, every check of the harness, through a snapshot."""
    harness = Harness([G, H, W])
    names = data.draw(st.lists(st.sampled_from(sorted(JOINS)), min_size=1, max_size=2, unique=True))
    for number, name in enumerate(names):
        sql = sql_of(data.draw(st.sampled_from(SELECTS)), name)
        harness.create_view(f"v{number}", QuerySpec(sql, sql), deltas=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 5))):
        some = data.draw(changes(synchronised(harness)))
        if some and data.draw(st.booleans()):
            harness.replay(some)
        elif some:
            harness.apply(some)
        if data.draw(st.integers(0, 19)) == 0:
            harness.reload()
    emptied(harness)


def emptied(harness: Harness) -> None:
    """Delete all rows, one commit a table."""
    for name, rows in list(harness.oracle.rows.items()):
        if rows:
            harness.apply([Change(name, "delete", row) for row in list(rows)])


@SOME
@given(st.data())
def test_groups_and_distinct_rows(data: st.DataObject) -> None:
    """Aggregates and DISTINCT over cyclic joins: results and what the deltas add up to."""
    harness = Harness([G, H, W])
    name = data.draw(st.sampled_from(sorted(JOINS)))
    sql = sql_of(data.draw(st.sampled_from(WHOLE)), name)
    view = harness.database.create_view("v", sql)
    total = multiset(view.to_arrow())
    assert total == multiset(harness.oracle.result(sql))

    def commit(some: Sequence[Change], each: bool) -> None:
        nonlocal total
        if each:
            delta = harness.database.replay(harness.logs(some))["v"]
            harness.oracle.apply_each(some)
        else:
            delta = harness.database.apply(harness.data(some, "arrow"))["v"]
            harness.oracle.apply(some)
        expected = multiset(harness.oracle.result(sql))
        assert multiset(view.to_arrow()) == expected
        assert signed_multiset(delta) == difference(expected, total)
        assert view.count() == expected.total()
        harness.database._check()
        total = expected

    for _ in range(data.draw(st.integers(1, 5))):
        if some := data.draw(changes(synchronised(harness))):
            commit(some, data.draw(st.booleans()))
    for table, rows in list(harness.oracle.rows.items()):
        if rows:
            commit([Change(table, "delete", row) for row in list(rows)], False)


def test_what_explain_says_of_triangles() -> None:
    database = Harness([G, H, W]).database
    counted = database.explain(sql_of(WHOLE[0], "triangle"))
    listed = database.explain(sql_of(SELECTS[0], "triangle"))
    assert counted.guarantee.update.startswith("O(N^(1/2)) a change amortised")
    assert counted.guarantee.space.startswith("O(N) ")
    assert (listed.guarantee.update[:13], listed.guarantee.space[:10]) == ("O(N) a change", "O(N^(3/2))")
    assert "bag {B, C, <A>}" in str(listed), "what only A has stays outside"


@pytest.mark.parametrize("name", sorted(JOINS))
def test_a_view_over_filled_tables(name: str) -> None:
    harness = Harness([G, H, W])
    rows = [(a, b, (a + b) % 3) for a in range(3) for b in range(3)]
    harness.apply([Change("G", "insert", row) for row in [*rows, *rows[:4]]])
    harness.apply([Change("H", "insert", (a, b, "a")) for a, b, _ in rows])
    harness.apply([Change("W", "insert", (a, b, None)) for a, b, _ in rows[:3]])
    for number, shape in enumerate(SELECTS):
        sql = sql_of(shape, name)
        harness.create_view(f"v{number}", QuerySpec(sql, sql))
    harness.apply([Change("G", "delete", rows[0]), Change("G", "insert", (0, 1, None))])
    assert harness.database.explain(sql).executable
