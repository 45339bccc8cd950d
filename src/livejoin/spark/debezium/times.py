"""Dates and times in Debezium's messages, which are integers more often than texts.

Spark's own reader of JSON takes an integer for a TIMESTAMP as seconds, and Debezium counts milliseconds, microseconds
or nanoseconds; an integer for a DATE, which counts days, it does not take. So dates and times are read as texts, and
converted here. A message without a schema does not say what an integer counts: that is declared, or such a message is
no row of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

IntegerTimes = Literal["milliseconds", "microseconds", "nanoseconds"]
INTEGER_TIMES = ("milliseconds", "microseconds", "nanoseconds")
_DAY = 86_400_000_000  # microseconds
_INT = (-(2**31), 2**31 - 1)
_INTEGER = "^[+-]?[0-9]+$"
TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)


def time(
    text: Expression, kind: T.DataType, unit: IntegerTimes | None, formats: Mapping[str, str], name: str
) -> tuple[Expression, Expression]:
    """A text as a date or time, and why it is none; NULL if it is one, or is NULL itself.

    Args:
        text: The value as it is written.
        kind: The type of its column.
        unit: The unit of times that are integers.
        formats: Spark's options for texts: ``dateformat``, ``timestampformat``.
        name: The column, for the reason.
    """
    value = _time(text, kind, unit, formats)
    return value, F.when(text.isNotNull() & value.isNull(), _refusal(name, kind, text, unit))


def _time(text: Expression, kind: T.DataType, unit: IntegerTimes | None, formats: Mapping[str, str]) -> Expression:
    is_number, number = text.rlike(_INTEGER), text.try_cast("bigint")
    if isinstance(kind, T.DateType):
        days = F.when(number.between(*_INT), F.date_add(F.lit("1970-01-01").cast("date"), number.try_cast("int")))
        return F.when(is_number, days).otherwise(_read(text, kind, formats.get("dateformat")))
    times = F.lit(None).cast(kind) if unit is None else _instant(_microseconds(number, unit), kind)
    return F.when(is_number, times).otherwise(_read(text, kind, formats.get("timestampformat")))


def _read(text: Expression, kind: T.DataType, form: str | None) -> Expression:
    """A text as a date or time, by a form if there is one; NULL if it is none."""
    return text.try_cast(kind) if form is None else F.try_to_timestamp(text, F.lit(form)).cast(kind)


def _microseconds(number: Expression, unit: IntegerTimes) -> Expression:
    match unit:
        case "milliseconds":
            return F.try_multiply(number, F.lit(1000).cast("bigint"))
        case "microseconds":
            return number
        case "nanoseconds":
            return F.when(number % 1000 == 0, F.floor(number / F.lit(1000).cast("decimal(20, 0)")).cast("bigint"))


def _instant(count: Expression, kind: T.DataType) -> Expression:
    """Microseconds since 1970 as a time, whatever the session's time zone."""
    if isinstance(kind, T.TimestampType):
        return F.timestamp_micros(count)
    days = F.floor(count / F.lit(_DAY).cast("decimal(20, 0)")).cast("int")
    rest = count - days.cast("bigint") * F.lit(_DAY)
    seconds = (rest.cast("decimal(20, 0)") / F.lit(1_000_000).cast("decimal(20, 0)")).cast("decimal(18, 6)")
    epoch = F.lit("1970-01-01").cast("timestamp_ntz")
    return epoch + F.make_dt_interval(days, F.lit(0), F.lit(0), seconds)


def _refusal(name: str, of: T.DataType, text: Expression, unit: IntegerTimes | None) -> Expression:
    """Why a value is none of its column."""
    kind = of.simpleString().upper()
    is_date = isinstance(of, T.DateType)
    counted = "" if unit is None or is_date else f" that is a number of {unit}, in whole microseconds, or a text"
    other = F.lit(f", which is no {kind}{counted}")
    if unit is None and not is_date:
        advice = (
            ", an integer, and the message does not say what it counts; give integer_times = 'milliseconds', "
            "'microseconds' or 'nanoseconds', as the connector writes them (its time.precision.mode)"
        )
        other = F.when(text.rlike(_INTEGER), F.lit(advice)).otherwise(other)
    return F.concat(F.lit(f"column {name!r} is "), text, other)
