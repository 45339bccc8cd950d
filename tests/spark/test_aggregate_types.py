"""Aggregates have Spark's types, values and overflow: the same query over the same rows, in a real Spark with ANSI."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import livejoin
from livejoin.errors import CapacityError

TYPES = {
    "t": "TINYINT",
    "s": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "d": "DECIMAL(10, 2)",
    "w": "DECIMAL(38, 4)",
    "h": "DECIMAL(28, 20)",
    "e": "FLOAT",
    "f": "DOUBLE",
    "day": "DATE",
    "at": "TIMESTAMP",
    "word": "STRING",
    "b": "BOOLEAN",
}
COLUMNS = ", ".join(f"{name} {type}" for name, type in TYPES.items())
NAMES = list(TYPES)
FIRST: tuple[Any, ...] = (3, 2, 1, 4, Decimal("1.25"), Decimal("7.0001"), Decimal("0.5"), 0.25, 1.5)
OTHER: tuple[Any, ...] = (-3, -2, 7, 10, Decimal("3.10"), Decimal("-1.5"), Decimal("1e-20"), 3.4e38, -2.25)
ROWS = [
    (*FIRST, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12), "a", True),
    (None,) * 13,
    (*OTHER, dt.date(1969, 1, 2), dt.datetime(1969, 1, 2), "ä", False),
    (*OTHER, dt.date(1969, 1, 2), dt.datetime(1969, 1, 2), "b", False),
]
CALLS = ["SUM({})", "SUM(DISTINCT {})", "AVG({})", "AVG(DISTINCT {})", "MIN({})", "MAX({})", "COUNT({})"]
OF_MOMENTS = ["VAR_POP({})", "VAR_SAMP({})", "STDDEV_POP({})", "STDDEV_SAMP({})"]
NUMBERS = NAMES[: NAMES.index("f") + 1]
OF_ALL = ["MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})"]

LARGEST = 2**63 - 1
WIDEST = Decimal("9" * 38)
THIRDS = [(Decimal("0.01"),), (Decimal("0.02"),), (Decimal("0.02"),)]


def spark_type(type: pa.DataType) -> str:
    """Spark's name of what carries values of its types."""
    names = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"}
    names |= {"date32[day]": "date", "timestamp[us]": "timestamp_ntz"}
    return names.get(str(type), str(type).replace("decimal128", "decimal").replace(" ", ""))


def both(spark: SparkSession, columns: str, rows: list[Any], calls: list[str]) -> list[tuple[str, Any, Any, str, str]]:
    """Each call with our value and Spark's, and the types of these."""
    shown = ", ".join(f"{call} AS c{number}" for number, call in enumerate(calls))
    db = livejoin.Database()
    db.create_table("T", columns)
    view = db.create_view("v", f"SELECT {shown} FROM T")
    db.apply("T", rows)
    frame = spark.createDataFrame(rows, columns.replace("TIMESTAMP", "TIMESTAMP_NTZ"))
    frame.createOrReplaceTempView("aggregated")
    theirs = spark.sql(f"SELECT {shown} FROM aggregated")
    (ours,) = view.to_arrow().to_pylist()
    (expected,) = theirs.collect()
    types = [field.dataType.simpleString() for field in theirs.schema]
    return [
        (call, ours[f"c{i}"], expected[i], spark_type(view.schema.types[i]), types[i]) for i, call in enumerate(calls)
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    "rows", [ROWS, pytest.param(ROWS[1:2], marks=pytest.mark.torture), []], ids=["some", "nulls", "none"]
)
def test_types_and_values(spark: SparkSession, rows: list[Any]) -> None:
    calls = [call.format(name) for name in NUMBERS for call in CALLS]
    calls += [call.format(name) for name in NAMES for call in OF_ALL]
    calls += ["COUNT(*)", "COUNT_IF(b)", "BOOL_AND(b)", "BOOL_OR(b)", "EVERY(b)", "SOME(b)", "SUM(i * l)", "SUM(d * d)"]
    for call, ours, theirs, type, expected in both(spark, COLUMNS, rows, list(dict.fromkeys(calls))):
        assert (call, type, ours) == (call, expected, theirs)


