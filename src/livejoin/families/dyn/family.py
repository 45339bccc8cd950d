"""Dynamic Yannakakis as a family: T-representations with multiplicities, for every acyclic query (DYN, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from livejoin.families.dyn.outline import dyn_outline
from livejoin.families.dyn.plan import DynPlan, compile_dyn
from livejoin.families.dyn.structure import DynNode, dyn_nodes
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates
from livejoin.families.join_trees import TreePlan, free_connex_output, join_trees, tree_search
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, Guarantee, UpdateBound
from livejoin.search.statistics import Statistics

_DISTINCT = "constant delay a row; the deltas of distinct results look at every result whose multiplicity changes"


@dataclass(frozen=True)
class DynCandidate(TreePlan):
    """The T-representation over the tree that DYN makes from a join tree."""

    @cached_property
    def nodes(self) -> tuple[DynNode, ...]:
        """The nodes of DYN's tree."""
        distinct = [self.query.is_distinct(a) for a in range(len(self.query.atoms))]
        return dyn_nodes(self.measured.tree, self.query.free, distinct)

    @property
    def guarantee(self) -> Guarantee:
        wide = _no_guard(self.nodes)
        if wide is None:
            bound, source = UpdateBound.ALWAYS, "DYN, Theorem 4.15"
            update = (
                "O(1) a change, for every change sequence: every child of the tree contains its parent (it is simple)"
            )
        else:
            bound, source = UpdateBound.LINEAR, "DYN, Proposition 4.16"
            key = ", ".join(wide.key)
            update = f"O(|D|) a change at most: one change of ({key}) reaches every row above with this key"
        delay = _DISTINCT if self.query.free is not None and not self.query.sums else CONSTANT_DELAY
        return Guarantee(bound, update, delay, LINEAR_SPACE, LINEAR_TIME, source)

    def outline(self, live: bool) -> PlanOutline:
        return dyn_outline(self.nodes, atom_outlines(self.query))

    def compile(self, live: bool) -> DynPlan:
        return compile_dyn(self.query, self.measured.tree, live)


class Dyn:
    """The family of Dynamic Yannakakis."""

    algorithms = ("dyn",)
    edges = INNER_ONLY
    aggregates = "of each group as annotations of the T-representation (DYN, section 4): no state of their own"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        return free_connex_output(query, asked)

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if (trees := join_trees(query, known)) is None:
            return NO_CANDIDATES
        choice = trees.choice
        plans = tuple(DynCandidate(query, one, trees.changes) for one in (choice.best, *choice.others))
        return Candidates(plans, f"Over the join tree that CROWN would take. {choice.reason}", tree_search(choice))

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> None:
        return None


def _no_guard(nodes: Sequence[DynNode]) -> DynNode | None:
    """A child that does not contain its parent."""
    for node in nodes:
        if node.parent is not None and node.key != nodes[node.parent].variables:
            return node
    return None
