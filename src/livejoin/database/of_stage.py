"""The database of a cell: the tables and views of a stage, whose queries are already bound."""

from __future__ import annotations

from livejoin.database.engine import Database
from livejoin.database.snapshots.tables import NO_LIMITS, Limits
from livejoin.database.transactions.watermarks import add_watermarks
from livejoin.database.view import ViewOptions
from livejoin.plan.stages import Stage
from livejoin.search.algorithm import Algorithm


def tables_of(stage: Stage, limits: Limits = NO_LIMITS) -> Database:
    """A database with the tables of a cell in a stage and those of their watermarks, empty and without views."""
    database = bare_tables_of(stage, limits)
    add_watermarks(database._contents, list(database._contents.catalog))
    return database


def bare_tables_of(stage: Stage, limits: Limits = NO_LIMITS) -> Database:
    """As `tables_of`, without the tables of watermarks: rows that come move none."""
    database = Database(memory_limit=limits.memory_limit)
    for exchange in stage.exchanges:
        for table, _ in exchange.tables:
            database._contents.add_table(table)
    return database


def show(database: Database, stage: Stage, is_first: bool, algorithm: Algorithm = "auto") -> None:
    """Add the views of a stage to a database with its tables, and load them.

    Args:
        database: The database with the tables; changed.
        stage: The stage.
        is_first: Whether the database is in the first cell, which also maintains the views that are not split.
        algorithm: The algorithm for joins, as for `Database.create_view`.
    """
    contents = database._contents
    for shown in stage.shown:
        if is_first or not shown.alone:
            options = ViewOptions(True, algorithm, False, contents.known(shown.query))
            contents.add_view(shown.relation, shown.query, options)
