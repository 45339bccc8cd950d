"""Expressions over the rows of a relation, for those that a condition is true for; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping

from livejoin.dataflow.batches import Batches, Delta
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted
from livejoin.dataflow.blocks.stateless import Stateless
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.projection import Projection
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.project_access import ProjectAccess
from livejoin.families.sizes import MAX_COUNT, whole_sum
from livejoin.plan.operators import ProjectOperator
from livejoin.state.codec import Codec


class ProjectBlock(Stateless):
    """A projection; as `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: The operator: expressions and condition.
        below: The relation.
        codec: The database's codec.
    """

    def __init__(self, plan: ProjectOperator, below: InputRelation, codec: Codec) -> None:
        self._plan = plan
        self._below = below
        self._codec = codec
        self._computation = Projection(plan, codec)
        self._hides = plan.input.replaced_by is not None and plan.replaced_by is None

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        if not (wanted.rows or wanted.tables):
            return None
        delta = inputs[0].delta()
        rows, kept = self._computation.made(delta.rows)
        hidden = delta.hidden or self._hides
        if kept is None:
            return RowChange(Delta(rows, delta.weights, delta.versions, delta.pairs, hidden))
        pairs = None if delta.pairs is None else delta.pairs[kept]
        return RowChange(Delta(rows, delta.weights[kept], delta.versions[kept], pairs, hidden))

    def scan(self, capacity: int) -> Batches:
        return self._computed(self._below.scan(capacity))

    def combinations(self, capacity: int) -> Batches:
        return self._computed(self._below.combinations(capacity))

    def _computed(self, batches: Batches) -> Batches:
        for rows, weights in batches:
            computed, kept = self._computation.rows(rows)
            yield computed, weights[kept]

    def size(self) -> int | float:
        if self._plan.predicate is None:
            return self._below.size()
        below = self._below.combinations(1 << 16)
        total = sum(whole_sum(weights[self._computation.kept(rows)]) for rows, weights in below)
        return float(total) if total > MAX_COUNT else total

    def access(self) -> Access:
        return ProjectAccess(self._plan, self._computation, self._codec, self._below.access(), self._below.scan)
