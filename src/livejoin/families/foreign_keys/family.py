"""Foreign-key joins as a family: joins along primary keys whose graph is acyclic with one root (AJU, section 3).

A row of the root joins at most one row of each other table, so that results are live rows of the root, with
multiplicities; distinct or annotated results of the join are those of a store above it. Edges that are not inner may
hang on by the whole key of a table. Joins of attributes that no key carries are taken by other families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.families.derived import DerivedTable
from livejoin.families.family import NO_CANDIDATES, Candidates
from livejoin.families.first_in_first_out import fifo_update
from livejoin.families.foreign_keys.graph import Link, LinkGraph, link_graph, propagation
from livejoin.families.foreign_keys.outline import graph_outline
from livejoin.families.foreign_keys.plan import ForeignKeyPlan, compile_foreign_keys
from livejoin.families.outline import PlanOutline, atom_outlines
from livejoin.query import ConjunctiveQuery, EdgeKind
from livejoin.search.guarantee import CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, Guarantee, UpdateBound
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.search.touches import LEAST, Churn, churn


@dataclass(frozen=True)
class ForeignKeyCandidate:
    """The foreign-key plan of a query.

    Args:
        problem: The planning problem of the query.
        graph: The link graph of the query.
        changes: The changes to expect.
    """

    problem: Problem
    graph: LinkGraph
    changes: Churn

    @property
    def guarantee(self) -> Guarantee:
        """AJU, Theorem 8; O(1) always if nothing but the root changes, amortised if rows leave that one alone."""
        query, wishes = self.graph.query, {link.kind for link in self.graph.links}
        source = "AJU, Theorem 8" + ("; livejoin's decision 36" if wishes - {"inner"} else "")
        bound, update = (
            UpdateBound.FIFO,
            f"{fifo_update(query)}; else O(lambda), the enclosureness of the change sequence",
        )
        if "not exists" in wishes:
            bound = UpdateBound.LAMBDA
            update = "O(lambda) a change, the enclosureness of the change sequence, also while rows never leave"
        elif self.problem.leaving <= {self.graph.root}:
            bound = UpdateBound.ALWAYS
            update = (
                "amortised O(1) a change, for every change sequence: rows leave the root of the foreign-key graph "
                "alone, so that each row waits once for what is below it"
            )
        elif self._is_never_left():
            bound = UpdateBound.LAMBDA
            update = "O(1) a change while rows never leave; else O(lambda), the enclosureness of the change sequence"
        paid = bound is UpdateBound.ALWAYS
        if self.problem.dynamic <= {self.graph.root}:
            bound, paid = UpdateBound.ALWAYS, False
            update = "O(1) a change, for every change sequence: only the root of the foreign-key graph changes"
        return Guarantee(bound, update, CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, source, paid)

    def _is_never_left(self) -> bool:
        """Whether rows leave what stands below an append-only table: each may visit ever more rows of that one."""
        loses = [atom in self.problem.leaving for atom in range(len(self.graph.order))]
        for relation in reversed(self.graph.order):
            below = any(loses[link.child] for link in self.graph.below[relation])
            if below and relation in self.problem.growing:
                return True
            loses[relation] = loses[relation] or below
        return False

    @property
    def line(self) -> str:
        return self.graph.line

    @property
    def cost(self) -> float:
        """The depths of the atoms, each as often as its table changes."""
        return float(sum(d * w for d, w in zip(self.graph.depths, self.problem.weights, strict=True)))

    @property
    def propagation(self) -> float:
        """Rows that a change visits: its own and the parents of each row that comes alive or dies with it."""
        return propagation(self.graph, self.problem)

    @property
    def touches(self) -> float:
        """A row's record, the entry of its key and those of its children's; and what it visits when it comes alive."""
        graph, met = self.graph, self.changes.met
        alive = [1.0] * len(graph.order)  # the share of the rows of a relation that have all rows that they want
        for relation in reversed(graph.order):
            for link in graph.below[relation]:
                alive[relation] *= self._found(link, alive)
        up, touched = [0.0] * len(graph.order), [0.0] * len(graph.order)
        for relation in graph.order:
            for link in graph.above[relation]:
                others = alive[link.parent] / self._found(link, alive)
                up[relation] += met(link.parent, frozenset(link.over)) * (1.0 + others * up[link.parent])
            keys = len(graph.below[relation]) + (relation != graph.root)
            touched[relation] = 1.0 + keys + alive[relation] * up[relation]
        return self.changes.mean(tuple(touched))

    def _found(self, link: Link, alive: Sequence[float]) -> float:
        """The share of the rows of a parent for which an edge has the row that they want."""
        wanted = link.kind in ("inner", "exists")
        return max(self.changes.met(link.child, frozenset(link.key)) * alive[link.child], LEAST) if wanted else 1.0

    @property
    def tree(self) -> None:
        return None

    @property
    def obstacle(self) -> str:
        return ""

    def outline(self, live: bool) -> PlanOutline:
        return graph_outline(self.graph, atom_outlines(self.graph.query))

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()

    def compile(self, live: bool) -> ForeignKeyPlan:
        return compile_foreign_keys(self.graph, live)


class ForeignKeys:
    """The family of foreign-key joins."""

    algorithms = ("auto", "aju")
    edges = frozenset[EdgeKind]({"exists", "not exists", "optional"})
    aggregates = "of each group in a store above the join"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        return None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if query.free is not None:
            return NO_CANDIDATES
        graph = link_graph(query)
        if isinstance(graph, str):
            return Candidates((), graph, NO_CANDIDATES.search)
        problem = problem_of(query, known, query.free)
        plan = ForeignKeyCandidate(problem, graph, churn(query, problem, known))
        return Candidates((plan,), "", NO_CANDIDATES.search)

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> ForeignKeyCandidate | None:
        plans = self.candidates(query, known).plans
        return next((p for p in plans if isinstance(p, ForeignKeyCandidate) and p.guarantee.bound < than), None)
