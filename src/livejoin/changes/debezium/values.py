"""Values in Debezium's messages, which JSON writes in ways of its own: days, milliseconds, bytes in base 64.

A message with a schema says how each is written. Of one without, the type of the table's column says it, but for two
questions that only the connector's settings answer: what an integer in a TIMESTAMP counts, and whether the text
``"1234"`` in a DECIMAL is a number or the bytes of one. Law: no value is taken for another one; what may be either is
refused, with what to say.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from livejoin.schema import Column
from livejoin.shown import shown

Converters: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""What makes values of a message those of a column, by the column's name; other values are taken as they are."""
IntegerTimes = Literal["milliseconds", "microseconds", "nanoseconds"]
INTEGER_TIMES = ("milliseconds", "microseconds", "nanoseconds")
Decimals = Literal["text", "base64"]
DECIMALS = ("text", "base64")

CANNOT_CONVERT = (ValueError, TypeError, LookupError, ArithmeticError, binascii.Error)
"""What a converter raises for a value that is none."""

_EPOCH = dt.datetime(1970, 1, 1)
_BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
PLACEHOLDER = "__debezium_unavailable_value"
"""What stands for a large value of PostgreSQL (TOAST) that an update left as it was, so that nobody sent it."""
_ABSENT_TEXTS = (PLACEHOLDER, base64.b64encode(PLACEHOLDER.encode()).decode())


def is_absent(value: object) -> bool:
    """Whether this is no value, but what stands for one that was not sent, see `PLACEHOLDER`."""
    return isinstance(value, str) and value in _ABSENT_TEXTS


def by_schema(schema: object) -> Converters:
    """Functions that convert the values of messages to the types of their schema."""
    found: dict[str, Callable[[Any], Any]] = {}
    sides = [side for side in _fields(schema) if side.get("field") in ("before", "after") and _fields(side)]
    # Of a flat row the columns are the schema's own fields.
    for field in [field for side in sides for field in _fields(side)] if sides else _fields(schema):
        convert = _of_field(field)
        if convert is not None:
            found[str(field.get("field"))] = convert
    return found


def _fields(schema: object) -> list[Mapping[str, Any]]:
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    return [field for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []


def _of_field(field: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """The function that converts values to a semantic type of Debezium or Kafka Connect; None if none is needed."""
    parameters = field.get("parameters")
    match str(field.get("name", "")):
        case "io.debezium.time.Date" | "org.apache.kafka.connect.data.Date":
            return _of_days
        case "io.debezium.time.Timestamp" | "org.apache.kafka.connect.data.Timestamp":
            return lambda count: _of_count(count, "milliseconds")
        case "io.debezium.time.MicroTimestamp":
            return lambda count: _of_count(count, "microseconds")
        case "io.debezium.time.NanoTimestamp":
            return lambda count: _of_count(count, "nanoseconds")
        case "io.debezium.time.ZonedTimestamp":
            return dt.datetime.fromisoformat
        case "org.apache.kafka.connect.data.Decimal":
            scale = int(parameters.get("scale", 0)) if isinstance(parameters, Mapping) else 0
            return lambda text: _unscaled(text, scale)
        case "io.debezium.data.VariableScaleDecimal":
            return _of_parts
    return _of_base64 if field.get("type") == "bytes" else None


@dataclass(frozen=True)
class Written:
    """How values are written where messages have no schema.

    Args:
        integer_times: The unit of integers in columns of TIMESTAMP; None where there may be none.
        decimals: How texts in columns of DECIMAL are written; None where none may be either.
    """

    integer_times: IntegerTimes | None = None
    decimals: Decimals | None = None

    def of_column(self, column: Column, has_schema: bool) -> Callable[[Any], Any] | None:
        """The function that converts values of messages to those of a column; None if none is needed.

        Args:
            column: The column.
            has_schema: Whether the message has a schema: then a text that is left is no bytes of a number.
        """
        kind = column.type
        match kind.kind:
            case "decimal":
                decimals = "text" if has_schema else self.decimals
                return lambda value: _decimal(value, kind.scale, decimals)
            case "date":
                return lambda value: _of_days(value) if _is_integer(value) else value
            case "timestamp":
                return lambda value: _of_count(value, self.integer_times) if _is_integer(value) else value
            case "binary":
                return lambda value: _of_base64(value) if isinstance(value, str) else value
        return None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of_days(days: int) -> dt.date:
    return (_EPOCH + dt.timedelta(days=days)).date()


def _of_count(count: int, unit: IntegerTimes | None) -> dt.datetime:
    match unit:
        case "milliseconds":
            return _EPOCH + dt.timedelta(milliseconds=count)
        case "microseconds":
            return _EPOCH + dt.timedelta(microseconds=count)
        case "nanoseconds":
            if count % 1000:
                msg = "a TIMESTAMP has whole microseconds"
                raise ValueError(msg)
            return _EPOCH + dt.timedelta(microseconds=count // 1000)
    msg = (
        "the message does not say what the integer counts; give integer_times='milliseconds', 'microseconds' or "
        "'nanoseconds', as the connector writes them (its time.precision.mode)"
    )
    raise ValueError(msg)


def _decimal(value: Any, scale: int, decimals: Decimals | None) -> Any:
    """A decimal of a column of a scale, from a number, a text, or the bytes of one."""
    if isinstance(value, Mapping):
        return _of_parts(value)
    if isinstance(value, float):
        return Decimal(repr(value))  # the shortest text, as JSON wrote it
    if not isinstance(value, str):
        return value
    if decimals == "base64":
        return _unscaled(value, scale)
    if decimals is None and _BASE64.fullmatch(value):
        msg = (
            "the message does not say whether the text is a number or the bytes of one in base64; give "
            "decimals='base64' where the connector's decimal.handling.mode is precise, its default, or decimals='text' "
            "where it is string"
        )
        raise ValueError(msg)
    try:
        return Decimal(value)
    except ArithmeticError:
        msg = f"{shown(value)} is no number"
        raise ValueError(msg) from None


def _of_parts(parts: Mapping[str, Any]) -> Decimal:
    return _unscaled(parts["value"], int(parts["scale"]))


def _of_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _unscaled(text: str, scale: int) -> Decimal:
    """A decimal from its unscaled digits, a big-endian number in base 64."""
    written = _of_base64(text)
    if not written:
        msg = "a decimal has a byte at least"
        raise ValueError(msg)
    digits = int.from_bytes(written, "big", signed=True)
    return Decimal(f"{digits}E{-scale}")  # exact, whatever the context's precision
