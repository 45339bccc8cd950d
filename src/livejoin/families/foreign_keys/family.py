"""Foreign-key plans as a family: joins along primary keys whose graph is acyclic with one root (AJU).

Theory alone so far: the family tells what such a plan would promise, cyclic joins among them, and compiles none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates
from livejoin.families.first_in_first_out import fifo_update
from livejoin.families.foreign_keys.outline import graph_outline
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.families.theory_only import TheoryOnly
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, LINEAR_TIME, Guarantee, UpdateBound
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.keys.assertion_key import assertion_keys
from livejoin.theory.keys.foreign_key import ForeignKeyGraph, foreign_key_acyclic, foreign_key_graph

OBSTACLE = "foreign-key plans are not maintained yet"


@dataclass(frozen=True)
class ForeignKeyCandidate(TheoryOnly):
    """The foreign-key plan of a query.

    Args:
        graph: Its foreign-key graph, a DAG with one root.
    """

    graph: ForeignKeyGraph

    @property
    def guarantee(self) -> Guarantee:
        """AJU, Theorem 8; O(1) always if nothing but the root changes."""
        bound = UpdateBound.FIFO
        update = f"{fifo_update(self.query)}; else O(lambda), the enclosureness of the change sequence"
        if self.problem.dynamic <= {self.graph.digraph.roots[0]}:
            bound = UpdateBound.ALWAYS
            update = "O(1) a change, for every change sequence: only the root of the foreign-key graph changes"
        return Guarantee(bound, update, CONSTANT_DELAY, LINEAR_TIME, LINEAR_TIME, "AJU, Theorem 8")

    @property
    def line(self) -> str:
        atoms = self.query.atoms
        return " ".join(f"{atoms[e.parent].alias}->{atoms[e.child].alias}" for e in self.graph.references)

    @property
    def propagation(self) -> float:
        return 1.0

    @property
    def obstacle(self) -> str:
        return OBSTACLE

    @cached_property
    def drawn(self) -> PlanOutline:
        return graph_outline(self.graph, assertion_keys(self.graph), atom_outlines(self.query))


class ForeignKeys:
    """The family of foreign-key plans."""

    algorithms = ("auto", "crown")
    obstacle = OBSTACLE
    edges = INNER_ONLY
    aggregates = "of each group"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str]) -> frozenset[str] | None:
        return None if _graph(query) is None else asked

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if (graph := _graph(query)) is None:
            return NO_CANDIDATES
        return Candidates(
            (ForeignKeyCandidate(query, problem_of(query, known, query.free), graph),), "", NO_CANDIDATES.search
        )

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> ForeignKeyCandidate | None:
        if (graph := _graph(query)) is None:
            return None
        plan = ForeignKeyCandidate(query, problem_of(query, known, query.free), graph)
        return plan if plan.guarantee.bound < than else None


def _graph(query: ConjunctiveQuery) -> ForeignKeyGraph | None:
    """The graph of a query that is foreign-key acyclic; of one table it is the join tree."""
    graph = foreign_key_graph(query)
    return graph if len(query.atoms) > 1 and foreign_key_acyclic(graph) else None
