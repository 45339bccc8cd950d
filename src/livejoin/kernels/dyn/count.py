"""The size of a result kept as a T-representation: summed bottom-up over the connex subset, each slot once.

While it runs the words PENDING of the slots, which are free between batches, hold the results below.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.dyn.layout import (
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_VALUE,
    ROOT,
    SLOT_BLOCK,
    SLOT_LEN,
    SLOT_PENDING,
)
from livejoin.kernels.dyn.slots import slot_at, slot_of, slot_places
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import BAG, P_MODE, P_NODES, P_POSTORDER
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import REF_MASK
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
            for place in range(slot_places(m, p, node)):
                slot = slot_at(m, p, node, place)
                if slot != 0:
                    largest = max(largest, _count_slot(m, p, node, slot))
    total = m[ROOT + SLOT_PENDING]
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        if p[node + N_CONNEX] == 1:
            for place in range(slot_places(m, p, node)):
                slot = slot_at(m, p, node, place)
                if slot != 0:
                    m[slot + SLOT_PENDING] = 0
    return np.int64(total), largest  # type: ignore[return-value]
