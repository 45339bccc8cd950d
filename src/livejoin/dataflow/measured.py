"""Rows of the tables of a query, or of a change log, all or a sample, for what an explanation says of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

import numpy as np

from livejoin.changes import ChangeBatch
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import ExpressionError
from livejoin.plan.explain.effects.figures import Evaluate, Marks, TableSample
from livejoin.query import ConjunctiveQuery
from livejoin.query.bound_query import Query
from livejoin.query.scalar import Expression
from livejoin.schema import Table
from livejoin.search.statistics import Figure, Statistics, TableStatistics
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


def evaluating(codec: Codec) -> Evaluate:
    """A way to evaluate expressions over rows of words, as of those that are made of `samples`.

    Args:
        codec: The codec of the rows' words.
    """

    def evaluate(expressions: Sequence[Expression], lines: Words) -> Words | None:
        try:
            return Evaluator(expressions, (), codec, names=()).words(lines)
        except ExpressionError:
            return None

    return evaluate


def observed_shares(joins: Iterable[ConjunctiveQuery], tables: Mapping[str, BaseTable], codec: Codec) -> Statistics:
    """The shares of the rows of tables that fit the conditions of some joins; nothing of tables without rows.

    Cost: that of `samples` for the columns that the conditions read.

    Args:
        joins: The joins.
        tables: Tables by name in lower case.
        codec: The database's codec.
    """
    conditions: dict[str, dict[str, Expression]] = {}
    for join in joins:
        for atom in join.atoms:
            if atom.predicate is not None:
                conditions.setdefault(atom.table.name, {})[atom.predicate.text] = atom.predicate
    found = []
    for name, of_table in conditions.items():
        base = tables.get(name.lower())
        if base is None or not base.rows:
            continue
        read = {field.position for one in of_table.values() for step in one.steps or (one,) for field in step.fields()}
        sample = _sample(base, read, codec)
        shares = {text: sample.share(one) for text, one in of_table.items()}
        known = [(text, Figure(share, "observed")) for text, share in shares.items() if share is not None]
        if known:
            found.append(TableStatistics(base.table.name, passing=tuple(sorted(known, key=lambda one: one[0]))))
    return Statistics(tuple(found))


def samples_of_log(query: Query, changes: Iterable[ChangeBatch]) -> dict[str, TableSample]:
    """The rows that a change log leaves in the tables of a query, by names in lower case; nothing of other tables.

    Cost: O(n log n) for n changes.

    Args:
        query: The query.
        changes: The log, one batch a table.
    """
    used, codec, found = query.used_columns(), Codec(), {}
    for batch in changes:
        table = batch.table
        if table.name not in used:
            continue
        words, place = np.unique(codec.encode(batch.rows, table), axis=1, return_inverse=True)
        left = np.bincount(place.ravel(), batch.weights, words.shape[1]).astype(np.int64)
        total = int(left[left > 0].sum())
        there = np.flatnonzero(left > 0)
        if total:
            chosen = _some(there, table)
            columns = {column: words[column, chosen] for column in sorted(used[table.name])}
            found[table.name.lower()] = _sampled(total, left[chosen], columns, table, codec, is_log=True)
    return found


def _sample(base: BaseTable, columns: Iterable[int], codec: Codec) -> TableSample:
    ids, weights = base.live_rows()
    chosen = _some(np.arange(ids.shape[0]), base.table)
    ids, weights = ids[chosen], weights[chosen]
    dropped = {name.lower() for name in base.dropped()}
    known = sorted(column for column in columns if base.table.columns[column].name.lower() not in dropped)
    words = dict(zip(known, base.columns_of(ids, known), strict=True)) if known else {}
    return _sampled(base.total, weights, words, base.table, codec)


def _some(places: Words, table: Table) -> Words:
    """All places, or so many of them as are looked at."""
    if places.shape[0] <= MOST_ROWS:
        return places
    # With one seed for all, rows that belong together would be drawn together.
    draw = np.random.default_rng(crc32(table.name.lower().encode()))
    return places[np.unique(draw.integers(0, places.shape[0], MOST_ROWS))]


def _sampled(
    total: int, weights: Words, words: Mapping[int, Words], table: Table, codec: Codec, is_log: bool = False
) -> TableSample:
    passed: dict[Expression, Marks | None] = {}

    def passing(condition: Expression) -> Marks | None:
        if condition not in passed:
            passed[condition] = _passing(table, condition, words, weights.shape[0], codec)
        return passed[condition]

    return TableSample(total, weights, words, passing, is_log)


def _passing(
    table: Table, condition: Expression, words: Mapping[int, Words], number: int, codec: Codec
) -> Marks | None:
    """Those of some rows for which a condition is true; None if it has no value for one, or reads other columns."""
    columns = table.columns
    read = {field.position for step in condition.steps or (condition,) for field in step.fields()}
    parts = condition.steps or (condition,)
    if any(part.scalar is None for part in parts) or not words.keys() >= read:
        return None
    lines = np.zeros((len(columns), number), np.int64)
    for column, line in words.items():
        lines[column] = line
    try:
        marks: Marks = Evaluator([condition], columns, codec).words(lines)[0] == 1
    except ExpressionError:
        return None
    return marks
