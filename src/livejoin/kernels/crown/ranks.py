"""Direct access to the results of a join tree: from a rank in the order of enumeration to the rows that it is made of.

`weigh` counts the results below every row of the connex subtree, bottom-up. `descend` then finds a result as the
odometer would reach it (CROWN, Algorithm 5), whose order is that of the rows' positions in their blocks, the outermost
first, and a result's copies last. Law: where ``r`` results come before the open step, each result below a row of its
slot stands for ``copies * pending`` of them, which are the multiplicities down to here times the results below the
slots that are open and still to come. Cost: O(|D|) once after a change, then O(height * log |D|) a rank.

A node is *flat* if one result lies below each of its rows: then ranks are positions, and no sums are needed.
"""

from __future__ import annotations

from livejoin.kernels.crown.annotation import annotation, multiplicity
from livejoin.kernels.crown.count import is_flat
from livejoin.kernels.crown.layout import (
    EDGE_OPTIONAL,
    G_DEPTHS,
    G_STEPS,
    H_ROOT,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_EDGE,
    N_NULL,
    N_NULL_SLOT,
    P_CONNEX,
    S_BLOCK,
    S_LEN,
    STEP,
    STEP_DOWN_LINKED,
    STEP_KIND,
    STEP_NODE,
    STEP_NULL,
    STEP_OFFSET,
    STEP_ROOT,
    STEP_SOURCE,
)
from livejoin.kernels.crown.slots import slot_at, slot_below, slot_places
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join import ring
from livejoin.kernels.join.layout import BAG, P_FIRST_NODE, P_FULL, P_MODE, P_POSTORDER, P_WORDS
from livejoin.kernels.join.prefix_sums import row_of_rank, sum_before
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Line, Plan, Sums, Words


@inlined
def _results_below(m: Arena, p: Plan, sums: Sums, node: int, slot: int) -> int:
    """Results below all rows of a slot."""
    length: int = m[slot + S_LEN] >> 32
    if length == 0 and p[node + N_EDGE] == EDGE_OPTIONAL:
        return 1
    if length == 0 or is_flat(m, p, node):
        return length
    results: int = sums[(m[slot + S_BLOCK] & REF_MASK) + length - 1]
    return results


@helper
def _weigh_slot(m: Arena, p: Plan, sums: Sums, node: int, slot: int) -> float:
    """Write the sums of a slot's block; about how many results lie below it."""
    block = m[slot + S_BLOCK] & REF_MASK
    children = p[node + N_CHILD_LIST]
    exact = 0
    rough = 0.0
    for i in range(m[slot + S_LEN] >> 32):
        row = m[block + i]
        one = multiplicity(m, p, node, row) if p[P_MODE] == BAG else 1
        about = float(one)
        for c in range(p[node + N_CHILDREN]):
            child = p[children + c]
            if p[child + N_CONNEX] == 1:
                below = _results_below(m, p, sums, child, slot_below(m, p, node, row, c, child))
                one *= below
                about *= float(below)
        exact += one
        rough += about
        sums[block + i] = exact
    return rough


@kernel
def weigh(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> float:
    """Count the results below every row of the connex subtree; O(|D|).

    Args:
        arena: The arena.
        plan: The plan.
        prefix_sums: int64, as long as the used part of the arena; written at the indices of blocks of nodes that are
            not flat, modulo 2**64.

    Returns:
        About the largest sum, which tells whether all are exact.
    """
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    largest = 0.0
    for i in range(p[P_CONNEX]):
        node = p[p[P_POSTORDER] + i]
        if is_flat(m, p, node):
            continue
        for place in range(slot_places(m, p, node)):
            slot = slot_at(m, p, node, place)
            if slot != 0:
                largest = max(largest, _weigh_slot(m, p, sums, node, slot))
        if p[node + N_NULL] != 0:
            sums[m[p[node + N_NULL_SLOT] + S_BLOCK] & REF_MASK] = 1
    return largest


@kernel
def total(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> int:
    """Size of the result, after `weigh`; O(1)."""
    m = words(arena)
    p = words(plan)
    return int(_results_below(m, p, words(prefix_sums), p[P_FIRST_NODE], H_ROOT))


@helper
def _slot_of_step(m: Arena, p: Plan, step: int, rows: Line, rank: int) -> int:
    """The slot that a step opens, below the row that an earlier step found."""
    if p[step + STEP_KIND] == STEP_ROOT:
        return H_ROOT
    word = rows[p[step + STEP_SOURCE] - 1, rank] + p[step + STEP_OFFSET]
    if p[step + STEP_KIND] == STEP_DOWN_LINKED:
        slot = int((m[word] >> 32) & MASK32)
        return slot if m[slot + S_LEN] >> 32 > 0 else int(p[step + STEP_NULL])
    return int(word)


@kernel
def descend(arena: ArenaArray, plan: Plan, prefix_sums: Sums, ranks: Line, rows: Line) -> None:
    """Find the results at some ranks of the full enumeration, after `weigh`.

    Args:
        arena: The arena; not changed.
        plan: The plan.
        prefix_sums: The sums that `weigh` wrote.
        ranks: int64 from 0 up to the size of the result, in any order.
        rows: int64 of shape (steps of the full enumeration, n), written: the row that each step stands on.
    """
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    for i in range(ranks.shape[0]):
        rank = ranks[i]
        pending = _results_below(m, p, sums, p[P_FIRST_NODE], H_ROOT)
        copies = 1
        for depth in range(p[p[P_FULL] + G_DEPTHS] - 1):
            step = p[p[P_FULL] + G_STEPS] + depth * STEP
            node = p[step + STEP_NODE]
            slot = _slot_of_step(m, p, step, rows, i)
            length = m[slot + S_LEN] >> 32
            block = m[slot + S_BLOCK] & REF_MASK
            pending //= _results_below(m, p, sums, node, slot)
            below = rank // (copies * pending)
            index = below
            before = below
            if not is_flat(m, p, node):
                index = row_of_rank(sums, block, length, below)
                before = sum_before(sums, block, index)
            rank -= before * copies * pending
            row = m[block + index]
            rows[depth, i] = row
            if p[P_MODE] == BAG:
                copies *= multiplicity(m, p, node, row)
            for c in range(p[node + N_CHILDREN]):
                child = p[p[node + N_CHILD_LIST] + c]
                if p[child + N_CONNEX] == 1:
                    pending *= _results_below(m, p, sums, child, slot_below(m, p, node, row, c, child))


@kernel
def annotate(arena: ArenaArray, plan: Plan, rows: Line, scratch: Words, annotations: Line) -> int:
    """Annotations of results, the product of those of their rows (CROWN, formula 14).

    Args:
        arena: The arena; not changed.
        plan: The plan.
        rows: int64 of shape (steps of the full enumeration, n): the rows of each result.
        scratch: int64 of twice the words of an annotation.
        annotations: int64 of shape (words of an annotation, n); written.

    Returns:
        0, or -1 if one does not fit.
    """
    m = words(arena)
    p = words(plan)
    product = words(scratch)
    one = p[P_WORDS]
    wraps = 0
    for i in range(rows.shape[1]):
        ring.set_one(product, p, 0)
        for depth in range(rows.shape[0]):
            node = p[p[p[P_FULL] + G_STEPS] + depth * STEP + STEP_NODE]
            row = rows[depth, i]
            wraps |= annotation(m, p, node, row, multiplicity(m, p, node, row), -1, product, one)
            wraps |= ring.multiply(product, p, 0, product, one)
        for k in range(p[P_WORDS]):
            annotations[k, i] = product[k]
    return wraps
