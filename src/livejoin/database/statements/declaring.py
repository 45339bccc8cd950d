"""What statements without data do: tables and views come, go, and promise something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from livejoin.database.arguments import check_limit, check_name, check_switch
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents, GivenStatistics, refuse_large_joins
from livejoin.database.transactions.alter_columns import alter_columns
from livejoin.database.transactions.redeclare import redeclare
from livejoin.database.transactions.replace_view import bound_in_place, replace_view
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.view import View, ViewOptions
from livejoin.errors import SchemaError
from livejoin.families.registry import check_algorithm
from livejoin.query.bound_query import Query
from livejoin.search.algorithm import Algorithm
from livejoin.sql import AlterColumns, AlterTable, CreateTable, CreateView, DropTable, DropView

Declaration: TypeAlias = CreateTable | CreateView | DropTable | DropView | AlterTable | AlterColumns
"""A statement that has no data with it."""


@dataclass(frozen=True)
class ViewSettings:
    """What is asked of a view beside its query; the fields are the arguments of `livejoin.Database.create_view`."""

    deltas: bool = True
    statistics: GivenStatistics | None = None
    algorithm: Algorithm = "auto"
    adaptive: bool = False
    allow_product: bool = False
    preprocessing_limit: int | None = None


def declare(contents: Contents, statement: Declaration, allow_product: bool) -> Commit | None:
    """Run a statement; one with IF EXISTS or IF NOT EXISTS may have nothing to do.

    Returns:
        The commit, if a view got another query.
    """
    match statement:
        case CreateTable(table, if_not_exists):
            if not (if_not_exists and table.name in contents.catalog):
                contents.add_table(table)
        case CreateView(name, query, _, replace=True) if name.lower() in contents.views:
            kept = settings_of(contents.views[name.lower()], allow_product)
            return replace_view(contents, name, *asked_of_view(contents, name, query, kept, replace=True))
        case CreateView(name, query, if_not_exists):
            if not (if_not_exists and name.lower() in contents.views):
                create_view(contents, name, query, ViewSettings(allow_product=allow_product))
        case DropTable(name, if_exists):
            if not (if_exists and name not in contents.catalog):
                drop_table(contents, name)
        case DropView(name, if_exists, cascade):
            if not (if_exists and name.lower() not in contents.views):
                drop_view(contents, name, cascade)
        case AlterColumns(name, change):
            alter_columns(contents, name, change)
        case AlterTable(name, static, append_only):
            redeclare(contents, name, static, append_only)
        case _:
            assert_never(statement)
    return None


def settings_of(view: View, allow_product: bool) -> ViewSettings:
    """What was asked of a view, for another query of it; ``allow_product`` where it is allowed from now on."""
    options = view._options
    allow_product = allow_product or options.allow_product
    given, limit = options.statistics.given_alone(), options.statistics.preprocessing_limit
    return ViewSettings(options.deltas, given, options.algorithm, options.adaptive, allow_product, limit)


def create_view(contents: Contents, name: str, sql: str, settings: ViewSettings, replace: bool = False) -> View:
    """As `livejoin.Database.create_view`."""
    check_switch(replace, "replace")
    if replace and isinstance(name, str) and name.lower() in contents.views:
        replace_view(contents, name, *asked_of_view(contents, name, sql, settings, replace=True))
        return contents.views[name.lower()]
    return contents.add_view(name, *asked_of_view(contents, name, sql, settings))


def asked_of_view(
    contents: Contents, name: str, sql: str, settings: ViewSettings, *, replace: bool = False
) -> tuple[Query, ViewOptions]:
    """The query of a view, and how it is maintained; ``replace`` where it takes the place of one that is there."""
    check_algorithm(settings.algorithm)
    check_name(name, "view")
    check_switch(settings.deltas, "deltas")
    check_switch(settings.adaptive, "adaptive")
    check_switch(settings.allow_product, "allow_product")
    limit = check_limit(settings.preprocessing_limit)
    if replace:
        query = bound_in_place(contents, name, sql, settings.allow_product)
    else:
        contents.refuse_taken(name)
        query = contents.bind(sql, settings.allow_product)
    refuse_large_joins(query)
    refuse_dropped(contents, query)
    known = contents.known(query.joins, settings.statistics, limit)
    return query, ViewOptions(settings.deltas, settings.algorithm, settings.adaptive, known, settings.allow_product)


def drop_view(contents: Contents, name: str, cascade: bool) -> None:
    """As `livejoin.Database.drop_view`."""
    check_name(name, "view")
    if name.lower() not in contents.views:
        known = ", ".join(repr(view.name) for view in contents.views.values())
        msg = f"there is no view {name!r}; known views: {known or 'none'}"
        raise SchemaError(msg)
    readers = contents.readers(name)
    if readers and not cascade:
        msg = (
            f"view {name!r} is read by {', '.join(map(repr, readers))}; drop these views first, or drop it with "
            "CASCADE, in Python drop_view(name, cascade=True)"
        )
        raise SchemaError(msg)
    contents.drop_views({name.lower(), *(reader.lower() for reader in readers)})


def drop_table(contents: Contents, name: str) -> None:
    """As `livejoin.Database.drop_table`."""
    table = contents.catalog[check_name(name, "table")]
    users = [view.name for view in contents.views.values() if view._names_table(table.name)]
    if users:
        msg = f"table {table.name!r} is used by {', '.join(map(repr, users))}; drop these views first"
        raise SchemaError(msg)
    contents.drop_table(table)
