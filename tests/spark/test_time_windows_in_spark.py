"""Windows of time hold what they hold in Spark: before 1970, at the borders, with summer time, without a time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest
from pyspark.sql import SparkSession

import livejoin
from strategies import IS_FUZZ

TIMES = (
    *("2024-03-10 09:58:00", "2024-03-10 10:00:00", "2024-03-10 10:00:00", "2024-03-10 10:04:59.999999", None),
    *("1969-12-31 23:59:59.999999", "1969-12-31 23:50:00", "1970-01-01 00:00:00", "2024-03-31 01:30:00"),
    *("2024-03-10 10:30:00", "2024-10-27 02:15:00"),
)
VALUES = [
    ((None, 1, 2)[number % 3], None if time is None else datetime.fromisoformat(time), number)
    for number, time in enumerate(TIMES)
]
FIELDS = "{0}.start AS b, {0}.end AS e, COUNT(*) AS n, SUM(v) AS s"
QUERIES = [
    *(
        f"SELECT {FIELDS.format('window')} FROM t GROUP BY window({time}, {lengths})"
        for time in ("ts", "CAST(ts AS TIMESTAMP_NTZ)")
        for lengths in ("'10 minutes'", "'1 day'", "'1 week'", "'10 minutes', '4 minutes'", "600000000, 600000000, -1")
    ),
    f"SELECT {FIELDS.format('window')} FROM t GROUP BY window(CAST(ts AS DATE), '2 days', '1 day')",
    f"SELECT {FIELDS.format('window')} FROM t GROUP BY window(CAST(ts AS STRING), '2 days', '1 day', '5 hours')",
    f"SELECT k, {FIELDS.format('window')} FROM t GROUP BY window(ts, '10 minutes', '5 minutes', '-1 minute'), k",
    "SELECT k, window.start AS b, COUNT(*) AS n FROM t GROUP BY ROLLUP(k, window(ts, '1 day'))",
    "SELECT k, window(ts, '7 minutes', '2 minutes').end AS e, v FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE window(ts, '1 day').start > TIMESTAMP'2000-01-01 00:00:00'",
    "SELECT window.start AS b, MAX(v) AS m FROM t GROUP BY window(ts, '1 day') HAVING window.end > "
    "TIMESTAMP'2000-01-01 00:00:00'",
    *(
        f"SELECT k, {FIELDS.format('session_window')} FROM t GROUP BY k, session_window(ts, '{gap}')"
        for gap in ("2 minutes", "4 minutes 59.999999 seconds", "10 minutes", "30 days")
    ),
    *(
        f"SELECT {FIELDS.format('session_window')}, COUNT(DISTINCT k) AS d FROM t GROUP BY session_window(ts, '{gap}')"
        for gap in ("2 minutes", "4 minutes 59.999999 seconds", "4 minutes 59.999998 seconds")
    ),
]


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_windows_hold_what_they_hold_in_spark(spark: SparkSession, zone: str) -> None:
    """Spark's start and end are asked for as microseconds, as collected times are in the zone of the machine."""
    db = livejoin.Database()
    db.create_table("t", "k INT, ts TIMESTAMP, v BIGINT")
    db.apply("t", VALUES)
    written = [(k, None if ts is None else str(ts), v) for k, ts, v in VALUES]
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        rows = spark.createDataFrame(written, "k INT, ts STRING, v BIGINT").selectExpr(
            "k", "CAST(ts AS TIMESTAMP) AS ts", "v"
        )
        rows.cache().createOrReplaceTempView("t")
        rows.count()
        spark.conf.set("spark.sql.session.timeZone", zone)
        for number, sql in enumerate(QUERIES if zone == "UTC" or IS_FUZZ else QUERIES[::2]):
            if zone != "UTC" and ("CAST(" in sql or "30 days" in sql):
                continue  # livejoin's times, and its days of sessions, are in UTC
            view = db.create_view(f"v{number}", sql)
            micros = ", ".join(
                f"unix_micros(CAST({name} AS TIMESTAMP))" if name in ("b", "e") else name for name in view.schema.names
            )
            exact = sql.replace("00:00:00'", "00:00:00Z'")
            expected = Counter(tuple(row) for row in spark.sql(f"SELECT {micros} FROM ({exact})").collect())
            found = db.sql(f"SELECT {micros} FROM v{number}").to_pylist()
            assert Counter(tuple(row.values()) for row in found) == expected, sql
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
