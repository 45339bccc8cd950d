"""What a row is to the others in the order of a window: in how many frames it is, and which rows its rank moves.

The law: if each row that is drawn leaves its partition and comes back once, the means of what changes are those told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from livejoin.plan.explain.effects.drawn import Drawn
from livejoin.plan.explain.effects.figures import Marks, key_words
from livejoin.plan.operators import RankedOperator
from livejoin.query.orders import RangeAround, SortKey
from livejoin.schema import SqlType
from livejoin.words import NARROW_LIMIT, NULL_CODE, Words

_Numbers = npt.NDArray[np.float64]
_Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Near:
    """The other rows that have a row in their frames.

    Args:
        expected: The mean over the rows that are there.
        most: The number for the row that most have in theirs; None if that is not known.
    """

    expected: float
    most: float | None


@dataclass(frozen=True)
class FirstRanks:
    """What a change of a row does to the rows with the first ranks of its partition, on average.

    Args:
        among: The share of the rows that have one of these ranks.
        entering: The rows that come in where one leaves.
        shifted: The rows that get another one of these ranks.
    """

    among: float
    entering: float
    shifted: float


def near(rows: Drawn, partition: Sequence[int], key: SortKey, type: SqlType, frame: RangeAround) -> Near | None:
    """How many other rows have a row in their frames of a distance.

    Cost: O(n log n) for n rows.

    Args:
        rows: The rows of the relation, or some of them.
        partition: The columns of the partition.
        key: The one key of the order.
        type: The type of the key.
        frame: The frame.

    Returns:
        The numbers; None if the rows do not tell.
    """
    parts, order = _parts(rows, partition), _ordered(rows, key, type)
    if parts is None or order is None or not rows.number:
        return None
    values, is_null = order
    parts = _numbered(parts * 2 + is_null)  # the frame of a row without a key is all rows without one
    levels = np.unique(values)
    width = levels.shape[0] + 1
    places = np.sort(parts * width + np.searchsorted(levels, values))
    ends = np.where(is_null, math.inf, values - float(frame.begin))
    begins = np.where(is_null, -math.inf, values - float(frame.end))
    behind = np.searchsorted(places, parts * width + np.searchsorted(levels, ends, "right"))
    counts = behind - np.searchsorted(places, parts * width + np.searchsorted(levels, begins))
    others = counts - np.where(is_null, 1, frame.begin <= 0 <= frame.end)
    mean = float(others.mean()) * rows.rows / max(1, rows.number)
    return Near(mean, float(others.max()) if rows.is_whole else None)


def first_ranks(plan: RankedOperator, rows: Drawn) -> FirstRanks | None:
    """What a change of a row does to the first ranks of its partition; None if the rows do not tell.

    Cost: O(n log n) for n rows.

    Args:
        plan: The ranks.
        rows: The rows below them.
    """
    parts = _parts(rows, plan.partition) if rows.is_whole else None
    if parts is None or not rows.number:
        return None
    keys: list[Any] = []
    for key in plan.keys:
        found = _ordered(rows, key, plan.input.types[key.column])
        if found is None and plan.function != "row_number":
            return None
        if found is not None:  # of numbers the mean is the same in whatever order the rows are
            values, is_null = found
            keys += [np.where(is_null, -1 if key.nulls_first else 1, 0), values]
    order = np.lexsort([*reversed(keys), parts])
    parts, keys = parts[order], [line[order] for line in keys]
    starts = _begins([parts])
    heads = _begins([parts] if plan.function == "row_number" else [parts, *keys])
    if plan.function == "row_number":
        heads = np.ones(rows.number, np.bool_)
    tie = np.cumsum(heads) - 1
    alone = np.bincount(tie)[tie] == 1
    place = np.arange(rows.number)
    start = np.maximum.accumulate(np.where(starts, place, 0))
    first = np.maximum.accumulate(np.where(heads, place, 0))
    ranks = tie - tie[start] + 1 if plan.function == "dense_rank" else first - start + 1
    kept = ranks <= plan.limit
    part = np.cumsum(starts) - 1
    inside, following = (np.bincount(part, one)[part] for one in (kept, ranks == plan.limit + 1))
    end = first + np.bincount(tie)[tie]  # behind the rows with the same rank
    moves = kept & alone if plan.function == "dense_rank" else kept
    if plan.function == "row_number":
        following = np.minimum(following, 1)
    shifted = np.where(moves, inside - (end - start), 0)
    return FirstRanks(float(kept.mean()), float(np.where(moves, following, 0).mean()), float(shifted.mean()))


def _begins(lines: Sequence[Any]) -> Marks:
    """Where a run of equal rows begins."""
    found = np.zeros(lines[0].shape[0], np.bool_)
    found[:1] = True
    for line in lines:
        found[1:] |= line[1:] != line[:-1]
    return found


def _parts(rows: Drawn, partition: Sequence[int]) -> _Places | None:
    """The number of the partition of each row."""
    known = key_words(rows.columns, partition, rows.number, nulls=True)
    return None if known is None else _numbered(known[0])


def _numbered(words: Any) -> _Places:
    return np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _ordered(rows: Drawn, key: SortKey, type: SqlType) -> tuple[_Numbers, Marks] | None:
    """Numbers in the order of a key, and which rows have none; None for values that are codes."""
    if key.column not in rows.columns or not _is_number(type):
        return None
    words: Words = rows.columns[key.column]
    is_null = words == NULL_CODE
    values = (words.view(np.float64) if type.word_kind == "double" else words).astype(np.float64)
    values = np.where(is_null | np.isnan(values), 0.0, values)
    return (-values if key.descending else values), is_null


def _is_number(type: SqlType) -> bool:
    return type.word_kind != "string" and not (type.kind == "decimal" and 10**type.precision > NARROW_LIMIT)
