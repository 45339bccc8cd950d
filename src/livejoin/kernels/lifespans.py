"""The kernel behind the counting of disjoint lifespans: depths and postorder numbers of a forest of successors."""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix


@kernel
def number_forest(successor: Line) -> Any:
    """Depths and postorder numbers of a forest whose nodes have their parents to the right; linear time.

    Children are ordered by position, so that subtrees of smaller children have smaller numbers.

    Args:
        successor: int64 of shape (n,), read only. Parent of each node, ``i < successor[i] <= n``; n stands for none.

    Returns:
        int64 of shape (2, n), owned by the caller: nodes from each node to its root, both included; postorder numbers.
    """
    n = successor.shape[0]
    numbers = np.empty((2, n), np.int64)
    size = np.ones(n + 1, np.int64)
    for i in range(n):
        size[successor[i]] += size[i]
    depth = np.zeros(n + 1, np.int64)
    free = np.empty(n + 1, np.int64)  # largest number not given yet below a node
    free[n] = n - 1
    for i in range(n - 1, -1, -1):
        parent = successor[i]
        depth[i] = depth[parent] + 1
        numbers[0, i] = depth[i]
        numbers[1, i] = free[parent]
        free[i] = free[parent] - 1
        free[parent] -= size[i]
    return numbers


L_ENDS = 0  # lifespans that the greedy choice over the whole stream has taken
L_MOST = 1  # the largest number of these that ended while one row lived
L_COMMIT = 2  # the version of the last commit that was brought in, so that none is twice
STREAM_FIELDS = 3

T_BEGAN = 0  # of a table: lives that began, and that ended
T_ENDED = 1
T_UPPER = 2  # the sum over the lives that ended of the upper bound of their enclosureness, and of the lower one
T_LOWER = 3
T_PRESENT = 4  # twice the rows that were there, on average over each commit, summed over the changes of the stream
LIFE_FIELDS = 5


@kernel
def follow_lives(
    tables: Line,
    places: Line,
    weights: Line,
    versions: Line,
    copies: Line,
    began: Line,
    stream: Line,
    lives: Matrix,
    commit: int,
) -> None:
    """Bring changes of rows to the counts that bound the enclosureness; `livejoin.dataflow.watching.enclosing`.

    Args:
        tables: The table of each change, by its number.
        places: The place of its row.
        weights: The change of the row's multiplicity.
        versions: The version of each change, ascending.
        copies: int32, by place: how often the row is there.
        began: int32, by place: the greedy choice's lifespans that had ended before the row came.
        stream: int64 of STREAM_FIELDS words.
        lives: int64 of shape (tables, LIFE_FIELDS).
        commit: The version of the commit, written as the last step.
    """
    changes = places.shape[0]
    for table in range(lives.shape[0]):
        lives[table, T_PRESENT] += (lives[table, T_BEGAN] - lives[table, T_ENDED]) * changes
    begin = 0
    while begin < places.shape[0]:
        closes = 0
        end = begin
        while end < places.shape[0] and versions[end] == versions[begin]:
            place = places[end]
            before = copies[place]
            copies[place] += weights[end]
            if before == 0 and copies[place] > 0:
                began[place] = stream[L_ENDS]
                lives[tables[end], T_BEGAN] += 1
            elif before > 0 and copies[place] == 0 and began[place] == stream[L_ENDS]:
                closes = 1  # it came behind the last one that was taken, and is the first such to go
            end += 1
        stream[L_ENDS] += closes
        for change in range(begin, end):
            place = places[change]
            if weights[change] < 0 and copies[place] == 0:
                most = max(1, stream[L_ENDS] - began[place])
                stream[L_MOST] = max(stream[L_MOST], most)
                lives[tables[change], T_ENDED] += 1
                lives[tables[change], T_UPPER] += most
                lives[tables[change], T_LOWER] += max(1, most - 1)
        begin = end
    for table in range(lives.shape[0]):
        lives[table, T_PRESENT] += (lives[table, T_BEGAN] - lives[table, T_ENDED]) * changes
    stream[L_COMMIT] = commit
