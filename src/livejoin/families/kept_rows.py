"""The rows that a join keeps of a table of which it leaves some out for good."""

from __future__ import annotations

import numpy as np

from livejoin.state.budget import Budget
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words


class KeptRows:
    """The rows of a table that one join keeps, numbered by their places among them.

    It is the table's index by these numbers, as `livejoin.families.cells.rows.CellRows` is that of a cell.

    Args:
        index: The table.
        ids: The ids of the rows, ascending.
        budget: The memory of the database.
    """

    def __init__(self, index: BaseTable | DerivedRows, ids: Words, budget: Budget) -> None:
        self._index = index
        self.ids = ids
        budget.register(self)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.ids.nbytes

    def numbers(self, rows: Words) -> Words:
        """The numbers of rows, -1 for those that are left out."""
        places = np.searchsorted(self.ids, rows)
        places[places == self.ids.shape[0]] = 0
        return np.where(self.ids[places] == rows, places, -1) if self.ids.shape[0] else np.full(rows.shape, -1)

    def find(self, values: Words) -> Words:
        """Numbers of given rows, -1 for those that are not there or left out."""
        return self.numbers(self._index.find(values))

    def find_key(self, values: Words, key: tuple[int, ...] | None = None) -> Words:
        """Numbers of the rows with given keys, of the primary key for None; -1 for those that are not there."""
        assert isinstance(self._index, BaseTable), "a stored relation is found by all of its columns"
        return self.numbers(self._index.find_key(values, key))
