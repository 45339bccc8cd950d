"""Operands in a canonical order, so that ``b + a`` equals ``a + b``, as Spark compares expressions.

Operands of + * AND OR & | ^ are collected, also out of parentheses, and sorted. So are the two sides of = and <=> and
the arguments of GREATEST and LEAST. ``b > a`` becomes ``a < b``.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from livejoin.sql.parse.copying import copied, sql_of
from livejoin.sql.parse.walking import nodes

_CHAINS = (exp.Add, exp.Mul, exp.And, exp.Or, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_PAIRS = (exp.EQ, exp.NullSafeEQ)
TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
"""Which comparisons become which others."""


def in_order(node: exp.Expr) -> exp.Expr:
    """An expression with its operands in one order; the given one is changed.

    >>> from sqlglot import parse_one
    >>> in_order(parse_one("(c + b) + a > d")).sql(), in_order(parse_one("d < a + (b + c)")).sql()
    ('d < a + b + c', 'd < a + b + c')
    """
    for part in reversed(nodes(node)):
        found = part if _is_within(part) else _ordered(part)
        if found is part:
            continue
        if part is node:
            node = found
        else:
            part.replace(found)
    return node


def _is_within(part: exp.Expr) -> bool:
    """Whether a node is an operand of a node of its kind, which then takes its operands."""
    above = part.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return isinstance(part, _CHAINS) and type(above) is type(part)


def _ordered(part: exp.Expr) -> exp.Expr:
    if isinstance(part, _CHAINS):
        return reduce(lambda left, right: type(part)(this=left, expression=right), _sorted(_operands(part)))
    if isinstance(part, _PAIRS):
        left, right = _sorted([part.this, part.expression])
        return type(part)(this=left, expression=right)
    if isinstance(part, (exp.Greatest, exp.Least)):
        first, *others = _sorted([part.this, *part.expressions])
        return type(part)(**{**part.args, "this": first, "expressions": others})
    if type(part) in TURNED:
        return TURNED[type(part)](this=part.args["expression"], expression=part.this)
    return part


def _operands(chain: exp.Expr) -> list[exp.Expr]:
    waiting, found = [chain], []
    while waiting:
        part = waiting.pop()
        inner = part.unnest()
        if type(inner) is type(chain):
            waiting += [inner.args["expression"], inner.this]
        else:
            found.append(part)
    return found


def _sorted(operands: list[exp.Expr]) -> list[exp.Expr]:
    plain = [one.unnest() for one in operands]
    wrapped = [exp.paren(one, copy=False) if isinstance(one, exp.Binary) else one for one in plain]
    return sorted(wrapped, key=lambda one: sql_of(copied(one), "duckdb"))
