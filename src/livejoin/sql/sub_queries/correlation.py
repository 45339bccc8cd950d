"""The correlation of a sub-query: its conditions, sorted by whose columns they use.

A conjunct ``e = f`` (or ``e <=> f``) with e over the sub-query's columns and f over outer columns is a key: for a row
of the query around, the sub-query acts as if it were grouped by e and asked for the group f. A comparison of the same
form can be decided by the smallest or greatest e of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.resolved.outer import outers

Comparison = type[exp.Expr]

_TURNED: dict[Comparison, Comparison] = {
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True)
class Compared:
    """``inner comparison outer``, and the conjunct as written."""

    comparison: Comparison
    inner: exp.Expr
    outer: exp.Expr
    written: exp.Expr


@dataclass
class Correlation:
    """The conjuncts of a sub-query's WHERE.

    Attributes:
        own: Conjuncts without outer columns.
        keys: Equalities between an expression of its own and one of outer columns, by ``=`` or ``<=>``.
        compared: Other comparisons of such expressions.
        above: Conjuncts over outer columns alone.
        others: All other conjuncts over both.
    """

    own: list[exp.Expr] = field(default_factory=list)
    keys: list[Compared] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    above: list[exp.Expr] = field(default_factory=list)
    others: list[exp.Expr] = field(default_factory=list)


def correlation(conditions: Sequence[exp.Expr]) -> Correlation:
    """Sort the conjuncts of some conditions, whose columns are resolved."""
    found = Correlation()
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        compared = _compared(conjunct)
        if not any(outers(conjunct)):
            found.own.append(conjunct)
        elif conjunct.find(exp.Column) is None:
            found.above.append(conjunct)
        elif compared is None:
            found.others.append(conjunct)
        elif compared.comparison in (exp.EQ, exp.NullSafeEQ):
            found.keys.append(compared)
        else:
            found.compared.append(compared)
    return found


def _compared(node: exp.Expr) -> Compared | None:
    if type(node) not in _TURNED:
        return None
    left, right = node.this.unnest(), node.expression.unnest()
    if _is_own(left) and _is_outer(right):
        return Compared(type(node), left, right, node)
    if _is_own(right) and _is_outer(left):
        return Compared(_TURNED[type(node)], right, left, node)
    return None


def _is_own(node: exp.Expr) -> bool:
    return node.find(exp.Column) is not None and not any(outers(node))


def _is_outer(node: exp.Expr) -> bool:
    return node.find(exp.Column) is None
