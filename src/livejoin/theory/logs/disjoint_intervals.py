"""The largest number of disjoint intervals of a family inside of an interval, for many intervals at once.

Only the intervals of the family that contain no other one matter, since an interval can give way to one that it
contains. Sorted by start they are sorted by end too. Then the greedy choice is best: the first one that begins inside,
and after each one its *successor*, the first that begins after its end, as long as they end inside.

The successors make a forest whose order is that of the intervals, so no walk is needed. Depths never increase to the
right. Let the greedy choice begin at i, and let r be the last interval that ends inside. With D = depth(i) - depth(r),
the D-th successor of i lies on the level of r. If it is r or to the left of it, the choice has D + 1 intervals; else
the (D - 1)-th successor is deeper than r, hence to the left of it, and the choice has D intervals. Within a level,
subtrees are numbered from left to right in postorder: the first case holds if and only if post(i) <= post(r).
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.lifespans import number_forest
from livejoin.words import Words


def minimal_intervals(start: Words, end: Words) -> tuple[Words, Words]:
    """The intervals that contain no other one, once each; both starts and ends are ascending.

    Cost: O(n log n).

    Args:
        start: int64 of shape (n,).
        end: int64 of shape (n,), not before the start.

    >>> [part.tolist() for part in minimal_intervals(np.array([0, 2, 5, 2]), np.array([9, 3, 8, 4]))]
    [[2, 5], [3, 8]]
    """
    order = np.argsort(end)
    start, end = start[order], end[order]
    if len(start):
        latest = np.maximum.accumulate(start)
        keep = np.ones(len(start), bool)
        keep[1:] = start[1:] > latest[:-1]
        start, end = start[keep], end[keep]
        last = np.ones(len(end), bool)  # of those that end together, the last one is inside the others
        last[:-1] = end[1:] != end[:-1]
        start, end = start[last], end[last]
    return start, end


def most_disjoint(family: tuple[Words, Words], start: Words, end: Words) -> Words:
    """For each given interval, the largest number of disjoint intervals of a family that it contains.

    Intervals are closed: those that touch are not disjoint, and an interval contains itself.

    Cost: O((n + m) log n) for n intervals in the family and m given ones.

    Args:
        family: The starts and ends of the family as `minimal_intervals` returns them.
        start: int64 of shape (m,), starts of the given intervals.
        end: int64 of shape (m,), their ends.

    >>> family = minimal_intervals(np.array([0, 2, 4, 1]), np.array([1, 3, 5, 4]))
    >>> most_disjoint(family, np.array([0, 1, 2]), np.array([9, 4, 2])).tolist()
    [3, 1, 0]
    """
    starts, ends = family
    if not len(starts):
        return np.zeros(len(start), np.int64)
    depth, postorder = number_forest(np.searchsorted(starts, ends, side="right"))
    first = np.searchsorted(starts, start, side="left")
    last = np.searchsorted(ends, end, side="right") - 1
    some = np.flatnonzero(first <= last)
    first, last = first[some], last[some]
    counts = np.zeros(len(start), np.int64)
    counts[some] = depth[first] - depth[last] + (postorder[first] <= postorder[last])
    return counts
