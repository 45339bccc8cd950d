"""From a join tree to a plan of Dynamic Yannakakis: where a T-representation lies, as words for the kernels.

The plan is derived from the query and the tree alone, so it is never stored with the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.families.dyn.join import DynJoin
from livejoin.families.dyn.structure import DynNode, dyn_nodes, enumeration_order
from livejoin.families.join_trees import tree_line, tree_work
from livejoin.families.layout.annotation import annotation_widths, result_mode
from livejoin.families.layout.plan_words import PlanWords, place_directories
from livejoin.families.layout.record_layout import Records, factor_triples, lay_out_records
from livejoin.families.layout.table_use import TableUse
from livejoin.families.outline import atom_outlines
from livejoin.families.program import Steady, TableBytes, WordProgram, digest_of
from livejoin.kernels.dyn import layout as y
from livejoin.kernels.join import batch_delta as b
from livejoin.kernels.join import layout as q
from livejoin.query import ColumnRef, ConjunctiveQuery
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.theory.trees.join_tree import JoinTree

_UP, _PENDING = 1, 2  # offsets behind the multiplicity in an atom's own words of a record
_OWN = 3


@dataclass(frozen=True, eq=False)
class DynPlan(WordProgram, Steady):
    """A query, DYN's tree for it and the words that the kernels read.

    Args:
        query: The query.
        tree: The free-connex join tree that DYN's tree was made from.
        live: Whether deltas are asked for; the state is the same.
        words: The plan, int64; see `livejoin.kernels.dyn.layout`.
        nodes: The nodes of DYN's tree in preorder.
        output: The variables of N, sorted.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, directories and tables included.
        directories: References of the directory headers in the arena.
        node_offsets: Offset of each node's descriptor in ``words``.
    """

    query: ConjunctiveQuery
    tree: JoinTree
    live: bool
    words: np.ndarray
    nodes: tuple[DynNode, ...]
    output: tuple[str, ...]
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    node_offsets: tuple[int, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, y.STATE_FORMAT, b"dyn")

    @property
    def height(self) -> int:
        """Largest number of hyperedges on a path from the root to an atom."""
        depths: list[int] = []
        for node in self.nodes:
            depths.append((0 if node.parent is None else depths[node.parent]) + (node.atom is None))
        return max(depths)

    @property
    def annotation(self) -> int:
        """Words of an annotation, or of a multiplicity."""
        return int(self.words[q.P_WORDS])

    @property
    def cursor_words(self) -> int:
        """Words of an enumeration's cursor: a level a node, and a spare one."""
        return y.CURSOR + (len(self.nodes) + 1) * (y.LEVEL + self.annotation)

    def open(self, budget: Budget | None = None) -> DynJoin:
        """An empty join."""
        return DynJoin(self, budget)

    @property
    def line(self) -> str:
        """The tree on one line, with aliases for atoms."""
        return tree_line(self.tree, atom_outlines(self.query))

    def predicted_work(self, known: Statistics) -> float:
        """Rows that all expected changes are predicted to visit; as `livejoin.families.program.Program`."""
        return tree_work(self.query, self.tree, known)

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Nothing is predicted of it."""
        return ()


def compile_dyn(query: ConjunctiveQuery, tree: JoinTree, live: bool) -> DynPlan:
    """Lay out a plan. Cost: O(nodes squared) words.

    Args:
        query: The query.
        tree: A generalized join tree over the query's atoms, free-connex for the query's output variables.
        live: Whether deltas are asked for.
    """
    nodes = dyn_nodes(tree, query.free, [query.is_distinct(a) for a in range(len(query.atoms))])
    return _Compiler(query, tree, live, nodes).compile()


@dataclass(frozen=True)
class _Place:
    """Offsets of a node's words in its tuples."""

    up: int
    pending: int
    value: int
    link: int
    key: int  # of a hyperedge: its variables


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, query: ConjunctiveQuery, tree: JoinTree, live: bool, nodes: tuple[DynNode, ...]) -> None:
        self.query, self.tree, self.live, self.nodes = query, tree, live, nodes
        self.widths = annotation_widths(query) or [1]
        self.value = sum(self.widths)
        self.slot = y.SLOT_VALUE + self.value
        self.out = PlanWords(y.DYN_HEADER)
        self.at = [self.out.put([0] * y.NODE) for _ in nodes]
        self.node_of_atom = {node.atom: i for i, node in enumerate(nodes) if node.atom is not None}
        self.records: Records = lay_out_records(query, [_OWN] * len(query.atoms))
        self.places = [self._place(node) for node in nodes]
        self.output = tuple(sorted({v for node in nodes if node.connex for v in node.variables}))
        self.scratch = y.ROOT + self.slot
        arena = self.scratch + len(self.output)
        self.table_headers = [arena + t * q.TABLE for t in range(len(self.records.tables))]
        arena += q.TABLE * len(self.records.tables)
        self.directory_of, self.header_words = place_directories([(n.children, n.guards) for n in nodes], arena)

    def compile(self) -> DynPlan:
        """The finished plan."""
        out, tables = self.out, self.records.tables
        table_words: list[int] = []
        for use, header in zip(tables, self.table_headers, strict=True):
            atoms = out.put([self.at[self.node_of_atom[a]] for a in use.atoms])
            table_words += [header, use.stride, len(use.atoms), atoms, len(use.columns), out.put(use.columns)]
        for i in range(len(self.nodes)):
            out.words[self.at[i] : self.at[i] + y.NODE] = self._descriptor(i)
        fields = {
            q.P_NODES: len(self.nodes),
            q.P_FIRST_NODE: self.at[0],
            q.P_TABLES: len(tables),
            q.P_FIRST_TABLE: out.put(table_words),
            q.P_HEAD: len(self.query.head),
            q.P_FULL: self._program(None),
            q.P_POSTORDER: out.put(self.at[::-1]),
            q.P_MODE: result_mode(self.query),
            q.P_WORDS: self.value,
            q.P_COMPONENTS: len(self.widths),
            q.P_WIDTHS: out.put(self.widths),
            b.P_LISTS: y.LISTS * len(self.nodes),
            b.P_RECORD: y.RECORD + self.value,
            y.P_SLOT: self.slot,
            y.P_OUTPUT: len(self.output),
            y.P_SCRATCH: self.scratch,
            y.P_ATOMS: len(self.query.atoms),
            y.P_ATOM_LIST: out.put([self.at[self.node_of_atom[a]] for a in range(len(self.query.atoms))]),
        }
        out.fill(0, fields)
        return DynPlan(
            query=self.query,
            tree=self.tree,
            live=self.live,
            words=np.array(out.words, dtype=np.int64),
            nodes=self.nodes,
            output=self.output,
            tables=tables,
            header_words=self.header_words,
            directories=tuple(dict.fromkeys(self.directory_of.values())),
            node_offsets=tuple(self.at),
        )

    def _place(self, node: DynNode) -> _Place:
        if node.atom is not None:
            own = self.records.own[node.atom]
            return _Place(own + _UP, own + _PENDING, own, 0, 0)
        up = self.slot * node.guards
        links = up + 2
        value = links + len(node.children) - node.guards
        return _Place(up, up + 1, value, links - node.guards, value + self.value)

    def _offset(self, node: int, variable: str) -> int:
        """Where a node's tuples hold the value of a variable."""
        atom = self.nodes[node].atom
        if atom is None:
            return self.places[node].key + self.nodes[node].variables.index(variable)
        table = self.records.tables[self.records.table_of[atom]]
        return table.columns.index(self.query.atoms[atom].column_of(variable))

    def _descriptor(self, i: int) -> list[int]:
        node, place, out = self.nodes[i], self.places[i], self.out
        words = [0] * y.NODE
        words[y.N_ATOM], words[y.N_NUMBER], words[y.N_CONNEX] = int(node.atom is not None), i, int(node.connex)
        words[y.N_CHILDREN], words[y.N_GUARDS] = len(node.children), node.guards
        words[y.N_CHILD_LIST] = out.put([self.at[c] for c in node.children])
        words[y.N_CONNEX_CHILDREN] = sum(self.nodes[c].connex for c in node.children)
        words[y.N_UP], words[y.N_PENDING] = place.up, place.pending
        words[y.N_VALUE], words[y.N_LINK] = place.value, place.link
        if node.atom is None:
            words[y.N_ROWS_DIRECTORY] = self.directory_of[node.children[0]]
            words[y.N_ROWS_KEY], words[y.N_ROWS_WIDTH] = place.key, len(node.variables)
        else:
            path = self._path(i)
            triples = factor_triples(self.query, self.records, node.atom)
            words[y.N_TABLE], words[y.N_BIT] = self.records.table_of[node.atom], node.atom
            words[y.N_FACTORS] = len(triples)
            words[y.N_FACTOR_LIST] = out.put([word for triple in triples for word in triple])
            words[y.N_TREE_PATH], words[y.N_TREE_PATH_LIST] = len(path), out.put([self.at[n] for n in path])
            words[y.N_PROGRAM] = self._program(i)
        if node.connex:
            words[y.N_VARIABLES] = len(node.variables)
            words[y.N_VARIABLE_LIST] = out.put([self.output.index(v) for v in node.variables])
            words[y.N_VALUE_LIST] = out.put([self._offset(i, v) for v in node.variables])
        words[y.N_PARENT] = -1
        if node.parent is not None:
            parent = self.nodes[node.parent]
            index = parent.children.index(i)
            guard = index < parent.guards
            words[y.N_PARENT], words[y.N_INDEX], words[y.N_IS_GUARD] = self.at[node.parent], index, int(guard)
            words[y.N_KEY], words[y.N_KEY_WIDTH] = out.put([self._offset(i, v) for v in node.key]), len(node.key)
            words[y.N_PARENT_KEY] = out.put([self._offset(node.parent, v) for v in node.key])
            words[y.N_DIRECTORY] = self.directory_of[i]
            words[y.N_ENTRY_KEY] = self.places[node.parent].key if guard else self.slot + 2
            words[y.N_ENTRY] = words[y.N_ENTRY_KEY] + len(node.key)
        return words

    def _path(self, i: int) -> list[int]:
        """The nodes from a node to the root."""
        path = [i]
        while (parent := self.nodes[path[-1]].parent) is not None:
            path.append(parent)
        return path

    def _program(self, atom: int | None) -> int:
        """The enumeration program of what a change of an atom's node makes, or of the whole result for None."""
        changed = [] if atom is None else [n for n in self._path(atom) if self.nodes[n].connex][::-1]
        order = enumeration_order(self.nodes, changed, [atom.predicate is not None for atom in self.query.atoms])
        steps: list[int] = []
        for node in order:
            parent = self.nodes[node].parent
            if parent is None:
                steps += [self.at[node], -1, 0, 0, int(node in changed)]
                continue
            index = self.nodes[parent].children.index(node)
            linked = index >= self.nodes[parent].guards
            offset = self.places[parent].link + index if linked else self.slot * index
            steps += [self.at[node], order.index(parent), offset, int(linked), int(node in changed)]
        outer: list[int] = []
        inner: list[int] = []
        for column, ref in enumerate(self.query.head):
            depth, offset = self._source(ref, order)
            if depth == len(order) - 1:
                inner += [column, offset]
            else:
                outer += [column, depth, offset]
        out = self.out
        at = out.put([0] * y.PROGRAM)
        words = {
            y.G_STEPS: len(order),
            y.G_STEP_LIST: out.put(steps),
            y.G_OUTER: len(outer) // 3,
            y.G_OUTER_LIST: out.put(outer),
            y.G_INNER: len(inner) // 2,
            y.G_INNER_LIST: out.put(inner),
            y.G_LOWEST: len(changed) - 1,
        }
        out.fill(at, words)
        return at

    def _source(self, ref: ColumnRef, order: Sequence[int]) -> tuple[int, int]:
        """Depth of the step that gives a head column, and the offset in its tuples."""
        variable = self.query.variable(ref)
        node = self.node_of_atom[ref.atom]
        if node not in order:
            node = max((n for n in order if variable in self.nodes[n].variables), key=order.index)
        return order.index(node), self._offset(node, variable)
