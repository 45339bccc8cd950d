"""Asserts that a chain of joins is what its definition says, by recomputing every store; slow, for tests.

The stores of the atoms follow from the records, and each join from the stores on its two sides. Then rows, supports,
multiplicities or annotations, indexes and every word of the arena are compared.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from livejoin.families.arena.checks import block_span, check_tiling, directory_spans, record_spans
from livejoin.kernels.chain import layout as j
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.chain.plan import ChainPlan

Tuple = tuple[int, ...]
Value = tuple[int, ...]
Contents = dict[Tuple, tuple[int, Value]]  # support, and the components of the multiplicity or annotation

_WORD = 1 << 64


def check(plan: ChainPlan, arena: Words) -> None:
    """Assert all invariants of an arena; O(state) Python steps."""
    state = State(plan, arena)
    atoms = len(plan.order)
    relations = [state.atom(number) for number in range(atoms)]
    for position in range(1, atoms):
        left = 0 if position == 1 else atoms + position - 2
        relations.append(state.join(left, position, relations))
    for number, relation in enumerate(relations):
        assert state.rows(number) == relation, "the rows of a store"
        state.check_index(number)
    times = state.multiplicities()
    assert state.word(q.H_REGISTERED) == sum(t > 0 for t in times), "registered atom rows"
    assert state.word(q.H_PHASE) == j.FRESH, "no batch is half applied"
    state.check_memory()


@dataclass
class State:
    """An arena as relations."""

    plan: ChainPlan
    m: Words
    blocks: list[int] = field(default_factory=list)

    def store(self, number: int, name: int) -> int:
        """A word of a store's descriptor."""
        return int(self.plan.words[self.plan.store_offsets[number] + name])

    def atom_word(self, number: int, name: int) -> int:
        """A word of an atom's descriptor."""
        return int(self.plan.words[self.plan.atom_offsets[number] + name])

    def listed(self, at: int, count: int) -> list[int]:
        """A list of the plan."""
        return [int(w) for w in self.plan.words[at : at + count]]

    def word(self, at: int) -> int:
        """A word of the arena."""
        return int(self.m[at])

    def pair(self, at: int) -> tuple[int, int]:
        """The two halves of a word."""
        word = self.word(at) % _WORD
        return word >> 32, word & k.MASK32

    @property
    def widths(self) -> list[int]:
        """Words of each component."""
        return self.listed(int(self.plan.words[q.P_WIDTHS]), int(self.plan.words[q.P_COMPONENTS]))

    def modulo(self, components: list[int]) -> Value:
        """Components modulo their width."""
        return tuple(c % (1 << (64 * w)) for c, w in zip(components, self.widths, strict=True))

    def entries(self, directory: int) -> list[int]:
        """All entries of a directory."""
        slots, log = self.word(directory + k.D_SLOTS), self.word(directory + k.D_LOG)
        found = [int(w) & k.MASK32 for w in self.m[slots : slots + (1 << log)] if w != 0]
        assert len(found) == self.word(directory + k.D_COUNT), "entries are counted"
        return found

    def records(self, table: int) -> list[int]:
        """All records of a table."""
        header = int(self.plan.words[int(self.plan.words[q.P_FIRST_TABLE]) + table * q.PLAN_TABLE + q.PT_HEADER])
        chunks, count = self.word(header + q.T_CHUNKS), self.word(header + q.T_COUNT)
        stride = self.plan.tables[table].stride
        return [self.word(chunks + c) + i * stride for c in range(count) for i in range(q.CHUNK_ROWS)]

    def multiplicities(self) -> list[int]:
        """The multiplicity of every base row in every atom."""
        found = []
        for number in range(len(self.plan.order)):
            at = self.atom_word(number, j.A_MULTIPLICITY)
            found += [self.word(row + at) for row in self.records(self.atom_word(number, j.A_TABLE))]
        return found

    def values(self, row: int, number: int) -> Tuple:
        """The values of a store's row."""
        at = row + self.store(number, j.S_KEY)
        return tuple(self.word(at + i) for i in range(self.store(number, j.S_WIDTH)))

    def rows(self, number: int) -> Contents:
        """What a store holds."""
        found: Contents = {}
        for row in self.entries(self.store(number, j.S_DIRECTORY)):
            assert self.word(row + j.ROW_PENDING) == 0, "no batch is half applied"
            at = row + self.store(number, j.S_VALUE)
            components = []
            for width in self.widths:
                components.append(sum((self.word(at + i) % _WORD) << (64 * i) for i in range(width)))
                at += width
            key = self.values(row, number)
            assert key not in found, "a row is there once"
            found[key] = (self.word(row + j.ROW_SUPPORT), tuple(components))
        return found

    def atom(self, number: int) -> Contents:
        """An atom's rows, from the records."""
        found: dict[Tuple, tuple[int, list[int]]] = defaultdict(lambda: (0, [0] * len(self.widths)))
        starts = [sum(self.widths[:i]) for i in range(len(self.widths))]
        offsets = self.listed(self.atom_word(number, j.A_OFFSETS), self.store(number, j.S_WIDTH))
        for row in self.records(self.atom_word(number, j.A_TABLE)):
            times = self.word(row + self.atom_word(number, j.A_MULTIPLICITY))
            assert times >= 0, "multiplicities"
            if times == 0:
                continue
            key = tuple(self.word(row + o) for o in offsets)
            assert self.values(self.word(row + self.atom_word(number, j.A_ROW)), number) == key, "a record's row"
            value = [times] * len(self.widths)
            triples = self.listed(self.atom_word(number, j.A_FACTOR_LIST), 3 * self.atom_word(number, j.A_FACTORS))
            for start, offset in zip(triples[::3], triples[2::3], strict=True):
                value[starts.index(start)] *= self.word(row + offset)
            support, total = found[key]
            found[key] = (support + 1, [a + b for a, b in zip(total, value, strict=True)])
        return {key: (support, self.modulo(total)) for key, (support, total) in found.items()}

    def join(self, left: int, right: int, relations: list[Contents]) -> Contents:
        """The join of two stores, projected to the columns of the third."""
        stores = self.plan.stores
        result = stores[len(relations)].variables
        found: dict[Tuple, tuple[int, list[int]]] = defaultdict(lambda: (0, [0] * len(self.widths)))
        for row, (_, one) in relations[left].items():
            binding = dict(zip(stores[left].variables, row, strict=True))
            for other, (_, two) in relations[right].items():
                more = dict(zip(stores[right].variables, other, strict=True))
                if all(binding.get(v, x) == x for v, x in more.items()):
                    key = tuple((binding | more)[v] for v in result)
                    support, total = found[key]
                    value = [t + a * b for t, a, b in zip(total, one, two, strict=True)]
                    found[key] = (support + 1, value)
        return {key: (support, self.modulo(total)) for key, (support, total) in found.items()}

    def check_index(self, number: int) -> None:
        """A store's index has every row under its key."""
        if self.plan.stores[number].key is None:
            return
        width = self.store(number, j.S_INDEX_WIDTH)
        offsets = self.listed(self.store(number, j.S_INDEX_OFFSETS), width)
        groups: dict[Tuple, set[int]] = defaultdict(set)
        for row in self.entries(self.store(number, j.S_DIRECTORY)):
            groups[tuple(self.word(row + o) for o in offsets)].add(row)
        seen = set()
        for entry in self.entries(self.store(number, j.S_INDEX)):
            key = tuple(self.word(entry + j.ENTRY_KEY + i) for i in range(width))
            assert key not in seen, "a key is there once"
            seen.add(key)
            holder = entry + j.ENTRY_BLOCK
            self.blocks.append(holder)
            at, length = self.word(holder) & k.REF_MASK, self.word(entry + j.ENTRY_LEN)
            rows = [self.word(at + i) for i in range(length)]
            assert set(rows) == groups[key] and len(rows) == len(set(rows)), "the rows of a key"
            places = [self.pair(row + j.ROW_UP) for row in rows]
            assert places == [(entry, i) for i in range(length)], "a row knows its place"
        assert seen == groups.keys(), "every key is there"

    def check_memory(self) -> None:
        """Every word below the bump pointer belongs to exactly one thing."""
        spans = list(record_spans(self.plan, self.m))
        for number, store in enumerate(self.plan.stores):
            sizes = {self.store(number, j.S_DIRECTORY): self.store(number, j.S_SIZE)}
            if store.key is not None:
                sizes[self.store(number, j.S_INDEX)] = self.store(number, j.S_INDEX_SIZE)
            for directory, size in sizes.items():
                spans += directory_spans(self.m, directory, self.entries(directory), size)
        spans += map(block_span, map(self.word, self.blocks))
        check_tiling(self.m, spans)
