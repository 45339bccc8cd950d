"""Functions of lists, which DuckDB evaluates, mean what they mean in Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import livejoin

VALUES = [(1, 3, "b"), (1, 1, "a"), (1, 2, "a"), (2, 5, ""), (3, None, None)]
CALLS = [
    "size({})",
    "array_max({})",
    "array_min({})",
    "array_join({}, '-')",
    "array_contains({}, {})",
    "size(filter({}, x -> x > {}))",
    "coalesce(array_max({}), {}) = {}",
    "{} = array({}, {})",
]


@pytest.mark.spark
def test_lists_mean_what_they_mean_in_spark(spark: SparkSession) -> None:
    """Of the values of a group in ascending order, as livejoin has them."""
    db = livejoin.Database()
    db.create_table("t", "g INT, n INT, s STRING")
    spark.createDataFrame(VALUES, "g INT, n INT, s STRING").createOrReplaceTempView("lists_of_t")
    texts = [
        call.replace("{}", f"array_agg({column})", 1).replace("{}", literal)
        for call in CALLS
        for column, literal in (("n", "2"), ("s", "'a'"))
    ]
    shown = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
    view = db.create_view("v", f"SELECT g, {shown} FROM t GROUP BY g")
    db.apply("t", VALUES)
    for column in ("n", "s"):
        shown = shown.replace(f"array_agg({column})", f"sort_array(array_agg({column}))")
    expected = spark.sql(f"SELECT g, {shown} FROM lists_of_t GROUP BY g")
    assert view.schema.types[1:] == [field.type for field in expected.toArrow().schema][1:]
    rows = [tuple(row) for row in expected.collect()]
    assert sorted(tuple(row.values()) for row in view.to_arrow().to_pylist()) == sorted(rows)
