"""Each row of a relation several times, with numbers from 0 on: what a row that gives several is computed from.

    window(ts, '10 minutes', '5 minutes')  =  Project (start = last start - number * 5 minutes)
                                                Repeated (2)
                                                  the rows

A row keeps its weight, and its deletion deletes all copies. Nothing is kept. Cost: a change of a row is one for each
copy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from livejoin.dataflow.batches import Batches, Delta, Rows
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted
from livejoin.dataflow.blocks.stateless import Stateless
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.repeated_access import RepeatedAccess
from livejoin.families.sizes import MAX_COUNT
from livejoin.plan.operators import RepeatedOperator
from livejoin.state.codec import Codec
from livejoin.words import Words


class RepeatedBlock(Stateless):
    """Rows that stand there several times; as `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: How often.
        below: The relation.
        codec: The database's codec.
    """

    def __init__(self, plan: RepeatedOperator, below: InputRelation, codec: Codec) -> None:
        self._plan = plan
        self._below = below
        self._codec = codec

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        if not (wanted.rows or wanted.tables):
            return None
        delta, count = inputs[0].delta(), self._plan.count
        rows = self._copies(delta.rows)
        weights, versions = np.repeat(delta.weights, count), np.repeat(delta.versions, count)
        return RowChange(Delta(rows, weights, versions, None, delta.hidden))

    def scan(self, capacity: int) -> Batches:
        """The rows with number 0, then those with number 1, and so on, so that ranks are those below."""
        for number in range(self._plan.count):
            for rows, weights in self._below.scan(capacity):
                yield self._numbered(rows, np.full(rows.length, number)), weights

    def combinations(self, capacity: int) -> Batches:
        for rows, weights in self._below.combinations(max(1, capacity // self._plan.count)):
            copies, all_weights = self._copies(rows), np.repeat(weights, self._plan.count)
            for begin in range(0, copies.length, capacity):
                yield copies.slice(begin, begin + capacity), all_weights[begin : begin + capacity]

    def size(self) -> int | float:
        size = self._below.size() * self._plan.count
        return float(size) if size > MAX_COUNT else size

    def access(self) -> Access:
        return RepeatedAccess(self._below.access(), self._plan.count, len(self._plan.input.types), self._numbered)

    def _copies(self, rows: Rows) -> Rows:
        """All copies of each row, one row after the other."""
        count = self._plan.count
        several = rows.take(np.repeat(np.arange(rows.length), count))
        return self._numbered(several, np.tile(np.arange(count), rows.length))

    def _numbered(self, rows: Rows, numbers: Words) -> Rows:
        columns = [rows.column(place) for place in range(len(rows.types))]
        return Rows(self._codec, self._plan.types, [*columns, numbers], rows.length)
