"""What a join at work is to those who run it, whatever family it is of: state, deltas, results, access, checks.

Laws: after a call of `Join.maintain` that was run to its end, what `Join.scan` enumerates is the query's result over
the rows that are there then; the deltas of all calls add up to it; `Join.arrays` is the whole state. A join that raises
within `Join.maintain` is of no use any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.join_access import JoinAccess, RowIndexes
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.program import Program


class Join(Protocol):
    """The state and the operations of one maintained join; mutable."""

    @property
    def plan(self) -> Program:
        """The program that it runs."""

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """Take the values of rows, before the events that name them.

        Args:
            table: Position of the table in the program.
            rows: Row ids.
            words: The table's rows, flat, each under its id.
            stride: Words a row.
            first: Offset of a row's first value.
            factors: int64 of shape (factors, rows): the values of the table's factors, if it has any.
        """

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events; the delta comes in chunks. The iterator must be run to its end.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), see `livejoin.families.events`.
            emit: Whether to give the delta; needs a program that is ``live``.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.

        Raises:
            CapacityError: A multiplicity, an annotation or the state becomes too large.
        """

    def enlist(self, events: Words, *, again: bool = False) -> None:
        """Take insertions into a join that was empty before it took the first.

        The join is of no use before `build`.

        Args:
            events: As for `maintain`.
            again: Whether another join with this program had the same rows. Then it does not fail because an annotation
                does not fit on the way, as sums of both signs may do in another order than the one in which the rows
                came: arithmetic modulo a power of two gives the sums that the other had.

        Raises:
            CapacityError: As `maintain`.
        """

    def build(self, *, again: bool = False) -> None:
        """Bring the state to the rows that were enlisted; no delta tells of them.

        Args:
            again: As for `enlist`.

        Raises:
            CapacityError: As `maintain`.
        """

    def scan(self, capacity: int) -> Iterator[Words]:
        """The result, in buffers of shape (the program's columns, up to ``capacity`` rows)."""

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `scan`, but with a line more, the multiplicities, and each combination of the tables' rows once.

        Law: the rows, each as often as its multiplicity says, are the result, in no particular order. Cost: that of the
        combinations, however often the rows are there that they are made of. Not for programs with annotations.
        """

    def count(self) -> int:
        """Size of the result with multiplicities.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """

    def size(self) -> int | float:
        """As `count`, but about and as a float where the size is beyond 64 bits."""

    def access(self, tables: RowIndexes) -> JoinAccess:
        """Access to the results as they are now; of no use after the next change.

        Args:
            tables: The tables that the program reads, and perhaps others.
        """

    @property
    def registered(self) -> int:
        """Atom rows in the state."""

    @property
    def weighed(self) -> int:
        """Changes so far of a multiplicity that stayed positive; only these let one version cancel a result row."""

    def counters(self) -> dict[str, int]:
        """Work done so far, by name: ``propagated``, ``stopped``, ``touched``, ``probes`` (see `ArenaJoin`)."""

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


class WholeJoin(Join, Protocol):
    """A join in one piece, whose rows may be numbered otherwise than in their table; a cell of a split join is one."""

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
        """As `Join.load`; ``sources`` says where each row stands in ``words``, if not under its id."""
