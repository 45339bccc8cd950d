"""Tables in snapshots of format 3, which kept the arrays of kernels of that time.

The meaning of the arrays is written down here alone, and does not change with the kernels. A row lies in ``stride``
words. The first is ``mult << 1``. A table with a window has a second one (by rows: how many entries of the row in the
queue are dead). Then comes one word a column. ``header[0]`` is how many rows there may be; ``header[4]`` and
``header[5]`` are the begin and end of the window's queue. The queue is a ring of rows; that of a window by range begins
with the least time in the window. The indexes are not read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from livejoin.errors import StateError
from livejoin.schema import Table
from livejoin.state.table_rows import TableRows, live_entries
from livejoin.words import Words

ARRAYS = ("header", "words", "queue")
"""The arrays that are read."""

_HEADER = 10
_NEXT, _HEAD, _TAIL = 0, 4, 5


def rows_of(table: Table, arrays: Mapping[str, Words]) -> TableRows:
    """The rows of a table, with new ids in the order of the old ones.

    Args:
        table: The declaration.
        arrays: The arrays named in `ARRAYS`, int64.

    Raises:
        StateError: The arrays do not fit the declaration or each other.

    Cost: O(rows log rows).
    """
    header, words, queue = (arrays[name] for name in ARRAYS)
    first = 2 if table.has_window else 1
    stride = first + len(table.columns)
    if header.shape != (_HEADER,) or words.ndim != 1 or words.shape[0] % stride or queue.ndim != 1:
        raise _damaged(table, "arrays of other shapes")
    issued = int(header[_NEXT])
    if not 0 <= issued <= words.shape[0] // stride:
        raise _damaged(table, "more rows than there are words")
    matrix = words.reshape(-1, stride)[:issued]
    ids = np.flatnonzero(matrix[:, 0] > 1)
    weights = matrix[ids, 0] >> 1
    values = np.ascontiguousarray(matrix[ids, first:].T)
    numbers = np.arange(ids.shape[0])
    if table.window_range is not None:
        if not queue.shape[0]:
            raise _damaged(table, "a window without a beginning")
        return TableRows(values, weights, numbers, begin=int(queue[0]))
    if table.window_rows is None:
        return TableRows(values, weights, numbers)
    head, tail, places = int(header[_HEAD]), int(header[_TAIL]), queue.shape[0]
    if not 0 <= head <= tail <= head + places or places & (places - 1):
        raise _damaged(table, "a window that is longer than its queue")
    entries = queue[np.arange(head, tail) & (places - 1)]
    if entries.shape[0] and not (entries.min() >= 0 and entries.max() < issued):
        raise _damaged(table, "a window with rows that are not there")
    live = live_entries(entries, matrix[entries, 1])
    arrivals = np.searchsorted(ids, live)
    if not np.isin(live, ids).all():
        raise _damaged(table, "a window with rows that are not there")
    return TableRows(values, weights, numbers, arrivals)


def _damaged(table: Table, what: str) -> StateError:
    return StateError(f"the snapshot has for table {table.name!r} {what}; it is damaged")
