"""The rows of a bag: a multiset that changes by weights, with the net change of every row in every version.

Rows lie as in `livejoin.kernels.relation.rows`, without window and key. Ids of rows that are gone are given back only
by `finish`, because events still name them.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MAX_MULTIPLICITY, MORE, TOO_LARGE
from livejoin.kernels.parameters import Header, Line, Matrix, RowWords, Slots, Touched
from livejoin.kernels.relation.rows import R_ROWS, R_TOTAL, find_or_create, give_back
from livejoin.kernels.relation.staging import G_CHANGE, G_COUNT, G_MADE

# Events: (row id, net weight, version)
E_ROW = 0
E_WEIGHT = 1
E_VERSION = 2
ROW_EVENT = 3


@helper
def _settle(
    header: Header, words: RowWords, stride: int, touched: Touched, count: int, version: int, events: Matrix, made: int
) -> int:
    """End a version: write the net changes, deletions first; returns the number of events."""
    for sign in (-1, 1):
        for t in range(count):
            row = touched[t, 0]
            now = words[row * stride] >> 1
            weight = now - touched[t, 1]
            if weight * sign > 0:
                events[E_ROW, made] = row
                events[E_WEIGHT, made] = weight
                events[E_VERSION, made] = version
                made += 1
                header[R_TOTAL] += weight
                header[R_ROWS] += (1 if now > 0 else 0) - (1 if touched[t, 1] > 0 else 0)
    for t in range(count):
        words[touched[t, 0] * stride] &= -2
    return made


@kernel
def apply(
    header: Header,
    words: RowWords,
    stride: int,
    slots: Slots,
    values: Matrix,
    weights: Line,
    versions: Line,
    touched: Touched,
    named: Line,
    events: Matrix,
    progress: Line,
) -> int:
    """Apply changes in order, a piece of them in a call.

    Args:
        header: int64, ROWS_HEADER words; changed.
        words: Rows, flat int64; room for a new row each change; changed.
        stride: Words a row: its multiplicity and its values.
        slots: Hash index over the rows, with as much room; changed.
        values: int64 of shape (columns, n).
        weights: int64, what each change adds to its row's multiplicity.
        versions: int64, ascending.
        touched: int64 of shape (n, 2), scratch.
        named: int64, filled with the row id of each change.
        events: int64 of shape (ROW_EVENT, n), filled: versions ascending, deletions first within a version.
        progress: int64, PROGRESS words, see `livejoin.kernels.relation.staging`; in the end G_MADE events are written.

    Returns:
        DONE; MORE: call again; TOO_LARGE: a multiplicity does not fit.
    """
    count = progress[G_COUNT]
    made = progress[G_MADE]
    end = min(progress[G_CHANGE] + AT_ONCE, weights.shape[0])
    for change in range(progress[G_CHANGE], end):
        if count > 0 and versions[change] != versions[change - 1]:
            made = _settle(header, words, stride, touched, count, versions[change - 1], events, made)
            count = 0
        row = find_or_create(header, words, stride, 1, slots, values, change)
        at = row * stride
        named[change] = row
        if words[at] & 1 == 0:
            touched[count, 0] = row
            touched[count, 1] = words[at] >> 1
            count += 1
            words[at] |= 1
        weight = weights[change]
        if not -MAX_MULTIPLICITY <= weight <= MAX_MULTIPLICITY - (words[at] >> 1):
            return TOO_LARGE
        words[at] += weight << 1
    if count > 0 and end == weights.shape[0]:
        made = _settle(header, words, stride, touched, count, versions[end - 1], events, made)
    progress[G_CHANGE], progress[G_COUNT], progress[G_MADE] = end, count, made
    return DONE if end == weights.shape[0] else MORE


@kernel
def finish(header: Header, words: RowWords, stride: int, slots: Slots, named: Line) -> None:
    """Give back the ids of rows that are gone.

    Args:
        header: As for `apply`.
        words: As for `apply`.
        stride: As for `apply`.
        slots: As for `apply`.
        named: Ids of all rows that the changes named; one may stand several times.
    """
    for i in range(named.shape[0]):
        at = named[i] * stride
        if words[at] == 0:
            give_back(header, words, stride, 1, slots, named[i])
            words[at] = 1  # an unused id is marked, so that it is not given back twice
