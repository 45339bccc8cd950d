"""Differences that wait at the slots of linked edges until the changes of a version are over.

A slot may have many parent rows, and many changes of a version may reach it. So what they change of its annotation is
added up beside it, and `livejoin.kernels.crown.annotate.settle` brings the sum to each parent row once. The slots that
wait form a list for each node. They count as one registered row more, so that their entries stay where the last row
and the last parent leave them before that.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    E_PARENT_BLOCK,
    E_PARENTS,
    H_WAITING,
    N_DIRECTORY,
    N_ENTRY_KEY,
    N_KEY_WIDTH,
    N_WAIT,
    N_WORK,
    S_BLOCK,
    S_LEN,
    W_WAITING,
    WAIT_END,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.join import ring
from livejoin.kernels.join.layout import H_OVERFLOW, P_WORDS
from livejoin.kernels.memory.blocks import drop
from livejoin.kernels.memory.directory import remove
from livejoin.kernels.parameters import Arena, Plan


@helper
def wait(m: Arena, p: Plan, node: int, slot: int, at: int) -> None:
    """Add the difference that stands at ``at`` to what waits at a slot of a linked edge."""
    m[H_OVERFLOW] |= ring.add(m, p, slot + p[node + N_WAIT], m, at)
    if m[slot + S_BLOCK] == 0:
        first = p[node + N_WORK] + W_WAITING
        m[slot + S_BLOCK] = m[first] if m[first] != 0 else WAIT_END
        m[first] = slot
        m[slot + S_LEN] += 1
        m[H_WAITING] += 1


@helper
def take_waiting(m: Arena, p: Plan, node: int, at: int) -> int:
    """Take a slot out of the list of a node, and write its difference to ``at``; 0 if none waits there."""
    first = p[node + N_WORK] + W_WAITING
    slot: int = m[first]
    if slot != 0:
        m[first] = m[slot + S_BLOCK] if m[slot + S_BLOCK] != WAIT_END else 0
        m[slot + S_BLOCK] = 0
        m[H_WAITING] -= 1
        waits = slot + p[node + N_WAIT]
        ring.copy(m, at, m, waits, p[P_WORDS])
        for i in range(p[P_WORDS]):
            m[waits + i] = 0
    return slot


@helper
def end_waiting(m: Arena, p: Plan, node: int, slot: int) -> None:
    """Let a slot that was taken count as it is; an entry that nothing refers to is removed."""
    m[slot + S_LEN] -= 1
    if m[slot + S_LEN] == 0 and m[slot + E_PARENTS] == 0:
        drop(m, slot + E_PARENT_BLOCK)
        remove(m, p[node + N_DIRECTORY], slot, p[node + N_ENTRY_KEY], p[node + N_KEY_WIDTH])
