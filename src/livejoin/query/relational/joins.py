"""Joins, and the derived relations that they read as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.query.relational.relation import DerivedRelation
from livejoin.schema import SqlType, Table

if TYPE_CHECKING:
    from livejoin.query.relational import Relation


@dataclass(frozen=True)
class Input:
    """A derived relation that a join reads as it reads a base table.

    Args:
        table: How the join's atoms see it: its name there, which no base table and no other input of the join has, its
            columns with the types of the relation's, and as primary key the columns of one of its keys, if it has one.
            What it promises is what the relation does (`DerivedRelation.never_changes`, `DerivedRelation.only_grows`).
        relation: The relation.
    """

    table: Table
    relation: Relation


@dataclass(frozen=True)
class Join(DerivedRelation):
    """The rows of a conjunctive query under bag semantics; its columns are the query's outputs.

    Args:
        query: The query.
        types: The types of its outputs.
        inputs: The derived relations among its atoms' tables; an atom reads the input whose name its table has.
    """

    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    inputs: tuple[Input, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.query.schema

    @property
    def below(self) -> tuple[Relation, ...]:
        return tuple(one.relation for one in self.inputs)

    def over(self, below: Sequence[Relation]) -> Self:
        inputs = tuple(replace(one, relation=other) for one, other in zip(self.inputs, below, strict=True))
        return replace(self, inputs=inputs)

    @property
    def char_lengths(self) -> tuple[int, ...]:
        """As `DerivedRelation.char_lengths`.

        >>> from livejoin.schema import Column
        >>> from livejoin.query.conjunctive import Atom, ColumnRef, Output
        >>> from livejoin.query.relational import Distinct
        >>> text = SqlType("string")
        >>> table = Table("T", (Column("s", text), Column("c", text, length=5, is_char=True)))
        >>> atom = Atom("T", table, (0, 1), ("s", "c"))
        >>> outputs = (Output("c", text.arrow, 1), Output("s", text.arrow, 0))
        >>> query = ConjunctiveQuery("", (atom,), (ColumnRef(0, 0), ColumnRef(0, 1)), outputs)
        >>> Distinct(Join(query, (text, text))).char_lengths
        (5, 0)
        """
        derived = {one.table.name: one.relation.char_lengths for one in self.inputs}
        found = []
        for ref in self.query.head:
            table = self.query.atoms[ref.atom].table
            lengths = derived.get(table.name, ())
            column = table.columns[ref.column]
            own = column.length if column.is_char else 0
            found.append(lengths[ref.column] if ref.column < len(lengths) else own)
        return tuple(found[one.source] if isinstance(one.source, int) else 0 for one in self.query.outputs)

    @property
    def never_changes(self) -> bool:
        return all(atom.table.static for atom in self.query.atoms)

    @property
    def only_grows(self) -> bool:
        query = self.query
        if query.sums or any(branch.kind != "exists" for branch in query.branches):
            return False
        return all(atom.table.static or atom.table.append_only for atom in query.atoms)
