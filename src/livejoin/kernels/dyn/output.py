"""Results written column by column from the tuples that a cursor stands on."""

from __future__ import annotations

from livejoin.kernels.dyn.layout import CURSOR, G_INNER, G_INNER_LIST, G_OUTER, G_OUTER_LIST, K_ROW, LEVEL
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import P_WORDS
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan


@inlined
def level_of(p: Plan, depth: int) -> int:
    """Where a cursor has the level of a depth."""
    return CURSOR + depth * (LEVEL + p[P_WORDS])  # type: ignore[no-any-return]


@helper
def write_outer(
    m: Arena, p: Plan, program: int, cursor: Cursor, count: int, out: Output, capacity: int, at: int
) -> None:
    """Write the columns of the outer depths, which are constant over ``count`` results from ``at`` on."""
    columns = p[program + G_OUTER_LIST]
    for i in range(p[program + G_OUTER]):
        column = columns + 3 * i
        value = m[cursor[level_of(p, p[column + 1]) + K_ROW] + p[column + 2]]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = value


@helper
def write_copies(m: Arena, p: Plan, program: int, row: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the columns of one tuple of the last step ``count`` times."""
    columns = p[program + G_INNER_LIST]
    for i in range(p[program + G_INNER]):
        column = columns + 2 * i
        value = m[row + p[column + 1]]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = value


@helper
def write_block(m: Arena, p: Plan, program: int, block: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the columns of ``count`` tuples of the last step, one result each."""
    columns = p[program + G_INNER_LIST]
    for i in range(p[program + G_INNER]):
        column = columns + 2 * i
        offset = p[column + 1]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = m[m[block + k] + offset]
