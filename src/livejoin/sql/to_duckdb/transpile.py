"""A whole query in DuckDB's dialect, so that DuckDB can recompute what a view should hold.

Law: over the same tables DuckDB's result of the text is the view's result, column by column. These may differ: the
names of expressions; the last digits of VARIANCE and of sums of DOUBLE; and comparisons of quotients of decimals, which
are DOUBLEs in DuckDB and rounded in Spark. A view is read by its name: DuckDB needs a view of the same name, whose text
is written in the same way. Expressions are written as in predicates (see `livejoin.sql.scalars.duckdb_text`). A SELECT
from tables without aggregates is rewritten directly, any other query from its resolved clauses (see `query_text`).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.errors import UnsupportedError

from livejoin.catalog import Catalog
from livejoin.query.bound_query import Query
from livejoin.sql.bind.known_names import KnownNames
from livejoin.sql.lower.grouped.aggregates import find_aggregate
from livejoin.sql.names.from_clause import bind_from
from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.query_tree import Block, query_tree
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.spans import mark_expression, sub_queries
from livejoin.sql.parse.sub_queries import in_expressions, query_of, take_out
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.query import Scope
from livejoin.sql.scalars.duckdb_text import for_duckdb
from livejoin.sql.scalars.time_window import is_call
from livejoin.sql.to_duckdb.query_text import query_text


@within_depth
def to_duckdb(sql: str, catalog: Catalog | None = None, views: Mapping[str, Query] | None = None) -> str:
    """A query of the Spark dialect as DuckDB text.

    Args:
        sql: A query that livejoin supports; without aggregates its names are not looked up.
        catalog: The tables. They are needed for aggregates, set operations, ORDER BY, WITH and sub-queries, which have
            Spark's types; for outer joins beside commas; and for ``*`` over JOIN ... USING and NATURAL JOIN, which
            begins with the merged columns in Spark, but not in DuckDB.
        views: The views that it may read, by their names in lower case, as for `livejoin.sql.bind_query`.

    Raises:
        SqlSyntaxError: The text does not parse.
        UnknownNameError: A needed table or merged column is not in the catalog.
        UnsupportedQueryError: A query that is not supported, one that DuckDB has no way to write, or a missing catalog.

    >>> to_duckdb("SELECT date_add(d, 1) AS next, `a b` DIV 2 FROM H")
    'SELECT CAST(CAST("d" AS DATE) + INTERVAL 1 DAY AS DATE) AS "next", CAST("a b" // 2 AS BIGINT) FROM "H"'
    """
    tree, text = parse(sql)
    query = query_tree(tree, text)
    names = None if catalog is None else KnownNames(catalog, views or {}, text, True)
    if not isinstance(query, Block) or _is_resolved(query.select):
        known = _known(names, text)
        return query_text(known.bound(query), known)
    select = query.select
    if any(map(_is_star, select.expressions)) and _merges(select):
        select = _with_columns(select, _scope(select, names, query.source))
    try:
        return select.transform(for_duckdb).sql(
            "duckdb", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except UnsupportedError as error:
        msg = f"the query cannot be written for DuckDB: {str(error).splitlines()[0]}"
        raise text.unsupported("SELECT", msg, query.source.find({TokenType.SELECT})) from error


def _is_resolved(select: exp.Select) -> bool:
    """Whether a SELECT is written from its resolved clauses.

    This is so for ``* EXCEPT``, for PIVOT and UNPIVOT, for windows of time, for ASOF JOIN, whose match DuckDB does not
    determine, and for outer joins beside commas: sqlglot writes a comma as CROSS JOIN, which binds more tightly.
    """
    joins = list(select.find_all(exp.Join))
    merges_both = any(join.side == "FULL" for join in joins) and _merges(select)
    outer = any(join.side or join.kind in ("SEMI", "ANTI") for join in joins)
    products = any(not (join.args.get("on") or join.args.get("using") or join.method) for join in joins)
    nested = any(sub_queries(select)) or any(in_expressions(select))
    left_out = any(star.args.get("except_") for star in select.find_all(exp.Star))
    turned = select.find(exp.Pivot) is not None
    as_of = any(join.method == "ASOF" for join in joins)
    of_time = any(map(is_call, select.find_all(exp.Anonymous)))
    return of_time or as_of or _computes(select) or nested or merges_both or left_out or turned or (outer and products)


def _computes(select: exp.Select) -> bool:
    """Whether a SELECT groups, aggregates, has window functions or sorts."""
    clauses = any(select.args.get(name) for name in ("group", "having", "qualify", "order", "limit", "offset"))
    return clauses or any(find_aggregate(item) or item.find(exp.Window) for item in select.expressions)


def _known(names: KnownNames | None, source: Source) -> KnownNames:
    if names is None:
        msg = "the types of its columns are not known without the tables; give the catalog"
        raise source.unsupported("SELECT", msg, source.find({TokenType.SELECT}))
    return names


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) and not any(item.args.values())


def _merges(select: exp.Select) -> bool:
    return any(join.args.get("using") or join.args.get("method") for join in select.find_all(exp.Join))


def _scope(select: exp.Select, names: KnownNames | None, source: Source) -> Scope:
    if names is None:
        msg = "the columns of * over USING or NATURAL are not known without the tables; name them, or give the catalog"
        raise source.unsupported("*", msg, source.find({TokenType.STAR}))
    bare = select.copy()
    for node in in_expressions(bare):
        mark_expression(query_of(node), source)
    return bind_from(bare, names, source, take_out(bare, source), _no_pivot).scope


def _no_pivot(clause: FromClause, pivot: exp.Pivot) -> FromClause:
    msg = "a SELECT with PIVOT is written from its resolved clauses"
    raise AssertionError(msg)


def _with_columns(select: exp.Select, scope: Scope) -> exp.Select:
    """The query with ``*`` replaced by its columns."""
    aliases = {relation.atom: relation.alias for relation in scope.relations}
    columns = [exp.column(shown.name, table=aliases[shown.ref.atom]) for shown in scope.shown]
    items = [part.copy() for item in select.expressions for part in (columns if _is_star(item) else [item])]
    return select.select(*items, append=False)
