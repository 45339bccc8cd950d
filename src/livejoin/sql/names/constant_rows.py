"""Constant rows: the rows of a SELECT without FROM, and VALUES in FROM.

    SELECT e            =  SELECT e FROM one row
    VALUES (a), (b)     =  SELECT CASE number WHEN 0 THEN a ELSE b END FROM two rows with their numbers

The rows are the integers from 0 on (`livejoin.query.relational.Numbers`), in a column whose name no expression can use.
The columns of VALUES have the common types of their values. No table is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Column, SqlType, Table
from livejoin.sql.names.known import Names
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.resolved.column import bound_column
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.query import Occurrence, Scope

MOST_ROWS = 1000
_TABLE = Table("constant rows", (Column("number", SqlType.integer(64), nullable=False),))


def numbered(names: Names, count: int, offset: int) -> Scope:
    """A scope of ``count`` rows, whose number column has no name."""
    return Scope((Occurrence(0, "constant rows", _TABLE, names.numbers(count), offset),), hidden=frozenset({0}))


def value_items(rows: Sequence[exp.Expr], source: Source, offset: int) -> tuple[Item, ...]:
    """The columns ``col1``, ``col2``, ... of VALUES over numbered rows, as in Spark.

    Raises:
        UnsupportedQueryError: The rows differ in length, or are more than `MOST_ROWS`.
        UnknownNameError: A value names a column.
    """
    if len(rows) > MOST_ROWS:
        msg = f"VALUES with {len(rows)} rows; allowed are {MOST_ROWS}: store them in a table that is static"
        raise source.unsupported("VALUES", msg, offset)
    lines = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows]
    for line in lines:
        if len(line) != len(lines[0]):
            msg = f"VALUES has rows of {len(lines[0])} and of {len(line)} values; each row has a value for each column"
            raise source.unsupported("VALUES", msg, offset_of(line[0], offset) if line else offset)
    columns = [[resolve(value.unnest(), Scope(), source) for value in column] for column in zip(*lines, strict=True)]
    return tuple(
        Item(f"col{i + 1}", _chosen(values), offset_of(values[0], offset), "column of VALUES", f"col{i + 1}")
        for i, values in enumerate(columns)
    )


def _chosen(values: Sequence[exp.Expr]) -> exp.Expr:
    """The expression that gives each row its value by the row's number."""
    if len(values) == 1:
        return values[0]
    number = bound_column(ColumnRef(0, 0), "number")
    *others, last = values
    cases = [exp.If(this=exp.Literal.number(i), true=value) for i, value in enumerate(others)]
    return exp.Case(this=number, ifs=cases, default=last)
