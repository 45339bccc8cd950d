"""Links followed from a row downwards, along foreign keys."""

from __future__ import annotations

from livejoin.kernels.foreign_keys.layout import (
    E_HOLDS,
    L_ENTRY,
    L_NEIGHBOURS,
    N_ASSERTION_LIST,
    N_ASSERTIONS,
    P_STEP_LIST,
    P_STEPS,
    STEP,
    STEP_LEAST,
    STEP_LINK,
    STEP_NULL,
    STEP_SOURCE,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Arena, Cursor, Plan


@inlined
def held(m: Arena, entry: int) -> int:
    """The row that has the key of an entry."""
    row: int = m[entry + E_HOLDS] & MASK32
    return row


@inlined
def next_parent(m: Arena, link: int) -> int:
    """The parent behind one in the list of a key, 0 if it is the last."""
    row: int = (m[link + L_NEIGHBOURS] >> 32) & MASK32
    return row


@inlined
def previous_parent(m: Arena, link: int) -> int:
    """The parent before one in the list of a key, 0 if it is the first."""
    row: int = m[link + L_NEIGHBOURS] & MASK32
    return row


@inlined
def follow(m: Arena, p: Plan, row: int, cursor: Cursor, first: int) -> None:
    """Note the rows that the result of a live row of the root is read from, in the order of the plan's steps.

    Whether NULLs are read is said over an optional edge, by whether the row below is alive. Below that edge rows are
    read as long as they are there: where they die, the result is read as it was before.

    Args:
        m: The arena.
        p: The plan.
        row: The root's row.
        cursor: Where the rows are noted.
        first: From which word on.
    """
    cursor[first] = row
    steps = p[P_STEP_LIST]
    for i in range(1, p[P_STEPS]):
        step = steps + i * STEP
        entry = m[cursor[first + p[step + STEP_SOURCE]] + p[step + STEP_LINK] + L_ENTRY]
        null = p[step + STEP_NULL]
        cursor[first + i] = null if null != 0 and m[entry + E_HOLDS] < p[step + STEP_LEAST] else held(m, entry)


@helper
def _end_of(m: Arena, p: Plan, row: int, path: int) -> int:
    """The entry at the end of a path: the number of its links, then where each of them lies in its record."""
    last = p[path]
    for i in range(1, last):
        row = held(m, m[row + p[path + i] + L_ENTRY])
    entry: int = m[row + p[path + last] + L_ENTRY]
    return entry


@helper
def agrees(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Whether all paths from a row to a shared descendant end at one row of it (AJU, definition 3 and Lemma 4).

    The row is alive on all of its children, so that every path leads from row to row. Entries are compared, and no
    assertion keys are stored: each relation on a path is alive, so that it links to the entry of the key that it has.
    """
    paths = p[node + N_ASSERTION_LIST]
    for i in range(p[node + N_ASSERTIONS]):
        if _end_of(m, p, row, p[paths + 2 * i]) != _end_of(m, p, row, p[paths + 2 * i + 1]):
            return False
    return True
