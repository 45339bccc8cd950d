"""Feeds as changes: Debezium envelopes, Delta's change data feed and upserts become rows with ``_change_type``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.changes.debezium import PLACEHOLDER
from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, CORRUPT, ORIGIN, REFUSED, SEQUENCE
from livejoin.schema.names import backticked
from livejoin.spark.debezium.rows import Written

_ODD, _WHOLE = "_livejoin_odd", "_livejoin_whole"


def from_envelopes(
    frame: DataFrame,
    columns: Sequence[str],
    by_key: bool,
    beside: Mapping[str, str] | None = None,
    text: str | None = None,
    written: Written | None = None,
) -> DataFrame:
    """Rows with ``_change_type`` from Debezium's envelopes.

    ``c`` and ``r`` insert, ``u`` updates, ``d`` deletes. In a table with a key, new rows are upserts, and an update
    that has the row before deletes that row first, as its key may differ. A message that is no change, or lacks a row,
    becomes one row with its text in `CORRUPT` and the reason in `REFUSED`.

    Args:
        frame: The envelopes, with ``op``, ``before`` and ``after``.
        columns: The columns of the inner rows that are taken.
        by_key: Whether the table has a key.
        beside: Columns that are filled from other fields of the envelope, as ``{"lsn": "source.lsn"}``.
        text: The column with the text of each message; None if there is none.
        written: How values are written, of frames whose rows are read so; None if the rows have their values.
    """
    whole = F.to_json(F.struct("op", "before", "after")) if text is None else F.col(text)
    odd = F.lit(None).cast("string")
    if written is not None:
        sides = [written.converted(side) for side in ("before", "after")]
        odd = F.coalesce(*(why for _, why in sides))
        frame = frame.select(
            *(F.col(backticked(name)) for name in frame.columns if name not in ("before", "after")),
            *(side.alias(name) for name, (side, _) in zip(("before", "after"), sides, strict=True)),
            odd.alias(_ODD),
            whole.alias(_WHOLE),
        )
        odd, whole = F.col(_ODD), F.col(_WHOLE)
    op, before, after = F.col("op"), F.col("before"), F.col("after")
    if by_key:
        upsert = F.array(_image("upsert", "after"))
        images = F.when(op.isin("c", "r") | ((op == "u") & before.isNull()), upsert)
        pair = (_image("delete", "before"), _image("upsert", "after"))
    else:
        images = F.when(op.isin("c", "r"), F.array(_image("insert", "after")))
        pair = (_image("update_preimage", "before"), _image("update_postimage", "after"))
    images = images.when(op == "u", F.array(*pair))
    images = images.otherwise(F.array(_image("delete", "before")))
    needs_before = (op == "d") if by_key else op.isin("d", "u")
    why = F.when(
        ~F.coalesce(op.isin("c", "r", "u", "d"), F.lit(False)),
        F.concat(F.lit("op of a Debezium envelope is c, r, u or d, found "), F.coalesce(op, F.lit("none"))),
    )
    why = why.when((op != "d") & after.isNull(), F.concat(F.lit("the message has no row after, and the op "), op))
    why = why.when(needs_before & before.isNull(), F.concat(F.lit("the message has no row before, and the op "), op))
    why = F.coalesce(why, odd, _not_sent(frame, op))
    came = F.col(CORRUPT) if CORRUPT in frame.columns else F.lit(None).cast("string")
    refused = F.when(came.isNull(), why)
    unread = F.coalesce(came, F.when(why.isNotNull(), whole))
    no_image = F.array(F.struct(F.lit("insert").alias("kind"), after.alias("row")))
    images = F.when(unread.isNotNull(), no_image).otherwise(images)
    carried = [F.col(name) for name in frame.columns if name == SEQUENCE]
    carried += [refused.alias(REFUSED), unread.alias(CORRUPT)]
    if ORIGIN in frame.columns:
        carried.append(F.when(unread.isNotNull(), F.col(ORIGIN)).alias(ORIGIN))
    more = [F.col(path).alias(name) for name, path in (beside or {}).items()]
    exploded = frame.select(*carried, *more, F.explode(images).alias("image"))
    rows = [F.col(f"image.row.{backticked(column)}").alias(column) for column in columns]
    rows += [F.col(name) for name in beside or ()]
    names = [name for name in exploded.columns if name in (SEQUENCE, REFUSED, CORRUPT, ORIGIN)]
    return exploded.select(*names, F.col("image.kind").alias(CHANGE_TYPE), *rows)


def from_versions(frame: DataFrame, columns: Sequence[str], by_key: bool) -> DataFrame:
    """Rows with ``_change_type`` and ``_seq`` from a Delta table's change data feed, as `livejoin.from_delta` has them.

    The order is that of the versions, with deletions first in each. In a table with a key, inserted rows are upserts
    and deleted rows are deletions of their key; so a version has to come in one micro-batch. A row of an unknown change
    type, or without a version, has the reason in `REFUSED`.
    """
    kind, version = F.col(CHANGE_TYPE), F.col(COMMIT_VERSION)
    comes = F.coalesce(kind.isin("insert", "update_postimage"), F.lit(False))
    is_known = comes | F.coalesce(kind.isin("delete", "update_preimage"), F.lit(False))
    said = F.when(comes, "upsert").otherwise("delete") if by_key else kind
    allowed = (
        f"a row of a change data feed has a {COMMIT_VERSION}, and as {CHANGE_TYPE} one of "
        "insert, delete, update_preimage and update_postimage; found "
    )
    found = F.concat_ws(", ", F.coalesce(kind, F.lit("none")), F.coalesce(version.cast("string"), F.lit("none")))
    why = F.when(~is_known | version.isNull(), F.concat(F.lit(allowed), found))
    carried = [F.col(CORRUPT)] if CORRUPT in frame.columns else []
    refused = F.when(carried[0].isNull(), why) if carried else why
    if ORIGIN in frame.columns:
        carried.append(F.when(carried[0].isNotNull() | refused.isNotNull(), F.col(ORIGIN)).alias(ORIGIN))
    sequence = F.shiftleft(version, 1) + comes.cast("bigint")
    rows = [F.col(backticked(column)) for column in columns]
    own = [sequence.alias(SEQUENCE), F.when(is_known, said).otherwise(kind).alias(CHANGE_TYPE), refused.alias(REFUSED)]
    return frame.select(*own, *carried, *rows)


def upserts(frame: DataFrame, table: str, apply_as_deletes: str | None) -> DataFrame:
    """Rows that replace those with their keys, except for rows that delete their key.

    Args:
        frame: The rows.
        table: The table's name, for messages.
        apply_as_deletes: The condition of deletions in Spark SQL, as ``"op = 'DELETE'"``; where it is NULL the row is
            an upsert.

    Raises:
        SchemaError: The frame has a ``_change_type`` too, or Spark cannot parse the condition.
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


def _not_sent(frame: DataFrame, op: Expression) -> Expression:
    """Why a message is no change whose row has what stands for a value that was not sent; NULL if it has none."""
    found = F.lit(None).cast("string")
    kinds = {"string": F.lit(PLACEHOLDER), "binary": F.lit(bytearray(PLACEHOLDER.encode()))}
    for name, kind in frame.select("after.*").dtypes:
        if kind in kinds:
            msg = (
                f"column {name!r} has {PLACEHOLDER}: PostgreSQL does not send a large value that an update leaves as "
                "it was. Let the source send it (REPLICA IDENTITY FULL), or read the tables by read_postgres, which "
                "takes it from the row that is there"
            )
            is_placeholder = F.col(f"after.{backticked(name)}") == kinds[kind]
            found = F.coalesce(found, F.when((op != "d") & is_placeholder, F.lit(msg)))
    return found


def _image(kind: str, side: str) -> Expression:
    return F.struct(F.lit(kind).alias("kind"), F.col(side).alias("row"))
