"""Expressions over the words of rows: by a program where they have trees, by DuckDB where they have none.

A program reads words and gives words (decision 27); for DuckDB rows become Arrow, and its values words again. A
condition in steps is evaluated step by step, each for the rows that are left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.query.expression import Written, evaluate
from livejoin.query.scalar import Expression
from livejoin.schema import Column
from livejoin.shown import shown_scalar
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program
from livejoin.state.evaluate.program import SHOWN_FIELDS
from livejoin.words import NULL_CODE, Words


class Evaluator:
    """Some expressions over rows of some columns.

    Args:
        expressions: The expressions, at least one.
        columns: The columns, as texts name them.
        codec: The database's codec.
        shown: The text of the expressions in errors; if empty, that of the failing part.
        names: The names of the columns in errors; None for those of texts, empty for none.

    Attributes:
        is_program: Whether a program gives all values, as words.

    Raises:
        ExpressionError: A constant in one fails, such as CAST('x' AS INT), and would for every row.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        columns: Sequence[Column],
        codec: Codec,
        shown: Sequence[str] = (),
        names: Sequence[str] | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._codec = codec
        self._count = len(expressions)
        trees = [(place, one.scalar) for place, one in enumerate(expressions) if one.scalar is not None]
        self._places = [place for place, _ in trees]
        read = {field.position for one in expressions for field in one.fields()}
        self._read = sorted(read)
        self.is_program = len(trees) == len(expressions)
        self._program = Program([tree for _, tree in trees], codec) if trees else None
        if self._program is not None:
            self._program.raise_if_failing()
        self._names = [column.name for column in columns] if names is None else list(names)
        self._shown = [shown[place] for place, _ in trees] if shown else []
        others = [(place, one) for place, one in enumerate(expressions) if one.scalar is None and not one.steps]
        self._others = [place for place, _ in others]
        self._texts = [one.text for _, one in others]
        self._steps = {
            place: [Evaluator([step], columns, codec, shown[place : place + 1], names) for step in one.steps]
            for place, one in enumerate(expressions)
            if one.steps
        }
        self._written = None if names is None else Written(tuple(shown or self._texts), tuple(self._names))

    def words(self, words: Words) -> Words:
        """The words of the values, of shape (expressions, rows), `NULL_CODE` for NULL; all are of types of words.

        Args:
            words: The words of the rows, int64 of shape (columns, rows).

        Raises:
            ExpressionError: An expression has no value for some row; the message names both.
        """
        found = self._run(words)
        if len(self._places) == self._count:
            return found
        lines = np.empty((self._count, words.shape[1]), np.int64)
        lines[self._places] = found
        rows = Rows(self._codec, [column.type for column in self._columns], list(words), words.shape[1])
        for place, values in zip(self._others, self._by_duckdb(rows), strict=True):
            numbers = values.cast(pa.int64())
            lines[place] = numbers.fill_null(NULL_CODE).to_numpy()
        for place in self._steps:
            lines[place] = self._by_steps(place, rows)
        return lines

    def values(self, rows: Rows) -> list[Words | pa.ChunkedArray]:
        """The values of each expression, as words or as Arrow.

        Args:
            rows: The rows.

        Raises:
            ExpressionError: As for `words`.
        """
        if self.is_program:
            return list(self.words_of(rows))
        found: list[Words | pa.ChunkedArray] = [np.empty(0, np.int64)] * self._count
        if self._program is not None:
            for place, line in zip(self._places, self._run(rows.lines(self._read), rows), strict=True):
                found[place] = line
        for place, values in zip(self._others, self._by_duckdb(rows), strict=True):
            found[place] = values
        for place in self._steps:
            found[place] = self._by_steps(place, rows)
        return found

    def words_of(self, rows: Rows) -> Words:
        """As `words`, for expressions that a program gives all words of."""
        return self._run(rows.lines(self._read), rows)

    def _by_steps(self, place: int, rows: Rows) -> Words:
        """Where all steps of a condition are true."""
        left = np.arange(rows.length)
        for step in self._steps[place]:
            values = step.values(rows.take(left))[0]
            is_true = values == 1 if isinstance(values, np.ndarray) else values.fill_null(False).to_numpy()
            left = left[is_true]
        line = np.zeros(rows.length, np.int64)
        line[left] = 1
        return line

    def _run(self, words: Words, rows: Rows | None = None) -> Words:
        """The words of what has trees; ``rows`` are shown as they are if columns have no names."""
        if self._program is None:
            return np.empty((0, words.shape[1]), np.int64)
        values = self._program.run(words)
        if values.failures:
            row, line = values.failure()
            if rows is None or self._names:
                shown = self._program.shown(words[:, row], self._names)
            else:
                shown = _shown(rows.take(np.array([row])))
            raise self._program.error(int(values.statuses[line, row]), shown, self._shown[line] if self._shown else "")
        return values.words

    def _by_duckdb(self, rows: Rows) -> list[pa.ChunkedArray]:
        if not self._others:
            return []
        return evaluate(self._texts, rows.table([column.name for column in self._columns]), self._written)


def _shown(row: Rows) -> list[str]:
    """The values of a row, for messages."""
    values = [shown_scalar(row.arrow(i)[0]) for i in range(min(len(row.types), SHOWN_FIELDS))]
    return [*values, "..."] if len(row.types) > SHOWN_FIELDS else values
