"""Bind the views of one text or file in order: each view may read earlier ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.errors import SchemaError, SqlError, UnknownNameError
from livejoin.query.bound_query import Query
from livejoin.sql.bind.query import bind_query
from livejoin.sql.parse.parse import parse


def bind_views(texts: Mapping[str, str], catalog: Catalog, allow_product: bool = False) -> dict[str, Query]:
    """The queries of views by their names in lower case.

    Args:
        texts: The SQL text of each view, after all tables and views that it reads.
        catalog: The tables.
        allow_product: As for `bind_query`.

    Raises:
        SchemaError: A name is taken.
        SqlError: A view is not valid; a note names it.

    >>> from livejoin.sql import parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> found = bind_views(
    ...     {"out": "SELECT src, COUNT(*) AS n FROM G GROUP BY src", "hubs": "SELECT * FROM out"}, catalog
    ... )
    >>> found["hubs"].reads, [table.name for table in found["hubs"].tables]
    (('out',), ['G'])
    """
    found: dict[str, Query] = {}
    for name, sql in texts.items():
        try:
            found[name.lower()] = bind_view(name, sql, catalog, found, texts, allow_product)
        except SqlError as error:
            error.add_note(f"in the view {name!r}")
            raise
    return found


def bind_view(
    name: str,
    sql: str,
    catalog: Catalog,
    before: Mapping[str, Query],
    all_names: Collection[str],
    allow_product: bool = False,
) -> Query:
    """The query of one of several views.

    Args:
        name: The view's name.
        sql: The view's query.
        catalog: The tables.
        before: The earlier views, by their names in lower case.
        all_names: The names of all views.
        allow_product: As for `bind_query`.

    Raises:
        SchemaError: The name is taken by a table or by an earlier view.
        SqlError: As for `bind_query`. If the query reads a later view, the message says so.
    """
    if name in catalog or name.lower() in before:
        msg = f"the name {name!r} is taken by a {'table' if name in catalog else 'view'}; give the view another one"
        raise SchemaError(msg)
    try:
        return bind_query(sql, catalog, before, allow_product)
    except UnknownNameError as error:
        read = names_read(sql) - before.keys()
        later = [other for other in all_names if other.lower() in read and other not in catalog]
        if not later:
            raise
        if name in later:
            hint = "a view cannot read itself"
        else:
            hint = f"the view {later[0]!r} stands behind {name!r}: put it before, as a view reads those before it"
        msg = f"{error.message}; {hint}"
        raise UnknownNameError(msg, error.sql, error.line, error.column) from None


def names_read(sql: str) -> set[str]:
    """The tables and views that a query names at any depth, in lower case; raises as `bind_query` does for syntax."""
    tree, _ = parse(sql)
    defined = {definition.alias.lower() for definition in tree.find_all(exp.CTE)}
    return {table.name.lower() for table in tree.find_all(exp.Table)} - defined


def names_said(sql: str) -> set[str]:
    """All names that a query reads from, in lower case, also those that a WITH somewhere in it defines."""
    tree, _ = parse(sql)
    return {table.name.lower() for table in tree.find_all(exp.Table)}
