"""Views as Kafka topics: messages with keys, so that a batch that comes twice changes nothing.

For a view with a key, each message has the view's key as its key and the row as its value, or no value if the row is
gone: a compacted topic holds the view. For a view without a key, each row of a delta is a message, whose key is the
batch number and the position of the row in the batch. Law: batches come in order, and only the last one may come again.
So a reader that keeps the last message of each key has the view after some batch, or each row of the deltas once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import duckdb
import pyarrow as pa
from confluent_kafka import KafkaException, Producer

from livejoin.checkpoint.batch_delta import TIMESTAMP, BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import SchemaError, StorageError
from livejoin.spark.sinks.net_effect import COMES, last_of_keys, quoted
from livejoin.spark.sinks.sink import SinkView, whole

Headers: TypeAlias = list[tuple[str, str | bytes | None]]
BATCH_HEADER = "livejoin-batch"
logger = logging.getLogger("livejoin")

_FETCHED = 10_000  # messages at a time
_PATIENCE = 60.0  # seconds until all messages of a batch have to be there


class KafkaSink:
    """One topic for each view; mutable. A delta is in memory as a whole while it is sent.

    Args:
        servers: Kafka's ``bootstrap.servers``.
        topics: For a view the name of its topic, if it differs.
        settings: Further settings of librdkafka.
    """

    def __init__(
        self, servers: str, topics: Mapping[str, str] | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        # Idempotence: what the client itself sends again after a failure of the line is there once, and in order.
        self._settings = {"enable.idempotence": "true", **(settings or {}), "bootstrap.servers": servers}
        self._topics = dict(topics or {})
        self._views: dict[str, SinkView] = {}
        self._producer: Producer | None = None

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Check that the broker answers.

        Raises:
            SchemaError: ``topics`` names an unknown view.
            StorageError: The broker does not answer.
        """
        for view in self._topics:
            if view not in views:
                msg = f"topics= of the Kafka sink names {view!r}; the views are {', '.join(views)}"
                raise SchemaError(msg)
        self._views = dict(views)
        try:
            self._producer = Producer(self._settings, logger=logger)
            self._producer.list_topics(timeout=_PATIENCE)
        except KafkaException as error:
            msg = f"Kafka at {self._settings['bootstrap.servers']}: {error.args[0]}; nothing was sent"
            raise StorageError(msg) from error

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Send the messages of a batch, and wait until the broker has them.

        Raises:
            StorageError: The broker refuses; some messages may be there.
        """
        assert self._producer is not None  # open() came before
        failed: list[str] = []
        headers: Headers = [(BATCH_HEADER, str(batch_id).encode())]

        def told(error: object, _: object) -> None:
            if error is not None:
                failed.append(str(error))

        try:
            for view, delta in deltas.items():
                topic = self._topics.get(view, view)
                for key, value in self._messages(view, delta, batch_id) if delta.num_rows else ():
                    self._produce(topic, key, value, headers, told)
            left = self._producer.flush(_PATIENCE)
        except KafkaException as error:
            left, failed = 0, [str(error.args[0])]
        if left or failed:
            found = failed[0] if failed else f"{left} messages were not taken within {_PATIENCE:.0f} seconds"
            msg = (
                f"Kafka at {self._settings['bootstrap.servers']}: {found}; batch {batch_id} is there in part. "
                "Start the query again when that is repaired: it sends the batch once more"
            )
            raise StorageError(msg)
        return []

    def _produce(
        self, topic: str, key: str, value: str | None, headers: Headers, told: Callable[[object, object], None]
    ) -> None:
        assert self._producer is not None
        while True:
            try:
                self._producer.produce(topic, value=value, key=key, headers=headers, on_delivery=told)
                self._producer.poll(0)
            except BufferError:  # the client's queue is full
                self._producer.poll(1.0)
                continue
            return

    def _messages(self, view: str, delta: BatchDelta, batch_id: int) -> Iterator[tuple[str, str | None]]:
        """Key and value of each message, as JSON."""
        table = whole(delta)
        shape = self._views[view]
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            if shape.keys:
                key = shape.keys[0]
                connection.register("rows", last_of_keys(table, _plain(shape.schema), key))
                value = f"CASE WHEN {COMES} THEN {_json(shape.schema.names)} END"
                query = f"SELECT {_json(key)}, {value} FROM rows"
            else:
                connection.register("rows", table.drop_columns([TIMESTAMP]))
                names = [name for name in table.schema.names if name != TIMESTAMP]
                number = f"json_object('batch', {batch_id}, 'row', row_number() OVER () - 1)"
                query = f"SELECT {number}, {_json(names)} FROM rows"
            found = connection.execute(query)
            while rows := found.fetchmany(_FETCHED):
                yield from rows


def _json(names: list[str] | tuple[str, ...]) -> str:
    parts = ", ".join(f"'{name.replace(chr(39), chr(39) * 2)}', {quoted(name)}" for name in names)
    return f"json_object({parts})"


def _plain(schema: pa.Schema) -> pa.Schema:
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema([pa.field(field.name, kind) for field, kind in zip(schema, kinds, strict=True)])
