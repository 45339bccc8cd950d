"""The rows of a bag: a multiset that changes by weights, with the net change of every row in every version.

Rows lie as in `livejoin.kernels.relation.rows`, without window and key. Ids of rows that are gone are given back only
by `finish`, because events still name them.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MAX_MULTIPLICITY, MORE, TOO_LARGE
from livejoin.kernels.parameters import Addresses, Line, Matrix, Output, Touched, Values
from livejoin.kernels.relation.buffers import TableBuffers, opened
from livejoin.kernels.relation.rows import R_ROWS, R_TOTAL, find_or_create, give_back, hash_change
from livejoin.kernels.relation.staging import G_CHANGE, G_COUNT, G_MADE, G_PLACE

# Events: (row id, net weight, version)
E_ROW = 0
E_WEIGHT = 1
E_VERSION = 2
ROW_EVENT = 3


class _Changes(NamedTuple):
    """What is applied: n changes, their versions ascending."""

    values: Values
    n: int
    weights: Line
    versions: Line


@helper
def _settle(t: TableBuffers, touched: Touched, version: int, events: Output, n: int, progress: Line, left: int) -> int:
    """End a version, or so much of it: write the net changes, deletions first, then clear the marks.

    Returns:
        How much more could have been done. The version has ended where no row is touched any more.
    """
    count, made = progress[G_COUNT], progress[G_MADE]
    begin = progress[G_PLACE]
    end = min(begin + left, 3 * count)
    for place in range(begin, min(end, 2 * count)):
        at = 2 * (place if place < count else place - count)
        row = touched[at]
        now = t.words[row * t.stride] >> 1
        weight = now - touched[at + 1]
        if (weight < 0 and place < count) or (weight > 0 and place >= count):
            events[E_ROW * n + made] = row
            events[E_WEIGHT * n + made] = weight
            events[E_VERSION * n + made] = version
            made += 1
            t.header[R_TOTAL] += weight
            t.header[R_ROWS] += (1 if now > 0 else 0) - (1 if touched[at + 1] > 0 else 0)
    for place in range(max(begin - 2 * count, 0), end - 2 * count):
        t.words[touched[2 * place] * t.stride] &= -2
    progress[G_MADE] = made
    progress[G_PLACE] = end
    if end == 3 * count:
        progress[G_COUNT] = 0
        progress[G_PLACE] = 0
    return int(left - (end - begin))


@inlined
def _apply(t: TableBuffers, c: _Changes, touched: Touched, named: Line, events: Output, progress: Line) -> int:
    left = AT_ONCE
    change = progress[G_CHANGE]
    while True:
        ended = change == c.n or (change > 0 and c.versions[change] != c.versions[change - 1])
        if ended and progress[G_COUNT] > 0:
            left = _settle(t, touched, c.versions[change - 1], events, c.n, progress, left)
        if change == c.n and progress[G_COUNT] == 0:
            return DONE
        if left == 0:
            progress[G_CHANGE] = change
            return MORE
        h = hash_change(c.values, c.n, change, t.stride - 1)
        row = find_or_create(t, c.values, c.n, change, h)
        at = row * t.stride
        named[change] = row
        if t.words[at] & 1 == 0:
            count = progress[G_COUNT]
            touched[2 * count] = row
            touched[2 * count + 1] = t.words[at] >> 1
            progress[G_COUNT] = count + 1
            t.words[at] |= 1
        weight = c.weights[change]
        if not -MAX_MULTIPLICITY <= weight <= MAX_MULTIPLICITY - (t.words[at] >> 1):
            return TOO_LARGE
        t.words[at] += weight << 1
        change += 1
        left -= 1


@kernel
def apply(
    table: Addresses,
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
        table: The buffers of the relation, with room for a new row each change.
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
    changes = _Changes(view(values), weights.shape[0], view(weights), view(versions))
    return _apply(opened(table), changes, view(touched), view(named), view(events), view(progress))


@inlined
def _finish(t: TableBuffers, named: Line, n: int) -> None:
    for i in range(n):
        at = named[i] * t.stride
        if t.words[at] == 0:
            give_back(t, named[i])
            t.words[at] = 1  # an unused id is marked, so that it is not given back twice


@kernel
def finish(table: Addresses, named: Line) -> None:
    """Give back the ids of rows that are gone.

    Args:
        table: As for `apply`.
        named: Ids of all rows that the changes named; one may stand several times.
    """
    _finish(opened(table), view(named), named.shape[0])
