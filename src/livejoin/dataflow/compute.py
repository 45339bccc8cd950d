"""Expressions and predicates over rows, evaluated a batch at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.plan.operators import Compute
from livejoin.query.condition import holds
from livejoin.query.expression import Written, evaluate, select_true
from livejoin.words import Words


def compute(plan: Compute, rows: Rows) -> tuple[Rows, Words]:
    """The columns of a projection, for the rows that its predicate is true for.

    Args:
        plan: The expressions and the predicate, over columns that they call c0, c1, ... .
        rows: The rows.

    Returns:
        The computed rows, and the positions of the rows that they come from.

    Raises:
        ExpressionError: DuckDB cannot evaluate an expression on some row.
    """
    kept = np.arange(rows.length)
    if plan.predicate is not None:
        kept = np.flatnonzero(kept_rows(plan, rows))
        rows = rows.take(kept)
    expressions = [output.source for output in plan.outputs if isinstance(output.source, str)]
    written = Written(tuple(output.name for output in plan.outputs if isinstance(output.source, str)))
    computed = iter(evaluate(expressions, rows.table(), written) if expressions else ())
    columns: list[Words | pa.Array | pa.ChunkedArray] = []
    for output in plan.outputs:
        if isinstance(output.source, int):
            columns.append(rows.column(output.source))
        else:
            columns.append(next(computed).cast(output.type))
    return Rows(rows.codec, plan.types, columns, kept.shape[0]), kept


def kept_rows(plan: Compute, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows the predicate of a projection is true for.

    Raises:
        ExpressionError: DuckDB cannot evaluate it on some row.
    """
    if plan.condition is not None:
        return holds(plan.condition, rows.arrow)
    assert plan.predicate is not None
    return select_true(plan.predicate, rows.table(), Written(("HAVING",)))
