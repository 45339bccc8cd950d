"""Queries over one relation: its changes go into the store above as they are, and no row is kept a second time."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.dataflow.blocks.selected import SelectedBlock
from livejoin.plan.operators import AnnotatedOperator, JoinOperator, SelectedOperator
from livejoin.sql import parse_columns
from livejoin.state.table import BaseTable
from oracle import Oracle, assert_same_rows, difference, multiset, signed_multiset
from scenario import Change, ColumnSpec, ColumnType, TableSpec, arrow_rows
from strategies import IS_FUZZ

SEED = 20261122
COMMITS = 12 if IS_FUZZ else 6
BIGINT = ColumnType("BIGINT", pa.int64(), "integer", (None, -(1 << 40), -3, 0, 1, 2, 7), ("1", "7"))
TEXT = ColumnType("STRING", pa.string(), "text", (None, "", "a", "b", "ab"), ("'a'",))
MONEY = ColumnType(
    "DECIMAL(15,2)",
    pa.decimal128(15, 2),
    "decimal",
    (None, Decimal("-1.50"), Decimal("0.00"), Decimal("9999999999999.99"), Decimal("3.25")),
    ("1.50",),
)
COLUMNS = (ColumnSpec("k", BIGINT), ColumnSpec("x", BIGINT), ColumnSpec("s", TEXT), ColumnSpec("m", MONEY))
QUERIES = {
    "sums": "SELECT k, COUNT(*) AS n, COUNT(x) AS c, SUM(m) AS s, "
    "SUM(CAST(m AS DECIMAL(20,2)) * m) AS w FROM T GROUP BY k",
    "selected": "SELECT s, SUM(m) AS s1, SUM(m + m) AS a, COUNT(s) AS n FROM T WHERE x > 0 AND s <> 'b' GROUP BY s",
    "whole": "SELECT COUNT(*) AS n, SUM(x + 1) AS t, MIN(s) AS l FROM T WHERE x <= 2",
    "extremes": "SELECT s, MIN(x) AS lo, MAX(m) AS hi, COUNT(DISTINCT k) AS d, SUM(x) AS t FROM T GROUP BY s",
    "having": "SELECT k, COUNT(*) AS n FROM T WHERE s = 'a' OR m > 0 GROUP BY k HAVING COUNT(*) > 1",
    "distinct": "SELECT DISTINCT k, x + 1 AS y FROM T WHERE s IS NOT NULL",
    "first": "SELECT k, s, m FROM T WHERE x IS NOT NULL "
    "ORDER BY m DESC NULLS LAST, k NULLS FIRST, s NULLS FIRST LIMIT 4",
    "apart": "SELECT k, s FROM T WHERE x > 0 EXCEPT ALL SELECT k, s FROM T WHERE m > 0",
    "both": "SELECT k FROM T INTERSECT SELECT x FROM T WHERE s = 'a'",
    "stacked": "SELECT n, COUNT(*) AS g FROM (SELECT k, COUNT(*) AS n FROM T GROUP BY k) WHERE n > 1 GROUP BY n",
    "united": "SELECT v, COUNT(*) AS n FROM (SELECT k AS v FROM T WHERE x > 0 UNION ALL SELECT x FROM T) GROUP BY v",
}
"""They have one result in DuckDB and in Spark, but for types."""


def table(**options: Any) -> TableSpec:
    return TableSpec("T", COLUMNS, **options)


def drawn(chance: np.random.Generator, there: list[tuple[Any, ...]], number: int) -> list[Change]:
    """Some changes of a table with some rows: rows that come, some of them equal, and rows that go, or change."""
    changes, left = [], list(there)
    for _ in range(number):
        row = tuple(column.type.values[chance.integers(len(column.type.values))] for column in COLUMNS)
        what = chance.integers(4)
        if what >= 2 and left:
            gone = left.pop(int(chance.integers(len(left))))
            changes.append(Change("T", "delete", gone))
            row = (*gone[:1], *row[1:])
        if what != 3:
            changes.append(Change("T", "insert", row))
            if chance.integers(3) == 0:
                changes.append(Change("T", "insert", row))
    return changes


def names_of_blocks(view: livejoin.View) -> list[type]:
    return [type(node.plan) for node in view._below]


@pytest.mark.parametrize("way", ["apply", "rows", "replay, change", "replay, commit", "replay, pieces", "window"])
def test_random_histories(way: str, tmp_path: Path) -> None:
    chance = np.random.default_rng(SEED)
    spec = table(window_rows=9 if way == "window" else None)
    oracle, db = Oracle([spec]), livejoin.Database()
    db.create_table("T", spec.column_list, window_rows=spec.window_rows)
    views = {name: db.create_view(name, sql) for name, sql in QUERIES.items()}
    for view in views.values():
        assert SelectedOperator in names_of_blocks(view) and not {JoinOperator, AnnotatedOperator} & {
            *names_of_blocks(view)
        }
    totals = {name: multiset(view.to_arrow()) for name, view in views.items()}
    for number in range(COMMITS):
        # What leaves a window of its own accord is not known here, so that nothing else leaves that table.
        changes = drawn(chance, [] if way == "window" else oracle.rows["T"], 6)
        oracle.apply(changes)
        commits = apply(db, spec, changes, way)
        for name, sql in QUERIES.items():
            for commit in commits:
                for row, by in signed_multiset(commit[name]).items():
                    totals[name][row] += by
            expected = oracle.result(sql)
            assert_same_rows(multiset(views[name].to_arrow()), multiset(expected), f"{way}, {name}, commit {number}")
            assert_same_rows(difference(totals[name], Counter()), multiset(expected), f"{way}, deltas of {name}")
        db._check()
        if number == COMMITS // 2:
            db.save(tmp_path)
            db = livejoin.Database.load(tmp_path, trusted=way != "apply")
            views = dict(db.views)


def apply(db: livejoin.Database, spec: TableSpec, changes: list[Change], way: str) -> list[livejoin.Commit]:
    if way.startswith("replay"):
        log = {"T": arrow_rows(spec, changes, list(range(len(changes))))}
        if way == "replay, pieces":
            return list(db.replay(log, max_rows=4, granularity="commit"))
        return [db.replay(log, granularity="change" if way == "replay, change" else "commit")]
    if way == "rows":
        names = [column.name for column in spec.columns]
        return [db.apply("T", [dict(zip(names, c.row, strict=True)) | {"_change_type": c.kind} for c in changes])]
    return [db.apply("T", arrow_rows(spec, changes))]


def test_changes_by_key() -> None:
    """The row that an upsert replaces is known to the table alone."""
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, x BIGINT, s STRING")
    view = db.create_view("v", "SELECT s, SUM(x) AS t FROM P WHERE x > 0 GROUP BY s")
    db.apply("P", [(1, 5, "a"), (2, 7, "a"), (3, -1, "b")])
    db.apply("P", [{"id": 1, "x": 6, "s": "b", "_change_type": "upsert"}, {"id": 2, "_change_type": "delete"}])
    assert multiset(view.to_arrow()) == multiset([("b", 6)])
    db.apply("P", [{"id": 3, "x": 4, "s": "b", "_change_type": "upsert"}, {"id": 1, "_change_type": "delete"}])
    assert multiset(view.to_arrow()) == multiset([("b", 4)])
    db._check()


@pytest.mark.parametrize("column", ["10 / x", "SUM(100 / x)"])
def test_a_commit_that_fails_changes_nothing(column: str) -> None:
    """In the predicate and in what is computed; also the blocks that had taken the changes already."""
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    first = db.create_view("first", "SELECT k, COUNT(*) AS n FROM T WHERE x >= 0 GROUP BY k")
    sql = f"SELECT k, {column} AS s FROM T GROUP BY k" if "SUM" in column else f"SELECT k FROM T WHERE {column} > 1"
    second = db.create_view("second", sql if "SUM" in column else f"{sql} GROUP BY k")
    db.apply("T", [(1, 2), (1, 5), (2, 4)])
    before = [multiset(view.to_arrow()) for view in (first, second)]
    version = db.version
    kinds = pa.array(["insert", "insert", "delete"])
    rows = pa.table({"k": [1, 3, 2], "x": [3, 0, 4], "_change_type": kinds})
    with pytest.raises(livejoin.ExpressionError, match="second"):
        db.apply("T", rows)
    assert db.version == version and [multiset(view.to_arrow()) for view in (first, second)] == before
    db._check()
    db.apply("T", [(4, 5)])
    assert multiset(first.to_arrow()) - before[0] == multiset([(4, 1)])
    db._check()


def test_a_row_that_does_not_pass_has_no_outputs() -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    view = db.create_view("v", "SELECT k, SUM(12 DIV x) AS s FROM T WHERE x <> 0 GROUP BY k")
    db.apply("T", [(1, 0), (1, 4), (2, 0)])
    assert view.to_arrow().to_pylist() == [{"k": 1, "s": 3}]


def test_what_is_kept_is_the_groups_alone() -> None:
    """Ten thousand rows of TPC-H's Q1 take no more state than ten: less than a byte a row where it was 172."""
    db = livejoin.Database()
    money = "DECIMAL(15,2)"
    columns = ", ".join(f"{name} {money}" for name in "qpdt")
    db.create_table("L", f"k BIGINT PRIMARY KEY, {columns}, f STRING, s STRING, day DATE")
    db.create_view(
        "q1",
        "SELECT f, s, SUM(q) AS q, SUM(p) AS p, SUM(p * (1 - d)) AS r, SUM(p * (1 - d) * (1 + t)) AS c, "
        "AVG(q) AS aq, AVG(p) AS ap, AVG(d) AS ad, COUNT(*) AS n FROM L WHERE day <= DATE '1998-09-02' GROUP BY f, s",
    )
    sizes = []
    for rows in (12, 10_000):
        number = np.arange(sum(sizes and [12]), rows)
        db.apply("L", lines(number))
        sizes.append(db.stats()["state_bytes"])
    assert sizes[0] == sizes[1] < 10_000
    assert db.views["q1"].stats()["atom_rows"] == 0


