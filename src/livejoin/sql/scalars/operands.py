"""What an expression is while its types are being made explicit: a typed tree, or what has no column's type.

A NULL without a type (Spark's VOID) takes the type that its place asks for, and a constant interval is added to times.
Neither can be a column; a constant interval becomes a value where one is asked for.
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
    """Types that do not fit, as Spark's DATATYPE_MISMATCH; the message says which and what is allowed."""


class Refused(Mismatch):
    """Types fit, and Spark may take it, but livejoin does not; the message says what is wrong and what is allowed."""


@dataclass(frozen=True)
class Void:
    """NULL without a type."""


@dataclass(frozen=True)
class Interval:
    """A constant interval.

    Args:
        months: Its months; those of years too.
        days: Its days.
        microseconds: Its time within a day, which may be longer than one.
        unit: Whether it was written in months and years, in days alone, or also in hours and below.
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
        """The interval backwards."""
        return Interval(-self.months, -self.days, -self.microseconds, self.unit)


def as_value(operand: Operand) -> Scalar | Void:
    """A constant interval as a value; all other operands as they are."""
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
    """Whether a type is of one of some kinds, as ``integer``.

    >>> is_kind(INT, "integer", "decimal"), is_kind("VOID", "integer")
    (True, False)
    """
    return isinstance(kind, SqlType) and kind.kind in kinds


def is_number(kind: Type) -> bool:
    """Whether a type is one of numbers."""
    return is_kind(kind, "integer", "decimal", "double")


def cast(operand: Operand, to: SqlType, text: str = "") -> Scalar:
    """An operand as a value of a type, which its own type can be cast to.

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
    """A value as what an expression gives, for which Spark's rules of literals do not hold."""
    return replace(value, is_literal=False) if isinstance(value, Constant) else value


def call(function: Function, kind: SqlType, *arguments: Scalar, text: str = "") -> Call:
    """A call of a function."""
    return Call(function, arguments, kind, text)


class Unsayable(Exception):
    """The tree of scalars has no way to say what stands at a node.

    Args:
        what: The function or operator.
        why: What the tree lacks.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why
