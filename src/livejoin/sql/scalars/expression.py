"""Bound expressions for a plan: scalar trees, or DuckDB text where a tree is not possible.

The law: DuckDB evaluates an expression as a whole or not at all. It gets only expressions that are known to mean there
what they mean in Spark (`livejoin.sql.scalars.same_meaning`); all others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.scalar import Expression, Field
from livejoin.schema import Column, SqlType, is_made_list
from livejoin.sql.parse.copying import rewritten, sql_of
from livejoin.sql.parse.other_dialects import FUNCTIONS
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import REF
from livejoin.sql.scalars.bind import Unsaid, bind_scalar
from livejoin.sql.scalars.duckdb_text import check_scalar, expression_text
from livejoin.sql.scalars.labels import column_text
from livejoin.sql.scalars.operands import INT, Unsayable
from livejoin.sql.scalars.same_meaning import other_meaning


@dataclass(frozen=True)
class RowType:
    """The columns that an expression is over.

    Args:
        names: The names of the columns in the expression's text.
        fields: The columns for the tree; None for a list, which trees do not read.
        arrow: The Arrow types of the columns.
        place: Gives the position of the column of a reference.
    """

    names: tuple[str, ...]
    fields: tuple[Field | None, ...]
    arrow: tuple[pa.DataType, ...]
    place: Callable[[ColumnRef], int]

    @staticmethod
    def of_table(columns: Sequence[Column], schema: pa.Schema) -> RowType:
        """The columns of a table or a nested query; references name them by position.

        Args:
            columns: The columns.
            schema: The names of the columns in expressions, and their Arrow types.
        """
        fields = [Field(i, c.type, c.nullable) for i, c in enumerate(columns)]
        return _row_type(tuple(schema.names), fields, schema.types, lambda ref: ref.column)

    @staticmethod
    def of_types(
        types: Sequence[SqlType], arrow: Sequence[pa.DataType], place: Callable[[ColumnRef], int] | None = None
    ) -> RowType:
        """Columns ``c0``, ``c1``, ... of some types; references name them by position unless ``place`` is given."""
        fields = [Field(i, kind) for i, kind in enumerate(types)]
        return _row_type(tuple(f"c{i}" for i in range(len(types))), fields, arrow, place or (lambda ref: ref.column))

    @property
    def schema(self) -> pa.Schema:
        """The schema of the columns for DuckDB."""
        return pa.schema(list(zip(self.names, self.arrow, strict=True)))

    def name(self, ref: ColumnRef) -> str:
        """The name of a column in texts."""
        return self.names[self.place(ref)]

    def arrow_type(self, column: exp.Column) -> pa.DataType:
        """The Arrow type of a column's node; null for the parameter of a lambda."""
        return self.arrow[self.place(column.meta[REF])] if REF in column.meta else pa.null()

    def field(self, ref: ColumnRef) -> Field:
        """A column for the tree.

        Raises:
            Unsayable: The column is a list.
        """
        found = self.fields[self.place(ref)]
        if found is None:
            raise Unsayable("ARRAY", "it reads no lists")
        return found


def _row_type(
    names: tuple[str, ...], fields: Sequence[Field], arrow: Sequence[pa.DataType], place: Callable[[ColumnRef], int]
) -> RowType:
    plain = [None if is_made_list(kind) else field for field, kind in zip(fields, arrow, strict=True)]
    return RowType(names, tuple(plain), tuple(arrow), place)


def bind_expression(
    node: exp.Expr, row: RowType, source: Source, offset: int, written: exp.Expr | None = None
) -> tuple[Expression, pa.DataType]:
    """An expression of a plan, and its Arrow type.

    Args:
        node: A bound expression.
        row: The columns of its rows.
        source: The SQL text.
        offset: A position for parts without one.
        written: The text that errors show instead.

    Raises:
        SqlTypeError: The types do not fit, or DuckDB cannot bind the expression.
        UnsupportedQueryError: The expression is no function of its row, or cannot be a tree and may mean something else
            in DuckDB.
    """
    found = bind_tree(node, row, source, offset)
    if not isinstance(found, Unsaid):
        tree, kind = found
        return tree, kind.arrow
    try:
        text = expression_text(node, row.name, source, offset)
    except UnsupportedQueryError as error:
        if found.what == "ARRAY":
            raise
        called = source.text_at(found.offset).upper()  # PRINTF for what the tree knows as FORMAT_STRING
        raise source.unsupported(called, refusal(replace(found, what=called)), found.offset) from error
    other = other_meaning(node, row.arrow_type)
    try:
        given = check_scalar(written or node, text, row.schema, source, offset)
    except SqlTypeError as error:
        if other is None:
            raise
        raise source.error(SqlTypeError, refusal(found, other), found.offset) from error
    if other is not None:
        raise source.unsupported(found.what if found.what != "ARRAY" else other, refusal(found, other), found.offset)
    return Expression(text, None), given


def refusal(found: Unsaid, other: str = "ARRAY") -> str:
    """The message of a refusal: the part that cannot be a tree, and what it stands beside if it could be one alone."""
    what = found.what if found.what != "ARRAY" else other
    if hint := FUNCTIONS.get(what.lower()):
        return f"{what} is not supported; {hint}"
    return f"{what} is not supported: {found.why}. Store what it gives in a column, or leave it out"


def bind_tree(node: exp.Expr, row: RowType, source: Source, offset: int) -> tuple[Expression, SqlType] | Unsaid:
    """An expression as a tree, with its type; or the part that cannot be one. As `bind_expression`."""
    found = bind_scalar(node, row.field, source, offset, INT)
    return found if isinstance(found, Unsaid) else (Expression(_text(node, row), found), found.type)


def _text(node: exp.Expr, row: RowType) -> str:
    """The expression in Spark SQL, over the names of the columns."""

    def named(part: exp.Expr) -> exp.Expr:
        return exp.var(column_text(row.name(part.meta[REF]))) if isinstance(part, exp.Column) else part

    return sql_of(rewritten(node, named), "spark")
