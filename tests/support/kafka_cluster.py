"""Topics for tests: on the mock cluster of Kafka's own client, which other processes reach too, or on a broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer

from livejoin.spark.kafka.source import KafkaReader


class Cluster:
    """Brokers, and a producer of messages.

    Args:
        servers: Where they are; None for a mock cluster, which lives as long as the producer that it was made with.
    """

    def __init__(self, servers: str | None = None) -> None:
        of = {"test.mock.num.brokers": 1} if servers is None else {"bootstrap.servers": servers}
        self.producer = Producer({**of, "log_level": 0})
        broker = next(iter(self.producer.list_topics(timeout=10).brokers.values()))
        self.servers = servers or f"{broker.host}:{broker.port}"

    def send(self, topic: str, messages: list[tuple[Any, Any]], partition: int = -1) -> None:
        self.send_texts(
            topic, [[None if part is None else json.dumps(part) for part in one] for one in messages], partition
        )

    def send_texts(self, topic: str, messages: Sequence[Sequence[str | None]], partition: int = -1) -> None:
        """Messages as they are, whatever they say."""
        for key, value in messages:
            self.producer.produce(topic, key=key, value=value, partition=partition)
        assert self.producer.flush(10) == 0

    def last(self, topic: str) -> dict[str, Any]:
        """What the last message of each key says, of those that say something."""
        reader = KafkaReader(topic, {"bootstrap.servers": self.servers})
        end: Any = reader.latestOffset({}, None)  # type: ignore[arg-type]
        found = {key.decode(): value for _, _, key, value in all_of(reader, reader.initialOffset(), end)}
        return {key: json.loads(value) for key, value in found.items() if value is not None}


def all_of(reader: KafkaReader, start: dict[str, int], end: dict[str, int]) -> list[tuple[Any, ...]]:
    """The messages of a range: partition, offset, key and value."""
    batches = [batch for each in reader.partitions(start, end) for batch in reader.read(each)]
    rows = pa.Table.from_batches(batches).to_pylist() if batches else []
    return [(row["partition"], row["offset"], row["key"], row["value"]) for row in rows]
