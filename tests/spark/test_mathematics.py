"""Functions of doubles mean what they mean in Spark, but for the last digit."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import SparkSession

import livejoin

NUMBERS = [0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 1e-8, 30.0, -1000.0, 1e300, math.inf, -math.inf, math.nan, None]
OF_ONE = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "cbrt", "rint", "degrees", "radians"]


@pytest.mark.spark
def test_functions_of_doubles_mean_what_they_mean_in_spark(spark: SparkSession) -> None:
    calls = [*(f"{name}(x)" for name in OF_ONE), "atan2(x, y)", "atan2(y, x)", "pi() * x", "e() + y"]
    shown = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    rows = [(i, x, y) for i, (x, y) in enumerate((x, y) for x in NUMBERS for y in (1.5, -0.25))]
    db = livejoin.Database()
    db.create_table("t", "i INT, x DOUBLE, y DOUBLE")
    view = db.create_view("v", f"SELECT i, {shown} FROM t")
    db.apply("t", rows)
    spark.createDataFrame(rows, "i INT, x DOUBLE, y DOUBLE").createOrReplaceTempView("doubles")
    theirs = {row[0]: tuple(row)[1:] for row in spark.sql(f"SELECT i, {shown} FROM doubles").collect()}
    ours = {row.pop("i"): tuple(row.values()) for row in view.to_arrow().to_pylist()}
    assert ours.keys() == theirs.keys()
    for i, expected in theirs.items():
        for call, one, other in zip(calls, ours[i], expected, strict=True):
            same = one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=4e-15))
            both_nan = one is not None and other is not None and math.isnan(one) and math.isnan(other)
            assert same or both_nan, (call, rows[i], one, other)
