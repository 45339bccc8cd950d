"""The room of rows with ids: hash indexes over them and the words that they lie in, which grow and shrink here.

Law: when a staging begins the index has at most twice the slots that one would have that was made for the rows, and
after any history the words are O(1) times those up to the largest id that was in use at the last look. Ids never change
here, so that words shrink only from the end; `is_sparse` tells when dense ids would take a quarter of them. Cost:
amortised O(1) for each row that comes or leaves, apart from a sort of the ids. The layouts are those of
`livejoin.kernels.relation.rows`.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.relation import rows as kernel
from livejoin.state.budget import Budget
from livejoin.state.reserved import bytes_to_grow, grown
from livejoin.words import Words

_LEAST_LOG = 4
_SCATTERED = 8  # ids that were given out for each row, from which on few of them are in use
_LEAST_ROWS = 16
_SMALL = 256  # rows whose ids are not worth changing
_SPARSE = 4
_AT_ONCE = 1 << 16  # slots that one call of a kernel moves: some milliseconds, after which Python looks for signals


def empty_slots(log: int) -> Words:
    """A cleared hash table; its first word is its log2 size."""
    slots = np.zeros(1 + (1 << log), np.int64)
    slots[0] = log
    return slots


def roomy(slots: Words, rows: int, budget: Budget) -> Words:
    """The table itself, or another one of the least size that ``rows`` fill by at most five eighths.

    Another one is made where the rows do not fit, or where they would fit into a quarter of it.

    Raises:
        MemoryLimitError: The database may not take the larger one.
    """
    log, least = int(slots[0]), _LEAST_LOG
    while rows * 8 > 5 << least:
        least += 1
    if least <= log <= least + 1:
        return slots
    if least > log:
        budget.take(8 << least, "an index of rows")
    log = least
    other = empty_slots(log)
    for begin in range(0, slots.shape[0] - 1, _AT_ONCE):
        kernel.rehash(slots, other, begin, min(begin + _AT_ONCE, slots.shape[0] - 1))
    return other


def ids_of(slots: Words) -> Words:
    """The ids of all rows in an index, ascending; O(rows), or O(rows log rows) where few of those given out are."""
    taken = slots[1:]
    ids: Words = (taken[taken != 0] & MASK32) - 1
    if not ids.size or int(ids.max()) >= _SCATTERED * ids.size:
        return np.sort(ids)
    used = np.zeros(int(ids.max()) + 1, np.bool_)
    used[ids] = True
    return np.flatnonzero(used)


def ids_in_use(header: Words, slots: Words) -> Words:
    """As `ids_of`, of which nothing is looked at where each id that was given out is one of them."""
    if header[kernel.R_USED] == header[kernel.R_NEXT]:
        return np.arange(int(header[kernel.R_NEXT]))
    return ids_of(slots)


def values_of(words: Words, stride: int, first: int, rows: Words) -> Words:
    """A copy of the values of rows, of shape (columns, n), C order.

    Args:
        words: All rows.
        stride: Words a row.
        first: Offset of a row's first value.
        rows: Ids, ascending where they follow one another.
    """
    matrix = words.reshape(-1, stride)
    number = rows.shape[0]
    if number and rows[-1] - rows[0] == number - 1 and (rows[1:] > rows[:-1]).all():
        return matrix[rows[0] : rows[0] + number, first:].T.copy()  # one row alone would be contiguous, and no copy
    return np.ascontiguousarray(matrix[rows, first:].T)


def extended(header: Words, words: Words, stride: int, inserts: int, budget: Budget) -> Words:
    """The words themselves, or larger ones where so many new rows could find no place.

    Raises:
        MemoryLimitError: The database may not take the larger ones.
    """
    rows = rows_with(header, inserts)
    if rows * stride <= words.shape[0]:
        return words
    size = _power(rows) * stride
    budget.take(bytes_to_grow(words, size), "room for rows")
    return grown(words, size)  # words that are not written to take no memory yet


def is_sparse(header: Words, words: Words, stride: int) -> bool:
    """Whether the rows in use would take a quarter of the words, or less, if their ids were dense."""
    capacity = words.shape[0] // stride
    return bool(capacity > _SMALL and _SPARSE * _power(int(header[kernel.R_USED])) <= capacity)


def _power(rows: int) -> int:
    """The least power of two of rows that holds so many."""
    return 1 << (max(rows, _LEAST_ROWS) - 1).bit_length()


def rows_with(header: Words, inserts: int) -> int:
    """Ids that are given out at most after so many new rows, which take free ids first."""
    return max(int(header[kernel.R_NEXT]), int(header[kernel.R_USED]) + inserts)


def trimmed(header: Words, words: Words, stride: int, slots: Words) -> tuple[Words, Words]:
    """The header and the words without free ids at their end, or these themselves where that is not worth it.

    The ids in use are looked at when half as many were given back since the last look and they are at most a quarter
    of those given out. If half of these are free at the end, they are withdrawn. After many changes the free ids are
    put in order in any case: new rows take the lowest ones, so that the end becomes free.

    The words are not changed in place: a caller takes over both results at once, between two stagings.

    Args:
        header: The header.
        words: The rows.
        stride: Words a row.
        slots: The index, which names all ids in use.
    """
    given_out = int(header[kernel.R_NEXT])
    rows, given_back = int(header[kernel.R_USED]), int(header[kernel.R_GIVEN_BACK])
    if given_back < header[kernel.R_NEXT_LOOK] or given_out <= max(4 * rows, _LEAST_ROWS):
        return header, words
    used = ids_of(slots)
    issued = int(used[-1]) + 1 if rows else 0
    next_look = rows // 2 + 1
    if 2 * issued > given_out and 8 * given_back < given_out:
        header[kernel.R_NEXT_LOOK] = given_back + next_look
        return header, words
    free = np.setdiff1d(np.arange(issued), used, assume_unique=True)
    header, words = header.copy(), words[: _power(2 * issued) * stride].copy()
    words[free * stride + 1] = np.append(free + 1, 0)[1:]
    header[kernel.R_FREE] = free[0] + 1 if free.shape[0] else 0
    header[kernel.R_NEXT] = issued
    header[kernel.R_GIVEN_BACK], header[kernel.R_NEXT_LOOK] = 0, next_look
    return header, words
