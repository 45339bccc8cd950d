"""CHAR(n) and VARCHAR(n) of Spark's tables: what livejoin says of them is what a real Spark says; lengths hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import livejoin
from char_queries import ASKED, COLUMNS, ROWS
from livejoin.errors import ChangeValueError
from livejoin.pipeline.run import declared_of
from livejoin.spark.streams.frames import Declared, table_of
from livejoin.sql import parse_columns
from maintaining import maintain

pytestmark = pytest.mark.spark


def test_comparisons_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE t ({COLUMNS}) USING parquet LOCATION '{tmp_path.as_uri()}'")
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    try:
        spark.conf.set("spark.sql.ansi.enabled", "true")
        spark.createDataFrame(ROWS, "k INT, c STRING, d STRING, s STRING, v STRING").write.insertInto("t")
        frame = spark.table("t")
        assert str(table_of("t", frame)) == str(parse_columns("t", COLUMNS))
        db = livejoin.Database()
        db.create_table("t", COLUMNS)
        db.apply("t", ROWS)
        for number, query in enumerate(ASKED):
            found = db.create_view(f"v{number}", query).to_arrow().to_pylist()
            expected = [tuple(row) for row in spark.sql(query).collect()]
            assert Counter(tuple(row.values()) for row in found) == Counter(expected), query
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(ansi))
        spark.sql("DROP TABLE t")


def test_declared_lengths_hold_for_streams(spark: SparkSession, tmp_path: Path) -> None:
    table = parse_columns("T", "k INT NOT NULL, c CHAR(3), v VARCHAR(2)")
    frame = spark.createDataFrame([(1, "a", "x")], "k INT, c STRING, v STRING")
    assert table_of("T", frame, declared_of(table)).columns == table.columns
    stored = frame.select("k", frame.c.alias("c", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}))
    assert table_of("T", stored).columns[1] == table.columns[1]

    def run(rows: list[tuple[int, str]]) -> None:
        changes = spark.createDataFrame(rows, "k INT, c STRING")
        changes.coalesce(1).write.mode("append").parquet((tmp_path / "in").as_uri())
        stream = spark.readStream.schema("k INT, c STRING").parquet((tmp_path / "in").as_uri())
        stream = stream.select("k", stream.c.alias("c", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}))
        views = {"v": "SELECT k, c || '|' AS c FROM T WHERE c = 'a'"}
        query = maintain(
            spark,
            views,
            {"T": stream},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
        assert query.awaitTermination(60)

    run([(1, "a"), (2, "b  ")])
    assert spark.read.parquet((tmp_path / "out" / "v").as_uri()).select("k", "c").collect() == [(1, "a  |")]
    with pytest.raises(StreamingQueryException, match=r"column 'c' has 4 characters; CHAR\(3\) takes at most 3"):
        run([(3, "abcd")])


def test_null_is_refused_where_a_pipeline_declares_so(spark: SparkSession) -> None:
    table = parse_columns("T", "k INT NOT NULL, s STRING")
    frame = spark.createDataFrame([], "k INT, s STRING")
    db = livejoin.Database()
    found = table_of("T", frame, declared_of(table))
    db.create_table("T", ", ".join(map(str, found.columns)))
    with pytest.raises(ChangeValueError, match="NULL in column 'k'"):
        db.apply("T", [(None, "x")])
    assert table_of("T", frame, Declared()).columns[0].nullable
