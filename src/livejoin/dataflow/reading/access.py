"""Reading a result without enumerating it: by rank, at random, and by asking for a row (DYN, Proposition 4.18).

Every operator that keeps its result in some form gives an `Access` to it. Laws: ``at`` over all ranks from 0 up to
``total()`` is what the operator's scan gives, in its order, a row of multiplicity m standing there m times; and
``multiplicities`` of a row is how often it stands there; ``rows_with`` some values gives each row of the scan that has
them, NULL being NULL, with its multiplicity, where ``leads`` says that an index does. An access is valid until the
state changes; what it has to count first, it counts when it is first asked.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Protocol, runtime_checkable

import numpy as np

from livejoin.dataflow.batches import Rows, stack
from livejoin.errors import CapacityError
from livejoin.families.sizes import MAX_COUNT, exactly
from livejoin.words import Words


class Access(Protocol):
    """The result of an operator as it is now."""

    def total(self) -> int:
        """Rows with multiplicities.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """

    def at(self, ranks: Words) -> Rows:
        """The rows at some ranks, at least one, int64 from 0 up to the total, in any order."""

    def multiplicities(self, rows: Rows) -> Words:
        """How often each of given rows stands in the result.

        Raises:
            ReadError: The result has no index that tells; the message says why.
        """

    def leads(self, columns: Set[int]) -> bool:
        """Whether rows are found by their values in some columns, without looking at all of them."""

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        """The rows with given values in some columns, of which `leads` says that they lead there.

        Args:
            columns: The columns.
            given: The values, any number of rows of so many columns.

        Returns:
            The rows, how often each stands in the result, and for each the position of what it was found by.
        """


class Read(Protocol):
    """A relation that is read."""

    def access(self) -> Access:
        """Access to the rows as they are now."""


@runtime_checkable
class KeyedAccess(Access, Protocol):
    """A result whose first columns are a key.

    Attributes:
        groups: Number of these columns.
    """

    groups: int

    def rows_of(self, keys: Words) -> tuple[Rows, Words]:
        """The rows with some keys.

        Args:
            keys: int64 of shape (groups, n): the words of the keys.

        Returns:
            The rows that are there, and for each the position of its key.
        """


class NoAccess:
    """Of rows that nobody reads where they are, as those that go into a store: no index leads to them.

    Args:
        why: Why nobody reads them.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def total(self) -> int:
        raise AssertionError(self._why)

    def at(self, ranks: Words) -> Rows:
        raise AssertionError(self._why)

    def multiplicities(self, rows: Rows) -> Words:
        raise AssertionError(self._why)

    def leads(self, columns: Set[int]) -> bool:
        return False

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        raise AssertionError(self._why)


class UnionAccess:
    """Several results one after the other: UNION ALL.

    Args:
        inputs: At least one.
    """

    def __init__(self, inputs: Sequence[Access]) -> None:
        self._inputs = inputs

    def total(self) -> int:
        return exactly(sum(one.total() for one in self._inputs))

    def at(self, ranks: Words) -> Rows:
        self.total()  # refuses what 64 bits do not count
        ends = np.cumsum([one.total() for one in self._inputs])
        sides = np.searchsorted(ends, ranks, side="right")
        begins = np.concatenate([[0], ends])
        order = np.argsort(sides, kind="stable")
        chosen = np.unique(sides)
        parts = [self._inputs[side].at(ranks[sides == side] - begins[side]) for side in chosen]
        places = np.empty_like(order)
        places[order] = np.arange(order.shape[0])
        return stack(parts).take(places)

    def multiplicities(self, rows: Rows) -> Words:
        times, rough = np.zeros(rows.length, np.int64), np.zeros(rows.length)
        for one in self._inputs:
            found = one.multiplicities(rows)
            times += found
            rough += found
        if rough.max(initial=0) > MAX_COUNT:
            msg = f"a row stands about {rough.max():.3g} times in the result, more than 64 bits count"
            raise CapacityError(msg)
        return times

    def leads(self, columns: Set[int]) -> bool:
        return all(one.leads(columns) for one in self._inputs)

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        parts = [one.rows_with(columns, given) for one in self._inputs]
        rows = stack([part[0] for part in parts])
        return rows, np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
