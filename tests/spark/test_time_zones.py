"""Types of times arrive as they were declared, whatever the session's time zone is; what depends on it is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from livejoin.catalog import Catalog
from livejoin.checkpoint.change import merged
from livejoin.checkpoint.job import job_of
from livejoin.errors import LivejoinError, PipelineError, StateError, UnsupportedQueryError
from livejoin.pipeline import check, load, run
from livejoin.query.bound_query import Query
from livejoin.schema import SqlType
from livejoin.spark.time_zone import SETTING, is_utc
from livejoin.sql import bind_query, parse_columns
from livejoin.sql.zone_dependence import zone_dependence
from maintaining import IN_CELLS, maintain

NOW = {"availableNow": True}
SCHEMA = (
    "k INT, at TIMESTAMP, clock TIMESTAMP_NTZ, ats ARRAY<TIMESTAMP>, clocks ARRAY<TIMESTAMP_NTZ>, "
    "both STRUCT<a: TIMESTAMP, c: TIMESTAMP_NTZ>, named MAP<INT, TIMESTAMP>"
)
VIEW = (
    "SELECT k, at, clock, ats, clocks, both, named, COALESCE(at, TIMESTAMP '2020-01-01 00:00:00Z') AS one, "
    "COALESCE(clock, TIMESTAMP_NTZ '2020-01-01 00:00:00') AS other FROM T"
)
LAST = (
    "SELECT k, MAX(at) AS at, MAX(clock) AS clock, collect_list(at) AS ats, collect_list(clock) AS clocks "
    "FROM T GROUP BY k"
)
VIEWS = {"v": VIEW, "last": LAST}
KINDS = {
    "at": "timestamp", "clock": "timestamp_ntz", "ats": "array<timestamp>", "clocks": "array<timestamp_ntz>",
    "both": "struct<a:timestamp,c:timestamp_ntz>", "named": "map<int,timestamp>", "one": "timestamp",
    "other": "timestamp_ntz",
}  # fmt: skip
INSTANT = dt.datetime(2026, 7, 1, 12, 0, tzinfo=dt.UTC)
CLOCK = dt.datetime(2026, 7, 1, 8, 0)


@pytest.fixture(
    params=["America/New_York", *(pytest.param(zone, marks=pytest.mark.torture) for zone in ("UTC", "+05:30"))]
)
def zoned(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    spark.conf.set(SETTING, request.param)
    yield spark
    spark.conf.set(SETTING, "UTC")


def rows(spark: SparkSession) -> DataFrame:
    instant, clock = "TIMESTAMP '2026-07-01 12:00:00Z'", "TIMESTAMP_NTZ '2026-07-01 08:00:00'"
    some = (
        f"1 AS k, {instant} AS at, {clock} AS clock, array({instant}) AS ats, array({clock}) AS clocks, "
        f"named_struct('a', {instant}, 'c', {clock}) AS both, map(1, {instant}) AS named"
    )
    return spark.sql(f"SELECT {some} UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL")


def check_types(frame: DataFrame, view: str = "v") -> None:
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    assert {name: kind for name, kind in found.items() if name in KINDS} == {
        name: KINDS[name] for name in found if name in KINDS
    }
    assert found["_commit_timestamp"] == "timestamp"
    assert {"at", "clock"} <= found.keys()
    instants = (
        frame.where("k = 1").selectExpr("unix_micros(at)", "CAST(clock AS STRING)", "unix_micros(ats[0])").collect()
    )
    micros = int(INSTANT.timestamp()) * 1_000_000
    assert [tuple(row) for row in instants] == [(micros, "2026-07-01 08:00:00", micros)]


@pytest.mark.spark
@pytest.mark.parametrize("more", [{}, IN_CELLS])
def test_times_arrive_as_they_were_declared(zoned: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    written_deltas = pytest.importorskip(
        "livejoin.spark.written_deltas", reason="takes PySpark 4.2", exc_type=ImportError
    )
    seen: dict[str, DataFrame] = {}

    def sink(view: str, delta: DataFrame, batch_id: int) -> None:
        check_types(delta, view)
        seen[view] = delta

    places = {"checkpoint": tmp_path / "a", "trigger": NOW, **more}
    assert maintain(zoned, VIEWS, {"T": rows(zoned)}, sink=sink, **places).awaitTermination(100)
    assert seen.keys() == VIEWS.keys()
    places = {"checkpoint": tmp_path / "b", "path": tmp_path / "out", "trigger": NOW, **more}
    assert maintain(zoned, VIEWS, {"T": rows(zoned)}, **places).awaitTermination(100)
    for view in VIEWS:
        check_types(zoned.read.parquet(str(tmp_path / "out" / view)), view)
        check_types_of_stream = written_deltas.read_deltas(zoned, tmp_path / "out" / view)
        assert dict(check_types_of_stream.dtypes)["at"] == "timestamp"
        assert dict(check_types_of_stream.dtypes)["clock"] == "timestamp_ntz"
        (file,) = (tmp_path / "out" / view).glob("*.parquet")
        schema = pq.read_schema(file)
        assert (schema.field("at").type, schema.field("clock").type) == (pa.timestamp("us", "UTC"), pa.timestamp("us"))


@pytest.mark.spark
def test_a_delta_sink_has_the_types(zoned: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    from deltalake import DeltaTable  # noqa: PLC0415

    from livejoin.spark.delta import DeltaSink  # noqa: PLC0415

    views = {"v": "SELECT k, MAX(at) AS at, MAX(clock) AS clock FROM T GROUP BY k", "h": "SELECT k, at, clock FROM T"}
    sink = DeltaSink(tmp_path / "out", history=["h"])
    places: dict[str, Any] = {"checkpoint": tmp_path / "a", "trigger": NOW}
    assert maintain(zoned, views, {"T": rows(zoned)}, sink=sink, **places).awaitTermination(100)
    for view in views:
        found = DeltaTable(str(tmp_path / "out" / view)).to_pyarrow_table()
        assert [str(found.schema.field(name).type) for name in ("at", "clock")] == [
            "timestamp[us, tz=UTC]",
            "timestamp[us]",
        ]
        (one,) = [row for row in found.to_pylist() if row["k"] == 1]
        assert (one["at"], one["clock"]) == (INSTANT, CLOCK)


TIMES = "ts TIMESTAMP, ts2 TIMESTAMP, n TIMESTAMP_NTZ, d DATE, s STRING, k INT"
EXPRESSIONS = """
ts|n|d|ts = ts2|ts < ts2|ts BETWEEN ts2 AND ts|coalesce(ts, ts2)|greatest(ts, ts2)|ts IS NULL|nullif(ts, ts2)
ts = n|ts < d|d = n|n < d|coalesce(ts, n)|coalesce(n, d)|coalesce(ts, d)|ts IN (ts2, n)|s = ts|s = n|d = s
CAST(ts AS DATE)|CAST(ts AS STRING)|CAST(ts AS TIMESTAMP_NTZ)|CAST(n AS TIMESTAMP)|CAST(d AS TIMESTAMP)
CAST(d AS TIMESTAMP_NTZ)|CAST(n AS DATE)|CAST(n AS STRING)|CAST(s AS TIMESTAMP)|CAST(s AS DATE)|CAST(ts AS BIGINT)
CAST(ts AS DOUBLE)|CAST(k AS TIMESTAMP)|TRY_CAST(s AS TIMESTAMP)|to_date(ts)|to_timestamp(s)|to_timestamp(n)|date(ts)
year(ts)|month(ts)|day(ts)|quarter(ts)|weekofyear(ts)|dayofweek(ts)|dayofyear(ts)|weekday(ts)
hour(ts)|minute(ts)|second(ts)
year(n)|hour(n)|second(n)|year(d)|hour(d)|extract(SECOND FROM ts)|extract(SECOND FROM n)|extract(DAY FROM ts)
date_trunc('DAY', ts)|date_trunc('HOUR', ts)|date_trunc('SECOND', ts)
date_trunc('DAY', n)|trunc(ts, 'MONTH')|trunc(d, 'YEAR')
date_format(ts, 'yyyy-MM-dd HH')|date_format(n, 'HH')|last_day(ts)|last_day(d)|next_day(ts, 'MO')|add_months(ts, 1)
ts + INTERVAL 1 DAY|ts + INTERVAL 1 MONTH|ts + INTERVAL 1 HOUR
ts + INTERVAL 25 HOURS|ts - INTERVAL 24 HOURS|ts - INTERVAL 2 MINUTES
n + INTERVAL 1 DAY|n - INTERVAL 1 MONTH|d + INTERVAL 1 DAY|d + INTERVAL 1 HOUR|d - INTERVAL 1 MONTH
ts - ts2|n - d|d - DATE '2026-01-01'|ts - d|n - TIMESTAMP_NTZ '2026-01-01 00:00:00'|datediff(ts, ts2)|datediff(d, n)
timestampdiff(HOUR, ts2, ts)|timestampdiff(DAY, n, d)|datediff(MONTH, ts2, ts)|dateadd(DAY, 1, ts)|dateadd(HOUR, 1, ts)
unix_seconds(ts)|unix_micros(ts)|unix_millis(ts)|unix_timestamp(ts)|unix_timestamp(n)|unix_timestamp(d)|timestamp_seconds(k)
ts > TIMESTAMP '2026-03-08 03:00:00'|ts > TIMESTAMP '2026-03-08 03:00:00Z'|n > TIMESTAMP_NTZ '2026-03-08 03:00:00'
ts > DATE '2026-03-08'|ts > '2026-03-08'|d > '2026-03-08'|n > '2026-03-08'|ts > TIMESTAMP '2026-03-08 03:00:00+01:00'
concat(s, ts)|concat(s, n)|concat(s, d)|if(k > 0, ts, d)|CASE WHEN k > 0 THEN ts ELSE n END
to_timestamp(s, 'yyyy')|to_date(s, 'yyyy')|to_char(ts, 'HH')|to_char(n, 'HH')|to_utc_timestamp(ts, 'Asia/Tokyo')
months_between(ts, ts2)|months_between(n, n)|months_between(d, DATE '2026-01-01')|months_between(d, ts)
from_unixtime(k)|from_unixtime(k, 'yyyy')|dayname(ts)|dayname(n)|dayname(d)|monthname(ts)|monthname(d)
convert_timezone('UTC', 'Asia/Tokyo', n)|convert_timezone('Asia/Tokyo', n)|convert_timezone('UTC', 'Asia/Tokyo', ts)
convert_timezone('America/New_York', 'Asia/Tokyo', d)
max(ts)|listagg(s, '') WITHIN GROUP (ORDER BY ts)
"""
ROWS = [
    ("2026-03-08 06:30:00Z", "2026-03-07 07:00:00Z", "2026-03-08 02:30:00", "2026-03-08", "2026-03-08 02:30:00", 1),
    ("2026-11-01 06:30:00Z", "2026-10-31 06:00:00Z", "2026-11-01 01:30:00", "2026-11-01", "2026-11-01 01:30:00", -1),
    ("2026-07-01 01:00:00Z", "2026-06-01 00:00:00Z", "2026-07-01 01:00:00", "2026-07-01", "2026-07-01", 1_793_000_000),
    ("2026-01-01 03:00:30Z", "2025-12-31 23:00:00Z", "2026-01-01 03:00:30", "2026-01-01", "2026-01-01 03:00:30", 0),
]


def bound(expression: str) -> tuple[Query, str]:
    catalog = Catalog()
    catalog.add(parse_columns("T", TIMES))
    sql = f"SELECT {expression} AS x FROM T"
    return bind_query(sql, catalog, {}), sql


@pytest.mark.spark
@pytest.mark.torture
def test_what_differs_in_another_zone_is_known_to(spark: SparkSession) -> None:
    """Spark itself says of each expression whether it is the same in three zones; what is not must be refused."""
    casts = ("TIMESTAMP", "TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "STRING", "INT")
    values = ", ".join(
        "(" + ", ".join(f"CAST('{v}' AS {kind})" for v, kind in zip(row, casts, strict=True)) + ")" for row in ROWS
    )
    expressions = [part for line in EXPRESSIONS.split("\n") for part in line.split("|") if part]
    names = ", ".join(column.split()[0] for column in TIMES.split(", "))
    missed, taken, careful = [], 0, []
    for expression in expressions:
        try:
            query, sql = bound(expression)
        except LivejoinError:
            continue
        found = []
        for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
            spark.conf.set(SETTING, zone)
            try:
                frame = spark.sql(f"WITH T({names}) AS (VALUES {values}) {sql}")
                kind = frame.dtypes[0][1]
                shown = "unix_micros(x)" if kind == "timestamp" else "CAST(x AS STRING)"
                found.append(sorted(str(row[0]) for row in frame.selectExpr(shown).collect()))
            except Exception as error:
                found.append([type(error).__name__])
            finally:
                spark.conf.set(SETTING, "UTC")
        differs = any(one != found[0] for one in found)
        refused = zone_dependence(query, sql) is not None
        taken += not refused
        if differs and not refused:
            missed.append((expression, found))
        if refused and not differs:
            careful.append(expression)
    assert missed == []
    assert taken > 40
    assert len(careful) < 20, careful  # refused, though the same over these rows


@pytest.mark.spark
@pytest.mark.parametrize("more", [{}, {"mode": "distributed", "cells": 2}], ids=["embedded", "cells"])
def test_a_view_that_depends_on_the_zone_is_refused(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    views = {
        "one": ("SELECT k, CAST(at AS DATE) AS d FROM T", r"view 'one': CAST\(at AS DATE\) depends on the time zone"),
        "two": ("SELECT a.k FROM T a JOIN T b ON a.at = b.clock", "view 'two': .*clock.* depends on"),
        "three": ("SELECT at AS x FROM T UNION ALL SELECT clock FROM T", "view 'three': CAST.* depends on"),
        "four": ("SELECT k FROM T WHERE at > TIMESTAMP '2026-01-01'", "view 'four': .*2026-01-01.* depends on"),
    }
    spark.conf.set(SETTING, "Europe/Berlin")
    try:
        for name, (sql, message) in views.items():
            places: dict[str, Any] = {"checkpoint": tmp_path / "a", "path": tmp_path / "out", "trigger": NOW, **more}
            with pytest.raises(UnsupportedQueryError, match=message) as caught:
                maintain(spark, {name: sql}, {"T": rows(spark)}, **places)
            assert "'Europe/Berlin'" in str(caught.value)
            assert "Set spark.sql.session.timeZone to 'UTC', or let Spark compute it before" in str(caught.value)
        assert not (tmp_path / "a").exists()
    finally:
        spark.conf.set(SETTING, "UTC")


PIPELINE = """
[tables.T]
schema = "k INT, at TIMESTAMP, clock TIMESTAMP_NTZ"
format = "{format}"
path = "in"

