"""ORDER BY with LIMIT: the first rows in an order. ORDER BY without LIMIT: the order in which rows are read.

NULLs come first in ascending and last in descending order, as in Spark, unless NULLS FIRST or NULLS LAST is written.
Rows that the keys do not tell apart are ordered by all columns (see `livejoin.query.relational.TopK`).
"""

from __future__ import annotations

from sqlglot import TokenType, exp

from livejoin.errors import UnknownNameError
from livejoin.query.orders import EVERY_ROW
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.item import Order, SortBy

_INSTEAD = {
    "with_ties": "write QUALIFY RANK() OVER (ORDER BY ...) <= 3, which keeps all rows that are equal to the last one",
    "percent": "write a number of rows",
}


def order_of(node: exp.Expr, source: Source) -> Order | None:
    """The ORDER BY and LIMIT of a SELECT, of a query in parentheses or of a set operation, not resolved.

    Raises:
        UnsupportedQueryError: LIMIT or OFFSET without ORDER BY, or a LIMIT that is no number.
    """
    order, limit, offset = (node.args.get(name) for name in ("order", "limit", "offset"))
    end = len(source.sql)
    if order is None and limit is None and offset is None:
        return None
    kept = None
    if isinstance(limit, exp.Limit) and not isinstance(limit.expression, exp.Var):
        kept = _number(limit.expression, "LIMIT", source, end)
    skipped = 0 if offset is None else _number(offset.expression, "OFFSET", source, end)
    if order is None:
        first = offset if limit is None else limit
        assert first is not None, "one of the two is there"
        clause, kinds = (
            ("OFFSET", {TokenType.OFFSET}) if limit is None else ("LIMIT", {TokenType.LIMIT, TokenType.FETCH})
        )
        msg = (
            f"{clause} without ORDER BY is not supported: which rows it takes is not determined. Write ORDER BY before "
            "it, or take the first rows of what you read"
        )
        raise source.unsupported(clause, msg, source.find_back(kinds, offset_of(first, end), source.tokens[0].start))
    at = source.find_back({TokenType.ORDER_BY}, offset_of(order, end), source.tokens[0].start)
    keys = tuple(_key(part, source, at, alone=len(order.expressions) == 1) for part in order.expressions)
    if limit is not None and not isinstance(limit, exp.Limit):
        msg = "FETCH is not supported; write LIMIT number"
        raise source.unsupported("FETCH", msg, source.find_back({TokenType.FETCH}, end, at))
    options = None if limit is None else limit.args.get("limit_options")
    for option, said in (("with_ties", "WITH TIES"), ("percent", "PERCENT")):
        if options is not None and options.args.get(option):
            msg = f"LIMIT ... {said} is not supported; " + _INSTEAD[option]
            raise source.unsupported(said, msg, source.find_back({TokenType.LIMIT}, end, at))
    return Order(keys, (EVERY_ROW if skipped else None) if kept is None else kept, skipped)


def position_of(node: exp.Expr, columns: int, clause: str, source: Source, offset: int) -> int | None:
    """The column of a number in ORDER BY or GROUP BY; None if the node is no integer.

    Raises:
        UnknownNameError: There is no such column.
    """
    inner = node.unnest()
    negative = isinstance(inner, exp.Neg)
    inner = inner.this if negative else inner
    if not isinstance(inner, exp.Literal) or inner.is_string or not inner.name.isdigit():
        return None
    position = int(inner.name)
    if negative or not 1 <= position <= columns:
        msg = (
            f"{clause} {shown(node)}: there is no such column in the SELECT list; allowed are positions 1 to {columns}"
        )
        raise source.error(UnknownNameError, msg, offset)
    return position - 1


def is_all(node: exp.Expr) -> bool:
    """Whether a key is ALL, which stands for all columns, from left to right."""
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def _key(node: exp.Expr, source: Source, default: int, *, alone: bool) -> SortBy:
    is_odd = not isinstance(node, exp.Ordered) or node.args.get("with_fill")
    if is_odd or (isinstance(node.this, exp.Var) and not (alone and is_all(node.this))):
        msg = f"ORDER BY {shown(node)} is not supported; name the columns"
        raise source.unsupported("ORDER BY", msg, default)
    return SortBy(node.this, bool(node.args.get("desc")), bool(node.args.get("nulls_first")), offset_of(node, default))


def _number(node: exp.Expr, clause: str, source: Source, default: int) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit():
        msg = f"{clause} {shown(node)} is not supported; allowed is a whole number from 0 on, written as one"
        at = offset_of(node, default)
        raise source.unsupported(clause, msg, source.find_back({TokenType.LIMIT, TokenType.OFFSET}, at, default))
    return int(node.name)
