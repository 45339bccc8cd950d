"""A query whose names are resolved: the relation that it gives, and what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from livejoin.query.closing import Closing
from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.query.inequality import counted_groups
from livejoin.query.orders import SortKey
from livejoin.query.relational import Join, Project, Relation, TopK
from livejoin.query.scalar import Expression
from livejoin.schema import Table


@dataclass(frozen=True)
class Query:
    """A bound query.

    Args:
        sql: The text of the query.
        root: The relation that it gives.
        reads: The views that the text names, each once, in lower case; not those that only these read.
        order: The order in which the rows are read; nothing keeps them in this order.
        order_below: Whether the order is over the columns of the relation that ``root`` is a projection of, as it is by
            a column that the result does not show.
        numbered: The columns that got a number behind their names, because the SELECT list gives a name to several:
            what they are called there, and here.
        closing: The windows of a query with EMIT FINAL over a table that keeps the rows of open ones alone; else None.
    """

    sql: str
    root: Relation
    reads: tuple[str, ...] = ()
    order: tuple[SortKey, ...] = ()
    order_below: bool = False
    numbered: tuple[tuple[str, str], ...] = ()
    closing: Closing | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self.root.schema

    @property
    def read(self) -> Relation:
        """What is read: the result, or the relation below it, whose first columns are the result's."""
        return self.root.input if self.order_below and isinstance(self.root, Project) else self.root

    @property
    def shown_order(self) -> tuple[SortKey, ...]:
        """The order in which the rows are read, over the columns of the result, as far as it has them."""
        keys, relation, projections = self.order, self.root, []
        while not keys and isinstance(relation, Project):
            projections.append(relation)
            relation = relation.input
        if not keys and isinstance(relation, TopK):
            keys = relation.keys
        elif self.order_below and isinstance(self.root, Project):
            projections = [self.root]
        for projection in reversed(projections):
            keys = tuple(_shown(keys, projection))
        return keys

    @property
    def joins(self) -> tuple[ConjunctiveQuery, ...]:
        """The conjunctive queries, from left to right, those in a join's inputs before it."""
        return tuple(join.query for join in self._joins())

    @property
    def counted(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Base tables with sets of their columns whose number of different values a plan asks for, beside join keys."""
        return tuple(dict.fromkeys((table.name, columns) for table, columns in counted_groups(self.root)))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The base tables, each once, at any depth."""
        found: dict[str, Table] = {}
        for join in self._joins():
            derived = {one.table.name for one in join.inputs}
            found |= {atom.table.name: atom.table for atom in join.query.atoms if atom.table.name not in derived}
        return tuple(found.values())

    def used_columns(self) -> dict[str, set[int]]:
        """For each base table the positions of the columns that the query uses, in predicates too."""
        used: dict[str, set[int]] = {table.name: set() for table in self.tables}
        for join in self._joins():
            derived = {one.table.name for one in join.inputs}
            for number, atom in enumerate(join.query.atoms):
                if atom.table.name in derived:
                    continue
                found = used[atom.table.name]
                found.update(atom.columns, (ref.column for ref in join.query.head if ref.atom == number))
                if atom.predicate is not None:
                    found.update(columns_read(atom.predicate, atom.table))
        return used

    def _joins(self) -> list[Join]:
        def collect(relation: Relation) -> list[Join]:
            found = [join for one in relation.below for join in collect(one)]
            return [*found, relation] if isinstance(relation, Join) else found

        return collect(self.root)


def columns_read(expression: Expression, table: Table) -> set[int]:
    """The columns of a table that an expression may read: those that its text names if it has no tree."""
    if expression.steps:
        return set[int]().union(*(columns_read(step, table) for step in expression.steps))
    if expression.scalar is not None:
        return {field.position for field in expression.fields()}
    text = expression.text.lower()
    names = ['"{}"'.format(column.name.lower().replace('"', '""')) for column in table.columns]
    return {position for position, name in enumerate(names) if name in text}


def _shown(keys: Sequence[SortKey], projection: Project) -> Iterator[SortKey]:
    """The first keys of an order by the columns of a projection that are these, until one is not there."""
    places = {one.source: place for place, one in reversed([*enumerate(projection.outputs)])}
    for key in keys:
        if key.column not in places:
            return
        yield replace(key, column=places[key.column])
