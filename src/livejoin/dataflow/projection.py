"""Expressions and predicates over rows, evaluated a batch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import CapacityError, ExpressionError
from livejoin.plan.operators import ProjectOperator
from livejoin.query.scalar import Expression
from livejoin.schema import Column
from livejoin.state.codec import Codec
from livejoin.words import Words

Made = TypeVar("Made")


class Projection:
    """The expressions and the predicate of a projection.

    Args:
        plan: The projection.
        codec: The database's codec.
    """

    def __init__(self, plan: ProjectOperator, codec: Codec) -> None:
        self._plan = plan
        columns = [Column(f"c{i}", kind) for i, kind in enumerate(plan.input.types)]
        computed = [(o.name, o.source) for o in plan.outputs if isinstance(o.source, Expression)]
        self._predicate = None
        if plan.predicate is not None:
            self._predicate = Evaluator([plan.predicate], columns, codec, [plan.across or plan.written], ())
        self._outputs = None
        if computed:
            names = [name for name, _ in computed]
            self._outputs = Evaluator([expression for _, expression in computed], columns, codec, names, ())
        gives_words = self._outputs is not None and self._outputs.is_program
        self._computes_words = gives_words and len(computed) == len(plan.outputs)
        self._leads = [output.source for output in plan.outputs] == list(range(len(plan.outputs)))

    def rows(self, rows: Rows) -> tuple[Rows, Words]:
        """The columns of the projection, for the rows that its predicate is true for.

        Args:
            rows: Rows of the relation below.

        Returns:
            The computed rows, and the positions of the rows that they come from.

        Raises:
            ExpressionError: An expression has no value for some row.
            CapacityError: The planner made the expression, and its value does not fit.
        """
        made, kept = self.made(rows)
        return made, np.arange(made.length) if kept is None else kept

    def made(self, rows: Rows) -> tuple[Rows, Words | None]:
        """As `rows`, with None for the positions if all rows stay."""
        kept = None
        if self._predicate is not None:
            kept = np.flatnonzero(self.kept(rows))
            if kept.shape[0] == rows.length:
                kept = None
            else:
                rows = rows.take(kept)
        outputs = self._outputs
        if self._computes_words and outputs is not None:
            return Rows.of_words(rows.codec, self._plan.types, self._computed(outputs.words_of, rows)), kept
        if self._leads and self._plan.types == rows.types:
            return rows, kept
        if self._leads and rows.whole is not None:
            return Rows.of_words(rows.codec, self._plan.types, rows.whole[: len(self._plan.outputs)]), kept
        computed = iter([] if outputs is None else self._computed(outputs.values, rows))
        columns: list[Words | pa.Array | pa.ChunkedArray] = []
        for output in self._plan.outputs:
            if isinstance(output.source, int):
                columns.append(rows.column(output.source))
            else:
                values = next(computed)
                columns.append(values if isinstance(values, np.ndarray) else values.cast(output.type))
        return Rows(rows.codec, self._plan.types, columns, rows.length), kept

    def _computed(self, compute: Callable[[Rows], Made], rows: Rows) -> Made:
        """The values of the outputs that are computed."""
        try:
            return compute(rows)
        except ExpressionError:
            if self._plan.too_large:
                raise CapacityError(self._plan.too_large) from None
            if self._plan.refusal:
                raise ExpressionError(self._plan.refusal) from None
            raise

    def kept(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which rows the predicate is true for.

        Raises:
            ExpressionError: The predicate has no value for some row.
        """
        if self._predicate is None:
            return np.ones(rows.length, np.bool_)
        values = self._predicate.values(rows)[0]
        if isinstance(values, np.ndarray):
            truth: npt.NDArray[np.bool_] = values == 1
            return truth
        found: npt.NDArray[np.bool_] = values.fill_null(False).to_numpy()
        return found
