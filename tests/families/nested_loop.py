"""A join family for tests: the join of at most two atoms, computed anew by a nested loop after every version.

It is written against the protocols of `livejoin.families` alone, as a family that comes later would be.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.derived import DerivedTable
from livejoin.families.family import INNER_ONLY, NO_CANDIDATES, Candidates, SearchOutline
from livejoin.families.join_access import Found, RowIndexes, Values
from livejoin.families.layout.table_use import TableUse
from livejoin.families.outline import EdgeOutline, NodeOutline, PlanOutline, atom_outlines
from livejoin.families.program import TableBytes
from livejoin.families.sizes import MAX_COUNT, exactly
from livejoin.kernels.join import layout as q
from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import Guarantee, UpdateBound
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.words import Words

Row = tuple[int, ...]
_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class LoopProgram:
    query: ConjunctiveQuery
    live: bool

    @property
    def tables(self) -> tuple[TableUse, ...]:
        uses = []
        for name in dict.fromkeys(atom.table.name for atom in self.query.atoms):
            atoms = tuple(i for i, atom in enumerate(self.query.atoms) if atom.table.name == name)
            columns = sorted({column for atom in atoms for column in self.query.atoms[atom].columns})
            factors = dict.fromkeys(f.expression for one in self.query.sums for f in one.factors if f.atom in atoms)
            uses.append(TableUse(name, tuple(columns), atoms, len(columns), tuple(factors)))
        return tuple(uses)

    @property
    def load_order(self) -> range:
        return range(len(self.tables))

    def form(self, rests: bool, /) -> LoopProgram:
        return self

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"loop{self.query.atoms}{self.query.head}{self.query.free}".encode()).hexdigest()[:16]

    @property
    def columns(self) -> int:
        return len(self.query.head) + sum(2 if one.wide else 1 for one in self.query.sums)

    @property
    def components(self) -> Words:
        return np.cumsum([0, *(2 if one.wide else 1 for one in self.query.sums)])[:-1]

    @property
    def height(self) -> int:
        return 1

    @property
    def line(self) -> str:
        return ""

    def predicted_work(self, known: Statistics) -> float:
        return 0.0

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        return ()

    def open(self, budget: Budget | None = None) -> LoopJoin:
        return LoopJoin(self)


class LoopJoin:
    """For each atom the rows that are there with their multiplicities, and the result."""

    def __init__(self, plan: LoopProgram) -> None:
        self.plan = plan
        self._values: list[dict[int, tuple[Row, Row]]] = [{} for _ in plan.tables]  # columns and factors by row
        self._rows: list[Counter[int]] = [Counter() for _ in plan.query.atoms]
        self._result: dict[Row, tuple[int, ...]] = {}
        self._events = 0

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
        at = rows if sources is None else sources
        extra = np.empty((0, rows.shape[0]), np.int64) if factors is None else factors
        for i, row in enumerate(rows.tolist()):
            begin = int(at[i]) * stride + first
            values = tuple(int(words[begin + column]) for column in self.plan.tables[table].columns)
            self._values[table][row] = (values, tuple(extra[:, i].tolist()))

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        limit, _ = chunk_limits(self.plan.columns, emit, capacity)
        self._events += events.shape[1]
        for version in np.unique(events[q.V_VERSION]).tolist():
            for event in events[:, events[q.V_VERSION] == version].T.tolist():
                self._apply(event)
            before, self._result = self._result, self._computed()
            if emit:
                yield from self._delta(before, version, limit)

    def enlist(self, events: Words, *, again: bool = False) -> None:
        for _ in self.maintain(events, emit=False):
            pass

    def build(self, *, again: bool = False) -> None:
        pass

    def _apply(self, event: list[int]) -> None:
        row, weight, mask = event[q.V_ROW], event[q.V_WEIGHT], event[q.V_MASK]
        for atom in self.plan.tables[event[q.V_TABLE]].atoms:
            here = self._rows[atom]
            if mask >> atom & 1 if weight > 0 else row in here:  # rows that leave come without a mask
                here[row] += weight
                if not here[row]:
                    del here[row]

    def _delta(self, before: dict[Row, Row], version: int, limit: int) -> Iterator[DeltaChunk]:
        annotated = bool(self.plan.query.sums)
        for sign, old, new in ((-1, self._result, before), (1, before, self._result)):
            rows: list[Row] = []
            for row, value in new.items():
                if annotated:
                    rows += [(*row, *value)] * (old.get(row) != value)
                else:
                    rows += [row] * max(0, value[0] - old.get(row, (0,))[0])
            for begin in range(0, len(rows), limit):
                part = rows[begin : begin + limit]
                words = np.array(part, np.int64).reshape(len(part), self.plan.columns).T
                yield DeltaChunk(np.ascontiguousarray(words), np.array([[0], [version], [sign]]))

    def _computed(self) -> dict[Row, Row]:
        """The result: multiplicities, 1 for distinct results, or the words of annotations."""
        query = self.plan.query
        found: dict[Row, list[int]] = {}
        for rows in product(*(here.items() for here in self._rows)):
            values: dict[str, int] = {}
            joins = True
            for atom, (row, _) in zip(query.atoms, rows, strict=True):
                use, (columns, _) = self._of(atom.table.name, row)
                for variable in atom.variables:
                    word = columns[use.columns.index(atom.column_of(variable))]
                    joins = joins and values.setdefault(variable, word) == word
            if not joins:
                continue
            times = int(np.prod([n for _, n in rows]))
            sums = found.setdefault(
                tuple(values[query.variable(ref)] for ref in query.head), [0] * max(1, len(query.sums))
            )
            for i, one in enumerate(query.sums):
                sums[i] += times * int(np.prod([self._factor(f.atom, f.expression, rows) for f in one.factors]))
            if not query.sums:
                sums[0] = 1 if query.free is not None else sums[0] + times
        if not query.sums:
            return {row: tuple(sums) for row, sums in found.items()}
        return {row: self._words(sums) for row, sums in found.items()}

    def _of(self, table: str, row: int) -> tuple[TableUse, tuple[Row, Row]]:
        position = next(i for i, use in enumerate(self.plan.tables) if use.name == table)
        return self.plan.tables[position], self._values[position][row]

    def _factor(self, atom: int, expression: str, rows: tuple[tuple[int, int], ...]) -> int:
        use, (_, factors) = self._of(self.plan.query.atoms[atom].table.name, rows[atom][0])
        return factors[use.factors.index(expression)]

    def _words(self, sums: list[int]) -> Row:
        words = []
        for one, total in zip(self.plan.query.sums, sums, strict=True):
            for i in range(2 if one.wide else 1):
                word = (total >> (64 * i)) % _WORD
                words.append(word - _WORD if word >> 63 else word)
        return tuple(words)

    def _lines(self) -> list[Row]:
        annotated = bool(self.plan.query.sums)
        return [
            line
            for row, value in self._result.items()
            for line in ([(*row, *value)] if annotated else [row] * value[0])
        ]

    def scan(self, capacity: int) -> Iterator[Words]:
        lines = self._lines()
        for begin in range(0, len(lines), capacity):
            part = lines[begin : begin + capacity]
            yield np.array(part, np.int64).reshape(len(part), self.plan.columns).T

    def combinations(self, capacity: int) -> Iterator[Words]:
        lines = [(*row, value[0]) for row, value in self._result.items()]
        for begin in range(0, len(lines), capacity):
            yield np.array(lines[begin : begin + capacity], np.int64).T

    def size(self) -> int | float:
        total = len(self._result) if self.plan.query.sums else sum(value[0] for value in self._result.values())
        return float(total) if total > MAX_COUNT else total

    def count(self) -> int:
        return exactly(self.size())

    def access(self, tables: RowIndexes) -> LoopAccess:
        return LoopAccess(self)

    @property
    def registered(self) -> int:
        return sum(len(here) for here in self._rows)

    @property
    def weighed(self) -> int:
        return self._events  # any of them may have changed a multiplicity

    def counters(self) -> dict[str, int]:
        return {"propagated": 0, "stopped": 0, "touched": 0, "probes": self._events}

    def arrays(self) -> dict[str, Words]:
        arrays = {}
        for i, table in enumerate(self._values):
            lines = [(row, *columns, *factors) for row, (columns, factors) in table.items()]
            arrays[f"values{i}"] = np.array(lines, np.int64).ravel()
        for i, here in enumerate(self._rows):
            arrays[f"rows{i}"] = np.array(sorted(here.items()), np.int64).ravel()
        return arrays

    def restore(self, arrays: Mapping[str, Words]) -> None:
        for i, use in enumerate(self.plan.tables):
            width = 1 + len(use.columns) + len(use.factors)
            for row, *rest in arrays[f"values{i}"].reshape(-1, width).tolist():
                cut = len(use.columns)
                self._values[i][row] = (tuple(rest[:cut]), tuple(rest[cut:]))
        self._rows = [Counter(dict(arrays[f"rows{i}"].reshape(-1, 2).tolist())) for i in range(len(self._rows))]
        self._result = self._computed()

    def sizes(self) -> tuple[int, int]:
        size = sum(words.nbytes for words in self.arrays().values())
        return size, size

    def free_bytes(self) -> int:
        return 0

    def _check(self) -> None:
        assert self._result == self._computed(), "the result is that of the rows"
        assert all(n > 0 for here in self._rows for n in here.values()), "no row that is not there"


class LoopAccess:
    """The results in the order of the scan."""

    def __init__(self, join: LoopJoin) -> None:
        self._join = join
        self._query = join.plan.query
        self.needed = self._query.variables if self._query.free is None else self._query.free

    def total(self) -> int:
        return self._join.count()

    def results(self, ranks: Words) -> Words:
        lines = np.array(self._join._lines(), np.int64).reshape(-1, self._join.plan.columns)
        return lines[ranks].T

    def find(self, values: Values, length: int) -> Found:
        head = [values[self._query.variable(ref)] for ref in self._query.head]
        found = [self._join._result.get(tuple(int(line[i]) for line in head)) for i in range(length)]
        if not self._query.sums:
            times = np.array([0 if one is None else one[0] for one in found], np.int64)
            return Found(times, np.empty((0, length), np.int64), values)
        width = self._join.plan.columns - len(head)
        annotations = np.array([one or (0,) * width for one in found], np.int64).reshape(length, width).T.copy()
        return Found(np.array([one is not None for one in found], np.int64), annotations, values)


@dataclass(frozen=True)
class LoopCandidate:
    query: ConjunctiveQuery
    guarantee: Guarantee
    cost: float = 1.0
    propagation: float = 1.0
    touches: float = 1e9
    tree: None = None
    obstacle: str = ""

    @property
    def line(self) -> str:
        return " x ".join(atom.alias for atom in self.query.atoms)

    def outline(self, live: bool) -> PlanOutline:
        nodes = tuple(
            NodeOutline(a.name, a.variables, (a.alias,), (), False, ("all rows",), (), a.predicate, depth)
            for depth, a in enumerate(atom_outlines(self.query))
        )
        edges = tuple(EdgeOutline(0, child, (), False) for child in range(1, len(nodes)))
        return PlanOutline("nested loop", "nested loop, computed anew", nodes, edges, len(nodes))

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()

    def compile(self, live: bool) -> LoopProgram:
        return LoopProgram(self.query, live)


class NestedLoop:
    """The family; ``bound`` is what it promises, and ``touches`` what it says that a change touches."""

    edges = INNER_ONLY
    aggregates = "of each group computed anew"

    def __init__(self, algorithms: tuple[str, ...], bound: UpdateBound, touches: float = 1e9) -> None:
        self.algorithms = algorithms
        self.bound = bound
        self.touches = touches

    def output(self, query: ConjunctiveQuery, asked: frozenset[str], known: Statistics) -> frozenset[str] | None:
        return asked if len(query.atoms) <= 2 else None

    def candidates(self, query: ConjunctiveQuery, known: Statistics) -> Candidates:
        if len(query.atoms) > 2:
            return NO_CANDIDATES
        promise = Guarantee(self.bound, "O(N^2) a change", "constant delay", "linear", "O(N^2)", "a loop in a loop")
        return Candidates(
            (LoopCandidate(query, promise, touches=self.touches),), "", SearchOutline(0, 0, True, "nothing to search")
        )

    def better(self, query: ConjunctiveQuery, known: Statistics, than: UpdateBound) -> Any:
        return None
