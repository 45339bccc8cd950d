"""What every relation of a query says about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeAlias

import pyarrow as pa

from livejoin.schema import SqlType

if TYPE_CHECKING:
    from livejoin.query.relational import Relation

ComparedColumn: TypeAlias = tuple[str, "Relation", int]
"""A column that a clause compares: the clause, the relation, and the position of the column."""


class DerivedRelation(ABC):
    """A relation; each also has ``types``, those of its columns, and ``schema``, the Arrow schema of its rows."""

    @property
    @abstractmethod
    def below(self) -> tuple[Relation, ...]:
        """The relations that it is made of, from left to right."""

    @abstractmethod
    def over(self, below: Sequence[Relation]) -> Self:
        """The same over other relations with the same columns, as many as `below` has."""

    @property
    @abstractmethod
    def char_lengths(self) -> tuple[int, ...]:
        """The length of each column that is a CHAR(n), so that what reads it compares it as that; 0 of others.

        A column is a CHAR where it is one of a table, copied by joins and projections, grouped by, sorted or made
        distinct; of a set operation the left side counts, as in Spark. What is computed, an aggregate among it, is a
        STRING. Cost: linear in the relation.
        """

    @property
    def never_changes(self) -> bool:
        """Whether it is made of static tables alone, so that it is as static as they are."""
        return all(one.never_changes for one in self.below)

    @property
    def only_grows(self) -> bool:
        """Whether rows come and never leave, because it is made so of static and append-only tables.

        Joins, selections, DISTINCT, UNION and INTERSECT are monotone: where no row leaves what they read, none leaves
        them. Over outer joins, anti-joins, aggregates and orders a row that comes may take the place of another.
        """
        return self.never_changes

    def compared(self) -> Iterator[ComparedColumn]:
        """The columns that it compares, and those that the relations below do, in the order of the clauses."""
        for one in self.below:
            yield from one.compared()


@dataclass(frozen=True)
class OverOne(DerivedRelation):
    """A relation that is made of one other.

    Args:
        input: The relation below.
    """

    input: Relation

    @property
    def below(self) -> tuple[Relation, ...]:
        return (self.input,)

    def over(self, below: Sequence[Relation]) -> Self:
        return replace(self, input=below[0])


class SomeRows(OverOne):
    """A relation with the columns of the one below it, and some of its rows."""

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.input.types

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.input.schema

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return self.input.char_lengths
