"""Foreign-key joins as a family: joins along primary keys whose graph is acyclic with one root (AJU, section 3).

A row of the root joins at most one row of each other table, so that results are live rows of the root, with
multiplicities; distinct or annotated results of the join are those of a store above it. Edges that are not inner, and
joins of attributes that no key carries, are taken by other families.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates
from livejoin.families.first_in_first_out import fifo_update
from livejoin.families.foreign_keys.outline import graph_outline
from livejoin.families.foreign_keys.plan import ForeignKeyPlan, compile_foreign_keys, graph_line
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, Guarantee, UpdateBound
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.keys.assertion_key import assertion_keys
from livejoin.theory.keys.foreign_key import ForeignKeyGraph, foreign_key_acyclic, foreign_key_graph


@dataclass(frozen=True)
class ForeignKeyCandidate:
    """The foreign-key plan of a query.

    Args:
        query: The query.
        problem: Its planning problem.
        graph: Its foreign-key graph, a DAG with one root.
    """

    query: ConjunctiveQuery
    problem: Problem
    graph: ForeignKeyGraph

    @property
    def guarantee(self) -> Guarantee:
        """AJU, Theorem 8; O(1) always if nothing but the root changes."""
        bound = UpdateBound.FIFO
        update = f"{fifo_update(self.query)}; else O(lambda), the enclosureness of the change sequence"
        if self.problem.dynamic <= {self.graph.digraph.roots[0]}:
            bound = UpdateBound.ALWAYS
            update = "O(1) a change, for every change sequence: only the root of the foreign-key graph changes"
        return Guarantee(bound, update, CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, "AJU, Theorem 8")

    @property
    def line(self) -> str:
        return graph_line(self.query, self.graph)

    @property
    def cost(self) -> float:
        """The depths of the atoms, each as often as its table changes."""
        depths = {node.atoms[0]: node.depth for node in self.drawn.nodes if node.atoms}
        weights = self.problem.weights
        return float(sum(depths[atom.alias] * w for atom, w in zip(self.query.atoms, weights, strict=True)))

    @property
    def propagation(self) -> float:
        """Rows that a change visits: its own and the parents of each row that comes alive or dies with it."""
        visited = [1.0] * len(self.query.atoms)
        digraph = self.graph.digraph
        for relation in digraph.order:
            for parent in digraph.parents[relation]:
                visited[relation] += self.problem.fanout(parent, self.graph.keys[relation]) * visited[parent]
        weights = self.problem.weights
        return sum(w * v for w, v in zip(weights, visited, strict=True)) / (sum(weights) or 1.0)

    @property
    def tree(self) -> None:
        return None

    @property
    def obstacle(self) -> str:
        return ""

    @cached_property
    def drawn(self) -> PlanOutline:
        """What explain draws."""
        return graph_outline(self.graph, assertion_keys(self.graph), atom_outlines(self.query))

    def outline(self, live: bool) -> PlanOutline:
        return self.drawn

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()

    def compile(self, live: bool) -> ForeignKeyPlan:
        return compile_foreign_keys(self.query, self.graph, live)


class ForeignKeys:
    """The family of foreign-key joins."""

    algorithms = ("auto", "aju")
    obstacle = ""
    edges = INNER_ONLY
    aggregates = "of each group in a store above the join"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str]) -> frozenset[str] | None:
        return None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if query.free is not None:
            return NO_CANDIDATES
        plan = _candidate(query, known)
        if isinstance(plan, str):
            return Candidates((), plan, NO_CANDIDATES.search)
        return Candidates((plan,), "", NO_CANDIDATES.search)

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> ForeignKeyCandidate | None:
        plan = _candidate(query, known) if query.free is None else ""
        return None if isinstance(plan, str) or plan.guarantee.bound >= than else plan


def _candidate(query: ConjunctiveQuery, known: Statistics) -> ForeignKeyCandidate | str:
    """The plan of a query, or why it has none."""
    graph = foreign_key_graph(query)
    found = foreign_key_acyclic(graph)
    if found:
        return ForeignKeyCandidate(query, problem_of(query, known, query.free), graph)
    names = [atom.alias for atom in query.atoms]
    if found.unkeyed:
        join = found.unkeyed[0]
        sides = " with ".join(", ".join(names[a] for a in group) for group in join.groups)
        return f"{join.variable} joins {sides}, by no key of either that the query uses as a whole"
    if found.cycle:
        return f"{' and '.join(names[a] for a in found.cycle)} reference each other by their keys"
    roots = " and ".join(names[a] for a in found.roots)
    return f"{roots} are each referenced by none of the others, so that results are pairs of their rows"
