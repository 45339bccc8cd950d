"""What is known of a table's values before its rows are sent to cells: a sample of its rows, or of its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from livejoin.plan.dispatch.atoms import RoutedAtom
from livejoin.plan.dispatch.hashing import Valid, value_hashes
from livejoin.schema import Table
from livejoin.shown import shown_scalar
from livejoin.theory.hypercube.frequencies import Frequencies, Hashes

SAMPLE = 1 << 17
"""Rows of a sample at most: a value that one row in 4,000 has is in it some 30 times."""


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows of a table, drawn with equal chances.

    Args:
        table: The declaration.
        rows: The rows that were drawn: the table's columns, in order.
        total: How many rows or changes they were drawn from.
    """

    table: Table
    rows: pa.Table
    total: int
    _hashes: dict[int, tuple[Hashes, Valid | None]] = field(default_factory=dict, repr=False)

    @property
    def whole(self) -> bool:
        """Whether all rows were drawn."""
        return bool(self.rows.num_rows == self.total)

    def hashes(self, column: int) -> tuple[Hashes, Valid | None]:
        """The hashes of a column's values, and which are not NULL; computed once."""
        if column not in self._hashes:
            self._hashes[column] = value_hashes(self.rows.column(column), self.table.columns[column].type)
        return self._hashes[column]

    def frequencies(self, atom: RoutedAtom, variables: Sequence[str]) -> Frequencies:
        """What is known of an atom over the table: of its rows that may take part, and the variables that are asked."""
        takes = np.ones(self.rows.num_rows, np.bool_)
        for column in atom.required:
            valid = self.hashes(column)[1]
            takes = takes if valid is None else takes & valid
        share = float(takes.mean()) if len(takes) else 1.0
        hashes = {v: self.hashes(column)[0][takes] for v, column in atom.columns if v in variables}
        return Frequencies(self.total * share, hashes, self.whole)

    def shown(self, column: int, value: int) -> str | None:
        """A value of a column by its hash; None if it is not in the sample."""
        places = np.flatnonzero(self.hashes(column)[0] == np.uint64(value))
        return shown_scalar(self.rows.column(column)[int(places[0])]) if len(places) else None


def sampled(table: Table, rows: pa.Table, total: int | None = None, most: int = SAMPLE) -> TableSample:
    """A sample of rows.

    Args:
        table: The declaration.
        rows: The table's columns, found by their names without regard to case; others are passed over.
        total: How many rows these are drawn from, if they are a sample already.
        most: How many to draw at most.

    Cost: O(rows drawn).
    """
    names: Mapping[str, int] = {name.lower(): place for place, name in enumerate(rows.column_names)}
    found = rows.select([names[column.name.lower()] for column in table.columns])
    count = found.num_rows
    if count > most:
        drawn = np.sort(np.random.default_rng(count).choice(count, most, replace=False))
        found = found.take(pa.array(drawn))
    return TableSample(table, found.combine_chunks(), count if total is None else total)
