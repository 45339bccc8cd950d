"""Relations whose rows are computed one by one: projections, rows that stand several times, and constant rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from livejoin.errors import UnsupportedQueryError
from livejoin.query.conjunctive import Output
from livejoin.query.relational.relation import DerivedRelation, OverOne
from livejoin.query.scalar import Expression
from livejoin.schema import SqlType

if TYPE_CHECKING:
    from livejoin.query.relational import Relation


@dataclass(frozen=True)
class Project(OverOne):
    """Expressions over the columns of a relation, for the rows that a predicate is true for.

    Args:
        input: The relation.
        outputs: The columns; each copies one (its position) or is an expression over ``c0``, ``c1``, ... .
        types: The types of the expressions.
        predicate: A BOOLEAN over ``c0``, ``c1``, ..., or None.
        across: Where the predicate holds the conditions across tables that a join below cannot decide: these as they
            are written, for messages. Empty elsewhere.
        refusal: The message where an output has no value, which is how a query forbids rows; empty elsewhere.
        written: The predicate as users wrote it, for messages.
        refused: The error if these rows are asked for as they are, since they are a product; None elsewhere. A query
            that they are merged into may need no row of them.
    """

    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    predicate: Expression | None = None
    across: str = field(default="", compare=False)
    refusal: str = field(default="", compare=False)
    written: str = field(default="", compare=False)
    refused: UnsupportedQueryError | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return pa.schema([pa.field(o.name, o.type) for o in self.outputs])

    @property
    def char_lengths(self) -> tuple[int, ...]:
        below = self.input.char_lengths
        return tuple(below[one.source] if isinstance(one.source, int) else 0 for one in self.outputs)

    @property
    def only_grows(self) -> bool:
        return self.input.only_grows


@dataclass(frozen=True)
class Repeated(OverOne):
    """Each row of a relation ``count`` times, with the numbers from 0 on behind its columns.

    It is what each row of a relation that gives several is computed from: hopping windows, lists of known length.

    Args:
        input: The relation.
        count: How often, at least 1.
    """

    count: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, SqlType.integer(64))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        name = "number"
        while name in self.input.schema.names:
            name += "_"
        return self.input.schema.append(pa.field(name, pa.int64()))

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (*self.input.char_lengths, 0)

    @property
    def only_grows(self) -> bool:
        return self.input.only_grows


@dataclass(frozen=True)
class Numbers(DerivedRelation):
    """The whole numbers from 0 on, ``count`` of them: what constant rows are computed from."""

    count: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (SqlType.integer(64),)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return pa.schema([pa.field("number", pa.int64())])

    @property
    def below(self) -> tuple[Relation, ...]:
        return ()

    def over(self, below: Sequence[Relation]) -> Self:
        return self

    @property
    def char_lengths(self) -> tuple[int, ...]:
        return (0,)
