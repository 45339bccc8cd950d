"""Results written column by column from the tuples that a cursor stands on, by `livejoin.kernels.join.columns`."""

from __future__ import annotations

from livejoin.kernels.dyn.layout import CURSOR, G_INNER, G_INNER_LIST, G_OUTER, G_OUTER_LIST, K_ROW, LEVEL
from livejoin.kernels.jit import inlined
from livejoin.kernels.join import columns
from livejoin.kernels.join.layout import P_WORDS
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan


@inlined
def level_of(p: Plan, depth: int) -> int:
    """Where a cursor has the level of a depth."""
    return CURSOR + depth * (LEVEL + p[P_WORDS])  # type: ignore[no-any-return]


@inlined
def write_outer(
    m: Arena, p: Plan, program: int, cursor: Cursor, count: int, out: Output, capacity: int, at: int
) -> None:
    """Write the columns of the outer depths of a program, which are constant over ``count`` results."""
    listed, number, first, level = p[program + G_OUTER_LIST], p[program + G_OUTER], CURSOR + K_ROW, LEVEL + p[P_WORDS]
    columns.write_outer(m, p, listed, number, cursor, first, level, count, out, capacity, at)


@inlined
def write_copies(m: Arena, p: Plan, program: int, row: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the columns of one tuple of the last step ``count`` times."""
    columns.write_copies(m, p, p[program + G_INNER_LIST], p[program + G_INNER], row, count, out, capacity, at)


@inlined
def write_block(m: Arena, p: Plan, program: int, block: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the columns of ``count`` tuples of the last step, one result each."""
    columns.write_block(m, p, p[program + G_INNER_LIST], p[program + G_INNER], block, count, out, capacity, at)
