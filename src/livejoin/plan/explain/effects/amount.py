"""How many rows something is: as expected, at most, and whether it is more as the tables get larger."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum


class Growth(IntEnum):
    """How a number of rows grows as tables do, the best one first; `str` is the word of JSON."""

    NONE = 0
    KEY = 1
    TABLE = 2

    def __str__(self) -> str:
        return _WORDS[self]


_WORDS = {Growth.NONE: "no", Growth.KEY: "with rows per key", Growth.TABLE: "with the table"}


@dataclass(frozen=True)
class Amount:
    """A number of rows.

    Args:
        expected: The number that is expected; None if it is unknown.
        most: The largest number that the rows that are there let expect; None if it is unknown.
        is_bound: Whether it may be less than what is expected, as a condition of which nothing is known stops some.
        causes: The things that it grows with, as ``rows of orders per o_custkey``; empty if it does not grow.
        growth: How it grows.
        is_size: Whether ``most`` is no more than the size of what is there: no row was counted that meets most.
    """

    expected: float | None
    most: float | None
    is_bound: bool = False
    causes: tuple[str, ...] = ()
    growth: Growth = Growth.NONE
    is_size: bool = False

    def times(self, other: Amount) -> Amount:
        """So many for each of these.

        >>> Amount(2.0, 3.0).times(Amount(4.0, None, True))
        Amount(expected=8.0, most=None, is_bound=True, causes=(), growth=<Growth.NONE: 0>, is_size=False)
        """
        if NOTHING in (self, other):
            return NOTHING
        return replace(
            self._with(other),
            expected=_product(self.expected, other.expected),
            most=_product(self.most, other.most),
        )

    def plus(self, other: Amount) -> Amount:
        """These and others."""
        if NOTHING in (self, other):
            return other if self == NOTHING else self
        return replace(
            self._with(other),
            expected=_sum(self.expected, other.expected),
            most=_sum(self.most, other.most),
        )

    def bounded(self) -> Amount:
        """At most so many."""
        return self if self == NOTHING else replace(self, is_bound=True)

    def between(self, others: Amount) -> Amount:
        """How many of these are between one of some others and the next one, and at most all of these.

        >>> Amount(300.0, 900.0).between(Amount(100.0, 100.0))
        Amount(expected=3.0, most=900.0, is_bound=True, causes=(), growth=<Growth.NONE: 0>, is_size=False)
        """
        expected = None
        if self.expected is not None and others.expected is not None:
            expected = self.expected / max(1.0, others.expected)
        return replace(self, expected=expected, is_bound=True)

    def halved(self) -> Amount:
        """How many of these, in an order, are one of them or stand behind it: on average half of them.

        >>> Amount(9.0, 30.0).halved()
        Amount(expected=5.0, most=30.0, is_bound=False, causes=(), growth=<Growth.NONE: 0>, is_size=False)
        """
        return self if self.expected is None else replace(self, expected=min(self.expected, (self.expected + 1.0) / 2))

    def less(self, some: float) -> Amount:
        """So many less, and not below none.

        >>> Amount(2.5, None).less(1.0), Amount(0.5, 1.0).less(1.0).expected
        (Amount(expected=1.5, most=None, is_bound=False, causes=(), growth=<Growth.NONE: 0>, is_size=False), 0.0)
        """
        expected = None if self.expected is None else max(0.0, self.expected - some)
        return replace(self, expected=expected, most=None if self.most is None else max(0.0, self.most - some))

    def capped(self, most: float) -> Amount:
        """So many, and never more than a number that does not grow."""
        if self == NOTHING:
            return self
        expected = most if self.expected is None else min(most, self.expected)
        is_bound = self.is_bound or self.expected is None or self.expected > most
        return Amount(expected, most if self.most is None else min(most, self.most), is_bound)

    def among(self, there: float) -> Amount:
        """So many, of those that are there now, of which there is one at least when it changes.

        >>> Amount(300.0, 900.0, causes=("rows of r",), growth=Growth.KEY).among(5.0)
        Amount(expected=5.0, most=5.0, is_bound=True, causes=('rows of r',), growth=<Growth.KEY: 1>, is_size=True)
        """
        if self == NOTHING or there == math.inf:
            return self
        limit = max(1.0, there)
        is_size = limit > 1.0 and (self.is_size or self.most is None or self.most > limit)
        found = replace(self, most=limit if self.most is None else min(limit, self.most), is_size=is_size)
        if self.expected is not None and self.expected <= limit:
            return found
        return replace(found, expected=limit, is_bound=True)

    def _with(self, other: Amount) -> Amount:
        causes = tuple(dict.fromkeys((*self.causes, *other.causes)))
        growth = max(self.growth, other.growth)
        return Amount(None, None, self.is_bound or other.is_bound, causes, growth, self.is_size or other.is_size)


NOTHING = Amount(0.0, 0.0)
ONE = Amount(1.0, 1.0)


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum of some amounts."""
    found = NOTHING
    for one in amounts:
        found = found.plus(one)
    return found


def largest(amounts: Iterable[Amount]) -> Amount:
    """The one that is expected to be most, or whose number is unknown; a bound where others are less.

    >>> largest([Amount(1.0, 1.0), Amount(2.0, 2.0)])
    Amount(expected=2.0, most=2.0, is_bound=True, causes=(), growth=<Growth.NONE: 0>, is_size=False)
    """
    found = [*amounts]
    most = max(found, key=lambda one: math.inf if one.expected is None else one.expected, default=NOTHING)
    return most if all(one.expected == most.expected for one in found) else most.bounded()


def _product(one: float | None, other: float | None) -> float | None:
    """Nothing is nothing, whatever the other one is."""
    if one == 0.0 or other == 0.0:
        return 0.0
    return None if one is None or other is None else one * other


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
