"""ORDER BY without LIMIT: the rows are sorted as they are read, and a change costs nothing for it."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from livejoin import Database
from livejoin.errors import ReadError
from oracle import connect

COLUMNS = "i INT, d DOUBLE, s STRING, b BOOLEAN, m DECIMAL(30, 2)"
VALUES: list[list[Any]] = [
    [None, -1, 0, 7],
    [None, float("nan"), float("-inf"), -0.5, 0.0, float("inf")],
    [None, "", "a", "ab", "Z", "\u00e9", "\U0001f600", "\uffff"],
    [None, True, False],
    [None, Decimal("-3.00"), Decimal("1.50"), Decimal("1234567890123456789012345678.25")],
]
ORDERS = ["d DESC, i", "s, m DESC NULLS FIRST", "b DESC, 5, s DESC, 1", "m, d NULLS LAST, i DESC, s, b"]


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_sorted_as_duckdb_sorts_them(order: str) -> None:
    generator = random.Random(order)
    rows = [tuple(generator.choice(values) for values in VALUES) for _ in range(300)]
    database = Database()
    database.create_table("T", COLUMNS)
    view = database.create_view("v", f"SELECT * FROM T ORDER BY {order}")
    database.apply({"T": rows})
    keys = [key.strip() for key in order.split(",")]
    written = [key if "NULLS" in key else key + (" NULLS LAST" if "DESC" in key else " NULLS FIRST") for key in keys]
    connection = connect()
    connection.execute(f"CREATE TABLE T ({COLUMNS})")
    connection.executemany("INSERT INTO T VALUES (?, ?, ?, ?, ?)", rows)
    columns = ", ".join(key.split()[0] for key in keys)
    by_definition = connection.sql(f"SELECT * FROM T ORDER BY {', '.join(written)}").fetchall()
    places = [int(name) - 1 if name.isdigit() else "idsbm".index(name) for name in columns.split(", ")]
    found = list(zip(*(column.to_pylist() for column in view.to_arrow().columns), strict=True))
    found, expected = ([tuple(row[place] for place in places) for row in rows] for rows in (found, by_definition))
    assert repr(found) == repr(expected)
    streamed = [row for batch in view.batches(17) for row in batch.to_pylist()]
    assert repr(streamed) == repr(view.to_arrow().to_pylist())


def test_nothing_is_kept_in_the_order() -> None:
    database = Database()
    database.create_table("T", COLUMNS)
    plain = database.create_view("plain", "SELECT i, s FROM T WHERE i > 0")
    view = database.create_view("v", "SELECT i, s FROM T WHERE i > 0 ORDER BY s DESC")
    commit = database.apply({"T": [(1, None, "a", None, None), (2, None, "b", None, None)]})
    assert [row["s"] for row in view.to_arrow().to_pylist()] == ["b", "a"]
    assert commit["v"].num_rows == commit["plain"].num_rows == 2
    assert view.stats()["state_bytes"] == plain.stats()["state_bytes"]
    assert any("sorted by s DESC when it is read" in line for line in view.explain().operators)
    assert view.count() == 2
    with pytest.raises(ReadError, match="ORDER BY without LIMIT"):
        view.at(0)
    assert database.create_view("w", "SELECT s FROM v WHERE i < 2").to_arrow().to_pylist() == [{"s": "a"}]
