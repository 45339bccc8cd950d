"""The rules that Numba asks first for the type of a sum, a comparison or an item: those of integers and of arrays.

For ``a + b`` Numba asks rules of records, strings, lists and dictionaries too, some twenty, and each looks up the
options of the compiler; that of integers is among the last. It was a quarter of the time of compiling. A rule that is
registered for the processor comes before those for every target, so some of Numba's own are registered once more, for
arguments of which none of the others knows anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from numba.core import types
from numba.core.typing import arraydecl, builtins
from numba.core.typing.templates import infer_global

FIRST = {"target": "cpu"}
"""What a rule has as its `metadata` that is asked before those for every target."""

_RULES: dict[Any, Any] = {
    bool: builtins.Bool,
    operator.add: builtins.BinOpAdd,
    operator.iadd: builtins.BinOpAdd,
    operator.sub: builtins.BinOpSub,
    operator.isub: builtins.BinOpSub,
    operator.mul: builtins.BinOpMul,
    operator.imul: builtins.BinOpMul,
    operator.lshift: builtins.BitwiseLeftShift,
    operator.rshift: builtins.BitwiseRightShift,
    operator.and_: builtins.BitwiseAnd,
    operator.or_: builtins.BitwiseOr,
    operator.xor: builtins.BitwiseXor,
    operator.eq: builtins.CmpOpEq,
    operator.ne: builtins.CmpOpNe,
    operator.lt: builtins.CmpOpLt,
    operator.le: builtins.CmpOpLe,
    operator.gt: builtins.CmpOpGt,
    operator.ge: builtins.CmpOpGe,
}


def ask_plain_first() -> None:
    """Register the rules; once a process."""
    for function, rule in _RULES.items():
        _ask_first(function, rule, _are_plain)
    _ask_first(operator.getitem, arraydecl.GetItemBuffer, _is_item)
    _ask_first(operator.setitem, arraydecl.SetItemBuffer, _is_item)


def _ask_first(function: Callable[..., Any], rule: Any, holds: Callable[[Sequence[Any]], bool]) -> None:
    class First(rule):  # type: ignore[misc]
        metadata: Any = FIRST

        def apply(self, args: Sequence[Any], kws: Any) -> Any:
            return super().apply(args, kws) if holds(args) else None

    infer_global(function)(First)


def _are_plain(args: Sequence[Any]) -> bool:
    """Whether all arguments are integers or truth values."""
    return all(isinstance(one, (types.Integer, types.Boolean)) for one in args)


def _is_item(args: Sequence[Any]) -> bool:
    """Whether an array is indexed by an integer."""
    return isinstance(args[0], types.Array) and isinstance(args[1], types.Integer)
