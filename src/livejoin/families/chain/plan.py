"""The plan of standard change propagation: a left-deep chain of binary joins, each of whose results is kept in full.

The plan is derived from the query alone, so it is never stored with the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.families.chain.join import ChainJoin
from livejoin.families.chain.order import Store, chain_stores, join_order
from livejoin.families.layout.annotation import annotation_widths, result_mode
from livejoin.families.layout.plan_words import PlanWords
from livejoin.families.layout.record_layout import factor_triples, lay_out_records
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import OnlyProgram, Steady, WordProgram, digest_of
from livejoin.kernels.chain import layout as j
from livejoin.kernels.join import batch_delta as b
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.state.budget import Budget

_OWN = 2  # words of an atom in a record: its multiplicity and its row
_NARROW_ATOMS = 2  # rows that are merged over more atoms than this have multiplicities of 128 bits


@dataclass(frozen=True, eq=False)
class ChainPlan(WordProgram, OnlyProgram, Steady):
    """A query, the order of its joins and the words that the kernels read.

    Args:
        query: The query.
        live: Whether deltas are asked for; the state is the same.
        words: The plan, int64; see `livejoin.kernels.chain.layout`.
        order: The atoms in the order of the chain.
        stores: The stores: those of the atoms in their order, then those of the joins.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, directories and tables included.
        directories: References of the directory headers in the arena.
        store_offsets: Offset of each store's descriptor in ``words``.
        atom_offsets: Offset of each atom's descriptor, in the order of the chain.
    """

    query: ConjunctiveQuery
    live: bool
    words: np.ndarray
    order: tuple[int, ...]
    stores: tuple[Store, ...]
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    store_offsets: tuple[int, ...]
    atom_offsets: tuple[int, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, j.STATE_FORMAT, b"chain")

    @property
    def height(self) -> int:
        """Number of joins in the chain."""
        return len(self.order) - 1

    @property
    def cursor_words(self) -> int:
        """Words of a scan's cursor."""
        return j.CURSOR

    def open(self, budget: Budget | None = None) -> ChainJoin:
        """An empty join."""
        return ChainJoin(self, budget)


