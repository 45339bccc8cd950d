"""The rows of one relation that a predicate is true for, and what is computed from them, a batch at a time.

Of a row that the predicate is not true for little but the predicate's columns is read, and of the others those that
the outputs need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.evaluator import Evaluator
from livejoin.dataflow.results import Results
from livejoin.kernels.values.chosen import places_of_true
from livejoin.kernels.values.nulls import count_nulls
from livejoin.plan.operators import SelectedOperator
from livejoin.query.scalar import Call, Expression, Field, Scalar, moved
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

_FEW_MORE = 2  # times the columns of a predicate, that may be read of rows for which it is not true

Columns: TypeAlias = Callable[[Words, "Words | None"], Words]
"""Gives the words of some columns, of shape (columns, rows): for rows at some places of a batch, for all if None."""


class RowSelection:
    """A predicate and outputs.

    Args:
        plan: The predicate and the outputs.
        codec: The database's codec.
    """

    def __init__(self, plan: SelectedOperator, codec: Codec) -> None:
        (atom,) = plan.query.atoms
        self._results = Results(plan.query, plan.types, codec)
        self._head = np.array([ref.column for ref in plan.query.head], np.int64)
        self._tested = np.empty(0, np.int64)
        self._predicate = None
        if (predicate := atom.predicate) is not None:
            columns = list(range(len(atom.table.columns)))
            if predicate.scalar is not None:
                columns = sorted({field.position for field in predicate.fields()})
                place = {column: i for i, column in enumerate(columns)}
                predicate = Expression(predicate.text, moved(predicate.scalar, place.__getitem__))
            self._tested = np.array(columns, np.int64)
            if not (predicate.scalar is not None and _asks_for_values(predicate.scalar)):
                self._predicate = Evaluator([predicate], [atom.table.columns[c] for c in columns], codec)
        self.takes_all = not self._tested.shape[0] and self._predicate is None
        # Where it asks for values alone, and these are given out too, each column is read once.
        among = self._predicate is None and bool(np.isin(self._tested, self._head).all())
        self._tests_head = self.takes_all or (among and self._head.shape[0] <= _FEW_MORE * self._tested.shape[0])
        self._lines = [int(np.argmax(self._head == column)) for column in self._tested] if self._tests_head else []

    def kept(self, columns: Columns) -> Words | None:
        """The places of the rows that the predicate is true for; None if these are all.

        Args:
            columns: The batch.

        Raises:
            ExpressionError: The predicate has no value for some row.
        """
        if self.takes_all:
            return None
        words = columns(self._tested, None)
        if self._predicate is None:
            return _without_null(words)
        kept = np.empty(words.shape[1], np.int64)
        found = places_of_true(self._predicate.words(words)[0], kept)
        return None if found == kept.shape[0] else kept[:found]

    def chosen(self, columns: Columns) -> tuple[Rows, Words | None]:
        """The outputs for the rows that the predicate is true for, and the places of these; None if these are all.

        Args:
            columns: The batch.

        Raises:
            ExpressionError: The predicate or an output has no value for some row.
        """
        if not self._tests_head:
            kept = self.kept(columns)
            return self._results.rows(columns(self._head, kept)), kept
        words, kept = columns(self._head, None), None
        if self._lines and count_nulls(words.reshape(-1)):
            kept = _without_null(words[self._lines])
        return self._results.rows(words if kept is None else words.take(kept, axis=1)), kept


def _without_null(words: Words) -> Words | None:
    """The places of the rows that have no NULL; None if these are all."""
    return np.flatnonzero((words != NULL_CODE).all(axis=0)) if count_nulls(words.reshape(-1)) else None


def _asks_for_values(predicate: Scalar) -> bool:
    """Whether a predicate says no more than that none of its columns is NULL, so that words tell."""
    match predicate:
        case Call("not", (Call("is_null", (Field(),)),)):
            return True
        case Call("and", parts):
            return all(map(_asks_for_values, parts))
        case _:
            return False
