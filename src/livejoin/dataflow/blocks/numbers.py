"""The whole numbers from 0 on, below a limit: what constant rows are computed from. They never change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from livejoin.dataflow.batches import Batches, Rows, ones
from livejoin.dataflow.blocks.block import Change, Wanted
from livejoin.dataflow.blocks.stateless import Stateless
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.numbers_access import NumbersAccess
from livejoin.plan.operators import NumbersOperator
from livejoin.state.codec import Codec
from livejoin.words import Words


class NumbersBlock(Stateless):
    """Numbers; as `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: How many.
        codec: The database's codec.
    """

    def __init__(self, plan: NumbersOperator, codec: Codec) -> None:
        self._plan = plan
        self._codec = codec

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        return None

    def scan(self, capacity: int) -> Batches:
        for begin in range(0, self._plan.count, capacity):
            rows = self._rows(np.arange(begin, min(begin + capacity, self._plan.count)))
            yield rows, ones(rows.length)

    def combinations(self, capacity: int) -> Batches:
        return self.scan(capacity)

    def size(self) -> int | float:
        return self._plan.count

    def access(self) -> Access:
        return NumbersAccess(self._plan.count, self._rows)

    def _rows(self, numbers: Words) -> Rows:
        return Rows(self._codec, self._plan.types, [numbers], numbers.shape[0])
