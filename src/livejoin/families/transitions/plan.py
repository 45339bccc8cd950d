"""The plan of a transition system: where the records of the base rows have what matters of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.families.layout.annotation import result_mode
from livejoin.families.layout.plan_words import PlanWords
from livejoin.families.layout.record_layout import Records, lay_out_records
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import OnlyProgram, Steady, WordProgram, digest_of
from livejoin.families.transitions.cut import StaticHub
from livejoin.families.transitions.join import TransitionJoin
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.kernels.transitions import layout as t
from livejoin.query import ConjunctiveQuery
from livejoin.state.budget import Budget

_FORMAT = 1  # changes whenever a stored state could be misread
_HUB_WORDS = 1
_ATOM_WORDS = 2


@dataclass(frozen=True, eq=False)
class TransitionPlan(WordProgram, OnlyProgram, Steady):
    """A query, and the words that the kernels read.

    Args:
        query: The query across the static tables, which are its first atom, the hub.
        live: Whether deltas are asked for; the state is the same.
        words: The plan, int64; see `livejoin.kernels.transitions.layout`.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the header of the records' arena.
        live_words: Words of the header of the live arena.
        live_directories: The directories of the live part, with the words of an entry.
        atoms: Offsets of the descriptors of the dynamic atoms.
        hub_places: Where the records of the hub have the variables of the static join, its lines.
        lines: The variables of the query.
        decided: For each dynamic atom the lines of its keys.
        shown: The lines that results show.
        shared: The variables that have a state for each of their values.
    """

    query: ConjunctiveQuery
    live: bool
    words: np.ndarray
    tables: tuple[TableUse, ...]
    header_words: int
    live_words: int
    live_directories: dict[int, int]
    atoms: tuple[int, ...]
    hub_places: tuple[int, ...]
    lines: tuple[str, ...]
    decided: tuple[tuple[int, ...], ...]
    shown: tuple[int, ...]
    shared: tuple[str, ...]

    @property
    def directories(self) -> tuple[int, ...]:
        """The directories of the records' arena: none."""
        return ()

    @property
    def is_set(self) -> bool:
        """Whether results are distinct."""
        return self.query.free is not None

    @property
    def hub(self) -> int:
        """Position of the table that the static tables are."""
        return int(self.words[t.P_HUB])

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, _FORMAT, b"transitions")

    @property
    def height(self) -> int:
        """One: a look-up."""
        return 1

    def open(self, budget: Budget | None = None) -> TransitionJoin:
        """An empty join."""
        return TransitionJoin(self, budget)


def compile_transitions(hub: StaticHub, live: bool) -> TransitionPlan:
    """Lay out a plan. Cost: O(atoms times variables) words.

    Args:
        hub: The query across the static tables.
        live: Whether deltas are asked for.
    """
    return _Compiler(hub, live).compile()


class _Compiler:
    """Lays out one plan."""

    def __init__(self, hub: StaticHub, live: bool) -> None:
        self.hub, self.query, self.live = hub, hub.outer, live
        others = len(self.query.atoms) - 1
        self.records: Records = lay_out_records(self.query, [_HUB_WORDS, *[_ATOM_WORDS] * others])
        self.out = PlanWords(t.TRANSITIONS_HEADER)
        self.shared = tuple(sorted(hub.system.shared))
        self.lines = tuple(sorted(self.query.edges[0]))
        shown = {self.query.variable(ref) for ref in self.query.head} - hub.system.shared
        self.shown = tuple(self.lines.index(variable) for variable in sorted(shown))
        self.keys = [tuple(sorted(decided)) for decided in hub.system.decided]
        self.widest = max(2, len(self.shared), *map(len, self.keys))
        self.at = t.SCRATCH + self.widest
        self.directories: dict[int, int] = {}

    def compile(self) -> TransitionPlan:
        """The finished plan."""
        out, query = self.out, self.query
        cells = self._directory(t.CELL)
        instances = self._directory(t.I_KEY + len(self.shared))
        atoms = [self._atom(atom, names) for atom, names in enumerate(self.keys, 1)]
        tables, header = self._tables(atoms)
        head = [word for ref in query.head for word in self._source(query.variable(ref))]
        fields = {
            q.P_TABLES: len(self.records.tables),
            q.P_FIRST_TABLE: out.put(tables),
            q.P_HEAD: len(query.head),
            q.P_MODE: result_mode(query),
            t.P_ATOMS: len(atoms),
            t.P_ATOM_LIST: out.put(atoms),
            t.P_SHARED: len(self.shared),
            t.P_HEAD_LIST: out.put(head),
            t.P_IDENTITY: out.put(range(self.widest)),
            t.P_HUB: self.records.table_of[0],
            t.P_HUB_OWN: self.records.own[0],
            t.P_HUB_BIT: 0,
            t.P_CELLS: cells,
            t.P_INSTANCES: instances,
        }
        out.fill(0, fields)
        return TransitionPlan(
            query=query,
            live=self.live,
            words=np.array(out.words, np.int64),
            tables=self.records.tables,
            header_words=header,
            live_words=self.at,
            live_directories=self.directories,
            atoms=tuple(atoms),
            hub_places=tuple(self._places(0, self.lines)),
            lines=self.lines,
            decided=tuple(tuple(self.lines.index(name) for name in names) for names in self.keys),
            shown=self.shown,
            shared=self.shared,
        )

    def _directory(self, size: int) -> int:
        at = self.at
        self.directories[at] = size
        self.at += k.DIRECTORY
        return at

    def _places(self, atom: int, names: Sequence[str]) -> list[int]:
        """Where the records of an atom have variables."""
        columns = self.records.tables[self.records.table_of[atom]].columns
        return [columns.index(self.query.atoms[atom].column_of(name)) for name in names]

    def _atom(self, atom: int, names: tuple[str, ...]) -> int:
        fields = {
            t.A_BIT: atom,
            t.A_OWN: self.records.own[atom],
            t.A_WIDTH: len(names),
            t.A_PLACES: self.out.put(self._places(atom, names)),
            t.A_SHARED: self.out.put(self._places(atom, self.shared)),
            t.A_KEYS: self._directory(t.K_KEY + len(names)),
        }
        at = self.out.put([0] * t.ATOM)
        self.out.fill(at, fields)
        return at

    def _tables(self, atoms: Sequence[int]) -> tuple[list[int], int]:
        """The descriptors of the tables, and the words of the header of the records' arena."""
        words: list[int] = []
        header = k.ARENA_HEADER
        for use in self.records.tables:
            dynamic = [atoms[atom - 1] for atom in use.atoms if atom]
            listed = self.out.put(dynamic)
            words += [header, use.stride, len(dynamic), listed, len(use.columns), self.out.put(use.columns)]
            header += q.TABLE
        return words, header

    def _source(self, variable: str) -> tuple[int, int]:
        """Where a result has a variable from."""
        if variable in self.shared:
            return 1, self.shared.index(variable)
        return 0, self.shown.index(self.lines.index(variable))
