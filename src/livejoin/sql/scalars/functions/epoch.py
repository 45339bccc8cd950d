"""Times as the days, seconds, milliseconds or microseconds since 1970-01-01.

These functions convert no arguments but integers, as in Spark.
"""

from __future__ import annotations

from typing import Final

from livejoin.query.scalar import Constant, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.arithmetic import binary
from livejoin.sql.scalars.coercion import accepted
from livejoin.sql.scalars.functions import times
from livejoin.sql.scalars.operands import (
    BIGINT,
    DATE,
    INT,
    LOCAL_TIME,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    Mismatch,
    Operand,
    Unsayable,
    call,
    cast,
    is_kind,
    type_of,
)

_EPOCH: Final = Constant(0, DATE)


def unix_date(value: Operand) -> Operand:
    """UNIX_DATE: the days of a date."""
    return call("date_difference", INT, _exactly(value, DATE), _EPOCH)


def date_from_unix_date(value: Operand) -> Operand:
    """DATE_FROM_UNIX_DATE: the date of a number of days."""
    return call("add_days", DATE, _EPOCH, accepted(value, INT))


def _exactly(value: Operand, *kinds: SqlType) -> Scalar:
    """An argument of a function that does not convert arguments.

    Raises:
        Mismatch: The argument has another type.
    """
    kind = type_of(value)
    if kind != "VOID" and kind not in kinds:
        msg = f"{' or '.join(map(str, kinds))} is wanted, and {kind} is found; cast it"
        raise Mismatch(msg)
    return cast(value, kind if kind in kinds and isinstance(kind, SqlType) else kinds[0])


def unix_seconds(value: Operand) -> Operand:
    """UNIX_SECONDS: rounded down."""
    return cast(_exactly(value, TIMESTAMP), BIGINT)


def unix_micros(value: Operand) -> Operand:
    """UNIX_MICROS."""
    return times.microseconds(_exactly(value, TIMESTAMP))


def unix_millis(value: Operand) -> Operand:
    """UNIX_MILLIS: rounded down; plain division rounds toward zero."""
    since = times.microseconds(_exactly(value, TIMESTAMP))
    thousand = Constant(1000, BIGINT)
    whole = binary("subtract", since, binary("positive_remainder", since, thousand))
    return binary("integral_divide", whole, thousand)


def unix_timestamp(value: Operand) -> Operand:
    """UNIX_TIMESTAMP of a time: rounded toward zero, while UNIX_SECONDS rounds down."""
    since = times.microseconds(_exactly(value, TIMESTAMP, LOCAL_TIME, DATE))
    return binary("integral_divide", since, Constant(1_000_000, BIGINT))


def timestamp_seconds(value: Operand) -> Operand:
    """TIMESTAMP_SECONDS of an integer whose microseconds always fit; a CAST of a BIGINT does not fail."""
    if type_of(value) == BIGINT or is_kind(type_of(value), "decimal", "double"):
        raise Unsayable("TIMESTAMP_SECONDS", "there is only that of INT and narrower integers")
    return cast(_exactly(value, INT, SMALLINT, TINYINT), TIMESTAMP)
