"""Checks of constant patterns, formats and time zones when they are bound, so that a refusal has their position."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.errors import ExpressionError
from livejoin.query.scalar import Call, Constant, Scalar, fields_of
from livejoin.query.texts.patterns import PATTERNS, WRITTEN
from livejoin.sql.scalars.operands import Refused


def check_patterns(call: Call) -> None:
    """Check the patterns of a call, and of the inner calls made for it, which have no text yet.

    Raises:
        Refused: A pattern is malformed, has a part that is not evaluated as in Spark, or is no constant where it must
            be one.
    """
    waiting: list[Scalar] = [call]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Call) or part.text:
            continue
        waiting += part.arguments
        if part.function in PATTERNS:
            _check(part, _pattern_of(part))


def _pattern_of(call: Call) -> Sequence[Scalar]:
    """The pattern arguments of a call: all after the first, except the number of the part in SPLIT."""
    return call.arguments[1:2] if call.function == "split_item" else call.arguments[1:]


def _check(call: Call, pattern: Sequence[Scalar]) -> None:
    if call.function in WRITTEN and any(True for part in pattern for _ in fields_of(part)):
        msg = "a pattern is written into the query, as a constant"
        raise Refused(msg)
    values = [part.value if isinstance(part, Constant) else None for part in pattern]
    if None in values:
        return
    try:
        PATTERNS[call.function](*values)
    except ExpressionError as error:
        raise Refused(str(error)) from error
