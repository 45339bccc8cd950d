"""Which columns of a relation are CHAR(n), so that what reads them compares them as that.

A column is a CHAR where it is one of a table, copied by joins and projections, grouped by, sorted or made distinct; of
a set operation the left side counts, as in Spark. What is computed, an aggregate among it, is a STRING.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.query.relational import (
    Aggregate,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Running,
    SetOperation,
    TopK,
)
from livejoin.schema import Column


def relation_columns(names: Sequence[str], relation: Relation) -> tuple[Column, ...]:
    """The columns of a relation under some names, CHAR where they are."""
    described = zip(names, relation.types, char_lengths(relation), strict=True)
    return tuple(Column(name, kind, length=length, is_char=length > 0) for name, kind, length in described)


def char_lengths(relation: Relation) -> tuple[int, ...]:
    """The length of each column of a relation that is a CHAR, 0 of others. Cost: linear in the relation.

    >>> from livejoin.schema import SqlType, Table
    >>> from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Output
    >>> text = SqlType("string")
    >>> table = Table("T", (Column("s", text), Column("c", text, length=5, is_char=True)))
    >>> atom = Atom("T", table, (0, 1), ("s", "c"))
    >>> outputs = (Output("c", text.arrow, 1), Output("s", text.arrow, 0))
    >>> query = ConjunctiveQuery("", (atom,), (ColumnRef(0, 0), ColumnRef(0, 1)), outputs)
    >>> char_lengths(Distinct(Join(query, (text, text))))
    (5, 0)
    """
    match relation:
        case Join():
            derived = {one.table.name: one for one in relation.inputs}
            found = []
            for ref in relation.query.head:
                table = relation.query.atoms[ref.atom].table
                if table.name in derived and ref.column < len(derived[table.name].relation.types):
                    found.append(char_lengths(derived[table.name].relation)[ref.column])
                else:
                    column = table.columns[ref.column]
                    found.append(column.length if column.is_char else 0)
            sources = [output.source for output in relation.query.outputs]
            return tuple(found[source] if isinstance(source, int) else 0 for source in sources)
        case Project():
            below = char_lengths(relation.input)
            return tuple(below[one.source] if isinstance(one.source, int) else 0 for one in relation.outputs)
        case Aggregate():
            return (*char_lengths(relation.input)[: relation.groups], *([0] * len(relation.calls)))
        case Distinct() | TopK():
            return char_lengths(relation.input)
        case Ranked():
            return (*char_lengths(relation.input), 0)
        case Running():
            return (*char_lengths(relation.input), *([0] * len(relation.calls)))
        case SetOperation():
            return char_lengths(relation.left)
        case Numbers():
            return (0,)
