"""A memory limit on Spark: a batch that would pass it ends the query, and a larger limit goes on from there.

Deltas that take too much memory go by way of a file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from livejoin.errors import MemoryLimitError, SchemaError, StorageError
from maintaining import maintain

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


def test_deltas_that_take_too_much_memory_reach_every_sink(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    frame = spark.readStream.schema(EDGES).option("maxFilesPerTrigger", 1).csv((tmp_path / "in").as_uri())
    given: Counter[tuple[Any, ...]] = Counter()

    def sink(view: str, delta: DataFrame, batch_id: int) -> None:
        if view == "hop2":
            given.update((row.a, row.b, row.c) for row in delta.collect())

    def run(name: str, **arguments: Any) -> None:
        query = maintain(
            spark,
            {"hop2": HOP2, "few": "SELECT COUNT(*) AS n FROM G"},
            {"G": frame},
            trigger={"availableNow": True},
            checkpoint=tmp_path / f"checkpoint {name}",
            spill=tmp_path / "spill",
            spill_over="1KB",
            **arguments,
        )
        assert query.awaitTermination(60)

    for number, (begin, end) in enumerate([(0, 1000), (1000, 1800)]):
        (tmp_path / "in" / f"{number}.csv").write_text(path(begin, end))
        run("parquet", path=out)
        run("function", sink=sink)
    expected = Counter((n, n + 1, n + 2) for n in range(1799))
    assert sum_of(out / "hop2") == given == expected
    written = pq.read_table(out / "hop2" / "part-00000001.parquet")
    assert written.column_names[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
    assert written["_commit_timestamp"].null_count == 0
    assert not list((tmp_path / "spill").iterdir())
    with pytest.raises(SchemaError, match="spill is 3; allowed is the path of a folder"):
        maintain(spark, {"hop2": HOP2}, {"G": frame}, path=out, checkpoint=tmp_path / "other", spill=3)  # type: ignore[arg-type]
    with pytest.raises(StorageError):
        (tmp_path / "file").write_text("")
        maintain(spark, {"hop2": HOP2}, {"G": frame}, path=out, checkpoint=tmp_path / "third", spill=tmp_path / "file")
