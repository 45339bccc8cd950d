"""Views with conditions across tables under random changes: incremental equals recomputed, after every commit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import Harness
from livejoin import Database
from livejoin.errors import ExpressionError, UnsupportedQueryError
from scenario import Change, ColumnSpec, QuerySpec, TableSpec
from strategies import seeds, type_named

INT, BIGINT, DOUBLE, STRING = (type_named(name) for name in ("INT", "BIGINT", "DOUBLE", "STRING"))
TABLES = (
    TableSpec("R", (ColumnSpec("k", INT), ColumnSpec("a", BIGINT), ColumnSpec("s", STRING))),
    TableSpec("S", (ColumnSpec("k", INT), ColumnSpec("b", INT), ColumnSpec("w", DOUBLE), ColumnSpec("t", STRING))),
    TableSpec("T", (ColumnSpec("c", BIGINT), ColumnSpec("b", INT))),
)
VALUES: dict[str, list[Any]] = {
    "INT": [0, 1, 2, 3, None],
    "BIGINT": [0, 1, 2, 3, None],
    "DOUBLE": [0.0, 0.5, 1.0, 2.0, None],
    "STRING": ["a", "ab", "1", None],
}

RESIDUALS = (
    "SELECT R.a, S.b FROM R JOIN S ON R.k = S.k AND R.a < S.b",
    "SELECT R.k, R.a, S.w FROM R JOIN S ON R.k = S.k WHERE R.s LIKE 'a%' OR S.t = R.s OR R.a BETWEEN S.b AND 2",
    "SELECT R.k, SUM(R.a * S.b) AS s, COUNT(*) AS n FROM R, S WHERE R.k = S.k AND R.a <> S.b GROUP BY R.k",
    "SELECT COUNT(*) AS n FROM R JOIN S USING (k) WHERE CASE WHEN R.s = 'a' THEN S.b > 0 ELSE R.a <= S.w END",
    "SELECT DISTINCT T.c FROM R JOIN S ON R.k = S.k JOIN T ON S.b = T.b WHERE R.a <> T.c AND R.s < S.t",
    "SELECT R.a, S.b, R.a + S.b AS x FROM R JOIN S ON R.k = S.k AND R.a >= S.b ORDER BY x DESC, 1, 2 LIMIT 3",
    "SELECT q.a, T.c FROM (SELECT R.a, S.b FROM R JOIN S ON R.k = S.k WHERE R.s <> S.t) q JOIN T ON q.b = T.b "
    "WHERE q.a + T.c > 2",
)

COMPUTED = (
    "SELECT R.a, S.b FROM R JOIN S ON R.a - 1 = S.b",
    "SELECT R.k, S.w FROM R JOIN S ON R.a = S.w",
    "SELECT R.k, COUNT(*) AS n, SUM(R.a * S.b) AS s FROM R JOIN S ON R.k + R.a = S.b + 1 GROUP BY R.k",
    "SELECT DISTINCT R.a, T.c FROM R JOIN S ON UPPER(R.s) = UPPER(S.t) JOIN T ON S.b + 1 = T.c",
    "SELECT x.a, y.a AS b FROM R x JOIN R y ON x.a + 1 = y.a",
    "SELECT x.k, y.s FROM R x JOIN R y ON x.s <=> y.s AND x.k = y.a - 1",
    "SELECT R.a, S.b FROM R JOIN S ON R.a IS NOT DISTINCT FROM S.b",
    "SELECT R.a, S.b, T.c FROM R JOIN S ON R.k <=> S.k AND R.a < S.b JOIN T ON T.c + 1 = R.a",
    "SELECT COUNT(*) AS n FROM R JOIN S ON R.k + 0 = S.k + 0 JOIN T ON S.w = T.c AND T.b <> R.k",
    "SELECT q.n, S.b FROM (SELECT k, COUNT(*) AS n FROM R GROUP BY k) q JOIN S ON q.n - 1 = S.b WHERE q.k < S.w + 2",
    "SELECT q.x, T.c FROM (SELECT R.a + 1 AS x, S.b FROM R JOIN S ON R.k = S.k WHERE R.a <> S.b) q JOIN T ON q.x = T.c",
)

FACTORED = (
    "SELECT R.a, S.b FROM R, S WHERE (R.k = S.k AND R.a > 1) OR (S.k = R.k AND S.b < 2)",
    "SELECT SUM(R.a * S.b) AS s, COUNT(*) AS n FROM R, S WHERE (R.k = S.k AND R.a BETWEEN 0 AND 1 AND S.t = 'a') "
    "OR (R.k = S.k AND R.a >= 2 AND S.t IN ('ab', '1'))",
    "SELECT R.a, T.c FROM R, T WHERE (R.a, R.k) = (T.c, T.b)",
    "SELECT R.k, S.t FROM R JOIN S ON R.a IN (S.b, S.w) AND R.k IN (S.k)",
)


def commits(seed: int, number: int = 12) -> list[list[Change]]:
    """Random changes with duplicates; every few commits a table loses all rows."""
    generator = random.Random(seed)
    rows: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in TABLES}
    found = []
    for step in range(number):
        changes: list[Change] = []
        if step % 4 == 3:
            name = generator.choice(list(rows))
            changes += [Change(name, "delete", row) for row in rows[name]]
            rows[name] = []
        for _ in range(generator.randrange(1, 7)):
            table = generator.choice(TABLES)
            own = rows[table.name]
            if own and generator.random() < 0.3:
                changes.append(Change(table.name, "delete", own.pop(generator.randrange(len(own)))))
            else:
                own.append(tuple(generator.choice(VALUES[column.type.sql]) for column in table.columns))
                changes.append(Change(table.name, "insert", own[-1]))
        found.append(changes)
    return found


def follow(queries: Sequence[str | tuple[str, str]], seed: int) -> None:
    """Views of some queries, each perhaps with another text for DuckDB, through the changes of a seed."""
    harness = Harness(TABLES)
    for number, query in enumerate(queries):
        sql, plain = query if isinstance(query, tuple) else (query, query.replace("<=>", "IS NOT DISTINCT FROM"))
        groups: tuple[int, ...] | None = None
        if "GROUP BY" in sql.rpartition(")")[2]:
            groups = (0,)
        elif "COUNT(*)" in sql.partition(" FROM ")[0]:
            groups = ()
        harness.create_view(f"v{number}", QuerySpec(sql, plain, groups=groups))
    for changes in commits(seed):
        harness.apply(changes)
    for changes in commits(seed + 100, 3):
        inserts = [change for change in changes if change.kind == "insert"]
        harness.replay(inserts)
    harness.reload()


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_residuals(seed: int) -> None:
    follow(RESIDUALS, seed)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_computed_join_columns(seed: int) -> None:
    follow(COMPUTED, seed)


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_disjunctions_and_tuples(seed: int) -> None:
    follow(FACTORED, seed)


def test_an_expression_that_is_joined_fails_in_the_commit_that_brings_the_row() -> None:
    database = joined_tables()
    database.execute("CREATE TABLE P (s STRING, n INT)")
    database.create_view("v", "SELECT P.s, R.a FROM P JOIN R ON P.s = R.k WHERE P.n > 0")
    database.create_view("w", "SELECT R.a, S.b FROM R JOIN S ON 12 / R.a = S.b")
    with pytest.raises(ExpressionError, match="CAST"):
        database.apply({"P": [("x", 1)]})
    with pytest.raises(ExpressionError, match="zero"):
        database.apply({"R": [(1, 0)]})
    database.apply({"P": [("x", 0), ("1", 1), (None, 1)], "R": [(1, 4), (None, None)], "S": [(0, 3)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"s": "1", "a": 4}]
    assert database.views["w"].to_arrow().to_pylist() == [{"a": 4, "b": 3}]


def test_minus_zero_and_nan_that_are_computed_join() -> None:
    database = Database()
    database.execute("CREATE TABLE D (x DOUBLE, y DOUBLE)")
    database.create_view("v", "SELECT A.x, B.y FROM D A JOIN D B ON A.x * -1 = B.y")
    database.apply({"D": [(0.0, 0.0), (float("nan"), float("nan")), (1.0, -1.0), (None, None)]})
    found = sorted((str(row["x"]), str(row["y"])) for row in database.views["v"].to_arrow().to_pylist())
    assert found == [("0.0", "0.0"), ("1.0", "-1.0"), ("nan", "nan")]


def joined_tables() -> Database:
    database = Database()
    database.execute("CREATE TABLE R (k INT, a INT)")
    database.execute("CREATE TABLE S (k INT, b INT)")
    return database


def test_a_residual_fails_for_rows_of_the_join_alone() -> None:
    database = joined_tables()
    database.create_view("v", "SELECT R.a FROM R JOIN S ON R.k = S.k WHERE R.a / S.b > 1 AND S.b < 9")
    database.apply({"R": [(1, 4), (2, 4)], "S": [(1, 2), (3, 0), (None, 0)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"a": 4}]
    with pytest.raises(ExpressionError, match=r"R\.a / S\.b > 1"):
        database.apply({"S": [(2, 0)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"a": 4}]
    database.apply({"S": [(2, 3)]})
    assert database.views["v"].count() == 2


def test_what_a_nested_query_keeps_away_fails_for_nobody() -> None:
    database = joined_tables()
    inner = "SELECT 12 / R.a AS x, S.b FROM R JOIN S ON R.k = S.k WHERE R.a <> S.b"
    database.create_view("v", f"SELECT x FROM ({inner}) q WHERE x > 1")
    database.apply({"R": [(1, 0), (1, 3)], "S": [(1, 0)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"x": 4.0}]
    with pytest.raises(ExpressionError, match="zero"):
        database.apply({"S": [(1, 1)]})


def test_a_product_with_a_condition_wants_leave() -> None:
    database = joined_tables()
    sql = "SELECT R.a, S.b FROM R, S WHERE R.a < S.b"
    for make in (
        lambda: database.create_view("v", sql),
        lambda: database.execute(f"CREATE VIEW v AS {sql}"),
        lambda: database.explain(sql),
    ):
        with pytest.raises(UnsupportedQueryError, match="allow_product=True"):
            make()
    told = database.explain(sql, allow_product=True)
    assert "R.a < S.b is checked on each" in told.guarantee.delay
    assert "a row that comes or goes is paired with all rows" in told.guarantee.update
    assert told.guarantee.bound.formula == "O(|D|)"
    database.execute(f"CREATE VIEW v AS {sql}", allow_product=True)
    database.create_view("n", "SELECT COUNT(*) AS n FROM R CROSS JOIN S")  # a product that says so needs no leave
    database.apply({"R": [(1, 1), (2, 5)], "S": [(7, 3), (8, 0)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"a": 1, "b": 3}]
    assert database.views["n"].to_arrow().to_pylist() == [{"n": 4}]


def test_a_saved_product_is_loaded_and_a_view_may_read_it(tmp_path: Path) -> None:
    database = joined_tables()
    database.create_view("p", "SELECT R.a, S.b FROM R, S WHERE R.a < S.b", allow_product=True)
    database.create_view("v", "SELECT b, COUNT(*) AS n FROM p WHERE a > 0 GROUP BY b")
    database.apply({"R": [(1, 1), (2, 0)], "S": [(7, 3)]})
    database.save(tmp_path / "saved")
    loaded = Database.load(tmp_path / "saved")
    for one in (database, loaded):
        one.apply({"R": [(3, 2)]})
        assert one.views["v"].to_arrow().to_pylist() == [{"b": 3, "n": 2}]


def test_explain_tells_of_the_delay() -> None:
    database = joined_tables()
    for compared in ("", " AND R.a < S.b"):
        told = database.explain(f"SELECT R.a FROM R JOIN S ON R.k = S.k AND R.a <> S.b{compared}")
        assert "R.a <> S.b is checked on each of them, so that the delay between two results" in told.guarantee.delay
        assert any("where R.a <> S.b, which is checked" in line for line in told.operators)
    grouped = database.explain("SELECT R.k, COUNT(*) AS n FROM R JOIN S ON R.k = S.k AND R.a < S.b GROUP BY R.k")
    assert grouped.guarantee.delay == "constant delay a row, from the store"


def test_aggregates_look_at_what_a_condition_reads_once() -> None:
    """Of the rows that are joined besides, only the number counts, and not each of them."""
    database = joined_tables()
    database.execute("CREATE TABLE T (b INT, c INT)")
    joined = "FROM R JOIN S ON R.k = S.k JOIN T ON S.b = T.b WHERE R.a < S.b"
    view = database.create_view("v", f"SELECT R.k, COUNT(*) AS n {joined} GROUP BY R.k")
    distinct = database.create_view("d", f"SELECT DISTINCT R.k {joined}")
    assert view.explain().operators[0].startswith("each result once, with its number of copies")
    assert distinct.explain().operators[0].startswith("each result once")
    database.apply({"R": [(1, 1), (2, 9)], "S": [(1, 2), (2, 2)], "T": [(2, i % 7) for i in range(500)]})
    assert view.to_arrow().to_pylist() == [{"k": 1, "n": 500}]
    assert distinct.to_arrow().to_pylist() == [{"k": 1}]
    database.apply({"T": [{"b": 2, "c": 3, "_change_type": "delete"}]})
    assert view.to_arrow().to_pylist() == [{"k": 1, "n": 499}]
