"""Relations in which equal rows come together: DISTINCT, set operations, aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

import pyarrow as pa

from livejoin.query.aggregates import AggregateCall
from livejoin.query.relational.relation import ComparedColumn, DerivedRelation, OverOne, SomeRows
from livejoin.schema import SqlType

if TYPE_CHECKING:
    from livejoin.query.relational import Relation

SetKind = Literal["union", "except", "intersect"]


@dataclass(frozen=True)
class Distinct(SomeRows):
    """Each row of a relation once."""

    @property
    def only_grows(self) -> bool:
        return self.input.only_grows

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("DISTINCT", self, column) for column in range(len(self.types)))
        yield from super().compared()


@dataclass(frozen=True)
class SetOperation(DerivedRelation):
    """UNION, EXCEPT or INTERSECT of two relations with equal types; columns are named as on the left."""

    kind: SetKind
    all: bool
    left: Relation
    right: Relation

    @property
    def is_union_all(self) -> bool:
        """Whether it passes the rows of both on."""
        return self.kind == "union" and self.all

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.left.types

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.left.schema

    @property
    def below(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    def over(self, below: Sequence[Relation]) -> Self:
        left, right = below
        return replace(self, left=left, right=right)

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return self.left.char_lengths

    @property
    def only_grows(self) -> bool:
        right = self.right.never_changes if self.kind == "except" else self.right.only_grows
        return right and self.left.only_grows

    def compared(self) -> Iterator[ComparedColumn]:
        yield from super().compared()
        if self.kind != "union" or not self.all:
            yield from ((self.kind.upper(), self, column) for column in range(len(self.types)))


@dataclass(frozen=True)
class Aggregate(OverOne):
    """One row for each group: the group's columns, then the results of the calls.

    Args:
        input: The relation; its first columns are the group's, the others are arguments.
        groups: Number of the group's columns; 0 with ``is_global`` gives one row even over no rows.
        calls: The aggregates.
        is_global: Whether there is no GROUP BY.
        within: The occurrences of tables that say which groups are kept, where a join around them asks for no others
            (`livejoin.plan.restricted_groups`); empty where all are.
    """

    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    within: tuple[str, ...] = field(default=(), compare=False)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types[: self.groups], *(call.type for call in self.calls))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        fields = [self.input.schema.field(i) for i in range(self.groups)]
        fields += [pa.field(f"a{i}", call.arrow) for i, call in enumerate(self.calls)]
        return pa.schema(fields)

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (*self.input.char_lengths[: self.groups], *([0] * len(self.calls)))

    def compared(self) -> Iterator[ComparedColumn]:
        yield from (("GROUP BY", self.input, column) for column in range(self.groups))
        for call in self.calls:
            if call.function != "count" or call.ignores_copies:
                used = [column for column in (call.argument, call.other) if column is not None]
                yield from ((call.function.upper(), self.input, column) for column in used)
        yield from super().compared()
