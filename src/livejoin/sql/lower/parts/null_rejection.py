"""Whether a condition can be true for a row of NULLs.

The columns of an outer join's side without a match are NULL. A condition that cannot be true then, whatever the other
columns are, *rejects* these NULLs: the rows that it keeps have a match (Galindo-Legaria and Rosenthal, 1997, section
2). The check is sound: a condition that it does not understand counts as one that may be true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.resolved.column import REF

_ANY: frozenset[bool | None] = frozenset({True, False, None})
_NULL: frozenset[bool | None] = frozenset({None})

# Functions that give NULL if one of their arguments is NULL.
_STRICT = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil),
    *(exp.Upper, exp.Lower, exp.Length, exp.Trim, exp.Substring, exp.DPipe, exp.Left, exp.Right),
    *(exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Hour, exp.Minute, exp.Second, exp.DateDiff),
    *(exp.Paren, exp.Cast, exp.TryCast),
)


def rejects(condition: exp.Expr, nulls: Collection[ColumnRef] | Callable[[ColumnRef], bool]) -> bool:
    """Whether a resolved condition cannot be true if some columns are NULL.

    >>> from sqlglot import parse_one
    >>> def resolved(text):
    ...     found = parse_one(text, dialect="spark")
    ...     for column in found.find_all(exp.Column):
    ...         column.meta[REF] = ColumnRef(0, "abc".index(column.name))
    ...     return found
    >>> texts = ["a < b", "a + 1 = 2 OR b = 1", "a = 1 OR a = 2 AND b = 1", "NOT a IN (1, b)", "a IS NULL", "a <=> b"]
    >>> [rejects(resolved(text), {ColumnRef(0, 0)}) for text in texts]
    [True, False, True, True, False, False]
    >>> rejects(resolved("NOT (a IS NULL OR b = 1)"), {ColumnRef(0, 0)}), rejects(resolved("coalesce(a, 1) = 1"), {})
    (True, False)
    """
    return True not in _truths(condition, nulls if callable(nulls) else nulls.__contains__)


def reject(conditions: Iterable[exp.Expr], nulls: Collection[ColumnRef] | Callable[[ColumnRef], bool]) -> bool:
    """Whether one of some conditions `rejects` the NULLs."""
    return any(rejects(condition, nulls) for condition in conditions)


def gives_null(value: exp.Expr, nulls: Collection[ColumnRef] | Callable[[ColumnRef], bool]) -> bool:
    """Whether a resolved expression is NULL if some columns are."""
    return _gives_null(value, nulls if callable(nulls) else nulls.__contains__)


def _truths(node: exp.Expr, is_null: Callable[[ColumnRef], bool]) -> frozenset[bool | None]:
    """The values that a condition may have; None is NULL."""
    match node:
        case exp.Paren():
            return _truths(node.this, is_null)
        case exp.Boolean():
            return frozenset({bool(node.this)})
        case exp.And() | exp.Or():
            sides = [_truths(side, is_null) for side in (node.this, node.expression)]
            of_both = _both if isinstance(node, exp.And) else _either
            return frozenset(of_both(a, b) for a in sides[0] for b in sides[1])
        case exp.Not():
            return frozenset(None if value is None else not value for value in _truths(node.this, is_null))
        case exp.Between() if not _gives_null(node.this, is_null):
            bounds = (node.args["low"], node.args["high"])
            return frozenset({False, None}) if any(_gives_null(bound, is_null) for bound in bounds) else _ANY
        case exp.Is() if isinstance(node.expression, exp.Null):
            return frozenset({True}) if _gives_null(node.this, is_null) else frozenset({True, False})
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            wanted = bool(node.expression.this)
            return frozenset(value is wanted for value in _truths(node.this, is_null))
        case _:
            return _NULL if _gives_null(node, is_null) else _ANY


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _gives_null(node: exp.Expr, is_null: Callable[[ColumnRef], bool]) -> bool:
    """Whether an expression is certainly NULL."""
    match node:
        case exp.Null():
            return True
        case exp.Column():
            return REF in node.meta and is_null(node.meta[REF])
        case exp.Between():
            return _gives_null(node.this, is_null)
        case exp.In():
            return not node.args.get("query") and _gives_null(node.this, is_null)
        case exp.Coalesce():
            return all(_gives_null(part, is_null) for part in (node.this, *node.expressions))
        case exp.And() | exp.Or() | exp.Not():
            return _truths(node, is_null) == _NULL
        case _ if isinstance(node, _STRICT):
            return any(
                _gives_null(part, is_null) for part in node.iter_expressions() if isinstance(part, exp.Condition)
            )
        case _:
            return False
