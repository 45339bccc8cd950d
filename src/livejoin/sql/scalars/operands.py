"""Operands while their types are made explicit: scalar trees, untyped NULLs and constant intervals.

An untyped NULL (Spark's VOID) takes the type that its context asks for. A constant interval is added to times. Neither
can be a column; a constant interval becomes a value where one is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType

BOOLEAN: Final = SqlType("boolean")
TINYINT: Final = SqlType.integer(8)
SMALLINT: Final = SqlType.integer(16)
INT: Final = SqlType.integer(32)
BIGINT: Final = SqlType.integer(64)
FLOAT: Final = SqlType.real()
DOUBLE: Final = SqlType("double")
DATE: Final = SqlType("date")
TIMESTAMP: Final = SqlType("timestamp")
LOCAL_TIME: Final = SqlType.local_time()
STRING: Final = SqlType("string")
BINARY: Final = SqlType("binary")
INTERVAL: Final = SqlType("interval")
MONTHS: Final = SqlType("months")
INTERVALS: Final = (INTERVAL, MONTHS)

_DAY: Final = 86_400_000_000


class Mismatch(Exception):
    """Types that do not fit, as in Spark's DATATYPE_MISMATCH; the message says which, and what is allowed."""


class Refused(Mismatch):
    """An expression that Spark may accept but livejoin does not; the message says why, and what is allowed."""


@dataclass(frozen=True)
class Void:
    """An untyped NULL."""


@dataclass(frozen=True)
class Interval:
    """A constant interval.

    Args:
        months: The months; a year has twelve.
        days: The days.
        microseconds: The time of day, which may be longer than a day.
        unit: The units in which it was written: months and years, days alone, or also hours and below.
    """

    months: int
    days: int
    microseconds: int
    unit: Literal["months", "days", "time"]

    def __post_init__(self) -> None:
        whole = self.days * _DAY + self.microseconds
        if not (-(1 << 31) <= self.months < 1 << 31 and -(1 << 63) <= whole < 1 << 63):
            msg = "the interval is too long; at most 178,956,970 years, or 106,751,991 days"
            raise Mismatch(msg)

    def negated(self) -> Interval:
        """The negative interval."""
        return Interval(-self.months, -self.days, -self.microseconds, self.unit)


def as_value(operand: Operand) -> Scalar | Void:
    """A constant interval as a value; other operands stay as they are."""
    if not isinstance(operand, Interval):
        return operand
    if operand.unit == "months":
        return Constant(operand.months, MONTHS)
    return Constant(operand.days * _DAY + operand.microseconds, INTERVAL)


Operand: TypeAlias = Scalar | Void | Interval
"""What an expression is bound to."""

Type: TypeAlias = SqlType | Literal["VOID", "INTERVAL"]
"""The type of an operand."""


def type_of(operand: Operand) -> Type:
    """The type of an operand.

    >>> type_of(Void()), str(type_of(Constant(1, INT)))
    ('VOID', 'INT')
    """
    match operand:
        case Void():
            return "VOID"
        case Interval():
            return "INTERVAL"
        case _:
            return operand.type


def is_kind(kind: Type, *kinds: str) -> bool:
    """Whether a type is of one of some kinds, such as ``integer``.

    >>> is_kind(INT, "integer", "decimal"), is_kind("VOID", "integer")
    (True, False)
    """
    return isinstance(kind, SqlType) and kind.kind in kinds


def is_number(kind: Type) -> bool:
    """Whether a type is numeric."""
    return is_kind(kind, "integer", "decimal", "double")


def cast(operand: Operand, to: SqlType, text: str = "") -> Scalar:
    """An operand cast to a type; the cast must be allowed.

    >>> cast(Void(), INT), cast(Constant(1, INT), INT)
    (Constant(value=None, type=SqlType(kind='integer', bits=32, precision=0, scale=0)),
     Constant(value=1, type=SqlType(kind='integer', bits=32, precision=0, scale=0)))
    """
    if isinstance(operand, Void):
        return Constant(None, to)
    if isinstance(operand, Interval):
        msg = "an interval has no value"
        raise TypeError(msg)
    return operand if operand.type == to else Call("cast", (operand,), to, text)


def computed(value: Scalar) -> Scalar:
    """A value as the result of an expression: Spark's rules for literals do not apply to it."""
    return replace(value, is_literal=False) if isinstance(value, Constant) else value


def call(function: Function, kind: SqlType, *arguments: Scalar, text: str = "") -> Call:
    """A call of a function."""
    return Call(function, arguments, kind, text)


class Unsayable(Exception):
    """A node cannot be a scalar tree.

    Args:
        what: The function or operator.
        why: The reason.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why
