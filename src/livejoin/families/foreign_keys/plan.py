"""From a foreign-key graph to a plan: where records, entries and links lie, as words for the kernels.

The plan is derived from the query alone, so it is never stored with the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from livejoin.families.foreign_keys.graph import Link, LinkGraph, Path, Step, propagation
from livejoin.families.foreign_keys.join import ForeignKeyJoin
from livejoin.families.foreign_keys.nodes import node_figures
from livejoin.families.foreign_keys.quiet import QuietLinks, quiet_links
from livejoin.families.layout.annotation import result_mode
from livejoin.families.layout.plan_words import PlanWords
from livejoin.families.layout.record_layout import Records, lay_out_records
from livejoin.families.layout.table_use import TableUse
from livejoin.families.nodes import LinkedRows, NodeFigures
from livejoin.families.program import TableBytes, WordProgram, digest_of
from livejoin.kernels.foreign_keys import layout as f
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.words import NULL_CODE, WORD_BYTES

_SLOT_WORDS = 2  # of a directory, a key: from 4/3 to 8/3


@dataclass(frozen=True, eq=False)
class ForeignKeyPlan(WordProgram):
    """A query, its foreign-key graph and the words that the kernels read.

    Args:
        query: The query.
        graph: The foreign-key graph; a relation is the atom at its position.
        live: Whether deltas are asked for; the state is the same.
        words: The plan, int64; see `livejoin.kernels.foreign_keys.layout`.
        steps: The rows that a result is read from.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, tables and directories included.
        directories: References of the directory headers in the arena.
        node_offsets: Offset of the descriptor of each relation in ``words``.
        null_words: Words of the header that hold NULL rows, by their offset.
        work_at: Offset in the header of what is counted at each relation, `livejoin.kernels.foreign_keys.layout.WORK`
            words each.
        quiet: Which edges are quiet, and in which order tables are loaded therefore.
    """

    query: ConjunctiveQuery
    graph: LinkGraph
    live: bool
    words: np.ndarray
    steps: tuple[Step, ...]
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    node_offsets: tuple[int, ...]
    null_words: Mapping[int, int]
    work_at: int
    quiet: QuietLinks

    @property
    def load_order(self) -> tuple[int, ...]:
        """Static tables first, children before parents: rows that come below a quiet edge would not be heard of."""
        first = {name: place for place, name in enumerate(self.quiet.first)}
        return tuple(sorted(range(len(self.tables)), key=lambda at: first.get(self.tables[at].name, len(first))))

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, f.STATE_FORMAT, b"aju")

    @property
    def root(self) -> int:
        """The relation that none references."""
        return self.graph.root

    @property
    def height(self) -> int:
        """Largest number of relations on a path."""
        return self.graph.height

    @property
    def cursor_words(self) -> int:
        """Words of a scan's cursor."""
        return f.S_ROWS + len(self.steps)

    def form(self, rests: bool, /) -> ForeignKeyPlan:
        return compile_foreign_keys(self.graph, self.live, rests)

    def open(self, budget: Budget | None = None) -> ForeignKeyJoin:
        """An empty join."""
        return ForeignKeyJoin(self, budget)

    @property
    def line(self) -> str:
        """The edges on one line, with aliases for atoms."""
        return self.graph.line

    def predicted_work(self, known: Statistics) -> float:
        """Visits that all expected changes make; as `livejoin.families.program.Program`."""
        problem = problem_of(self.query, known, self.query.free)
        return propagation(self.graph, problem) * sum(problem.weights)

    def node_figures(self, known: Statistics) -> tuple[NodeFigures, ...]:
        """As `livejoin.families.nodes.TellsOfNodes.node_figures`."""
        sizes = [int(self.words[at + f.N_ENTRY]) for at in self.node_offsets]
        return node_figures(self.graph, self.tables, sizes, known)

    def linked_rows(self) -> LinkedRows:
        """As `livejoin.families.nodes.LinksRows.linked_rows`."""
        children = tuple(frozenset(link.child for link in below) for below in self.graph.below)
        return LinkedRows(self.root, children, frozenset(step.relation for step in self.steps))

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Predicted bytes of a row of each table: its record, and the entries of its keys."""
        found = []
        for use in self.tables:
            words = 0
            for atom in use.atoms:
                at = self.node_offsets[atom]
                words += 1 if atom == self.root else int(self.words[at + f.N_ENTRY]) + _SLOT_WORDS
            found.append(TableBytes(use, WORD_BYTES * use.stride, float(WORD_BYTES * words)))
        return tuple(found)


def compile_foreign_keys(graph: LinkGraph, live: bool, rests: bool = True) -> ForeignKeyPlan:
    """Lay out a plan. Cost: O(edges times relations) words.

    Args:
        graph: The graph of a query with multiplicities.
        live: Whether deltas are asked for.
        rests: Whether static tables do not change: then nothing is kept that only a change of them would need.
    """
    return _Compiler(graph, live, quiet_links(graph) if rests else QuietLinks(frozenset(), ())).compile()


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, graph: LinkGraph, live: bool, quiet: QuietLinks) -> None:
        self.query, self.graph, self.live, self.quiet = graph.query, graph, live, quiet
        self.out = PlanWords(f.FOREIGN_KEY_HEADER)
        places = {relation: self.out.put([0] * f.NODE) for relation in graph.order}
        self.at = [places[relation] for relation in range(len(graph.order))]
        sizes = [f.R_LINKS + sum(map(self._words, below)) for below in graph.below]
        self.records: Records = lay_out_records(self.query, sizes)
        arena = f.H_STACK + f.FRAME * graph.height
        self.table_headers = [arena + t * q.TABLE for t in range(len(self.records.tables))]
        arena += q.TABLE * len(self.records.tables)
        keyed = [relation for relation in graph.order if relation != graph.root]
        self.directory = {relation: arena + i * k.DIRECTORY for i, relation in enumerate(keyed)}
        self.header_words = arena + k.DIRECTORY * len(keyed)
        self.steps = graph.steps([ref.atom for ref in self.query.head])
        self.nulls: dict[int, int] = {}
        for step in self.steps:
            if step.optional:
                self.nulls[step.relation] = self.header_words
                self.header_words += self.records.own[step.relation] + sizes[step.relation]
        self.work_at = self.header_words
        self.header_words += f.WORK * len(graph.order)

    def compile(self) -> ForeignKeyPlan:
        """The finished plan."""
        out, tables, head, steps = self.out, self.records.tables, self.query.head, self.steps
        table_words: list[int] = []
        for use, header in zip(tables, self.table_headers, strict=True):
            atoms = out.put([self.at[a] for a in use.atoms])
            table_words += [header, use.stride, len(use.atoms), atoms, len(use.columns), out.put(use.columns)]
        for relation, at in enumerate(self.at):
            out.words[at : at + f.NODE] = self._descriptor(relation)
        places = {step.relation: place for place, step in enumerate(steps)}
        columns = [
            word
            for column, ref in enumerate(head)
            for word in (column, places[ref.atom], self._offset(ref.atom, ref.column))
        ]
        ways = [word for place, step in enumerate(steps) for word in (self._step(step) if place else (0, 0, 0, 0))]
        fields = {
            q.P_NODES: len(self.at),
            q.P_FIRST_NODE: self.at[self.graph.root],
            q.P_TABLES: len(tables),
            q.P_FIRST_TABLE: out.put(table_words),
            q.P_HEAD: len(head),
            q.P_MODE: result_mode(self.query),
            f.P_STEPS: len(steps),
            f.P_STEP_LIST: out.put(ways),
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
            null_words={
                row + i: NULL_CODE for relation, row in self.nulls.items() for i in range(self.records.own[relation])
            },
            work_at=self.work_at,
            quiet=self.quiet,
        )

    def _words(self, link: Link) -> int:
        """Words of a LINK."""
        return f.QUIET_LINK if link in self.quiet.links else f.LINK

    def _offset(self, relation: int, column: int) -> int:
        """Where the records of a relation hold a column of its table."""
        return self.records.tables[self.records.table_of[relation]].columns.index(column)

    def _offsets(self, relation: int, variables: tuple[str, ...]) -> int:
        """Where the plan lists the places of variables in the records of a relation."""
        atom = self.query.atoms[relation]
        return self.out.put([self._offset(relation, atom.column_of(variable)) for variable in variables])

    def _link(self, parent: int, child: int) -> int:
        """Where the records of a parent have the link to a child."""
        below = self.graph.below[parent]
        place = [link.child for link in below].index(child)
        return self.records.own[parent] + f.R_LINKS + sum(map(self._words, below[:place]))

    def _head(self, parent: int, child: int) -> int:
        """Where the entries of a child have the first parent of an edge."""
        return f.E_HEADS + [link.parent for link in self.graph.above[child]].index(parent)

    def _kind(self, link: Link) -> int:
        if link.kind == "optional":
            return f.OPTIONAL if self.graph.is_shown(link) else f.HIDDEN
        return f.NOT_WANTED if link.kind == "not exists" else f.WANTED

    def _step(self, step: Step) -> tuple[int, int, int, int]:
        source = self.steps[step.source].relation
        least = f.HOLDS_ALIVE if any(link.kind == "optional" for link in self.graph.above[step.relation]) else 1
        return step.source, self._link(source, step.relation), self.nulls.get(step.relation, 0), least

    def _descriptor(self, relation: int) -> list[int]:
        out, graph, words = self.out, self.graph, [0] * f.NODE
        words[f.N_ROOT], words[f.N_BIT] = int(relation == graph.root), relation
        words[f.N_WORK] = self.work_at + f.WORK * relation
        words[f.N_TABLE], words[f.N_OWN] = self.records.table_of[relation], self.records.own[relation]
        below, above = graph.below[relation], graph.above[relation]
        if relation != graph.root:
            key = above[0].key
            words[f.N_DIRECTORY], words[f.N_WIDTH] = self.directory[relation], len(key)
            words[f.N_ENTRY_KEY] = f.E_HEADS + len(above)
            words[f.N_ENTRY] = f.E_HEADS + len(above) + len(key)
            words[f.N_KEY] = self._offsets(relation, key)
        children: list[int] = []
        for link in below:
            places = self._offsets(relation, link.over), self._link(relation, link.child)
            children += [self.at[link.child], *places, self._head(relation, link.child), self._kind(link)]
            children.append(int(link in self.quiet.links))
        parents: list[int] = []
        for link in above:
            places = self._head(link.parent, relation), self._link(link.parent, relation)
            parents += [self.at[link.parent], *places, self._kind(link), int(link in self.quiet.links)]
        paths = [out.put(self._path(one)) for pair in graph.assertions(relation) for one in pair]
        words[f.N_CHILDREN], words[f.N_CHILD_LIST] = len(below), out.put(children)
        words[f.N_PARENTS], words[f.N_PARENT_LIST] = len(above), out.put(parents)
        words[f.N_ASSERTIONS], words[f.N_ASSERTION_LIST] = len(paths) // 2, out.put(paths)
        words[f.N_FULL] = sum(link.kind != "optional" for link in below)
        return words

    def _path(self, path: Path) -> list[int]:
        """The number of links of a path, then where each of them lies in its record."""
        return [len(path) - 1, *(self._link(one, below) for one, below in pairwise(path))]
