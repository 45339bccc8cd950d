"""The rewrites of a SELECT in their order, as data.

A SELECT goes through `PASSES` from the first one, and then becomes relations (`livejoin.sql.lower.select`). A nested
query that a pass makes goes through those of the later stages:

    stage        passes                                          made by                                enters at
    unnesting    unnest_sub_queries                              whole queries, sub-queries             `bound`
    merging      full_joins_to_outer, merge_views                FROM: constant rows, PIVOT, FULL JOIN  `merged`
    normalizing  push_down_projections, add_up_left_joins,       unions, isolated parts, windows        `relation`
                 normalize_parts

Law: each pass gives a SELECT with the same outputs and the same multiset of rows, for all tables, also with NULLs,
equal rows or no rows. Each pass also says which conditions it needs and which it leaves.

    >>> [one.name for one in PASSES if one.stage == "merging"]
    ['full_joins_to_outer', 'merge_views']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from livejoin.query.relational import Relation
from livejoin.sql.lower.parts.full_joins import is_one_sided, without_full_joins
from livejoin.sql.lower.parts.normal_parts import is_normal, normal
from livejoin.sql.lower.parts.projection_pushdown import push_down_projections, reads_all
from livejoin.sql.lower.select import relation_of
from livejoin.sql.lower.view_merging import merge_views
from livejoin.sql.names.known import Names
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.query import BoundBlock, SelectBlock
from livejoin.sql.sub_queries.free import refuse_outer
from livejoin.sql.sub_queries.left_join_sums import add_up_left_joins
from livejoin.sql.sub_queries.rewriter import Enclosing, Rewriter
from livejoin.sql.sub_queries.unnest import unnest

Stage: TypeAlias = Literal["unnesting", "merging", "normalizing"]
Rewrite: TypeAlias = Callable[[SelectBlock, Rewriter], SelectBlock]


@dataclass(frozen=True)
class Pass:
    """A rewrite of a SELECT.

    Args:
        name: The name of the pass.
        stage: The stage of the pass; a nested query that a pass makes enters at one.
        rewrite: The function, which gives the same object if there is nothing to do.
        needs: A condition on the SELECT before the pass, beside those that earlier passes leave.
        leaves: A condition on the SELECT after the pass.
        holds: A cheap check of ``leaves``, made by tests alone.
        while_changing: The name of an earlier pass: as long as that pass still changes the SELECT after this one, this
            one runs again. Empty if the pass runs once.
    """

    name: str
    stage: Stage
    rewrite: Rewrite
    needs: str
    leaves: str
    holds: Callable[[SelectBlock], bool]
    while_changing: str = ""


def well_formed(block: SelectBlock) -> bool:
    """Whether the parts of a SELECT fit together; every pass needs and leaves this.

    Each occurrence has its position as its number, each column that is read exists, each part hangs on an earlier one
    or on the core, and no occurrence is in two parts.
    """
    widths = [len(relation.table.columns) for relation in block.scope.relations]
    columns = (column for value in block.expressions for column in nodes_of(value, exp.Column))
    refs = [column.meta[REF] for column in columns if REF in column.meta]
    for equality in (*block.equalities, *(one for part in block.parts for one in part.equalities)):
        refs += [equality.left, equality.right]
    hanging = [atom for part in block.parts for atom in part.atoms]
    return (
        [relation.atom for relation in block.scope.relations] == list(range(len(widths)))
        and all(ref.atom < len(widths) and ref.column < widths[ref.atom] for ref in refs)
        and all(part.above is None or part.above < place for place, part in enumerate(block.parts))
        and len(hanging) == len(set(hanging))
        and all(atom < len(widths) for atom in hanging)
    )


def _is_unnested(block: SelectBlock) -> bool:
    nested = (relation.nested for relation in block.scope.relations if relation.nested is not None)
    return (
        not block.sub_queries
        and not block.read_order
        and not any(map(has_marks, block.expressions))
        and all(query.correlated is None for query in nested)
    )


def _has_no_one_sided_join(block: SelectBlock) -> bool:
    return not any(is_one_sided(relation, block) for relation in block.scope.relations)


def _reads_all_of_unions(block: SelectBlock) -> bool:
    return all(reads_all(relation, block) for relation in block.scope.relations)


PASSES: tuple[Pass, ...] = (
    Pass(
        name="unnest_sub_queries",
        stage="unnesting",
        rewrite=unnest,
        needs="names are resolved, and each mark in an expression is the number of a sub-query",
        leaves="no sub-queries in expressions, and no correlated ones in FROM: they are parts of the SELECT; no order "
        "in which rows are only read",
        holds=_is_unnested,
    ),
    Pass(
        name="full_joins_to_outer",
        stage="merging",
        rewrite=without_full_joins,
        needs="no sub-queries",
        leaves="no FULL JOIN of which the conditions reject the NULLs of a side: it is a LEFT JOIN then",
        holds=_has_no_one_sided_join,
    ),
    Pass(
        name="merge_views",
        stage="merging",
        rewrite=lambda block, _: merge_views(block),
        needs="no sub-queries",
        leaves="every query in FROM stays apart, for a reason that `livejoin.sql.lower.view_merging` lists; no FULL "
        "JOIN that the conditions of what was merged make one of one side",
        holds=_has_no_one_sided_join,
        while_changing="full_joins_to_outer",
    ),
    Pass(
        name="push_down_projections",
        stage="normalizing",
        rewrite=push_down_projections,
        needs="no sub-queries; what could be merged is",
        leaves="of a union in FROM that has no name every column is read, or it has one column",
        holds=_reads_all_of_unions,
    ),
    Pass(
        name="add_up_left_joins",
        stage="normalizing",
        rewrite=add_up_left_joins,
        needs="no sub-queries; what could be merged is",
        leaves="a SELECT with groups over a LEFT JOIN by one comparison has an aggregate that is no sum of its pairs, "
        "or a group that reads the optional side",
        holds=well_formed,
    ),
    Pass(
        name="normalize_parts",
        stage="normalizing",
        rewrite=normal,
        needs="no sub-queries; what could be merged is",
        leaves="every part is in the normal form of `livejoin.sql.lower.parts.normal_parts`: a branch of a conjunctive "
        "query can say its edge",
        holds=is_normal,
    ),
)


@dataclass(frozen=True)
class PassRewriter:
    """Takes SELECTs through `PASSES`: the `Rewriter` of binding.

    Args:
        names: The names in FROM.
        allow_product: Whether a condition may compare tables that no equality connects.
        enclosing: The SELECT around the one that is unnested.
    """

    names: Names
    allow_product: bool = False
    enclosing: Enclosing | None = None

    def within(self, enclosing: Enclosing | None) -> PassRewriter:
        """See `Rewriter`."""
        return replace(self, enclosing=enclosing)

    def unnested(self, block: SelectBlock) -> SelectBlock:
        """See `Rewriter`."""
        return self._through("unnesting", block)

    def bound(self, block: SelectBlock) -> BoundBlock:
        """See `Rewriter`."""
        plain = self.unnested(block)
        refuse_outer(plain)
        return self.merged(plain)

    def merged(self, block: SelectBlock) -> BoundBlock:
        """See `livejoin.sql.lower.lowering.Lowering`."""
        merged = self._through("merging", block)
        return BoundBlock(block, merged, self.relation(merged))

    def relation(self, block: SelectBlock) -> Relation:
        """See `livejoin.sql.lower.lowering.Lowering`."""
        return relation_of(self._through("normalizing", block), self)

    def _through(self, stage: Stage, block: SelectBlock) -> SelectBlock:
        for one in PASSES:
            if one.stage == stage:
                block = self._run(one, block)
        return block

    def _run(self, one: Pass, block: SelectBlock) -> SelectBlock:
        block = one.rewrite(block, self)
        if one.while_changing:
            before = next(other for other in PASSES if other.name == one.while_changing)
            while (found := before.rewrite(block, self)) is not block:
                block = one.rewrite(found, self)
        return block
