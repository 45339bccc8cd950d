"""What a database holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from livejoin.database.view import View, ViewOptions
from livejoin.dataflow.graph import Choices, Graph
from livejoin.dataflow.observe import observe_tables
from livejoin.errors import SchemaError
from livejoin.families.cells.workers import Workers
from livejoin.plan.query_plan import plan_query
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.schema import Catalog, Table
from livejoin.search.statistics import Statistics, given
from livejoin.sql import bind_query
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable

GivenStatistics: TypeAlias = Statistics | Mapping[str, Mapping[str, Any]]
"""Statistics, or what `livejoin.search.statistics.given` makes them of."""

_MAX_ATOMS = 62


def refuse_large_joins(query: Query) -> None:
    """Refuse a join of more tables than a word has bits for, but for two.

    Raises:
        SchemaError: There is one.
    """
    for join in query.joins:
        if len(join.atoms) > _MAX_ATOMS:
            msg = f"the query joins {len(join.atoms)} tables; allowed are {_MAX_ATOMS}"
            raise SchemaError(msg)


@dataclass
class Contents:
    """What a database holds; mutable.

    Args:
        workers: Its threads.
        catalog: The declarations of its tables.
        codec: Its dictionaries.
        tables: The rows of its tables, by name in lower case.
        views: Its views, by name in lower case.
        version: That of the last commit.
        kept_entries: Entries of the dictionaries when they were last looked through for garbage.

    Attributes:
        graph: The blocks that maintain the views.
    """

    workers: Workers
    catalog: Catalog = field(default_factory=Catalog)
    codec: Codec = field(default_factory=Codec)
    tables: dict[str, BaseTable] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    version: int = 0
    kept_entries: int = 0

    def __post_init__(self) -> None:
        self.graph = Graph(self.tables, self.codec, self.workers)

    def add_table(self, table: Table) -> None:
        """Add an empty table.

        Raises:
            SchemaError: The name is taken, or the declaration cannot stand beside the others.
        """
        if table.name.lower() in self.views:
            msg = f"the name {table.name!r} is taken by a view"
            raise SchemaError(msg)
        self.catalog.add(table)
        self.tables[table.name.lower()] = BaseTable(table)

    def bind(self, sql: str) -> Query:
        """The query of a text over the tables and the views; raises as `livejoin.sql.bind_query`."""
        return bind_query(sql, self.catalog, self.queries)

    def known(self, joins: Sequence[ConjunctiveQuery], statistics: GivenStatistics | None = None) -> Statistics:
        """What is known of the joins' tables: what is given, and the sizes and distinct keys of the rows there are."""
        known = statistics if isinstance(statistics, Statistics) else given(self.catalog, statistics or {})
        filled = {name: base for name, base in self.tables.items() if base.rows}
        return known.over(observe_tables(filled, joins))

    @property
    def queries(self) -> dict[str, Query]:
        """The queries of the views, by name in lower case."""
        return {name: view._query for name, view in self.views.items()}

    def add_view(self, name: str, query: Query, options: ViewOptions) -> View:
        """Plan a view and add the blocks that it needs, without their states.

        Args:
            name: Its name, which is free.
            query: Its query.
            options: How it is maintained.
        """
        plan = plan_query(query, options.statistics, options.deltas, options.algorithm, self.workers.threads)
        node = self.graph.add(plan, Choices(options.algorithm, options.adaptive, options.statistics, name))
        self.graph.show(node, name, options.deltas)
        view = View(name, query, options, node, self.graph)
        self.views[name.lower()] = view
        return view

    def drop_view(self, name: str) -> None:
        """Forget a view that no other one reads."""
        self.views.pop(name.lower())._drop()

    def readers(self, view: str) -> list[View]:
        """The views that name a view in their queries."""
        return [one for one in self.views.values() if view.lower() in (name.lower() for name in one._query.reads)]
