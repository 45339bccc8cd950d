"""CROWN's join trees as a family: change propagation without joins, for every acyclic query (CROWN, section 4).

A query that is not free-connex keeps more variables than it returns and projects while it enumerates (section 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.guarantee import annotated_guarantee, tree_guarantee
from livejoin.families.crown.outline import tree_outline
from livejoin.families.crown.plan import CrownPlan
from livejoin.families.crown.structure import plan_nodes
from livejoin.families.family import NO_CANDIDATES, Candidates
from livejoin.families.join_trees import JoinTrees, TreePlan, free_connex_output, join_trees, tree_search
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.query import ConjunctiveQuery, EdgeKind
from livejoin.search.choose import best_bound
from livejoin.search.guarantee import Guarantee, UpdateBound
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.search.touches import churn


@dataclass(frozen=True)
class TreeCandidate(TreePlan):
    """A join tree as a plan.

    Args:
        problem: The planning problem that the tree was measured for.
    """

    problem: Problem

    @property
    def guarantee(self) -> Guarantee:
        below = tree_guarantee(self.query, self.measured, self.problem)
        if not self.query.sums:
            return below
        distinct = [self.query.is_distinct(a) for a in range(len(self.query.atoms))]
        return annotated_guarantee(below, self.query, plan_nodes(self.tree, self.query.free, distinct), self.problem)

    def outline(self, live: bool) -> PlanOutline:
        return tree_outline(self.tree, self.problem, atom_outlines(self.query), live)

    def compile(self, live: bool) -> CrownPlan:
        return compile_plan(self.query, self.tree, live)


class Crown:
    """The family of CROWN's join trees."""

    algorithms = ("auto", "crown")
    edges = frozenset[EdgeKind]({"exists", "not exists", "optional"})
    aggregates = (
        "of each group as annotations of the tree (CROWN, 7.3): no state of their own; a change also visits the rows "
        "above it that share its keys, up to the groups"
    )

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        if not query.branches:
            return free_connex_output(query, asked)
        core = replace(query, atoms=tuple(query.atoms[atom] for atom in query.core), branches=())
        return free_connex_output(core, asked) if asked <= core.variables else None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if (trees := join_trees(query, known)) is None:
            return NO_CANDIDATES
        return Candidates(_plans(query, trees), trees.choice.reason, tree_search(trees.choice))

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> TreeCandidate | None:
        output = self.output(query, query.variables if query.free is None else query.free, known)
        if query.branches:
            kept = replace(query, free=output)  # None: all rows with their multiplicities, as they would be kept
            trees = join_trees(kept, known)
            plans = () if trees is None else _plans(kept, trees)
            return next((plan for plan in plans if plan.guarantee.bound < than), None)
        if output is None or than == UpdateBound.ALWAYS:
            return None
        problem = problem_of(query, known, output)
        measured = best_bound(problem, UpdateBound(min(than - 1, UpdateBound.LAMBDA)))
        changes = churn(query, problem, known)
        return None if measured is None else TreeCandidate(replace(query, free=output), measured, changes, problem)


def _plans(query: ConjunctiveQuery, trees: JoinTrees) -> tuple[TreeCandidate, ...]:
    """A candidate for each tree, the chosen one first."""
    choice = trees.choice
    return tuple(TreeCandidate(query, one, trees.changes, trees.problem) for one in (choice.best, *choice.others))
