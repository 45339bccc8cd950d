"""Drives any algorithm that maintains a conjunctive query, batch by batch, and recomputes the query by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product as cartesian
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.families.events import TableEvents, table_events, view_events
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output, Product
from livejoin.schema import Column, SqlType, Table

Row = tuple[int, ...]
Change = tuple[int, Row, int, int]  # table, row, change of its multiplicity, version
_WORD = 1 << 64


@dataclass(frozen=True)
class Problem:
    """A query over integers.

    Args:
        variables: The variables of each atom, in the order of its rows' values.
        output: The columns of the result, which are the free variables if ``free``.
        free: Whether results are distinct.
        sums: Their annotation; factors are names of the atom's variables or numbers.
        tables: The table of each atom; atoms over one table have equally many variables.
        wide: The tables that have one more column, which the query does not use.
        odd: The atoms that only odd rows take part in, by the sum of their values.
    """

    variables: tuple[str, ...]
    output: str
    free: bool = False
    sums: tuple[Product, ...] = ()
    tables: tuple[int, ...] = ()
    wide: frozenset[int] = frozenset()
    odd: frozenset[int] = frozenset()

    @property
    def table_of(self) -> tuple[int, ...]:
        """The table of each atom."""
        return self.tables or tuple(range(len(self.variables)))

    def width(self, table: int) -> int:
        """Columns of a table."""
        return len(self.variables[self.table_of.index(table)]) + (table in self.wide)

    @property
    def edges(self) -> list[frozenset[str]]:
        """The variables of each atom."""
        return [frozenset(v) for v in self.variables]

    @property
    def query(self) -> ConjunctiveQuery:
        """The query."""
        bigint = SqlType.integer(64)
        names = {t: tuple(Column(f"k{i}", bigint) for i in range(max(1, self.width(t)))) for t in set(self.table_of)}
        tables = {t: Table(f"R{t}", columns) for t, columns in names.items()}
        atoms = tuple(
            Atom(f"A{i}", tables[t], tuple(range(len(vs))), tuple(vs))
            for i, (vs, t) in enumerate(zip(self.variables, self.table_of, strict=True))
        )
        head = tuple(
            next(ColumnRef(i, vs.index(v)) for i, vs in enumerate(self.variables) if v in vs) for v in self.output
        )
        outputs = tuple(Output(v, pa.int64(), i) for i, v in enumerate(self.output))
        free = frozenset(self.output) if self.free else None
        return ConjunctiveQuery("", atoms, head, outputs, free, self.sums)

    def takes_part(self, atom: int, row: Row) -> bool:
        """Whether a row takes part in an atom."""
        return atom not in self.odd or sum(row) % 2 == 1


def brute(problem: Problem, contents: Sequence[Counter[Row]]) -> Counter[Row]:
    """The result from scratch, as a multiset of rows followed by the words of an annotation."""
    counts: Counter[Row] = Counter()
    totals: dict[Row, list[int]] = {}
    bindings: list[tuple[dict[str, int], int, tuple[Row, ...]]] = [({}, 1, ())]
    for atom, (variables, table) in enumerate(zip(problem.variables, problem.table_of, strict=True)):
        longer = []
        for (binding, weight, rows), (row, times) in cartesian(bindings, contents[table].items()):
            if times and problem.takes_part(atom, row):
                values = dict(zip(variables, row, strict=False))
                if all(binding.get(v, x) == x for v, x in values.items()):
                    longer.append((binding | values, weight * times, (*rows, row)))
        bindings = longer
    for binding, weight, rows in bindings:
        key = tuple(binding[v] for v in problem.output)
        counts[key] += weight
        group = totals.setdefault(key, [0] * len(problem.sums))
        for i, one in enumerate(problem.sums):
            value = weight
            for factor in one.factors:
                names = problem.variables[factor.atom]
                place = names.find(factor.expression.text) if factor.expression.text.isalpha() else -1
                value *= rows[factor.atom][place] if place >= 0 else int(factor.expression.text)
            group[i] += value
    if not problem.free:
        return counts
    return Counter((*key, *_words(problem.sums, group)) for key, group in totals.items())


def _words(sums: Sequence[Product], group: Sequence[int]) -> list[int]:
    words = []
    for one, total in zip(sums, group, strict=True):
        for i in range(2 if one.wide else 1):
            word = (total >> (64 * i)) % _WORD
            words.append(word - _WORD if word >> 63 else word)
    return words


@dataclass
class AlgorithmDriver:
    """An algorithm at work on a problem.

    Args:
        problem: The query.
        build: Makes the operator of a query.
        capacity: Rows and segments of an output buffer.
    """

    problem: Problem
    build: Callable[[ConjunctiveQuery], Any]
    capacity: int | None = None
    ids: dict[tuple[int, Row], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.join = self.build(self.problem.query)
        self.position = {use.name: i for i, use in enumerate(self.join.plan.tables)}

    def apply(self, changes: Iterable[Change], emit: bool = True) -> dict[int, Counter[Row]]:
        """Apply changes; the delta of each version."""
        parts: list[tuple[int, TableEvents]] = []
        for table, row, weight, version in changes:
            number = np.array([self.ids.setdefault((table, row), len(self.ids))])
            words = np.zeros((len(self.ids), max(1, len(row))), np.int64)
            words[number[0], : len(row)] = row
            mask = sum(
                1 << atom
                for atom, t in enumerate(self.problem.table_of)
                if t == table and self.problem.takes_part(atom, row)
            )
            position = self.position[f"R{table}"]
            self.join.load(position, number, words.ravel(), words.shape[1], 0, self._factors(position, row))
            mask = mask if weight > 0 else 0  # rows that leave a window come without
            one = (np.array([weight]), np.array([mask]), np.array([version]))
            parts.append((position, table_events(f"R{table}", number, *one)))
        deltas: dict[int, Counter[Row]] = {}
        for chunk in self.join.maintain(view_events(parts), emit, self.capacity):
            assert emit, "a delta that was not asked for"
            assert self.capacity is None or chunk.rows <= self.capacity
            lengths = chunk.lengths()
            signs, versions = np.repeat(chunk.signs, lengths), np.repeat(chunk.versions, lengths)
            for row, sign, version in zip(chunk.words.T.tolist(), signs.tolist(), versions.tolist(), strict=True):
                deltas.setdefault(version, Counter())[tuple(row)] += sign
        return {v: Counter({r: n for r, n in delta.items() if n}) for v, delta in deltas.items()}

    def _factors(self, position: int, row: Row) -> np.ndarray:
        use = self.join.plan.tables[position]
        lines = []
        for expression in use.factors:
            place = -1
            text = expression.text
            if text.isalpha():
                place = next(
                    self.problem.variables[a].find(text) for a in use.atoms if text in self.problem.variables[a]
                )
            lines.append([row[place] if place >= 0 else int(text)])
        return np.array(lines, np.int64).reshape(len(lines), 1)

    def result(self) -> Counter[Row]:
        """Full enumeration."""
        rows: Counter[Row] = Counter()
        for words in self.join.scan(self.capacity or 1000):
            rows.update(map(tuple, words.T.tolist()))
        return rows
