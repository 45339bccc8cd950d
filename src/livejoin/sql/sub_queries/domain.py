"""Sub-queries that are correlated by more than equalities, by way of the values that the query around has for them.

Let D be the distinct values of the outer columns that a sub-query q(d) reads, taken from the FROM clause of the query
around. Then

    q(d) for each d in D  =  the rows of D |><| q with the key d,

where q reads columns of D in the place of outer ones (the domain of Neumann and Kemper, "Unnesting Arbitrary Queries",
BTW 2015). D may have NULLs, so the key is joined by ``<=>``. The cost: the distinct values, and the pairs of them and
of rows of q that its conditions keep; without an equality among these that is a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions import conjuncts
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.resolved.column import bound_column
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import Outer, outer_column, outer_of, outers
from livejoin.sql.resolved.query import SelectBlock
from livejoin.sql.sub_queries.correlation import Correlation
from livejoin.sql.sub_queries.free import free_columns, moved_outer
from livejoin.sql.sub_queries.rewriter import Rewriter, select_all


@dataclass(frozen=True)
class Widened:
    """A sub-query that reads a domain.

    Args:
        block: The sub-query, its conditions over the domain's columns.
        values: What it computes, likewise.
        keys: The columns of the domain, with the outer columns that they are.
    """

    block: SelectBlock
    values: tuple[exp.Expr, ...]
    keys: tuple[tuple[exp.Expr, Outer], ...]


def wants_domain(block: SelectBlock, found: Correlation, values: Sequence[exp.Expr]) -> bool:
    """Whether a sub-query without sub-queries of its own is correlated by more than equalities.

    Args:
        block: The sub-query.
        found: Its conditions.
        values: What it computes.
    """
    inside = [*values, *(condition for part in block.parts for condition in part.conditions)]
    return bool(found.compared or found.others) or any(any(outers(value)) for value in inside)


def widened(
    block: SelectBlock, found: Correlation, values: Sequence[exp.Expr], around: SelectBlock, rewriter: Rewriter
) -> Widened:
    """A sub-query over the domain of its outer columns of the query right around; others stay as they are.

    Args:
        block: The sub-query.
        found: Its conditions.
        values: What it computes.
        around: The query around.
        rewriter: How relations are made.
    """
    joined = [*found.own, *(one.written for one in (*found.keys, *found.compared)), *found.others]
    inside = [*joined, *values, *(condition for part in block.parts for condition in part.conditions)]
    near = list(dict.fromkeys(outer for value in inside for outer in outers(value) if outer.level == 1))
    if not near:
        return Widened(replace(block, conditions=tuple(joined)), tuple(values), ())
    refs = list(dict.fromkeys(outer.ref for outer in near))
    domain = domain_of(around, near, rewriter, block)
    atom = len(block.scope.relations)
    relation = replace(domain.scope.relations[0], atom=atom)

    def read(node: exp.Expr) -> exp.Expr:
        outer = outer_of(node)
        if outer is None or outer.level > 1:
            return node
        column = bound_column(ColumnRef(atom, refs.index(outer.ref)), outer.name)
        if "start" in node.meta:
            column.meta["start"] = node.meta["start"]
        return column

    def within(value: exp.Expr) -> exp.Expr:
        return value.transform(read)

    wide = replace(
        block,
        scope=replace(block.scope, relations=(*block.scope.relations, relation)),
        conditions=tuple(map(within, joined)),
        parts=tuple(part.mapped(within) for part in block.parts),
    )
    names = {outer.ref: outer for outer in reversed(near)}
    keys = tuple((bound_column(ColumnRef(atom, i), names[ref].name), names[ref]) for i, ref in enumerate(refs))
    return Widened(wide, tuple(map(within, values)), keys)


def with_skipped(query: SelectBlock, around: SelectBlock, rewriter: Rewriter) -> SelectBlock:
    """A sub-query in whose FROM clause those columns of the query around stand that its own sub-queries read.

    ``q(d)`` is then ``SELECT ... FROM ..., D WHERE D.d <=> d``, and what its sub-queries read is a column of D.
    """
    nested = [sub.query for sub in query.sub_queries if isinstance(sub.query, SelectBlock)]
    near = [outer for block in nested for outer, _ in free_columns(block, 1) if outer.level == 2]
    refs = list(dict.fromkeys(outer.ref for outer in near))
    if not refs:
        return query
    names = {outer.ref: outer.name for outer in reversed(near)}
    domain = domain_of(around, near, rewriter, query)
    atom = len(query.scope.relations)

    def place(outer: Outer, _: exp.Expr) -> Outer:
        found = outer.ref in refs
        return Outer(outer.level - 1, ColumnRef(atom, refs.index(outer.ref)), outer.name) if found else outer

    equal = [
        exp.NullSafeEQ(
            this=bound_column(ColumnRef(atom, i), names[ref]), expression=outer_column(Outer(1, ref, names[ref]), None)
        )
        for i, ref in enumerate(refs)
    ]
    return replace(
        query,
        scope=replace(query.scope, relations=(*query.scope.relations, replace(domain.scope.relations[0], atom=atom))),
        conditions=(*query.conditions, *equal),
        sub_queries=tuple(
            replace(sub, query=moved_outer(sub.query, place, 2)) if isinstance(sub.query, SelectBlock) else sub
            for sub in query.sub_queries
        ),
    )


def domain_of(around: SelectBlock, near: Sequence[Outer], rewriter: Rewriter, block: SelectBlock) -> SelectBlock:
    """``SELECT * FROM D`` for the distinct values D that some columns of a query have, which ``block`` reads."""
    bound = rewriter.bound(_distinct(around, near))
    return select_all(rewriter, bound.relation, "outer", block.source, block.start, bound)


def _distinct(around: SelectBlock, near: Sequence[Outer]) -> SelectBlock:
    """``SELECT DISTINCT`` of some columns from the FROM clause of a SELECT, with what of WHERE is decided there."""
    written = (part for condition in around.conditions for part in conjuncts(condition))
    columns = {outer.ref: outer.name for outer in reversed(near)}
    refs = dict.fromkeys(outer.ref for outer in near)
    return replace(
        around,
        conditions=tuple(part for part in written if not has_marks(part) and not any(outers(part))),
        items=tuple(
            Item(columns[ref], bound_column(ref, columns[ref]), around.start, written=columns[ref]) for ref in refs
        ),
        groups=None,
        sets=None,
        is_global=False,
        having=None,
        distinct=True,
        order=None,
        read_order=(),
        qualified=False,
        sub_queries=(),
    )
