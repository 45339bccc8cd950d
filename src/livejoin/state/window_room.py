"""The room of a window: what the kernels know of it, and its queue or heap, which grows and shrinks here.

Law: after any history a queue has room for the entries that are asked for, and at most sixteen times as much. The
layouts are those of `livejoin.kernels.relation.window` and `livejoin.kernels.relation.range_window`. Cost: amortised
O(1) for each entry.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.relation import range_window
from livejoin.kernels.relation import rows as kernel
from livejoin.schema import Table
from livejoin.state.budget import Budget
from livejoin.state.reserved import bytes_to_grow, grown
from livejoin.words import Words

LEAST_QUEUE = 16
"""Entries that the queue of a window by rows has room for at least."""

_LEAST_TIME = -(1 << 63)


def window_of(table: Table, first: int) -> Words:
    """What the kernels know of a table's window.

    Args:
        table: The declaration.
        first: Offset of a row's first value.
    """
    found = np.array([table.window_rows or 0, -1, 0], np.int64)
    if table.window_range is not None:
        found[range_window.RANGE_REACH] = table.window_range.width - 1
        found[range_window.RANGE_TIME] = first + table.window_range.column
    return found


def empty_queue(table: Table) -> Words:
    """The queue or the heap of a window without rows; a word that nobody looks at if there is no window."""
    if table.window_range is not None:
        return np.array([_LEAST_TIME, 0], np.int64)
    return np.zeros(LEAST_QUEUE if table.window_rows else 1, np.int64)


def roomy_queue(table: Table, header: Words, queue: Words, entries: int, budget: Budget) -> Words:
    """The queue itself, or another one with the same entries that has room for so many.

    Args:
        table: The declaration, which has a window.
        header: The header of its rows.
        queue: The queue or the heap.
        entries: How many entries it is to hold; if that needs less than a sixteenth of it, it shrinks.
        budget: The memory of its database.

    Raises:
        MemoryLimitError: The database may not take the larger one.
    """
    by_range, places = table.window_range is not None, queue.shape[0]
    needed = range_window.W_HEAP + 2 * entries if by_range else max(entries, LEAST_QUEUE)
    if needed <= places and (16 * needed >= places or places <= LEAST_QUEUE):
        return queue
    name = f"the window of table {table.name!r}"
    if by_range:
        wanted = max(needed, min(2 * places, 2 * needed))
        if wanted > places:
            budget.take(bytes_to_grow(queue, wanted), name)
            return grown(queue, wanted)
        used = range_window.W_HEAP + 2 * int(queue[range_window.W_ENTRIES])
        other = np.zeros(wanted, np.int64)
        other[:used] = queue[:used]
        return other
    head, tail = int(header[kernel.R_HEAD]), int(header[kernel.R_TAIL])
    wanted, positions = 1 << max(entries, LEAST_QUEUE - 1).bit_length(), np.arange(head, tail)
    if wanted > places:
        budget.take(8 * wanted, name)
    other = np.zeros(wanted, np.int64)
    other[positions & (wanted - 1)] = queue[positions & (places - 1)]
    return other
