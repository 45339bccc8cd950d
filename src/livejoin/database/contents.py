"""What a database holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from livejoin.database.view import View, ViewOptions
from livejoin.dataflow.graph import Choices, Graph
from livejoin.families.cells.workers import Workers
from livejoin.plan.query_plan import plan_query
from livejoin.query.relational import Query
from livejoin.schema import Catalog
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable


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
