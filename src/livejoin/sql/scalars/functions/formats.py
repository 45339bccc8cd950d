"""Functions with constant patterns and formats: times and numbers as texts, and texts as times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from livejoin.query import printf
from livejoin.query.number_format import NumberFormat
from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.coercion import accepted
from livejoin.sql.scalars.decimals import decimal_for
from livejoin.sql.scalars.functions import epoch, times
from livejoin.sql.scalars.operands import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    Interval,
    Mismatch,
    Operand,
    Unsayable,
    Void,
    call,
    cast,
    is_kind,
    is_number,
    type_of,
)

_OF_DOUBLES: Final = {DOUBLE: SqlType.decimal(30, 15), FLOAT: SqlType.decimal(14, 7)}
_OF_STRINGS: Final = SqlType.decimal(38, 18)
_EPOCH: Final = Constant(0, TIMESTAMP)
_DEFAULT_PATTERN: Final = Constant("yyyy-MM-dd HH:mm:ss", STRING)


def as_time(
    name: str, kind: SqlType, function: Function, plain: Callable[[Operand], Operand]
) -> Callable[..., Operand]:
    """TO_DATE, TO_TIMESTAMP and their TRY_ variants; applied to a time they are casts.

    Args:
        name: The function's name.
        kind: The type of the result.
        function: Reads a text by a pattern.
        plain: Reads a value without a pattern.
    """

    def read(value: Operand, *pattern: Operand) -> Operand:
        if not pattern:
            return plain(value)
        if is_kind(type_of(value), "date", "timestamp"):
            return cast(value, kind)
        if kind == TIMESTAMP and is_number(type_of(value)):
            msg = f"a pattern reads a STRING, and {type_of(value)} is found; cast it to STRING"
            raise Mismatch(msg)
        return call(function, kind, accepted(value, STRING), _written(name, pattern[0]))

    return read


def shown(name: str) -> Callable[[Operand, Operand], Scalar]:
    """TO_CHAR and TO_VARCHAR, for a time with a pattern and for a number with a format."""

    def text(value: Operand, pattern: Operand) -> Scalar:
        if is_kind(type_of(value), "date", "timestamp"):
            return call("format_time", STRING, accepted(value, TIMESTAMP), accepted(pattern, STRING))
        if is_kind(type_of(value), "binary"):
            raise Unsayable(name, "it shows times and numbers; write hex or cast to STRING")
        format_ = _written(name, pattern)
        decimal = accepted(value, _decimal_of(value))
        if format_.value is None:
            return Constant(None, STRING)
        try:
            NumberFormat(str(format_.value))
        except ValueError as error:
            raise Mismatch(str(error)) from error
        return call("format_decimal", STRING, decimal, format_)

    return text


def _decimal_of(value: Operand) -> SqlType:
    """The decimal type that Spark gives a value that a format shows."""
    kind = type_of(value)
    if isinstance(kind, SqlType) and kind.kind in ("integer", "decimal"):
        found = decimal_for(kind)
        assert isinstance(found, SqlType), "an integer has one"
        return found
    return _OF_DOUBLES.get(kind, _OF_STRINGS) if isinstance(kind, SqlType) else _OF_STRINGS


def _written(name: str, pattern: Operand) -> Constant:
    """A pattern, which must be a constant."""
    found = accepted(pattern, STRING)
    if not isinstance(found, Constant):
        raise Unsayable(name, "a pattern is written into the query, as a constant")
    return found


def unix_timestamp(value: Operand, pattern: Operand = _DEFAULT_PATTERN) -> Operand:
    """UNIX_TIMESTAMP of a text with a pattern, rounded toward zero; for a time the pattern is ignored."""
    if not is_kind(type_of(value), "string"):
        return epoch.unix_timestamp(value)
    text = call("parse_time", TIMESTAMP, accepted(value, STRING), _written("UNIX_TIMESTAMP", pattern))
    return epoch.unix_timestamp(text)


def from_unixtime(seconds: Operand, pattern: Operand = _DEFAULT_PATTERN) -> Scalar:
    """FROM_UNIXTIME: the time of a number of seconds since 1970-01-01, in a pattern."""
    since = call("multiply", INTERVAL, Constant(1_000_000, INTERVAL), accepted(seconds, BIGINT))
    return call("format_time", STRING, call("add", TIMESTAMP, _EPOCH, since), accepted(pattern, STRING))


def in_zone(function: Literal["time_in_zone", "time_from_zone"]) -> Callable[[Operand, Operand], Scalar]:
    """FROM_UTC_TIMESTAMP and TO_UTC_TIMESTAMP: the local time of an instant in a zone, and back."""
    return lambda time, zone: call(function, TIMESTAMP, accepted(time, TIMESTAMP), accepted(zone, STRING))


def formatted(format_: Operand, *values: Operand) -> Scalar:
    """FORMAT_STRING: the texts of a format, with values in their own formats between; NULL is ``null``."""
    text = _written("FORMAT_STRING", format_)
    if text.value is None:
        return text
    try:
        parts = list(printf.parsed(str(text.value)))
    except ValueError as error:
        raise Unsayable("FORMAT_STRING", str(error)) from error
    found = [Constant(part, STRING) if isinstance(part, str) else _by_format(part, values) for part in parts]
    if len(found) == 1:
        return found[0]
    return call("concatenate", STRING, *found) if found else Constant("", STRING)


def _by_format(spec: printf.Spec, values: tuple[Operand, ...]) -> Scalar:
    if spec.value >= len(values):
        msg = f"the format has {spec.text} for value {spec.value + 1}, and there are {len(values)} values"
        raise Unsayable("FORMAT_STRING", msg)
    value = values[spec.value]
    null = Constant(spec.of_text("null"), STRING)
    if isinstance(value, Void):
        return null
    if isinstance(value, Interval) or is_kind(value.type, "binary", "interval", "months"):
        msg = f"{spec.text} shows no {type_of(value)}; cast it to STRING"
        raise Unsayable("FORMAT_STRING", msg)
    wanted = {"d": "integer", "x": "integer", "f": "double", "e": "double"}.get(spec.letter)
    value = _internal(value)
    if wanted is not None and value.type.kind != wanted:
        msg = (
            f"{spec.text} shows {'integers' if wanted == 'integer' else 'DOUBLE and FLOAT'}, and {value.type} is found"
        )
        raise Unsayable("FORMAT_STRING", msg)
    shown = call("format_value", STRING, value, Constant(spec.text, STRING))
    return call("coalesce", STRING, shown, null)


def _internal(value: Scalar) -> Scalar:
    """A DATE as its days and a TIMESTAMP as its microseconds, as Spark shows them here."""
    match value.type.kind:
        case "date":
            return epoch.unix_date(value)  # type: ignore[return-value]
        case "timestamp":
            return times.microseconds(value)
        case _:
            return value
