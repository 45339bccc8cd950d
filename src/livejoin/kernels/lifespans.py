"""The kernel behind the counting of disjoint lifespans: depths and postorder numbers of a forest of successors."""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line


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
