"""What the rows of a feed say, as changes: ``_change_type`` beside the columns of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SEQUENCE
from livejoin.spark.stream_part import quoted


def from_envelopes(
    frame: DataFrame, table: str, columns: Sequence[str], by_key: bool, beside: Mapping[str, str] | None = None
) -> DataFrame:
    """Rows with ``_change_type`` from Debezium's envelopes.

    ``c`` and ``r`` insert, ``u`` updates, ``d`` deletes; of a table with a key what comes is an upsert, and an update
    that has the row before takes that out first, whose key may be another one.

    Args:
        frame: It has ``op``, ``before`` and ``after``.
        table: The table's name, for messages.
        columns: The columns of the rows inside that are taken.
        by_key: Whether the table has a key.
        beside: Columns that are filled from elsewhere in the envelope, as ``{"lsn": "source.lsn"}``.
    """
    carried = [name for name in frame.columns if name == SEQUENCE]
    if by_key:
        upsert = F.array(_image("upsert", "after"))
        images = F.when(F.col("op").isin("c", "r") | ((F.col("op") == "u") & F.col("before").isNull()), upsert)
        pair = (_image("delete", "before"), _image("upsert", "after"))
    else:
        images = F.when(F.col("op").isin("c", "r"), F.array(_image("insert", "after")))
        pair = (_image("update_preimage", "before"), _image("update_postimage", "after"))
    images = images.when(F.col("op") == "u", F.array(*pair))
    images = images.when(F.col("op") == "d", F.array(_image("delete", "before")))
    allowed = f"table {table!r}: op of a Debezium envelope is c, r, u or d, found "
    unknown = F.concat(F.lit(allowed), F.coalesce("op", F.lit("none")))
    more = [F.col(path).alias(name) for name, path in (beside or {}).items()]
    exploded = frame.select(*carried, *more, F.explode(images.otherwise(F.raise_error(unknown))).alias("image"))
    rows = [F.col(f"image.row.{quoted(column)}").alias(column) for column in columns]
    rows += [F.col(name) for name in beside or ()]
    return exploded.select(*carried, F.col("image.kind").alias(CHANGE_TYPE), *rows)


def from_versions(frame: DataFrame, table: str, columns: Sequence[str], by_key: bool) -> DataFrame:
    """Rows with ``_change_type`` and ``_seq`` from a Delta table's change data feed, as `livejoin.from_delta` has them.

    Their order is that of the versions, in each of which what goes comes first. Of a table with a key what comes is an
    upsert and what goes the deletion of its key; so a version has to come in one micro-batch.
    """
    kind, version = F.col(CHANGE_TYPE), F.col(COMMIT_VERSION)
    comes = kind.isin("insert", "update_postimage")
    is_known = comes | kind.isin("delete", "update_preimage")
    if by_key:
        kind = F.when(comes, "upsert").otherwise("delete")
    allowed = (
        f"table {table!r}: a row of a change data feed has a {COMMIT_VERSION}, and as {CHANGE_TYPE} one of "
        "insert, delete, update_preimage and update_postimage; found "
    )
    found = F.concat_ws(", ", F.coalesce(CHANGE_TYPE, F.lit("none")), F.coalesce(version.cast("string"), F.lit("none")))
    refused = F.raise_error(F.concat(F.lit(allowed), found)).cast("string")
    checked = F.when(is_known & version.isNotNull(), kind).otherwise(refused)
    sequence = F.shiftleft(version, 1) + comes.cast("bigint")
    rows = [F.col(quoted(column)) for column in columns]
    return frame.select(sequence.alias(SEQUENCE), checked.alias(CHANGE_TYPE), *rows)


def upserts(frame: DataFrame, table: str, apply_as_deletes: str | None) -> DataFrame:
    """Rows that take the place of those with their keys, but for those that delete it.

    Args:
        frame: The rows.
        table: The table's name, for messages.
        apply_as_deletes: The condition of these in Spark's SQL, as ``"op = 'DELETE'"``; where it is NULL a row stays.

    Raises:
        SchemaError: There is a ``_change_type`` beside, or Spark cannot read the condition.
    """
    if CHANGE_TYPE in map(str.lower, frame.columns):
        msg = f"table {table!r} has {CHANGE_TYPE}, which says what a row is, and is to be 'upsert'; leave one out"
        raise SchemaError(msg)
    kind = F.lit("upsert")
    if apply_as_deletes is None:
        return frame.withColumn(CHANGE_TYPE, kind)
    try:
        return frame.withColumn(CHANGE_TYPE, F.when(F.expr(apply_as_deletes), F.lit("delete")).otherwise(kind))
    except AnalysisException as error:
        reason = next(iter(str(error).splitlines()), "")
        msg = f"table {table!r}: apply_as_deletes = {apply_as_deletes!r} is no condition over its columns: {reason}"
        raise SchemaError(msg) from error


def _image(kind: str, side: str) -> Expression:
    return F.struct(F.lit(kind).alias("kind"), F.col(side).alias("row"))
