"""Functions that the host computes, once for each combination of the values that they are computed from.

A call of such a function whose arguments are calls of others is one function of what those are computed from: of
``upper(trim(s))`` no string but the last is made a word. An argument that may fail is computed with the call only if
all are computed from one value, as else a NULL of another value would be looked at before its error.

Values in the host are what Python has for them: str, float, bool, int for integers, dates and timestamps, and the
unscaled int of a decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Scalar
from livejoin.query.texts.failed_call import FailedCall
from livejoin.state.evaluate.bulk import Tests, pattern, tests
from livejoin.state.evaluate.constants import constant_word
from livejoin.state.evaluate.conversions import conversion, rounding
from livejoin.state.evaluate.mathematics import NUMBER_FUNCTIONS
from livejoin.state.evaluate.text import TEXT_FUNCTIONS, text_function

Compute = Callable[[Sequence[Any]], tuple[Any, int]]
"""From values, none of which is NULL, to a value and its status."""

_Node = Callable[[Sequence[Any]], Any]

_MAY_FAIL = (
    "split_part",
    "split_item",
    "repeat",
    "pad_left",
    "pad_right",
    "replace",
    "replace_matches",
    "concatenate",
    "edit_distance",
    "like",
    "like_any_case",
    "parse_time",
    "parse_date",
    "try_parse_time",
    "try_parse_date",
    "time_in_zone",
    "time_from_zone",
)


@dataclass(frozen=True, eq=False)
class HostCall:
    """A function of the host.

    Args:
        leaves: The values that the function is computed from, in the order in which they are looked at.
        compute: Computes it.
        fails: Whether it may fail.
        tests: Tests many values of its only leaf at once; None where nothing does.
        pattern: The pattern that a call matches its only leaf with (`livejoin.kernels.evaluate.like`).
    """

    leaves: tuple[Scalar, ...]
    compute: Compute
    fails: bool
    tests: Tests | None = None
    pattern: tuple[int, ...] | None = None


class _Failed(Exception):
    """A call failed, with its status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def is_of_host(call: Call) -> bool:
    """Whether a call is computed by the host."""
    if call.function in TEXT_FUNCTIONS or call.function in NUMBER_FUNCTIONS:
        return True
    if call.function in ("cast", "try_cast"):
        kinds = (call.arguments[0].type.kind, call.type.kind)
        return ("string" in kinds and kinds not in _AS_THEY_ARE) or kinds in _CONVERTED
    return False


_CONVERTED = (("decimal", "timestamp"),)
_AS_THEY_ARE = (("string", "string"), ("string", "binary"))
_NEVER_FAIL = (("decimal", "double"), ("string", "binary"))


def host_call(call: Call, key: Callable[[Scalar], object], number: Callable[[Call], int]) -> HostCall:
    """A call of a function of the host.

    Args:
        call: The call.
        key: A key that equal expressions share.
        number: The number of a call in errors.
    """
    made = _Maker(key, number, True)
    node = made.top(call)
    if made.fails_inside and len(made.leaves) > 1:
        made = _Maker(key, number, False)
        node = made.top(call)

    def compute(values: Sequence[Any]) -> tuple[Any, int]:
        try:
            value = node(values)
        except _Failed as failure:
            return None, failure.status
        return value, k.NULL if value is None else k.VALUE

    at_once = tests(call) if call.function in TEXT_FUNCTIONS and made.leaves == [call.arguments[0]] else None
    fits = None if at_once is None else pattern(call)
    return HostCall(tuple(made.leaves), compute, made.fails, at_once, fits)


class _Maker:
    """Makes Python functions of calls; mutable."""

    def __init__(self, key: Callable[[Scalar], object], number: Callable[[Call], int], takes_failing: bool) -> None:
        self._key, self._number, self._takes_failing = key, number, takes_failing
        self._places: dict[object, int] = {}
        self.leaves: list[Scalar] = []
        self.fails_inside = False
        self.fails = False

    def top(self, call: Call) -> _Node:
        """The function of a whole call."""
        return self._call(call)

    def _node(self, scalar: Scalar) -> _Node:
        if isinstance(scalar, Constant):
            value = _host_value(scalar)
            return lambda _: value
        if isinstance(scalar, Call) and is_of_host(scalar) and (self._takes_failing or not _may_fail(scalar)):
            self.fails_inside = self.fails_inside or _may_fail(scalar)
            return self._call(scalar)
        key = self._key(scalar)
        if key not in self._places:
            self._places[key] = len(self.leaves)
            self.leaves.append(scalar)
        place = self._places[key]
        return lambda values: values[place]

    def _call(self, call: Call) -> _Node:
        arguments = [self._node(argument) for argument in call.arguments]
        function = _function(call)
        self.fails = self.fails or (_may_fail(call) and call.function != "try_cast")
        status, tried = self._number(call) << k.CODE_BITS, call.function == "try_cast"

        def node(values: Sequence[Any]) -> Any:
            found = []
            for argument in arguments:
                value = argument(values)
                if value is None:
                    return None
                found.append(value)
            try:
                return function(*found)
            except FailedCall as failure:
                if tried:
                    return None
                raise _Failed(failure.code | status) from None

        return node


def _function(call: Call) -> Callable[..., Any]:
    if call.function in TEXT_FUNCTIONS:
        return text_function(call)
    if call.function in NUMBER_FUNCTIONS:
        return NUMBER_FUNCTIONS[call.function]
    if call.function in ("cast", "try_cast"):
        return conversion(call)
    return rounding(call)


def _may_fail(call: Call) -> bool:
    """Whether a call of a function of the host may fail by itself; one with a failing argument is looked at there."""
    if call.function == "cast":
        kinds = call.arguments[0].type.kind, call.type.kind
        return kinds == ("binary", "string") or (call.type.kind != "string" and kinds not in _NEVER_FAIL)
    return call.function in _MAY_FAIL


def _host_value(constant: Constant) -> Any:
    if constant.value is None or constant.type.kind not in ("decimal", "double"):
        return constant.value
    return constant_word(constant) if constant.type.kind == "decimal" else float(constant.value)
