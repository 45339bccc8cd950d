"""A real broker of Kafka that is killed while a batch is read from it, and while one is sent to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

import kafka_broker
from kafka_broker import Broker
from kafka_cluster import Cluster, all_of
from livejoin.errors import StorageError
from livejoin.spark.kafka import KafkaSink, read_kafka, sink, source
from livejoin.spark.kafka.source import KafkaReader
from maintaining import maintain


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    yield from kafka_broker.running_or_skipped()


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source, sink):
        monkeypatch.setattr(module, "_PATIENCE", 3.0)


def test_a_range_of_offsets_is_the_same_after_the_broker_died(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_PIECE", 100)
    broker.make("ranges", 2)
    cluster = Cluster(broker.servers)
    for partition in range(2):
        cluster.send("ranges", [(n, "x" * 1000) for n in range(3000)], partition)
    # So that not all of a range is with the client at once.
    reader = KafkaReader("ranges", {"bootstrap.servers": broker.servers, "fetch.message.max.bytes": "20000"})
    start = reader.initialOffset()
    end: Any = reader.latestOffset(start, None)  # type: ignore[arg-type]
    assert end == {"0": 3000, "1": 3000}
    cluster.send("ranges", [(3000, "behind the range")], 0)
    before = all_of(reader, start, end)
    assert [(partition, offset) for partition, offset, _, _ in before] == [
        (p, n) for p in range(2) for n in range(3000)
    ]

    reading = reader.read(reader.partitions(start, end)[0])
    first = next(reading)
    broker.stop()
    assert first["offset"].to_pylist() == list(range(100))
    with pytest.raises(StorageError, match=r"has sent nothing for 3 seconds, .* of partition 0 up to offset 3000"):
        list(reading)
    with pytest.raises(StorageError, match=r"topic 'ranges': .*; start it again when that is repaired"):
        reader.latestOffset(start, None)  # type: ignore[arg-type]
    broker.start()
    assert all_of(reader, start, end) == before


@pytest.mark.spark
def test_what_is_sent_is_that_of_a_run_without_faults(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    class Killing(KafkaSink):
        """Kills the broker when half of a batch has been handed to the client."""

        def _messages(self, *arguments: Any) -> Iterator[tuple[str, str | None]]:
            messages = list(super()._messages(*arguments))
            yield from messages[: len(messages) // 2]
            assert self._producer is not None
            self._producer.flush(1)
            broker.stop()
            yield from messages[len(messages) // 2 :]

    for topic in ("P", "O"):
        broker.make(topic, 2)
    cluster = Cluster(broker.servers)
    settings = {"message.timeout.ms": "2000"}

    def run(to: KafkaSink) -> None:
        tables = {
            "P": read_kafka(spark, broker.servers, "P", "id BIGINT, name STRING", "upsert", "id"),
            "O": read_kafka(spark, broker.servers, "O", "id BIGINT, p BIGINT", "append"),
        }
        views = {"named": "SELECT P.name, COUNT(*) AS n FROM O JOIN P ON O.p = P.id GROUP BY P.name"}
        more: Any = {"checkpoint": tmp_path / "checkpoint", "trigger": {"availableNow": True}, "sink": to}
        assert maintain(spark, views, tables, of={"P": {"key": "id"}}, **more).awaitTermination(60)

    orders: list[int] = []

    def order(people: range) -> None:
        orders.extend(people)
        cluster.send("O", [(None, {"id": n, "p": n}) for n in people])

    cluster.send("P", [({"id": n}, {"id": n, "name": f"p{n % 40}"}) for n in range(100)])
    order(range(60))
    run(KafkaSink(broker.servers, settings=settings))
    order(range(30, 90))
    cluster.send("P", [({"id": n}, None) for n in range(0, 100, 7)])
    with pytest.raises(Exception, match="batch 1 is there in part"):
        run(Killing(broker.servers, settings=settings))
    broker.start()
    order(range(20, 40))  # of the batch behind it
    run(KafkaSink(broker.servers))
    expected = Counter(f"p{n % 40}" for n in orders if n % 7)
    found = {row["name"]: row["n"] for row in cluster.last("named").values()}
    assert found == expected
