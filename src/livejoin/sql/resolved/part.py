"""Parts of a SELECT that hang on the rest by edges that are not inner: outer joins, and sub-queries that are joins.

``R LEFT JOIN S ON c`` hangs S on R as an ``optional`` part, ``WHERE EXISTS (SELECT ... FROM S WHERE c)`` hangs it as an
``exists`` part; both have the occurrences of their tables in the scope of the SELECT, numbered like all others, and c
is over that scope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef, EdgeKind


@dataclass(frozen=True)
class Equality:
    """Two columns that must be equal, and the offset at which the text says so."""

    left: ColumnRef
    right: ColumnRef
    offset: int


@dataclass(frozen=True)
class Part:
    """What hangs on the core of a SELECT, or on another part of it.

    Args:
        kind: The kind of the edge.
        atoms: Occurrences of tables in it, by their number in the scope, without those of parts that hang on it.
        conditions: What decides whether a row above and a row of the part match, resolved over the scope: the ON
            condition, or the WHERE condition of the sub-query. They may be over all of what the part is applied to,
            columns of optional parts before it too, and over optional parts within it.
        equalities: Columns that USING and NATURAL make equal, or that IN compares.
        above: Position among the parts of the one that it is applied to a row of, before its own; None for the core.
    """

    kind: EdgeKind
    atoms: tuple[int, ...]
    conditions: tuple[exp.Expr, ...]
    equalities: tuple[Equality, ...] = ()
    above: int | None = None

    def mapped(self, change: Callable[[exp.Expr], exp.Expr]) -> Part:
        """The same part with each of its conditions changed."""
        return replace(self, conditions=tuple(map(change, self.conditions)))


def moved(parts: Sequence[Part], number: int, above: int | None = None) -> tuple[Part, ...]:
    """Parts behind ``number`` others; those of the core are applied to a row of the part ``above``."""
    return tuple(replace(part, above=above if part.above is None else part.above + number) for part in parts)
