"""Asserts that a state is the T-representation of its base rows, by DYN's definitions 4.6 and 4.8; slow, for tests.

``Lambda``, ``Psi`` and ``Gamma`` of every node are computed from the records as the definition says, bottom-up, with
unbounded integers. Then every GMR, every index and every word of the arena is compared.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from livejoin.families.arena.checks import block_span, check_tiling, directory_spans, record_spans
from livejoin.kernels.dyn import layout as y
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.dyn.plan import DynPlan

Tuple = tuple[int, ...]
Value = tuple[int, ...]  # a multiplicity, or the components of an annotation

_WORD = 1 << 64


def check(plan: DynPlan, arena: Words) -> None:
    """Assert all invariants of an arena; O(state) Python steps."""
    state = State(plan, arena)
    for index in reversed(range(len(plan.nodes))):
        state.define(index)
    for index in range(len(plan.nodes)):
        state.check_keys(index)
        if plan.nodes[index].atom is None:
            state.check_hyperedge(index)
    state.check_header()
    state.check_memory()


@dataclass
class State:
    """The definition's relations beside the arena."""

    plan: DynPlan
    m: Words
    live: dict[int, dict[int, Value]] = field(default_factory=dict)  # Lambda_n by tuple reference
    psi: dict[int, dict[Tuple, Value]] = field(default_factory=dict)
    groups: dict[int, dict[Tuple, set[int]]] = field(default_factory=dict)  # live tuples by key
    gamma: dict[int, set[int]] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list)

    def node(self, index: int, name: int) -> int:
        """A word of a node's descriptor."""
        return int(self.plan.words[self.plan.node_offsets[index] + name])

    def word(self, at: int) -> int:
        """A word of the arena."""
        return int(self.m[at])

    def pair(self, at: int) -> tuple[int, int]:
        """The two halves of a word."""
        word = self.word(at) % _WORD
        return word >> 32, word & k.MASK32

    @property
    def slot(self) -> int:
        """Words of a slot."""
        return int(self.plan.words[y.P_SLOT])

    @property
    def widths(self) -> list[int]:
        """Words of each component of an annotation."""
        at = int(self.plan.words[q.P_WIDTHS])
        return [int(w) for w in self.plan.words[at : at + int(self.plan.words[q.P_COMPONENTS])]]

    def values(self, row: int, offsets: int, width: int) -> Tuple:
        """A tuple's words at listed offsets."""
        return tuple(self.word(row + int(o)) for o in self.plan.words[offsets : offsets + width])

    def key(self, index: int, row: int) -> Tuple:
        """The key of a node's tuple."""
        return self.values(row, self.node(index, y.N_KEY), self.node(index, y.N_KEY_WIDTH))

    def block(self, holder: int, length: int) -> list[int]:
        """The references in a block."""
        self.blocks.append(holder)
        word = self.word(holder)
        assert (word != 0) == (length > 0), "a block is there if and only if it is needed"
        assert length <= 1 << (word >> k.CLASS_SHIFT), "a block holds its tuples"
        at = word & k.REF_MASK
        return [self.word(at + i) for i in range(length)]

    def entries(self, directory: int) -> list[int]:
        """All entries of a directory."""
        slots, log = self.word(directory + k.D_SLOTS), self.word(directory + k.D_LOG)
        return [int(w) & k.MASK32 for w in self.m[slots : slots + (1 << log)] if w != 0]

    def records(self, table: int) -> list[int]:
        """All records of a table."""
        use = self.plan.tables[table]
        header = int(self.plan.words[int(self.plan.words[q.P_FIRST_TABLE]) + table * q.PLAN_TABLE + q.PT_HEADER])
        chunks, count = self.word(header + q.T_CHUNKS), self.word(header + q.T_COUNT)
        return [self.word(chunks + c) + i * use.stride for c in range(count) for i in range(q.CHUNK_ROWS)]

    def stored(self, at: int) -> Value:
        """The components stored at a reference."""
        components = []
        for width in self.widths:
            components.append(sum((self.word(at + i) % _WORD) << (64 * i) for i in range(width)))
            at += width
        return tuple(components)

    def define(self, index: int) -> None:
        """``Lambda_n`` and ``Psi_n`` of a node, and ``Gamma_n`` of a hyperedge, from those of its children."""
        live = self._hyperedge(index) if self.plan.nodes[index].atom is None else self._atom(index)
        psi: dict[Tuple, Value] = {}
        groups: dict[Tuple, set[int]] = defaultdict(set)
        nothing = (0,) * len(self.widths)
        for row, value in live.items():
            key = self.key(index, row)
            psi[key] = self.modulo(a + b for a, b in zip(psi.get(key, nothing), value, strict=True))
            groups[key].add(row)
        self.live[index], self.psi[index], self.groups[index] = live, psi, dict(groups)

    def modulo(self, components: object) -> Value:
        """Components modulo their width."""
        assert hasattr(components, "__iter__")
        return tuple(c % (1 << (64 * w)) for c, w in zip(components, self.widths, strict=True))

    def _atom(self, index: int) -> dict[int, Value]:
        live = {}
        starts = [sum(self.widths[:i]) for i in range(len(self.widths))]
        for row in self.records(self.node(index, y.N_TABLE)):
            times = self.word(row + self.node(index, y.N_VALUE))
            assert times >= 0, "multiplicities"
            assert (times > 0) == (self.word(row + self.node(index, y.N_UP)) != 0), "a row is live while it is there"
            assert self.word(row + self.node(index, y.N_PENDING)) == 0, "no batch is half applied"
            if times:
                value = [times] * len(self.widths)
                at = self.node(index, y.N_FACTOR_LIST)
                for _ in range(self.node(index, y.N_FACTORS)):
                    start, _, offset = (int(w) for w in self.plan.words[at : at + 3])
                    value[starts.index(start)] *= self.word(row + offset)
                    at += 3
                live[row] = self.modulo(value)
        return live

    def _hyperedge(self, index: int) -> dict[int, Value]:
        node = self.plan.nodes[index]
        guards = node.children[: node.guards]
        live: dict[int, Value] = {}
        gamma = set()
        for row in self.entries(self.node(index, y.N_ROWS_DIRECTORY)):
            at = row + self.node(index, y.N_ROWS_KEY)
            own = tuple(self.word(at + i) for i in range(len(node.variables)))
            assert any(own in self.psi[c] for c in guards), "a tuple is there because of some guard"
            if all(own in self.psi[c] for c in guards):
                gamma.add(row)
                keys = [
                    self.values(row, self.node(c, y.N_PARENT_KEY), self.node(c, y.N_KEY_WIDTH)) for c in node.children
                ]
                if all(key in self.psi[c] for c, key in zip(node.children, keys, strict=True)):
                    value = (1,) * len(self.widths)
                    for c, key in zip(node.children, keys, strict=True):
                        value = self.modulo(a * b for a, b in zip(value, self.psi[c][key], strict=True))
                    live[row] = value
        self.gamma[index] = gamma
        return live

    def slots(self, index: int) -> dict[Tuple, int]:
        """The slots of a node by their keys."""
        if self.plan.nodes[index].parent is None:
            return {(): y.ROOT}
        at, width = self.node(index, y.N_ENTRY_KEY), self.node(index, y.N_KEY_WIDTH)
        shift = self.slot * self.node(index, y.N_INDEX) if self.node(index, y.N_IS_GUARD) else 0
        found = {}
        for entry in self.entries(self.node(index, y.N_DIRECTORY)):
            key = tuple(self.word(entry + at + i) for i in range(width))
            assert key not in found, "one entry a key"
            found[key] = entry + shift
        return found

    def check_keys(self, index: int) -> None:
        """The index of ``Lambda_n`` and the GMR ``Psi_n``; of a child without guard also the index of ``Gamma``."""
        slots = self.slots(index)
        groups = self.groups[index]
        assert groups.keys() <= slots.keys(), "every key of Psi is there"
        linked = self.plan.nodes[index].parent is not None and not self.node(index, y.N_IS_GUARD)
        parents = self._parents(index) if linked else {}
        if linked:
            assert slots.keys() == groups.keys() | parents.keys(), "no entry without tuples and parents"
        for key, slot in slots.items():
            rows = self.block(slot + y.SLOT_BLOCK, self.word(slot + y.SLOT_LEN))
            assert set(rows) == groups.get(key, set()) and len(rows) == len(set(rows)), "the live tuples of a key"
            assert [self.pair(row + self.node(index, y.N_UP)) for row in rows] == [
                (slot, i) for i in range(len(rows))
            ], "a live tuple knows its place"
            expected = self.psi[index].get(key, (0,) * len(self.widths))
            assert self.stored(slot + y.SLOT_VALUE) == expected, "Psi of a key"
            assert self.word(slot + y.SLOT_PENDING) == 0, "no batch is half applied"
            if linked:
                found = self.block(slot + self.slot + 1, self.word(slot + self.slot))
                assert set(found) == parents.get(key, set()) and len(found) == len(set(found)), "Gamma by a child's key"
                at = self._link(index)
                assert [self.pair(row + at) for row in found] == [(slot, i) for i in range(len(found))], "LINK"

    def _link(self, index: int) -> int:
        parent = self.plan.nodes[index].parent
        assert parent is not None
        return self.node(parent, y.N_LINK) + self.node(index, y.N_INDEX)

    def _parents(self, index: int) -> dict[Tuple, set[int]]:
        """The parent's ``Gamma`` by a child's key."""
        parent = self.plan.nodes[index].parent
        assert parent is not None
        found: dict[Tuple, set[int]] = defaultdict(set)
        for row in self.gamma[parent]:
            found[self.values(row, self.node(index, y.N_PARENT_KEY), self.node(index, y.N_KEY_WIDTH))].add(row)
        return dict(found)

    def check_hyperedge(self, index: int) -> None:
        """The GMR ``Lambda_n`` of a hyperedge, and that tuples outside of ``Gamma_n`` are in no index of it."""
        node = self.plan.nodes[index]
        for row in self.entries(self.node(index, y.N_ROWS_DIRECTORY)):
            value = self.live[index].get(row)
            assert (self.word(row + self.node(index, y.N_UP)) != 0) == (value is not None), "a tuple is live"
            expected = (0,) * len(self.widths) if value is None else value
            assert self.stored(row + self.node(index, y.N_VALUE)) == expected, "Lambda of a tuple"
            assert self.word(row + self.node(index, y.N_PENDING)) == 0, "no batch is half applied"
            for c in range(node.guards, len(node.children)):
                linked = self.word(row + self.node(index, y.N_LINK) + c) != 0
                assert linked == (row in self.gamma[index]), "a tuple is linked while it is in Gamma"

    def check_header(self) -> None:
        """Counters of the header."""
        atoms = [(i, rows) for i, rows in self.live.items() if self.plan.nodes[i].atom is not None]
        times = [self.word(row + self.node(i, y.N_VALUE)) for i, rows in atoms for row in rows]
        assert self.word(q.H_REGISTERED) == len(times), "registered atom rows"
        assert self.word(q.H_DUPLICATES) == sum(t > 1 for t in times), "rows with multiplicity above one"
        assert self.word(q.H_PHASE) == y.PROPAGATE and self.word(q.H_ATOM) == 0, "no batch is half applied"

    def check_memory(self) -> None:
        """Every word below the bump pointer belongs to exactly one thing."""
        spans = list(record_spans(self.plan, self.m))
        sizes = {
            self.node(i, y.N_DIRECTORY): self.node(i, y.N_ENTRY)
            for i, node in enumerate(self.plan.nodes)
            if node.parent is not None
        }
        for directory, size in sizes.items():
            entries = self.entries(directory)
            assert len(entries) == self.word(directory + k.D_COUNT), "entries are counted"
            spans += directory_spans(self.m, directory, entries, size)
        words = [self.word(holder) for holder in self.blocks]
        spans += [block_span(w) for w in words if w]
        check_tiling(self.m, spans)
