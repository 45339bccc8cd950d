"""Which expressions have a value for every row, so that they may be evaluated for rows that no result has.

A plan that evaluates an expression earlier than the text says must not raise an error where the text has none. This is
the one place that knows: conditions are put into an order by it (`livejoin.query.filters`), and what goes below a join
or beside a comparison with groups asks here. Strings and memory beyond a limit do not count, nor does the one BIGINT
that stands for NULL.
"""

from __future__ import annotations

from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType

_TOTAL: frozenset[Function] = frozenset(
    (
        "and", "or", "not", "case", "coalesce", "is_null", "is_nan", "equal", "not_equal", "less", "less_equal",
        "greater", "greater_equal", "null_safe_equal", "in", "greatest", "least", "year", "quarter", "month", "day",
        "day_of_week", "weekday", "day_of_year", "week", "year_of_week", "hour", "minute", "second",
        "second_with_fraction", "microseconds_of", "date_difference", "length", "byte_length", "upper", "lower",
        "substring", "left", "right", "trim", "trim_left", "trim_right", "position", "starts_with", "ends_with",
        "contains", "concatenate", "reverse", "translate", "initial_capitals", "ascii", "hexadecimal",
        "from_hexadecimal", "try_add", "try_subtract", "try_multiply", "try_divide", "try_remainder", "try_cast",
        "format_decimal", "format_value",
        "sign", "square_root", "exponential", "logarithm", "logarithm_10", "cube_root", "nearest_whole", "sine",
        "cosine", "tangent", "arc_sine", "arc_cosine", "arc_tangent", "arc_tangent_2", "hyperbolic_sine",
        "hyperbolic_cosine", "hyperbolic_tangent", "degrees", "radians", "power",
        "bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right", "shift_right_unsigned", "bit_count",
        "murmur_hash", "xx_hash", "md_5", "sha_1", "sha_2", "crc_32", "base_64",
    )
)  # fmt: skip
_ARITHMETIC: frozenset[Function] = frozenset(("add", "subtract", "multiply"))
_OF_NUMBERS: frozenset[Function] = frozenset((*_ARITHMETIC, "negate", "absolute", "cast"))
_NUMBERS = ("integer", "decimal", "double")
_MOST_DIGITS = 38
_BACKSLASH = Constant("\\", SqlType("string"))
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def is_total(scalar: Scalar) -> bool:
    """Whether an expression has a value, or is NULL, for every row.

    >>> from livejoin.query.scalar import Field
    >>> number = Field(0, SqlType.integer(32))
    >>> is_total(Call("cast", (number,), SqlType("double"))), is_total(Call("add", (number, number), number.type))
    (True, False)
    """
    return not isinstance(scalar, Call) or (all(map(is_total, scalar.arguments)) and _has_value(scalar))


def fails_on_large_numbers_only(scalar: Scalar) -> bool:
    """Whether an expression has a value for every row but where a number does not fit its type.

    >>> from livejoin.query.scalar import Field
    >>> number = Field(0, SqlType.integer(32))
    >>> [fails_on_large_numbers_only(Call(f, (number, number), number.type)) for f in ("add", "remainder")]
    [True, False]
    """
    if not isinstance(scalar, Call):
        return True
    return all(map(fails_on_large_numbers_only, scalar.arguments)) and (_has_value(scalar) or _is_of_numbers(scalar))


def fails_on_large_values_only(scalar: Scalar) -> bool:
    """Whether an expression has a value for every row but where a number or a time does not fit its type.

    Dates and times may be moved by constants, and made of each other.
    """
    if isinstance(scalar, Call) and scalar.function in ("add_days", "add_interval"):
        first, *others = scalar.arguments
        return fails_on_large_values_only(first) and all(isinstance(one, Constant) for one in others)
    if isinstance(scalar, Call) and scalar.function == "cast":
        (inner,) = scalar.arguments
        if {inner.type.kind, scalar.type.kind} <= {"date", "timestamp"}:
            return fails_on_large_values_only(inner)
    return fails_on_large_numbers_only(scalar)


def _is_of_numbers(call: Call) -> bool:
    """Whether a call makes a number of numbers, and fails where it does not fit alone."""
    return call.function in _OF_NUMBERS and all(part.type.kind in _NUMBERS for part in (call, *call.arguments))


def _has_value(call: Call) -> bool:
    """Whether a call has a value, or is NULL, for all values of its arguments."""
    match call.function:
        case "add" | "subtract" | "multiply" | "negate" | "absolute":
            kind = call.type.kind
            return kind == "double" or (kind == "decimal" and call.type.precision < _MOST_DIGITS)
        case "cast":
            return _holds(call.type, call.arguments[0].type)
        case "like" | "like_any_case":
            return _is_well_formed(*call.arguments[1:])
        case _:
            return call.function in _TOTAL


def _is_well_formed(pattern: Scalar, escape: Scalar = _BACKSLASH) -> bool:
    """Whether a pattern is a constant that has its escape character before %, _ and itself alone."""
    if not (isinstance(pattern, Constant) and isinstance(escape, Constant)):
        return False
    text, mark = str(pattern.value or ""), str(escape.value or "")
    pairs = text.replace(mark + mark, "").split(mark)[1:] if mark else []
    return all(part[:1] in ("%", "_") and part for part in pairs)


def _holds(wide: SqlType, narrow: SqlType) -> bool:
    """Whether every value of a type has one of another type."""
    if wide == narrow:
        return True
    if wide.kind == "string":
        return narrow.kind != "binary"
    if wide.kind == "double":
        return narrow.kind in ("integer", "decimal", "double", "boolean")
    if narrow.kind == "boolean":
        return wide.kind == "integer"
    if (wide.kind, narrow.kind) == ("date", "timestamp"):
        return True
    if wide.kind == "integer":
        return narrow.kind == "integer" and narrow.bits <= wide.bits
    if wide.kind == "decimal":
        if narrow.kind == "integer":
            return _INTEGER_DIGITS.get(narrow.bits, _MOST_DIGITS + 1) <= wide.precision - wide.scale
        return narrow.kind == "decimal" and narrow.precision - narrow.scale < wide.precision - wide.scale + (
            narrow.scale <= wide.scale
        )
    return False
