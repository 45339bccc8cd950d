"""Messages of a Kafka topic as changes of a table: JSON rows, with or without tombstones, and Debezium's envelopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, CORRUPT, SEQUENCE
from livejoin.schema.names import backticked
from livejoin.spark.debezium.decimals import DECIMALS, Decimals
from livejoin.spark.debezium.rows import Written, check_declared
from livejoin.spark.debezium.times import INTEGER_TIMES, IntegerTimes
from livejoin.spark.feeds import from_envelopes
from livejoin.spark.kafka.source import FORMAT, MESSAGE, KafkaReader, KafkaSource
from livejoin.spark.read_limit import checked

Messages = Literal["append", "upsert", "debezium"]
_ALL = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def read_kafka(  # noqa: PLR0913  # the options of a topic
    spark: SparkSession,
    servers: str,
    topic: str,
    columns: str,
    messages: Messages = "append",
    key: str | Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    max_messages: int | None = None,
    *,
    integer_times: IntegerTimes | None = None,
    decimals: Decimals | None = None,
) -> DataFrame:
    """The changes in a topic, in the order of its offsets, for `maintain`.

    Args:
        spark: The session; PySpark 4.2 or newer.
        servers: Kafka's ``bootstrap.servers``.
        topic: The topic; it is read from its oldest message on.
        columns: Names and types of the rows' columns, as for Spark: ``"id BIGINT, name STRING"``.
        messages: ``append``: each value is a JSON object, a new row. ``upsert``: the row replaces the row with its key,
            and a message without a value deletes the key, which is a JSON object of the key's columns. ``debezium``:
            values are envelopes, with or without ``payload`` around them; messages without a value are skipped.
        key: The columns of the table's primary key; give them to `livejoin.spark.stream` too (``key=``).
        settings: Further settings of librdkafka, for example ``{"security.protocol": "SASL_SSL", ...}``.
        max_messages: The most messages of a batch, from all partitions; None for all that are there.
        integer_times: With ``debezium``: what integers in columns of TIMESTAMP count: ``milliseconds``,
            ``microseconds`` or ``nanoseconds``, as the connector's ``time.precision.mode`` has it. Without it, such a
            message is no row of the table. Dates count days.
        decimals: With ``debezium``: how columns of DECIMAL are written: ``base64`` with the connector's
            ``decimal.handling.mode=precise``, its default, where the scale is that of the column here; ``text`` with
            ``string``. Numbers (``double``) are read with both and without it. Without it, a text that may be either
            is no row of the table.

    Raises:
        SchemaError: ``upsert`` without a key, a key that is no column, or ``max_messages`` less than 1.
        StorageError: There is no such topic, or the broker does not answer.

        A value that is no such JSON becomes a row with its text in ``_corrupt_record``, for ``on_bad_rows`` of
        `maintain`.
    """
    checked(max_messages, "max_messages")
    declared = (("integer_times", integer_times, INTEGER_TIMES), ("decimals", decimals, DECIMALS))
    for name, given, allowed in declared:
        check_declared(name, given, allowed, f"topic {topic!r}")
        if given is not None and messages != "debezium":
            msg = f"topic {topic!r}: {name} is for messages = 'debezium', and these are {messages!r}"
            raise SchemaError(msg)
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
        written = Written(row, integer_times, decimals)
        inner = written.as_written()
        envelope = [T.StructField("op", T.StringType()), T.StructField("before", inner), T.StructField("after", inner)]
        payload = T.StructField("payload", T.StructType(envelope))
        parsed = F.from_json(value, T.StructType([*envelope, payload, T.StructField(CORRUPT, T.StringType())]), _ALL)
        message = frame.where(F.col("value").isNotNull()).select(sequence, value.alias("v"), parsed.alias("m"))
        sides = [F.coalesce(f"m.payload.{side}", f"m.{side}").alias(side) for side in ("op", "before", "after")]
        unread = _unread("v", "m").alias(CORRUPT)
        found = message.select(SEQUENCE, "v", unread, *sides)
        return from_envelopes(found, row.names, bool(keys), text="v", written=written)
    text = T.StructField(CORRUPT, T.StringType())
    parsed = F.from_json(value, T.StructType([*row.fields, text]), _ALL).alias("r")
    if messages == "append":
        rows = frame.where(F.col("value").isNotNull()).select(sequence, value.alias("v"), parsed)
        fields = [F.col(f"r.{backticked(name)}") for name in row.names]
        return rows.select(SEQUENCE, _unread("v", "r").alias(CORRUPT), *fields)
    of_key = T.StructType([*(field for field in row.fields if field.name in keys), text])
    key_text, is_gone = F.col("key").cast("string"), F.col("value").isNull()
    kind = F.when(is_gone, F.lit("delete")).otherwise(F.lit("upsert")).alias(CHANGE_TYPE)
    gone = F.when(is_gone, F.from_json(key_text, of_key, _ALL)).alias("k")
    rows = frame.select(sequence, kind, value.alias("v"), key_text.alias("t"), parsed, gone)
    unread = F.when(F.col("v").isNull(), _unread("t", "k")).otherwise(_unread("v", "r"))
    whole = [
        F.coalesce(f"r.{backticked(name)}", f"k.{backticked(name)}").alias(name)
        if name in keys
        else F.col(f"r.{backticked(name)}")
        for name in row.names
    ]
    return rows.select(SEQUENCE, CHANGE_TYPE, unread.alias(CORRUPT), *whole)


def _unread(text: str, parsed: str) -> Expression:
    """The text of a column that could not be parsed into another column; NULL if it could, or if it is empty."""
    nothing = F.when(F.col(parsed).isNull(), F.coalesce(text, F.lit("")))
    return F.coalesce(F.col(f"{parsed}.{CORRUPT}"), nothing)


def _check_key(topic: str, row: T.StructType, messages: str, keys: Sequence[str]) -> None:
    unknown = [name for name in keys if name not in row.names]
    if unknown or (messages == "upsert" and not keys):
        found = f"the key names {unknown[0]!r}" if unknown else "upserts go by a key, and there is none"
        msg = f"topic {topic!r}: {found}; its columns are {', '.join(row.names)}"
        raise SchemaError(msg)
