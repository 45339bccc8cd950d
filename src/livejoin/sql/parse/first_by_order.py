"""FIRST, LAST and ANY_VALUE by an order, as DuckDB and PostgreSQL have them, over MIN_BY and MAX_BY.

    FIRST(x ORDER BY k)  =  CASE WHEN COUNT_IF(k IS NULL) > 0 THEN the x of a row where k is NULL ELSE MIN_BY(x, k) END

With NULLS LAST the rows where k is NULL come second. With DESC it is MAX_BY. LAST is FIRST of the reverse order. With
IGNORE NULLS, as in ANY_VALUE, only rows with a value count. Among rows with equal keys the smallest value is taken,
NULL first; with DESC the greatest.
"""

from __future__ import annotations

from sqlglot import exp

from livejoin.sql.parse.walking import nodes

_BY_ORDER = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.AnyValue)


def first_by_order(tree: exp.Expr) -> None:
    """Rewrite calls with one key to expressions over MIN_BY and MAX_BY, except for window functions."""
    for call in [node for node in nodes(tree) if isinstance(node, _BY_ORDER)]:
        order = call.this
        if not isinstance(order, exp.Order) or len(order.expressions) != 1:
            continue
        place: exp.Expr = call
        conditions: list[exp.Expr] = []
        ignores = isinstance(call, exp.AnyValue)
        if isinstance(place.parent, (exp.IgnoreNulls, exp.RespectNulls)):
            place = place.parent
            ignores = isinstance(place, exp.IgnoreNulls)
        if isinstance(place.parent, exp.Filter):
            place = place.parent
            conditions = [place.expression.this]
        if not isinstance(place.parent, exp.Window):
            conditions += [_is_there(order.this)] if ignores else []
            is_last = isinstance(call, (exp.Last, exp.LastValue))
            place.replace(exp.paren(_first(order.this, order.expressions[0], conditions, is_last=is_last)))


def _first(value: exp.Expr, key: exp.Expr, conditions: list[exp.Expr], *, is_last: bool) -> exp.Expr:
    descending = bool(key.args.get("desc")) != is_last
    nulls_first = bool(key.args.get("nulls_first")) != is_last
    is_null, is_there = exp.Is(this=exp.paren(key.this.copy()), expression=exp.null()), _is_there(key.this)

    def over(call: exp.Expr, *more: exp.Expr) -> exp.Expr:
        rows = [one.copy() for one in (*conditions, *more)]
        return exp.Filter(this=call, expression=exp.Where(this=exp.and_(*rows))) if rows else call

    def some(*more: exp.Expr) -> exp.Expr:
        return exp.GT(this=over(exp.Count(this=exp.Star()), *more), expression=exp.Literal.number(0))

    of_keys = over((exp.ArgMax if descending else exp.ArgMin)(this=value.copy(), expression=key.this.copy()))
    of_nulls = over((exp.Max if descending else exp.Min)(this=value.copy()), is_null)
    if not descending:  # a NULL is the least value
        no_value = exp.Is(this=exp.paren(value.copy()), expression=exp.null())
        of_nulls = _case(some(is_null, no_value), exp.null(), of_nulls)
    return _case(some(is_null), of_nulls, of_keys) if nulls_first else _case(some(is_there), of_keys, of_nulls)


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(value.copy()), expression=exp.null()))


def _case(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)
