"""The join over bags: the joins inside the bags keep derived tables, the multiway join across them keeps the result.

    events -> BagJoin -> DerivedRows -> events of the derived table \\
    events of atoms that are bags by themselves -----------------> MultiwayJoin -> deltas

Law: as `MultiwayJoin`, of the whole query. Versions go through: what a version changes in a bag, net, becomes events of
that version across the bags. State: O(N^w) rows for bags of width w (CROWN, theorem 7.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.bags.bag_join import BagJoin
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.events import in_order
from livejoin.families.join import WholeJoin
from livejoin.families.join_access import JoinAccess, RowIndexes
from livejoin.kernels.memory import layout as k
from livejoin.state.derived_rows import DerivedRows
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.bags.plan import BaggedPlan, DerivedTable, Route


class BaggedJoin:
    """State and operations of one join maintained over bags; mutable. The same interface as `MultiwayJoin`.

    Args:
        plan: The plan.
    """

    def __init__(self, plan: BaggedPlan) -> None:
        self.plan = plan
        self.outer = plan.outer.open()
        self._bags = [_KeptBag(one) for one in plan.derived]

    def load(
        self,
        table: int,
        rows: Words,
        words: Words,
        stride: int,
        first: int,
        factors: Words | None = None,
        sources: Words | None = None,
    ) -> None:
        """Bring base rows' values into their records, before the events that name them; as `MultiwayJoin.load`."""
        values = np.empty((0, rows.shape[0]), np.int64) if factors is None else factors
        parts = [(self.outer.load, self.plan.routes), *((bag.join.load, bag.plan.routes) for bag in self._bags)]
        for load_part, routes in parts:
            for route in routes:
                if route.source == table:
                    own = np.ascontiguousarray(values[list(route.factors)])
                    load_part(route.target, rows, words, stride, first, own, sources)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events in order; as `MultiwayJoin.maintain`.

        Raises:
            CapacityError: A multiplicity or the state becomes too large; the state is of no use any more.
        """
        parts = [bag.changes(events, self.outer, capacity) for bag in self._bags]
        parts.append(self._routed(events))
        yield from self.outer.maintain(in_order(np.concatenate(parts, axis=1)), emit, capacity)
        for bag in self._bags:
            bag.table.finish()

    def scan(self, capacity: int) -> Iterator[Words]:
        """Full enumeration with constant delay; as `MultiwayJoin.scan`."""
        return self.outer.scan(capacity)

    def count(self) -> int:
        """Size of the result with multiplicities; as `MultiwayJoin.count`."""
        return self.outer.count()

    def size(self) -> int | float:
        """As `count`, but about and as a float where the size is beyond 64 bits."""
        return self.outer.size()

    @property
    def weighed(self) -> int:
        """As `MultiwayJoin.weighed`."""
        return self.outer.weighed

    @property
    def registered(self) -> int:
        """Rows in the state: those across the bags, those of the bags and the distinct ones of the atoms inside."""
        return self.outer.registered + sum(bag.join.registered for bag in self._bags)

    def counters(self) -> dict[str, int]:
        """Work done so far, as `MultiwayJoin.counters`; ``probes`` are those inside the bags too."""
        counters = self.outer.counters()
        counters["probes"] += sum(bag.join.probes for bag in self._bags)
        return counters

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        arrays = {f"outer.{name}": words for name, words in self.outer.arrays().items()}
        for i, bag in enumerate(self._bags):
            arrays |= {f"join{i}.{name}": words for name, words in bag.join.arrays().items()}
            arrays |= {f"bag{i}.{name}": words for name, words in bag.table.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join with the same plan."""
        self.outer.restore(_below("outer.", arrays))
        for i, bag in enumerate(self._bags):
            bag.join.restore(_below(f"join{i}.", arrays))
            bag.table.restore(_below(f"bag{i}.", arrays))

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out and bytes allocated."""
        used, capacity = self.outer.sizes()
        for bag in self._bags:
            used += bag.join.arena.used_bytes + bag.table.nbytes
            capacity += bag.join.arena.capacity_bytes + bag.table.nbytes
        return used, capacity

    @property
    def tables(self) -> dict[str, DerivedRows]:
        """The rows of the bags that are more than one atom, by the names that the plan across the bags has for them."""
        return {bag.plan.name: bag.table for bag in self._bags}

    def access(self, tables: RowIndexes) -> JoinAccess:
        """Access to the results as they are now: those of the join across the bags, which are tables to it."""
        return self.outer.access({**tables, **self.tables})

    def _routed(self, events: Words) -> Words:
        """The events of the atoms that are bags by themselves, as the outer plan calls tables and atoms."""
        routed = _routed(events, self.plan.routes)
        masks = np.zeros_like(routed[k.V_MASK])
        for atom, place in enumerate(self.plan.places):
            if place is not None:
                masks |= (routed[k.V_MASK] >> atom & 1) << place
        routed[k.V_MASK] = masks
        return routed

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        self.outer._check()
        for bag in self._bags:
            bag.join._check()
            bag.table._check()


class _KeptBag:
    """The join inside a bag and its rows."""

    def __init__(self, plan: DerivedTable) -> None:
        self.plan = plan
        self.join = BagJoin(plan.join, plan.title)
        self.table = DerivedRows(plan.columns, plan.title)

    def changes(self, events: Words, outer: WholeJoin, capacity: int | None) -> Words:
        """Apply events; those of the derived table, whose rows are loaded."""
        delta = self.join.maintain(_routed(events, self.plan.routes), capacity)
        values = delta.values if delta.values.shape[0] else np.zeros((1, delta.weights.shape[0]), np.int64)
        changed = self.table.apply(values, delta.weights, delta.versions)
        table, stride = self.table, self.table.stride
        factors = table.values_of(changed.rows)[list(self.plan.factors)]
        outer.load(self.plan.target, changed.rows, table.words, stride, 1, factors)
        matrix = np.empty((k.EVENT_FIELDS, changed.rows.shape[0]), np.int64)
        matrix[k.V_TABLE] = self.plan.target
        matrix[k.V_ROW] = changed.rows
        matrix[k.V_WEIGHT] = changed.weights
        matrix[k.V_MASK] = -1  # the one atom over the table takes every row
        matrix[k.V_VERSION] = changed.versions
        return matrix


def _routed(events: Words, routes: Sequence[Route]) -> Words:
    """The events of some tables, with the tables as the part of the plan calls them."""
    target = np.full(1 + int(events[k.V_TABLE].max(initial=0)), -1)
    for route in routes:
        if route.source < target.shape[0]:
            target[route.source] = route.target
    tables = target[events[k.V_TABLE]]
    chosen = events.compress(tables >= 0, axis=1)
    chosen[k.V_TABLE] = tables[tables >= 0]
    return chosen


def _below(prefix: str, arrays: Mapping[str, Words]) -> dict[str, Words]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): words for name, words in arrays.items() if name.startswith(prefix)}
