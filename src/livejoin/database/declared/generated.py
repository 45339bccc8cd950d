"""GENERATED ALWAYS AS: columns whose values are computed from the other columns of the row, and stored.

They are computed when the words of a change are known, for rows that come and for whole rows that go. A change may
leave such a column out (NULL counts so), or give the value that it has. Law: in each row the column has the value that
``CAST((expression) AS type)`` gives for the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.changes.batch import Flags
from livejoin.database.declared.row_expression import RowExpression, row_expression
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import ChangeValueError, ExpressionError, SchemaError
from livejoin.schema import Table
from livejoin.shown import shown_scalar
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words


@dataclass(frozen=True, eq=False)
class Generated:
    """The generated columns of a table, ready to be computed.

    Args:
        table: The table.
        codec: The dictionaries of the words.
        parts: The columns' positions, their expressions, and what evaluates them.
    """

    table: Table
    codec: Codec
    parts: tuple[tuple[int, RowExpression, Evaluator | None], ...]

    @classmethod
    def of(cls, table: Table, codec: Codec) -> Generated:
        """The generated columns of a table over the dictionaries of a database.

        Raises:
            SchemaError: An expression is wrong.
        """
        bound = [(place, bound_column(table, place)) for place in table.generated]
        return cls(table, codec, tuple((place, one, one.evaluator(codec)) for place, one in bound))

    def filled(self, words: Words, whole: Flags) -> Words:
        """The words of changes with those of the generated columns.

        Args:
            words: The words of their columns, of shape (columns, rows); not changed.
            whole: Whether each change has a whole row.

        Raises:
            ChangeValueError: A change gives another value than the computed one.
            ExpressionError: An expression has no value for some row.

        Cost: O(rows * generated columns).
        """
        rows = np.flatnonzero(whole)
        if not rows.shape[0]:
            return words
        words = words.copy()
        some = np.ascontiguousarray(words[:, rows])
        for place, expression, evaluator in self.parts:
            column = self.table.columns[place]
            try:
                values = expression.values(evaluator, self.codec, some)
            except ExpressionError as error:
                msg = f"table {self.table.name!r}: generated column {column.name!r}: {error}"
                raise ExpressionError(msg) from error
            if not isinstance(values, np.ndarray):
                whole_values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
                values = self.codec.encode_column(whole_values.cast(column.type.arrow), column)
            wrong = (some[place] != NULL_CODE) & (some[place] != values)
            if wrong.any():
                row = int(np.argmax(wrong))
                given, found = (
                    shown_scalar(self.codec.decode(line[row : row + 1].copy(), column.type)[0])
                    for line in (some[place], values)
                )
                msg = (
                    f"column {column.name!r} is generated as {column.generated}, which is {found} here, and the change "
                    f"gives {given}; leave the column out"
                )
                raise ChangeValueError(msg, self.table.name, int(rows[row]))
            words[place, rows] = values
        return words


def bound_column(table: Table, place: int) -> RowExpression:
    """The bound expression of a generated column, of the column's type.

    Raises:
        SchemaError: The expression is wrong, or reads a generated column.
    """
    column = table.columns[place]
    what = f"generated column {column.name!r}"
    found = row_expression(table, f"CAST(({column.generated}) AS {column.type})", what)
    made = [table.columns[one].name for one in found.columns if one in table.generated]
    if made:
        msg = f"table {table.name!r}: {what} reads {made[0]!r}, which is generated too; allowed are other columns"
        raise SchemaError(msg)
    try:
        found.evaluator(Codec())
    except ExpressionError as error:
        msg = f"table {table.name!r}: {what} has no value for any row: {error}"
        raise SchemaError(msg) from error
    return found
