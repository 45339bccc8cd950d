"""The deltas of a view as a stream for a further step."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark import read_deltas
from maintaining import maintain

GROUPS = "SELECT name, COUNT(*) AS n, MIN(k) AS k FROM T GROUP BY name"

pytestmark = pytest.mark.spark


@pytest.mark.torture
def test_views_over_the_deltas_of_a_view(spark: SparkSession, tmp_path: Path) -> None:
    """Two pipelines, one behind the other, over several starts, and a plain query of Spark beside."""
    with pytest.raises(StorageError, match="has no part of a view's deltas yet"):
        read_deltas(spark, tmp_path / "first" / "v")

    def step(name: str, sql: str, frame: DataFrame) -> None:
        place = {"path": tmp_path / name, "checkpoint": tmp_path / f"{name}-checkpoint"}
        query = maintain(spark, {"v": sql}, {"T": frame}, trigger={"availableNow": True}, **place)
        assert query.awaitTermination(60)

    seen: list[Any] = []
    for number, rows in enumerate(("1,a,insert\n1,a,insert\n2,,insert\n", "1,a,delete\n3,c,insert\n", "2,,delete\n")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.csv").write_text(rows)
        schema = "k INT, name STRING, _change_type STRING"
        step("first", "SELECT k, name FROM T", spark.readStream.schema(schema).csv((tmp_path / "in").as_uri()))
        deltas = read_deltas(spark, tmp_path / "first" / "v")
        step("second", GROUPS, deltas.drop("_commit_timestamp", "_commit_version"))
        plain = read_deltas(spark, tmp_path / "first" / "v").writeStream.foreachBatch(
            lambda frame, _: seen.extend((row["k"], row["_change_type"]) for row in frame.collect())
        )
        query = plain.option("checkpointLocation", str(tmp_path / "plain")).trigger(availableNow=True).start()
        assert query.awaitTermination(60)
    assert sum_of(tmp_path / "second" / "v") == Counter([("a", 1, 1), ("c", 1, 3)])
    assert Counter(seen) == Counter([(1, "insert")] * 2 + [(2, "insert"), (1, "delete"), (3, "insert"), (2, "delete")])
    for since in (-3, True, "1"):
        with pytest.raises(SchemaError, match=f"since= is {since!r}; it takes the number of a batch, 0 or more"):
            read_deltas(spark, tmp_path / "first" / "v", since=cast(Any, since))
    with pytest.raises(StateError, match=r"since=4 is a batch that there is not yet: the newest one in .* is 2"):
        read_deltas(spark, tmp_path / "first" / "v", since=4)
    read_deltas(spark, tmp_path / "first" / "v", since=3)
    for file in sorted((tmp_path / "first" / "v").iterdir())[1:]:
        file.unlink()
    with pytest.raises(StreamingQueryException, match="the output is of another run"):
        step("second", GROUPS, deltas.drop("_commit_timestamp", "_commit_version"))
