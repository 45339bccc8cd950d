"""View trees as a family: well-behaved queries with static tables (ICDT 2025).

Theory alone so far: the family tells what such a plan would promise, and compiles none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.families.theory_only import TheoryOnly
from livejoin.families.view_trees.outline import view_line, view_tree_outline
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, Guarantee, UpdateBound
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.static.static_dynamic import StaticDynamic, Tractability, static_dynamic
from livejoin.theory.static.view_tree import Rewriting

OBSTACLE = "view trees are not maintained yet"
_BUDGET = 2_000  # steps to the order of least width
_SHORT_BUDGET = 40  # the bound on changes does not depend on the width; 4,000 took 13 s for a grid of 12 atoms


@dataclass(frozen=True)
class ViewTreeCandidate(TheoryOnly):
    """The view trees of a query.

    Args:
        found: Its class, with a safe rewriting.
        rewriting: The rewriting.
    """

    found: StaticDynamic
    rewriting: Rewriting

    @property
    def guarantee(self) -> Guarantee:
        """ICDT 2025, Theorems 1 and 3."""
        loading = f"{self.found.preprocessing} for N base rows"
        return Guarantee(
            UpdateBound.ALWAYS,
            "O(1) a change of a table that is not static, for every change sequence",
            CONSTANT_DELAY,
            f"{loading}, after the static tables are joined once",
            loading,
            f"ICDT 2025, Theorem {1 if self.found.tractability is Tractability.LINEAR else 3}",
        )

    @property
    def line(self) -> str:
        atoms = atom_outlines(self.query)
        return ", ".join(view_line(tree, atoms) for tree in self.rewriting.trees)

    @property
    def propagation(self) -> float:
        return float(self.drawn.height)

    @property
    def touches(self) -> float:
        return self.propagation

    @property
    def obstacle(self) -> str:
        return OBSTACLE

    @cached_property
    def drawn(self) -> PlanOutline:
        return view_tree_outline(self.rewriting, self.problem.dynamic, atom_outlines(self.query))


class ViewTrees:
    """The family of view trees."""

    algorithms = ("auto", "crown")
    obstacle = OBSTACLE
    edges = INNER_ONLY
    aggregates = "of each group"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str]) -> frozenset[str] | None:
        return None if _plan(query, asked, Statistics(), _SHORT_BUDGET) is None else asked

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        plan = _plan(query, query.free, known, _BUDGET)
        return NO_CANDIDATES if plan is None else Candidates((plan,), "", NO_CANDIDATES.search)

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> ViewTreeCandidate | None:
        return None if than == UpdateBound.ALWAYS else _plan(query, query.free, known, _SHORT_BUDGET)


def _plan(
    query: ConjunctiveQuery, free: frozenset[str] | None, known: Statistics, budget: int
) -> ViewTreeCandidate | None:
    """The view trees of a query that is well-behaved and has static tables."""
    problem = problem_of(query, known, free)
    if len(problem.dynamic) == len(problem.edges):
        return None
    found = static_dynamic(problem.edges, problem.free, problem.dynamic, budget)
    return None if found.rewriting is None else ViewTreeCandidate(query, problem, found, found.rewriting)
