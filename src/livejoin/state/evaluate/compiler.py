"""What compiling a node needs: where values lie, and the kinds of instructions that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Field, Scalar
from livejoin.schema import SqlType
from livejoin.state.evaluate.code import ZERO, Code, Value
from livejoin.state.evaluate.constants import constant_word
from livejoin.state.evaluate.memo import Key, Remembered
from livejoin.state.evaluate.of_host import HostCall, host_call

NARROW_DIGITS = 18
"""Decimals with so many digits have one word."""

DIVISOR_FIRST = ("divide", "integral_divide", "remainder", "positive_remainder")


class Compiler:
    """Compiles nodes to code; mutable.

    Args:
        call: Compiles a call.
    """

    def __init__(self, call: Callable[[Compiler, Call], Value]) -> None:
        self._call = call
        self.code = Code()
        self.memos: list[Remembered] = []
        self.calls: list[Call] = []
        self.fields: dict[int, Field] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._seen: dict[int, tuple[Scalar, tuple[object, ...]]] = {}
        self._values: dict[tuple[object, ...], Value] = {}
        self._known: dict[tuple[object, ...], int] = {}

    def value(self, scalar: Scalar) -> Value:
        """Where the value of a node lies."""
        key = self.key(scalar)
        if key not in self._values:
            match scalar:
                case Field():
                    found = self._field(scalar)
                case Constant():
                    found = self._constant(scalar)
                case Call():
                    found = self._call(self, scalar)
            self._values[key] = found
        return self._values[key]

    def number_of(self, call: Call) -> int:
        """The number of a call in errors; equal calls have one."""
        key = self.key(call)
        if key not in self._numbers:
            self._numbers[key] = len(self.calls)
            self.calls.append(call)
        return self._numbers[key]

    def key(self, scalar: Scalar) -> tuple[object, ...]:
        """What equal nodes have in common: a call is named by those of its arguments, and not by its text."""
        found = self._seen.get(id(scalar))
        if found is not None:
            return found[1]
        key: tuple[object, ...]
        match scalar:
            case Field():
                key = ("field", scalar.position, scalar.nullable)
            case Constant():
                key = ("constant", repr(scalar.value), scalar.type)
            case Call():
                parts = tuple(self._number(self.key(argument)) for argument in scalar.arguments)
                key = (scalar.function, parts, scalar.type)
        self._seen[id(scalar)] = (scalar, key)  # the node is kept, so that its id stays its own
        return key

    def _number(self, key: tuple[object, ...]) -> int:
        return self._known.setdefault(key, len(self._known))

    def _field(self, field: Field) -> Value:
        self.fields[field.position] = field
        wide = is_wide(field.type)
        op = k.LOAD_WIDE if wide else k.LOAD
        at, status = self.code.emit(op, x=field.position, words=2 if wide else 1, says=field.nullable)
        return Value(at, status, wide=wide)

    def _constant(self, constant: Constant) -> Value:
        if constant.value is None:
            return self.null(constant.type)
        if isinstance(constant.value, (str, bytes)):
            return Value(self.code.text(constant.value))
        word = constant_word(constant)
        if is_wide(constant.type):
            return Value(self.code.constant(_signed(word), word >> 64), wide=True)
        return Value(self.code.constant(word))

    def null(self, type: SqlType) -> Value:
        """A NULL of a type."""
        return Value(ZERO, self.code.constant(k.NULL), wide=is_wide(type))

    def each(self, op: int, call: Call, value: Value, x: int = 0, y: int = 0, fails: bool = False) -> Value:
        """An operation of one word, a row at a time."""
        number = self.number_of(call)
        at, status = self.code.emit(op, value.at, x=x, y=y, status=value.status, call=number, says=True)
        return Value(at, status, value.fails or fails)

    def each_of_two(
        self, op: int, call: Call, a: Value, b: Value, x: int = 0, fails: bool = True, second_first: bool = False
    ) -> Value:
        """An operation of two words, a row at a time."""
        status = self.code.merge(b.status, a.status) if second_first else self.code.merge(a.status, b.status)
        number = self.number_of(call)
        at, out = self.code.emit(op, a.at, b.at, x=x, status=status, call=number, says=True)
        return Value(at, out, a.fails or b.fails or fails)

    def plain(self, op: int, a: Value, b: Value, words: int = 1) -> Value:
        """An operation of two words that cannot fail."""
        at, _ = self.code.emit(op, a.at, b.at, words=words)
        return Value(at, self.code.merge(a.status, b.status), a.fails or b.fails, words == 2)

    def wide(self, value: Value) -> Value:
        """A decimal in two words."""
        if value.wide:
            return value
        at, _ = self.code.emit(k.EXTEND, value.at, words=2)
        return replace(value, at=at, wide=True)

    def of_type(self, value: Value, type: SqlType) -> Value:
        """A decimal in as many words as its type has."""
        return self.wide(value) if is_wide(type) else replace(value, wide=False)

    def if_true(self, test: Value, value: Value, rest: Value) -> Value:
        """One value where a condition is true, else the other one; both in as many words."""
        words = 2 if value.wide else 1
        at, out = self.code.emit(
            k.IF_TRUE, test.at, value.at, rest.at, test.status, value.status, rest.status, words, words, says=True
        )
        return Value(at, out, test.fails or value.fails or rest.fails, value.wide)

    def either(self, value: Value, other: Value) -> Value:
        """A value where it is not NULL, else the other one."""
        if value.status == ZERO:
            return value
        words = 2 if value.wide else 1
        at, out = self.code.emit(
            k.COALESCE, value.at, other.at, x=value.status, y=other.status, call=words, words=words, says=True
        )
        return Value(at, out, value.fails or other.fails, value.wide)

    def of_words(self, op: int, call: Call, left: Value, right: Value, x: int, y: int = 0) -> Value:
        """An operation of decimals in two words."""
        a, b = self.wide(left), self.wide(right)
        first, second = (b, a) if call.function in DIVISOR_FIRST else (a, b)
        status = self.code.merge(first.status, second.status)
        number = self.number_of(call)
        at, out = self.code.emit(op, a.at, b.at, x=x, y=y, status=status, call=number, words=2, says=True)
        return Value(at, out, True, is_wide(call.type))

    def scaled(self, value: Value, type: SqlType, scale: int) -> Value:
        """A decimal of one word with more digits behind the point, which fit."""
        if scale == type.scale:
            return value
        return self.plain(k.PLAIN_MULTIPLY, value, Value(self.code.constant(10 ** (scale - type.scale))))

    def remembered(self, call: Call, tries: int = k.NOTHING, digits: int = 0) -> Value:
        """A function of the host, by the values that it is computed from."""
        made: HostCall = host_call(call, self.key, self.number_of)
        if made.leaves != call.arguments[:1]:  # of a constant, or of what the host computes too
            tries = k.NOTHING
        if made.pattern is not None:
            tries, digits = k.TRY_LIKE, self.code.pattern(made.pattern)
        registers: list[int] = []
        keys: list[Key] = []
        status, fails = ZERO, made.fails
        for leaf in made.leaves:
            value = self.value(leaf)
            keys.append(Key(len(registers), leaf.type, value.wide))
            registers += [value.at, value.at + 1] if value.wide else [value.at]
            status, fails = self.code.merge(status, value.status), fails or value.fails
        wide = is_wide(call.type)
        at_keys = self.code.keys(registers)
        at, out = self.code.emit(
            k.MEMO,
            at_keys,
            digits,
            len(registers),
            len(self.memos),
            tries,
            status,
            self.number_of(call),
            words=2,
            says=True,
        )
        self.memos.append(Remembered(tuple(keys), len(registers), call.type, made.compute, made.tests))
        return Value(at, out, fails, wide)


def is_wide(type: SqlType) -> bool:
    """Whether values of a type have two words in the machine."""
    return type.kind == "decimal" and type.precision > NARROW_DIGITS


def unsupported(call: Call, why: str = "") -> ExpressionError:
    """The error for a call that is not evaluated."""
    types = ", ".join(str(argument.type) for argument in call.arguments)
    name = call.text or call.function
    return ExpressionError(f"cannot evaluate {name!r}: {call.function} of ({types}) giving {call.type}{why}")


def is_constant(scalar: Scalar, value: bool | None) -> bool:
    """Whether an expression is this constant."""
    return isinstance(scalar, Constant) and scalar.value is value


def _signed(word: int) -> int:
    """The low word of a number of two, as a signed word."""
    return ((word + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def scales(of: SqlType, call: Call) -> int:
    """The scales and the precision of a cast or a rounding, as an instruction has them."""
    return of.scale | call.type.scale << 16 | call.type.precision << 24
