"""The bits of integers, and the hashes of values."""

from __future__ import annotations

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Function
from livejoin.schema import SqlType
from livejoin.state.evaluate.code import ZERO, Value
from livejoin.state.evaluate.compiler import Compiler, is_wide

COMBINED: tuple[Function, ...] = ("bit_and", "bit_or", "bit_xor")
SHIFTS: dict[Function, int] = {
    "shift_left": k.SHIFT_LEFT,
    "shift_right": k.SHIFT_RIGHT,
    "shift_right_unsigned": k.SHIFT_RIGHT_UNSIGNED,
}
HASHES: dict[Function, int] = {"murmur_hash": 0, "xx_hash": k.HASH_64}

_SEED = 42  # Spark's


def combined(compiler: Compiler, call: Call) -> Value:
    """AND, OR or XOR of two words; what one of both has alone is what either has without what both have."""
    left, right = (compiler.value(argument) for argument in call.arguments)
    both = compiler.plain(k.BOTH, left, right)
    if call.function == "bit_and":
        return both
    either = compiler.plain(k.EITHER, left, right)
    return either if call.function == "bit_or" else compiler.plain(k.PLAIN_SUBTRACT, either, both)


def inverted(compiler: Compiler, call: Call) -> Value:
    """All bits of a word inverted, which is what it lacks to -1."""
    value = compiler.value(call.arguments[0])
    return compiler.plain(k.PLAIN_SUBTRACT, Value(compiler.code.constant(-1)), value)


def shifted(compiler: Compiler, call: Call) -> Value:
    """A shift of an INT or a BIGINT."""
    value, by = (compiler.value(argument) for argument in call.arguments)
    return compiler.each_of_two(SHIFTS[call.function], call, value, by, call.type.bits, fails=False)


def hashed(compiler: Compiler, call: Call) -> Value:
    """A hash of values: that of the ones before is the seed of the next."""
    found = Value(compiler.code.constant(_SEED))
    for argument in call.arguments:
        value = compiler.value(argument)
        how = _kind(argument.type) | HASHES[call.function]
        at, out = compiler.code.emit(k.HASH, value.at, found.at, how, value.status, found.status, says=True)
        found = Value(at, out if value.status != ZERO or found.status != ZERO else ZERO, found.fails or value.fails)
    return found


def _kind(type: SqlType) -> int:
    """What Spark takes a value of a type for."""
    match type.kind:
        case "string" | "binary":
            return k.HASH_TEXT
        case "double":
            return k.HASH_FLOAT if type.bits else k.HASH_LONG
        case "decimal":
            return k.HASH_WIDE if is_wide(type) else k.HASH_LONG
        case "integer":
            return k.HASH_LONG if type.bits == 64 else k.HASH_INT
        case "timestamp" | "interval":
            return k.HASH_LONG
        case _:  # BOOLEAN, DATE, and months
            return k.HASH_INT
