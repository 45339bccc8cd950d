"""A plan that theory knows and nothing runs yet: explain ranks and draws it, and what it would promise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from livejoin.errors import UnsupportedQueryError
from livejoin.families.derived import DerivedTable
from livejoin.families.outline import PlanOutline
from livejoin.families.program import Program
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import Problem


@dataclass(frozen=True)
class TheoryOnly(ABC):
    """A candidate without a program; as `livejoin.families.family.Candidate` where a subclass does not say more.

    Args:
        query: The query.
        problem: Its planning problem.
    """

    query: ConjunctiveQuery
    problem: Problem

    @property
    @abstractmethod
    def obstacle(self) -> str:
        """Why nothing runs it."""

    @property
    @abstractmethod
    def drawn(self) -> PlanOutline:
        """What explain draws."""

    @property
    def cost(self) -> float:
        """The depths of the atoms, each as often as its table changes."""
        depths = {node.atoms[0]: node.depth for node in self.drawn.nodes if node.atoms}
        weights = self.problem.weights
        return float(sum(depths[atom.alias] * w for atom, w in zip(self.query.atoms, weights, strict=True)))

    @property
    def tree(self) -> None:
        return None

    def outline(self, live: bool) -> PlanOutline:
        return self.drawn

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()

    def compile(self, live: bool) -> Program:
        raise UnsupportedQueryError(self.obstacle, clause="FROM")
