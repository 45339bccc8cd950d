"""From trees of scalar expressions to a program of the machine.

A node is compiled once however often it stands in the trees. Which argument's NULL or error counts is the order in
which Spark looks at arguments: from the left, and the divisor first. What the machine does not compute is a function of
the host whose results are remembered (`livejoin.state.evaluate.memo`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Field, Function, Scalar
from livejoin.schema import SqlType
from livejoin.state.evaluate import arithmetic, bits, casts, logic, times
from livejoin.state.evaluate.code import Finished, Value
from livejoin.state.evaluate.compiler import Compiler, is_constant, unsupported
from livejoin.state.evaluate.memo import Remembered
from livejoin.state.evaluate.of_host import is_of_host

_OF_ONE: dict[Function, int] = {
    "bit_count": k.BIT_COUNT,
    "sign": k.SIGN,
    "square_root": k.SQUARE_ROOT,
    "exponential": k.EXPONENTIAL,
    "logarithm": k.LOGARITHM,
    "logarithm_10": k.LOGARITHM_10,
    "hour": k.HOUR,
    "minute": k.MINUTE,
    "second": k.SECOND,
    "second_with_fraction": k.OF_MINUTE,
}
_NOT_STRICT = (
    "and",
    "or",
    "case",
    "coalesce",
    "is_null",
    "is_nan",
    "null_safe_equal",
    "in",
    "greatest",
    "least",
    "position",
    *bits.HASHES,
)
_WITH_START = 3


@dataclass(frozen=True, eq=False)
class Compiled:
    """A program with its memos, calls and fields.

    Args:
        code: The code of the machine.
        memos: Functions of the host.
        calls: The call that each number in an error names.
        fields: The fields that it reads, by position.
        lines: The line of the high words of each result, -1 where it has none.
        count: Lines of the output.
    """

    code: Finished
    memos: tuple[Remembered, ...]
    calls: tuple[Call, ...]
    fields: tuple[Field, ...]
    lines: tuple[int, ...]
    count: int


def compiled(scalars: Sequence[Scalar]) -> Compiled:
    """The program of some expressions.

    Raises:
        ExpressionError: A call of a function that is not evaluated for such arguments.
    """
    compiler = Compiler(_call)
    values = [compiler.value(scalar) for scalar in scalars]
    wide = [i for i, value in enumerate(values) if value.wide]
    lines = [-1] * len(values)
    for i, position in enumerate(wide):
        lines[position] = 2 * len(values) + i
    for i, (scalar, value) in enumerate(zip(scalars, values, strict=True)):
        reserved = scalar.type.word_kind in ("integer", "timestamp") and not isinstance(scalar, Field)
        flags = k.REFUSE_RESERVED if reserved else 0
        call = compiler.number_of(scalar) if isinstance(scalar, Call) else 0
        compiler.code.store(value, i, lines[i], len(values), flags, call)
    fields = tuple(sorted(compiler.fields.values(), key=lambda field: field.position))
    count = 2 * len(values) + len(wide)
    return Compiled(compiler.code.finish(), tuple(compiler.memos), tuple(compiler.calls), fields, tuple(lines), count)


def _call(compiler: Compiler, call: Call) -> Value:
    """Where the value of a call lies."""
    function = call.function
    if function not in _NOT_STRICT and any(is_constant(argument, None) for argument in call.arguments):
        return compiler.null(call.type)  # as Spark, before it looks at any row
    if function == "position" and len(call.arguments) == _WITH_START:
        return _position_from(compiler, call)
    if function in casts.TRIED:
        return casts.tried(compiler, call)
    if is_of_host(call):
        return compiler.remembered(call)
    if function in _OF_ONE:
        return compiler.each(_OF_ONE[function], call, compiler.value(call.arguments[0]))
    if function not in _COMPILERS:
        raise unsupported(call, " is not supported")
    return _COMPILERS[function](compiler, call)


def _position_from(compiler: Compiler, call: Call) -> Value:
    """`position` from a start on, which is 0 where the start is NULL, whatever the strings are."""
    text, search, start = call.arguments
    zero = Constant(0, call.type)
    found = compiler.remembered(
        Call("position", (text, search, Call("coalesce", (start, zero), start.type)), call.type)
    )
    no_start = compiler.value(Call("is_null", (start,), SqlType("boolean")))
    return compiler.if_true(no_start, compiler.value(zero), found)


_COMPILERS: dict[Function, Callable[[Compiler, Call], Value]] = {
    "and": logic.junction,
    "or": logic.junction,
    "not": logic.negation,
    "case": logic.case,
    "coalesce": logic.coalesce,
    "is_null": logic.is_null,
    "is_nan": logic.is_nan,
    "null_safe_equal": logic.null_safe_equal,
    "in": logic.is_in,
    "greatest": logic.greatest,
    "least": logic.least,
    **dict.fromkeys(logic.COMPARISONS, logic.compare),
    **dict.fromkeys(arithmetic.OPERATIONS, arithmetic.operation),
    "negate": arithmetic.negate,
    "absolute": arithmetic.absolute,
    **dict.fromkeys(arithmetic.ROUND, arithmetic.rounded),
    "cast": casts.cast,
    **dict.fromkeys(times.PARTS, times.part),
    **dict.fromkeys(times.OF_DATES, times.of_dates),
    **dict.fromkeys(bits.COMBINED, bits.combined),
    **dict.fromkeys(bits.SHIFTS, bits.shifted),
    "bit_not": bits.inverted,
    **dict.fromkeys(bits.HASHES, bits.hashed),
    "microseconds_of": times.microseconds_of,
    "difference_in_units": times.difference_in_units,
    "truncate_date": times.truncate_date,
    "truncate_time": times.truncate_time,
    "make_date": times.make_date,
    "add_interval": times.add_interval,
}
