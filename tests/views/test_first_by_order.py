"""FIRST, LAST and ANY_VALUE by an order: after every commit what the definition gives."""

from __future__ import annotations

import random
from typing import Any

import pytest

from livejoin import Database
from livejoin.errors import UnsupportedQueryError
from oracle import connect, multiset

Row = tuple[Any, ...]
# The call, whether the order is descending, whether NULLs come first, whether rows without a value count.
CALLS = [
    ("FIRST(x ORDER BY k)", False, True, True),
    ("FIRST(x ORDER BY k DESC)", True, False, True),
    ("FIRST(x ORDER BY k NULLS LAST)", False, False, True),
    ("FIRST(x ORDER BY k DESC NULLS FIRST)", True, True, True),
    ("FIRST(x ORDER BY k) IGNORE NULLS", False, True, False),
    ("ANY_VALUE(x ORDER BY k DESC)", True, False, False),
    ("LAST(x ORDER BY k)", True, False, True),
    ("LAST(x ORDER BY k DESC NULLS FIRST)", False, False, True),
    ("LAST_VALUE(x ORDER BY k NULLS LAST)", True, True, True),
]


def first(rows: list[Row], *, descending: bool, nulls_first: bool, all_count: bool) -> Any:
    """The definition: the least value of the first rows, NULL first, and the greatest if the order is descending."""
    own = [(k, x) for _, k, x in rows if all_count or x is not None]
    keys = [k for k, _ in own if k is not None]
    if not own:
        return None
    nulls = [x for k, x in own if k is None]
    best = max(keys, default=None) if descending else min(keys, default=None)
    tied = nulls if (nulls and nulls_first) or best is None else [x for k, x in own if k == best]
    values = [x for x in tied if x is not None]
    if descending:
        return max(values, default=None)
    return None if len(values) < len(tied) else min(values)


def test_equal_to_the_definition_after_every_commit() -> None:
    database = Database()
    database.execute("CREATE TABLE R (g INT, k INT, x INT)")
    listed = ", ".join(f"{call} AS c{i}" for i, (call, *_) in enumerate(CALLS))
    view = database.create_view(
        "v", f"SELECT g, {listed}, FIRST(x ORDER BY k) FILTER (WHERE x > 1) AS f FROM R GROUP BY g"
    )
    draw, rows = random.Random(3), list[Row]()
    for _ in range(30):
        gone = draw.sample(rows, min(len(rows), draw.randrange(4)))
        came = [(draw.randrange(2), draw.choice([None, 0, 1, 2]), draw.choice([None, 1, 2, 3])) for _ in range(3)]
        for row in gone:
            rows.remove(row)
        rows += came
        written = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
        database.apply("R", [{"g": g, "k": k, "x": x, "_change_type": kind} for (g, k, x), kind in written])
        expected = []
        for group in {row[0] for row in rows}:
            own = [row for row in rows if row[0] == group]
            found = [
                first(own, descending=descending, nulls_first=nulls, all_count=all_count)
                for _, descending, nulls, all_count in CALLS
            ]
            large = [row for row in own if row[2] is not None and row[2] > 1]
            expected.append((group, *found, first(large, descending=False, nulls_first=True, all_count=True)))
        assert multiset(view.to_arrow()) == multiset(expected)


def test_equal_to_duckdb_where_no_two_rows_are_equal_in_the_order() -> None:
    rows = [(1, None, 5), (1, 3, None), (1, 4, 7), (2, 1, 1), (2, 0, None), (3, None, None)]
    database, connection = Database(), connect()
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for one in (database, connection):
        one.execute("CREATE TABLE R (g INT, k INT, x INT)")
    calls = [call for call, *_ in CALLS if "IGNORE" not in call and not call.startswith("LAST_VALUE")]
    sql = f"SELECT g, {', '.join(f'{call} AS c{i}' for i, call in enumerate(calls))} FROM R GROUP BY g"
    view = database.create_view("v", sql)
    database.apply("R", rows)
    connection.executemany("INSERT INTO R VALUES (?, ?, ?)", rows)
    assert multiset(view.to_arrow()) == multiset(connection.sql(sql).fetchall())


@pytest.mark.parametrize(
    "call",
    [
        "FIRST(x ORDER BY k, g)",
        "SUM(x ORDER BY k)",
        "FIRST(x ORDER BY k) OVER (PARTITION BY g)",
        "FIRST(x, TRUE ORDER BY k)",
    ],
)
def test_refused(call: str) -> None:
    database = Database()
    database.execute("CREATE TABLE R (g INT, k INT, x INT)")
    with pytest.raises(UnsupportedQueryError):
        database.create_view("v", f"SELECT {call} FROM R")
