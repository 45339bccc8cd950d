"""LATERAL sub-queries in FROM, which see the items before them.

    FROM R, LATERAL (SELECT ... FROM S WHERE S.k = R.a) q  =  FROM R, (SELECT k, ... FROM S) q WHERE q.k = R.a

A LATERAL sub-query is decorrelated like a sub-query in an expression (see `livejoin.sql.sub_queries.parts`), and joined
by the columns that it was correlated by. Aggregates without GROUP BY give a row for each row before them, even if
nothing matches: they are computed for the distinct values of the columns that they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.view_merging import merge_views
from livejoin.sql.names.known import Lateral
from livejoin.sql.resolved.column import bound_column
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.outer import Outer, outer_column
from livejoin.sql.resolved.query import BoundBlock, NestedQuery, SelectBlock, SubSelect
from livejoin.sql.sub_queries.domain import domain_of
from livejoin.sql.sub_queries.first_rows import one_row
from livejoin.sql.sub_queries.free import moved_outer
from livejoin.sql.sub_queries.keyed import Asked, with_keys
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.plain import plain_of
from livejoin.sql.sub_queries.rewriter import Rewriter
from livejoin.sql.sub_queries.values import aggregated


def lateral_query(block: SelectBlock, around: SelectBlock, rewriter: Rewriter, atom: int, offset: int) -> Lateral:
    """A SELECT that reads columns of the items before it in FROM.

    Args:
        block: The SELECT.
        around: A SELECT from the items before it.
        rewriter: Makes relations.
        atom: The number of its occurrence.
        offset: The offset of the SELECT.

    Raises:
        UnsupportedQueryError: The correlation is not supported.
        SqlError: The SELECT is not valid.
    """
    sub = SubSelect("scalar", None, block, block.source, offset)
    parts = Parts(around, rewriter)
    plain = one_row(parts.unnested(block))
    if plain.is_global and not plain.has_windows and plain.order is None:
        kept, conditions = _of_each_row(plain, around, rewriter, sub)
    else:
        plain = plain_of(parts, sub)
        values = [item.value for item in plain.items]
        is_distinct = block.distinct or plain.distinct
        kept, conditions = with_keys(parts, Asked(plain, values, is_grouped=False, distinct=is_distinct), sub)
    keys = len(kept.items) - len(block.outputs)
    names = distinct_names([*(item.name for item in kept.items[:keys]), *(item.name for item in block.outputs)])
    kept = replace(kept, items=tuple(replace(item, name=name) for item, name in zip(kept.items, names, strict=True)))
    bound = rewriter.bound(kept)
    written = (*names[:keys], *(item.written for item in block.outputs))
    query = NestedQuery("", written, bound.relation, bound, _plain(bound))
    return Lateral(query, keys, tuple(parts.placed(condition, atom) for condition in conditions))


def _plain(bound: BoundBlock) -> SelectBlock | None:
    """The SELECT if it can be merged into its reader; else None."""
    return None if bound.plain is None else merge_views(bound.plain)


def _of_each_row(
    block: SelectBlock, around: SelectBlock, rewriter: Rewriter, sub: SubSelect
) -> tuple[SelectBlock, Sequence[exp.Expr]]:
    """Aggregates without GROUP BY, for the distinct values of the outer columns."""
    near: list[Outer] = []

    def read(outer: Outer, _: exp.Expr) -> Outer:
        near.append(outer)
        return outer

    moved_outer(block, read)
    refs = list(dict.fromkeys(outer.ref for outer in near))
    names = {outer.ref: outer for outer in reversed(near)}
    domain = domain_of(around, near, rewriter, block)

    def place(outer: Outer, _: exp.Expr) -> Outer:
        return Outer(1, ColumnRef(0, refs.index(outer.ref)), f"outer.{outer.name.rpartition('.')[2]}")

    inner = moved_outer(block, place)
    parts = Parts(domain, rewriter)
    values = [aggregated(parts, sub, replace(inner, having=None), item.value) for item in inner.items]
    having = [] if inner.having is None else [aggregated(parts, sub, replace(inner, having=None), inner.having)]
    keys = [bound_column(ColumnRef(0, i), names[ref].name) for i, ref in enumerate(refs)]
    items = [
        *(Item(f"k{i}", key, sub.offset, written=f"k{i}") for i, key in enumerate(keys)),
        *(replace(item, value=value) for item, value in zip(inner.items, values, strict=True)),
    ]
    kept = replace(
        domain,
        scope=replace(domain.scope, relations=tuple(parts.relations)),
        parts=tuple(parts.parts),
        conditions=tuple(having),
        items=tuple(items),
    )
    equal = [
        exp.NullSafeEQ(this=bound_column(ColumnRef(0, i), f"k{i}"), expression=outer_column(names[ref], None))
        for i, ref in enumerate(refs)
    ]
    return kept, equal
