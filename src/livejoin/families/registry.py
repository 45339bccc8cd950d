"""The join families that there are, and the names under which ``algorithm=`` selects them.

``auto`` is what the planner takes for best. A new family is a new entry here; one that has a name of its own has it in
`livejoin.search.algorithm.Algorithm`, and a new kind of plan is explained in `livejoin.plan.explain.glossary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from livejoin.errors import SchemaError, UnsupportedQueryError
from livejoin.families.bags.family import Bags
from livejoin.families.chain.family import ChangePropagation
from livejoin.families.crown.family import Crown
from livejoin.families.dyn.family import Dyn
from livejoin.families.family import Candidate, Candidates, Family
from livejoin.families.foreign_keys.family import ForeignKeys
from livejoin.families.static_subtrees.merged import MergedCandidate, merged
from livejoin.families.transitions.family import Transitions
from livejoin.families.view_trees.family import ViewTrees
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Statistics
from livejoin.shown import meant

FAMILIES: tuple[Family, ...] = (
    Crown(),
    Bags(Crown()),
    Dyn(),
    Bags(Dyn(), "; across the bags a T-representation (DYN)"),
    ChangePropagation(),
    ForeignKeys(),
    ViewTrees(Crown(), "auto"),
    ViewTrees(Crown(), "view-tree"),
    Transitions(),
)


_AS_WRITTEN = {"inner": "a join", "exists": "EXISTS or IN", "not exists": "NOT EXISTS", "optional": "an outer join"}
"""What hangs on a join by an edge of each kind, as people write it."""


@dataclass(frozen=True)
class RankedFamily:
    """A family with its candidates for a query; with at least one, where it is ranked."""

    family: Family
    candidates: Candidates

    @property
    def first(self) -> Candidate:
        """The one that it would run."""
        return self.candidates.plans[0]


def algorithms() -> tuple[str, ...]:
    """The names of all algorithms, ``auto`` first."""
    return tuple(dict.fromkeys(["auto", *(name for family in FAMILIES for name in family.algorithms)]))


def check_algorithm(name: str) -> None:
    """Refuse what is no algorithm.

    Raises:
        SchemaError: There is no algorithm of this name.
    """
    if name not in algorithms():
        known = algorithms()
        msg = f"there is no algorithm {name!r}{meant(name, known)}; allowed are {', '.join(map(repr, known))}"
        raise SchemaError(msg)


def families_of(algorithm: str, query: ConjunctiveQuery) -> Iterator[Family]:
    """The families that an algorithm's name selects, of those that take the kinds of edges that a query has."""
    kinds = {branch.kind for branch in query.branches}
    return (family for family in FAMILIES if algorithm in family.algorithms and kinds <= family.edges)


def kept_output(
    query: ConjunctiveQuery, asked: frozenset[str], known: Statistics, algorithm: str
) -> frozenset[str] | None:
    """The output variables that are kept for a join: the fewest that a family asks for, of equal ones the first's.

    None: the families of the algorithm have results with multiplicities alone, if they take the join at all.

    Args:
        query: The join.
        asked: The variables that are asked for.
        known: The known figures of the query's tables.
        algorithm: Which families are considered.
    """
    least: frozenset[str] | None = None
    for family in families_of(algorithm, query):
        output = family.output(query, asked, known)
        if output is not None and (least is None or len(output) < len(least)):
            least = output
        if least == asked:
            break
    return least


def ranked(query: ConjunctiveQuery, known: Statistics, algorithm: str) -> tuple[RankedFamily, ...]:
    """The families that could run a query, the one with the best bound on the cost of a change first.

    Of equal bounds that comes first of which a change is predicted to touch least (`livejoin.search.touches`).

    Cost: that of the families' candidates.

    Args:
        query: The query, whose free variables are such an output as `kept_output` gives.
        known: The known figures of the query's tables.
        algorithm: Which families are considered.

    Raises:
        UnsupportedQueryError: No family runs it.
    """
    asked = [*_candidates(query, known, families_of(algorithm, query))]
    found = [one for one in asked if one.candidates.plans]
    runs = [one for one in found if not one.first.obstacle]
    if not runs:
        refusals = [one.first.obstacle if one.candidates.plans else one.candidates.reason for one in asked]
        raise _not_taken(query, algorithm, [refusal for refusal in refusals if refusal])
    best = runs[0]
    if len(runs) > 1:
        least = min(one.first.guarantee.bound for one in runs)
        equal = [one for one in runs if one.first.guarantee.bound == least]
        best = equal[0] if len(equal) == 1 else min(equal, key=lambda one: round(one.first.touches, 9))
    return (best, *(one for one in found if one is not best))


def ranked_with_merged(query: ConjunctiveQuery, known: Statistics, algorithm: str) -> tuple[RankedFamily, ...]:
    """As `ranked`, the plan in which static tables are one relation first where it takes less memory.

    Cost: that of `ranked`, and again for tables that may become one relation.
    """

    def planner(across: ConjunctiveQuery, statistics: Statistics) -> Candidate | None:
        try:
            return ranked(across, statistics, algorithm)[0].first
        except UnsupportedQueryError:
            return None

    found = ranked(query, known, algorithm)
    plan = merged(query, known, found[0].first, planner)
    return found if plan is None else _before(plan, found)


def ranked_again(
    query: ConjunctiveQuery, across: ConjunctiveQuery, before: Sequence[RankedFamily], known: Statistics, algorithm: str
) -> tuple[RankedFamily, ...]:
    """As `ranked` for a join that runs: relations that stand for static tables stay.

    Args:
        query: The join.
        across: The query over the relations that stand for static tables, where there are some.
        before: The query from which the first plan was chosen.
        known: The known figures of the query's tables.
        algorithm: Which families are considered.
    """
    found = ranked(query, known, algorithm)
    plan = before[0].first
    if not isinstance(plan, MergedCandidate):
        return found
    return _before(replace(plan, outer=ranked(across, known, algorithm)[0].first), found)


def _before(plan: Candidate, found: Sequence[RankedFamily]) -> tuple[RankedFamily, ...]:
    """The families that could run a join, with a plan before all others of the first."""
    first, *others = found
    candidates = replace(first.candidates, plans=(plan, *first.candidates.plans))
    return (RankedFamily(first.family, candidates), *others)


def _candidates(query: ConjunctiveQuery, known: Statistics, families: Iterable[Family]) -> Iterator[RankedFamily]:
    for family in families:
        yield RankedFamily(family, family.candidates(query, known))


def _not_taken(query: ConjunctiveQuery, algorithm: str, obstacles: Sequence[str]) -> UnsupportedQueryError:
    kinds = ", ".join(dict.fromkeys(_AS_WRITTEN[branch.kind] for branch in query.branches))
    reasons = [*obstacles, *([f"it has {kinds}"] if kinds else [])]
    why = f": {'; '.join(reasons)}" if reasons else ""
    msg = f"algorithm={algorithm!r} does not maintain this join{why}; algorithm='auto' maintains every join"
    return UnsupportedQueryError(msg, clause="FROM")
