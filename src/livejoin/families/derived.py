"""Relations that a plan keeps for itself: each is a join that a block of its own maintains, and the program reads it.

A bag of a cyclic query is one. Laws: after a call of `RowJoin.maintain` what all calls have given adds up to the rows
of the relation; equal queries with equal filters and factors, up to the names of their variables, are equal relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import Table
from livejoin.state.budget import Budget
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class RowDelta:
    """What a relation gains and loses; equal rows may stand several times.

    Args:
        values: int64 of shape (columns, n).
        weights: Changes of the rows' multiplicities.
        versions: The version of each, ascending.
    """

    values: Words
    weights: Words
    versions: Words


class RowJoin(Protocol):
    """A join at work that gives the changes of a relation's rows; mutable."""

    def load(
        self,
        table: int,
        rows: Words,
        words: Words,
        stride: int,
        first: int,
        factors: Words | None = None,
        sources: Words | None = None,
    ) -> None:
        """As `livejoin.families.join.WholeJoin.load`."""

    def maintain(self, events: Words) -> RowDelta:
        """Apply events in order; what the relation gains and loses.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), see `livejoin.families.events`.

        Raises:
            CapacityError: A multiplicity or the state becomes too large; the state is of no use any more.
        """

    @property
    def registered(self) -> int:
        """Atom rows in the state."""

    @property
    def probes(self) -> int:
        """Look-ups of keys so far."""

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join whose program has the same digest."""

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""

    def _check(self) -> None:
        """Assert all invariants; for tests."""


class RowProgram(Protocol):
    """A compiled join that gives rows."""

    @property
    def tables(self) -> Sequence[TableUse]:
        """The tables that it reads; events name a table by its position here."""

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of programs with equal digests are interchangeable."""

    def open(self, name: str, budget: Budget | None = None) -> RowJoin:
        """An empty join. Cost: O(1).

        Args:
            name: The name of the relation in messages.
            budget: The memory of the database; None outside of one.
        """


class DerivedTable(Protocol):
    """A relation that a plan keeps for itself; frozen."""

    @property
    def table(self) -> Table:
        """The relation as a table of the program's query: its name there, and its columns, at least one."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def query(self) -> ConjunctiveQuery:
        """The query over tables: its head has the first columns, distinct, with the number of results for each."""

    @property
    def filters(self) -> frozenset[int]:
        """The atoms that only filter: of each the distinct values of its variables take part, once."""

    @property
    def factors(self) -> tuple[tuple[Expression, ...], ...]:
        """For each atom the expressions over its table whose values are columns too, behind those of the head."""

    @property
    def update(self) -> str:
        """What a change of a row below costs."""

    def compile(self, split: str | None) -> RowProgram:
        """The program that maintains it.

        Args:
            split: The variable by which rows are split into cells, each with the program; None without cells.
        """
