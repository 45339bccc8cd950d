"""Isolating occurrences of a SELECT: a nested query joins them, and the SELECT reads its columns instead.

    SELECT f(R.a, S.b) FROM R, S, T WHERE c(R, S) AND d(S, T)
      =  SELECT f(q.a, q.b) FROM (SELECT R.a, S.b, ... FROM R, S WHERE c(R, S)) q, T WHERE d(q, T)

The nested query is not merged again; its rows are stored where they are joined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Column, Table
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.parse.source import shown
from livejoin.sql.resolved.column import over
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.part import Part
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, SelectBlock


@dataclass(frozen=True)
class Isolated:
    """The nested query to make; everything is over the scope of the SELECT.

    Args:
        alias: The alias of the nested query, for messages and ``explain``.
        name: The name of the nested query as a table.
        atoms: The occurrences to isolate.
        conditions: The conditions of the nested query's core.
        parts: The parts of the nested query; ``above`` counts among these.
        values: The columns of the nested query.
        distinct: Whether the nested query has each row once.
        given: An occurrence of another nested query that it reads too, if there is one.
        columns: For columns of the SELECT the columns of ``given`` in their place.
    """

    alias: str
    name: str
    atoms: Collection[int]
    conditions: Sequence[exp.Expr]
    parts: Sequence[Part]
    values: Sequence[exp.Expr]
    distinct: bool = False
    given: Occurrence | None = None
    columns: Mapping[ColumnRef, int] | None = None


def occurrence_of(block: SelectBlock, isolated: Isolated, lowering: Lowering) -> Occurrence:
    """The occurrence of a nested query, without a number.

    Raises:
        SqlError: The nested SELECT is not valid.
    """
    first = 0 if isolated.given is None else 1
    number = {atom: first + place for place, atom in enumerate(sorted(isolated.atoms))}
    stand_ins = isolated.columns or {}

    def place(ref: ColumnRef) -> ColumnRef:
        if ref in stand_ins:
            return ColumnRef(0, stand_ins[ref])
        return ColumnRef(number[ref.atom], ref.column)

    own = [replace(one, atom=number[one.atom]) for one in block.scope.relations if one.atom in number]
    relations = own if isolated.given is None else [replace(isolated.given, atom=0), *own]
    values = isolated.values or [exp.Literal.number(0)]
    names = distinct_names([one.name if isinstance(one, exp.Column) else shown(one) for one in values])
    inner = replace(
        block,
        scope=Scope(tuple(relations)),
        conditions=tuple(over(one, place) for one in isolated.conditions),
        items=tuple(
            Item(name, over(value, place), block.start, written=name) for name, value in zip(names, values, strict=True)
        ),
        groups=None,
        sets=None,
        is_global=False,
        having=None,
        distinct=isolated.distinct,
        qualified=False,
        order=None,
        parts=tuple(
            replace(
                part,
                atoms=tuple(number[atom] for atom in part.atoms),
                conditions=tuple(over(one, place) for one in part.conditions),
            )
            for part in isolated.parts
        ),
    )
    relation = lowering.relation(inner)
    columns = tuple(Column(name, kind) for name, kind in zip(names, relation.types, strict=True))
    query = NestedQuery("", tuple(names), relation, None, None)
    return Occurrence(0, isolated.alias, Table(isolated.name, columns), query, block.start)


def exchanged(
    block: SelectBlock, gone: Collection[int], new: Occurrence, columns: Mapping[ColumnRef, int]
) -> SelectBlock:
    """A SELECT that reads one occurrence in place of others.

    Args:
        block: The SELECT, without the parts that the nested query has.
        gone: The occurrences to remove.
        new: The occurrence to add.
        columns: For the used columns of the removed occurrences, the columns of the new one.
    """
    number: dict[int, int] = {}
    relations: list[Occurrence] = []
    for one in block.scope.relations:
        if one.atom == min(gone):
            number |= dict.fromkeys(gone, len(relations))
            relations.append(replace(new, atom=len(relations)))
        elif one.atom not in gone:
            number[one.atom] = len(relations)
            relations.append(replace(one, atom=len(relations)))

    def place(ref: ColumnRef) -> ColumnRef:
        return ColumnRef(number[ref.atom], columns[ref] if ref.atom in gone else ref.column)

    found = block.mapped(lambda value: over(value, place)).with_groups_once()
    parts = tuple(replace(one, atoms=tuple(sorted({number[atom] for atom in one.atoms}))) for one in found.parts)
    return replace(found, scope=Scope(tuple(relations)), parts=parts)
