"""A topic of Kafka as a stream of messages, by exact ranges of offsets.

Offsets are those of each partition of the topic. A micro-batch holds the messages of a range. A batch that runs again
reads the same range again, as long as the topic keeps it. Nothing is committed on the broker for a group of consumers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from livejoin.errors import StateError, StorageError
from livejoin.spark.limited_streams import ReadLimit, SupportsTriggerAvailableNow
from livejoin.spark.read_limit import most_of, read_limit

FORMAT = "livejoin-kafka"
MESSAGE = "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP"
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
    ]
)
_OURS = "kafka."
_PATIENCE = 30.0  # seconds that a broker may be silent
_PIECE = 10_000  # messages in an Arrow batch


class KafkaSource(DataSource):
    """Spark's entry to the source; options are ``topic``, and librdkafka's settings with ``kafka.`` before them."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return MESSAGE

    def streamReader(self, schema: object) -> KafkaReader:
        settings = {key.removeprefix(_OURS): value for key, value in self.options.items() if key.startswith(_OURS)}
        most = self.options.get("max_messages")
        return KafkaReader(self.options["topic"], settings, None if most is None else int(most))


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream; an offset has the number of the next message of each partition."""

    def __init__(self, topic: str, settings: Mapping[str, str], most: int | None = None) -> None:
        self._topic = topic
        self._settings = dict(settings)
        self._most = most
        self._last: dict[str, int] | None = None  # where a query ends that reads what is there now

    def initialOffset(self) -> dict[str, int]:
        """The offsets of the oldest messages."""
        return {partition: low for partition, (low, _) in self._ranges().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        return read_limit(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._newest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The offsets after the newest messages of all partitions, or earlier ones if there are more than the limit.

        Raises:
            StateError: The topic has fewer messages than were read: it is another topic.
        """
        newest = self._newest() if self._last is None else self._last
        for partition, first in start.items():
            if newest.get(partition, -1) < first:
                msg = (
                    f"the topic {self._topic!r} ends at offset {newest.get(partition)} of partition {partition}, and "
                    f"the checkpoint has read it up to {first}: it is another topic of that name. Start over with an "
                    "empty checkpoint"
                )
                raise StateError(msg)
        most = most_of(limit)
        return newest if most is None else _limited(start, newest, most)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """One Spark partition for each topic partition with messages; a new one begins with its first message."""
        ranges = [(int(partition), start.get(partition, 0), last) for partition, last in end.items()]
        return [InputPartition(each) for each in ranges if each[1] < each[2]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range.

        Raises:
            StateError: The topic does not have the messages any more.
            StorageError: The broker is silent, or refuses.
        """
        number, start, end = partition.value
        with self._consumer() as consumer:
            place = TopicPartition(self._topic, number, start)
            low, _ = consumer.get_watermark_offsets(place, timeout=_PATIENCE)
            if low > start:
                msg = (
                    f"the topic {self._topic!r} has the messages of partition {number} from offset {low} on, and the "
                    f"checkpoint needs those from {start} on: they are lost. Start over with an empty checkpoint, and "
                    "let the topic keep its messages for longer"
                )
                raise StateError(msg)
            consumer.assign([place])
            yield from self._messages(consumer, number, start, end)

    def _messages(self, consumer: Consumer, number: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        taken: list[tuple[Any, ...]] = []
        heard, following = time.monotonic(), start
        done = False
        while not done:
            found = consumer.consume(min(_PIECE, end - following), timeout=1.0)  # which waits until it has so many
            for message in found:
                error, offset = message.error(), message.offset()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                assert offset is not None  # librdkafka gives each message its place, and the end of a partition too
                if error is None and offset < end:
                    kind, at = message.timestamp()
                    stamp = None if kind == TIMESTAMP_NOT_AVAILABLE else at * 1000
                    taken.append((message.key(), message.value(), number, offset, stamp))
                    following = offset + 1
                # What is left out behind the last message, as marks of transactions are, ends with the partition.
                done = done or offset >= (end - 1 if error is None else end)
            heard = time.monotonic() if found else heard
            if time.monotonic() - heard > _PATIENCE:
                msg = (
                    f"the broker of topic {self._topic!r} has sent nothing for {_PATIENCE:.0f} seconds, and the batch "
                    f"needs the messages of partition {number} up to offset {end}; start the query again when it does"
                )
                raise StorageError(msg)
            if taken and (done or len(taken) >= _PIECE):
                columns = zip(*taken, strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
                taken.clear()

    def _newest(self) -> dict[str, int]:
        return {partition: high for partition, (_, high) in self._ranges().items()}

    def _ranges(self) -> dict[str, tuple[int, int]]:
        """The oldest offset of each partition, and the one after its newest message."""
        with self._consumer() as consumer:
            found = consumer.list_topics(self._topic, timeout=_PATIENCE).topics[self._topic]
            if found.error is not None:
                raise KafkaException(found.error)
            return {
                str(number): consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=_PATIENCE)
                for number in sorted(found.partitions)
            }

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        """A consumer that commits nothing; errors of Kafka inside become `StorageError`."""
        own = {"group.id": "livejoin", "enable.auto.commit": "false", "enable.partition.eof": "true"}
        try:
            consumer = Consumer({**own, **self._settings})
            try:
                yield consumer
            finally:
                consumer.close()
        except KafkaException as error:
            msg = (
                f"Kafka at {self._settings.get('bootstrap.servers')}, topic {self._topic!r}: {error.args[0]}; the "
                "query ends; start it again when that is repaired, and it goes on with this batch"
            )
            raise StorageError(msg) from error


def _limited(start: Mapping[str, int], newest: Mapping[str, int], most: int) -> dict[str, int]:
    """At most ``most`` messages: each partition gets its share.

    >>> _limited({"0": 10}, {"0": 20, "1": 30, "2": 0}, 10)
    {'0': 13, '1': 7, '2': 0}
    """
    there = {partition: last - start.get(partition, 0) for partition, last in newest.items()}
    total = sum(there.values())
    if total <= most:
        return dict(newest)
    taken = {partition: count * most // total for partition, count in there.items()}
    left = most - sum(taken.values())
    for partition, count in there.items():
        if left and taken[partition] < count:
            taken[partition] += 1
            left -= 1
    return {partition: start.get(partition, 0) + count for partition, count in taken.items()}
