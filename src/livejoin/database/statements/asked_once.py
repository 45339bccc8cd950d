"""A query that is asked once: planned, loaded and read as a view is, and forgotten.

It means what it means in a view, and costs what a view costs to be created: O(rows of its tables).
"""

from __future__ import annotations

import pyarrow as pa

from livejoin.database.contents import Contents, refuse_large_joins
from livejoin.database.transactions.guard import open_guard
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.view import View, ViewOptions
from livejoin.dataflow.graph import Choices
from livejoin.plan.query_plan import plan_query
from livejoin.schema import SqlType

_NAME = "the query"


def asked(contents: Contents, sql: str) -> pa.Table:
    """As `asked_with_types`, the result alone."""
    return asked_with_types(contents, sql)[0]


def asked_with_types(contents: Contents, sql: str) -> tuple[pa.Table, tuple[SqlType, ...]]:
    """The result of a query, each row as often as it is there, and the types of its columns.

    Args:
        contents: The database's contents, of which nothing changes.
        sql: The query.

    Raises:
        SqlError: The query is wrong, or outside of what livejoin has.
        SchemaError: The query reads a column that is not kept.
        ExpressionError: An expression has no value on some row.
        CapacityError: The query takes more memory than there may be.
    """
    query = contents.bind(sql, allow_product=True)
    refuse_large_joins(query)
    refuse_dropped(contents, query)
    options = ViewOptions(False, "auto", False, contents.known(query))
    plan = plan_query(query, options.statistics, False, "auto", contents.workers.threads)
    contents.start_changing()
    try:
        contents.budget.begin()
        graph = contents.graph
        node = graph.add(plan, Choices("auto", False, options.statistics, _NAME))
        graph.show(node, _NAME, False, None)
        view = View(_NAME, query, options, node, graph, open_guard(), contents.tally, contents.images)
        return view.to_arrow(), view.types
    finally:
        contents.end_changing()
