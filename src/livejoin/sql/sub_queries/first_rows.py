"""Correlated sub-queries with a LIMIT, with window functions, or with one row whatever matches.

The result of such a sub-query depends on all of its matching rows, which are those of a key. So its windows are
partitioned by the key too, and its first rows are those of each key with a rank up to the LIMIT:

    (SELECT v FROM S WHERE S.k = R.a ORDER BY c LIMIT 1)
      =  the rows of SELECT k, v FROM S with ROW_NUMBER() OVER (PARTITION BY k ORDER BY c) <= 1 where k = R.a
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.orders import EVERY_ROW
from livejoin.sql.lower.project import refuse_lists
from livejoin.sql.parse.source import offset_of
from livejoin.sql.resolved.column import column_at, key_of
from livejoin.sql.resolved.item import Item, Order
from livejoin.sql.resolved.query import SelectBlock, SubSelect
from livejoin.sql.sub_queries.free import free_columns
from livejoin.sql.sub_queries.keyed import Asked, keyed
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.rewriter import select_all


def one_row(block: SelectBlock) -> SelectBlock:
    """A SELECT without a LIMIT that keeps the single row of aggregates without GROUP BY."""
    order = block.order
    keeps = order is not None and (order.limit is None or order.limit > 0) and order.offset == 0
    return replace(block, order=None) if block.is_global and keeps else block


def refuse_global(block: SelectBlock, sub: SubSelect) -> None:
    """Refuse a correlated SELECT that always gives one row.

    Raises:
        UnsupportedQueryError: The SELECT is correlated.
    """
    for outer, node in free_columns(block):
        msg = (
            f"{outer.name} is a column of the query around, and the sub-query that reads it gives one row whatever "
            "matches, as it has aggregates and no GROUP BY; compare a sub-query of one aggregate without HAVING"
        )
        raise block.source.unsupported("sub-query", msg, offset_of(node, sub.offset))


def windowed(parts: Parts, block: SelectBlock, sub: SubSelect, extra: Sequence[exp.Expr] = ()) -> SelectBlock:
    """A correlated sub-query with window functions, as `keyed` gives it.

    Args:
        parts: The SELECT around.
        block: The sub-query without a LIMIT.
        sub: The sub-query's place.
        extra: Further values that it computes.
    """
    if block.is_global:
        refuse_global(block, sub)
    return keyed(
        parts,
        Asked(
            block,
            [*(item.value for item in block.outputs), *extra],
            groups=None if block.is_global else block.groups,
            having=block.having,
            qualify=block.items[-1].value if block.qualified else None,
            is_grouped=block.groups is not None,
            distinct=block.distinct,
        ),
        sub,
    )


def first_rows(parts: Parts, block: SelectBlock, order: Order, sub: SubSelect) -> SelectBlock:
    """A correlated sub-query with a LIMIT, as `keyed` gives it.

    Raises:
        UnsupportedQueryError: The sub-query is a SELECT DISTINCT, ordered by columns that it does not show.
    """
    assert order.limit is not None, "an order without it says nothing in a sub-query"
    shown = {key_of(item.value): i for i, item in reversed(list(enumerate(block.outputs)))}
    extra = [key.value for key in order.keys if key_of(key.value) not in shown]
    places = iter(range(len(block.outputs), len(block.outputs) + len(extra)))
    if block.distinct and extra:
        msg = "ORDER BY of a correlated SELECT DISTINCT with LIMIT names an expression that it does not show; show it"
        raise block.source.unsupported("ORDER BY", msg, offset_of(extra[0], sub.offset))
    keyed = windowed(parts, replace(block, order=None), sub, extra)
    (rows,) = keyed.scope.relations
    assert rows.nested is not None, "it is over a relation"
    refuse_lists(rows.nested.relation, "LIMIT", block.source, sub.offset)
    first = len(rows.names) - len(block.outputs) - len(extra)
    sort = []
    for key in order.keys:
        place = shown.get(key_of(key.value))
        column = column_at(first + (next(places) if place is None else place))
        sort.append(exp.Ordered(this=column, desc=key.descending, nulls_first=key.nulls_first))
    number = exp.RowNumber()
    number.meta["start"] = sub.offset
    partition = [column_at(i) for i in range(first)]
    rank = exp.Window(this=number, partition_by=partition, order=exp.Order(expressions=sort), over="OVER")
    behind = exp.GT(this=rank.copy(), expression=exp.Literal.number(order.offset))
    kept: exp.Expr = behind
    if order.limit < EVERY_ROW:
        kept = exp.LTE(this=rank, expression=exp.Literal.number(order.offset + order.limit))
        kept = exp.And(this=kept, expression=behind) if order.offset else kept
    items = [Item(name, column_at(i), sub.offset, written=name) for i, name in enumerate(rows.names)]
    limit = Item("qualify", kept, sub.offset, "the first rows", written="qualify")
    bound = parts.rewriter.bound(replace(keyed, conditions=(), items=(*items, limit), qualified=True))
    over = select_all(parts.rewriter, bound.relation, "query", block.source, sub.offset, bound)
    return replace(over, conditions=keyed.conditions, items=over.items[first : first + len(block.outputs)])
