"""The size of a result kept as a T-representation: summed bottom-up over the connex subset, each slot once.

While it runs the words PENDING of the slots, which are free between batches, hold the results below.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.dyn.delta import slot_of
from livejoin.kernels.dyn.layout import (
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_DIRECTORY,
    N_INDEX,
    N_IS_GUARD,
    N_PARENT,
    N_VALUE,
    P_SLOT,
    ROOT,
    SLOT_BLOCK,
    SLOT_LEN,
    SLOT_PENDING,
)
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import BAG, P_MODE, P_NODES, P_POSTORDER
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Plan


@helper
def _results_of(m: Arena, p: Plan, node: int, row: int) -> tuple[int, float]:
    """Results below a tuple, as an integer that may wrap and as a float that cannot."""
    exact = 1
    if p[P_MODE] == BAG and p[node + N_ATOM] == 1:
        exact = m[row + p[node + N_VALUE]]
    rough = float(exact)
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        if p[child + N_CONNEX] == 1:
            below = m[slot_of(m, p, node, child, row) + SLOT_PENDING]
            exact *= below
            rough *= float(below)
    return exact, rough


@helper
def _count_slot(m: Arena, p: Plan, node: int, slot: int) -> float:
    """Put the results below a slot into its free word; about how many they are."""
    exact = 0
    rough = 0.0
    block = m[slot + SLOT_BLOCK] & REF_MASK
    for i in range(m[slot + SLOT_LEN]):
        one, about = _results_of(m, p, node, m[block + i])
        exact += one
        rough += about
    m[slot + SLOT_PENDING] = exact
    return rough


@helper
def _each_slot(m: Arena, p: Plan, node: int, clean: bool) -> float:
    """Count the results below every slot of a node, or clear what counting left; the largest number, about."""
    if p[node + N_PARENT] < 0:
        if clean:
            m[ROOT + SLOT_PENDING] = 0
            return 0.0
        return _count_slot(m, p, node, ROOT)
    largest = 0.0
    directory = p[node + N_DIRECTORY]
    shift = p[P_SLOT] * p[node + N_INDEX] if p[node + N_IS_GUARD] == 1 else 0
    for k in range(1 << m[directory + D_LOG]):
        entry = m[m[directory + D_SLOTS] + k] & MASK32
        if entry != 0 and clean:
            m[entry + shift + SLOT_PENDING] = 0
        elif entry != 0:
            largest = max(largest, _count_slot(m, p, node, entry + shift))
    return largest


@kernel
def count(arena: ArenaArray, plan: Plan) -> tuple[int, float]:
    """Size of the result, counted with multiplicities under bag semantics, in O(|D|); nothing is enumerated.

    Returns:
        The size modulo 2**64, and the largest intermediate size as a float, which tells whether the first is exact.
    """
    m = words(arena)
    p = words(plan)
    largest = 0.0
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        if p[node + N_CONNEX] == 1:
            largest = max(largest, _each_slot(m, p, node, False))
    total = m[ROOT + SLOT_PENDING]
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        if p[node + N_CONNEX] == 1:
            _each_slot(m, p, node, True)
    return np.int64(total), largest  # type: ignore[return-value]