@pytest.mark.spark
def test_moments_differ_in_the_last_digit_at_most(spark: SparkSession) -> None:
    """Here they are exact until they become a DOUBLE, in Spark each step is one."""
    calls = [call.format(name) for name in NUMBERS if name != "h" for call in OF_MOMENTS]
    for call, ours, theirs, type, expected in both(spark, COLUMNS, ROWS, calls):
        assert (call, type) == (call, expected)
        assert math.isclose(ours, theirs, rel_tol=1e-14), call


@pytest.mark.spark
@pytest.mark.parametrize(
    ("type", "rows", "call"),
    [
        ("BIGINT", [(LARGEST,), (LARGEST,)], "AVG(x)"),
        ("BIGINT", [(2**53,), (1,)], "AVG(x)"),
        ("INT", [(2**31 - 1,), (2**31 - 1,)], "SUM(x)"),
        ("TINYINT", [(127,), (127,)], "SUM(x)"),
        ("DECIMAL(5, 2)", THIRDS, "AVG(x)"),
        ("DECIMAL(38, 2)", THIRDS, "AVG(x)"),
        ("DECIMAL(38, 10)", THIRDS, "AVG(x)"),
        ("DECIMAL(28, 2)", [(Decimal("9" * 26),), (Decimal("9" * 26),)], "SUM(x)"),
        ("DOUBLE", [(math.inf,), (1.0,)], "SUM(x)"),
        ("DOUBLE", [(-0.0,), (0.0,)], "COUNT(DISTINCT x)"),
    ],
)
def test_at_the_limits(spark: SparkSession, type: str, rows: list[Any], call: str) -> None:
    ((_, ours, theirs, found, expected),) = both(spark, f"x {type}", rows, [call])
    assert (found, ours) == (expected, theirs)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("type", "rows", "call"),
    [
        ("BIGINT", [(LARGEST,), (1,)], "SUM(x)"),
        ("BIGINT", [(-LARGEST,), (-2,)], "SUM(x)"),
        ("DECIMAL(38, 0)", [(WIDEST,), (Decimal(1),)], "SUM(x)"),
        ("DECIMAL(38, 0)", [(WIDEST,), (WIDEST,)], "AVG(x)"),
        ("DECIMAL(38, 37)", [(Decimal("1"),), (Decimal("2"),)], "AVG(x)"),
    ],
)
def test_overflow_is_an_error_in_both(spark: SparkSession, type: str, rows: list[Any], call: str) -> None:
    spark.createDataFrame(rows, f"x {type}").createOrReplaceTempView("aggregated")
    with pytest.raises(PySparkException, match=r"OVERFLOW|OUT_OF_RANGE"):
        spark.sql(f"SELECT {call} FROM aggregated").collect()
    db = livejoin.Database()
    db.create_table("T", f"x {type}")
    view = db.create_view("v", f"SELECT {call} AS y FROM T")
    with pytest.raises(CapacityError, match="view 'v'"):
        db.apply("T", rows)
    assert view.to_arrow().to_pylist() == [{"y": None}]


@pytest.mark.spark
def test_what_no_order_decides_is_no_overflow(spark: SparkSession) -> None:
    """Where only a part of a sum overflows Spark fails or not, by the order of the rows; here the sum counts."""
    rows = [(LARGEST,), (1,), (-1,)]
    db = livejoin.Database()
    db.create_table("T", "x BIGINT")
    view = db.create_view("v", "SELECT SUM(x) AS y FROM T")
    db.apply("T", rows)
    assert view.to_arrow().to_pylist() == [{"y": LARGEST}]
    spark.createDataFrame(rows[::-1], "x BIGINT").coalesce(1).createOrReplaceTempView("aggregated")
    assert spark.sql("SELECT SUM(x) AS y FROM aggregated").collect()[0].y == LARGEST
