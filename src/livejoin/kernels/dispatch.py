"""Rows to cells of grids: each row, for every atom that it may be a row of, to all cells that have its coordinates.

A *route* is a grid as one atom sees it: conditions on groups of values that a row must meet, the dimensions whose
coordinates its values give, and the cells along the other dimensions, to all of which it goes
(`livejoin.theory.hypercube.grid`).

Law: a row stands at most once for each cell, with the bits of all atoms whose routes lead there.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.kernels.values.hashes import below

# Fields of a route.
R_BIT = 0  # of its atom
R_TAKES = 1  # the line of `takes` that says which rows may be rows of the atom
R_CONDITIONS = 2  # its conditions begin here
R_CONDITIONS_END = 3
R_DIMENSIONS = 4  # the dimensions that its values place
R_DIMENSIONS_END = 5
R_OFFSETS = 6  # the cells along the others, from the grid's first one
R_OFFSETS_END = 7
R_FIRST = 8  # the first cell of the grid
ROUTE_FIELDS = 9

# Fields of a condition.
C_LINE = 0  # the line of `groups`
C_ALLOWED = 1  # where its table of allowed groups begins: first whether those of no group are
CONDITION_FIELDS = 2

# Fields of a dimension.
D_LINE = 0  # the line of `places`
D_SHARE = 1  # how many cells there are along it
D_STRIDE = 2  # how far it is from one to the next
DIMENSION_FIELDS = 3


# Lines of where rows go.
L_ROW = 0
L_CELL = 1
L_MASK = 2  # the bits of the atoms
SENT_FIELDS = 3


class Routes(NamedTuple):
    """What a dispatch says of a table, as arrays.

    Args:
        routes: int64 of shape (routes, ROUTE_FIELDS).
        conditions: int64 of shape (any, CONDITION_FIELDS).
        allowed: bool: which groups meet each condition.
        dimensions: int64 of shape (any, DIMENSION_FIELDS).
        offsets: int64: the cells along the dimensions that a route leaves open.
    """

    routes: Matrix
    conditions: Matrix
    allowed: Line
    dimensions: Matrix
    offsets: Line


@kernel
def count(plan: Routes, takes: Matrix, passing: Line) -> int:
    """How many places `send` needs at most."""
    routes = plan.routes
    total = 0
    for route in range(routes.shape[0]):
        copies = routes[route, R_OFFSETS_END] - routes[route, R_OFFSETS]
        line, bit = routes[route, R_TAKES], routes[route, R_BIT]
        for row in range(takes.shape[1]):
            if takes[line, row] and passing[row] & bit != 0:
                total += copies
    return total


@kernel
def send(plan: Routes, takes: Matrix, groups: Matrix, places: Matrix, passing: Line, seen: Line, sent: Matrix) -> int:
    """List where rows go, row after row.

    Args:
        plan: The routes.
        takes: bool of shape (atoms, rows).
        groups: int64 of shape (any, rows): the group of a value, -1 for none.
        places: uint64 of shape (any, rows): what places a value along a dimension.
        passing: int64: the bits of the atoms whose predicates each row passes.
        seen: int64, one a cell, -1; changed.
        sent: int64 of shape (SENT_FIELDS, the places that `count` says); written.

    Returns:
        How many places were written.
    """
    routes, conditions, allowed, dimensions, offsets = plan
    rows, cells, masks = sent[L_ROW], sent[L_CELL], sent[L_MASK]
    at = 0
    for row in range(takes.shape[1]):
        begin = at
        for route in range(routes.shape[0]):
            bit = routes[route, R_BIT]
            met = takes[routes[route, R_TAKES], row] and passing[row] & bit != 0
            for c in range(routes[route, R_CONDITIONS], routes[route, R_CONDITIONS_END]):
                group = groups[conditions[c, C_LINE], row]
                met = met and allowed[conditions[c, C_ALLOWED] + 1 + group]
            if not met:
                continue
            base = routes[route, R_FIRST]
            for d in range(routes[route, R_DIMENSIONS], routes[route, R_DIMENSIONS_END]):
                base += dimensions[d, D_STRIDE] * below(places[dimensions[d, D_LINE], row], dimensions[d, D_SHARE])
            for o in range(routes[route, R_OFFSETS], routes[route, R_OFFSETS_END]):
                cell = base + offsets[o]
                if seen[cell] >= begin:
                    masks[seen[cell]] |= bit
                else:
                    seen[cell] = at
                    rows[at] = row
                    cells[at] = cell
                    masks[at] = bit
                    at += 1
    return at
