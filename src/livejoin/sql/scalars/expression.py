"""Bound expressions as those of a plan: typed trees, and where the tree has no way to say one, DuckDB's text.

The law: DuckDB evaluates an expression as a whole or not at all, and only one that is made of what is known to mean
there what it means in Spark (`livejoin.sql.scalars.same_meaning`); every other one is refused.
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
        names: What its text calls them.
        fields: Each as the tree reads it; None for a list, which the tree does not read.
        arrow: Their Arrow types.
        place: The position of the column that a reference is to.
    """

    names: tuple[str, ...]
    fields: tuple[Field | None, ...]
    arrow: tuple[pa.DataType, ...]
    place: Callable[[ColumnRef], int]

    @staticmethod
    def of_table(columns: Sequence[Column], schema: pa.Schema) -> RowType:
        """The columns of a table or a nested query, to which references are by their position.

        Args:
            columns: The columns.
            schema: What expressions call them, and their Arrow types.
        """
        fields = [Field(i, c.type, c.nullable) for i, c in enumerate(columns)]
        return _row_type(tuple(schema.names), fields, schema.types, lambda ref: ref.column)

    @staticmethod
    def of_types(
        types: Sequence[SqlType], arrow: Sequence[pa.DataType], place: Callable[[ColumnRef], int] | None = None
    ) -> RowType:
        """Columns ``c0``, ``c1``, ... of some types, to which references are by position if nothing else is said."""
        fields = [Field(i, kind) for i, kind in enumerate(types)]
        return _row_type(tuple(f"c{i}" for i in range(len(types))), fields, arrow, place or (lambda ref: ref.column))

    @property
    def schema(self) -> pa.Schema:
        """The columns as DuckDB sees them."""
        return pa.schema(list(zip(self.names, self.arrow, strict=True)))

    def name(self, ref: ColumnRef) -> str:
        """What texts call a column."""
        return self.names[self.place(ref)]

    def arrow_type(self, column: exp.Column) -> pa.DataType:
        """The Arrow type of a column as it stands in an expression; NULL's of the parameter of a lambda."""
        return self.arrow[self.place(column.meta[REF])] if REF in column.meta else pa.null()

    def field(self, ref: ColumnRef) -> Field:
        """A column as the tree reads it.

        Raises:
            Unsayable: It is a list.
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
        row: The columns that it is over.
        source: The SQL text.
        offset: A position for parts without one.
        written: What errors show in its place.

    Raises:
        SqlTypeError: Its types do not fit, or DuckDB cannot bind it.
        UnsupportedQueryError: It is no function of its row, or the tree cannot say it and DuckDB may mean another
            thing by it.
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
    """What cannot be said, or what it stands beside where it can be by itself."""
    what = found.what if found.what != "ARRAY" else other
    return f"{what} is not supported: {found.why}; store what it gives in a column, or leave it out"


def bind_tree(node: exp.Expr, row: RowType, source: Source, offset: int) -> tuple[Expression, SqlType] | Unsaid:
    """An expression with a tree, and its type; or what in it the tree has no way to say. As `bind_expression`."""
    found = bind_scalar(node, row.field, source, offset, INT)
    return found if isinstance(found, Unsaid) else (Expression(_text(node, row), found), found.type)


def _text(node: exp.Expr, row: RowType) -> str:
    """The expression in Spark's SQL, over the columns' names."""

    def named(part: exp.Expr) -> exp.Expr:
        return exp.var(column_text(row.name(part.meta[REF]))) if isinstance(part, exp.Column) else part

    return node.transform(named).sql("spark", comments=False, copy=False)
