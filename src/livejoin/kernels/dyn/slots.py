"""The slots of a T-representation: which one a tuple refers to, and all of a node."""

from __future__ import annotations

from livejoin.kernels.dyn.layout import N_DIRECTORY, N_INDEX, N_IS_GUARD, N_LINK, N_PARENT, P_SLOT, ROOT
from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32
from livejoin.kernels.parameters import Arena, Plan


@inlined
def slot_of(m: Arena, p: Plan, node: int, child: int, row: int) -> int:
    """The slot of a child that a hyperedge's tuple refers to; of a child that is no guard, 0 outside of Gamma_n."""
    if p[child + N_IS_GUARD] == 1:
        return row + p[P_SLOT] * p[child + N_INDEX]  # type: ignore[no-any-return]
    return (m[row + p[node + N_LINK] + p[child + N_INDEX]] >> 32) & MASK32  # type: ignore[no-any-return]


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
        return ROOT
    entry: int = m[m[p[node + N_DIRECTORY] + D_SLOTS] + place] & MASK32
    if entry != 0 and p[node + N_IS_GUARD] == 1:
        entry += p[P_SLOT] * p[node + N_INDEX]
    return entry
