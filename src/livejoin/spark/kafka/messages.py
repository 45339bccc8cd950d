"""Messages of a topic as the changes of a table: JSON, with tombstones or without, and Debezium's envelopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, SEQUENCE
from livejoin.spark.feeds import from_envelopes
from livejoin.spark.kafka.source import FORMAT, MESSAGE, KafkaReader, KafkaSource
from livejoin.spark.read_limit import checked
from livejoin.spark.stream_part import quoted

Messages = Literal["append", "upsert", "debezium"]
_STRICT = {"mode": "FAILFAST"}


def read_kafka(
    spark: SparkSession,
    servers: str,
    topic: str,
    columns: str,
    messages: Messages = "append",
    key: str | Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    max_messages: int | None = None,
) -> DataFrame:
    """The changes that a topic tells of, in the order of its offsets, for `maintain`.

    Args:
        spark: The session; PySpark 4.2 or newer.
        servers: Kafka's ``bootstrap.servers``.
        topic: The topic; it is read from its oldest message on.
        columns: Names and types of the rows' columns, as for Spark: ``"id BIGINT, name STRING"``.
        messages: ``append``: each value is a JSON object, a row that comes. ``upsert``: it takes the place of the row
            with its key, and a message without a value deletes the key, which is a JSON object of the key's columns.
            ``debezium``: values are envelopes, with ``payload`` around them or without; those without are skipped.
        key: The columns of the table's primary key, which `maintain` is told too (``keys=``).
        settings: More of librdkafka's settings, for example ``{"security.protocol": "SASL_SSL", ...}``.
        max_messages: The most messages of a batch, from all partitions; None for all that are there.

    Raises:
        SchemaError: ``upsert`` without a key, a key that is no column, or ``max_messages`` is less than 1.
        StorageError: There is no such topic, or the broker does not answer.

    A value that is no such JSON ends the query.
    """
    checked(max_messages, "max_messages")
    keys = (key,) if isinstance(key, str) else tuple(key)
    all_settings = {"bootstrap.servers": servers, **(settings or {})}
    KafkaReader(topic, all_settings).initialOffset()
    spark.dataSource.register(KafkaSource)
    options = {f"kafka.{name}": value for name, value in all_settings.items()}
    if max_messages is not None:
        options["max_messages"] = str(max_messages)
    frame = spark.readStream.format(FORMAT).schema(MESSAGE).option("topic", topic).options(**options).load()
    row = T.StructType.fromDDL(columns)
    assert isinstance(row, T.StructType)
    _check_key(topic, row, messages, keys)
    value, sequence = F.col("value").cast("string"), F.col("offset").alias(SEQUENCE)
    if messages == "debezium":
        envelope = f"op STRING, before STRUCT<{columns}>, after STRUCT<{columns}>"
        parsed = F.from_json(value, f"{envelope}, payload STRUCT<{envelope}>", _STRICT)
        message = frame.where(F.col("value").isNotNull()).select(sequence, parsed.alias("m"))
        sides = [F.coalesce(f"m.payload.{side}", f"m.{side}").alias(side) for side in ("op", "before", "after")]
        return from_envelopes(message.select(SEQUENCE, *sides), topic, row.names, bool(keys))
    parsed = F.from_json(value, row, _STRICT).alias("r")
    if messages == "append":
        return frame.where(F.col("value").isNotNull()).select(sequence, parsed).select(SEQUENCE, "r.*")
    of_key = T.StructType([field for field in row.fields if field.name in keys])
    gone = F.from_json(F.col("key").cast("string"), of_key, _STRICT).alias("k")
    kind = F.when(F.col("value").isNull(), F.lit("delete")).otherwise(F.lit("upsert")).alias(CHANGE_TYPE)
    whole = [
        F.coalesce(f"r.{quoted(name)}", f"k.{quoted(name)}").alias(name) if name in keys else F.col(f"r.{quoted(name)}")
        for name in row.names
    ]
    only_gone = F.when(F.col("value").isNull(), gone).alias("k")
    return frame.select(sequence, kind, parsed, only_gone).select(SEQUENCE, CHANGE_TYPE, *whole)


def _check_key(topic: str, row: T.StructType, messages: str, keys: Sequence[str]) -> None:
    unknown = [name for name in keys if name not in row.names]
    if unknown or (messages == "upsert" and not keys):
        found = f"the key names {unknown[0]!r}" if unknown else "upserts go by a key, and there is none"
        msg = f"topic {topic!r}: {found}; its columns are {', '.join(row.names)}"
        raise SchemaError(msg)
