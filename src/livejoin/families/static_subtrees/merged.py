"""Plans in which static tables that refer to each other are one relation, where that takes less memory.

A bag over static tables (`livejoin.families.view_trees`) takes the place of a table and of those that it refers to. It
has the key of the first, so that what a plan rests on stays. What it saves are records and entries of the tables that
are referred to, and the words that refer to them; what it costs are its rows, which a block keeps beside the join. So
it is smaller only where the tables have about as many rows as each other (docs/decisions/0050).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from livejoin.families.across import Across
from livejoin.families.derived import DerivedTable
from livejoin.families.family import Candidate
from livejoin.families.outline import MergedOutline, NodeOutline, PlanOutline
from livejoin.families.program import Program
from livejoin.families.static_subtrees.subtree import Subtree, subtrees
from livejoin.families.view_trees.cut import Cutting
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import Guarantee
from livejoin.search.statistics import Figure, Statistics, TableStatistics
from livejoin.theory.static.static_bags import StaticBag
from livejoin.theory.trees.join_tree import JoinTree
from livejoin.words import WORD_BYTES

Planner: TypeAlias = Callable[[ConjunctiveQuery, Statistics], Candidate | None]
"""The plan that is taken for a query; None if no family takes it: with fewer atoms it may be cyclic."""

LEAST_SAVED = 1 << 16
"""Bytes that must be saved: a block, and what its records and buffers are rounded up to, take as much."""

_WORTH = 0.25  # of the rows of a table: so many must be referred to, or there is nothing to be saved
_ROW_WORDS = 2  # of a row of a bag beside its columns: its multiplicity, and its place in the index


@dataclass(frozen=True)
class MergedCandidate(Across):
    """A plan over relations that stand for static tables.

    Args:
        relations: The relations.
        outer: The plan across them.
        told: The static tables that the relations stand for.
    """

    relations: tuple[DerivedTable, ...]
    outer: Candidate
    told: tuple[MergedOutline, ...]

    @property
    def guarantee(self) -> Guarantee:
        return self.outer.guarantee

    @property
    def tree(self) -> JoinTree | None:
        return None

    def outline(self, live: bool) -> PlanOutline:
        drawn = self.outer.outline(live)
        titles = {one.title for one in self.told}

        def node(found: NodeOutline) -> NodeOutline:
            alias = next((alias for alias in found.atoms if alias in titles), None)
            return found if alias is None else replace(found, label=alias, promise="static")

        return replace(drawn, nodes=tuple(map(node, drawn.nodes)), merged=self.told)

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return self.relations


def merged(query: ConjunctiveQuery, known: Statistics, plan: Candidate, planner: Planner) -> MergedCandidate | None:
    """A plan in which static tables are one relation; None where none takes less memory with as good a bound.

    With a ``preprocessing_limit`` there is none: a refresh could make the relation larger than that.

    Cost: that of the planner for each subtree of which it is not known at once that it saves nothing.

    Args:
        query: The query.
        known: The known figures of the query's tables.
        plan: The plan that is taken without.
        planner: Plans queries.
    """
    if known.preprocessing_limit is not None or plan.derived or not any(atom.table.static for atom in query.atoms):
        return None
    found: MergedCandidate | None = None
    chosen: list[Subtree] = []
    for one in subtrees(query, known):
        taken = {atom for other in chosen for atom in other.atoms}
        if not taken.isdisjoint(one.atoms) or max(one.referred) < _WORTH * one.rows:
            continue
        tried = _with_relations(query, known, [*chosen, one], planner)
        if tried is not None and _is_better(query, known, [*chosen, one], plan, tried):
            found, chosen = tried, [*chosen, one]
    return found


def _with_relations(
    query: ConjunctiveQuery, known: Statistics, chosen: Sequence[Subtree], planner: Planner
) -> MergedCandidate | None:
    """The plan in which some subtrees are relations; None if it would make other relations too."""
    cutting = Cutting(query, query)
    for one in chosen:
        inside = frozenset().union(*(_shared(query, one, atom) for atom in one.atoms))
        cutting.add(StaticBag(inside, one.kept, tuple(sorted(one.atoms)), (), (), ()), one.key)
    relations = tuple(cutting.derived.values())
    figures = [
        TableStatistics(relation.table.name, rows=Figure(one.rows, "observed"))
        for relation, one in zip(relations, chosen, strict=True)
    ]
    merged_atoms = {atom for one in chosen for atom in one.atoms}
    left = [atom for atom in range(len(query.atoms)) if atom not in merged_atoms]
    outer = planner(cutting.outer(left, range(len(chosen))), Statistics(tuple(figures)).over(known))
    if outer is None or outer.derived or outer.obstacle:
        return None
    told = []
    for relation, one in zip(relations, chosen, strict=True):
        tables = tuple(query.atoms[atom].alias for atom in one.atoms)
        instead = sum(known.of(query.atoms[atom].table.name).rows.value or 0.0 for atom in one.atoms)
        told.append(MergedOutline(relation.title, tables, instead, one.rows))
    return MergedCandidate(relations, outer, tuple(told))


def _shared(query: ConjunctiveQuery, subtree: Subtree, atom: int) -> frozenset[str]:
    """The variables of an atom that are kept, or compared with another one inside."""
    others = frozenset[str]().union(*(query.edges[other] for other in subtree.atoms if other != atom))
    return query.edges[atom] & (subtree.kept | others)


def _is_better(
    query: ConjunctiveQuery, known: Statistics, chosen: Sequence[Subtree], plan: Candidate, tried: MergedCandidate
) -> bool:
    """Whether a plan with relations has as good a bound as the plan without, and takes less memory."""
    before, after = plan.guarantee, tried.guarantee
    if (after.bound, after.is_amortised) > (before.bound, before.is_amortised):
        return False
    rows = {one.table.name: found.rows for one, found in zip(tried.relations, chosen, strict=True)}
    for one in chosen:
        names = (query.atoms[atom].table.name for atom in one.atoms)
        rows |= dict(zip(names, (one.rows, *one.referred), strict=True))
    stored = sum(
        WORD_BYTES * found.rows * (_ROW_WORDS + len(one.table.columns))
        for one, found in zip(tried.relations, chosen, strict=True)
    )
    saved = _bytes(plan.compile(True), known, rows) - _bytes(tried.compile(True), known, rows) - stored
    return saved >= LEAST_SAVED


def _bytes(program: Program, known: Statistics, rows: Mapping[str, float]) -> float:
    """Predicted bytes of a program's state over static tables and relations that stand for them."""
    found = program.footprint(known)
    return sum((one.record + one.indexes) * rows.get(one.table.name, 0.0) for one in found)
