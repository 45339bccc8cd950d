"""A resolved column: a node of sqlglot with a reference to a column of an occurrence in its ``meta``.

The reference, under `REF`, decides, whatever a column is called: ``a``, ``R.a`` and ``r.A`` have one `ColumnRef`. All
columns of a resolved expression have one. Expressions over the columns of one relation name column i as `column_at`
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.parse.copying import copied, rewritten, sql_of
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.operand_order import in_order

REF = "ref"
"""The entry in the ``meta`` of a column that has its `ColumnRef`."""

_VALUES = (exp.Condition, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)  # nodes that have a value


def bound_column(ref: ColumnRef, name: str) -> exp.Column:
    """A column that stands for ``ref``, shown under a name."""
    column = exp.column(name)
    column.meta[REF] = ref
    return column


def column_at(position: int) -> exp.Column:
    """Column ``position`` of the only relation that an expression is over."""
    return bound_column(ColumnRef(0, position), f"c{position}")


def refs_of(node: exp.Expr) -> tuple[ColumnRef, ...]:
    """The columns of a resolved expression, in order of their first occurrence."""
    return tuple(dict.fromkeys(column.meta[REF] for column in nodes_of(node, exp.Column)))


def over(value: exp.Expr, place: Callable[[ColumnRef], ColumnRef]) -> exp.Expr:
    """A copy of an expression over other columns; ``place`` gives the replacement of each."""
    found = copied(value)
    for column in nodes_of(found, exp.Column):
        if REF in column.meta:
            column.meta[REF] = place(column.meta[REF])
    return found


def key_of(node: exp.Expr) -> str:
    """A key that is equal for expressions that read alike over the same columns, as Spark compares them.

    >>> a, b = (exp.Upper(this=bound_column(ColumnRef(0, 1), name)) for name in "ab")
    >>> key_of(a) == key_of(b), key_of(a) == key_of(exp.Lower(this=bound_column(ColumnRef(0, 1), "a")))
    (True, False)
    """

    def named(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column):
            ref = part.meta[REF]
            return exp.column(exp.to_identifier(f"{ref.atom}.{ref.column}", quoted=True))
        return part

    found = in_order(rewritten(node.unnest(), named))
    return sql_of(found, "duckdb")


def place_of(part: exp.Expr, places: Mapping[str, int]) -> int | None:
    """The position of an expression by its `key_of`; None if it has none or the node is no expression."""
    return places.get(key_of(part)) if isinstance(part, _VALUES) else None
