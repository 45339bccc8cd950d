"""Refuse expressions that would compute with payload (ARRAY, STRUCT, MAP, VARIANT): it is only passed through."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.scalar import Field
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF
from livejoin.sql.scalars.operands import Unsayable


def refuse_payload(node: exp.Expr, field: Callable[[ColumnRef], Field], source: Source, offset: int) -> None:
    """Refuse an expression that does more with payload than to pass it on or to test it for NULL.

    Raises:
        SqlTypeError: The expression does; the position is that of the column.
    """
    for column in nodes_of(node, exp.Column):
        try:
            kind = field(column.meta[REF]).type if REF in column.meta else None
        except Unsayable:  # a list that an aggregate makes
            continue
        if kind is not None and kind.is_payload and not _is_only_tested(column, node):
            msg = (
                f"the column {shown(column)} is {kind}, which is only passed through: it may be selected, counted and "
                "tested for NULL; keep what is compared, joined or computed in a column of its own"
            )
            raise source.error(SqlTypeError, msg, offset_of(column, offset))


def _is_only_tested(column: exp.Column, node: exp.Expr) -> bool:
    """Whether a column is the whole expression, or stands before IS NULL in it."""
    part: exp.Expr = column
    while part is not node and isinstance(part.parent, exp.Paren):
        part = part.parent
    if part is node:
        return True
    around = part.parent
    is_test = isinstance(around, exp.Is) and isinstance(around.expression, exp.Null)
    return is_test or (isinstance(around, exp.Anonymous) and around.name.lower() in ("isnull", "isnotnull"))
