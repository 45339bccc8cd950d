"""Access by values to the rows of one relation on their way into a store, which does not have them by these values.

A base table is asked by its keys, a derived relation by what leads to its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TypeAlias

import numpy as np

from livejoin.dataflow.batches import Rows, ones
from livejoin.dataflow.reading.access import NoAccess, Read
from livejoin.dataflow.reading.same_values import with_values
from livejoin.plan.operators import SelectedOperator
from livejoin.schema import Table
from livejoin.state.table import BaseTable
from livejoin.words import Words

Chosen: TypeAlias = tuple[Rows, "Words | None"]
"""The outputs for the rows of a batch that are selected, and the places of these; None if these are all."""


class SelectedAccess(NoAccess):
    """The selected rows of one relation. Cost: by values O(1) with a key of the table, else that of the relation's.

    Args:
        plan: The operator of the selection.
        source: The base table, or the derived relation.
        of_ids: Selects among rows of the table, by their ids.
        of_rows: Selects among rows of the relation.
    """

    def __init__(
        self,
        plan: SelectedOperator,
        source: BaseTable | Read,
        of_ids: Callable[[Words], Chosen],
        of_rows: Callable[[Rows], Chosen],
    ) -> None:
        super().__init__("rows that go into a store are read from there")
        self._plan, self._source, self._of_ids, self._of_rows = plan, source, of_ids, of_rows

    def leads(self, columns: Set[int]) -> bool:
        copied = self._copied(sorted(columns)).keys()
        if isinstance(self._source, BaseTable):
            return _key_among(copied, self._source.table) is not None
        return self._source.access().leads(copied)

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        copied, source = self._copied(columns), self._source
        if isinstance(source, BaseTable):
            key = _key_among(copied.keys(), source.table)
            assert key is not None, "somebody asked whether the columns lead there"
            ids = source.find_key(given.matrix([copied[column] for column in key]), key)
            places = np.flatnonzero(ids >= 0)
            times = ones(places.shape[0])
            rows, kept = self._of_ids(ids[places])
        else:
            asked = given.select(list(copied.values()))
            found, times, places = source.access().rows_with(list(copied), asked)
            rows, kept = self._of_rows(found)
        if kept is not None:
            times, places = times[kept], places[kept]
        same = with_values(rows, places, columns, given)
        return rows.take(same), times[same], places[same]

    def _copied(self, columns: Sequence[int]) -> dict[int, int]:
        """The columns of the relation that some columns are copies of, and where each of these stands among them."""
        query = self._plan.query
        sources = {i: query.outputs[column].source for i, column in enumerate(columns)}
        return {query.head[source].column: i for i, source in sources.items() if isinstance(source, int)}


def _key_among(columns: Set[int], table: Table) -> tuple[int, ...] | None:
    """A key of a table that is among some of its columns, by which its rows are found; None if there is none."""
    if table.retain == "used" or table.is_trusted:
        return None
    return next((key for key in table.keys if columns >= set(key)), None)
