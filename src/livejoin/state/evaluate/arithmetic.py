"""Arithmetic and rounding of integers, doubles, decimals and intervals."""

from __future__ import annotations

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Function
from livejoin.schema import SqlType
from livejoin.state.evaluate.code import ZERO, Value
from livejoin.state.evaluate.compiler import DIVISOR_FIRST, NARROW_DIGITS, Compiler, scales, unsupported

_INTEGERS: dict[Function, int] = {
    "integral_divide": k.DIVIDE,
    "remainder": k.REMAINDER,
    "positive_remainder": k.POSITIVE_REMAINDER,
    "add": k.ADD,
    "subtract": k.SUBTRACT,
    "multiply": k.MULTIPLY,
}
_DOUBLES: dict[Function, int] = {
    "divide": k.DIVIDE_DOUBLE,
    "remainder": k.REMAINDER_DOUBLE,
    "positive_remainder": k.POSITIVE_REMAINDER_DOUBLE,
    "power": k.POWER,
    "add": k.ADD_DOUBLE,
    "subtract": k.SUBTRACT_DOUBLE,
    "multiply": k.MULTIPLY_DOUBLE,
}
_DECIMALS: dict[Function, int] = {
    "add": k.ADD_DECIMAL,
    "subtract": k.SUBTRACT_DECIMAL,
    "multiply": k.MULTIPLY_DECIMAL,
    "divide": k.DIVIDE_DECIMAL,
    "integral_divide": k.INTEGRAL_DIVIDE_DECIMAL,
    "remainder": k.REMAINDER_DECIMAL,
    "positive_remainder": k.POSITIVE_REMAINDER_DECIMAL,
}
_PLAIN: dict[Function, int] = {"add": k.PLAIN_ADD, "subtract": k.PLAIN_SUBTRACT, "multiply": k.PLAIN_MULTIPLY}
ROUND: dict[Function, int] = {"round": k.HALF_UP, "bround": k.HALF_EVEN, "floor": k.FLOOR, "ceil": k.CEIL}
OPERATIONS = frozenset((*_INTEGERS, *_DOUBLES, *_DECIMALS))
"""Operations of two numbers."""

_LEAST_DIGITS = -38


def operation(compiler: Compiler, call: Call) -> Value:
    """An operation of two numbers: by decimals if one is a decimal, else by what it gives."""
    if any(argument.type.kind == "decimal" for argument in call.arguments):
        return _decimal(compiler, call)
    match call.type.kind:
        case "integer" | "interval" | "months" if call.function in _INTEGERS:
            return _integer(compiler, call)
        case "timestamp" if call.function == "add":
            time, by = (compiler.value(argument) for argument in call.arguments)
            op = k.ADD_MONTHS_TO_TIME if call.arguments[1].type.kind == "months" else k.ADD_TIME
            return compiler.each_of_two(op, call, time, by)
        case "double" if call.function in _DOUBLES:
            return _double(compiler, call)
        case _:
            raise unsupported(call, " is not supported")


def _integer(compiler: Compiler, call: Call) -> Value:
    left, right = (compiler.value(argument) for argument in call.arguments)
    op, bits = _INTEGERS[call.function], _bits(call.type)
    return compiler.each_of_two(op, call, left, right, bits, second_first=call.function in DIVISOR_FIRST)


def _bits(type: SqlType) -> int:
    """How many bits the whole numbers of a type have."""
    return 32 if type.kind == "months" else type.bits or 64


def _double(compiler: Compiler, call: Call) -> Value:
    left, right = (compiler.value(argument) for argument in call.arguments)
    op = _DOUBLES[call.function]
    if op <= k.MULTIPLY_DOUBLE:
        return as_float(compiler, call, compiler.plain(op, left, right))
    found = compiler.each_of_two(
        op, call, left, right, call.type.bits, fails=op != k.POWER, second_first=call.function in DIVISOR_FIRST
    )
    return as_float(compiler, call, found)


def as_float(compiler: Compiler, call: Call, value: Value) -> Value:
    """A double as a value of the call's type: rounded to binary32 if that is FLOAT.

    Sums, differences and products of two floats that are rounded to a double first are those rounded once, because a
    double has more than twice as many digits and two more (Figueroa, When is double rounding innocuous?, 1995).
    """
    return compiler.each(k.TO_FLOAT, call, value) if call.type.bits else value


