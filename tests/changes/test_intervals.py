"""INTERVAL DAY TO SECOND: differences of times, as results and as columns, against DuckDB after every commit."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError, ExpressionError, SqlTypeError, UnsupportedQueryError
from oracle import connect

VIEWS = {
    "differences": "SELECT k, a - b AS x, d - DATE '2020-01-01' AS y FROM T",
    "sums": "SELECT k, a + i AS x, b - i AS y, i + (a - b) AS z, -i AS n, i * k AS m FROM T",
    "joined": "SELECT x.k, y.b FROM T x JOIN T y ON x.i = y.i",
    "by_difference": "SELECT x.k, y.k AS l FROM T x JOIN T y ON x.a - x.b = y.i",
    "grouped": "SELECT a - b AS x, COUNT(*) AS c, MIN(i) AS l, MAX(i), COUNT(DISTINCT i) AS d FROM T GROUP BY a - b",
    "pairs": "SELECT k, COUNT(DISTINCT i, a - b) AS n FROM T GROUP BY k",
    "kept": "SELECT k, i FROM T WHERE a - b > INTERVAL '1' HOUR OR i < INTERVAL '0' SECOND",
    "whole": "SELECT DISTINCT i, i IS NULL AS z FROM T",
    "united": "SELECT i FROM T UNION SELECT a - b FROM T",
}
OF_DUCKDB = {
    "pairs": "SELECT k, COUNT(DISTINCT (i, a - b)) FILTER (WHERE i IS NOT NULL AND a - b IS NOT NULL) FROM T GROUP BY k"
}
TIMES = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 2), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None]
SPANS = [dt.timedelta(0), dt.timedelta(hours=2), dt.timedelta(days=-1, microseconds=1), dt.timedelta(days=400), None]
DATES = [dt.date(2020, 1, 1), dt.date(1969, 2, 3), None]


@pytest.mark.parametrize("seed", range(4))
def test_views_over_intervals(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    db, oracle = livejoin.Database(), connect()
    db.create_table("T", "k INT, a TIMESTAMP, b TIMESTAMP, d DATE, i INTERVAL DAY TO SECOND")
    oracle.execute("CREATE TABLE T (k INT, a TIMESTAMP, b TIMESTAMP, d TIMESTAMP, i INTERVAL)")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    rows: list[tuple[Any, ...]] = []
    for step in range(8):
        new = [
            (
                chosen.randrange(4),
                chosen.choice(TIMES),
                chosen.choice(TIMES),
                chosen.choice(DATES),
                chosen.choice(SPANS),
            )
            for _ in range(chosen.randrange(5))
        ]
        rows += new
        chosen.shuffle(rows)
        gone = [rows.pop() for _ in range(min(len(rows), chosen.randrange(4)))]
        changes = [(row, "insert") for row in new] + [(row, "delete") for row in gone]
        names = ["k", "a", "b", "d", "i"]
        db.apply("T", [dict(zip(names, row, strict=True)) | {"_change_type": kind} for row, kind in changes])
        oracle.execute("DELETE FROM T")
        for row in rows:
            oracle.execute("INSERT INTO T VALUES (?, ?, ?, ?, ?)", row)
        for name, sql in VIEWS.items():
            found = Counter(tuple(row.values()) for row in db.views[name].to_arrow().to_pylist())
            assert found == Counter(oracle.execute(OF_DUCKDB.get(name, sql)).fetchall()), name
        if step == 4:
            db.save(tmp_path / "saved")
            db = livejoin.Database.load(tmp_path / "saved")


def test_durations_of_any_unit_come_in() -> None:
    db = livejoin.Database()
    db.create_table("T", "i INTERVAL DAY TO SECOND")
    view = db.create_view("v", "SELECT i FROM T ORDER BY i LIMIT 9")
    for unit, count in (("s", 1), ("ms", 1500), ("us", 2_000_001), ("ns", 3_000_000_000)):
        db.apply("T", pa.table({"i": pa.array([count], pa.duration(unit))}))
    assert view.schema.field("i").type == pa.duration("us")
    found = [span.total_seconds() for span in view.to_arrow()["i"].to_pylist()]
    assert found == [1.0, 1.5, 2.000001, 3.0]
    for wrong in (pa.array([1], pa.duration("ns")), pa.array([1]), pa.array(["1"])):
        with pytest.raises(ChangeValueError, match="INTERVAL DAY TO SECOND"):
            db.apply("T", pa.table({"i": wrong}))
    with pytest.raises(ChangeValueError, match="INTERVAL DAY TO SECOND"):
        db.apply("T", [(5,)])


def test_what_does_not_fit_is_an_error_of_its_row() -> None:
    db = livejoin.Database()
    db.create_table("T", "a TIMESTAMP, i INTERVAL DAY TO SECOND")
    db.create_view("v", "SELECT i * 1000000 AS x FROM T")
    with pytest.raises(ExpressionError, match="the result does not fit INTERVAL DAY TO SECOND"):
        db.apply("T", [(dt.datetime(2020, 1, 1), dt.timedelta(days=999_999))])
    db.drop_view("v")
    db.create_view("v", "SELECT a + i * 1000 AS x FROM T")
    with pytest.raises(ExpressionError, match="beyond the range of TIMESTAMP"):
        db.apply("T", [(dt.datetime(9999, 1, 1), dt.timedelta(days=106_000))])


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "STDDEV(i)",
            "MEDIAN(i)",
            "CAST(i AS STRING)",
            "CAST(i AS BIGINT)",
            "i + 1",
            "i / 2",
            "i * 1.5",
            "d + i",
            "i = 1",
        ),
        *("i || 'x'", "i = '1'", "i - a", "i + INTERVAL 1 MONTH", "i = INTERVAL 1 MONTH", "collect_list(i)"),
    ],
)
def test_what_is_not_there_is_refused(expression: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "a TIMESTAMP, d DATE, i INTERVAL DAY TO SECOND")
    with pytest.raises((SqlTypeError, UnsupportedQueryError)):
        db.create_view("v", f"SELECT {expression} AS x FROM T")


@pytest.mark.parametrize(
    "declared",
    ["INTERVAL DAY", "INTERVAL YEAR", "ARRAY<INTERVAL YEAR TO MONTH>", "INTERVAL HOUR TO SECOND", "INTERVAL"],
)
def test_other_intervals_are_no_columns(declared: str) -> None:
    with pytest.raises(livejoin.SqlError):
        livejoin.Database().create_table("T", f"i {declared}")
