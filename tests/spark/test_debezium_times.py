"""Dates and times of Debezium on Spark: integers count days, or what is declared, and never seconds."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltas import sum_of
from pyspark.sql import SparkSession
from test_bad_lines import files, run

from livejoin.errors import SchemaError
from livejoin.pipeline.check import table_now
from livejoin.spark.debezium.rows import check_declared
from livejoin.spark.debezium.times import INTEGER_TIMES
from livejoin.spark.sources import FileSource
from livejoin.sql import parse_columns

pytestmark = pytest.mark.spark
COLUMNS = "id BIGINT, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ"
AT = dt.datetime(2024, 2, 29, 12, 30, 15, 250_000)
MILLISECONDS = round((AT - dt.datetime(1970, 1, 1)).total_seconds() * 1000)
FACTORS = {"milliseconds": 1, "microseconds": 1000, "nanoseconds": 1_000_000}


def envelopes(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps({"op": "c", "before": None, "after": row}) for row in rows)


@pytest.mark.parametrize("unit", ["microseconds", None])
def test_what_an_integer_counts_is_declared_or_it_is_no_row(spark: SparkSession, tmp_path: Path, unit: Any) -> None:
    factor = FACTORS[unit or "milliseconds"]
    count = MILLISECONDS * factor
    rows: list[dict[str, Any]] = [
        {"id": 1, "d": 19782, "t": count, "n": count},
        {"id": 2, "d": "2024-02-29", "t": "2024-02-29T12:30:15.25Z", "n": "2024-02-29 12:30:15.25"},
        {"id": 3, "d": None, "t": None, "n": None},
        {"id": 4, "d": -1, "t": -1000 * factor, "n": None},
    ]
    bad = [
        {"id": 5, "d": "x"},
        {"id": 6, "t": "noon"},
        {"id": 7, "d": 99**9},
        {"id": 8, "t": 10**30},
        {"id": 9, "n": 1.5},
    ]
    given: dict[str, Any] = {"feed": "debezium", "integer_times": unit}
    frame = files(spark, tmp_path / "in", envelopes([*rows, *bad]), COLUMNS, **given)
    told, _ = run(tmp_path, spark, {"v": "SELECT id, d, t, n FROM T"}, frame, on_bad_rows="dead_letter")
    day = dt.date(2024, 2, 29)
    expected = {(2, day, AT, AT), (3, None, None, None)}
    if unit is not None:
        expected |= {(1, day, AT, AT), (4, dt.date(1969, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 59), None)}
    found = Counter({(row[0], row[1], _utc(row[2]), row[3]): n for row, n in sum_of(tmp_path / "out" / "v").items()})
    assert found == Counter(expected)
    refused = {json.loads(row["_corrupt_record"])["after"]["id"]: reason for row, reason in told}
    assert sorted(refused) == ([5, 6, 7, 8, 9] if unit else [1, 4, 5, 6, 7, 8, 9])
    assert refused[5].startswith("column 'd' is x, which is no DATE")
    if unit is None:
        assert f"column 't' is {count}, an integer, and the message does not say what it counts; give" in refused[1]


def _utc(value: Any) -> Any:
    return value.astimezone(dt.UTC).replace(tzinfo=None) if value is not None and value.tzinfo else value


def test_nanoseconds_are_whole_microseconds_or_no_row(spark: SparkSession, tmp_path: Path) -> None:
    given: dict[str, Any] = {"feed": "debezium", "integer_times": "nanoseconds"}
    rows = [{"id": 1, "t": 1500}, {"id": 2, "t": MILLISECONDS * 1_000_000}]
    frame = files(spark, tmp_path / "in", envelopes(rows), COLUMNS, **given)
    told, _ = run(tmp_path, spark, {"v": "SELECT id, t FROM T"}, frame, on_bad_rows="dead_letter")
    assert [(row[0], _utc(row[1])) for row in sum_of(tmp_path / "out" / "v")] == [(2, AT)]
    assert [reason[:40] for _, reason in told] == ["column 't' is 1500, which is no TIMESTAM"]


def test_milliseconds_beside_texts_in_a_form_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    options = {"mode": "FAILFAST", "dateFormat": "dd.MM.yyyy", "timestampFormat": "dd.MM.yyyy HH:mm"}
    rows = [{"id": 1, "d": "29.02.2024", "t": "29.02.2024 12:30"}, {"id": 2, "t": MILLISECONDS}]
    given: dict[str, Any] = {"feed": "debezium", "integer_times": "milliseconds", "options": options}
    run(
        tmp_path,
        spark,
        {"v": "SELECT id, d, t FROM T"},
        files(spark, tmp_path / "in", envelopes(rows), COLUMNS, **given),
    )
    found = sorted((row[0], row[1], _utc(row[2])) for row in sum_of(tmp_path / "out" / "v"))
    assert found == [(1, dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)), (2, None, AT)]


def test_another_unit_is_refused() -> None:
    with pytest.raises(SchemaError, match="topic 'x': integer_times is 'seconds'; allowed are 'milliseconds', "):
        check_declared("integer_times", "seconds", INTEGER_TIMES, "topic 'x'")


@pytest.mark.parametrize("unit", list(FACTORS))
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"])
def test_livejoin_check_reads_them_too(tmp_path: Path, unit: Any, key: str) -> None:
    rows = [
        {"id": 1, "d": 19782, "t": MILLISECONDS * FACTORS[unit], "n": None},
        {"id": 2, "d": "2024-02-29", "t": str(AT)},
    ]
    (tmp_path / "1.json").write_text(envelopes(rows))
    table = parse_columns("T", COLUMNS + key)
    named = tuple((column.name, str(column.type)) for column in table.columns)
    source = FileSource(table, named, "json", tmp_path, {}, feed="debezium", integer_times=unit)
    day = dt.date(2024, 2, 29)
    assert sorted(duckdb.sql(table_now(source)).fetchall()) == [(1, day, AT, None), (2, day, AT, None)]
