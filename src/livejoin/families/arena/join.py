"""What all joins have in common whose state lies in one arena, behind the records of the base rows.

A join brings rows into its records before the events that name them, and its whole state is the arena: a snapshot is
that one array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.layout.table_use import TableUse
from livejoin.families.sizes import MAX_COUNT, exactly, too_many
from livejoin.kernels.join import layout as q
from livejoin.kernels.join import records
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.state.arena import Arena
from livejoin.state.budget import Budget
from livejoin.words import Words

_AT_ONCE = 1 << 16  # rows that one call of a kernel brings in: some milliseconds, after which Python looks for signals


class ArenaPlan(Protocol):
    """What the state needs to know of a plan."""

    @property
    def words(self) -> Words:
        """The plan as the kernels read it."""

    @property
    def header_words(self) -> int:
        """Words of the arena's header."""

    @property
    def directories(self) -> tuple[int, ...]:
        """Where the directories stand in the header."""

    @property
    def tables(self) -> Sequence[TableUse]:
        """The tables that it uses."""


class JoinPlan(ArenaPlan, Protocol):
    """What a join needs to know of a plan."""

    @property
    def query(self) -> ConjunctiveQuery:
        """The query."""


P = TypeVar("P", bound=ArenaPlan)
J = TypeVar("J", bound=JoinPlan)


class ArenaState(Generic[P]):
    """The records and the state of a join in one arena; mutable.

    Args:
        plan: The plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: P, budget: Budget | None = None) -> None:
        self.plan = plan
        first = int(plan.words[q.P_FIRST_TABLE])
        headers = [int(plan.words[first + t * q.PLAN_TABLE]) for t in range(len(plan.tables))]
        self.arena = Arena(plan.header_words, plan.directories, tuple(headers), budget)

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
        """Bring base rows' values into their records, before the events that name them.

        Args:
            table: Position of the table in the plan.
            rows: Row ids.
            words: The base table's rows, flat.
            stride: Words a base row.
            first: Offset of a base row's first value.
            factors: int64 of shape (factors, rows): the values of the table's factors, if it has any.
            sources: Where each row stands in ``words``, if not under its id.
        """
        at, behind = rows if sources is None else sources, words[first:]
        for piece, source in ((rows, at),) if rows.shape[0] <= _AT_ONCE else _pieces(rows, at):
            while records.load(self.arena.words, self.plan.words, table, piece, source, behind, stride) == k.NEED_SPACE:
                self.arena.grow()
        if factors is not None and factors.shape[0]:
            records.load_factors(self.arena.words, self.plan.words, table, rows, factors)

    @property
    def registered(self) -> int:
        """Atom rows in the state."""
        return int(self.arena.words[q.H_REGISTERED])

    @property
    def probes(self) -> int:
        """Look-ups of keys so far."""
        return int(self.arena.words[q.H_PROBES])

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {"arena": self.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join with the same plan."""
        self.arena.words = arrays["arena"]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.arena.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are). Free entries of directories count as taken."""
        return self.arena.free_bytes()


def _pieces(rows: Words, sources: Words) -> Iterator[tuple[Words, Words]]:
    """Rows and where they stand, in pieces that one call of a kernel brings in."""
    for begin in range(0, rows.shape[0], _AT_ONCE):
        yield rows[begin : begin + _AT_ONCE], sources[begin : begin + _AT_ONCE]


class CountKernel(Protocol):
    """Counts the results in an arena: modulo 2**64, and about as a float."""

    def __call__(self, arena: Words, plan: Words, /) -> tuple[int, float]: ...


class ArenaJoin(ArenaState[J], ABC):
    """A join of which the arena has the result.

    Args:
        plan: The plan.
        count: The kernel that counts the results.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: J, count: CountKernel, budget: Budget | None = None) -> None:
        super().__init__(plan, budget)
        self._count = count
        self._may_wrap = False  # on the way to a state of which it is known that it does not

    def count(self) -> int:
        """Size of the result with multiplicities, without enumeration.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """
        return exactly(self.size())

    def size(self) -> int | float:
        """As `count`, but about and as a float where the size is beyond 64 bits."""
        exact, rough = self._count(self.arena.words, self.plan.words)
        return float(rough) if rough > MAX_COUNT else int(exact)

    @abstractmethod
    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """As `livejoin.families.join.Join.maintain`."""

    def enlist(self, events: Words, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.enlist`; here the rows are applied at once."""
        self._may_wrap = again
        try:
            for _ in self.maintain(events, emit=False):
                pass
        finally:
            self._may_wrap = False

    def build(self, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.build`; here nothing is left to do."""

    def refuse_overflow(self) -> None:
        """After a kernel: refuse annotations or multiplicities that do not fit their words.

        Raises:
            CapacityError: One does not fit.
        """
        if self.arena.words[q.H_OVERFLOW] and not self._may_wrap:
            raise too_many(self.plan.query)

    @property
    def weighed(self) -> int:
        """Changes so far of a multiplicity that stayed positive; only these let one version cancel a result row."""
        return int(self.arena.words[q.H_WEIGHED])

    def counters(self) -> dict[str, int]:
        """Work done so far.

        Returns:
            ``propagated``: rows that entered or left a semi-join view, or tuples that a change reached where there are
            no such views; ``stopped``: those of them that change nothing further up; ``touched``: counters,
            annotations and multiplicities that were changed by propagation; ``probes``: look-ups of keys.
        """
        header = self.arena.words
        return {
            "propagated": int(header[q.H_PROPAGATED]),
            "stopped": int(header[q.H_STOPPED]),
            "touched": int(header[q.H_TOUCHED]),
            "probes": self.probes,
        }
