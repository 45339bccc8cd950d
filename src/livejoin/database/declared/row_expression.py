"""An expression over the columns of one row of a table: what it means in a view of the table, it means here.

It is bound as the one output of a query of the table. Law: for rows of the table the values are those that
``SELECT expression FROM t`` gives for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from livejoin.catalog import Catalog
from livejoin.dataflow.batches import Rows
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import SchemaError, SqlError
from livejoin.query.relational import Join
from livejoin.query.scalar import Expression
from livejoin.schema import NOTHING_SAID, Column, SqlType, Table
from livejoin.schema.names import backticked
from livejoin.sql import bind_query
from livejoin.state.codec import Codec
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class RowExpression:
    """A bound expression.

    Args:
        text: The expression as SQL.
        columns: The positions of the columns that it reads.
        source: The expression over these columns; a number for one of them.
        type: The type of its values.
        read: The declarations of these columns, as the expression names them.
    """

    text: str
    columns: tuple[int, ...]
    source: Expression | int
    type: SqlType
    read: tuple[Column, ...]

    def evaluator(self, codec: Codec) -> Evaluator | None:
        """What evaluates it in the dictionaries of a database; None if it is one of the columns."""
        if isinstance(self.source, int):
            return None
        return Evaluator([self.source], self.read, codec, [self.text], ())

    def values(self, evaluator: Evaluator | None, codec: Codec, words: Words) -> Words | pa.ChunkedArray:
        """Its values for some rows, as words or as Arrow.

        Args:
            evaluator: The evaluator for the codec, from `evaluator`.
            codec: The dictionaries.
            words: The words of all columns of the rows, of shape (columns, rows).

        Raises:
            ExpressionError: The expression has no value for some row.
        """
        if evaluator is None:
            assert isinstance(self.source, int)
            found: Words = words[self.columns[self.source]]
            return found
        lines = [words[place] for place in self.columns]
        return evaluator.values(Rows(codec, [column.type for column in self.read], lines, words.shape[1]))[0]


def row_expression(table: Table, text: str, what: str) -> RowExpression:
    """Bind an expression over the columns of a table.

    Args:
        table: The table.
        text: The expression as SQL.
        what: The part of the declaration that has it, for messages.

    Raises:
        SchemaError: A name or a type is wrong, or the expression reads more than one row.
    """
    catalog = Catalog()
    catalog.add(replace(table, primary_key=(), foreign_keys=(), unique=(), settings=NOTHING_SAID))
    try:
        query = bind_query(f"SELECT ({text}) AS value FROM {backticked(table.name)}", catalog, {}, False)
    except SqlError as error:
        msg = f"table {table.name!r}: {what}: {error.message}"
        raise SchemaError(msg) from error
    root = query.root
    if not isinstance(root, Join) or root.inputs or len(root.query.atoms) != 1:
        msg = f"table {table.name!r}: {what} reads more than one row; allowed is an expression over its columns"
        raise SchemaError(msg)
    columns = tuple(ref.column for ref in root.query.head)
    (output,) = root.query.outputs
    read = tuple(Column(f"c{place}", table.columns[column].type) for place, column in enumerate(columns))
    return RowExpression(text, columns, output.source, root.types[0], read)
