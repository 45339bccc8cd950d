"""A join family: one object that says everything about one way to maintain a join.

A family says which joins it takes and over which output (`Family.output`), what its plans are and what each promises
(`Family.candidates`), and what it would promise elsewhere (`Family.better`); a candidate draws itself and compiles to a
`livejoin.families.program.Program`, which opens joins. Who plans, explains, runs and reads joins knows families by
these protocols alone: a new family is a new entry in `livejoin.families.registry.FAMILIES`.

Laws:

- A candidate is a function of the query and the statistics, and `Candidate.compile` of the candidate and ``live``.
- What compiles maintains the query, and keeps what its guarantee promises if the declared keys and static tables are
  what they say.
- The first candidate is the one that the family would run, and what is explained of it is true of what it compiles to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from livejoin.families.derived import DerivedTable
from livejoin.families.outline import PlanOutline
from livejoin.families.program import Program
from livejoin.query import ConjunctiveQuery, EdgeKind
from livejoin.search.guarantee import Guarantee, UpdateBound
from livejoin.search.statistics import Statistics
from livejoin.theory.trees.join_tree import JoinTree


class Candidate(Protocol):
    """A plan that could maintain a query; frozen."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""

    @property
    def line(self) -> str:
        """The plan on one line, with aliases for atoms."""

    @property
    def cost(self) -> float:
        """Sum over the atoms of depth times expected changes (CROWN, end of section 6)."""

    @property
    def propagation(self) -> float:
        """Predicted rows that a change visits, on average over the expected changes."""

    @property
    def touches(self) -> float:
        """Predicted records and keys that a change touches: what families with equal bounds are compared by."""

    @property
    def tree(self) -> JoinTree | None:
        """The join tree over the query's atoms, for the enclosureness of a log; None for a plan without one."""

    @property
    def obstacle(self) -> str:
        """Why this version does not run it; empty if it does, and then it compiles."""

    def outline(self, live: bool) -> PlanOutline:
        """The plan, to be drawn.

        Args:
            live: Whether deltas are asked for.
        """

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        """The relations that the program reads besides those of the query, as bags; blocks of their own keep them."""

    def compile(self, live: bool) -> Program:
        """The program that maintains the query by this plan, or what is left of it over `derived`.

        Args:
            live: Whether its joins must give deltas.
        """


@dataclass(frozen=True)
class SearchOutline:
    """How far the search for a plan went.

    Args:
        trees: Join trees that were compared.
        steps: Steps of the search.
        complete: Whether nothing was left out; if not, a better tree may exist.
        note: The same in one sentence.
    """

    trees: int
    steps: int
    complete: bool
    note: str


@dataclass(frozen=True)
class Candidates:
    """A family's plans for a query.

    Args:
        plans: The plans, the one that the family would take first; none if it does not take the query.
        reason: Why the first one and none of the others, as a sentence; without plans, why there are none, as a clause;
            empty if there is nothing to say.
        search: How they were found.
    """

    plans: tuple[Candidate, ...]
    reason: str
    search: SearchOutline


INNER_ONLY: frozenset[EdgeKind] = frozenset()  # the `Family.edges` of one that takes no other edges
NO_CANDIDATES = Candidates((), "", SearchOutline(0, 0, True, ""))


class Family(Protocol):
    """One way to maintain a join."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The values of ``algorithm=`` under which it is considered, ``auto`` among them if the planner may take it."""

    @property
    def edges(self) -> frozenset[EdgeKind]:
        """The kinds of edges, beside inner ones, that its plans may have; it is not asked about other joins."""

    @property
    def aggregates(self) -> str:
        """How it keeps aggregates that are annotations of its results, as a clause with ``of each group``."""

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        """The output variables that the family keeps if some are asked for.

        None if it does not take the join, or can only give results with multiplicities.

        Args:
            query: The join; its head and free variables do not matter.
            asked: The variables of the distinct or annotated results; they are part of the output.
            known: Statistics of the tables.
        """

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        """The plans of the family for a query. Cost: bounded.

        Args:
            query: The query, whose free variables are an output that a family keeps.
            known: Statistics of the tables.
        """

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> Candidate | None:
        """A plan with a better bound on the cost of a change than a given one, or None.

        The method answers what would be if the query or its tables were others, and is called often: the search is
        shorter than for `candidates`, and the query may have no outputs.

        Args:
            query: The query, whose free variables may be any.
            known: Statistics of the tables.
            than: The bound.
        """
