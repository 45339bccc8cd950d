"""Which events of a join concern one of its cells, and the numbers that rows have there.

A join is split by the values of one variable (HyperCube with a single share: Afrati and Ullman, EDBT 2010; Beame,
Koutris and Suciu, PODS 2013). An atom that has the variable sends a row to the cell of the row's value, the others send
it to all cells. A cell numbers the rows that it holds by itself, so that its records take space for these alone: law:
``homes[r] - 1`` is the number of base row r, and it is none (0) unless r, as it was last inserted, concerns the cell.

    spare   words S_COUNT: free numbers, S_ISSUED: numbers ever given out, then the stack of the free ones
"""

from __future__ import annotations

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.join.layout import EVENT_FIELDS, V_MASK, V_ROW, V_TABLE, V_WEIGHT
from livejoin.kernels.memory.arena import words
from livejoin.kernels.parameters import Line, Matrix
from livejoin.kernels.values.hashes import below, scattered

S_COUNT = 0
S_ISSUED = 1
S_STACK = 2


@inlined
def cell_of(word: int, cells: int) -> int:
    """The cell of a value, by a hash of its own (`livejoin.kernels.values.hashes`)."""
    return below(scattered(word), cells)


@kernel
def route(
    events: Matrix,
    table: int,
    columns: Line,
    bits: Line,
    every: int,
    cell: int,
    cells: int,
    values: Matrix,
    stride: int,
    homes: Line,
    spare: Line,
    rows: Line,
    masks: Line,
) -> int:
    """Find the events of one table that concern a cell, and give numbers to the rows that come to it.

    A deletion concerns the cells that have the row. An insertion of a row that does not come to the cell takes the
    number away that an earlier row with the same id has left there.

    Args:
        events: int64 of shape (EVENT_FIELDS, n): the events of all tables.
        table: The table.
        columns: int64: its columns that carry the partition variable.
        bits: int64: for each of them, the atoms that carry the variable there.
        every: The atoms over the table that do not have the variable.
        cell: The cell.
        cells: Number of cells.
        values: The base table's words, flat, from the first value of row 0.
        stride: Words a row of the base table.
        homes: int32, the cell's numbers; changed.
        spare: int32, with space for a number for each event; changed.
        rows: int64 of shape (n,); of the table's events set to the row's number, -1 for none.
        masks: int64 of shape (n,); of the table's events set to the atoms of the row that take part in the cell.

    Returns:
        How many of the table's events concern the cell.
    """
    source = words(values)
    kept = 0
    for event in range(events.shape[1]):
        if events[V_TABLE, event] != table:
            continue
        row = events[V_ROW, event]
        mask = events[V_MASK, event]
        home = homes[row]
        if events[V_WEIGHT, event] > 0:
            wanted = every
            for i in range(columns.shape[0]):
                if cell_of(source[row * stride + columns[i]], cells) == cell:
                    wanted |= bits[i]
            mask &= wanted
            if mask == 0 and home != 0:
                spare[S_STACK + spare[S_COUNT]] = home
                spare[S_COUNT] += 1
                home = 0
                homes[row] = 0
            elif mask != 0 and home == 0:
                if spare[S_COUNT] > 0:
                    spare[S_COUNT] -= 1
                    home = spare[S_STACK + spare[S_COUNT]]
                else:
                    spare[S_ISSUED] += 1
                    home = spare[S_ISSUED]
                homes[row] = home
        rows[event] = home - 1
        masks[event] = mask
        if home != 0:
            kept += 1
    return kept


@kernel
def gather(events: Matrix, rows: Line, masks: Line, chosen: Line) -> None:
    """Write the events whose row has a number, in order, with that number and their mask in the cell.

    Args:
        events: int64 of shape (EVENT_FIELDS, n).
        rows: int64 of shape (n,): see `route`.
        masks: int64 of shape (n,): see `route`.
        chosen: int64 of shape (EVENT_FIELDS, as many as have a number); written.
    """
    at = 0
    for event in range(events.shape[1]):
        if rows[event] >= 0:
            for field in range(EVENT_FIELDS):
                chosen[field, at] = events[field, event]
            chosen[V_ROW, at] = rows[event]
            chosen[V_MASK, at] = masks[event]
            at += 1


@kernel
def place(rows: Line, homes: Line, numbers: Line, sources: Line, positions: Line) -> int:
    """List the rows that have a number: the number, the row, and its position in ``rows``; returns how many."""
    at = 0
    for i in range(rows.shape[0]):
        home = homes[rows[i]]
        if home != 0:
            numbers[at] = home - 1
            sources[at] = rows[i]
            positions[at] = i
            at += 1
    return at
