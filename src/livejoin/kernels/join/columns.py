"""Results written column by column from rows in an arena.

A plan lists the columns of a head that come from one place: pairs (column, offset in the row) where all come from the
innermost row, triples (column, depth, offset) where they come from the rows of outer depths that a cursor stands on.
An output has ``capacity`` places a column.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan


@helper
def write_outer(
    m: Arena,
    p: Plan,
    columns: int,
    number: int,
    cursor: Cursor,
    first: int,
    level: int,
    count: int,
    out: Output,
    capacity: int,
    at: int,
) -> None:
    """Write the columns of outer depths, which are constant over ``count`` results from ``at`` on.

    Args:
        m: The arena.
        p: The plan.
        columns: The list of triples.
        number: How many triples there are.
        cursor: The position of an enumeration.
        first: The offset in the cursor of the row of depth 0; that of the next depth is ``level`` words further.
        level: Words of a level.
        count: Results.
        out: The output.
        capacity: The places of the output.
        at: The first place.
    """
    for i in range(number):
        column = columns + 3 * i
        value = m[cursor[first + p[column + 1] * level] + p[column + 2]]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = value


@helper
def write_copies(
    m: Arena, p: Plan, columns: int, number: int, row: int, count: int, out: Output, capacity: int, at: int
) -> None:
    """Write the columns of one innermost row ``count`` times; arguments as of `write_outer`, with a list of pairs."""
    for i in range(number):
        column = columns + 2 * i
        value = m[row + p[column + 1]]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = value


@helper
def write_block(
    m: Arena, p: Plan, columns: int, number: int, block: int, count: int, out: Output, capacity: int, at: int
) -> None:
    """Write the columns of ``count`` innermost rows of a block, one result each; arguments as of `write_copies`."""
    for i in range(number):
        column = columns + 2 * i
        offset = p[column + 1]
        target = p[column] * capacity + at
        for k in range(count):
            out[target + k] = m[m[block + k] + offset]
