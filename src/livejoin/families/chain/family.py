"""Standard change propagation as a family: one chain of binary joins for every query, cyclic ones too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from livejoin.families.chain.order import Store, chain_stores, join_order
from livejoin.families.chain.outline import chain_outline
from livejoin.families.chain.plan import ChainPlan, compile_chain
from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, Candidates, SearchOutline
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import Guarantee, UpdateBound
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics

_RESULTS = "all rows that the joins on the way make"


@dataclass(frozen=True)
class ChainCandidate:
    """The chain of joins of a query.

    Args:
        query: The query.
        problem: The planning problem of the query.
    """

    query: ConjunctiveQuery
    problem: Problem

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The atoms in the order of the chain."""
        return join_order(self.query.edges, [atom.predicate is not None for atom in self.query.atoms])

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        """The relations that are kept."""
        return chain_stores(self.query, self.order)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing but what the joins make."""
        return Guarantee(
            UpdateBound.POLYNOMIAL if len(self.order) > 1 else UpdateBound.ALWAYS,
            f"O(changes in {_RESULTS}) a change",
            "constant delay a row, for the result is kept",
            f"{_RESULTS}, and the result",
            f"{_RESULTS}, and the result",
            "standard change propagation (CROWN, section 1)",
        )

    @property
    def line(self) -> str:
        return " |><| ".join(self.query.atoms[atom].alias for atom in self.order)

    @property
    def cost(self) -> float:
        depths = [max(1, len(self.order) - 1), *range(len(self.order) - 1, 0, -1)]
        return float(sum(depth * self.problem.weights[a] for depth, a in zip(depths, self.order, strict=False)))

    @property
    def propagation(self) -> float:
        """Rows that a change makes in all joins, if its row meets as many rows of the others as is expected."""
        made = [self.problem.weights[atom] * self._made(position) for position, atom in enumerate(self.order)]
        return sum(made) / (sum(self.problem.weights) or 1.0)

    @property
    def touches(self) -> float:
        return self.propagation

    def _made(self, position: int) -> float:
        """Rows of the joins that hold one row of the atom at a position, its own included."""
        edges, bound = self.problem.edges, self.problem.edges[self.order[position]]
        rows = made = 1.0
        for at, atom in enumerate((*reversed(self.order[:position]), *self.order[position + 1 :])):
            rows *= self.problem.fanout(atom, edges[atom] & bound)
            bound |= edges[atom]
            if at >= position - 1:  # those before come in one join
                made += rows
        return made

    @property
    def tree(self) -> None:
        return None

    @property
    def obstacle(self) -> str:
        return ""

    def outline(self, live: bool) -> PlanOutline:
        return chain_outline(self.order, self.stores, atom_outlines(self.query))

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()

    def compile(self, live: bool) -> ChainPlan:
        return compile_chain(self.query, live)


class ChangePropagation:
    """The family of standard change propagation; it keeps every output as it is."""

    algorithms = ("change-propagation",)
    edges = INNER_ONLY
    aggregates = "of each group kept with its row in the last join"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        return asked

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        plan = ChainCandidate(query, problem_of(query, known, query.free))
        return Candidates((plan,), "", SearchOutline(0, 0, True, "there is one chain, by the atoms' shared columns"))

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> None:
        return None
