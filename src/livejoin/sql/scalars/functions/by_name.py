"""Spark's scalar functions by name: the types of their arguments, and their trees.

A function that is missing in these tables cannot be a scalar tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.shown import meant
from livejoin.sql.scalars.arithmetic import absolute, binary, negated, number
from livejoin.sql.scalars.coercion import accepted, can_cast, common_type
from livejoin.sql.scalars.functions import (
    bits,
    choices,
    conditionals,
    epoch,
    formats,
    numbers,
    strings,
    time_windows,
    times,
)
from livejoin.sql.scalars.functions.signatures import ARITHMETIC, CASTS, PARTS, SIGNATURES, Signature
from livejoin.sql.scalars.operands import (
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Mismatch,
    Operand,
    Unsayable,
    call,
    cast,
    computed,
    is_kind,
    is_number,
    type_of,
)

_AGGREGATES: Final = (
    *("any_value", "array_agg", "avg", "collect_list", "collect_set", "corr", "count", "count_if", "first", "kurtosis"),
    *("last", "listagg", "max", "max_by", "mean", "median", "min", "min_by", "mode", "percentile", "skewness"),
    *("stddev", "string_agg", "sum", "try_sum", "variance"),
)


@dataclass(frozen=True)
class _Handler:
    """A function with its own code for its arguments, from ``least`` to ``most`` of them."""

    function: Callable[..., Operand]
    least: int
    most: int


def function_of(name: str, arguments: Sequence[Operand]) -> Operand:
    """A call of a function.

    Raises:
        Mismatch: The number or the types of the arguments do not fit.
        Unsayable: There is no tree for the function.
    """
    if name in SIGNATURES:
        return _fixed(name, SIGNATURES[name], arguments)
    if name in PARTS:
        _check_count(name, len(arguments), 1, 1)
        return times.part(PARTS[name], arguments[0])
    if name in CASTS:
        _check_count(name, len(arguments), 1, 1)
        return converted("cast", arguments[0], CASTS[name])
    if name in ARITHMETIC:
        _check_count(name, len(arguments), 2, 2)
        return _operation(name, ARITHMETIC[name], arguments)
    if name in _HANDLERS:
        handler = _HANDLERS[name]
        _check_count(name, len(arguments), handler.least, handler.most)
        return handler.function(*arguments)
    raise Unsayable(name.upper(), no_function(name))


def converted(function: Function, operand: Operand, to: SqlType) -> Scalar:
    """CAST or TRY_CAST.

    Raises:
        Mismatch: Spark does not cast this type to the other one.
    """
    kind = type_of(operand)
    if not can_cast(kind, to):
        msg = f"{kind} cannot be cast to {to}"
        raise Mismatch(msg)
    if function == "cast" or kind in (to, "VOID"):
        return computed(cast(operand, to))
    return call("try_cast", to, cast(operand, kind) if isinstance(kind, SqlType) else cast(operand, to))


def is_known(name: str) -> bool:
    """Whether there is a tree for a function of this name."""
    return any(name in table for table in (SIGNATURES, PARTS, CASTS, ARITHMETIC, _HANDLERS))


def no_function(name: str) -> str:
    """That there is no function of a name, and which one may be meant."""
    known = [*sorted(known_names()), *_AGGREGATES]
    return f"livejoin has no such function{meant(name, known)}; those that it has: livejoin docs functions"


@dataclass(frozen=True)
class Accepted:
    """The arguments of a function, as the page of functions shows them; equal for all names of one function."""

    function: object
    text: str

    def __str__(self) -> str:
        return self.text


def accepted_arguments(name: str) -> Accepted:
    """The arguments of the function of a name.

    >>> str(accepted_arguments("levenshtein")), str(accepted_arguments("nvl2")), str(accepted_arguments("coalesce"))
    ('STRING, STRING[, INT]', '3 arguments', '1 argument or more')
    """
    if name in SIGNATURES:
        signature = SIGNATURES[name]
        least = len(signature.parameters) if signature.least is None else signature.least
        texts = [f"{', ' * (i > 0)}{kind}" for i, kind in enumerate(signature.parameters)]
        optional = [f"[{text}" for text in texts[least:]]
        return Accepted(signature, "".join((*texts[:least], *optional)) + "]" * len(optional))
    if name in PARTS:
        is_of_clock = PARTS[name] in ("hour", "minute", "second")
        return Accepted(PARTS[name], "TIMESTAMP" if is_of_clock else "DATE")
    if name in CASTS:
        return Accepted(("cast", CASTS[name]), "1 argument")
    if name in ARITHMETIC:
        return Accepted(ARITHMETIC[name], "2 arguments")
    handler = _HANDLERS[name]
    counts = str(handler.least) if handler.least == handler.most else f"{handler.least} to {handler.most}"
    plural = "" if handler.most == 1 or (handler.most == _MANY and handler.least == 1) else "s"
    text = f"{handler.least} argument{plural} or more" if handler.most == _MANY else f"{counts} argument{plural}"
    return Accepted(handler, "nothing" if handler.most == 0 else text)


def known_names() -> frozenset[str]:
    """The names of all functions."""
    return frozenset((*SIGNATURES, *PARTS, *CASTS, *ARITHMETIC, *_HANDLERS))


def _fixed(name: str, signature: Signature, arguments: Sequence[Operand]) -> Scalar:
    most = len(signature.parameters)
    _check_count(name, len(arguments), most if signature.least is None else signature.least, most)
    values = [accepted(value, kind) for value, kind in zip(arguments, signature.parameters, strict=False)]
    return call(signature.function, signature.result, *values)


def _check_count(name: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        allowed = str(least) if least == most else f"{least} to {most}"
        one = "s" * (most != 1)
        msg = f"{name} takes {allowed} argument{one}, and {count} {'is' if count == 1 else 'are'} given"
        if name.lower() == "isnull":
            msg += "; for a value in place of NULL write COALESCE"
        raise Mismatch(msg)


def _operation(name: str, function: Function, arguments: Sequence[Operand]) -> Operand:
    left, right = arguments
    if name in ("try_add", "try_subtract") and any(is_kind(type_of(one), "date", "timestamp") for one in arguments):
        raise Unsayable(name.upper(), "of times there is only the sum that fails")
    if name.startswith("try_"):
        return binary(function, _tried(left, right), _tried(right, left))
    return binary(function, left, right)


def _tried(operand: Operand, beside: Operand) -> Operand:
    """An operand of a TRY_ function: if it is a string for a number, Spark also catches errors of its conversion."""
    kind = common_type(type_of(operand), type_of(beside))
    if is_kind(type_of(operand), "string") and is_number(type_of(beside)) and isinstance(kind, SqlType):
        return converted("try_cast", operand, kind)
    return operand


def _logarithm(base: Operand, *value: Operand) -> Operand:
    """LOG: natural, or to a base; Spark divides by the base's logarithm."""
    if not value:
        return call("logarithm", DOUBLE, accepted(base, DOUBLE))
    if not isinstance(base, Constant) or base.value in (1, None) or not is_number(base.type):
        raise Unsayable("LOG", "the base is a constant other than 1; write ln(x) / ln(b)")
    parts = (call("logarithm", DOUBLE, accepted(each, DOUBLE)) for each in (value[0], base))
    return call("divide", DOUBLE, *parts)


