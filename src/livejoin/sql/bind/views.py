"""Bind the views of one text or file in order: each view may read earlier ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.errors import SchemaError, SqlError, UnknownNameError
from livejoin.query.bound_query import Query
from livejoin.sql.bind.query import bind_query
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.walking import nodes_of


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
    texts: Mapping[str, str],
    allow_product: bool = False,
) -> Query:
    """The query of one of several views.

    Args:
        name: The view's name.
        sql: The view's query.
        catalog: The tables.
        before: The earlier views, by their names in lower case.
        texts: The SQL text of each view.
        allow_product: As for `bind_query`.

    Raises:
        SchemaError: The name is taken by a table or by an earlier view.
        SqlError: As for `bind_query`; the message says if the query reads a later view, or views stand in a circle.
    """
    if name in catalog or name.lower() in before:
        msg = f"the name {name!r} is taken by a {'table' if name in catalog else 'view'}; give the view another one"
        raise SchemaError(msg)
    try:
        return bind_query(sql, catalog, before, allow_product)
    except UnknownNameError as error:
        read = names_read(sql) - before.keys()
        later = [other for other in texts if other.lower() in read and other not in catalog]
        if not later:
            raise
        if name in later:
            hint = "a view cannot read itself"
        elif circle := _circle(name, texts):
            hint = f"views read one another in a circle, so that none can be first: {' reads '.join(circle)}"
        else:
            hint = f"the view {later[0]!r} stands behind {name!r}: put it before, as a view reads those before it"
        msg = f"{error.message}; {hint}"
        raise UnknownNameError(msg, error.sql, error.line, error.column) from None


def in_order(texts: Mapping[str, str]) -> dict[str, str]:
    """Views in an order in which each follows those that it reads; what may stay where it is does.

    A text that does not parse stays where it is, and so do views in a circle: `bind_view` says what is wrong.

    Args:
        texts: The SQL text of each view.

    >>> list(in_order({"hubs": "SELECT src FROM out", "out": "SELECT src FROM G", "v": "SELECT dst FROM G"}))
    ['out', 'hubs', 'v']
    """
    reads = _reads(texts)
    ordered: dict[str, str] = {}
    begun: set[str] = set()

    def put(name: str) -> None:
        if name not in begun:
            begun.add(name)
            for other in reads[name]:
                put(other)
            ordered[name] = texts[name]

    for name in texts:
        put(name)
    return ordered


def _reads(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The other views that each view reads; none of a text that does not parse."""
    found: dict[str, list[str]] = {name: [] for name in texts}
    for name, sql in texts.items():
        with suppress(SqlError):
            named = names_read(sql)
            found[name] = [other for other in texts if other.lower() in named and other != name]
    return found


def _circle(name: str, texts: Mapping[str, str]) -> list[str]:
    """The views from one that reads one another back to it; empty if there is no such circle."""
    reads = _reads(texts)
    if name not in reads:
        return []
    came = dict.fromkeys(reads[name], name)
    waiting = list(came)
    while waiting and name not in came:
        for other in reads[at := waiting.pop(0)]:
            if other not in came:
                came[other] = at
                waiting.append(other)
    if name not in came:
        return []
    path = [name, came[name]]
    while path[-1] != name:
        path.append(came[path[-1]])
    return path[::-1]


@lru_cache(maxsize=1_024)  # who opens a log asks for all views anew at each of its records
def names_read(sql: str) -> frozenset[str]:
    """The tables and views that a query names at any depth, in lower case; raises as `bind_query` does for syntax."""
    tree, _ = parse(sql)
    defined = {definition.alias.lower() for definition in nodes_of(tree, exp.CTE)}
    return frozenset(table.name.lower() for table in nodes_of(tree, exp.Table)) - defined


def names_said(sql: str) -> set[str]:
    """All names that a query reads from, in lower case, also those that a WITH somewhere in it defines."""
    tree, _ = parse(sql)
    return {table.name.lower() for table in nodes_of(tree, exp.Table)}
