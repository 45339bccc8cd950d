"""From a foreign-key graph to a plan: where records, entries and links lie, as words for the kernels.

The plan is derived from the query alone, so it is never stored with the state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from livejoin.families.foreign_keys.join import ForeignKeyJoin
from livejoin.families.foreign_keys.paths import Path, Step, assertions, reading_steps
from livejoin.families.layout.annotation import annotation_starts, result_mode
from livejoin.families.layout.plan_words import PlanWords
from livejoin.families.layout.record_layout import Records, lay_out_records
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import TableBytes
from livejoin.kernels.foreign_keys import layout as f
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.theory.keys.foreign_key import ForeignKeyGraph

_WORD = 8
_SLOT_WORDS = 2  # of a directory, a key: from 4/3 to 8/3


@dataclass(frozen=True, eq=False)
class ForeignKeyPlan:
    """A query, its foreign-key graph and the words that the kernels read.

    Args:
        query: The query.
        graph: Its graph, a DAG with one root; a relation is the atom at its position.
        live: Whether deltas are asked for; the state is the same.
        words: The plan, int64; see `livejoin.kernels.foreign_keys.layout`.
        steps: The rows that a result is read from.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, tables and directories included.
        directories: References of the directory headers in the arena.
        node_offsets: Offset of the descriptor of each relation in ``words``.
    """

    query: ConjunctiveQuery
    graph: ForeignKeyGraph
    live: bool
    words: np.ndarray
    steps: tuple[Step, ...]
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    node_offsets: tuple[int, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return hashlib.sha256(b"aju" + self.words.tobytes() + bytes([f.STATE_FORMAT])).hexdigest()[:16]

    @property
    def root(self) -> int:
        """The relation that none references."""
        return self.graph.digraph.roots[0]

    @property
    def height(self) -> int:
        """Largest number of relations on a path."""
        return graph_height(self.graph)

    @property
    def cursor_words(self) -> int:
        """Words of a scan's cursor."""
        return f.S_ROWS + len(self.steps)

    @property
    def columns(self) -> int:
        """Columns that enumeration writes: those of the head."""
        return len(self.query.head)

    @cached_property
    def components(self) -> np.ndarray:
        """Of no annotation."""
        return annotation_starts(self.query)

    def open(self, budget: Budget | None = None) -> ForeignKeyJoin:
        """An empty join."""
        return ForeignKeyJoin(self, budget)

    @property
    def line(self) -> str:
        """The references on one line, with aliases for atoms."""
        return graph_line(self.query, self.graph)

    def predicted_work(self, known: Statistics) -> float:
        """There is one plan for the query; as `livejoin.families.program.Program`."""
        return 0.0

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Predicted bytes of a row of each table: its record, and the entries of its keys."""
        found = []
        for use in self.tables:
            words = 0
            for atom in use.atoms:
                at = self.node_offsets[atom]
                words += 1 if atom == self.root else int(self.words[at + f.N_ENTRY]) + _SLOT_WORDS
            found.append(TableBytes(use, _WORD * use.stride, float(_WORD * words)))
        return tuple(found)


def graph_line(query: ConjunctiveQuery, graph: ForeignKeyGraph) -> str:
    """The references of a graph on one line, with aliases for atoms; of one atom, its alias."""
    names = [atom.alias for atom in query.atoms]
    return " ".join(f"{names[e.parent]}->{names[e.child]}" for e in graph.references) or names[0]


def graph_height(graph: ForeignKeyGraph) -> int:
    """Largest number of relations on a path of an acyclic graph."""
    heights = [1] * len(graph.relations)
    for relation in reversed(graph.digraph.order):
        heights[relation] += max((heights[child] for child in graph.digraph.children[relation]), default=0)
    return max(heights)


def compile_foreign_keys(query: ConjunctiveQuery, graph: ForeignKeyGraph, live: bool) -> ForeignKeyPlan:
    """Lay out a plan. Cost: O(references times relations) words.

    Args:
        query: The query, with multiplicities and inner edges.
        graph: Its foreign-key graph, a DAG with one root.
        live: Whether deltas are asked for.
    """
    return _Compiler(query, graph, live).compile()


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, query: ConjunctiveQuery, graph: ForeignKeyGraph, live: bool) -> None:
        self.query, self.graph, self.live = query, graph, live
        self.children, self.parents = graph.digraph.children, graph.digraph.parents
        (self.root,) = graph.digraph.roots
        self.out = PlanWords(f.FOREIGN_KEY_HEADER)
        order = graph.digraph.order
        places = {relation: self.out.put([0] * f.NODE) for relation in order}
        self.at = [places[relation] for relation in range(len(order))]
        self.records: Records = lay_out_records(query, [f.R_LINKS + f.LINK * len(below) for below in self.children])
        arena = f.H_STACK + f.FRAME * graph_height(graph)
        self.table_headers = [arena + t * q.TABLE for t in range(len(self.records.tables))]
        arena += q.TABLE * len(self.records.tables)
        keyed = [relation for relation in order if relation != self.root]
        self.directory = {relation: arena + i * k.DIRECTORY for i, relation in enumerate(keyed)}
        self.header_words = arena + k.DIRECTORY * len(keyed)

    def compile(self) -> ForeignKeyPlan:
        """The finished plan."""
        out, tables, head = self.out, self.records.tables, self.query.head
        table_words: list[int] = []
        for use, header in zip(tables, self.table_headers, strict=True):
            atoms = out.put([self.at[a] for a in use.atoms])
            table_words += [header, use.stride, len(use.atoms), atoms, len(use.columns), out.put(use.columns)]
        asserted = assertions(self.graph)
        for relation, at in enumerate(self.at):
            out.words[at : at + f.NODE] = self._descriptor(relation, asserted[relation])
        steps = reading_steps(self.graph, [ref.atom for ref in head])
        places = {step.relation: place for place, step in enumerate(steps)}
        columns = [
            word
            for column, ref in enumerate(head)
            for word in (column, places[ref.atom], self._offset(ref.atom, ref.column))
        ]
        links = [self._link(steps[s.source].relation, s.relation) if place else 0 for place, s in enumerate(steps)]
        fields = {
            q.P_NODES: len(self.at),
            q.P_FIRST_NODE: self.at[self.root],
            q.P_TABLES: len(tables),
            q.P_FIRST_TABLE: out.put(table_words),
            q.P_HEAD: len(head),
            q.P_MODE: result_mode(self.query),
            f.P_STEPS: len(steps),
            f.P_STEP_LIST: out.put([word for s, link in zip(steps, links, strict=True) for word in (s.source, link)]),
            f.P_COLUMNS: len(head),
            f.P_COLUMN_LIST: out.put(columns),
        }
        out.fill(0, fields)
        return ForeignKeyPlan(
            query=self.query,
            graph=self.graph,
            live=self.live,
            words=np.array(out.words, dtype=np.int64),
            steps=steps,
            tables=tables,
            header_words=self.header_words,
            directories=tuple(self.directory.values()),
            node_offsets=tuple(self.at),
        )

    def _offset(self, relation: int, column: int) -> int:
        """Where the records of a relation hold a column of its table."""
        return self.records.tables[self.records.table_of[relation]].columns.index(column)

    def _key(self, child: int, holder: int) -> list[int]:
        """Where the records of a relation hold the key of a child, or of itself."""
        atom = self.query.atoms[holder]
        return [self._offset(holder, atom.column_of(variable)) for variable in sorted(self.graph.keys[child])]

    def _link(self, parent: int, child: int) -> int:
        """Where the records of a parent have the link to a child."""
        return self.records.own[parent] + f.R_LINKS + f.LINK * self.children[parent].index(child)

    def _head(self, parent: int, child: int) -> int:
        """Where the entries of a child have the first parent of an edge."""
        return f.E_HEADS + self.parents[child].index(parent)

    def _descriptor(self, relation: int, asserted: Sequence[tuple[Path, Path]]) -> list[int]:
        out, words = self.out, [0] * f.NODE
        words[f.N_ROOT], words[f.N_BIT] = int(relation == self.root), relation
        words[f.N_TABLE], words[f.N_OWN] = self.records.table_of[relation], self.records.own[relation]
        children, parents = self.children[relation], self.parents[relation]
        if relation != self.root:
            width = len(self.graph.keys[relation])
            words[f.N_DIRECTORY], words[f.N_WIDTH] = self.directory[relation], width
            words[f.N_ENTRY_KEY] = f.E_HEADS + len(parents)
            words[f.N_ENTRY] = f.E_HEADS + len(parents) + width
            words[f.N_KEY] = out.put(self._key(relation, relation))
        below: list[int] = []
        for child in children:
            key = out.put(self._key(child, relation))
            below += [self.at[child], key, self._link(relation, child), self._head(relation, child)]
        above = [w for p in parents for w in (self.at[p], self._head(p, relation), self._link(p, relation))]
        paths = [out.put(self._path(one)) for pair in asserted for one in pair]
        words[f.N_CHILDREN], words[f.N_CHILD_LIST] = len(children), out.put(below)
        words[f.N_PARENTS], words[f.N_PARENT_LIST] = len(parents), out.put(above)
        words[f.N_ASSERTIONS], words[f.N_ASSERTION_LIST] = len(asserted), out.put(paths)
        return words

    def _path(self, path: Path) -> list[int]:
        """The number of links of a path, then where each of them lies in its record."""
        return [len(path) - 1, *(self._link(one, below) for one, below in pairwise(path))]
