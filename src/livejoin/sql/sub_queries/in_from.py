"""Queries in the FROM clause of a sub-query that read columns of the query around that sub-query.

    ... WHERE EXISTS (SELECT ... FROM (SELECT ... FROM S WHERE S.k = R.k) q ...)

Such a query is merged into the sub-query, which then has the condition ``S.k = R.k``. A query with groups, DISTINCT, a
LIMIT or window functions becomes a relation that also has the columns it is correlated by, and a condition on them.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from livejoin.query.relational import Relation
from livejoin.sql.lower.view_merging import merge_views
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.resolved.item import distinct_names
from livejoin.sql.resolved.outer import Outer, outer_of, outers
from livejoin.sql.resolved.query import NestedQuery, Scope, SelectBlock, SubSelect
from livejoin.sql.resolved.typed import null_of
from livejoin.sql.sub_queries.correlation import correlation
from livejoin.sql.sub_queries.domain import wants_domain
from livejoin.sql.sub_queries.first_rows import first_rows, windowed
from livejoin.sql.sub_queries.free import refuse_outer
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.rewriter import Rewriter


def correlated_query(written: SelectBlock, around: Scope, rewriter: Rewriter) -> NestedQuery:
    """Bind a SELECT in the FROM clause of a sub-query that reads columns of the query around that sub-query.

    Args:
        written: The SELECT.
        around: The scope of the query around the sub-query.
        rewriter: Makes relations.

    Raises:
        UnsupportedQueryError: The SELECT has aggregates without GROUP BY or several grouping sets; or groups, DISTINCT,
            a LIMIT or window functions, and a correlation by more than equalities.
    """
    block = rewriter.unnested(written)
    if block.is_global or block.sets is not None:
        refuse_outer(block)
    if block.groups is None and block.order is None and not block.distinct and not block.has_windows:
        plain = merge_views(block)
    else:
        keyed = _keyed(block, rewriter)
        named = zip(keyed.items, written.outputs, strict=True)
        plain = replace(keyed, items=tuple(replace(item, name=own.name, written=own.written) for item, own in named))
    columns = tuple(item.written for item in written.outputs)
    return NestedQuery("", columns, _of_its_types(plain, around, rewriter), None, plain, written)


def _keyed(block: SelectBlock, rewriter: Rewriter) -> SelectBlock:
    """A SELECT that is more than a join, as one of a relation with the columns that it is correlated by.

    Raises:
        UnsupportedQueryError: The correlation is by more than equalities, or the SELECT has a sub-query.
    """
    order = () if block.order is None else (key.value for key in block.order.keys)
    read = [*(item.value for item in block.items), *(block.groups or ()), *order]
    read += [] if block.having is None else [block.having]
    if wants_domain(block, correlation(block.conditions), read):
        refuse_outer(block)
    sub, parts = SubSelect("scalar", None, block, block.source, block.start), Parts(block, rewriter)
    if block.order is not None:
        return first_rows(parts, block, block.order, sub)
    return windowed(parts, block, sub)


def merged_into(block: SelectBlock) -> SelectBlock:
    """A SELECT with the correlated queries in its FROM clause merged into it.

    Raises:
        UnsupportedQueryError: A query cannot be merged.
    """
    if not any(_is_correlated(block)):
        return block
    merged = merge_views(block)
    for nested in _is_correlated(merged):
        refuse_outer(nested)
    return merged


def _is_correlated(block: SelectBlock) -> list[SelectBlock]:
    nested = (relation.nested for relation in block.scope.relations if relation.nested is not None)
    return [query.correlated for query in nested if query.correlated is not None]


def _of_its_types(plain: SelectBlock, around: Scope, rewriter: Rewriter) -> Relation:
    """A relation with the columns of a SELECT; its outer columns are replaced by NULLs of their types."""

    def typed(part: exp.Expr) -> exp.Expr:
        outer = outer_of(part)
        if outer is None:
            return part
        return null_of(_scope(outer, around).declared(outer.ref).type)

    items = tuple(replace(item, value=rewritten(item.value, typed)) for item in plain.items)
    names = distinct_names([item.name for item in items])
    named = tuple(replace(item, name=name) for item, name in zip(items, names, strict=True))
    parts = tuple(
        replace(part, conditions=tuple(c for c in part.conditions if not any(outers(c)))) for part in plain.parts
    )
    return rewriter.bound(replace(plain, items=named, conditions=(), parts=parts)).relation


def _scope(outer: Outer, around: Scope) -> Scope:
    found = around
    for _ in range(outer.level - 1):
        assert found.outer is not None, "a query is around"
        found = found.outer
    return found