def _logarithm_of_two(value: Operand) -> Operand:
    return _logarithm(Constant(2, INT), value)


def _as_date(value: Operand) -> Operand:
    """TO_DATE, which reads values other than times as strings."""
    is_time = is_kind(type_of(value), "date", "timestamp")
    return cast(value if is_time else accepted(value, STRING), DATE)


def _as_timestamp(value: Operand) -> Operand:
    return converted("cast", value, TIMESTAMP)


def _tried_time(name: str, kind: SqlType, function: Function) -> Callable[..., Operand]:
    """TRY_TO_DATE and TRY_TO_TIMESTAMP, which without a pattern are TRY_CAST."""

    def plain(value: Operand) -> Operand:
        if not is_kind(type_of(value), "string", "date", "timestamp") and type_of(value) != "VOID":
            raise Unsayable(name, "it reads times and strings; write try_cast for another value")
        return converted("try_cast", value, kind)

    return formats.as_time(name, kind, function, plain)


def _date_part(field: Operand, value: Operand) -> Operand:
    if not isinstance(field, Constant) or not isinstance(field.value, str):
        raise Unsayable("DATE_PART", "the part is a constant")
    return times.extract(field.value, value)


def _rounded(function: Function) -> Callable[..., Operand]:
    return lambda value, *digits: numbers.rounded(function, value, *digits)


SPLIT: Final = "split()[]"
"""What a part of a text that is split is called here: no list is made."""

