"""The outer columns of a whole SELECT, those of the sub-queries within it included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot import exp

from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.outer import Outer, outer_column, outer_of
from livejoin.sql.resolved.query import Occurrence, SelectBlock


def free_columns(block: SelectBlock, depth: int = 0) -> Iterator[tuple[Outer, exp.Expr]]:
    """The columns of queries around that a SELECT reads, with their nodes; ``depth`` levels are between."""
    for value in block.expressions:
        for node in nodes_of(value, exp.Var):
            outer = outer_of(node)
            if outer is not None and outer.level > depth:
                yield outer, node
    for sub in block.sub_queries:
        if isinstance(sub.query, SelectBlock):
            yield from free_columns(sub.query, depth + 1)
    for relation in block.scope.relations:
        if relation.nested is not None and relation.nested.correlated is not None:
            yield from free_columns(relation.nested.correlated, depth)


def refuse_outer(block: SelectBlock) -> None:
    """Refuse outer columns in a SELECT that is no sub-query in an expression.

    Raises:
        UnsupportedQueryError: The SELECT has one; the position is that of the column.
    """
    for outer, node in free_columns(block):
        msg = (
            f"{outer.name} is a column of the query around, which is seen in the SELECT of a sub-query, and in queries "
            "in its FROM clause, in equalities alone if these have groups, DISTINCT, LIMIT or window functions, as in "
            "set operations; it is not seen behind aggregates without GROUP BY there, and in WITH; write the condition "
            "on it into the WHERE clause of the sub-query"
        )
        raise block.source.unsupported("sub-query", msg, offset_of(node, block.start))


def moved_outer(block: SelectBlock, place: Callable[[Outer, exp.Expr], Outer], depth: int = 1) -> SelectBlock:
    """Replace the columns that a SELECT reads of the query ``depth`` levels around it.

    Args:
        block: The SELECT; its sub-queries are one level further from that query.
        place: Gives the replacement of a column, of whatever level; levels stay.
        depth: How many levels out the query is.
    """

    def exchanged(node: exp.Expr) -> exp.Expr:
        outer = outer_of(node)
        if outer is None or outer.level != depth:
            return node
        return outer_column(replace(place(outer, node), level=depth), node.meta.get("start"))

    def within(value: exp.Expr) -> exp.Expr:
        return rewritten(value, exchanged)

    def read(relation: Occurrence) -> Occurrence:
        nested = relation.nested
        if nested is None or nested.correlated is None or nested.plain is None:
            return relation
        plain, written = (moved_outer(one, place, depth) for one in (nested.plain, nested.correlated))
        return replace(relation, nested=replace(nested, plain=plain, correlated=written))

    return replace(
        block.mapped(within),
        scope=replace(block.scope, relations=tuple(map(read, block.scope.relations))),
        sub_queries=tuple(
            replace(sub, query=moved_outer(sub.query, place, depth + 1)) if isinstance(sub.query, SelectBlock) else sub
            for sub in block.sub_queries
        ),
    )
