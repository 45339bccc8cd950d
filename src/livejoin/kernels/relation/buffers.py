"""The buffers of a relation with row ids, as one parameter: `TableBuffers`.

Its owner has the arrays and hands kernels their *line of addresses* (`livejoin.kernels.memory.addresses`); a kernel
opens it, once, to the same value of pointers, which its helpers take::

    @kernel
    def finish_commit(table: Addresses, touched: Touched, count: int) -> int:
        t = opened(table)
        ...
        let_go(t, row)  # reads t.words[row * t.stride], changes t.slots

One parameter costs as much as the words of it that a helper reads: the compiler takes such a value apart.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Header, Line, Offsets, Queue, RowWords, Slots, Window


class TableBuffers(NamedTuple):
    """The buffers of a base table, or of the rows of a derived relation, which has neither key nor window.

    To its owner the fields are arrays, int64 of one dimension in C order; inside of a kernel they are pointers.

    Args:
        header: Counters and the free list, ROWS_HEADER words of `livejoin.kernels.relation.rows`; changed.
        words: The rows, ``stride`` words each; changed.
        slots: The index over them (`livejoin.kernels.relation.row_index`), its log2 size first; changed.
        key: Number and offsets of the primary key's words in a row; ``[0]`` without one.
        unique_slots: The index of the UNIQUE constraints (`livejoin.kernels.relation.unique`); changed.
        uniques: A description of the unique keys; ``[0]`` without them.
        queue: Ring of row ids by arrival, a power of two, or the heap of a window by range; changed.
        window: A description of the window (`livejoin.kernels.relation.range_window`).
        phase: How far a staging has come (`livejoin.kernels.relation.settling`); changed.
        stride: Words a row.
        first: Offset of a row's first value: 2 if there is a window, else 1.
    """

    header: Header
    words: RowWords
    slots: Slots
    key: Offsets
    unique_slots: Slots
    uniques: Offsets
    queue: Queue
    window: Window
    phase: Line
    stride: int
    first: int


WORDS_AT = TableBuffers._fields.index("words")
QUEUE_AT = TableBuffers._fields.index("queue")
"""The places of fields whose lengths are asked for."""


opened = opener(TableBuffers)
"""The buffers of a line of addresses."""