_MANY: Final = 1 << 30
_HANDLERS: Final[dict[str, _Handler]] = {
    "abs": _Handler(absolute, 1, 1),
    "negative": _Handler(negated, 1, 1),
    "positive": _Handler(number, 1, 1),
    **dict.fromkeys(("coalesce", "nvl", "ifnull"), _Handler(lambda *values: choices.first_value(values), 1, _MANY)),
    "greatest": _Handler(conditionals.extreme_of("greatest"), 2, _MANY),
    "least": _Handler(conditionals.extreme_of("least"), 2, _MANY),
    "nullif": _Handler(choices.null_if, 2, 2),
    "nvl2": _Handler(conditionals.nvl2, 3, 3),
    "if": _Handler(conditionals.either, 3, 3),
    "decode": _Handler(conditionals.decode, 3, _MANY),
    "nanvl": _Handler(conditionals.nanvl, 2, 2),
    "zeroifnull": _Handler(conditionals.zero_if_null, 1, 1),
    "nullifzero": _Handler(conditionals.null_if_zero, 1, 1),
    "isnull": _Handler(choices.is_null, 1, 1),
    "isnotnull": _Handler(lambda value: choices.inverse(choices.is_null(value)), 1, 1),
    "equal_null": _Handler(conditionals.comparison("null_safe_equal"), 2, 2),
    "round": _Handler(_rounded("round"), 1, 2),
    "bround": _Handler(_rounded("bround"), 1, 2),
    "floor": _Handler(_rounded("floor"), 1, 2),
    **dict.fromkeys(("ceil", "ceiling"), _Handler(_rounded("ceil"), 1, 2)),
    "pi": _Handler(lambda: Constant(math.pi, DOUBLE), 0, 0),
    "e": _Handler(lambda: Constant(math.e, DOUBLE), 0, 0),
    "log2": _Handler(_logarithm_of_two, 1, 1),
    "log": _Handler(_logarithm, 1, 2),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), _Handler(strings.length, 1, 1)),
    "octet_length": _Handler(strings.byte_length, 1, 1),
    **dict.fromkeys(("substring", "substr"), _Handler(strings.part_of("substring"), 2, 3)),
    "left": _Handler(strings.part_of("left"), 2, 2),
    "lpad": _Handler(strings.padded("pad_left"), 2, 3),
    "rpad": _Handler(strings.padded("pad_right"), 2, 3),
    "hex": _Handler(strings.hexadecimal, 1, 1),
    "concat_ws": _Handler(strings.joined, 1, _MANY),
    "concat": _Handler(strings.concatenated, 0, _MANY),
    **dict.fromkeys(("locate", "position"), _Handler(strings.located, 2, 3)),
    "space": _Handler(lambda count: call("repeat", STRING, Constant(" ", STRING), accepted(count, INT)), 1, 1),
    "bit_length": _Handler(strings.bit_length, 1, 1),
    "regexp_replace": _Handler(strings.replaced_matches, 3, 4),
    SPLIT: _Handler(strings.item_of_split, 3, 3),
    "window().start": _Handler(time_windows.start, 2, 4),
    "window().end": _Handler(time_windows.end, 2, 4),
    "to_date": _Handler(formats.as_time("TO_DATE", DATE, "parse_date", _as_date), 1, 2),
    "to_timestamp": _Handler(formats.as_time("TO_TIMESTAMP", TIMESTAMP, "parse_time", _as_timestamp), 1, 2),
    "try_to_date": _Handler(_tried_time("TRY_TO_DATE", DATE, "try_parse_date"), 1, 2),
    "try_to_timestamp": _Handler(_tried_time("TRY_TO_TIMESTAMP", TIMESTAMP, "try_parse_time"), 1, 2),
    "to_char": _Handler(formats.shown("TO_CHAR"), 2, 2),
    "to_varchar": _Handler(formats.shown("TO_VARCHAR"), 2, 2),
    **dict.fromkeys(("format_string", "printf"), _Handler(formats.formatted, 1, _MANY)),
    "from_utc_timestamp": _Handler(formats.in_zone("time_in_zone"), 2, 2),
    "to_utc_timestamp": _Handler(formats.in_zone("time_from_zone"), 2, 2),
    "date_add": _Handler(times.add_days, 2, 2),
    "date_sub": _Handler(times.subtract_days, 2, 2),
    "trunc": _Handler(times.truncated_date, 2, 2),
    "date_trunc": _Handler(times.truncated_time, 2, 2),
    "next_day": _Handler(times.next_day, 2, 2),
    "dayname": _Handler(times.day_name, 1, 1),
    "monthname": _Handler(times.month_name, 1, 1),
    "months_between": _Handler(times.months_between, 2, 3),
    "convert_timezone": _Handler(times.in_other_zone, 2, 3),
    "from_unixtime": _Handler(formats.from_unixtime, 1, 2),
    "make_ym_interval": _Handler(times.of_months, 0, 2),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _Handler(formats.unix_timestamp, 1, 2)),
    "unix_micros": _Handler(epoch.unix_micros, 1, 1),
    "unix_millis": _Handler(epoch.unix_millis, 1, 1),
    "unix_seconds": _Handler(epoch.unix_seconds, 1, 1),
    "timestamp_seconds": _Handler(epoch.timestamp_seconds, 1, 1),
    "unix_date": _Handler(epoch.unix_date, 1, 1),
    "date_from_unix_date": _Handler(epoch.date_from_unix_date, 1, 1),
    **dict.fromkeys(("date_part", "datepart"), _Handler(_date_part, 2, 2)),
    "&": _Handler(bits.combined("bit_and"), 2, 2),
    "|": _Handler(bits.combined("bit_or"), 2, 2),
    "^": _Handler(bits.combined("bit_xor"), 2, 2),
    "~": _Handler(bits.inverted, 1, 1),
    "shiftleft": _Handler(bits.shifted("shift_left"), 2, 2),
    "shiftright": _Handler(bits.shifted("shift_right"), 2, 2),
    "shiftrightunsigned": _Handler(bits.shifted("shift_right_unsigned"), 2, 2),
    "bit_count": _Handler(bits.bit_count, 1, 1),
    "hash": _Handler(bits.hashed("murmur_hash"), 1, _MANY),
    "xxhash64": _Handler(bits.hashed("xx_hash"), 1, _MANY),
}
