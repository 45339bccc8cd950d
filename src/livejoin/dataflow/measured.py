"""Rows of the tables of a query, all or a sample, for what an explanation says of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from zlib import crc32

import numpy as np

from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import ExpressionError
from livejoin.plan.explain.effects.figures import TableSample
from livejoin.query.bound_query import Query
from livejoin.query.scalar import Expression
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable
from livejoin.words import Words

MOST_ROWS = 1 << 16
"""Rows of a table that are looked at; of more a sample is taken by chance, the same each time."""


def samples(query: Query, tables: Mapping[str, BaseTable], codec: Codec) -> dict[str, TableSample]:
    """The rows of the tables of a query, by their names in lower case; nothing of tables without rows.

    Cost: O(rows log rows) for the ids of a table, else that of `MOST_ROWS` rows.

    Args:
        query: The query.
        tables: Tables by name in lower case.
        codec: The database's codec.
    """
    used = {name.lower(): columns for name, columns in query.used_columns().items()}
    there = {name: tables[name] for name in used if name in tables and tables[name].rows}
    return {name: _sample(base, used[name], codec) for name, base in there.items()}


def _sample(base: BaseTable, columns: Iterable[int], codec: Codec) -> TableSample:
    ids, weights = base.live_rows()
    if ids.shape[0] > MOST_ROWS:
        # With one seed for all, rows that belong together would be drawn together.
        draw = np.random.default_rng(crc32(base.table.name.lower().encode()))
        chosen = np.unique(draw.integers(0, ids.shape[0], MOST_ROWS))
        ids, weights = ids[chosen], weights[chosen]
    dropped = {name.lower() for name in base.dropped()}
    known = sorted(column for column in columns if base.table.columns[column].name.lower() not in dropped)
    words = dict(zip(known, base.columns_of(ids, known), strict=True)) if known else {}

    def passing(condition: Expression) -> float | None:
        return _passing(base, condition, words, weights, codec)

    return TableSample(base.total, weights, words, passing)


def _passing(
    base: BaseTable, condition: Expression, words: Mapping[int, Words], weights: Words, codec: Codec
) -> float | None:
    """The share of some rows for which a condition is true; None if it has no value for one, or reads other columns."""
    columns = base.table.columns
    read = {field.position for step in condition.steps or (condition,) for field in step.fields()}
    parts = condition.steps or (condition,)
    if any(part.scalar is None for part in parts) or not words.keys() >= read:
        return None
    lines = np.zeros((len(columns), weights.shape[0]), np.int64)
    for column, line in words.items():
        lines[column] = line
    try:
        passed = Evaluator([condition], columns, codec).words(lines)[0] == 1
    except ExpressionError:
        return None
    return float(weights[passed].sum() / max(1, int(weights.sum())))
