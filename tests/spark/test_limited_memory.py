"""A memory limit on Spark: a batch that would pass it ends the query, and a larger limit goes on from there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from livejoin.errors import MemoryLimitError, SchemaError
from livejoin.spark import maintain

pytestmark = pytest.mark.spark

EDGES = "src BIGINT, dst BIGINT"
HOP2 = "SELECT G1.src AS a, G1.dst AS b, G2.dst AS c FROM G G1 JOIN G G2 ON G1.dst = G2.src"


def path(begin: int, end: int) -> str:
    return "".join(f"{number},{number + 1}\n" for number in range(begin, end))


def test_a_batch_over_the_limit_is_there_under_a_larger_one(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"

    def run(limit: Any) -> StreamingQuery:
        frame = spark.readStream.schema(EDGES).option("maxFilesPerTrigger", 1).csv((tmp_path / "in").as_uri())
        arguments: dict[str, Any] = {"path": out, "checkpoint": tmp_path / "checkpoint"}
        return maintain(
            spark, {"hop2": HOP2}, {"G": frame}, trigger={"availableNow": True}, **arguments, memory_limit=limit
        )

    (tmp_path / "in" / "1.csv").write_text(path(0, 100))
    assert run("2MB").awaitTermination(60)
    (tmp_path / "in" / "2.csv").write_text(path(100, 20_000))
    query = run("2 MB")
    with pytest.raises(StreamingQueryException, match=r"MemoryLimitError: .*memory_limit is 2 MB, and with"):
        query.awaitTermination(60)
    said = str(query.exception())
    assert "in micro-batch 1 of Spark; none of it was applied" in said
    assert "start the query again with a larger memory_limit, and it continues with this batch" in said
    assert len(list((out / "hop2").iterdir())) == 1
    with pytest.raises(MemoryLimitError, match="memory_limit is 10 KB"):
        run("10KB")
    with pytest.raises(SchemaError, match=r"memory_limit is '2 M'; allowed are numbers of bytes"):
        run("2 M")
    assert run(200 * 10**6).awaitTermination(60)
    assert sum_of(out / "hop2") == Counter((n, n + 1, n + 2) for n in range(19_999))
    assert len(list((out / "hop2").iterdir())) == 2
