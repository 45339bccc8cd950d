"""Transition systems as a family: few dynamic rows that matter, which flip often, around large static tables.

A state is the set of the dynamic rows that matter, and a change is a step to another one, which costs O(1) the second
time (ICDT 2025, section 6, and for variables that all dynamic tables share section 8). How often that happens is not
known before, so that the planner never takes this family by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates
from livejoin.families.outline import PlanOutline
from livejoin.families.transitions.cut import StaticHub, cut_hub
from livejoin.families.transitions.outline import transition_outline
from livejoin.families.transitions.plan import TransitionPlan, compile_transitions
from livejoin.families.transitions.sizes import RowsThatMatter, rows_that_matter
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import CONSTANT_DELAY, Guarantee, UpdateBound, power
from livejoin.search.statistics import Statistics

_REASON = (
    "It is never taken by itself: a change costs more the first time that it is made in a state, and how often it is "
    "made again is not known before."
)


@dataclass(frozen=True)
class TransitionCandidate:
    """The transition system of a query.

    Args:
        hub: The query across its static tables.
        sizes: The expected sizes; None if they are not known.
    """

    hub: StaticHub
    sizes: RowsThatMatter | None

    @cached_property
    def guarantee(self) -> Guarantee:
        """ICDT 2025, theorem 5, but that states are made when they are met."""
        exponent = str(self.hub.system.exponent)
        rows = power(exponent)
        bound = UpdateBound.LINEAR if exponent == "1" else UpdateBound.POLYNOMIAL
        known = "" if self.sizes is None else f", here about {self.sizes.total:,.0f}"
        return Guarantee(
            bound,
            "O(1) a change, and its delta, by a transition that was taken before; the first time at most "
            f"{rows} for N static rows",
            f"{CONSTANT_DELAY}, after {rows} for a state that is read for the first time",
            f"linear in the base rows, and at most 2^m states for the m = {rows} rows that matter{known}; those that "
            "were met, up to a limit",
            f"{rows} for N static rows",
            "ICDT 2025, Theorem 5" + ("; section 8" if self.hub.system.shared else ""),
        )

    @property
    def line(self) -> str:
        first, *others = (atom.alias for atom in self.hub.outer.atoms)
        return f"{first}{{{', '.join(others)}}}"

    @property
    def cost(self) -> float:
        return 0.0

    @property
    def propagation(self) -> float:
        """Rows of the static join with a changed key, which a change visits the first time."""
        if self.sizes is None:
            return 0.0
        met = [self.sizes.joined / max(1.0, rows) for rows in self.sizes.of_atoms]
        return sum(met) / len(met)

    @property
    def touches(self) -> float:
        return 0.0

    @property
    def tree(self) -> None:
        return None

    @property
    def obstacle(self) -> str:
        return ""

    def outline(self, live: bool) -> PlanOutline:
        return transition_outline(self.hub, self.sizes)

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return self.hub.derived

    def compile(self, live: bool) -> TransitionPlan:
        return compile_transitions(self.hub, live)


class Transitions:
    """The family of transition systems."""

    algorithms = ("transitions",)
    edges = INNER_ONLY
    aggregates = "of each group in a view above the join"

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        hub = cut_hub(replace(query, free=asked, head=(), outputs=(), sums=()))
        return asked if isinstance(hub, StaticHub) else None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        hub = cut_hub(query)
        if isinstance(hub, str):
            return Candidates((), hub, NO_CANDIDATES.search)
        sizes, limit = rows_that_matter(hub, known), known.preprocessing_limit
        if hub.derived and limit is not None and sizes is not None and sizes.joined > limit:
            return Candidates((), _too_large(hub, sizes, limit), NO_CANDIDATES.search)
        return Candidates((TransitionCandidate(hub, sizes),), _REASON, NO_CANDIDATES.search)

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> None:
        return None


def _too_large(hub: StaticHub, sizes: RowsThatMatter, limit: int) -> str:
    """Why the static tables are not joined, and what would work."""
    (bag,) = hub.derived
    tables = ", ".join(sorted({atom.table.name for atom in bag.query.atoms}))
    return (
        f"{bag.title} (the join of {tables}) would have about {sizes.joined:,.0f} rows, more than "
        f"preprocessing_limit={limit:,}; raise the limit, or let one of these tables change (ALTER TABLE name SET "
        "DYNAMIC)"
    )
