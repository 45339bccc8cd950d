"""Which rows of an ordered relation are its candidates: the first ones up to a horizon, as first words of a row.

Law: the candidates are all rows whose first words are not greater than the horizon, or all rows where there is none.
How many they are is in `livejoin.plan.operators.candidates`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.dataflow.batches import BATCH, Batches
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.kernels.ordered.horizon import between
from livejoin.kernels.ordered.top_k import MOST_WORDS
from livejoin.kernels.values.row_order import VALUE
from livejoin.plan.operators.candidates import wanted
from livejoin.state.codec import Codec
from livejoin.words import Words

_WORD = 8

NO_HORIZON = np.empty(0, np.int64)
"""Behind it no row is; as the horizon of candidates so far it says that there are none."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Rows behind one horizon and up to another one.

    Args:
        values: int64 of shape (words of a row, n): the rows as order words; equal ones may stand several times.
        weights: int64, how often each is there.
        horizon: The first words of the last ones; none where they are all rows.
        rows: All rows that were read.
    """

    values: Words
    weights: Words
    horizon: Words
    rows: int


def horizon_words(kinds: Sequence[int]) -> int:
    """How many words of a row a horizon has: the first ones that are compared as they are, some at most."""
    first = next((place for place, kind in enumerate(kinds) if kind != VALUE), len(kinds))
    return min(first, MOST_WORDS)


def first_candidates(
    read: Callable[[int], Batches], order: RowOrder, codec: Codec, after: Words, needed: int, rows: int = 0
) -> Candidates:
    """The first rows behind a horizon.

    Args:
        read: Reads the relation, in batches of at most so many rows.
        order: The order.
        codec: The database's codec.
        after: The horizon; `NO_HORIZON` for the first ones of all rows.
        needed: How many are needed at least, if there are so many.
        rows: How many rows there are, about, as far as that is known.

    Raises:
        UnsupportedQueryError: A column holds lists.
        MemoryLimitError: The database would take more than it may.

    Cost: O(rows), once, or twice where the first ones come first and it is not known how many there are.
    """
    found = _read(read(BATCH), order, codec, after, needed, rows)
    if found.horizon.shape[0] and 2 * found.weights.shape[0] < wanted(found.rows, needed):
        found = _read(read(BATCH), order, codec, after, needed, found.rows)
    return found


def _read(batches: Batches, order: RowOrder, codec: Codec, after: Words, needed: int, seen: int) -> Candidates:
    """Some first rows behind a horizon: as many as are wanted of those that were seen so far.

    Args:
        batches: The relation.
        order: The order.
        codec: The database's codec.
        after: The horizon.
        needed: How many are needed at least.
        seen: How many rows there are, as far as that is known.
    """
    width = len(order.kinds)
    parts = [(np.empty((width, 0), np.int64), np.empty(0, np.int64))]
    rows, held, most, horizon = 0, 0, 0, NO_HORIZON
    for batch, times in batches:
        refuse_lists(batch, "ORDER BY ... LIMIT")
        rows += batch.length
        parts.append(_chosen(order.encode(batch), np.ascontiguousarray(times), after, horizon))
        held += parts[-1][1].shape[0]
        codec.budget.take(held * (width + 1) * _WORD, "the first rows of an order")
        many = wanted(max(rows, seen), needed)
        if held > max(most, 2 * many):
            lines, weights = _stacked(parts)
            horizon = _first_words(lines, many, horizon_words(order.kinds))
            parts = [_chosen(lines, weights, NO_HORIZON, horizon)]
            held = parts[0][1].shape[0]
            most = 2 * held  # there may be many rows that their first words do not tell apart
    return Candidates(*_stacked(parts), horizon, rows)


def _chosen(values: Words, weights: Words, after: Words, horizon: Words) -> tuple[Words, Words]:
    """The rows behind one horizon and up to another one."""
    places = np.empty(weights.shape[0], np.int64)
    count, _ = between(values, weights, after, horizon, places)
    if count == weights.shape[0]:
        return values, weights
    return np.take(values, places[:count], axis=1), weights[places[:count]]


def _stacked(parts: Sequence[tuple[Words, Words]]) -> tuple[Words, Words]:
    """Some rows as one."""
    return np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts])


def _first_words(values: Words, many: int, width: int) -> Words:
    """The first words of the row at a place in the order, as many as tell enough of the others apart; O(rows)."""
    found, left, places = list[int](), many, np.arange(values.shape[1])
    for line in values[:width]:
        words = line[places]
        word = int(np.partition(words, left - 1)[left - 1])
        found.append(word)
        left -= int(np.count_nonzero(words < word))
        places = places[words == word]
        if 4 * places.shape[0] <= many:
            break
    return np.array(found, np.int64)
