"""A text of TPC-DS as DuckDB has to compute it, where Spark means another thing than DuckDB.

- CONCAT of NULL is NULL.
- Averages and quotients of decimals are decimals: an average of columns with two digits has six, and so has a quotient
  of two short constants. Quotients of sums have many, and are rounded to twelve here, for equal ones have to be equal.
- Rows that ORDER BY does not tell apart stand by all columns from left to right, which matters where LIMIT cuts, and
  where a window function is over the rows up to each.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

_OF_AVERAGES, _OF_QUOTIENTS = 6, 12


def in_duckdb(sql: str, columns: int) -> str:
    """A query for DuckDB.

    Args:
        sql: Its text.
        columns: How many columns its result has.
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for window in list(tree.find_all(exp.Window)):
        _tell_apart(window)
    tree = tree.transform(_exchanged)
    order = tree.args.get("order")
    if order is not None and tree.args.get("limit") is not None:
        for place in range(1, columns + 1):
            order.append("expressions", exp.Ordered(this=exp.Literal.number(place), desc=False, nulls_first=True))
    return tree.sql("duckdb")


def _tell_apart(window: exp.Window) -> None:
    """Order the rows of a frame of ROWS also by the columns beside it."""
    spec, order, select = window.args.get("spec"), window.args.get("order"), window.find_ancestor(exp.Select)
    if spec is None or spec.args.get("kind") != "ROWS" or order is None or select is None:
        return
    for one in select.selects:
        if isinstance(one.unalias(), exp.Column):
            order.append("expressions", exp.Ordered(this=one.unalias().copy(), desc=False, nulls_first=True))


def _exchanged(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Concat():
            joined = node.expressions[0]
            for part in node.expressions[1:]:
                joined = exp.DPipe(this=joined, expression=part)
            return exp.paren(joined, copy=False)
        case exp.Avg() if not isinstance(node.parent, exp.Window):
            return _rounded(node, _OF_AVERAGES)
        case exp.Window() if isinstance(node.this, exp.Avg):
            return _rounded(node, _OF_AVERAGES)
        case exp.Div() if isinstance(node.this, exp.Literal) and isinstance(node.expression, exp.Literal):
            return _rounded(node, _OF_AVERAGES)
        case exp.Div():
            return _rounded(node, _OF_QUOTIENTS)
        case _:
            return node


def _rounded(node: exp.Expr, digits: int) -> exp.Expr:
    """A value rounded; its parts are not visited again."""
    inner = node.copy()
    for child in inner.iter_expressions():
        child.replace(child.transform(_exchanged, copy=False))
    return exp.Round(this=inner, decimals=exp.Literal.number(digits))
