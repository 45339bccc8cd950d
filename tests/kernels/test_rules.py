"""A rule that is asked first gives what would be given without it."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import pytest
from numba.core import types
from numba.core.errors import TypingError
from numba.core.registry import cpu_target

from livejoin.kernels.compiling.rules import _RULES, FIRST

PLAIN = (types.boolean, types.int32, types.int64, types.uint64, types.literal(3))
OTHERS = (types.float64, types.Optional(types.int64), types.none)
ARRAYS = (
    types.Array(types.int64, 1, "C"),
    types.Array(types.uint8, 2, "A"),
    types.Array(types.int64, 1, "C", readonly=True),
)


def both(function: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """What Numba answers, and what it answers without the rules that are asked first."""
    context = cpu_target.typing_context
    context.refresh()
    known = context.resolve_value_type(function)
    others = types.Function(tuple(rule for rule in known.templates if rule.metadata is not FIRST))
    return answer(known, context, args), answer(others, context, args)


def answer(function: Any, context: Any, args: tuple[Any, ...]) -> Any:
    try:
        found = function.get_call_type(context, args, {})
    except TypingError:
        return "refused"
    return found.return_type, tuple(types.unliteral(one) for one in found.args)  # two constants may be told apart


@pytest.mark.parametrize("function", _RULES, ids=lambda function: function.__name__)
def test_of_integers(function: Any) -> None:
    width = 1 if function is bool else 2
    answers = [both(function, args) for args in product(PLAIN + OTHERS, repeat=width)]
    assert [first for first, _ in answers] == [second for _, second in answers]
    assert sum(first != "refused" for first, _ in answers) >= len(PLAIN) ** width


def test_of_items() -> None:
    texts = types.UniTuple(types.int64, 2)
    for array, index in product((*ARRAYS, texts, types.unicode_type), PLAIN[1:]):
        read, without = both(operator.getitem, (array, index))
        assert read == without
        if array in ARRAYS:
            assert read != "refused"
            written, without = both(operator.setitem, (array, index, read[0]))
            assert written == without
            assert (written != "refused") == array.mutable
