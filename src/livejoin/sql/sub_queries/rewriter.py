"""The interface through which the rewriting of sub-queries makes relations of SELECTs, and SELECTs over relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from livejoin.query.relational import Relation
from livejoin.schema import Column, Table
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.names.known import Names
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import column_at
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.outer import Outer
from livejoin.sql.resolved.query import Bound, BoundBlock, NestedQuery, Occurrence, Scope, SelectBlock


class Enclosing(Protocol):
    """The SELECT around a sub-query while that is unnested; the sub-query's own sub-queries may ask it for domains."""

    def domain(self, outers: Sequence[Outer], reader: SelectBlock) -> SelectBlock | None:
        """``SELECT * FROM D`` for the distinct values D of some columns.

        Args:
            outers: The columns, as the sub-query has them.
            reader: The SELECT that reads their values.

        Returns:
            None if a column is of a query that is out of reach.
        """


class Rewriter(Lowering, Protocol):
    """All rewrites of a SELECT, those of sub-queries included; `livejoin.sql.bind.passes` has their order."""

    @property
    def names(self) -> Names:
        """The names of the text."""

    @property
    def enclosing(self) -> Enclosing | None:
        """The SELECT around the one that is unnested; None if there is none, or it is not known yet."""

    def within(self, enclosing: Enclosing | None) -> Rewriter:
        """The same rewrites for a sub-query of a SELECT."""

    def unnested(self, block: SelectBlock) -> SelectBlock:
        """A SELECT whose sub-queries are parts of it.

        Raises:
            UnsupportedQueryError: The correlation of a sub-query is not supported.
            SqlError: A sub-query is not valid.
        """

    def bound(self, block: SelectBlock) -> BoundBlock:
        """A SELECT without sub-queries, bound, with its relation.

        Raises:
            UnsupportedQueryError: The SELECT reads columns of a query around.
            SqlError: The SELECT is not valid.
        """


def select_all(
    rewriter: Rewriter, relation: Relation, readable: str, source: Source, start: int, bound: Bound | None = None
) -> SelectBlock:
    """``SELECT * FROM relation``.

    Args:
        rewriter: Knows which names are taken.
        relation: The relation.
        readable: The name of the relation.
        source: The text of the query that it comes from.
        start: The offset of that query.
        bound: The query as written, if it is a SELECT.
    """
    names = tuple(distinct_names(relation.schema.names))
    columns = tuple(Column(name, kind, is_made=True) for name, kind in zip(names, relation.types, strict=True))
    table = Table(rewriter.names.fresh(readable), columns)
    query = NestedQuery("", names, relation, bound, None)
    items = tuple(Item(name, column_at(i), start, written=name) for i, name in enumerate(names))
    return SelectBlock(Scope((Occurrence(0, readable, table, query, start),)), items, source, start)
