"""What a change of a table does to a relation above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount
from livejoin.plan.explain.effects.nested import Some, keeps
from livejoin.plan.operators import Operator


@dataclass(frozen=True)
class Change:
    """What a change does to a relation.

    Args:
        rows: The rows that change.
        different: The different values of some columns of these.
        delta: The rows of the delta, in which one that takes another one's place comes and the other one goes.
        both_ways: Whether some rows may come while others go.
    """

    rows: Amount
    different: Amount
    delta: Amount
    both_ways: bool = False

    def within(self, rows: float, different: float) -> Change:
        """No more of it than there are: each row goes and another one comes, or only one of these.

        Args:
            rows: The most rows that the relation has.
            different: The most different values of the columns.
        """
        both = rows * (1 + self.both_ways)
        at_most = both if self.delta == self.rows else rows
        changed, delta = self.rows.among(at_most), self.delta.among(both)
        return replace(self, rows=changed, different=self.different.among(different), delta=delta)

    def bounded(self) -> Change:
        """At most that."""
        return replace(self, rows=self.rows.bounded(), different=self.different.bounded(), delta=self.delta.bounded())


UNTOUCHED = Change(NOTHING, NOTHING, NOTHING)
ITSELF = Change(ONE, ONE, ONE)

TWO = Amount(2.0, 2.0)


def pairs(plan: Operator, rows: Amount, some: Some) -> Change:
    """A change of rows of which each takes another one's place: these have the same values in some columns."""
    delta = replaced(rows)
    return Change(rows, rows if some is not None and keeps(plan, some) else delta, delta, both_ways=True)


def replaced(rows: Amount) -> Amount:
    """The delta of rows that may take one another's place; the first row of a group, and the last one, do not."""
    return rows.times(TWO).bounded()
