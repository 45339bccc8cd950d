"""Instants for readers of deltas: Arrow columns with a time zone.

The engine computes in UTC and stores TIMESTAMP and TIMESTAMP_NTZ alike. Outside they are two types: an instant is a
``timestamp('us', 'UTC')``, a date and time of day without a zone is a ``timestamp('us')``.

Law: values stay as they are, microseconds since 1970-01-01; only their type is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.schema import SqlType

INSTANT = pa.timestamp("us", "UTC")


def with_instants(columns: pa.Schema, types: Sequence[SqlType | None]) -> pa.Schema:
    """A schema in which instants have a time zone.

    Args:
        columns: The schema.
        types: The types of the first columns; None for a column that stays as it is, as all further columns do.

    >>> print(with_instants(pa.schema([("at", pa.timestamp("us"))]), [SqlType("timestamp")]))
    at: timestamp[us, tz=UTC]
    """
    fields = list(columns)
    for place, kind in enumerate(types):
        if kind is not None:
            fields[place] = fields[place].with_type(_of_type(fields[place].type, kind))
    return pa.schema(fields, columns.metadata)


def without_instants(columns: pa.Schema) -> pa.Schema:
    """The schema as the engine has it, without time zones."""
    return pa.schema([field.with_type(_plain(field.type)) for field in columns])


def as_instants(delta: BatchDelta, types: Sequence[SqlType | None]) -> BatchDelta:
    """A delta whose instants have a time zone. Cost: O(columns); reading it costs no more than before."""
    schema = with_instants(delta.schema, types)
    if schema.equals(delta.schema):
        return delta
    return delta.cast(schema) if isinstance(delta, pa.Table) else _Cast(delta, schema)


@dataclass(frozen=True)
class _Cast:
    """A delta with renamed types; as `BatchDelta`."""

    delta: BatchDelta
    schema: pa.Schema

    @property
    def num_rows(self) -> int:
        return self.delta.num_rows

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        for batch in self.delta.to_batches(max_chunksize):
            yield batch.cast(self.schema)


def _of_type(found: pa.DataType, kind: SqlType) -> pa.DataType:
    """An Arrow type with a time zone for every instant within."""
    if pa.types.is_list(found):  # an ARRAY, or a list that an aggregate has made of values of the type
        element = kind.inner[0][1] if kind.kind == "array" else kind
        return pa.list_(found.value_field.with_type(_of_type(found.value_type, element)))
    match kind.kind:
        case "timestamp":
            return found if kind.is_local else INSTANT
        case "struct":
            pairs = zip(found, kind.inner, strict=True)
            return pa.struct([field.with_type(_of_type(field.type, inner)) for field, (_, inner) in pairs])
        case "map":
            (_, key), (_, item) = kind.inner
            return pa.map_(_of_type(found.key_type, key), _of_type(found.item_type, item))
        case _:
            return found


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    return kind
