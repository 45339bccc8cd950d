"""Bind a query: SELECTs with aggregates, DISTINCT and ORDER BY ... LIMIT, set operations of them, and queries in FROM.

The steps of a text, each in its own place: parse it and split WITH clauses and set operations (`livejoin.sql.parse`),
resolve the names of each SELECT (`livejoin.sql.lower.resolve`), rewrite it (`livejoin.sql.bind.passes`), and make
relations of it (`livejoin.sql.lower.select`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.errors import SqlError
from livejoin.query.bound_query import Query
from livejoin.schema.watermarks import freed_name
from livejoin.sql.bind.final import closing_of
from livejoin.sql.bind.known_names import KnownNames
from livejoin.sql.bind.read_order import read_order
from livejoin.sql.lower.payload import refuse_payload
from livejoin.sql.lower.select import refuse_products
from livejoin.sql.parse.emit_final import FINAL, Sealing, as_given
from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.query_tree import query_tree
from livejoin.sql.parse.source import Source


@within_depth
def bind_query(
    sql: str, catalog: Catalog, views: Mapping[str, Query] | None = None, allow_product: bool = False
) -> Query:
    """The relational query of a text over the tables of a catalog and over views.

    Args:
        sql: The text.
        catalog: The tables.
        views: The views that it may read, by their names in lower case, each bound over the same tables and views.
        allow_product: Whether a condition may compare tables that no equality connects; it is then checked on each pair
            of their rows.

    Cost: a few ms; each predicate and each expression is bound by DuckDB, over no rows. A view that is merged is bound
    once more.

    Raises:
        SqlSyntaxError: The text does not parse.
        UnknownNameError: A table, column or alias that does not exist or is ambiguous.
        SqlTypeError: An expression, a join or a set operation whose types do not fit.
        UnsupportedQueryError: A clause that livejoin does not support, or a query that is nested too deeply.

    >>> from livejoin.sql import parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> query = bind_query("SELECT src, SUM(dst) / COUNT(*) AS mean FROM G GROUP BY src HAVING COUNT(*) > 1", catalog)
    >>> [str(output.source) for output in query.root.outputs], str(query.root.predicate)
    (['0', 'c1 / c2'], 'c2 > 1')
    >>> [(call.function, call.argument) for call in query.root.input.calls]
    [('sum', 1), ('count', None)]
    >>> twice = bind_query("SELECT a.mean FROM means a JOIN G ON a.src = G.src", catalog, {"means": query})
    >>> twice.reads, [given.table.name for given in twice.root.inputs]
    (('means',), ['means'])
    """
    tree, source = parse(sql)
    if FINAL not in tree.meta:
        return _bound(sql, tree, source, catalog, views or {}, allow_product)
    closing = closing_of(sql, tree, catalog)
    if closing is not None:
        sealed = closing.sealed if closing.sealed in catalog else None
        tree, source = parse(sql, Sealing(freed_name(closing.table), sealed))
    try:
        bound = _bound(sql, tree, source, catalog, views or {}, allow_product)
        return bound if closing is None else replace(bound, closing=closing)
    except SqlError as error:
        raise as_given(error, sql, tree.meta[FINAL]) from error


def _bound(
    sql: str, tree: exp.Expr, source: Source, catalog: Catalog, views: Mapping[str, Query], allow_product: bool
) -> Query:
    names = KnownNames(catalog, views, source, allow_product)
    bound = names.bound(query_tree(tree, source))
    found = read_order(bound, names.rewriter)
    refuse_products(found.relation)
    query = Query(sql, found.relation, tuple(names.reads), found.keys, found.below)
    named = zip(bound.columns, query.schema.names, strict=True)
    query = replace(query, numbered=tuple((written, name) for written, name in named if written != name))
    refuse_payload(query, source)
    return query
