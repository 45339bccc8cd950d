"""The deltas of a view as a stream for a further step."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, cast

import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark import compact, read_deltas
from maintaining import maintain

GROUPS = "SELECT name, COUNT(*) AS n, MIN(k) AS k FROM T GROUP BY name"

pytestmark = pytest.mark.spark


def test_what_reads_a_source_in_a_worker_imports_no_engine() -> None:
    """Each of Spark's workers pays for it: 2.5 seconds of processor time with the engine, 0.4 without."""
    modules = ("written_deltas", "kafka.source", "postgres.source", "delta.source")
    program = (
        f"import sys, {', '.join(f'livejoin.spark.{module}' for module in modules)}\n"
        "print(*({'numba', 'duckdb', 'sqlglot', 'pandas'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not found.stdout.strip()


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
    with pytest.raises(SchemaError, match=r"view= is 7; it takes the name of a view"):
        read_deltas(spark, tmp_path / "first" / "v", cast(Any, 7))
    for file in sorted((tmp_path / "first" / "v").iterdir())[1:]:
        file.unlink()
    with pytest.raises(StreamingQueryException, match="the output is of another run"):
        step("second", GROUPS, deltas.drop("_commit_timestamp", "_commit_version"))


@pytest.mark.torture
def test_sums_behind_a_compaction_beside_a_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    """A pipeline writes, its files are made few all the time, and another pipeline adds up what it reads meanwhile."""
    dice = Random(5)
    (tmp_path / "in").mkdir()
    held: list[tuple[int, int]] = []

    def feed(number: int) -> None:
        lines = []
        for _ in range(20):
            if held and dice.random() < 0.4:
                lines.append((*held.pop(dice.randrange(len(held))), "delete"))
            else:
                held.append((dice.randrange(5), dice.randrange(100)))
                lines.append((*held[-1], "insert"))
        file = tmp_path / "in" / f".{number}"
        file.write_text("".join(f"{k},{n},{kind}\n" for k, n, kind in lines))
        os.utime(file, (10**9 + number, 10**9 + number))
        file.rename(tmp_path / "in" / f"{number:03}.csv")

    feed(0)
    source = spark.readStream.schema("k INT, n INT, _change_type STRING").option("maxFilesPerTrigger", 1)
    view, every = tmp_path / "first" / "v", {"processingTime": "50 milliseconds"}
    rows = maintain(
        spark,
        {"v": "SELECT k, n FROM T"},
        {"T": source.csv((tmp_path / "in").as_uri())},
        path=tmp_path / "first",
        checkpoint=tmp_path / "first-checkpoint",
        trigger=every,
    )
    rows.processAllAvailable()
    behind = {"path": tmp_path / "second", "checkpoint": tmp_path / "second-checkpoint", "trigger": every}
    sums = {"v": "SELECT k, COUNT(*) AS n, SUM(n) AS s FROM T GROUP BY k"}

    def follow() -> Any:
        return maintain(
            spark, sums, {"T": read_deltas(spark, view).drop("_commit_timestamp", "_commit_version")}, **behind
        )

    done, made = Event(), list[int]()

    def make_few() -> None:
        while not done.is_set():
            made.append(compact(view, grace=0).batches)

    below = follow()
    with ThreadPoolExecutor(1) as other:
        few = other.submit(make_few)
        try:
            for number in range(1, 80):
                feed(number)
                if number % 20 == 0:
                    below.processAllAvailable()
                    below.stop()
                    below = follow()
            rows.processAllAvailable()
        finally:
            rows.stop()
            done.set()
        few.result()
    below.processAllAvailable()
    below.stop()
    assert sum(made) > 40
    count, total = Counter(k for k, _ in held), Counter[int]()
    for k, n in held:
        total[k] += n
    assert sum_of(tmp_path / "second" / "v") == Counter((k, count[k], total[k]) for k in count)
    assert sum_of(view) == Counter(held)
