"""What a change of one table of a query is expected to do, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, Growth
from livejoin.plan.explain.effects.reach import Reach
from livejoin.plan.explain.effects.stored import StoredStep


@dataclass(frozen=True)
class Way:
    """Where a change goes in one join, from one occurrence of the table or of what it changed before.

    Args:
        alias: The occurrence.
        reach: The steps from there.
        through: The nested query whose rows the change changed before, in words; empty for a row of the table itself.
        begin: The rows that go this way: 1 of the table itself.
        atoms: The aliases of the join.
    """

    alias: str
    reach: Reach
    through: str = ""
    begin: Amount = ONE
    atoms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effect:
    """What one change of a table is expected to do.

    Args:
        table: The table.
        promise: ``static`` if it never changes, ``append-only`` if rows are never deleted, else empty.
        met: The rows of tables and nested queries that it is combined with in joins.
        result: The rows of the result that it adds, takes away or replaces.
        looked_up: The rows that it looks up in what is stored above joins, as groups, distinct and ordered rows.
        delta: The rows of the result's delta, in which a row that is replaced is two.
        ways: Where it goes, from each occurrence of the table, those of nested queries first.
        conditions: The conditions that each combination of rows is checked for after it was found.
        sources: Where the figures are from.
        stored: The steps to rows that are stored above joins, from below.
        closes: Whether rows of the result come when the watermark of the table closes their windows (EMIT FINAL).
    """

    table: str
    promise: Literal["", "static", "append-only"]
    met: Amount
    result: Amount
    looked_up: Amount = NOTHING
    delta: Amount = NOTHING
    ways: tuple[Way, ...] = ()
    conditions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    stored: tuple[StoredStep, ...] = ()
    closes: bool = False

    @property
    def growth(self) -> Growth:
        """How what it costs grows with the tables."""
        return max(self.met.growth, self.looked_up.growth, self.result.growth)

    @property
    def causes(self) -> tuple[str, ...]:
        """What that grows with, in words."""
        return tuple(dict.fromkeys((*self.met.causes, *self.looked_up.causes, *self.result.causes)))

    @property
    def may_be_all(self) -> bool:
        """Whether one change may look at, or change, about as many rows as there are."""
        return any(one.is_size for one in (self.met, self.looked_up, self.result))

    @property
    def last_alone(self) -> bool:
        """Whether a row that comes behind all others in the order of a window changes itself alone."""
        grown = [one for one in self.stored if one.rows.growth]
        return bool(grown) and not self.met.growth and all(one.last_alone for one in grown)

    @property
    def is_known(self) -> bool:
        """Whether there are figures for all of it."""
        return None not in (self.met.expected, self.looked_up.expected, self.result.expected)
