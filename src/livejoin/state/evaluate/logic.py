"""Logic and comparisons: what looks at whether a value is NULL or an error, and orders."""

from __future__ import annotations

from dataclasses import replace

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.state.evaluate.code import ZERO, Value
from livejoin.state.evaluate.compiler import Compiler, is_constant, is_wide
from livejoin.state.evaluate.constants import constant_word

COMPARISONS: dict[Function, tuple[int, bool]] = {
    "equal": (k.EQUAL, False),
    "not_equal": (k.NOT_EQUAL, False),
    "less": (k.LESS, False),
    "less_equal": (k.LESS_EQUAL, False),
    "greater": (k.LESS, True),
    "greater_equal": (k.LESS_EQUAL, True),
}


def junction(compiler: Compiler, call: Call) -> Value:
    """AND or OR of two or more values."""
    op, plain = (k.AND, k.BOTH) if call.function == "and" else (k.OR, k.EITHER)
    decides = call.function == "or"
    if any(is_constant(argument, decides) for argument in call.arguments):
        return Value(compiler.code.constant(int(decides)))  # as Spark, before it looks at any row
    value = compiler.value(call.arguments[0])
    for argument in call.arguments[1:]:
        other = compiler.value(argument)
        if value.status == other.status == ZERO:
            value = compiler.plain(plain, value, other)
        else:
            at, out = compiler.code.emit(op, value.at, other.at, x=value.status, y=other.status, says=True)
            value = Value(at, out, value.fails or other.fails)
    return value


def negation(compiler: Compiler, call: Call) -> Value:
    """NOT."""
    value = compiler.value(call.arguments[0])
    return replace(value, at=compiler.code.emit(k.NOT, value.at)[0])


def is_null(compiler: Compiler, call: Call) -> Value:
    """IS NULL: never NULL, and an error where the value is one."""
    value = compiler.value(call.arguments[0])
    if value.status == ZERO:
        return Value(ZERO)
    at, out = compiler.code.emit(k.IS_NULL, value.status, says=value.fails)
    return Value(at, out, value.fails)


def is_nan(compiler: Compiler, call: Call) -> Value:
    """Whether a double is NaN; false for NULL."""
    found = compiler.each(k.IS_NAN, call, compiler.value(call.arguments[0]))
    return compiler.either(found, Value(ZERO))


def case(compiler: Compiler, call: Call) -> Value:
    """The value behind the first condition that is true, else the last one."""
    *branches, default = call.arguments
    rest = compiler.of_type(compiler.value(default), call.type)
    for condition, argument in zip(branches[-2::-2], branches[::-2], strict=True):
        test, value = compiler.value(condition), compiler.of_type(compiler.value(argument), call.type)
        rest = compiler.if_true(test, value, rest)
    return rest


def coalesce(compiler: Compiler, call: Call) -> Value:
    """The first value that is not NULL."""
    value = compiler.of_type(compiler.value(call.arguments[0]), call.type)
    for argument in call.arguments[1:]:
        value = compiler.either(value, compiler.of_type(compiler.value(argument), call.type))
    return value


def _pair(compiler: Compiler, left: Scalar, right: Scalar) -> tuple[Value, Value]:
    """Two values of one type, in as many words as the wider one has."""
    a, b = compiler.value(left), compiler.value(right)
    return (compiler.wide(a), compiler.wide(b)) if a.wide or b.wide else (a, b)


def compare(compiler: Compiler, call: Call) -> Value:
    """A comparison by one of `COMPARISONS`."""
    a, b = _pair(compiler, *call.arguments)
    op, turned = COMPARISONS[call.function]
    kind = call.arguments[0].type.word_kind
    ordered = op in (k.LESS, k.LESS_EQUAL)
    left, right = a.at, b.at
    status = compiler.code.merge(a.status, b.status)
    if a.wide or (kind == "string" and ordered):
        how = k.BY_DECIMAL if a.wide else k.BY_TEXT
        left, _ = compiler.code.emit(k.COMPARE, a.at, b.at, how, status=status)
        right = ZERO
    elif kind == "double" and ordered:
        left, right = compiler.code.emit(k.KEY, a.at)[0], compiler.code.emit(k.KEY, b.at)[0]
    if turned:
        left, right = right, left
    return Value(compiler.code.emit(op, left, right)[0], status, a.fails or b.fails)


def null_safe_equal(compiler: Compiler, call: Call) -> Value:
    """Equality by which NULL equals NULL alone."""
    a, b = _pair(compiler, *call.arguments)
    how = k.BY_DECIMAL if a.wide else k.BY_WORD
    at, out = compiler.code.emit(k.SAME, a.at, b.at, how, a.status, b.status, says=True)
    return Value(at, out, a.fails or b.fails)


def is_in(compiler: Compiler, call: Call) -> Value:
    """Whether a value is one of some others: by a search where these are constants."""
    tested, *candidates = call.arguments
    value = compiler.value(tested)
    constants = [c for c in candidates if isinstance(c, Constant)]
    if len(constants) < len(candidates) or value.wide or any(is_wide(c.type) for c in constants):
        boolean = SqlType("boolean")
        equal = tuple(Call("equal", (tested, c), boolean, call.text) for c in candidates)
        return compiler.value(Call("or", equal, boolean, call.text) if len(equal) > 1 else equal[0])
    known = [c for c in constants if c.value is not None]
    if tested.type.word_kind == "string":
        texts = tuple(sorted({c.value for c in known if isinstance(c.value, (str, bytes))}, key=_bytes))
        offset, size = compiler.code.set_of_texts(texts), len(texts)
    else:
        words = {constant_word(c) for c in known}
        offset, size = compiler.code.set_of(list(words)), len(words)
    found = Value(compiler.code.emit(k.IN_SET, value.at, x=offset, y=size)[0], value.status, value.fails)
    if len(known) == len(constants):
        return found
    return compiler.if_true(found, Value(compiler.code.constant(1)), _no_match(compiler, found))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _no_match(compiler: Compiler, found: Value) -> Value:
    """NULL, or the error that the search has."""
    return Value(ZERO, compiler.code.merge(found.status, compiler.code.constant(k.NULL)), found.fails)


def greatest(compiler: Compiler, call: Call) -> Value:
    """The greatest of the values that are not NULL."""
    return _extreme(compiler, call, k.GREATEST)


def least(compiler: Compiler, call: Call) -> Value:
    """The least of the values that are not NULL."""
    return _extreme(compiler, call, k.LEAST)


def _extreme(compiler: Compiler, call: Call, op: int) -> Value:
    values = [compiler.of_type(compiler.value(argument), call.type) for argument in call.arguments]
    words = 2 if is_wide(call.type) else 1
    orders = {"string": k.BY_TEXT, "double": k.BY_DOUBLE}
    how = k.BY_DECIMAL if words == 2 else orders.get(call.type.word_kind, k.BY_WORD)
    value = values[0]
    for other in values[1:]:
        at, out = compiler.code.emit(op, value.at, other.at, how, value.status, other.status, words=words, says=True)
        value = Value(at, out, value.fails or other.fails, words == 2)
    return value
