"""What a view needs to know of base rows beside their values, a batch at a time.

That is the atoms that a row takes part in, because their predicates hold and their join columns are not NULL, and the
factors of annotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery, Factor
from livejoin.query.condition import Measure, holds, table_columns
from livejoin.query.expression import evaluate, select_each_true
from livejoin.schema import Table
from livejoin.state.codec import NULL_CODE, Codec
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Selection:
    """What a join has to know of rows of a table.

    Args:
        masks: One word a row with the bit of every atom that the row takes part in.
        factors: int64 of shape (factors, rows).
    """

    masks: Words
    factors: Words


class Selector:
    """Selects for one join the rows of one table.

    Args:
        query: The join's query.
        factors: What annotates the rows of its tables.
        use: How it uses the table.
        table: The table.
    """

    def __init__(self, query: ConjunctiveQuery, factors: Sequence[Factor], use: TableUse, table: Table) -> None:
        atoms = [(i, atom) for i, atom in enumerate(query.atoms) if atom.table.name == table.name]
        self.table = table.name
        self._columns = table.columns
        self._simple = {i: atom.condition for i, atom in atoms if atom.condition is not None}
        self._others = {i: atom.predicate for i, atom in atoms if atom.predicate and i not in self._simple}
        # The atoms by the columns that must not be NULL, as bits of a mask: a self-join looks at its columns once.
        self._joined: dict[tuple[int, ...], int] = {}
        for i, atom in atoms:
            columns = tuple(sorted({atom.column_of(v) for v in query.join_variables(i)}))
            self._joined[columns] = self._joined.get(columns, 0) | (1 << i)
        self._factors = len(use.factors)
        known = {f.expression: f for f in factors if query.atoms[f.atom].table.name == table.name and f.measure}
        found = [known.get(factor) for factor in use.factors]
        self._measures = [(line, _OfTable(f, table)) for line, f in enumerate(found) if f is not None]
        self._computed = {line: f"({use.factors[line]})::BIGINT" for line, m in enumerate(found) if m is None}

    def select(self, rows: pa.Table, words: Words) -> Selection:
        """What the join has to know.

        Args:
            rows: Rows of the table.
            words: Their words, of shape (columns, rows).

        Raises:
            ExpressionError: DuckDB cannot evaluate a predicate or a factor on some row, or a factor's value does not
                fit BIGINT.
        """
        return Selection(self._masks(rows, words), self._values(rows, words))

    def select_words(self, words: Words, codec: Codec) -> Selection:
        """As `select`, of rows that are there as words only; they are decoded if an expression is to be evaluated."""
        if not (self._simple or self._others or self._computed or any(m.needs_values for _, m in self._measures)):
            nothing = pa.nulls(words.shape[1], pa.int8())
            return self.select(pa.table({"_": nothing}), words)
        columns = [codec.decode(line, c.type) for line, c in zip(words, self._columns, strict=True)]
        return self.select(pa.table(columns, names=[c.name for c in self._columns]), words)

    def _masks(self, rows: pa.Table, words: Words) -> Words:
        masks = np.zeros(words.shape[1], np.int64)
        for columns, bits in self._joined.items():
            taken = np.full(words.shape[1], bits)
            for column in columns:
                taken[words[column] == NULL_CODE] = 0
            masks |= taken
        if self._simple:
            columns_of = table_columns(rows)
            for i, condition in self._simple.items():
                masks &= np.where(holds(condition, columns_of), -1, ~(1 << i))
        if self._others:
            for i, chosen in zip(self._others, select_each_true(list(self._others.values()), rows), strict=True):
                masks &= np.where(chosen, -1, ~(1 << i))
        return masks

    def _values(self, rows: pa.Table, words: Words) -> Words:
        """The factors; NULL counts as zero."""
        values = np.zeros((self._factors, words.shape[1]), np.int64)
        for line, measure in self._measures:
            values[line] = measure.values(rows, words)
        if self._computed:
            for line, column in zip(self._computed, evaluate(list(self._computed.values()), rows), strict=True):
                values[line] = pc.fill_null(column, 0).to_numpy()
        return values


class _OfTable:
    """A factor that Arrow's kernels evaluate, over the columns of a table.

    Args:
        factor: The factor; its columns have names that the table has.
        table: The table.
    """

    def __init__(self, factor: Factor, table: Table) -> None:
        assert factor.measure is not None
        self._measure: Measure = factor.measure
        self._names = factor.names
        self._table = table

    @property
    def needs_values(self) -> bool:
        """Whether words are not enough."""
        return self._measure.condition is not None

    def values(self, rows: pa.Table, words: Words) -> Words:
        """The factor of each row; NULL counts as zero."""
        value, condition = self._measure.value, self._measure.condition
        if isinstance(value, int):
            found = np.full(words.shape[1], value, np.int64)
        else:
            place = self._place(value.position)
            found = words[place]
            if self._table.columns[place].nullable:
                found = np.where(found != NULL_CODE, found, 0)
        if condition is None:
            return found
        columns = table_columns(rows)
        return found * holds(condition, lambda position: columns(self._place(position)))

    def _place(self, position: int) -> int:
        return self._table.position(self._names[position])
