"""A query over bags at work without a database: its bags and the join across them, put together by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.families.bags.bag_query import BagQuery
from livejoin.families.bags.plan import Cut
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.events import in_order
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import Program
from livejoin.kernels.join import layout as q
from livejoin.query import Atom
from livejoin.state.derived_rows import DerivedRows
from livejoin.words import Words


@dataclass(frozen=True)
class Whole:
    """The base tables of a query over bags.

    Args:
        tables: How its parts use them together.
        live: Whether there are deltas.
    """

    tables: tuple[TableUse, ...]
    live: bool


class KeptBag:
    """The join inside a bag and its rows."""

    def __init__(self, bag: BagQuery) -> None:
        self.query = bag
        self.plan = bag.compile(None)
        name = f"the join inside of {bag.title}"
        self.join = self.plan.open(name)
        self.table = DerivedRows(len(bag.table.columns), name)


class BaggedJoin:
    """All parts at work; as a join in one piece.

    Args:
        cut: The query cut into bags.
        outer: The program across them.
    """

    def __init__(self, cut: Cut, outer: Program) -> None:
        self.bags = [KeptBag(bag) for bag in cut.derived]
        self.program = outer
        self.outer = outer.open()
        self._aliases = [atom.alias for atom in cut.query.atoms]
        derived = {bag.query.table.name for bag in self.bags}
        uses = [use for bag in self.bags for use in bag.plan.tables]
        uses += [use for use in outer.tables if use.name not in derived]
        tables = []
        for name in sorted({use.name for use in uses}):
            factors = dict.fromkeys(f for use in uses if use.name == name for f in use.factors)
            atoms = tuple(i for i, atom in enumerate(cut.query.atoms) if atom.table.name == name)
            tables.append(TableUse(name, (), atoms, 0, tuple(factors)))
        self.plan = Whole(tuple(tables), outer.live)

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """Bring base rows into all parts."""
        given = self.plan.tables[table]
        for part, uses in [(self.outer, self.program.tables), *((bag.join, bag.plan.tables) for bag in self.bags)]:
            for position, use in enumerate(uses):
                if use.name == given.name:
                    own = None if factors is None else factors[[given.factors.index(f) for f in use.factors]]
                    part.load(position, rows, words, stride, first, own)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events to the bags, and what changes there to the join across."""
        parts = [self._routed(events, self.program.tables, self.program.query.atoms)]
        for bag in self.bags:
            own = self._routed(events, bag.plan.tables, bag.query.query.atoms)
            delta = bag.join.maintain(own, capacity)
            changed = bag.table.apply(delta.values, delta.weights, delta.versions)
            target = next(i for i, use in enumerate(self.program.tables) if use.name == bag.query.table.name)
            names = [f.text.strip('"') for f in self.program.tables[target].factors]
            columns = [bag.query.table.position(name) for name in names]
            factors = bag.table.values_of(changed.rows)[columns]
            self.outer.load(target, changed.rows, bag.table.words, bag.table.stride, 1, factors)
            matrix = np.full((q.EVENT_FIELDS, changed.rows.shape[0]), -1)
            matrix[q.V_TABLE], matrix[q.V_ROW] = target, changed.rows
            matrix[q.V_WEIGHT], matrix[q.V_VERSION] = changed.weights, changed.versions
            parts.append(matrix)
        yield from self.outer.maintain(in_order(np.concatenate(parts, axis=1)), emit, capacity)
        for bag in self.bags:
            bag.table.finish()

    def _routed(self, events: Words, uses: Sequence[TableUse], atoms: Sequence[Atom]) -> Words:
        """The events of the base tables that a part reads, with tables and atoms as it calls them."""
        names = [use.name for use in uses]
        target = np.array([names.index(t.name) if t.name in names else -1 for t in self.plan.tables])
        routed = events.compress(target[events[q.V_TABLE]] >= 0, axis=1)
        routed[q.V_TABLE] = target[routed[q.V_TABLE]]
        masks = np.zeros_like(routed[q.V_MASK])
        for position, atom in enumerate(atoms):
            if atom.alias in self._aliases:
                masks |= (routed[q.V_MASK] >> self._aliases.index(atom.alias) & 1) << position
        routed[q.V_MASK] = masks
        return routed

    def scan(self, capacity: int) -> Iterator[Words]:
        """The result."""
        return self.outer.scan(capacity)

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.combinations`."""
        return self.outer.combinations(capacity)

    def count(self) -> int:
        """Its size."""
        return self.outer.count()

    @property
    def registered(self) -> int:
        """Atom rows in the state."""
        return self.outer.registered + sum(bag.join.registered for bag in self.bags)

    @property
    def probes(self) -> int:
        """Look-ups of keys so far."""
        return self.outer.counters()["probes"] + sum(bag.join.probes for bag in self.bags)

    def arrays(self) -> dict[str, Words]:
        """The state."""
        arrays = {f"outer.{name}": words for name, words in self.outer.arrays().items()}
        for i, bag in enumerate(self.bags):
            arrays |= {f"join{i}.{name}": words for name, words in bag.join.arrays().items()}
            arrays |= {f"rows{i}.{name}": words for name, words in bag.table.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join with the same plan."""

        def below(prefix: str) -> dict[str, Words]:
            return {name.removeprefix(prefix): words for name, words in arrays.items() if name.startswith(prefix)}

        self.outer.restore(below("outer."))
        for i, bag in enumerate(self.bags):
            bag.join.restore(below(f"join{i}."))
            bag.table.restore(below(f"rows{i}."))

    def _check(self) -> None:
        """Assert all invariants."""
        self.outer._check()
        for bag in self.bags:
            bag.join._check()
            bag.table._check()