def _decimal(compiler: Compiler, call: Call) -> Value:
    (a, b), type = call.arguments, call.type
    left, right = compiler.value(a), compiler.value(b)
    if call.function in ("add", "subtract") and _always_fits(compiler, a.type, b.type, type):
        left, right = compiler.scaled(left, a.type, type.scale), compiler.scaled(right, b.type, type.scale)
        return compiler.plain(_PLAIN[call.function], left, right)
    if call.function == "multiply" and not left.wide and not right.wide:
        digits = a.type.precision + b.type.precision
        if type.scale == a.type.scale + b.type.scale and type.precision >= digits:
            if digits <= NARROW_DIGITS:
                return compiler.of_type(compiler.plain(k.PLAIN_MULTIPLY, left, right), type)
            return compiler.plain(k.PRODUCT, left, right, 2)
    scale, precision = (type.scale, type.precision) if type.kind == "decimal" else (0, 38)
    x = a.type.scale | b.type.scale << 8 | scale << 16 | precision << 24
    return compiler.of_words(_DECIMALS[call.function], call, left, right, x)


def _always_fits(compiler: Compiler, a: SqlType, b: SqlType, type: SqlType) -> bool:
    """Whether the sum of two decimals has one word and as many digits as its type."""
    before = max(a.precision - a.scale, b.precision - b.scale) + 1
    return type.scale == max(a.scale, b.scale) and before + type.scale <= type.precision <= NARROW_DIGITS


def negate(compiler: Compiler, call: Call) -> Value:
    """The negative of a number."""
    return _sign_changed(compiler, call, k.NEGATE, k.NEGATE_DOUBLE, k.NEGATE_DECIMAL)


def absolute(compiler: Compiler, call: Call) -> Value:
    """A number without its sign."""
    return _sign_changed(compiler, call, k.ABSOLUTE, k.ABSOLUTE_DOUBLE, k.ABSOLUTE_DECIMAL)


def _sign_changed(compiler: Compiler, call: Call, integer: int, double: int, decimal: int) -> Value:
    value = compiler.value(call.arguments[0])
    match call.type.kind:
        case "integer" | "interval" | "months":
            return compiler.each(integer, call, value, _bits(call.type), fails=True)
        case "double":
            return compiler.each(double, call, value)
        case "decimal" if value.wide:
            return compiler.of_words(decimal, call, value, Value(ZERO, wide=True), 0)
        case "decimal":
            return compiler.of_type(compiler.each(integer, call, value, 64), call.type)
        case _:
            raise unsupported(call, " is not supported")


def rounded(compiler: Compiler, call: Call) -> Value:
    """A number rounded by one of `ROUND`."""
    argument, how = call.arguments[0], ROUND[call.function]
    digits = _digits(call)
    if digits is None:
        return compiler.null(call.type)
    value = compiler.value(argument)
    match argument.type.kind, call.type.kind:
        case "integer", "integer":
            if digits >= 0:
                return value
            return compiler.each(k.ROUND_INTEGER, call, value, -digits, call.type.bits | how << 8, fails=True)
        case "decimal", "decimal":
            y = how | max(digits, _LEAST_DIGITS) << 8
            return compiler.of_words(k.RESCALE, call, value, Value(ZERO, wide=True), scales(argument.type, call), y)
        case "double", "integer" if digits == 0 and how in (k.FLOOR, k.CEIL):
            op = k.FLOOR_DOUBLE if how == k.FLOOR else k.CEIL_DOUBLE
            return compiler.each(op, call, value, fails=True)
        case "double", "double" if call.type.bits and how in (k.HALF_UP, k.HALF_EVEN):
            return compiler.remembered(call)
        case "double", "double" if how in (k.HALF_UP, k.HALF_EVEN):
            return compiler.remembered(call, k.TRY_ROUND if how == k.HALF_UP else k.TRY_ROUND_EVEN, digits)
        case _:
            raise unsupported(call, " is not supported")


def _digits(call: Call) -> int | None:
    """The digits to which a call rounds, 0 where it does not say so, None for NULL."""
    if len(call.arguments) == 1:
        return 0
    digits = call.arguments[1]
    if not isinstance(digits, Constant):
        raise unsupported(call, " takes a constant number of digits")
    return None if digits.value is None else int(digits.value)
