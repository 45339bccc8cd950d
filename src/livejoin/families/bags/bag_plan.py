"""From a bag to the words that its kernel reads: stores, their nodes and edges, a program for each relation.

A store has the nodes and edges that the programs use. Derived from the query and the bag alone, like `CrownPlan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.families.bags.bag_join import BagJoin
from livejoin.families.bags.bag_store import (
    BagRelation,
    Columns,
    Edge,
    Node,
    PairView,
    Store,
    base_tables,
    share_stores,
)
from livejoin.families.bags.propagation_order import Participant, Propagation, is_triangle, propagation
from livejoin.families.bags.symmetry import orbits
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import digest_of
from livejoin.kernels.bag import layout as b
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.state.budget import Budget

LEAST_HEAVY = 64  # below, a view costs more than the block that it saves reading


@dataclass(frozen=True, eq=False)
class BagJoinPlan:
    """The plan of the join inside a bag.

    Args:
        relations: The relations of the join.
        attributes: The bag's attributes: variables, then (relation, factor) pairs.
        kept: Positions of the attributes that its rows have, in order.
        words: The plan, int64; see `livejoin.kernels.bag.layout`.
        tables: The base tables in the order of the plan's table descriptors.
        stores: The stores.
        header_words: Words of the arena's header, directories and tables included.
        directories: References of the directory headers in the arena.
        pairs: The pair views of the join, if it is a triangle that is only counted.
    """

    relations: tuple[BagRelation, ...]
    attributes: tuple[str | tuple[int, Expression], ...]
    kept: tuple[int, ...]
    words: np.ndarray
    tables: tuple[TableUse, ...]
    stores: tuple[Store, ...]
    header_words: int
    directories: tuple[int, ...]
    pairs: tuple[PairView, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, b.BAG_STATE_FORMAT)

    @property
    def columns(self) -> int:
        """Attributes of a row of the bag."""
        return len(self.kept)

    def open(self, name: str, budget: Budget | None = None) -> BagJoin:
        """An empty join; ``name`` is what messages call the bag."""
        return BagJoin(self, name, budget)


def compile_bag(query: ConjunctiveQuery, relations: Sequence[BagRelation], kept: Sequence[str]) -> BagJoinPlan:
    """Lay out the plan of a bag.

    Args:
        query: The query.
        relations: The bag's relations, at least one of which does not only filter.
        kept: The variables that the bag's rows have; all factors of the relations follow them.
    """
    return _Compiler(query, tuple(relations), tuple(kept)).compile()


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, query: ConjunctiveQuery, relations: tuple[BagRelation, ...], kept: tuple[str, ...]) -> None:
        self.query, self.relations = query, relations
        variables = sorted({v for relation in relations for v in relation.variables})
        factors = [(i, f) for i, relation in enumerate(relations) for f in relation.factors]
        self.attributes: tuple[str | tuple[int, Expression], ...] = (*variables, *factors)
        position = {attribute: i for i, attribute in enumerate(self.attributes)}
        self.of_relation = [
            tuple(position[v] for v in relation.variables) + tuple(position[(i, f)] for f in relation.factors)
            for i, relation in enumerate(relations)
        ]
        self.kept = tuple(position[v] for v in kept) + tuple(position[f] for f in factors)
        edges = [frozenset(attributes) for attributes in self.of_relation]
        self.programs = [propagation(edges, i, frozenset(self.kept)) for i in range(len(relations))]
        self.tables = base_tables(query, relations)
        self.stores, self.store_of = share_stores(query, relations, self.tables)
        slots = max(len(relations) + sum(map(len, program.steps)) for program in self.programs)
        frames = max(len(program.steps) for program in self.programs) + 1
        self.bindings = b.BAG_STACK
        for store in self.stores:
            store.relations = [i for orbit in self._orbits(store) for i in orbit]
        self.slots = self.bindings + len(self.attributes)
        self.frames = self.slots + slots
        self.free = self.frames + frames * b.BAG_FRAME
        self.words = [0] * b.BAG_HEADER
        self.pairs = self._pairs()
        self.pair_at = [self._put([0] * b.BAG_PAIR) for _ in self.pairs]

    def compile(self) -> BagJoinPlan:
        """The finished plan."""
        self._lay_out_records()
        directories = self._lay_out_nodes()
        stores = [self._store_words(store) for store in self.stores]
        directories += tuple(
            self._pair_words(pair, at, stores) for pair, at in zip(self.pairs, self.pair_at, strict=True)
        )
        words: list[int] = []
        for t, use in enumerate(self.tables):
            own = [at for at, store in zip(stores, self.stores, strict=True) if store.table == t]
            words += [self.free, use.stride, len(own), self._put(own), len(use.columns), self._put(use.columns)]
            self.free += q.TABLE
        self.words[b.P_COLUMNS] = len(self.kept)
        self.words[b.P_BINDINGS], self.words[b.P_SLOTS], self.words[b.P_FRAMES] = self.bindings, self.slots, self.frames
        self.words[b.P_TABLES] = len(self.tables)
        self.words[b.P_FIRST_TABLE] = self._put(words)
        self.words[b.P_PAIRS] = len(self.pairs)
        self.words[b.P_FIRST_PAIR] = self.pair_at[0] if self.pairs else 0
        self.words[b.P_LEAST_HEAVY] = LEAST_HEAVY
        return BagJoinPlan(
            relations=self.relations,
            attributes=self.attributes,
            kept=self.kept,
            words=np.array(self.words, np.int64),
            tables=self.tables,
            stores=tuple(self.stores),
            header_words=self.free,
            directories=directories,
            pairs=tuple(self.pairs),
        )

    def _put(self, values: Sequence[int]) -> int:
        at = len(self.words)
        self.words.extend(values)
        return at

    def _lay_out_records(self) -> None:
        """References of the stores behind the values and factors of a row, then its multiplicity."""
        uses = []
        for t, use in enumerate(self.tables):
            stride = len(use.columns) + len(use.factors)
            for store in self.stores:
                if store.table == t:
                    store.reference = stride
                    stride += 1
            uses.append(TableUse(use.name, use.columns, use.atoms, stride + 1, use.factors))
        self.tables = tuple(uses)

    def _columns(self, relation: int, attributes: frozenset[int]) -> Columns:
        """The columns of a relation's store that carry attributes."""
        return frozenset(self.of_relation[relation].index(a) for a in attributes)

    def _lay_out_nodes(self) -> tuple[int, ...]:
        """Nodes and edges of all stores, each with a directory; returns the references of the directories."""
        for program in self.programs:
            for step in program.steps:
                for one in step:
                    ends = (self._columns(one.relation, one.bound), self._columns(one.relation, one.reached))
                    self.store_of[one.relation].edges[ends] = Edge(*ends, 0, 0)
        directories = []
        for store in self.stores:
            wanted = {store.whole} | {columns for ends in store.edges for columns in ends}
            for program in self.programs:
                wanted |= {
                    self._columns(one.relation, one.reached)
                    for one in program.probes
                    if self.store_of[one.relation] is store
                }
            for columns in sorted(wanted, key=lambda c: (-len(c), sorted(c))):
                leaving = sorted((ends for ends in store.edges if ends[0] == columns), key=_by_columns)
                ending = sorted((ends for ends in store.edges if ends[1] == columns), key=_by_columns)
                for i, ends in enumerate(leaving):
                    edge = store.edges[ends]
                    store.edges[ends] = Edge(*ends, b.X_EDGES + 2 * i, edge.position)
                for i, ends in enumerate(ending):
                    edge = store.edges[ends]
                    store.edges[ends] = Edge(*ends, edge.block, b.X_EDGES + 2 * len(leaving) + i)
                heavy = b.X_EDGES + 2 * len(leaving) + len(ending)
                key = heavy + (1 if self.pairs else 0)
                at = self._put([0] * b.BAG_NODE)
                place, heavies, directory = self.free, self.free + 1, self.free + 3
                self.free += 3 + k.DIRECTORY
                directories.append(directory)
                size = key + len(columns)
                store.nodes[columns] = Node(columns, directory, size, key, len(leaving), place, at, heavy, heavies)
        return tuple(directories)

    def _pairs(self) -> list[PairView]:
        """The pair views of a triangle that is only counted."""
        if self.kept or any(relation.support for relation in self.relations):
            return []
        if not is_triangle([frozenset(attributes) for attributes in self.of_relation]):
            return []
        return list(dict.fromkeys(self._pair(program) for program in self.programs))

    def _pair(self, program: Propagation) -> PairView:
        """The pair view of a program: the sides of its two participants, in an order that does not depend on it."""
        return PairView(*sorted(self._side(one) for one in program.steps[0]))

    def _side(self, one: Participant) -> tuple[int, int]:
        """The store of a participant and the column of its value."""
        (column,) = self._columns(one.relation, one.bound)
        return next(i for i, store in enumerate(self.stores) if store is self.store_of[one.relation]), column

    def _pair_of(self, program: Propagation) -> tuple[int, int]:
        """The descriptor of a program's pair view, 0 for none, and which participant is its first side."""
        if not self.pairs:
            return 0, 0
        pair = self._pair(program)
        return self.pair_at[self.pairs.index(pair)], int(self._side(program.steps[0][0]) != pair.first)

    def _pair_words(self, pair: PairView, at: int, stores: Sequence[int]) -> int:
        """Fill the descriptor of a pair view; returns the reference of its directory."""
        words = [self.free, self._put([0, 1])]
        for number, column in (pair.first, pair.second):
            store = self.stores[number]
            ends = [(store.nodes[frozenset({c})], c) for c in (column, 1 - column)]
            blocks = [store.edges[(node.columns, store.whole)].block for node, _ in ends]
            words += [stores[number], ends[0][0].at, blocks[0], column, store.nodes[store.whole].at]
            words += [ends[1][0].at, blocks[1], 1 - column]
        self.words[at : at + b.BAG_PAIR] = words
        self.free += k.DIRECTORY
        return words[0]

    def _orbits(self, store: Store) -> list[list[int]]:
        """The relations of a store; together those that are joined with as many tuples, if only the number counts."""
        if self.kept:
            return [[i] for i in store.relations]
        labelled = [
            ((self.stores.index(self.store_of[i]), relation.support), self.of_relation[i])
            for i, relation in enumerate(self.relations)
        ]
        return [orbit for orbit in orbits(labelled) if orbit[0] in store.relations]

    def _store_words(self, store: Store) -> int:
        whole = store.nodes[store.whole]
        for node in store.nodes.values():
            offsets = self._put([whole.key + c for c in sorted(node.columns)])
            node_words = [node.directory, node.size, node.key, len(node.columns), offsets, node.leaving, node.place]
            self.words[node.at : node.at + b.BAG_NODE] = [*node_words, node.heavy, node.heavies]
        edges: list[int] = []
        for edge in store.edges.values():
            edges += [store.nodes[edge.source].at, store.nodes[edge.target].at, edge.block, edge.position]
        relations: list[int] = []
        for orbit in self._orbits(store):
            for place, i in enumerate(orbit):
                support = int(self.relations[i].support)
                relations += [self._program(self.programs[i]), support, 1 if place else len(orbit)]
        return self._put(
            [
                store.bit,
                store.reference,
                self._put(store.columns),
                len(store.nodes),
                whole.at,
                len(store.edges),
                self._put(edges),
                len(store.relations),
                self._put(relations),
            ]
        )

    def _program(self, program: Propagation) -> int:
        whole = self.store_of[program.start].nodes[self.store_of[program.start].whole]
        start: list[int] = []
        for column, attribute in enumerate(self.of_relation[program.start]):
            start += [whole.key + column, attribute]
        slot: dict[int, int] = {}
        probes: list[int] = []
        for count, one in enumerate(program.probes):
            slot[one.relation] = count
            probes += self._participant(program.start, one, frozenset(), 0, count)
        slots = len(program.probes)
        steps: list[int] = []
        for group, step in zip(program.groups, program.steps, strict=True):
            participants: list[int] = []
            for one in step:
                participants += self._participant(program.start, one, group, slot[one.relation], slots)
                slot[one.relation] = slots
                slots += 1
            steps += [len(step), self._put(participants)]
        bound = set(self.of_relation[program.start])
        last = max((i + 1 for i, group in enumerate(program.groups) if (group - bound) & set(self.kept)), default=0)
        return self._put(
            [
                len(start) // 2,
                self._put(start),
                len(program.probes),
                self._put(probes),
                len(program.steps),
                self._put(steps),
                self._put(self.kept),
                last,
                *self._pair_of(program),
            ]
        )

    def _participant(self, start: int, one: Participant, group: frozenset[int], source: int, slot: int) -> list[int]:
        store, own = self.store_of[one.relation], self.of_relation[one.relation]
        reached = self._columns(one.relation, one.reached)
        node = store.nodes[reached]
        order = sorted(reached)
        bound: list[int] = []
        for i, column in enumerate(order):
            if own[column] in group:
                bound += [node.key + i, own[column]]
        weighs = b.NOTHING
        if reached == store.whole:
            weighs = b.SUPPORT if self.relations[one.relation].support else b.MULTIPLICITY
        edge = store.edges[(self._columns(one.relation, one.bound), reached)] if group else None
        return [
            node.directory,
            node.key,
            len(order),
            self._put([own[column] for column in order]),
            slot,
            source,
            0 if edge is None else edge.block,
            len(bound) // 2,
            self._put(bound),
            weighs,
            int(store is self.store_of[start] and store.relations.index(one.relation) < store.relations.index(start)),
        ]


def _by_columns(ends: tuple[Columns, Columns]) -> tuple[list[int], list[int]]:
    return sorted(ends[0]), sorted(ends[1])
