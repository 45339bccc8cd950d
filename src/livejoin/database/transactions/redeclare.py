"""Changing what a table promises: its views move to plans that rest on the new promises.

This happens between two commits, and rows of tables and views stay as they are. Each view that uses the table is bound
and planned anew, and the new blocks are loaded beside the old ones. One assignment, of `Contents.replacement`, then
replaces the old plans. Blocks that are in both plans stay.

Cost: O(base rows) for the new blocks; until these are loaded, the old blocks stay in memory too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from livejoin.catalog import Catalog
from livejoin.database.contents import Contents
from livejoin.database.durable.bodies import ALTER_TABLE, declared_table
from livejoin.database.transactions.compaction import Replacement
from livejoin.database.view import View
from livejoin.dataflow.graph import Choices
from livejoin.errors import UnsupportedQueryError
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.schema import Table
from livejoin.sql import bind_query
from livejoin.state.trusted_table import TrustedTable, refuse_without_rows


def redeclare(contents: Contents, name: str, static: bool | None, append_only: bool | None) -> None:
    """Make a table static or not, and append-only or not; None leaves a setting as it is.

    Raises:
        SchemaError: There is no such table, or it cannot promise that.
        UnsupportedQueryError: The algorithm that was asked for a view cannot maintain it with the new promises.
        CapacityError: The new plans take more memory than is allowed; nothing was changed.
    """
    table = contents.declared(name)
    base = contents.tables[table.name.lower()]
    if isinstance(base, TrustedTable) and base.came:
        refuse_without_rows(table, "ALTER TABLE makes the views of a table anew")
    other = table.having(
        static=table.static if static is None else static,
        append_only=table.append_only if append_only is None else append_only,
    )
    if other != table:
        _redeclare(contents, other)


def _redeclare(contents: Contents, table: Table) -> None:
    catalog = contents.catalog.with_table(table)
    contents.start_changing()
    try:
        contents.budget.begin()
        replacement = Replacement({}, None, catalog, _replanned(contents, catalog, table))
        if contents.log is not None:
            body = declared_table(contents.log.number(table.name), table)
            stands = lambda: contents.replacement is replacement or contents.catalog is catalog  # noqa: E731
            contents.log.append(ALTER_TABLE, contents.version, body, stands)
        contents.replacement = replacement
    finally:
        contents.end_changing()


def _replanned(contents: Contents, catalog: Catalog, table: Table) -> Mapping[str, Mapping[str, Any]]:
    """New attributes, by name, of the views that use a table, directly or through other views."""
    queries, changed = contents.queries, dict[str, dict[str, Any]]()
    for name, view in contents.views.items():  # a view comes after those that it reads
        read = {one.lower() for one in view._query.reads}
        if view._reads_table(table.name) or not read.isdisjoint(changed):
            queries[name] = query = bind_query(view.sql, catalog, queries, view._options.allow_product)
            changed[name] = _planned(contents, view, query)
    return changed


def _planned(contents: Contents, view: View, query: Query) -> dict[str, Any]:
    """The attributes of a view with its new plan, whose blocks are loaded."""
    graph, options = contents.graph, view._options
    given = options.statistics.given_alone()
    options = replace(options, statistics=contents.known(query, given, given.preprocessing_limit))
    statistics, algorithm = options.statistics, options.algorithm
    try:
        plan = plan_query(query, statistics, options.deltas, algorithm, contents.workers.threads)
    except UnsupportedQueryError as error:
        msg = f"view {view.name!r} stands in the way: {error.message}. Drop it, and create it anew behind the change"
        raise UnsupportedQueryError(msg, clause=error.clause) from error
    node = graph.add(plan, Choices(algorithm, options.adaptive, statistics, view.name))
    graph.show(node, view.name, options.deltas, statistics.preprocessing_limit)
    _ = node.block
    return {"_query": query, "_options": options, "_node": node, "_tables": graph.tables_below(node)}
