"""Outer columns: columns of the queries around a sub-query, as its expressions have them.

Within the sub-query an outer column has one value, so it is no column. Its node is of another kind than the sub-query's
own columns, and says how many levels further out the table stands. When the sub-query becomes a part of the query
around it, outer columns of the first level become columns of that query, and all others come one level nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF

_OUTER = "livejoin_outer"


@dataclass(frozen=True)
class Outer:
    """A column of a query around: ``level`` is 1 for the nearest one, ``name`` is how it is written."""

    level: int
    ref: ColumnRef
    name: str


def outer_column(outer: Outer, start: int | None) -> exp.Expr:
    """The node of an outer column; ``start`` is the offset in the text."""
    node = exp.Var(this=outer.name)
    node.meta[_OUTER] = outer
    if start is not None:
        node.meta["start"] = start
    return node


def outer_of(node: exp.Expr) -> Outer | None:
    """The outer column of a node, None if it is none."""
    found: Outer | None = node.meta.get(_OUTER)
    return found


def outers(node: exp.Expr) -> Iterator[Outer]:
    """The outer columns in an expression."""
    return (found for part in nodes_of(node, exp.Var) if (found := outer_of(part)) is not None)


def lifted(node: exp.Expr) -> exp.Expr:
    """An expression of a query as its sub-query has it: columns become outer columns."""

    def exchanged(part: exp.Expr) -> exp.Expr:
        outer = outer_of(part)
        if outer is not None:
            return outer_column(Outer(outer.level + 1, outer.ref, outer.name), part.meta.get("start"))
        if isinstance(part, exp.Column):
            name = part.sql("spark", comments=False)
            return outer_column(Outer(1, part.meta[REF], name), part.meta.get("start"))
        return part

    return rewritten(node, exchanged)


def landed(node: exp.Expr, place: Callable[[Outer], exp.Expr]) -> exp.Expr:
    """An expression of a sub-query as the query around has it; ``place`` gives what replaces its columns."""

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

    return rewritten(node, exchanged)
