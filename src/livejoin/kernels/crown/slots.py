"""The slots of a join tree: which one a row joins below, and all of a node."""

from __future__ import annotations

from livejoin.kernels.crown.layout import H_ROOT, N_DIRECTORY, N_INDEX, N_LINK, N_LINKED, N_PARENT, SLOT
from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32
from livejoin.kernels.parameters import Arena, Plan


@inlined
def slot_below(m: Arena, p: Plan, node: int, row: int, index: int, child: int) -> int:
    """The slot that a row joins of a child, which is the node's child number ``index``."""
    if p[child + N_LINKED] == 1:
        return (m[row + p[node + N_LINK] + index] >> 32) & MASK32  # type: ignore[no-any-return]
    return row + SLOT * index


@inlined
def slot_places(m: Arena, p: Plan, node: int) -> int:
    """Places among which the slots of a node are: one for the root, else those of the directory."""
    if p[node + N_PARENT] < 0:
        return 1
    return 1 << m[p[node + N_DIRECTORY] + D_LOG]  # type: ignore[no-any-return]


@inlined
def slot_at(m: Arena, p: Plan, node: int, place: int) -> int:
    """The slot of a node at a place, 0 if none is there."""
    if p[node + N_PARENT] < 0:
        return H_ROOT
    entry: int = m[m[p[node + N_DIRECTORY] + D_SLOTS] + place] & MASK32
    if entry != 0 and p[node + N_LINKED] == 0:
        entry += SLOT * p[node + N_INDEX]
    return entry
