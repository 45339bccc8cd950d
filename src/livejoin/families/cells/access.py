"""Access to the results of a join in cells: each cell has the results with its values of the partition variable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from livejoin.families.join_access import JoinAccess, Values
from livejoin.families.sizes import exactly
from livejoin.words import Words


class CellAccess:
    """The results of all cells, one cell after the other.

    Args:
        parts: Access to those of each cell.
    """

    def __init__(self, parts: Sequence[JoinAccess]) -> None:
        self._parts = parts
        self.needed = parts[0].needed

    @cached_property
    def _ends(self) -> list[int]:
        """For each cell the results up to its last one."""
        ends = [0]
        for part in self._parts:
            ends.append(ends[-1] + part.total())
        exactly(ends[-1])
        return ends[1:]

    def total(self) -> int:
        return self._ends[-1]

    def results(self, ranks: Words) -> Words:
        cells = np.searchsorted(np.array(self._ends), ranks, side="right")
        order = np.argsort(cells, kind="stable")
        pieces = []
        for number, part in enumerate(self._parts):
            begin = self._ends[number] - part.total()
            pieces.append(part.results(ranks[cells == number] - begin))
        whole = np.concatenate(pieces, axis=1)
        found = np.empty_like(whole)
        found[:, order] = whole
        return found

    def find(self, values: Values, length: int) -> tuple[Words, Words]:
        times, annotations = self._parts[0].find(values, length)
        for part in self._parts[1:]:
            more, others = part.find(values, length)
            annotations = np.where(more > 0, others, annotations)
            times = times + more
        return times, annotations
