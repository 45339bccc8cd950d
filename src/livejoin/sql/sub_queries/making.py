"""What the rewriting of sub-queries needs of the rest: relations of SELECTs, and SELECTs over relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from livejoin.query.relational import Relation
from livejoin.schema import Column, Table
from livejoin.sql.names.known import Names
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import column_at
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import Bound, BoundBlock, NestedQuery, Occurrence, Scope, SelectBlock
from livejoin.sql.sub_queries.free import refuse_outer


@dataclass(frozen=True)
class Making:
    """How a SELECT becomes a relation, and a relation is read.

    Args:
        names: The names of the text.
        bind: What a SELECT without sub-queries is bound to.
        unnest: A SELECT whose sub-queries are parts of it.
    """

    names: Names
    bind: Callable[[SelectBlock], BoundBlock]
    unnest: Callable[[SelectBlock, Making], SelectBlock]

    def relation(self, block: SelectBlock) -> Relation:
        """The relation of a SELECT.

        Raises:
            UnsupportedQueryError: It reads columns of a query around.
            SqlError: As binding it does.
        """
        return self.bound(block).relation

    def bound(self, block: SelectBlock) -> BoundBlock:
        """A SELECT with its relation; raises as `relation`."""
        plain = self.unnest(block, self)
        refuse_outer(plain)
        return self.bind(plain)

    def over(
        self, relation: Relation, readable: str, source: Source, start: int, bound: Bound | None = None
    ) -> SelectBlock:
        """``SELECT * FROM relation``.

        Args:
            relation: The relation.
            readable: What it is called.
            source: The text of the query that it comes from.
            start: Where it stands.
            bound: How it is written, if it is a SELECT.
        """
        names = tuple(distinct_names(relation.schema.names))
        columns = tuple(Column(name, kind, is_made=True) for name, kind in zip(names, relation.types, strict=True))
        table = Table(self.names.fresh(readable), columns)
        query = NestedQuery("", names, relation, bound, None)
        items = tuple(Item(name, column_at(i), start, written=name) for i, name in enumerate(names))
        return SelectBlock(Scope((Occurrence(0, readable, table, query, start),)), items, source, start)
