"""Rows in Debezium's messages, whose dates, times and decimals are written in ways of their own.

They are read as they are written, and converted here, those within structs, arrays and maps too. What cannot be
converted makes the message no row of its table, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema.names import backticked
from livejoin.spark.debezium.decimals import Decimals, decimal, decimal_as_written
from livejoin.spark.debezium.times import TIMES, IntegerTimes, time

_CONVERTED = (*TIMES, T.DecimalType)


def check_declared(name: str, given: str | None, allowed: Sequence[str], table: str) -> None:
    """Refuse a declaration of how values are written that is none.

    Args:
        name: The name of the option.
        given: The word that was given; None for none.
        allowed: The words that may be.
        table: The table or topic, for the message.

    Raises:
        SchemaError: The word is none of them.
    """
    if given is not None and given not in allowed:
        msg = f"{table}: {name} is {given!r}; allowed are {', '.join(map(repr, allowed))}"
        raise SchemaError(msg)


@dataclass(frozen=True)
class Written:
    """How values in Debezium's messages are written.

    Args:
        row: The columns of the rows.
        integer_times: The unit of times that are integers; None where none may be.
        decimals: How decimals are written; None where only what cannot be mistaken may be.
        formats: Spark's options for texts, in lower case: ``dateformat``, ``timestampformat``.
    """

    row: T.StructType
    integer_times: IntegerTimes | None = None
    decimals: Decimals | None = None
    formats: Mapping[str, str] = field(default_factory=dict)

    def as_written(self) -> T.StructType:
        """The columns as their JSON is read."""
        found = self._read_as(self.row)
        assert isinstance(found, T.StructType)
        return found

    def converted(self, side: str) -> tuple[Expression, Expression]:
        """A side of an envelope with its values, and why it is no row; NULL if it is one.

        Args:
            side: The column of the side, read by `as_written`.
        """
        fields, why = [], F.lit(None).cast("string")
        for column in self.row:
            written = F.col(f"{side}.{backticked(column.name)}")
            value, reason = self._value(written, column.dataType, column.name)
            fields.append(value.alias(column.name))
            why = why if reason is None else F.coalesce(why, reason)
        return F.when(F.col(side).isNotNull(), F.struct(*fields)), why

    def _read_as(self, kind: T.DataType) -> T.DataType:
        if isinstance(kind, TIMES):
            return T.StringType()
        if isinstance(kind, T.DecimalType):
            return decimal_as_written(self.decimals)
        if isinstance(kind, T.ArrayType):
            return T.ArrayType(self._read_as(kind.elementType))
        if isinstance(kind, T.MapType):
            return T.MapType(kind.keyType, self._read_as(kind.valueType))
        if isinstance(kind, T.StructType):
            return T.StructType([T.StructField(part.name, self._read_as(part.dataType)) for part in kind])
        return kind

    def _value(self, written: Expression, kind: T.DataType, name: str) -> tuple[Expression, Expression | None]:
        """A value, and why it is none; without a reason where there can be none."""
        if not _holds_converted(kind):
            return written, None
        if isinstance(kind, TIMES):
            return time(written, kind, self.integer_times, self.formats, name)
        if isinstance(kind, T.DecimalType):
            return decimal(written, kind, self.decimals, name)
        if isinstance(kind, T.StructType):
            return self._struct(written, kind, name)
        if isinstance(kind, T.ArrayType):
            inner, of_values = kind.elementType, written
            found = F.transform(written, lambda one: self._value(one, inner, name)[0])
        else:
            assert isinstance(kind, T.MapType)
            inner, of_values = kind.valueType, F.map_values(written)
            found = F.transform_values(written, lambda _, one: self._value(one, inner, name)[0])
        return found, F.get(F.filter(F.transform(of_values, lambda one: self._why(one, inner, name)), F.isnotnull), 0)

    def _struct(self, written: Expression, kind: T.StructType, name: str) -> tuple[Expression, Expression]:
        fields, why = [], F.lit(None).cast("string")
        for part in kind:
            value, reason = self._value(written.getField(part.name), part.dataType, f"{name}.{part.name}")
            fields.append(value.alias(part.name))
            why = why if reason is None else F.coalesce(why, reason)
        return F.when(written.isNotNull(), F.struct(*fields)), why

    def _why(self, written: Expression, kind: T.DataType, name: str) -> Expression:
        _, why = self._value(written, kind, name)
        assert why is not None  # asked only of kinds that hold what is converted
        return why


def _holds_converted(kind: T.DataType) -> bool:
    if isinstance(kind, T.ArrayType):
        return _holds_converted(kind.elementType)
    if isinstance(kind, T.MapType):
        return _holds_converted(kind.valueType)
    if isinstance(kind, T.StructType):
        return any(_holds_converted(part.dataType) for part in kind)
    return isinstance(kind, _CONVERTED)
