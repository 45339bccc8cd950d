"""Rows of a table to cells, as a dispatch says: the dispatch, laid out for one table and the kernel that sends.

Law: what a row is sent to is a function of its values in the columns of its atoms; equal rows go to the same cells. A
row goes to as many cells as the dispatch needs of it, once to each, with the bits of the atoms that it is a row of
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import UnknownNameError
from livejoin.kernels import dispatch as kernel
from livejoin.kernels.values.hashes import place_hashes
from livejoin.plan.dispatch.dispatch import Dispatch
from livejoin.plan.dispatch.hashing import Valid, value_hashes
from livejoin.schema import Table
from livejoin.theory.hypercube.frequencies import Hashes
from livejoin.theory.hypercube.grid import EVERYTHING, Grid
from livejoin.words import Words

_STEP = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Sent:
    """Where rows go: three arrays of one length, in the order of the rows.

    Args:
        rows: Positions of rows; one stands there as often as it is sent, and not at all if it is sent nowhere.
        cells: The cell.
        masks: Bit i is set if the row is one of atom i there.
    """

    rows: Words
    cells: Words
    masks: Words


class Router:
    """Sends the rows of one table; a cache of what the dispatch says of it.

    Args:
        dispatch: The dispatch.
        table: The declaration of a table of the query.

    Raises:
        UnknownNameError: No atom of the query is over the table.

    Attributes:
        columns: Positions of the columns that say where a row goes, ascending; others are not looked at.
    """

    def __init__(self, dispatch: Dispatch, table: Table) -> None:
        self.dispatch = dispatch
        self.table = table
        self._atoms = [(i, a) for i, a in enumerate(dispatch.atoms) if a.table.lower() == table.name.lower()]
        if not self._atoms:
            names = ", ".join(dict.fromkeys(atom.table for atom in dispatch.atoms))
            msg = f"the dispatch has no atom over the table {table.name!r}; its tables are {names}"
            raise UnknownNameError(msg)
        self._heavy = {v: _values_of(dispatch.grids, v) for v in dispatch.dimensions}
        self._groups: dict[tuple[int, str], int] = {}  # lines of a column's values by the heavy values of a variable
        self._places: dict[tuple[int, str], int] = {}  # lines of a column's values along a variable
        self._conditions: list[tuple[int, int]] = []
        self._allowed: list[bool] = []
        self._dimensions: list[tuple[int, int, int]] = []
        self._offsets: list[Words] = []
        routes = [self._route(line, grid) for line in range(len(self._atoms)) for grid in dispatch.grids]
        self._plan = kernel.Routes(
            np.array(routes, np.int64).reshape(-1, kernel.ROUTE_FIELDS),
            np.array(self._conditions, np.int64).reshape(-1, kernel.CONDITION_FIELDS),
            np.array(self._allowed, np.bool_),
            np.array(self._dimensions, np.int64).reshape(-1, kernel.DIMENSION_FIELDS),
            np.concatenate(self._offsets),
        )
        read = {column for column, _ in (*self._groups, *self._places)}
        self.columns = tuple(sorted(read.union(*(atom.required for _, atom in self._atoms))))

    def send(self, columns: Sequence[pa.Array | pa.ChunkedArray] | pa.Table, passing: Words | None = None) -> Sent:
        """Where rows go.

        Args:
            columns: The columns of the table in their order, as Arrow has them; those in ``columns`` are looked at.
            passing: For each row the bits of the atoms whose predicates it passes, the same for its insertion and its
                deletion; None for all of them.

        Cost: O(values + rows * atoms * grids + places that rows are sent to).
        """
        given = columns.columns if isinstance(columns, pa.Table) else columns
        length = len(given[0])
        hashed = {c: value_hashes(given[c], self.table.columns[c].type) for c in self.columns}
        takes = self._taking(hashed, length)
        groups = np.empty((len(self._groups), length), np.int64)
        places = np.empty((len(self._places), length), np.uint64)
        for (column, variable), line in self._groups.items():
            groups[line] = _group(hashed[column][0], self._heavy[variable])
        for (column, variable), line in self._places.items():
            place_hashes(hashed[column][0], self._salt(variable), places[line])
        passing = np.full(length, -1, np.int64) if passing is None else passing
        most = kernel.count(self._plan, takes, passing)
        sent = np.empty((kernel.SENT_FIELDS, most), np.int64)
        seen = np.full(self.dispatch.cells, -1)
        found = kernel.send(self._plan, takes, groups, places, passing, seen, sent)
        return Sent(*sent[:, :found])

    def _taking(self, hashed: dict[int, tuple[Hashes, Valid | None]], length: int) -> npt.NDArray[np.bool_]:
        """Which rows have no NULL where an atom wants none."""
        takes = np.ones((len(self._atoms), length), np.bool_)
        for line, (_, atom) in enumerate(self._atoms):
            for column in atom.required:
                valid = hashed[column][1]
                if valid is not None:
                    takes[line] &= valid
        return takes

    def _salt(self, variable: str) -> np.uint64:
        """What sets the places of values along a variable apart from those along others."""
        dimension = self.dispatch.dimensions.index(variable) + len(self.dispatch.dimensions) * self.dispatch.salt
        return np.uint64((dimension + 1) * _STEP % (1 << 64))

    def _route(self, line: int, grid: Grid) -> list[int]:
        """A grid as an atom sees it."""
        position, atom = self._atoms[line]
        columns = dict(atom.columns)
        first_condition, first_dimension = len(self._conditions), len(self._dimensions)
        for variable, said in grid.box.items():
            if variable in columns and said != EVERYTHING:
                known = self._groups.setdefault((columns[variable], variable), len(self._groups))
                self._conditions.append((known, len(self._allowed)))
                values = set(said.values)
                self._allowed += [not said.inside, *((int(v) in values) == said.inside for v in self._heavy[variable])]
        open_ways = []
        for variable, share in grid.shares.items():
            stride = grid.strides[variable]
            if variable in columns:
                known = self._places.setdefault((columns[variable], variable), len(self._places))
                self._dimensions.append((known, share, stride))
            else:
                open_ways.append(range(0, share * stride, stride))
        offsets = np.array([sum(way) for way in product(*open_ways)], np.int64)
        begin = sum(len(part) for part in self._offsets)
        self._offsets.append(offsets)
        ends = (first_condition, len(self._conditions), first_dimension, len(self._dimensions))
        return [1 << position, line, *ends, begin, begin + len(offsets), grid.first]


def _values_of(grids: Sequence[Grid], variable: str) -> Hashes:
    """The values of a variable that some grid names, ascending."""
    values = {value for grid in grids if variable in grid.box for value in grid.box[variable].values}
    return np.array(sorted(values), np.uint64)


def _group(hashes: Hashes, heavy: Hashes) -> Words:
    """Which of the heavy values each value is; -1 for none."""
    places = np.minimum(np.searchsorted(heavy, hashes), len(heavy) - 1)
    return np.where(heavy[places] == hashes, places, -1)
