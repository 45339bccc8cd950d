"""The size of a result without enumeration: weights summed bottom-up over the tree, each slot annotated once.

A node is *flat* if one result lies below each of its rows; the weight of its slots is their length, so that only the
inner nodes of a tree over distinct rows are visited.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    EDGE_OPTIONAL,
    H_ROOT,
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_EDGE,
    N_PARENT,
    N_STATE,
    P_CONNEX,
    S_BLOCK,
    S_LEN,
    S_WEIGHT,
)
from livejoin.kernels.crown.slots import slot_at, slot_below, slot_places
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import BAG, H_DUPLICATES, P_MODE, P_POSTORDER
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Plan


@helper
def is_flat(m: Arena, p: Plan, node: int) -> bool:
    """Whether every row of a connex node stands for one result of its subtree."""
    if p[P_MODE] == BAG and p[node + N_ATOM] == 1 and m[H_DUPLICATES] != 0:
        return False
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        if p[p[children + c] + N_CONNEX] == 1:
            return False
    return True


@helper
def _weight_of(m: Arena, p: Plan, node: int, row: int) -> tuple[int, float]:
    """Results of the subtree below a row, as an integer that may wrap and as a float that cannot."""
    exact = 1
    rough = 1.0
    if p[P_MODE] == BAG and p[node + N_ATOM] == 1:
        exact = m[row + p[node + N_STATE]] >> COUNTER_BITS
        rough = float(exact)
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        if p[child + N_CONNEX] == 0:
            continue
        slot = slot_below(m, p, node, row, c, child)
        weight = m[slot + S_LEN] >> 32 if is_flat(m, p, child) else m[slot + S_WEIGHT]
        if p[child + N_EDGE] == EDGE_OPTIONAL and m[slot + S_LEN] >> 32 == 0:
            weight = 1
        exact *= weight
        rough *= float(weight)
    return exact, rough


@helper
def _weigh_slot(m: Arena, p: Plan, node: int, slot: int) -> float:
    """Set a slot's annotation to the sum of its rows' weights."""
    exact = 0
    rough = 0.0
    block = m[slot + S_BLOCK] & REF_MASK
    for i in range(m[slot + S_LEN] >> 32):
        one, about = _weight_of(m, p, node, m[block + i])
        exact += one
        rough += about
    m[slot + S_WEIGHT] = exact
    return rough


@kernel
def count(arena: ArenaArray, plan: Plan) -> tuple[int, float]:
    """Size of the result with multiplicities, bottom-up over the tree in O(|D|); nothing is enumerated.

    Returns:
        The size modulo 2**64, and the largest intermediate size as a float, which tells whether the first is exact.
    """
    m = words(arena)
    p = words(plan)
    largest = 0.0
    for i in range(p[P_CONNEX]):
        node = p[p[P_POSTORDER] + i]
        if is_flat(m, p, node):
            if p[node + N_PARENT] < 0:
                return np.int64(m[H_ROOT + S_LEN] >> 32), 0.0  # type: ignore[return-value]
            continue
        for place in range(slot_places(m, p, node)):
            slot = slot_at(m, p, node, place)
            if slot != 0:
                largest = max(largest, _weigh_slot(m, p, node, slot))
    return np.int64(m[H_ROOT + S_WEIGHT]), largest  # type: ignore[return-value]
