"""Access to the results of a join in cells: each cell has the results with its values of the partition variable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from livejoin.families.cells.rounds import Places
from livejoin.families.join_access import Found, JoinAccess, RowLists, Values
from livejoin.families.sizes import exactly
from livejoin.words import Words


class CellAccess:
    """The results of all cells, in the order of `livejoin.families.cells.rounds`.

    Args:
        parts: Access to those of each cell.
    """

    def __init__(self, parts: Sequence[JoinAccess]) -> None:
        self._parts = parts
        self.needed = parts[0].needed

    @cached_property
    def _totals(self) -> list[int]:
        """The results of each cell."""
        return [part.total() for part in self._parts]

    @cached_property
    def _places(self) -> Places:
        """Where they stand in the whole."""
        self.total()  # refuses what 64 bits do not count
        return Places(self._totals)

    def total(self) -> int:
        return exactly(sum(self._totals))

    def results(self, ranks: Words) -> Words:
        cells, inner = self._places.of(ranks)
        order = np.argsort(cells, kind="stable")
        pieces = [part.results(inner[cells == number]) for number, part in enumerate(self._parts)]
        whole = np.concatenate(pieces, axis=1)
        found = np.empty_like(whole)
        found[:, order] = whole
        return found

    def find(self, values: Values, length: int) -> Found:
        found = self._parts[0].find(values, length)
        for part in self._parts[1:]:
            more = part.find(values, length)
            there = more.times > 0
            known = {name: np.where(there, line, found.values[name]) for name, line in more.values.items()}
            annotations = np.where(there, more.annotations, found.annotations)
            found = Found(found.times + more.times, annotations, known)
        return found

    def lists(self, atom: int) -> tuple[tuple[str, ...], ...]:
        """As `livejoin.families.join_access.RowLists`."""
        first = self._parts[0]
        return first.lists(atom) if isinstance(first, RowLists) else ()

    def rows_by(self, atom: int, variables: tuple[str, ...], given: Words) -> tuple[Words, Words]:
        """As `livejoin.families.join_access.RowLists`; a row that several cells have comes several times."""
        parts = [part.rows_by(atom, variables, given) for part in self._parts if isinstance(part, RowLists)]
        return np.concatenate([rows for rows, _ in parts], axis=1), np.concatenate([places for _, places in parts])
