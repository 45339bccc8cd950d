"""Casts, and the functions that give NULL in place of an error of their own."""

from __future__ import annotations

from dataclasses import replace

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Function
from livejoin.schema import SqlType
from livejoin.state.evaluate.arithmetic import as_float
from livejoin.state.evaluate.code import ZERO, Value
from livejoin.state.evaluate.compiler import NARROW_DIGITS, Compiler, scales, unsupported
from livejoin.state.evaluate.of_host import is_of_host

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
TRIED: dict[Function, Function] = {
    "try_add": "add",
    "try_subtract": "subtract",
    "try_multiply": "multiply",
    "try_divide": "divide",
    "try_remainder": "remainder",
    "try_cast": "cast",
}
_SECOND_DIGITS = 6
_MONTH_BITS = 32


def tried(compiler: Compiler, call: Call) -> Value:
    """A function with NULL in place of an error of its own."""
    plain = Call(TRIED[call.function], call.arguments, call.type, call.text)
    if is_of_host(plain):
        return compiler.remembered(call)
    value = compiler.value(plain)
    if not value.fails:
        return value
    status, _ = compiler.code.emit(k.TRY, value.status, call=compiler.number_of(plain))
    return replace(value, status=status)


def cast(compiler: Compiler, call: Call) -> Value:
    """A value in another type."""
    (argument,), to = call.arguments, call.type
    value, of = compiler.value(argument), argument.type
    if of == to:
        return value
    match of.kind, to.kind:
        case "integer", "integer":
            return value if to.bits >= of.bits else compiler.each(k.FIT, call, value, to.bits, fails=True)
        case "months", "integer":
            return value if to.bits >= _MONTH_BITS else compiler.each(k.FIT, call, value, to.bits, fails=True)
        case "integer", "months":
            return compiler.each(k.FIT, call, value, _MONTH_BITS, fails=True)
        case "integer" | "boolean", "double":
            return compiler.each(k.INTEGER_TO_FLOAT if to.bits else k.INTEGER_TO_DOUBLE, call, value)
        case "double", "double":
            return as_float(compiler, call, value)
        case ("boolean", "integer" | "timestamp") | ("string", "binary"):
            return value
        case "timestamp", "timestamp":
            return value  # between an instant and a time of day in UTC
        case "integer" | "timestamp", "boolean":
            return compiler.each(k.TO_BOOLEAN, call, value)
        case "integer" | "boolean", "decimal":
            return _to_decimal(compiler, call, value, _INTEGER_DIGITS[of.bits] if of.kind == "integer" else 1)
        case "integer", "timestamp":
            return compiler.each(k.SECONDS_TO_TIMESTAMP, call, value)
        case "double", "integer":
            return compiler.each(k.DOUBLE_TO_INTEGER, call, value, to.bits, fails=True)
        case "double", "boolean":
            return compiler.each(k.DOUBLE_TO_BOOLEAN, call, value)
        case "double", "timestamp":
            return compiler.each(k.DOUBLE_TO_TIMESTAMP, call, value, fails=True)
        case "double", "decimal":
            return compiler.remembered(call, k.TRY_TO_DECIMAL, to.scale | to.precision << 8)
        case "decimal", "double":
            return compiler.remembered(call) if to.bits else compiler.remembered(call, k.TRY_TO_DOUBLE, of.scale)
        case "decimal", "decimal":
            return _decimal_cast(compiler, call, value, of)
        case "decimal", "boolean":
            a = compiler.wide(value)
            order, _ = compiler.code.emit(k.COMPARE, a.at, ZERO, k.BY_DECIMAL, status=a.status)
            return compiler.each(k.TO_BOOLEAN, call, replace(a, at=order, wide=False))
        case "decimal", "integer":
            x = of.scale | 38 << 24
            return compiler.of_words(k.DECIMAL_TO_INTEGER, call, value, Value(ZERO, wide=True), x, to.bits)
        case "date", "timestamp":
            return compiler.each(k.DATE_TO_TIMESTAMP, call, value, fails=True)
        case "timestamp", "date":
            return compiler.each(k.TIMESTAMP_TO_DATE, call, value)
        case "timestamp", "integer":
            seconds = compiler.each(k.TIMESTAMP_TO_SECONDS, call, value)
            return seconds if to.bits == 64 else compiler.each(k.FIT, call, seconds, to.bits, fails=True)
        case "timestamp", "double":
            return as_float(compiler, call, compiler.each(k.TIMESTAMP_TO_DOUBLE, call, value))
        case "timestamp", "decimal":
            x = _SECOND_DIGITS | to.scale << 16 | to.precision << 24
            return compiler.of_words(k.RESCALE, call, value, Value(ZERO, wide=True), x, k.HALF_UP | to.scale << 8)
        case _:
            raise unsupported(call, " is not supported")


def _to_decimal(compiler: Compiler, call: Call, value: Value, digits: int) -> Value:
    """An integer of so many digits as a decimal."""
    to = call.type
    if digits + to.scale <= min(to.precision, NARROW_DIGITS):
        return compiler.of_type(compiler.scaled(value, SqlType("decimal"), to.scale), to)
    x = to.scale << 16 | to.precision << 24
    return compiler.of_words(k.RESCALE, call, value, Value(ZERO, wide=True), x, k.HALF_UP | to.scale << 8)


def _decimal_cast(compiler: Compiler, call: Call, value: Value, of: SqlType) -> Value:
    to = call.type
    if to.scale >= of.scale and to.precision - to.scale >= of.precision - of.scale:
        if to.scale == of.scale:
            return compiler.of_type(value, to)
        if of.precision + to.scale - of.scale <= NARROW_DIGITS:
            return compiler.of_type(compiler.scaled(value, of, to.scale), to)
    y = k.HALF_UP | to.scale << 8
    return compiler.of_words(k.RESCALE, call, value, Value(ZERO, wide=True), scales(of, call), y)
