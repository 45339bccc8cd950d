"""Bags as a family: cyclic queries, as a join tree over the joins of a decomposition (CROWN, section 7.1).

The tree over the bags is that of another family, which says how it is maintained: there is one family of bags over
CROWN's trees and one over T-representations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from livejoin.families.bags.outline import bag_line, bag_outline
from livejoin.families.bags.plan import Cut, cut_into_bags
from livejoin.families.bags.update_cost import update_exponent
from livejoin.families.bags.visits import visits
from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidate, Candidates, Family, SearchOutline
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.families.program import Program
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, Guarantee, UpdateBound, power
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.cyclic.decomposition import Decomposition, decompose


@dataclass(frozen=True)
class BagCandidate:
    """A plan over bags.

    Args:
        cut: The bags.
        problem: The planning problem of the query.
        outer: The plan across the bags.
        across: The kind of the outer plan, for the title; empty for CROWN's tree.
    """

    cut: Cut
    problem: Problem
    outer: Candidate
    across: str

    @cached_property
    def decomposition(self) -> Decomposition:
        """The bags with the tree that is maintained over them, which was chosen among all."""
        assert self.outer.tree is not None
        return replace(self.cut.decomposition, tree=self.outer.tree)

    @cached_property
    def guarantee(self) -> Guarantee:
        exponent = update_exponent(self.decomposition, self.problem)
        space = f"{power(str(self.decomposition.width))} for N base rows"
        found = Guarantee(
            UpdateBound.LINEAR if exponent <= 1 else UpdateBound.POLYNOMIAL,
            f"{power(str(exponent))} a change for N base rows, because one change can change that many rows of a bag",
            CONSTANT_DELAY,
            f"{space}: the joins inside the bags are stored",
            space,
            "CROWN, section 7.1, Theorem 7.1",
        )
        return _counted(found) if self.cut.is_counted_triangle else found

    @property
    def line(self) -> str:
        return bag_line(self.decomposition, atom_outlines(self.cut.query))

    @property
    def cost(self) -> float:
        found = self.decomposition
        return float(
            sum(
                (depth - 1) * self.problem.weights[atom]
                for node, depth in zip(found.tree.nodes, found.tree.depths, strict=True)
                if node.atom is not None
                for atom in found.bags[node.atom].atoms
            )
        )

    @property
    def propagation(self) -> float:
        return visits(self.decomposition, self.problem)

    @property
    def touches(self) -> float:
        return self.propagation

    @property
    def tree(self) -> None:
        return None

    @property
    def obstacle(self) -> str:
        return self.outer.obstacle

    def outline(self, live: bool) -> PlanOutline:
        drawn = bag_outline(self.decomposition, self.problem, atom_outlines(self.cut.query), live)
        return replace(drawn, title=drawn.title + self.across)

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return self.cut.derived

    def compile(self, live: bool) -> Program:
        return self.outer.compile(live)


class Bags:
    """The family of plans over bags.

    Args:
        inner: The family that maintains the join across the bags.
        across: How it does so, in words behind the title; empty if there is nothing to say.
    """

    edges = INNER_ONLY

    def __init__(self, inner: Family, across: str = "") -> None:
        self._inner = inner
        self._across = across
        self.algorithms = inner.algorithms
        self.aggregates = inner.aggregates

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        """Any output; but bags may have to be wider for a smaller one, and then all variables are kept."""
        if is_acyclic(query.edges):
            return None
        as_wide = decompose(query.edges, asked).width <= decompose(query.edges).width
        return asked if as_wide else query.variables

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if is_acyclic(query.edges):
            return NO_CANDIDATES
        cut = cut_into_bags(query)
        outer = self._inner.candidates(cut.outer, known).plans[0]
        plan = BagCandidate(cut, problem_of(query, known, query.free), outer, self._across)
        complete = cut.decomposition.complete
        note = "the search for the best bags " + ("came to its end" if complete else "was bounded")
        return Candidates((plan,), "", SearchOutline(0, 0, complete, note))

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> None:
        return None


def _counted(below: Guarantee) -> Guarantee:
    """What is promised for a triangle that is only counted (`livejoin.kernels.bag.heavy_pairs`)."""
    return replace(
        below,
        update=(
            "O(N^(1/2)) a change amortised for N base rows: values with about that many rows are heavy, and a view has "
            "the sums between every two of them"
        ),
        space="O(N) for N base rows: no triangle is stored",
        source="Kara, Ngo, Nikolic, Olteanu, Zhang, Counting triangles under updates (ICDT 2019)",
    )
