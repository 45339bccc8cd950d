"""The types of columns: their names in SQL, their Arrow types, and the kind of their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.schema.names import backticked

Kind = Literal[
    "boolean", "integer", "double", "decimal", "date", "timestamp", "string", "binary",
    "interval", "months", "array", "struct", "map", "variant",
]  # fmt: skip

_INTEGER_SQL = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_INTEGER_ARROW = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


_PAYLOAD = ("array", "struct", "map", "variant")
ELEMENT = "element"
"""What Arrow calls the elements of an ARRAY, as Spark does; those of a list that an aggregate makes are called item."""

VARIANT = pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})])
"""VARIANT in Arrow: as Spark has it, but for parts that may be NULL, as they are in Arrow where a VARIANT is NULL."""


def is_variant(type: pa.DataType) -> bool:
    """Whether an Arrow type is that of VARIANT, by the mark that Spark gives it."""
    if not pa.types.is_struct(type) or [field.name for field in type] != ["value", "metadata"]:
        return False
    return (type.field(1).metadata or {}).get(b"variant") == b"true"


def is_made_list(type: pa.DataType) -> bool:
    """Whether an Arrow type is that of lists made by aggregates, and not that of an ARRAY."""
    return bool(pa.types.is_list(type)) and type.value_field.name != ELEMENT


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else backticked(name)


@dataclass(frozen=True)
class SqlType:
    """A column type of the Spark dialect.

    ``bits`` is the width of an integer (8, 16, 32 or 64), 32 for a FLOAT, a double with the precision of binary32, and
    0 for other types. ``precision`` and ``scale`` belong to decimals. ``inner`` has the names and types of the parts of
    an ARRAY, a STRUCT or a MAP. These types and VARIANT are *payload*: their values are passed through and not computed
    with. ``is_local`` tells TIMESTAMP_NTZ, a date and time of day without a time zone, from TIMESTAMP, an instant.
    livejoin computes in UTC, where both have the same words.

    >>> SqlType.decimal(10, 2)
    SqlType(kind='decimal', bits=0, precision=10, scale=2)
    >>> str(SqlType.integer(64)), SqlType.integer(64).arrow
    ('BIGINT', DataType(int64))
    """

    kind: Kind
    bits: int = 0
    precision: int = 0
    scale: int = 0
    inner: tuple[tuple[str, SqlType], ...] = field(default=(), repr=False)
    is_local: bool = field(default=False, repr=False)

    @staticmethod
    def array(element: SqlType) -> SqlType:
        """ARRAY of a type."""
        return SqlType("array", inner=((ELEMENT, element),))

    @staticmethod
    def struct(fields: Sequence[tuple[str, SqlType]]) -> SqlType:
        """STRUCT of named fields, at least one.

        Raises:
            SchemaError: There is no field, or two have one name, without regard to case.
        """
        names = [name.lower() for name, _ in fields]
        if not fields or len(set(names)) < len(names):
            msg = (
                f"STRUCT of {', '.join(names) or 'no fields'}; allowed are fields with names of their own, at least one"
            )
            raise SchemaError(msg)
        return SqlType("struct", inner=tuple(fields))

    @staticmethod
    def map(key: SqlType, value: SqlType) -> SqlType:
        """MAP from keys to values.

        Raises:
            SchemaError: The keys are maps or variants, which Spark does not allow.
        """
        if any(part.kind in ("map", "variant") for part in key.parts()):
            msg = f"MAP with keys of {key}; allowed are keys without a MAP or VARIANT in them"
            raise SchemaError(msg)
        return SqlType("map", inner=(("key", key), ("value", value)))

    def parts(self) -> Iterator[SqlType]:
        """The type, and all types within it."""
        yield self
        for _, kind in self.inner:
            yield from kind.parts()

    @property
    def is_payload(self) -> bool:
        """Whether values of the type are only passed through, neither compared nor computed with."""
        return self.kind in _PAYLOAD

    @staticmethod
    def integer(bits: int) -> SqlType:
        """An integer of 8, 16, 32 or 64 bits."""
        return SqlType("integer", bits=bits)

    @staticmethod
    def decimal(precision: int, scale: int) -> SqlType:
        """A decimal with 1 to 38 digits, ``scale`` of them behind the point.

        Raises:
            SchemaError: The digits are out of range.
        """
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            msg = f"DECIMAL({precision}, {scale}): allowed are 1 to 38 digits, 0 to all of them behind the point"
            raise SchemaError(msg)
        return SqlType("decimal", precision=precision, scale=scale)

    @staticmethod
    def real() -> SqlType:
        """FLOAT, the floating-point numbers of 32 bits."""
        return SqlType("double", bits=32)

    @staticmethod
    def local_time() -> SqlType:
        """TIMESTAMP_NTZ, a date and a time of day in no time zone."""
        return SqlType("timestamp", is_local=True)

    @cached_property
    def arrow(self) -> pa.DataType:
        """The Arrow type that carries values of this type."""
        match self.kind:
            case "boolean":
                return pa.bool_()
            case "integer":
                return _INTEGER_ARROW[self.bits]
            case "double":
                return pa.float32() if self.bits else pa.float64()
            case "decimal":
                return pa.decimal128(self.precision, self.scale)
            case "date":
                return pa.date32()
            case "timestamp":
                return pa.timestamp("us")
            case "string":
                return pa.string()
            case "binary":
                return pa.binary()
            case "interval":
                return pa.duration("us")
            case "months":
                return pa.month_day_nano_interval()
            case "array":
                return pa.list_(pa.field(ELEMENT, self.inner[0][1].arrow))
            case "struct":
                return pa.struct([pa.field(name, kind.arrow) for name, kind in self.inner])
            case "map":
                return pa.map_(*(kind.arrow for _, kind in self.inner))
            case "variant":
                return VARIANT

    @property
    def word_kind(self) -> Kind:
        """The kind of the words of the type's values; that of bytes is string, as they share a dictionary."""
        if self.kind in ("interval", "months"):
            return "integer"
        return "string" if self.kind == "binary" or self.is_payload else self.kind

    @property
    def join_class(self) -> tuple[str, int]:
        """Columns of one join class may be joined, because equal values have equal words."""
        match self.kind:
            case "decimal":
                return (self.kind, self.scale)
            case "double":
                return (self.kind, self.bits)
            case _:
                return (self.kind, int(self.is_local))

    def __str__(self) -> str:
        match self.kind:
            case "integer":
                return _INTEGER_SQL[self.bits]
            case "decimal":
                return f"DECIMAL({self.precision}, {self.scale})"
            case "double" if self.bits:
                return "FLOAT"
            case "interval":
                return "INTERVAL DAY TO SECOND"
            case "months":
                return "INTERVAL YEAR TO MONTH"
            case "timestamp" if self.is_local:
                return "TIMESTAMP_NTZ"
            case "struct":
                return f"STRUCT<{', '.join(f'{_quoted(name)}: {kind}' for name, kind in self.inner)}>"
            case "array" | "map":
                return f"{self.kind.upper()}<{', '.join(str(kind) for _, kind in self.inner)}>"
            case _:
                return self.kind.upper()


def instants_of(names: Sequence[str], types: Sequence[SqlType]) -> frozenset[str]:
    """The names of the columns that are instants."""
    pairs = zip(names, types, strict=False)
    return frozenset(name for name, kind in pairs if kind.kind == "timestamp" and not kind.is_local)
