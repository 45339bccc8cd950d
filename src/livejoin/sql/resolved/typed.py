"""Nodes with a type of livejoin's: CAST of a value, and NULL."""

from __future__ import annotations

from sqlglot import exp

from livejoin.schema import SqlType


def cast_to(value: exp.Expr, kind: SqlType) -> exp.Cast:
    """``CAST(value AS kind)``; the node is not copied.

    >>> cast_to(exp.column("a"), SqlType.decimal(5, 2)).sql("spark")
    'CAST(a AS DECIMAL(5, 2))'
    """
    return exp.Cast(this=value, to=exp.DataType.build(str(kind), dialect="spark"))


def null_of(kind: SqlType) -> exp.Cast:
    """NULL of a type."""
    return cast_to(exp.null(), kind)
