"""TIMESTAMP and TIMESTAMP_NTZ beside one another: in UTC they compare and convert as DuckDB's one type does."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import duckdb
import pytest

import livejoin
from livejoin.errors import LivejoinError

COLUMNS = "k INT, ts TIMESTAMP, n TIMESTAMP_NTZ, d DATE"
VIEWS = {
    "across": "SELECT T.k, S.k AS l FROM T JOIN S ON T.ts = S.n",
    "less": "SELECT T.k, S.k AS l FROM T JOIN S ON T.n = S.n AND T.ts < S.ts",
    "optional": "SELECT T.k, S.n FROM T LEFT JOIN S ON T.n = S.ts",
    "both": "SELECT T.k, S.k AS l FROM T FULL JOIN S ON T.ts = S.n",
    "named": "SELECT T.k, n FROM T JOIN S USING (n)",
    "either": "SELECT ts AS x FROM T UNION SELECT n FROM S",
    "rest": "SELECT n AS x FROM T EXCEPT SELECT d FROM S",
    "groups": "SELECT n, COUNT(*) AS c, MAX(ts) AS m FROM T GROUP BY n",
    "among": "SELECT k FROM T WHERE ts IN (SELECT n FROM S)",
    "computed": (
        "SELECT k, n + INTERVAL 1 DAY AS a, ts - INTERVAL 1 MONTH AS b, n - ts AS c, hour(n) AS h, "
        "coalesce(ts, n) AS co, greatest(n, d) AS g FROM T"
    ),
}


def drawn(draw: random.Random) -> dt.datetime | None:
    return None if draw.random() < 0.2 else dt.datetime(2026, 1, draw.randint(1, 3), draw.choice([0, 0, 12]))


def test_they_agree_with_duckdb() -> None:
    database = livejoin.Database()
    with duckdb.connect() as connection:
        for table in "TS":
            database.create_table(table, COLUMNS)
            connection.execute(f"CREATE TABLE {table} (k INT, ts TIMESTAMP, n TIMESTAMP, d DATE)")
        for name, sql in VIEWS.items():
            database.create_view(name, sql)
        draw = random.Random(5)
        held: dict[str, list[dict[str, Any]]] = {"T": [], "S": []}
        for step in range(30):
            for table, rows in held.items():
                changes = []
                for _ in range(draw.randint(0, 4)):
                    if rows and draw.random() < 0.4:
                        changes.append({**rows.pop(draw.randrange(len(rows))), "_change_type": "delete"})
                        continue
                    day = drawn(draw)
                    row = {"k": draw.randint(0, 3), "ts": drawn(draw), "n": drawn(draw), "d": day and day.date()}
                    rows.append(row)
                    changes.append({**row, "_change_type": "insert"})
                if changes:
                    database.apply(table, changes)
                connection.execute(f"DELETE FROM {table}")
                if rows:
                    values = [tuple(row.values()) for row in rows]
                    connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", values)
            for name, sql in VIEWS.items():
                found = Counter(tuple(row.values()) for row in database.views[name].to_arrow().to_pylist())
                assert found == Counter(connection.execute(sql).fetchall()), (step, name)


@pytest.mark.parametrize("expression", ["CAST(n AS BIGINT)", "CAST(k AS TIMESTAMP_NTZ)", "unix_seconds(n)"])
def test_what_spark_refuses_of_times_without_a_zone(expression: str) -> None:
    database = livejoin.Database()
    database.create_table("T", COLUMNS)
    with pytest.raises(LivejoinError, match="TIMESTAMP_NTZ"):
        database.create_view("v", f"SELECT {expression} AS x FROM T")


def test_a_snapshot_keeps_the_types(tmp_path: Any) -> None:
    database = livejoin.Database()
    database.create_table("T", COLUMNS + ", a ARRAY<TIMESTAMP_NTZ>")
    database.save(tmp_path / "saved")
    found = livejoin.Database.load(tmp_path / "saved").tables["T"]
    assert [str(column.type) for column in found.columns][1:] == [
        *("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "ARRAY<TIMESTAMP_NTZ>"),
    ]