def compile_chain(query: ConjunctiveQuery, live: bool) -> ChainPlan:
    """Lay out a plan. Cost: O(atoms times variables) words.

    Args:
        query: The query; it may be cyclic.
        live: Whether deltas are asked for.
    """
    return _Compiler(query, live).compile()


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, query: ConjunctiveQuery, live: bool) -> None:
        self.query, self.live = query, live
        self.order = join_order(query.edges, [atom.predicate is not None for atom in query.atoms])
        self.stores = chain_stores(query, self.order)
        self.widths = _widths(query)
        self.value = sum(self.widths)
        self.records = lay_out_records(query, [_OWN] * len(query.atoms))
        self.out = PlanWords(j.CHAIN_HEADER)
        self.widest = max(len(store.variables) for store in self.stores)
        self.arena = j.SCRATCH + self.widest
        self.directories: list[int] = []

    def compile(self) -> ChainPlan:
        """The finished plan."""
        out, query, tables = self.out, self.query, self.records.tables
        first_table = out.put(self._tables())
        stores = [self._store(number) for number in range(len(self.stores))]
        atoms = [self._atom(number, stores[number]) for number in range(len(self.order))]
        stages = [self._stage(position, stores) for position in range(1, len(self.order))]
        last = len(self.stores) - 1
        fields = {
            q.P_TABLES: len(tables),
            q.P_FIRST_TABLE: first_table,
            q.P_HEAD: len(query.head),
            q.P_MODE: result_mode(query),
            q.P_WORDS: self.value,
            q.P_COMPONENTS: len(self.widths),
            q.P_WIDTHS: out.put(self.widths),
            b.P_LISTS: len(stores),
            b.P_RECORD: j.RECORD + self.value,
            j.P_ATOMS: len(atoms),
            j.P_ATOM_LIST: out.put(atoms),
            j.P_STAGES: len(stages),
            j.P_STAGE_LIST: out.put(stages),
            j.P_RESULT: stores[last],
            j.P_OUTPUT: out.put([self._offset(last, query.variable(ref)) for ref in query.head]),
            j.P_IDENTITY: out.put(range(self.widest)),
        }
        out.fill(0, fields)
        return ChainPlan(
            query=query,
            live=self.live,
            words=np.array(out.words, np.int64),
            order=self.order,
            stores=self.stores,
            tables=tables,
            header_words=self.arena,
            directories=tuple(self.directories),
            store_offsets=tuple(stores),
            atom_offsets=tuple(atoms),
        )

    def _tables(self) -> list[int]:
        words: list[int] = []
        for use in self.records.tables:
            words += [self.arena, use.stride, 0, 0, len(use.columns), self.out.put(use.columns)]
            self.arena += q.TABLE
        return words

    def _directory(self) -> int:
        self.directories.append(self.arena)
        self.arena += k.DIRECTORY
        return self.directories[-1]

    def _value(self, number: int) -> int:
        """Offset of the multiplicity or annotation in a store's rows."""
        return j.ROW_UP + (self.stores[number].key is not None)

    def _offset(self, number: int, variable: str) -> int:
        """Offset of a variable in a store's rows."""
        return self._value(number) + self.value + self.stores[number].variables.index(variable)

    def _store(self, number: int) -> int:
        store = self.stores[number]
        key = self._value(number) + self.value
        fields = {j.S_NUMBER: number, j.S_DIRECTORY: self._directory(), j.S_VALUE: self._value(number), j.S_KEY: key}
        fields |= {j.S_WIDTH: len(store.variables), j.S_SIZE: key + len(store.variables)}
        if store.key is not None:
            offsets = self.out.put([self._offset(number, v) for v in store.key])
            fields |= {j.S_INDEX: self._directory(), j.S_INDEX_SIZE: j.ENTRY_KEY + len(store.key)}
            fields |= {j.S_INDEX_WIDTH: len(store.key), j.S_INDEX_OFFSETS: offsets}
        at = self.out.put([0] * j.STORE)
        self.out.fill(at, fields)
        return at

    def _atom(self, number: int, store: int) -> int:
        atom = self.order[number]
        position = self.records.table_of[atom]
        columns = self.records.tables[position].columns
        variables = self.stores[number].variables
        offsets = [columns.index(self.query.atoms[atom].column_of(v)) for v in variables]
        triples = factor_triples(self.query, self.records, atom)
        fields = {
            j.A_TABLE: position,
            j.A_BIT: atom,
            j.A_MULTIPLICITY: self.records.own[atom],
            j.A_ROW: self.records.own[atom] + 1,
            j.A_STORE: store,
            j.A_OFFSETS: self.out.put(offsets),
            j.A_FACTORS: len(triples),
            j.A_FACTOR_LIST: self.out.put([word for triple in triples for word in triple]),
        }
        at = self.out.put([0] * j.ATOM)
        self.out.fill(at, fields)
        return at

    def _stage(self, position: int, stores: Sequence[int]) -> int:
        """The join of what the chain has so far with the atom at a position."""
        atoms = len(self.order)
        left = 0 if position == 1 else atoms + position - 2
        result = atoms + position - 1
        values: list[int] = []
        for variable in self.stores[result].variables:
            on_right = variable not in self.stores[left].variables
            values += [int(on_right), self._offset(position if on_right else left, variable)]
        return self.out.put([stores[left], stores[position], stores[result], self.out.put(values)])


def _widths(query: ConjunctiveQuery) -> list[int]:
    """Words of each component: of the annotations, or of the multiplicity; distinct results have the support alone."""
    if query.free is not None:
        return annotation_widths(query)
    merged = {query.variable(ref) for ref in query.head} < query.variables
    return [2 if merged and len(query.atoms) > _NARROW_ATOMS else 1]
