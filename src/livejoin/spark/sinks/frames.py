"""Rows of Arrow as a frame of Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from livejoin.schema import is_variant


def frame_of(session: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows as a frame with the types that Spark has for theirs.

    Args:
        session: The session that makes the frame.
        rows: The rows.
    """
    # Spark would take a time without a zone for one of the session's.
    types = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
    kinds = [_as_spark_has_it(kind) for kind in rows.schema.types]
    for place, kind in enumerate(kinds):
        if not kind.equals(rows.schema.types[place]):
            chunks = [pa.array(_Retyped(chunk, kind)) for chunk in rows.column(place).chunks]
            rows = rows.set_column(place, pa.field(rows.schema.names[place], kind), pa.chunked_array(chunks, kind))
    return session.createDataFrame(rows, types)


def _as_spark_has_it(kind: pa.DataType) -> pa.DataType:
    """An Arrow type where the parts of each VARIANT are never NULL, to which PyArrow 19 does not cast."""
    if is_variant(kind):
        return pa.struct([field.with_nullable(False) for field in kind])
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_spark_has_it(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_as_spark_has_it(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_as_spark_has_it(kind.value_type)))
    return kind


class _Retyped:
    """An array as one of another type with the same buffers, for whom takes it by Arrow's interface for arrays."""

    def __init__(self, array: pa.Array, kind: pa.DataType) -> None:
        self._array = array
        self._kind = kind

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        _, buffers = self._array.__arrow_c_array__()
        return self._kind.__arrow_c_schema__(), buffers
