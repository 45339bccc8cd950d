"""Parts of a SELECT, which hang on the rest by edges: outer joins, and sub-queries that became joins.

``R LEFT JOIN S ON c`` hangs S on R as an ``optional`` part. ``WHERE EXISTS (SELECT ... FROM S WHERE c)`` hangs S as an
``exists`` part. In both cases the tables of the part are occurrences in the scope of the SELECT, numbered like all
others, and c is over that scope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef, EdgeKind


@dataclass(frozen=True)
class Equality:
    """Two columns that must be equal, with the offset in the text."""

    left: ColumnRef
    right: ColumnRef
    offset: int


@dataclass(frozen=True)
class Part:
    """A part, which hangs on the core of a SELECT or on another part.

    Args:
        kind: The kind of the edge.
        atoms: The occurrences of the part, by number, without those of parts that hang on it.
        conditions: The conditions that decide whether a row above and a row of the part match: the ON condition, or the
            WHERE condition of the sub-query. They may use all columns that the part is applied to, those of earlier
            optional parts included, and optional parts within the part.
        equalities: Columns that USING and NATURAL make equal, or that IN compares.
        above: The position of the part that this one is applied to, before its own; None for the core.
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
    """Parts after ``number`` others; those of the core are applied to the part ``above``."""
    return tuple(replace(part, above=above if part.above is None else part.above + number) for part in parts)
