"""Constants in the place of calls that depend on no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from livejoin.query.scalar import Call, Constant, Field, Scalar

_LAZY = ("and", "or", "case", "coalesce")  # they look at their first argument in any case
Evaluate = Callable[[Sequence[Call]], Sequence[Scalar]]


def folded(scalars: Sequence[Scalar], evaluate: Evaluate) -> Sequence[Scalar]:
    """Expressions whose largest calls without fields are replaced.

    Args:
        scalars: The expressions.
        evaluate: Gives what stands for each of some such calls.

    Cost: O(nodes), and one call of ``evaluate`` if there are any.
    """
    depends: dict[int, bool] = {}
    calls: dict[int, Call] = {}
    for scalar in scalars:
        _mark(scalar, depends)
    for scalar in scalars:
        _collect(scalar, depends, calls)
    if not calls:
        return scalars
    values = dict(zip(calls, evaluate(list(calls.values())), strict=True))
    return [_replaced(scalar, depends, values) for scalar in scalars]


def failing(scalar: Scalar, failures: Mapping[int, Exception]) -> Exception | None:
    """Why an expression fails for every row whose columns are not NULL; None if it does not, or not for its constants.

    Args:
        scalar: The expression.
        failures: The errors of the calls that depend on no row, by their ids.
    """
    if not isinstance(scalar, Call):
        return None
    if id(scalar) in failures:
        return failures[id(scalar)]
    looked_at = scalar.arguments[:1] if scalar.function in _LAZY else scalar.arguments
    return next((found for argument in looked_at if (found := failing(argument, failures))), None)


def _mark(scalar: Scalar, depends: dict[int, bool]) -> bool:
    """Note for each node, by its id, whether it depends on the row."""
    if id(scalar) not in depends:
        match scalar:
            case Field():
                depends[id(scalar)] = True
            case Constant():
                depends[id(scalar)] = False
            case Call():
                marks = [_mark(argument, depends) for argument in scalar.arguments]  # all, not up to the first
                depends[id(scalar)] = any(marks)
    return depends[id(scalar)]


def _collect(scalar: Scalar, depends: dict[int, bool], calls: dict[int, Call]) -> None:
    if isinstance(scalar, Call):
        if not depends[id(scalar)]:
            calls[id(scalar)] = scalar
            return
        for argument in scalar.arguments:
            _collect(argument, depends, calls)


def _replaced(scalar: Scalar, depends: dict[int, bool], values: dict[int, Scalar]) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    if not depends[id(scalar)]:
        return values[id(scalar)]
    return replace(scalar, arguments=tuple(_replaced(argument, depends, values) for argument in scalar.arguments))
