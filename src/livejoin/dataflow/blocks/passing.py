"""How many of the rows that come to a join take part in some atom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livejoin.families.events import TableEvents
from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery
from livejoin.words import WORD_BYTES

_NUMBERED = 8.0  # bytes that numbering takes for each row of a table: its number, and a place for one that is free
_PERIOD = 10_000  # rows that come between two looks
_SMALL = 64  # events of a commit, below which one of `_SAMPLED` commits stands for all
_SAMPLED = 16


class Passing:
    """The rows that came to each table of a join, and those of them that took part; mutable.

    Args:
        query: The join's query.
        uses: How its program uses the tables.

    Attributes:
        may_lack: Of each table whether rows may take part in nothing; only these are counted.
    """

    def __init__(self, query: ConjunctiveQuery, uses: Sequence[TableUse]) -> None:
        self._bytes = [WORD_BYTES * use.stride for use in uses]
        self.may_lack = [all(_may_lack(query, atom) for atom in use.atoms) for use in uses]
        self._came = [0] * len(uses)
        self._took_part = [0] * len(uses)
        self._since = 0
        self._small = -1

    def note(self, position: int, events: TableEvents) -> None:
        """Count the rows that come to a table of which some may take part in nothing; O(events).

        Of small commits some are counted: counting takes three microseconds, a commit of one row 50.
        """
        if events.matrix.shape[1] < _SMALL:
            self._small += 1
            if self._small % _SAMPLED:
                return
        came = events.weights > 0
        number = int(np.count_nonzero(came))
        self._came[position] += number
        self._took_part[position] += int(np.count_nonzero(events.masks[came]))
        self._since += number

    def is_due(self) -> bool:
        """Whether so many rows have come since this was true last that it is worth looking again."""
        if self._since < _PERIOD:
            return False
        self._since = 0
        return True

    def wasted(self, rows: Sequence[int]) -> float:
        """About how many bytes records of rows that take part in nothing take, more than numbering the others would.

        Args:
            rows: The rows of each table.
        """
        total = 0.0
        for number, size, came, took_part in zip(rows, self._bytes, self._came, self._took_part, strict=True):
            total += number * (size * (1 - took_part / came if came else 0.0) - _NUMBERED)
        return total


def _may_lack(query: ConjunctiveQuery, position: int) -> bool:
    """Whether rows of a table may take no part in an atom over it."""
    atom = query.atoms[position]
    columns = (atom.table.columns[atom.column_of(variable)] for variable in query.join_variables(position))
    return atom.predicate is not None or any(column.nullable for column in columns)
