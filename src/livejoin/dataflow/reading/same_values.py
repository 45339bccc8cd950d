"""Which values are the same as SQL groups them: NULL is NULL and NaN is NaN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.reading.asked_rows import AskedRows
from livejoin.words import Words


def same_values(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether the values of two arrays of one type and length are the same, one by one.

    >>> same_values(pa.array([1.0, None, float("nan")]), pa.array([2.0, None, float("nan")])).tolist()
    [False, True, True]
    >>> nan = float("nan")
    >>> same_values(pa.array([[nan], [1.0, nan], None, []]), pa.array([[nan], [nan, 1.0], None, [None]])).tolist()
    [True, False, True, False]
    """
    if pa.types.is_list(left.type):
        return _same_lists(left, right)
    equal = pc.fill_null(pc.equal(left, right), False)
    both = pc.and_(pc.is_null(left, nan_is_null=True), pc.is_null(right, nan_is_null=True))
    there = pc.equal(pc.is_null(left), pc.is_null(right))
    same: npt.NDArray[np.bool_] = pc.or_(equal, pc.and_(both, there)).to_numpy(zero_copy_only=False)
    return same


def _same_lists(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether lists have the same values in the same places."""
    lengths, others = (pc.fill_null(pc.list_value_length(one), -1).to_numpy() for one in (left, right))
    same: npt.NDArray[np.bool_] = lengths == others
    filled = np.flatnonzero(same & (lengths > 0))
    places = pa.array(filled)
    inner = same_values(pc.list_flatten(left.take(places)), pc.list_flatten(right.take(places)))
    same[np.repeat(filled, lengths[filled])[~inner]] = False
    return same


def with_values(rows: Rows, places: Words, columns: Sequence[int], given: Rows) -> Words:
    """The positions of the rows that have given values in some columns.

    Args:
        rows: The rows.
        places: For each row which of the given ones it is compared with.
        columns: The columns.
        given: The values, so many columns.
    """
    return np.flatnonzero(same_rows(rows.select(columns), given.take(places)))


def compared_times(batches: Iterable[tuple[Rows, Words]], rows: Rows) -> Words:
    """How often some rows stand in a result, by comparing each with all of it; O(rows of the result) each."""
    times = np.zeros(rows.length, np.int64)
    for found, weights in batches:
        for i in range(rows.length):
            given = rows.take(np.full(found.length, i))
            times[i] += int(weights[same_rows(found, given)].sum())
    return times


def same_rows(left: Rows, right: Rows) -> npt.NDArray[np.bool_]:
    """Whether the rows of two batches of equal length are the same, one by one; O(values).

    Words decide where both sides have them, or where they are made of what is asked for: they are equal iff the values
    are (`livejoin.state.codec`).
    """
    same = np.ones(left.length, bool)
    for column in range(len(left.types)):
        ours, theirs = left.column(column), right.column(column)
        if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
            same &= ours == theirs
        elif left.types[column].is_payload or (isinstance(ours, np.ndarray) and isinstance(right, AskedRows)):
            same &= left.codes(column) == right.codes(column)
        else:
            same &= same_values(left.arrow(column), right.arrow(column))
    return same
