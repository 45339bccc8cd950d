"""Columns of every type go from a Spark stream through views into Spark's frames, and come out as they went in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from livejoin.errors import SchemaError
from maintaining import maintain

pytestmark = pytest.mark.spark

COLUMNS = {
    "f": ("FLOAT", ["CAST(0.1 AS FLOAT)", "CAST('NaN' AS FLOAT)", "NULL"]),
    "b": ("BINARY", ["X'FF00'", "X''", "NULL"]),
    "i": ("INTERVAL DAY TO SECOND", ["INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL -1 SECOND", "NULL"]),
    "a": ("ARRAY<INT>", ["array(1, NULL)", "array()", "NULL"]),
    "s": (
        "STRUCT<x: STRING, `y z`: ARRAY<TIMESTAMP>>",
        ["struct('x', array(TIMESTAMP'2020-01-01'))", "struct(NULL, NULL)", "NULL"],
    ),
    "m": ("MAP<STRING, DOUBLE>", ["map('b', 1, 'a', double('NaN'))", "map()", "NULL"]),
    "v": ("VARIANT", ["parse_json('{\"k\": [1, 2.5]}')", "parse_json('null')", "NULL"]),
}
SCHEMA = "k INT, " + ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())


def rows(spark: SparkSession, *numbers: int) -> DataFrame:
    """Rows of which each has the first, second, ... value of every column."""
    of = [
        ", ".join([f"{n} AS k", *(f"CAST({texts[n]} AS {kind}) AS {c}" for c, (kind, texts) in COLUMNS.items())])
        for n in numbers
    ]
    return spark.sql(" UNION ALL ".join(f"SELECT {row}" for row in of))


def texts(frame: DataFrame) -> list[str]:
    """Rows as JSON, by which those are told apart that Python cannot compare; maps have no order."""
    maps = [field.name for field in frame.schema.fields if field.dataType.typeName() == "map"]
    columns = [F.array_sort(F.map_entries(name)).alias(name) if name in maps else F.col(name) for name in frame.columns]
    return [row[0] for row in frame.select(F.to_json(F.struct(*columns))).collect()]


def test_all_types_come_out_as_they_went_in(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    views = {
        "all": "SELECT * FROM T",
        "pairs": f"SELECT x.k, {', '.join(f'y.{name}' for name in COLUMNS)} FROM T x JOIN T y ON x.k = y.k",
        "counts": f"SELECT {', '.join(f'COUNT({name}) AS {name}' for name in COLUMNS)} FROM T",
    }
    found: dict[str, Counter[str]] = {name: Counter() for name in views}

    def sink(view: str, delta: DataFrame, batch: int) -> None:
        for sign, kinds in ((1, ("insert", "update_postimage")), (-1, ("delete", "update_preimage"))):
            part = delta.where(F.col("_change_type").isin(*kinds))
            for text in texts(part.drop("_change_type", "_commit_version", "_commit_timestamp")):
                found[view][text] += sign

    def run(changes: DataFrame, kind: str) -> None:
        changes.withColumn("_change_type", F.lit(kind)).coalesce(1).write.mode("append").parquet(
            (tmp_path / "in").as_uri()
        )
        stream = spark.readStream.schema(f"{SCHEMA}, _change_type STRING").parquet((tmp_path / "in").as_uri())
        checkpoint = tmp_path / "checkpoint"
        query = maintain(spark, views, {"T": stream}, sink=sink, checkpoint=checkpoint, trigger={"availableNow": True})
        assert query.awaitTermination(120)

    run(rows(spark, 0, 1, 2, 0), "insert")
    assert +found["all"] == Counter(texts(rows(spark, 0, 1, 2, 0)))
    assert +found["pairs"] == Counter(texts(rows(spark, *[0] * 4, 1, 2)))
    assert +found["counts"] == Counter(texts(spark.sql(f"SELECT {', '.join(f'3L AS {name}' for name in COLUMNS)}")))
    run(rows(spark, 1, 2, 0), "delete")
    assert +found["all"] == Counter(texts(rows(spark, 0)))
    assert +found["pairs"] == Counter(texts(rows(spark, 0)))


def test_months_come_from_spark_and_are_refused_on_the_way_back(spark: SparkSession, tmp_path: Path) -> None:
    """PySpark makes neither Arrow nor Python values of them: they come as numbers of months."""
    values = ["make_ym_interval(1, 2)", "INTERVAL -3 MONTH", "CAST(NULL AS INTERVAL YEAR TO MONTH)"]
    rows = [f"SELECT 1 AS k, CAST({one} AS INTERVAL YEAR TO MONTH) AS m" for one in values]
    frame = spark.sql(" UNION ALL ".join(rows))
    asked = "SELECT k, CAST(SUM(m) AS INT) AS s, CAST(AVG(m) AS INT) AS a, CAST(MAX(m) AS INT) AS x FROM T GROUP BY k"
    found: list[object] = []

    def run(view: str, folder: str) -> None:
        query = maintain(
            spark,
            {"v": view},
            {"T": frame, "S": frame},
            sink=lambda view, delta, batch: found.extend(delta.select("k", "s", "a", "x").collect()),
            checkpoint=tmp_path / folder,
            of={"S": {"static": True}},
        )
        assert query.awaitTermination(60)

    run(asked, "first")
    run(asked.replace("FROM T", "FROM S JOIN T USING (m, k)"), "second")
    frame.createOrReplaceTempView("T")
    expected = spark.sql(asked).collect()
    assert found == [*expected, (1, 11, 6, 14)]
    with pytest.raises(SchemaError, match=r"view 'v': column 'm' is INTERVAL YEAR TO MONTH.*CAST\(m AS INT\)"):
        run("SELECT k, m FROM T", "third")
