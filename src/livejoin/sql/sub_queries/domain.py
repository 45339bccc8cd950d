"""Sub-queries that are correlated by more than equalities, evaluated for the distinct values of the outer columns.

Let D be the distinct values of the outer columns that a sub-query q(d) reads, taken from the FROM clause of the query
around. Then

    q(d) for each d in D  =  the rows of D |><| q with the key d,

where q reads columns of D in place of outer ones (the domain of Neumann and Kemper, "Unnesting Arbitrary Queries", BTW
2015). D may have NULLs, so the key is joined by ``<=>``. The state holds the distinct values, and the pairs of them and
rows of q that satisfy q's conditions; without an equality among these that is a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.resolved.column import bound_column
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import Outer, outer_of, outers
from livejoin.sql.resolved.query import SelectBlock
from livejoin.sql.sub_queries.correlation import Correlation
from livejoin.sql.sub_queries.rewriter import Rewriter, select_all


@dataclass(frozen=True)
class Widened:
    """A sub-query that reads a domain.

    Args:
        block: The sub-query, with its conditions over the domain's columns.
        values: The values that it computes, over the domain's columns.
        keys: The columns of the domain, with the outer columns that they replace.
    """

    block: SelectBlock
    values: tuple[exp.Expr, ...]
    keys: tuple[tuple[exp.Expr, Outer], ...]


def wants_domain(block: SelectBlock, found: Correlation, values: Sequence[exp.Expr]) -> bool:
    """Whether a sub-query without sub-queries of its own is correlated by more than equalities.

    Args:
        block: The sub-query.
        found: The conditions of the sub-query.
        values: The values that it computes.
    """
    inside = [*values, *(condition for part in block.parts for condition in part.conditions)]
    return bool(found.compared or found.others) or any(any(outers(value)) for value in inside)


def read_outside(block: SelectBlock, found: Correlation, values: Sequence[exp.Expr]) -> list[Outer]:
    """The columns of queries around that a sub-query reads anywhere, each once; arguments as for `widened`."""
    inside = [*_joined(found), *values, *(condition for part in block.parts for condition in part.conditions)]
    return list(dict.fromkeys(outer for value in inside for outer in outers(value)))


def widened(
    block: SelectBlock, found: Correlation, values: Sequence[exp.Expr], near: Sequence[Outer], domain: SelectBlock
) -> Widened:
    """A sub-query over the domain of the columns that it reads of the nearest query around.

    Args:
        block: The sub-query.
        found: The conditions of the sub-query.
        values: The values that it computes.
        near: The columns.
        domain: The relation of their values, a column for each.
    """
    refs = [outer.ref for outer in near]
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
        return rewritten(value, read)

    wide = replace(
        block,
        scope=replace(block.scope, relations=(*block.scope.relations, relation)),
        conditions=tuple(map(within, _joined(found))),
        parts=tuple(part.mapped(within) for part in block.parts),
    )
    keys = tuple((bound_column(ColumnRef(atom, i), outer.name), outer) for i, outer in enumerate(near))
    return Widened(wide, tuple(map(within, values)), keys)


def joined_to(found: Correlation) -> tuple[exp.Expr, ...]:
    """The conditions of a sub-query, without those over outer columns alone."""
    return tuple(_joined(found))


def _joined(found: Correlation) -> list[exp.Expr]:
    return [*found.own, *(one.written for one in (*found.keys, *found.compared)), *found.others]


def domain_of(around: SelectBlock, near: Sequence[Outer], rewriter: Rewriter, block: SelectBlock) -> SelectBlock:
    """``SELECT * FROM D`` for the distinct values D of some columns of a query, which ``block`` reads."""
    bound = rewriter.bound(_distinct(around, near))
    return select_all(rewriter, bound.relation, "outer", block.source, block.start, bound)


def _distinct(around: SelectBlock, near: Sequence[Outer]) -> SelectBlock:
    """``SELECT DISTINCT`` of some columns from a SELECT's FROM clause, with the WHERE conditions on it."""
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
