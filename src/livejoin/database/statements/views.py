"""CREATE and DROP VIEW: what is asked of a view, and what is refused."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

from livejoin.database.arguments import check_limit, check_name, check_switch
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents, GivenStatistics, refuse_large_joins
from livejoin.database.transactions.assertions import VIOLATIONS
from livejoin.database.transactions.backfill import rows_given
from livejoin.database.transactions.replace_view import bound_in_place, replace_view
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.transactions.sealing import (
    begin_of,
    drop_unread,
    refuse_forgetting,
    refuse_open,
    with_sealed,
)
from livejoin.database.view import View, ViewOptions, where_it_begins
from livejoin.errors import ExpressionError, SchemaError, SqlError
from livejoin.families.registry import check_algorithm
from livejoin.query.bound_query import Query
from livejoin.search.algorithm import Algorithm
from livejoin.shown import meant

logger = logging.getLogger("livejoin")


@dataclass(frozen=True)
class ViewSettings:
    """What is asked of a view beside its query; the fields are the arguments of `livejoin.Database.create_view`."""

    deltas: bool = True
    statistics: GivenStatistics | None = None
    algorithm: Algorithm = "auto"
    adaptive: bool = False
    allow_product: bool = False
    preprocessing_limit: int | None = None


def settings_of(view: View, allow_product: bool = False) -> ViewSettings:
    """What was asked of a view, for another query of it; ``allow_product`` where it is allowed from now on."""
    options = view._options
    allow_product = allow_product or options.allow_product
    given, limit = options.statistics.given_alone(), options.statistics.preprocessing_limit
    return ViewSettings(options.deltas, given, options.algorithm, options.adaptive, allow_product, limit)


def create_view(
    contents: Contents,
    name: str,
    sql: str,
    settings: ViewSettings,
    replace: bool = False,
    backfill: Mapping[str, object] | None = None,
) -> View:
    """As `livejoin.Database.create_view`."""
    check_switch(replace, "replace")
    rows = {} if backfill is None else rows_given(contents, backfill)
    if rows and replace:
        msg = "replace and backfill are both given; create another view with the backfill, and drop the old one"
        raise SchemaError(msg)
    if replace and isinstance(name, str) and name.lower() in contents.views:
        replace_query(contents, name, sql, settings)
        return contents.views[name.lower()]
    try:
        query, options = asked_of_view(contents, name, sql, settings)
        view = contents.add_view(name, query, options, backfill=rows)
        if view.begins is not None:
            logger.info("view %r: %s", name, where_it_begins(view))
        return view
    except ExpressionError as error:
        raise _with_place(error, sql) from error
    finally:
        drop_unread(contents)


def _with_place(error: ExpressionError, sql: str) -> ExpressionError:
    """The error with a caret below the part that fails, if the query has it so; the first one of several."""
    words = r"\s*".join(map(re.escape, error.part.split()))
    found = re.search(words, sql, re.IGNORECASE) if words else None
    if found is None:
        return error
    line, column = sql.count("\n", 0, found.start()) + 1, found.start() - sql.rfind("\n", 0, found.start())
    return ExpressionError(str(SqlError(str(error), sql, line, column)), error.part)


def replace_query(contents: Contents, name: str, sql: str, settings: ViewSettings) -> Commit:
    """Give a view that is there another query, in one commit."""
    if contents.views[name.lower()].assertion is not None:
        msg = f"{name!r} is an assertion, which is not replaced: create another one, then drop this one"
        raise SchemaError(msg)
    try:
        query, options = asked_of_view(contents, name, sql, settings, replace=True)
        refuse_forgetting(contents, contents.views[name.lower()]._query, query)
        return replace_view(contents, name, query, options)
    finally:
        drop_unread(contents)


def asked_of_view(
    contents: Contents, name: str, sql: str, settings: ViewSettings, *, replace: bool = False, what: str = "view"
) -> tuple[Query, ViewOptions]:
    """The query of a view, and how it is maintained.

    Args:
        contents: The database's contents.
        name: The view's name.
        sql: The query.
        settings: The view's settings.
        replace: Whether it takes the place of one that is there.
        what: The kind of what has the name, for messages.
    """
    check_algorithm(settings.algorithm)
    check_name(name, what)
    check_switch(settings.deltas, "deltas")
    check_switch(settings.adaptive, "adaptive")
    check_switch(settings.allow_product, "allow_product")
    limit = check_limit(settings.preprocessing_limit)
    if not replace:
        contents.refuse_taken(name)

    def bound() -> Query:
        if replace:
            return bound_in_place(contents, name, sql, settings.allow_product)
        return contents.bind(sql, settings.allow_product)

    query = bound()
    refuse_open(contents, sql, query, settings.deltas)
    if with_sealed(contents, query):
        query = bound()
    refuse_large_joins(query)
    refuse_dropped(contents, query)
    known = contents.known(query, settings.statistics, limit)
    asked = (settings.deltas, settings.algorithm, settings.adaptive, known, settings.allow_product)
    return query, ViewOptions(*asked, begins=begin_of(contents, query))


def drop_view(contents: Contents, name: str, cascade: bool) -> None:
    """As `livejoin.Database.drop_view`."""
    check_name(name, "view")
    if name.lower() not in contents.views:
        known = ", ".join(repr(view.name) for view in contents.views.values())
        hint = meant(name, contents.views)
        msg = f"there is no view {name!r}{hint}; known views: {known or 'none'}"
        raise SchemaError(msg)
    if contents.views[name.lower()].assertion is not None:
        msg = f"{name!r} is an assertion: DROP ASSERTION {name}, in Python drop_assertion({name!r})"
        raise SchemaError(msg)
    drop(contents, name, cascade)


def drop(contents: Contents, name: str, cascade: bool) -> None:
    """Forget a view or an assertion that is there.

    Raises:
        SchemaError: Another view reads it and ``cascade`` is not set, or an assertion does.
    """
    warning = [view.name for view in contents.views.values() if view.assertion and not view.assertion.enforced]
    if name.lower() == VIOLATIONS and warning:
        msg = f"view {name!r} says which rows violate {', '.join(map(repr, warning))}; drop these assertions first"
        raise SchemaError(msg)
    readers = contents.readers(name)
    asserted = [reader for reader in readers if contents.views[reader.lower()].assertion is not None]
    if readers and (asserted or not cascade):
        more = (
            "; drop these assertions first"
            if asserted
            else ("; drop these views first, or drop it with CASCADE, in Python drop_view(name, cascade=True)")
        )
        msg = f"view {name!r} is read by {', '.join(map(repr, asserted or readers))}{more}"
        raise SchemaError(msg)
    contents.drop_views({name.lower(), *(reader.lower() for reader in readers)})
    drop_unread(contents)
