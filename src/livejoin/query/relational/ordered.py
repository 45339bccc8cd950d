"""Relations in which an order counts: the first rows, ranks, running aggregates, as-of joins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import pyarrow as pa

from livejoin.query.orders import RankFunction, RunningCall, RunningFrame, SortKey
from livejoin.query.relational.relation import ComparedColumn, DerivedRelation, OverOne, SomeRows
from livejoin.schema import SqlType

if TYPE_CHECKING:
    from livejoin.query.relational import Relation

AsOfComparison: TypeAlias = Literal["less", "less_equal", "greater", "greater_equal"]
"""How a left row compares with the right rows that are in front of it."""


@dataclass(frozen=True)
class TopK(SomeRows):
    """The first rows in an order; rows with equal keys are ordered by all columns, so that the result is determined.

    Args:
        input: The relation.
        keys: The order, at least one key.
        limit: Largest number of rows.
        offset: Rows skipped before.
    """

    keys: tuple[SortKey, ...]
    limit: int
    offset: int

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("ORDER BY", self.input, key.column) for key in self.keys)
        yield from super().compared()


@dataclass(frozen=True)
class Ranked(OverOne):
    """The rows of each partition in an order, all or the first ones, each with its rank, an INT, behind its columns.

    Rows with equal keys are ordered by all columns, so that the ROW_NUMBER of each is determined; RANK counts the rows
    with keys before, DENSE_RANK the keys. NULLs are one partition.

    Args:
        input: The relation.
        partition: The columns that are equal in a partition.
        keys: The order within one.
        function: Which rank it is, counted from 1.
        limit: The greatest rank that is kept; EVERY_RANK where nothing bounds it.
        follows: Whether it is a rank of what the rank below it keeps, the same also if that keeps fewer rows: it has
            the partitions and the order of that, or numbers the copies of equal rows.
    """

    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    function: RankFunction
    limit: int
    follows: bool = False

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, SqlType.integer(32))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        name = f"rank_{len(self.input.types)}" if "rank" in self.input.schema.names else "rank"
        return self.input.schema.append(pa.field(name, pa.int32()))

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (*self.input.char_lengths, 0)

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("PARTITION BY", self.input, column) for column in self.partition)
        yield from (("ORDER BY", self.input, key.column) for key in self.keys)
        yield from super().compared()


@dataclass(frozen=True)
class Running(OverOne):
    """Each row with aggregates over a part of its partition, in an order, behind its columns.

    Rows with equal keys are ordered by all columns. NULLs are one partition.

    Args:
        input: The relation, in which no row stands twice.
        partition: The columns that are equal in a partition.
        keys: The order within one.
        frame: Which rows the aggregates of a row are over.
        calls: The aggregates.
    """

    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    frame: RunningFrame
    calls: tuple[RunningCall, ...]

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, *(call.type for call in self.calls))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        names = [*self.input.schema.names]
        fields = []
        for call in self.calls:
            fields.append(pa.field(_fresh(f"{call.function}_{len(names)}", names), call.type.arrow))
            names.append(fields[-1].name)
        return pa.schema([*self.input.schema, *fields])

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (*self.input.char_lengths, *([0] * len(self.calls)))

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("PARTITION BY", self.input, column) for column in self.partition)
        yield from (("ORDER BY", self.input, key.column) for key in self.keys)
        yield from super().compared()


@dataclass(frozen=True)
class AsOfCondition:
    """What an as-of join compares; columns of the two sides that are compared have one type.

    Args:
        left_keys, right_keys: The columns that are equal, pairwise, each once.
        left_time, right_time: The columns that are compared by order, which are not among the keys.
        comparison: How the left one compares with the right one.
        is_optional: Whether a left row without a match stands in the result, with NULLs.
    """

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    comparison: AsOfComparison
    is_optional: bool


@dataclass(frozen=True)
class AsOf(DerivedRelation):
    """Each row of the left side with one row of the right side: the last one in front of it, as for a price at a time.

    The right rows in front of a left row have its key, and a time that its own compares with as the condition says. The
    last one of them is the one with the time that is nearest; of equal times, the last one by all columns from left to
    right, NULL first.

    Args:
        left, right: The two relations.
        on: The columns that are compared.
        written: The condition as users wrote it, for messages.
    """

    left: Relation
    right: Relation
    on: AsOfCondition
    written: str = field(default="", compare=False)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.left.types, *self.right.types)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        fields, names = [], list[str]()
        for one in (*self.left.schema, *self.right.schema):
            fields.append(one.with_name(_fresh(one.name, names)))
            names.append(fields[-1].name)
        return pa.schema(fields)

    @property
    def below(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    def over(self, below: Sequence[Relation]) -> Self:
        left, right = below
        return replace(self, left=left, right=right)

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (*self.left.char_lengths, *self.right.char_lengths)

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("ASOF JOIN", self.left, column) for column in (*self.on.left_keys, self.on.left_time))
        yield from (("ASOF JOIN", self.right, column) for column in range(len(self.right.types)))
        yield from super().compared()


def _fresh(name: str, taken: Sequence[str]) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name
