"""What a compiled join is to those who run it, whatever family it is of.

Laws: a program is a function of its query, the plan that was chosen for it and ``live`` alone, so it is never stored
with a state; programs with equal digests read each other's states; `Program.open` gives joins that share nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

from livejoin.families.join import WholeJoin
from livejoin.families.layout.annotation import annotation_starts
from livejoin.families.layout.table_use import TableUse
from livejoin.kernels.join import layout as q
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.words import Words


@dataclass(frozen=True)
class TableBytes:
    """What a program keeps of a row of a table.

    Args:
        table: How it uses the table.
        record: Bytes of a row's record.
        indexes: Predicted bytes of its share of the indexes.
    """

    table: TableUse
    record: int
    indexes: float


def digest_of(words: Words, state_format: int, of: bytes = b"") -> str:
    """A fingerprint of a layout: states of plans with equal ones are interchangeable. Snapshots hold it.

    Args:
        words: The plan as the kernels read it.
        state_format: Changes whenever a stored state could be misread.
        of: Values that tell the plans of a family from those of others.
    """
    return hashlib.sha256(of + words.tobytes() + bytes([state_format])).hexdigest()[:16]


class WordProgram:
    """What a program has whose plan is one array of words for kernels.

    Attributes:
        query: The query.
        words: The plan, int64; the first words are those of `livejoin.kernels.join.layout`.
    """

    query: ConjunctiveQuery
    words: Words

    @property
    def columns(self) -> int:
        """As `Program.columns`."""
        return len(self.query.head) + (int(self.words[q.P_WORDS]) if self.query.sums else 0)

    @cached_property
    def components(self) -> Words:
        """As `Program.components`."""
        return annotation_starts(self.query)


class OnlyProgram:
    """What a program has that is the only one for its query: nothing is chosen by what it would cost."""

    @property
    def line(self) -> str:
        """As `Program.line`: there is nothing to tell."""
        return ""

    def predicted_work(self, known: Statistics) -> float:
        """As `Program.predicted_work`: there is nothing to compare with."""
        return 0.0

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """As `Program.footprint`: nothing is predicted."""
        return ()


class Steady:
    """What a program has that keeps the same whatever static tables do."""

    tables: Sequence[TableUse]

    @property
    def load_order(self) -> Sequence[int]:
        """As `Program.load_order`: that of the program."""
        return range(len(self.tables))

    def form(self, rests: bool, /) -> Self:
        """As `Program.form`: there is one."""
        return self


class Program(Protocol):
    """A compiled join."""

    @property
    def query(self) -> ConjunctiveQuery:
        """The query."""

    @property
    def tables(self) -> Sequence[TableUse]:
        """The tables that it reads; events name a table by its position here."""

    @property
    def live(self) -> bool:
        """Whether its joins can give deltas."""

    @property
    def load_order(self) -> Sequence[int]:
        """Positions of the tables in the order in which rows that are there are loaded."""

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of programs with equal digests are interchangeable."""

    @property
    def columns(self) -> int:
        """Words of a result: the columns of the query's head, then the words of its annotation."""

    @property
    def components(self) -> Words:
        """First word of each component of an annotation, counted from the annotation's first word."""

    @property
    def height(self) -> int:
        """Height of what is maintained, for people to read."""

    def form(self, rests: bool, /) -> Program:
        """The same program laid out for commits in which no static table changes, or for those in which one does.

        Args:
            rests: Whether static tables rest, so that nothing is kept that only a change of them needs.
        """

    def open(self, budget: Budget | None = None) -> WholeJoin:
        """An empty join. Cost: O(1).

        Args:
            budget: The memory of its database; None where it stands alone.
        """

    @property
    def line(self) -> str:
        """The plan on one line; empty if there is but one for the query."""

    def predicted_work(self, known: Statistics) -> float:
        """Rows that all expected changes are predicted to visit; 0 if there is but one plan for the query.

        Args:
            known: The known figures of the tables, which may have changed since the program was compiled.
        """

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Predicted bytes of a row of each table; empty where nothing is predicted.

        Args:
            known: The known figures of the tables.
        """
