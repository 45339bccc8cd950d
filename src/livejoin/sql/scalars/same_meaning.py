"""Expressions that mean the same in DuckDB and in Spark; DuckDB evaluates no others.

These are lists and some of their functions, which no column has and the evaluator over words does not read, and
functions that the evaluator lacks. `tests/spark/test_lists.py` compares all of them with a real Spark.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from livejoin.sql.parse.walking import nodes
from livejoin.sql.scalars.labels import name_of

_NODES = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.DataType, exp.DataTypeParam),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.And, exp.Or, exp.Not, exp.Coalesce, exp.In),
    *(exp.Case, exp.If),
    exp.ConcatWs,
    *(exp.Array, exp.ArrayFilter, exp.Lambda, exp.ArraySize, exp.ArrayContains, exp.ArrayMax, exp.ArrayMin),
)
_OWN = frozenset({"list_sort", "list_distinct", "list_reverse"})  # written by livejoin itself, for lists of aggregates


def other_meaning(node: exp.Expr, arrow: Callable[[exp.Column], pa.DataType]) -> str | None:
    """The first part of an expression that may mean something else in DuckDB; None if there is none.

    Args:
        node: The expression in Spark's dialect.
        arrow: Gives the Arrow type of a column.
    """
    for part in nodes(node):
        if isinstance(part, exp.ArrayToString) and _is_of_texts(part, arrow):
            continue
        if isinstance(part, exp.Anonymous):
            if part.name.lower() not in _OWN:
                return part.name.upper()
        elif not isinstance(part, _NODES):
            return name_of(part)
    return None


def _is_of_texts(joined: exp.ArrayToString, arrow: Callable[[exp.Column], pa.DataType]) -> bool:
    """Whether a joined list is one of strings or integers: other values have other texts in Spark."""
    lists = [arrow(column) for column in joined.this.find_all(exp.Column)]
    elements = [kind.value_type for kind in lists if pa.types.is_list(kind)]
    plain = all(pa.types.is_string(kind) or pa.types.is_integer(kind) for kind in elements)
    return bool(elements) and plain and not joined.args.get("null")
