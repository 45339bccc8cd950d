"""A sub-query as a SELECT that can be a part of the SELECT around it."""

from __future__ import annotations

from sqlglot import exp

from livejoin.sql.lower.view_merging import merge_views
from livejoin.sql.parse.source import offset_of
from livejoin.sql.resolved.column import refs_of
from livejoin.sql.resolved.query import NestedQuery, SelectBlock, SubSelect
from livejoin.sql.sub_queries.correlation import correlation
from livejoin.sql.sub_queries.first_rows import first_rows, one_row, refuse_global, windowed
from livejoin.sql.sub_queries.free import free_columns
from livejoin.sql.sub_queries.keyed import Asked, keyed, nearer
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.rewriter import select_all


def plain_of(parts: Parts, sub: SubSelect) -> SelectBlock:
    """A sub-query as a SELECT that neither groups nor sorts; DISTINCT stays.

    Raises:
        UnsupportedQueryError: The sub-query is correlated and has several grouping sets, or aggregates without GROUP
            BY.
    """
    if isinstance(sub.query, NestedQuery):
        return select_all(parts.rewriter, sub.query.relation, "query", sub.source, sub.offset)
    block = one_row(parts.unnested(sub.query))
    if block.sets is not None:
        for outer, node in free_columns(block):
            msg = (
                f"{outer.name} is a column of the query around, and the sub-query that reads it has several "
                "grouping sets. Return their rows from a query in FROM, and compare its columns outside of it"
            )
            raise block.source.unsupported("sub-query", msg, offset_of(node, sub.offset))
    if (block.order is not None or block.sets is not None or block.has_windows) and not any(free_columns(block)):
        return select_all(parts.rewriter, parts.rewriter.bound(block).relation, "query", block.source, block.start)
    if block.order is not None:
        return first_rows(parts, block, block.order, sub)
    if block.has_windows:
        return windowed(parts, block, sub)
    if block.groups is None:
        return merge_views(block)
    if block.is_global:
        refuse_global(block, sub)
    groups = None if block.is_global else block.groups
    return keyed(parts, Asked(block, [item.value for item in block.items], groups=groups, having=block.having), sub)


def attachable(parts: Parts, block: SelectBlock, sub: SubSelect) -> SelectBlock:
    """A plain sub-query whose tables can be a part; if they cannot, one relation replaces them."""
    found = correlation(block.conditions)
    hanging = {atom for part in block.parts for atom in part.atoms}
    used = {ref.atom for condition in block.conditions for ref in refs_of(condition)}
    if used & hanging:
        values = [] if found.keys else [exp.true()]
        return keyed(parts, Asked(block, values, is_grouped=False, distinct=True), sub)
    return nearer(block, found)
