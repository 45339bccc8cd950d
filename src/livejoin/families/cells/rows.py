"""The rows of a table as one cell of a join numbers them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livejoin.state.derived_rows import DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words

Numbers = npt.NDArray[np.int32]


class CellRows:
    """A table's index as one cell sees it, which numbers the rows that concern it by itself.

    Args:
        index: The table.
        homes: For each row of the table one more than its number in the cell, 0 if it has none.
    """

    def __init__(self, index: BaseTable | DerivedRows, homes: Numbers) -> None:
        self._index = index
        self._homes = homes

    @property
    def rows(self) -> int:
        """Distinct rows of the table."""
        return self._index.rows

    @property
    def total(self) -> int:
        """Rows of the table with multiplicities."""
        return self._index.total

    def find(self, values: Words) -> Words:
        """Numbers of given rows in the cell, -1 for those that are not there."""
        return self._numbers(self._index.find(values))

    def find_key(self, values: Words, key: tuple[int, ...] | None = None) -> Words:
        """Numbers of the rows with given keys, of the primary key for None; -1 for those that are not there."""
        assert isinstance(self._index, BaseTable), "a stored relation is found by all of its columns"
        return self._numbers(self._index.find_key(values, key))

    def _numbers(self, rows: Words) -> Words:
        numbers = np.full(rows.shape[0], -1)
        there = np.flatnonzero((rows >= 0) & (rows < self._homes.shape[0]))
        numbers[there] = self._homes[rows[there]] - 1
        return numbers
