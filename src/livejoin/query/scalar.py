"""Scalar expressions with their types: what SQL becomes, and what is evaluated over columns of words.

An expression is a tree of `Field`, `Constant` and `Call`. Everything that SQL leaves to be guessed is said: each node
has its type, a cast that SQL makes by itself is a call of ``cast``, and the arguments of a call have the types that its
function is defined for. So what evaluates an expression decides nothing.

The law: an expression means what Spark 4 means with ANSI on and the session's time zone UTC. It is a function of its
row: the same values give the same value. Its value for a row is a value, NULL or an error; an error is a value like
any other until a row's result is one. A call gives the error of an argument where it looks at that argument, and where
Spark would not look it gives none: ``and``, ``or``, ``case`` and ``coalesce`` look at no more than they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal, TypeAlias

from livejoin.schema import SqlType

Value: TypeAlias = bool | int | float | str | bytes | Decimal | None
"""A constant: a DATE by its days and a TIMESTAMP by its microseconds since 1970-01-01, a decimal by a `Decimal`."""

Function = Literal[
    # Logic. `and`, `or`: two or more BOOLEANs, from the left. `case`: condition, value, condition, value, ..., default.
    "and", "or", "not", "case", "coalesce", "is_null", "is_nan",
    # Comparisons of two values of one type; decimals of one scale. NaN equals NaN and is the greatest number.
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "null_safe_equal",
    # `in`: a value, then the values that it may be, all of one type. `greatest`, `least`: of those that are not NULL.
    "in", "greatest", "least",
    # Arithmetic: two integers or doubles of the result's type, or two decimals of any precision and scale, of which the
    # exact result is rounded half up to the result's scale. What does not fit is an error, and so is division by zero.
    # Intervals of days and time: `add` of two, or of a TIMESTAMP and one; `subtract` of two TIMESTAMPs; `multiply` of
    # one and a BIGINT; `negate` and `absolute` of one. Intervals of months: `add` and `subtract` of two, `add` of a
    # TIMESTAMP and one, `negate` and `absolute`; a cast to an integer and back is the number of months.
    "add", "subtract", "multiply", "divide", "integral_divide", "remainder", "positive_remainder", "negate", "absolute",
    # The same, with NULL in place of an error of the call itself.
    "try_add", "try_subtract", "try_multiply", "try_divide", "try_remainder",
    # The bits of integers: `bit_and`, `bit_or`, `bit_xor` of two of one type, `bit_not`; an INT or BIGINT and how far
    # it is shifted, an INT; `bit_count` of 64 bits, of an integer or a BOOLEAN.
    "bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right", "shift_right_unsigned", "bit_count",
    # Spark's Murmur3 as INT and its xxHash as BIGINT, of one or more values, where those that are NULL do not count.
    "murmur_hash", "xx_hash",
    # Conversions to the call's type.
    "cast", "try_cast",
    # Rounding: a number and a constant number of digits behind the point.
    "round", "bround", "floor", "ceil",
    # Of doubles.
    "sign", "square_root", "exponential", "logarithm", "logarithm_10", "power", "cube_root", "nearest_whole",
    "sine", "cosine", "tangent", "arc_sine", "arc_cosine", "arc_tangent", "arc_tangent_2",
    "hyperbolic_sine", "hyperbolic_cosine", "hyperbolic_tangent", "degrees", "radians",
    # Parts of a DATE (of a TIMESTAMP, where they are of a day's time), as INT. Sunday is day 1 of `day_of_week` and
    # Monday is 0 of `weekday`; weeks are those of ISO 8601.
    "year", "quarter", "month", "day", "day_of_week", "weekday", "day_of_year", "week", "year_of_week",
    "hour", "minute", "second",
    # Of a TIMESTAMP: its seconds with their fraction as DECIMAL(8, 6), and its microseconds since 1970-01-01 as BIGINT.
    "second_with_fraction", "microseconds_of",
    # Of dates: `add_days` a DATE and an INT; `add_months` likewise, to the month's last day at most, or a DATE and an
    # interval of months; `date_difference`
    # of two DATEs in days; `last_day`; `truncate_date` a DATE and a constant unit; `truncate_time` a TIMESTAMP and one.
    "add_days", "add_months", "date_difference", "last_day", "truncate_date", "truncate_time", "make_date",
    # `add_interval`: a TIMESTAMP, and a constant interval as months, days and microseconds.
    "add_interval",
    # `difference_in_units`: two TIMESTAMPs and a constant unit, as `truncate_time` has them; how many whole units lie
    # between the second and the first, toward zero, as BIGINT. A month is whole from a day and time of day to the same.
    "difference_in_units",
    # Of strings, in characters; positions start with 1. Patterns and what follows the first argument are constants,
    # but for `concatenate`, `position`, `replace` and the comparisons, which take columns.
    "length", "byte_length", "upper", "lower", "substring", "left", "right", "trim", "trim_left", "trim_right",
    "pad_left", "pad_right", "replace", "reverse", "repeat", "position", "like", "like_any_case", "matches",
    "starts_with", "ends_with", "contains", "concatenate", "split_part", "translate", "initial_capitals", "ascii",
    # `edit_distance` of two, and the greatest one of interest. With a constant regular expression: `replace_matches` by
    # a constant, the group with a constant number of `extract_match`, and the part from 0 on of `split_item`.
    "edit_distance", "replace_matches", "extract_match", "split_item",
    # By a constant pattern: `format_time` a TIMESTAMP as a STRING; `parse_time` and `parse_date` a STRING as a
    # TIMESTAMP or DATE, an error or, behind `try_`, NULL where it does not fit; `format_decimal` a decimal
    # (`livejoin.query.number_format`); `format_value` a STRING, number or BOOLEAN (`livejoin.query.printf`).
    "format_time", "parse_time", "parse_date", "try_parse_time", "try_parse_date", "format_decimal", "format_value",
    # A TIMESTAMP and the name of a zone: what its clocks show at that instant, and when they show that.
    "time_in_zone", "time_from_zone",
    # Also of BINARY, in bytes: `byte_length`, `substring`, `left`, `concatenate`. `hexadecimal`: of a BINARY or a
    # BIGINT; `from_hexadecimal`: of a STRING, NULL where it is none.
    "hexadecimal", "from_hexadecimal",
    # Of a BINARY: digests as STRINGs of hexadecimal digits (`sha_2` takes the number of bits too, and is NULL for one
    # that there is not), `crc_32` as BIGINT, and `base_64`.
    "md_5", "sha_1", "sha_2", "crc_32", "base_64",
]  # fmt: skip
"""What a `Call` calls."""


@dataclass(frozen=True)
class Field:
    """A column of the rows that an expression is evaluated for.

    Args:
        position: The position of the column.
        type: The type of the column.
        nullable: Whether the column may be NULL.
    """

    position: int
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True)
class Constant:
    """A constant of a type; None is NULL.

    ``is_literal`` is false of what a cast or a sign has made of one, for which Spark's rules of literals do not hold.
    """

    value: Value
    type: SqlType
    is_literal: bool = field(default=True, compare=False, repr=False)


@dataclass(frozen=True)
class Call:
    """A function of the values of other expressions.

    Args:
        function: The function.
        arguments: The arguments.
        type: The type of its value.
        text: The SQL that errors show.
    """

    function: Function
    arguments: tuple[Scalar, ...]
    type: SqlType
    text: str = ""


Scalar: TypeAlias = Field | Constant | Call
"""A scalar expression."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A scalar expression of a plan: its text, and the tree that says what it means. Equal if they say the same.

    Args:
        text: The text in Spark's SQL, for people.
        scalar: The tree. None: DuckDB evaluates the text, which is in DuckDB's SQL then, unless there are steps.
        steps: The conditions whose conjunction it is, each of which is evaluated for those rows alone for which all
            before it are true; none has steps itself.
    """

    text: str
    scalar: Scalar | None
    steps: tuple[Expression, ...] = ()

    @cached_property
    def identity(self) -> str:
        """What it says over its columns, whatever its text is; the same in every process."""
        if self.steps:
            return " then ".join(step.identity for step in self.steps)
        return f"DuckDB: {self.text}" if self.scalar is None else _spelled(self.scalar)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def fields(self) -> Iterator[Field]:
        """The columns that the tree reads, those that stand several times too; none without a tree."""
        return iter(()) if self.scalar is None else fields_of(self.scalar)


def fields_of(scalar: Scalar) -> Iterator[Field]:
    """The columns that an expression reads, from left to right; those that stand several times too.

    >>> text = SqlType("string")
    >>> [field.position for field in fields_of(Call("concatenate", (Field(2, text), Field(0, text)), text))]
    [2, 0]
    """
    waiting = [scalar]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Field):
            yield part
        elif isinstance(part, Call):
            waiting += reversed(part.arguments)


def moved(scalar: Scalar, place: Callable[[int], int]) -> Scalar:
    """An expression over other rows.

    Args:
        scalar: The expression.
        place: Where a column stands in the other rows.

    >>> moved(Field(7, SqlType("date")), {7: 0}.__getitem__).position
    0
    """
    match scalar:
        case Field():
            return replace(scalar, position=place(scalar.position))
        case Call():
            return replace(scalar, arguments=tuple(moved(part, place) for part in scalar.arguments))
        case _:
            return scalar


def _spelled(scalar: Scalar) -> str:
    match scalar:
        case Field():
            return f"#{scalar.position}:{scalar.type}{'' if scalar.nullable else '!'}"
        case Constant():
            return f"{scalar.value!r}:{scalar.type}"
        case Call():
            return f"{scalar.function}({', '.join(map(_spelled, scalar.arguments))}):{scalar.type}"
