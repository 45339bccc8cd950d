"""View trees as a family: queries with static tables of which every change costs O(1) (ICDT 2025).

What the static tables alone have to be joined for becomes bags that are made once
(`livejoin.theory.static.static_bags`); across the bags, a join tree has nothing but generalized relations and quiet
edges above what changes. In the class C_lin there are no bags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from livejoin.families.across import Across
from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidate, Candidates, Family
from livejoin.families.outline import PlanOutline
from livejoin.families.view_trees.cut import StaticCut, cut_static
from livejoin.families.view_trees.outline import static_outline
from livejoin.families.view_trees.sizes import BagSizes, expected_sizes
from livejoin.query import ConjunctiveQuery
from livejoin.query.keys import determined
from livejoin.search.guarantee import CONSTANT_DELAY, Guarantee, UpdateBound
from livejoin.search.statistics import Statistics
from livejoin.theory.static.static_dynamic import Tractability
from livejoin.theory.trees.join_tree import JoinTree

_BUDGET = 2_000  # steps to the order of least width
_SHORT_BUDGET = 40  # the bound on changes does not depend on the width; 4,000 took 13 s for a grid of 12 atoms
_FEW_ROWS = 100_000  # of bags, that are made without a thought
_TIMES_TABLES = 10  # so many times as many rows as the static tables have
_NONE_STATIC = "no table of the join is static; declare those that do not change (ALTER TABLE name SET STATIC)"
_NO_TREE = (
    "tables that change are tied to each other, or to what is returned, by columns that they do not share; explain "
    "says which, at 'well-behaved'"
)


@dataclass(frozen=True)
class ViewTreeCandidate(Across):
    """A plan over static bags.

    Args:
        cut: The bags.
        outer: The plan across them.
        sizes: The expected sizes of the bags; None if they are not known.
        limit: The most rows of each bag; None if no limit was given.
    """

    cut: StaticCut
    outer: Candidate
    sizes: BagSizes | None
    limit: int | None

    @cached_property
    def guarantee(self) -> Guarantee:
        """ICDT 2025, Theorems 1 and 3."""
        loading = f"{self.cut.found.preprocessing} for N base rows"
        if self.derived and self.sizes is not None:
            loading = f"{loading}, here about {sum(self.sizes.rows):,.0f} rows"
        linear = self.cut.found.tractability is Tractability.LINEAR
        return Guarantee(
            UpdateBound.ALWAYS,
            "O(1) a change of a table that is not static, for every change sequence",
            CONSTANT_DELAY,
            loading if linear else f"{loading}: static tables are joined once, and the joins are stored",
            loading,
            f"ICDT 2025, Theorem {1 if linear else 3}",
        )

    @property
    def tree(self) -> JoinTree | None:
        return None if self.derived else self.outer.tree

    def outline(self, live: bool) -> PlanOutline:
        rows = None if self.sizes is None else self.sizes.rows
        return static_outline(self.cut, self.outer.outline(live), rows, self.limit)

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return self.cut.derived


class ViewTrees:
    """The family of view trees.

    Args:
        inner: The family of the join trees across the bags.
        algorithm: The value of ``algorithm=`` under which it is considered: by ``auto`` static tables are not joined to
            many more rows than they have.
    """

    edges = INNER_ONLY

    def __init__(self, inner: Family, algorithm: Literal["auto", "view-tree"]) -> None:
        self._inner = inner
        self._is_careful = algorithm == "auto"
        self.algorithms = (algorithm,)
        self.aggregates = inner.aggregates

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        """What is asked for, or with it what keys say that it determines of the tables that change.

        A row of ``orders(id PRIMARY KEY, product)`` is known by its id, so that a path from its product is as safe as
        one from its id.
        """
        changing = frozenset[str]().union(*(a.variables for a in query.atoms if not a.table.static))
        for output in dict.fromkeys((asked, asked | determined(query, asked) & changing)):
            cut = cut_static(replace(query, free=output, head=(), outputs=(), sums=()), _BUDGET)
            if cut is not None and not self._is_large(cut, expected_sizes(cut.derived, known), known):
                return output
        return None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        cut = cut_static(query, _BUDGET)
        if cut is None:
            reason = _NO_TREE if any(atom.table.static for atom in query.atoms) else _NONE_STATIC
            return Candidates((), reason, NO_CANDIDATES.search)
        sizes = expected_sizes(cut.derived, known)
        if self._is_large(cut, sizes, known):
            return Candidates((), _too_large(cut, sizes, known.preprocessing_limit), NO_CANDIDATES.search)
        found = self._inner.candidates(cut.outer, known)
        best = (plan for plan in found.plans if plan.guarantee.bound is UpdateBound.ALWAYS)
        plans = tuple(ViewTreeCandidate(cut, plan, sizes, known.preprocessing_limit) for plan in best)
        return Candidates(plans, found.reason, found.search)

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> ViewTreeCandidate | None:
        cut = None if than == UpdateBound.ALWAYS else cut_static(query, _SHORT_BUDGET)
        if cut is None or self._is_large(cut, sizes := expected_sizes(cut.derived, known), known):
            return None
        outer = self._inner.better(cut.outer, known, UpdateBound.FIFO)
        return None if outer is None else ViewTreeCandidate(cut, outer, sizes, known.preprocessing_limit)

    def _is_large(self, cut: StaticCut, sizes: BagSizes | None, known: Statistics) -> bool:
        """Whether so many rows would be joined that plans which join none are better, whatever a change costs there.

        It does not depend on factors: an output that is kept for a query is also that of a plan for it.
        """
        if sizes is None:
            return False
        if known.preprocessing_limit is not None:
            return max(sizes.rows, default=0) > known.preprocessing_limit
        tables = {atom.table.name: known.of(atom.table.name).rows.value or 0 for atom in cut.query.atoms}
        most = max(_FEW_ROWS, _TIMES_TABLES * sum(tables.values()))
        return self._is_careful and sizes.joined > most


def _too_large(cut: StaticCut, sizes: BagSizes | None, limit: int | None) -> str:
    """Why bags are not made, and what would work."""
    assert sizes is not None
    if limit is not None:
        rows, bag = max(zip(sizes.rows, cut.derived, strict=True), key=lambda one: one[0])
        bags = {one.table.name for one in cut.derived}
        tables = ", ".join(sorted({atom.table.name for atom in bag.query.atoms} - bags))
        return (
            f"{bag.title} (the join of {tables}) would have about {rows:,.0f} rows, more than "
            f"preprocessing_limit={limit:,}; raise the limit, or let one of these tables change (ALTER TABLE name SET "
            "DYNAMIC), so that they are joined as changes come"
        )
    return (
        f"joining the static tables before changes come would make about {sizes.joined:,.0f} rows, more than "
        f"{_TIMES_TABLES} times those of the tables; algorithm='view-tree' joins them all the same"
    )
