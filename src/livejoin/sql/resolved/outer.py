"""Columns of the queries around a sub-query, as they stand in its expressions.

While a sub-query is by itself such a column is no column for it: it has one value. So it is a node of another kind than
the sub-query's own columns, with how many levels further out its table stands. Where the sub-query becomes a part of
the query around it, the columns of the first level become columns of that query, and those of others come one nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.resolved.column import REF

_OUTER = "livejoin_outer"


@dataclass(frozen=True)
class Outer:
    """A column of a query around: ``level`` is 1 for the one right around, ``name`` is how it is written."""

    level: int
    ref: ColumnRef
    name: str


def outer_column(outer: Outer, start: int | None) -> exp.Expr:
    """The node of an outer column; ``start`` is its offset in the text."""
    node = exp.Var(this=outer.name)
    node.meta[_OUTER] = outer
    if start is not None:
        node.meta["start"] = start
    return node


def outer_of(node: exp.Expr) -> Outer | None:
    """The outer column that a node is, None if it is none."""
    found: Outer | None = node.meta.get(_OUTER)
    return found


def outers(node: exp.Expr) -> Iterator[Outer]:
    """The outer columns in an expression."""
    return (found for part in node.find_all(exp.Var) if (found := outer_of(part)) is not None)


def lifted(node: exp.Expr) -> exp.Expr:
    """An expression of a query as a sub-query of it has it."""

    def exchanged(part: exp.Expr) -> exp.Expr:
        outer = outer_of(part)
        if outer is not None:
            return outer_column(Outer(outer.level + 1, outer.ref, outer.name), part.meta.get("start"))
        if isinstance(part, exp.Column):
            name = part.sql("spark", comments=False)
            return outer_column(Outer(1, part.meta[REF], name), part.meta.get("start"))
        return part

    return node.transform(exchanged)


def landed(node: exp.Expr, place: Callable[[Outer], exp.Expr]) -> exp.Expr:
    """An expression of a sub-query as the query around it has it; ``place`` gives what columns of that are there."""

    def exchanged(part: exp.Expr) -> exp.Expr:
        outer = outer_of(part)
        if outer is None:
            return part
        start = part.meta.get("start")
        if outer.level > 1:
            return outer_column(Outer(outer.level - 1, outer.ref, outer.name), start)
        found = place(outer)
        if start is not None:
            found.meta["start"] = start
        return found

    return node.transform(exchanged)