[views.v]
sql = "SELECT k, MAX(at) AS at, MAX(clock) AS clock FROM T GROUP BY k"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "state"
check = true
"""


@pytest.mark.spark
@pytest.mark.parametrize("format", ["csv", pytest.param("json", marks=pytest.mark.torture), "parquet"])
def test_the_check_of_a_pipeline_with_times(spark: SparkSession, tmp_path: Path, format: str) -> None:
    one = "1 AS k, TIMESTAMP '2026-07-01 12:00:00' AS at, TIMESTAMP_NTZ '2026-07-01 08:00:00' AS clock"
    spark.sql(f"SELECT {one} UNION ALL SELECT 2, NULL, NULL").write.format(format).save(str(tmp_path / "in"))
    (tmp_path / "p.toml").write_text(PIPELINE.format(format=format))
    pipeline = load(tmp_path / "p.toml")
    run(pipeline, lambda _: None, lambda: None)
    (found,) = check(pipeline)
    assert found.identical and found.maintained == 2, found.example
    with (tmp_path / "p.toml").open("a") as file:
        file.write('spark = { "spark.sql.session.timeZone" = "Europe/Berlin" }\n')
    with pytest.raises(PipelineError, match=r"run.check: reads the files in UTC, and .* is 'Europe/Berlin'"):
        load(tmp_path / "p.toml")


def test_a_pipeline_file_with_a_zone_is_refused_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("{}")
    file, zone = tmp_path / "p.toml", 'spark = { "spark.sql.session.timeZone" = "Europe/Berlin" }\n'
    text = PIPELINE.format(format="json").replace("check = true", zone)
    file.write_text(text)
    load(file)  # MAX of a time means the same in any zone
    file.write_text(text.replace("MAX(at) AS at", "MAX(CAST(at AS DATE)) AS at"))
    with pytest.raises(PipelineError, match=r"run.spark: view 'v': CAST\(at AS DATE\) depends on .*'Europe/Berlin'"):
        load(file)
    file.write_text(text.replace("MAX(at) AS at", "MAX(CAST(at AS DATE)) AS at").replace("Europe/Berlin", "Etc/UTC"))
    load(file)


def test_a_checkpoint_that_knew_one_type_of_times(tmp_path: Path) -> None:
    """Versions up to 2026-11-24 declared TIMESTAMP_NTZ as TIMESTAMP; the words of the rows are the same."""
    before = job_of({"T": parse_columns("T", "k INT, clock TIMESTAMP")}, {"v": "SELECT k, clock FROM T"}, {"T"})
    now = job_of({"T": parse_columns("T", "k INT, clock TIMESTAMP_NTZ")}, {"v": "SELECT k, clock FROM T"}, {"T"})
    assert merged(before, now, {"T": 1}, tmp_path).tables["T"].columns[1].type == SqlType.local_time()
    with pytest.raises(StateError, match="column 'clock' was TIMESTAMP_NTZ and is now TIMESTAMP"):
        merged(now, before, {"T": 1}, tmp_path)


def test_names_of_utc() -> None:
    for zone in ("UTC", "Etc/UTC", "Z", "GMT", "+00:00", "UTC+0", "Etc/GMT", "Zulu"):
        assert is_utc(zone), zone
    for zone in ("Europe/London", "+01:00", "GMT+1", "Africa/Abidjan", "America/New_York"):
        assert not is_utc(zone), zone