def lines(number: np.ndarray) -> pa.Table:
    def money(values: np.ndarray) -> pa.Array:
        return pa.array([Decimal(int(value)).scaleb(-2) for value in values], pa.decimal128(15, 2))

    return pa.table(
        {
            "k": number,
            "q": money(100 * (1 + number % 50)),
            "p": money(90_000 + 37 * number),
            "d": money(number % 11),
            "t": money(number % 9),
            "f": pa.array(np.array(["A", "N", "R"])[number % 3]),
            "s": pa.array(np.array(["O", "F"])[number % 2]),
            "day": pa.array((9_000 + number % 1_500).astype(np.int32)).cast(pa.date32()),
        }
    )


def test_explanations_say_that_there_is_no_join() -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    sql = "SELECT src, COUNT(*) AS n FROM G WHERE dst > 3 GROUP BY src"
    db.create_view("v", sql)
    for told in (db.explain(sql), db.views["v"].explain()):
        assert told.plan.kind == "selected rows" and told.guarantee.bound.formula == "O(1)"
        assert "no row of G is kept a second time" in told.guarantee.space and "each group" in told.guarantee.space
        assert [table.row_bytes for table in told.tables] == [0]
        assert "where dst > 3" in str(told) and told.svg().startswith("<svg")
    assert "no join: the changed rows of G that pass dst > 3" in str(db.explain())
    assert db.views["v"].stats()["height"] == 0


def test_views_that_are_read_by_position_keep_their_join() -> None:
    """A row of a plain selection is found by rank and by value, which takes an index."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    plain = db.create_view("plain", "SELECT src, dst FROM G WHERE dst > 1")
    both = db.create_view("both", "SELECT src FROM G UNION ALL SELECT dst FROM G")
    assert all(SelectedBlock not in {type(node.block) for node in view._below} for view in (plain, both))
    db.apply("G", [(1, 2), (1, 2), (2, 1), (3, 4)])
    assert sorted(plain.at(i) for i in range(plain.count())) == [(1, 2), (1, 2), (3, 4)]
    assert both.count() == 8


@pytest.mark.nojit
def test_columns_of_rows_are_gathered() -> None:
    chance = np.random.default_rng(SEED)
    base = BaseTable(parse_columns("T", "a BIGINT, b BIGINT, c BIGINT"))
    given = chance.integers(0, 1 << 40, (3, 12))
    ids = base.stage_commit(given, np.ones(12, np.int64), ignore=False).rows
    rows = chance.integers(0, 12, 7)
    assert base.columns_of(ids[rows], (2, 0)).tolist() == given[[2, 0]][:, rows].tolist()
