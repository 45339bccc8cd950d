"""explain suggests NOT NULL where a query has more to maintain only because columns may be NULL."""

from __future__ import annotations

import pytest

import livejoin

TABLES = "R (k INT, a INT, b INT)", "S (x INT, y INT, z INT)"


def suggested(sql: str, *tables: str) -> list[tuple[str, str]]:
    db = livejoin.Database()
    for table in tables:
        db.execute(f"CREATE TABLE {table}")
    return [(one.text, one.sql) for one in db.explain(sql).suggestions if one.kind == "not null"]


@pytest.mark.parametrize(
    ("sql", "columns", "says"),
    [
        ("SELECT k FROM R WHERE a NOT IN (SELECT x FROM S)", {"R.a", "S.x"}, "2 relations are read then instead of 6"),
        (
            "SELECT k FROM R WHERE a NOT IN (SELECT x FROM S WHERE y = k)",
            {"R.a", "S.x"},
            "2 relations are read then instead of 5",
        ),
        (
            "SELECT k FROM R LEFT JOIN S ON a = x WHERE z IS NULL",
            {"S.z"},
            "an edge that gives NULLs where there is no match becomes one that asks whether there is one",
        ),
    ],
)
def test_columns_that_may_be_null_are_named(sql: str, columns: set[str], says: str) -> None:
    ((text, clauses),) = suggested(sql, *TABLES)
    assert text.startswith("Declare ") and text.endswith(f": {says}.")
    assert set(text.removeprefix("Declare ").split(" NOT NULL")[0].split(" and ")) == columns
    declared = list(TABLES)
    for clause in clauses.split("; "):
        name, _, column = clause.partition(": ")
        declared = [
            table.replace(column.removesuffix(" NOT NULL"), column) if table.startswith(name) else table
            for table in declared
        ]
    assert suggested(sql, *declared) == [], "with what was suggested there is no more to suggest"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM R JOIN S ON a = x WHERE y = 3",
        "SELECT k, y FROM R LEFT JOIN S ON a = x",
        "SELECT k FROM R WHERE a IN (SELECT x FROM S)",
        "SELECT k FROM R LEFT JOIN S ON a = x WHERE x IS NULL",
        "SELECT a, COUNT(*) AS n FROM R GROUP BY a",
    ],
)
def test_where_nulls_cost_nothing_nothing_is_said(sql: str) -> None:
    assert suggested(sql, *TABLES) == []


def test_a_view_that_is_read_counts_too() -> None:
    db = livejoin.Database()
    for table in TABLES:
        db.execute(f"CREATE TABLE {table}")
    db.create_view("known", "SELECT x FROM S WHERE y > 0")
    (found,) = [
        one
        for one in db.explain("SELECT k FROM R WHERE a NOT IN (SELECT x FROM known)").suggestions
        if one.kind == "not null"
    ]
    assert "R.a" in found.text
