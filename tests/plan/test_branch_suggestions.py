"""Suggestions for queries with outer joins and sub-queries: what is declared makes the bound that was said."""

from __future__ import annotations

import pytest

from livejoin import Database
from livejoin.search.guarantee import UpdateBound

COLUMNS = {"R": "a INT, b INT, x INT", "S": "b INT, c INT", "T": "c INT, d INT", "U": "x INT, y INT"}
QUERIES = [
    "SELECT R.a, T.d, U.y FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c LEFT JOIN U ON R.x = U.x",
    "SELECT R.a, T.d FROM R LEFT JOIN (S JOIN T ON S.c = T.c) ON R.b = S.b",
    "SELECT R.a, S.c, T.d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c WHERE EXISTS (SELECT 1 FROM U WHERE x = R.x)",
]


def _database(declared: str = "", static: str = "") -> Database:
    database = Database()
    for name, columns in COLUMNS.items():
        table, _, key = declared.partition(": ")
        more = f", {key}" if name == table else ""
        properties = " TBLPROPERTIES ('livejoin.static' = 'true')" if name == static else ""
        database.execute(f"CREATE TABLE {name} ({columns}{more}){properties}")
    return database


@pytest.mark.parametrize("sql", QUERIES)
def test_what_is_declared_makes_the_bound_that_was_said(sql: str) -> None:
    told = _database().explain(sql)
    assert told.guarantee.bound > UpdateBound.ALWAYS
    assert told.suggestions
    for suggestion in told.suggestions:
        words = suggestion.text.split()
        if suggestion.kind == "primary key":
            table = words[words.index("of") + 1].rstrip(",.")
            found = _database(declared=f"{table}: {suggestion.sql}").explain(sql)
        elif suggestion.kind == "static table" and words[2] == "a":
            found = _database(static=words[1]).explain(sql)
        else:
            continue
        assert found.guarantee.bound == suggestion.guarantee.bound < told.guarantee.bound, suggestion.text


def test_only_declarations_are_suggested() -> None:
    for sql in QUERIES:
        kinds = {suggestion.kind for suggestion in _database().explain(sql).suggestions}
        assert kinds <= {"primary key", "foreign key", "static table", "append-only table"}
