"""UNION ALL, which keeps nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livejoin.dataflow.batches import Batches, Delta, concatenate
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted
from livejoin.dataflow.blocks.stateless import Stateless
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access, UnionAccess


class UnionBlock(Stateless):
    """The rows of several relations, one after the other; as `livejoin.dataflow.blocks.block.Block`.

    Args:
        inputs: The relations; one may stand there several times.
    """

    def __init__(self, inputs: Sequence[InputRelation]) -> None:
        self._inputs = inputs

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        if not (wanted.rows or wanted.tables):
            return None
        parts = [inputs[place].delta() for place in sorted(inputs)]
        return RowChange(concatenate([Delta(part.rows, part.weights, part.versions) for part in parts]))

    def scan(self, capacity: int) -> Batches:
        for one in self._inputs:
            yield from one.scan(capacity)

    def combinations(self, capacity: int) -> Batches:
        for one in self._inputs:
            yield from one.combinations(capacity)

    def size(self) -> int | float:
        return sum(one.size() for one in self._inputs)

    def access(self) -> Access:
        return UnionAccess([one.access() for one in self._inputs])
