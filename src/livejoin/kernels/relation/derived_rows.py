"""The rows of a bag: a multiset that changes by weights, with the net change of every row in every version.

Rows lie as in `livejoin.kernels.relation.rows`, without window and key. Ids of rows that are gone are given back only
by `finish`, because events still name them.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MAX_MULTIPLICITY, MORE, TOO_LARGE
from livejoin.kernels.parameters import Header, Line, Matrix, Output, RowWords, Slots, Touched, Values
from livejoin.kernels.relation.rows import R_ROWS, R_TOTAL, find_or_create, give_back, hash_change
from livejoin.kernels.relation.staging import G_CHANGE, G_COUNT, G_MADE, G_PLACE

# Events: (row id, net weight, version)
E_ROW = 0
E_WEIGHT = 1
E_VERSION = 2
ROW_EVENT = 3


@helper
def _settle(
    header: Header,
    words: RowWords,
    stride: int,
    touched: Touched,
    version: int,
    events: Output,
    n: int,
    progress: Line,
    left: int,
) -> int:
    """End a version, or so much of it: write the net changes, deletions first, then clear the marks.

    Returns:
        How much more could have been done. The version has ended where no row is touched any more.
    """
    count, made = progress[G_COUNT], progress[G_MADE]
    begin = progress[G_PLACE]
    end = min(begin + left, 3 * count)
    for place in range(begin, min(end, 2 * count)):
        t = place if place < count else place - count
        row = touched[2 * t]
        now = words[row * stride] >> 1
        weight = now - touched[2 * t + 1]
        if (weight < 0 and place < count) or (weight > 0 and place >= count):
            events[E_ROW * n + made] = row
            events[E_WEIGHT * n + made] = weight
            events[E_VERSION * n + made] = version
            made += 1
            header[R_TOTAL] += weight
            header[R_ROWS] += (1 if now > 0 else 0) - (1 if touched[2 * t + 1] > 0 else 0)
    for t in range(max(begin - 2 * count, 0), end - 2 * count):
        words[touched[2 * t] * stride] &= -2
    progress[G_MADE] = made
    progress[G_PLACE] = end
    if end == 3 * count:
        progress[G_COUNT] = 0
        progress[G_PLACE] = 0
    return int(left - (end - begin))


@inlined
def _apply(
    header: Header,
    words: RowWords,
    stride: int,
    slots: Slots,
    values: Values,
    n: int,
    weights: Line,
    versions: Line,
    touched: Touched,
    named: Line,
    events: Output,
    progress: Line,
) -> int:
    left = AT_ONCE
    change = progress[G_CHANGE]
    while True:
        ended = change == n or (change > 0 and versions[change] != versions[change - 1])
        if ended and progress[G_COUNT] > 0:
            left = _settle(header, words, stride, touched, versions[change - 1], events, n, progress, left)
        if change == n and progress[G_COUNT] == 0:
            return DONE
        if left == 0:
            progress[G_CHANGE] = change
            return MORE
        h = hash_change(values, n, change, stride - 1)
        row = find_or_create(header, words, stride, 1, slots, values, n, change, h)
        at = row * stride
        named[change] = row
        if words[at] & 1 == 0:
            count = progress[G_COUNT]
            touched[2 * count] = row
            touched[2 * count + 1] = words[at] >> 1
            progress[G_COUNT] = count + 1
            words[at] |= 1
        weight = weights[change]
        if not -MAX_MULTIPLICITY <= weight <= MAX_MULTIPLICITY - (words[at] >> 1):
            return TOO_LARGE
        words[at] += weight << 1
        change += 1
        left -= 1


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
    return _apply(
        view(header),
        view(words),
        stride,
        view(slots),
        view(values),
        weights.shape[0],
        view(weights),
        view(versions),
        view(touched),
        view(named),
        view(events),
        view(progress),
    )


@inlined
def _finish(header: Header, words: RowWords, stride: int, slots: Slots, named: Line, n: int) -> None:
    for i in range(n):
        at = named[i] * stride
        if words[at] == 0:
            give_back(header, words, stride, 1, slots, named[i])
            words[at] = 1  # an unused id is marked, so that it is not given back twice


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
    _finish(view(header), view(words), stride, view(slots), view(named), named.shape[0])
