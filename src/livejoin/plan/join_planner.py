"""What making operators asks of who plans: how each conjunctive query is maintained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livejoin.families.cells.partition import Partition
from livejoin.families.derived import DerivedTable, RowProgram
from livejoin.families.family import Candidate
from livejoin.families.program import Program
from livejoin.query import ConjunctiveQuery
from livejoin.query.inequality_sides import Many
from livejoin.search.guarantee import UpdateBound


@dataclass(frozen=True)
class JoinPlanner:
    """How conjunctive queries are maintained.

    Args:
        plan: The plan of one.
        output: The output that is kept for some variables of one: these and what its family needs besides; None where
            results come with multiplicities alone.
        delta: The bound on the results that one change adds and removes, amortised, if a plan may rest on that.
        split: How a program is split into cells.
        rows: The program of a relation that a plan keeps for itself, and how it is split into cells.
        many: Whether a table has many different values in some columns, against its rows.
        powers: Whether counts of equal atoms are powers.
        thresholds: Whether rows that compare with the aggregate of a group are kept in the order of what is compared.
        shares: The share of the rows that the predicate of each atom lets through.
        restricts: Whether groups that a join asks for are those of its own rows, where these are whole groups.
    """

    plan: Callable[[ConjunctiveQuery], Candidate]
    output: Callable[[ConjunctiveQuery, frozenset[str]], frozenset[str] | None]
    delta: Callable[[ConjunctiveQuery], UpdateBound | None]
    split: Callable[[Program], Partition | None]
    rows: Callable[[DerivedTable], tuple[RowProgram, Partition | None]]
    shares: Callable[[ConjunctiveQuery], Sequence[float]]
    many: Many
    powers: bool = True
    thresholds: bool = True
    restricts: bool = True

    def is_fed(self, query: ConjunctiveQuery, other: ConjunctiveQuery | None) -> bool:
        """Whether a store is fed best by a join with multiplicities, of which a change changes few enough.

        Args:
            query: The join with multiplicities.
            other: The same over an output, whose results need no store; None where there is a store in any case.
        """
        if (delta := self.delta(query)) is None:
            return False
        return other is None or max(delta, self.plan(query).guarantee.bound) < self.plan(other).guarantee.bound
