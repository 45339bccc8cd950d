"""The resolved FROM clause of a SELECT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import TokenType, exp

from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.part import Equality, Part
from livejoin.sql.resolved.query import Scope, SelectBlock


@dataclass(frozen=True)
class FromClause:
    """A FROM clause, or a piece of one.

    Args:
        scope: The occurrences and names.
        equalities: The columns that USING and NATURAL make equal, of inner joins.
        conditions: The ON conditions of inner joins, resolved.
        parts: The parts that hang on the inner join.
        seen: The scopes of the sub-queries in ON, by the numbers of their marks; not those within FULL JOINs.
        taken: The numbers of the sub-queries within FULL JOINs.
    """

    scope: Scope = Scope()  # noqa: RUF009
    equalities: tuple[Equality, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()
    parts: tuple[Part, ...] = ()
    seen: Mapping[int, Scope] = field(default_factory=dict)
    taken: frozenset[int] = frozenset()

    @property
    def core(self) -> tuple[int, ...]:
        """The occurrences that are in no part."""
        hanging = {atom for part in self.parts for atom in part.atoms}
        return tuple(relation.atom for relation in self.scope.relations if relation.atom not in hanging)


def select_of(clause: FromClause, items: tuple[Item, ...], source: Source) -> SelectBlock:
    """A SELECT of some items, and nothing else, from a FROM clause."""
    return SelectBlock(
        scope=clause.scope,
        items=items,
        source=source,
        start=source.find({TokenType.FROM}),
        equalities=clause.equalities,
        conditions=clause.conditions,
        parts=clause.parts,
    )
