"""Direct access to the results of a T-representation, by their rank in the order of enumeration.

As `livejoin.kernels.crown.ranks`, over the groups of the connex subset N (DYN, Algorithm 3) in place of the blocks of
views.
"""

from __future__ import annotations

from livejoin.kernels.dyn.layout import (
    G_STEP_LIST,
    G_STEPS,
    K_RECORD,
    K_ROW,
    K_WEIGHT,
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_CONNEX_CHILDREN,
    N_VALUE,
    ROOT,
    SLOT_BLOCK,
    SLOT_LEN,
    STEP,
    STEP_LINKED,
    STEP_NODE,
    STEP_OFFSET,
    STEP_SOURCE,
)
from livejoin.kernels.dyn.odometer import weigh as weigh_level
from livejoin.kernels.dyn.output import level_of
from livejoin.kernels.dyn.slots import slot_at, slot_of, slot_places
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join.layout import BAG, H_DUPLICATES, P_FIRST_NODE, P_FULL, P_MODE, P_NODES, P_POSTORDER, P_WORDS
from livejoin.kernels.join.prefix_sums import row_of_rank, sum_before
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Line, Plan, Sums


@inlined
def _is_flat(m: Arena, p: Plan, node: int) -> bool:
    """Whether one result of the subtree lies below each tuple of a node."""
    if p[node + N_CONNEX_CHILDREN] > 0:
        return False
    return bool(p[P_MODE] != BAG or p[node + N_ATOM] == 0 or m[H_DUPLICATES] == 0)


@inlined
def _copies(m: Arena, p: Plan, node: int, row: int) -> int:
    """The multiplicity of an atom's tuple under bag semantics, else 1."""
    if p[P_MODE] == BAG and p[node + N_ATOM] == 1:
        return int(m[row + p[node + N_VALUE]])
    return 1


@inlined
def _results_below(m: Arena, p: Plan, sums: Sums, node: int, slot: int) -> int:
    """Results below all tuples of a slot."""
    length: int = m[slot + SLOT_LEN]
    if length == 0 or _is_flat(m, p, node):
        return length
    results: int = sums[(m[slot + SLOT_BLOCK] & REF_MASK) + length - 1]
    return results


@helper
def _weigh_slot(m: Arena, p: Plan, sums: Sums, node: int, slot: int) -> float:
    """Write the sums of a slot's block; about how many results lie below it."""
    block = m[slot + SLOT_BLOCK] & REF_MASK
    children = p[node + N_CHILD_LIST]
    exact = 0
    rough = 0.0
    for i in range(m[slot + SLOT_LEN]):
        row = m[block + i]
        one = _copies(m, p, node, row)
        about = float(one)
        for c in range(p[node + N_CHILDREN]):
            child = p[children + c]
            if p[child + N_CONNEX] == 1:
                below = _results_below(m, p, sums, child, slot_of(m, p, node, child, row))
                one *= below
                about *= float(below)
        exact += one
        rough += about
        sums[block + i] = exact
    return rough


@kernel
def weigh(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> float:
    """Count the results below every tuple of N; arguments, result and cost as of `livejoin.kernels.crown.ranks`."""
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    largest = 0.0
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        if p[node + N_CONNEX] == 0 or _is_flat(m, p, node):
            continue
        for place in range(slot_places(m, p, node)):
            slot = slot_at(m, p, node, place)
            if slot != 0:
                largest = max(largest, _weigh_slot(m, p, sums, node, slot))
    return largest


@kernel
def total(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> int:
    """Size of the result, after `weigh`; O(1)."""
    m = words(arena)
    p = words(plan)
    return int(_results_below(m, p, words(prefix_sums), p[P_FIRST_NODE], ROOT))


@helper
def _slot_of_step(m: Arena, p: Plan, step: int, rows: Line, rank: int) -> int:
    """The slot that a step opens, below the tuple that an earlier step found."""
    if p[step + STEP_SOURCE] < 0:
        return ROOT
    word = rows[p[step + STEP_SOURCE], rank] + p[step + STEP_OFFSET]
    if p[step + STEP_LINKED] == 1:
        return int((m[word] >> 32) & MASK32)
    return int(word)


@kernel
def descend(arena: ArenaArray, plan: Plan, prefix_sums: Sums, ranks: Line, rows: Line) -> None:
    """Find the results at some ranks of the full enumeration; as `livejoin.kernels.crown.ranks.descend`."""
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    for i in range(ranks.shape[0]):
        rank = ranks[i]
        pending = _results_below(m, p, sums, p[P_FIRST_NODE], ROOT)
        copies = 1
        for depth in range(p[p[P_FULL] + G_STEPS]):
            step = p[p[P_FULL] + G_STEP_LIST] + depth * STEP
            node = p[step + STEP_NODE]
            slot = _slot_of_step(m, p, step, rows, i)
            length = m[slot + SLOT_LEN]
            block = m[slot + SLOT_BLOCK] & REF_MASK
            pending //= _results_below(m, p, sums, node, slot)
            below = rank // (copies * pending)
            index = below
            before = below
            if not _is_flat(m, p, node):
                index = row_of_rank(sums, block, length, below)
                before = sum_before(sums, block, index)
            rank -= before * copies * pending
            row = m[block + index]
            rows[depth, i] = row
            copies *= _copies(m, p, node, row)
            for c in range(p[node + N_CHILDREN]):
                child = p[p[node + N_CHILD_LIST] + c]
                if p[child + N_CONNEX] == 1:
                    pending *= _results_below(m, p, sums, child, slot_of(m, p, node, child, row))


@kernel
def annotate(arena: ArenaArray, plan: Plan, rows: Line, cursor_words: Cursor, annotations: Line) -> int:
    """Annotations of results, from the tuples of each; ``cursor_words`` is a cursor of an enumeration.

    Otherwise as `livejoin.kernels.crown.ranks.annotate`.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    steps = rows.shape[0]
    spare = level_of(p, steps)
    wraps = 0
    for i in range(rows.shape[1]):
        for depth in range(steps):
            step = p[p[P_FULL] + G_STEP_LIST] + depth * STEP
            level = level_of(p, depth)
            cursor[level + K_ROW] = rows[depth, i]
            cursor[level + K_RECORD] = 0
            wraps |= weigh_level(m, m, p, cursor, p[step + STEP_NODE], level, depth, spare)
        for k in range(p[P_WORDS]):
            annotations[k, i] = cursor[level_of(p, steps - 1) + K_WEIGHT + k]
    return wraps
