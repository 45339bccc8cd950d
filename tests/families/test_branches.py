"""Join trees with exists, not exists and optional edges, compared with their definition after each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from livejoin.errors import UnsupportedQueryError
from livejoin.families.crown.family import Crown
from livejoin.families.events import table_events, view_events
from livejoin.families.registry import ranked
from livejoin.query import ColumnRef, ConjunctiveQuery, Factor, Product
from livejoin.query.scalar import Expression
from livejoin.search.statistics import Statistics
from livejoin.words import NULL_CODE
from naive_branches import heads
from random_branches import TABLES, random_query
from strategies import seeds

Row = tuple[Any, ...]


class Driver:
    """A join at work on rows of the tables of `random_branches`, each known by a number."""

    def __init__(self, query: ConjunctiveQuery, plan: int, capacity: int | None) -> None:
        plans = Crown().candidates(query, Statistics()).plans
        self.query = query
        self.join = plans[plan % len(plans)].compile(live=True).open()
        self.capacity = capacity
        self.rows: dict[str, Counter[Row]] = {table.name: Counter() for table in TABLES}
        self.ids: dict[tuple[str, Row], int] = {}
        self.position = {use.name: i for i, use in enumerate(self.join.plan.tables)}

    def change(self, table: str, row: Row, weight: int) -> Counter[Row]:
        """Change how often a row is in a table; the delta."""
        self.rows[table][row] += weight
        if table not in self.position:
            return Counter()
        number = np.array([self.ids.setdefault((table, row), len(self.ids))])
        words = np.array([NULL_CODE if value is None else value for value in row] * (number[0] + 1), np.int64)
        uses = self.join.plan.tables[self.position[table]].factors
        factors = np.array([[row[int(one.text)] or 0] for one in uses], np.int64).reshape(len(uses), 1)
        self.join.load(self.position[table], number, words, len(row), 0, factors)
        mask = sum(1 << i for i, atom in enumerate(self.query.atoms) if atom.table.name == table and self.joins(i, row))
        part = table_events(table, number, np.array([weight]), np.array([mask]), np.zeros(1, np.int64))
        delta: Counter[Row] = Counter()
        for chunk in self.join.maintain(view_events([(self.position[table], part)]), True, self.capacity):
            signs = np.repeat(chunk.signs, chunk.lengths()).tolist()
            for result, sign in zip(self.values(chunk.words), signs, strict=True):
                delta[result] += sign
        return Counter({row: n for row, n in delta.items() if n})

    def build_anew(self) -> None:
        """Put a join in the place of this one that is built at once over the rows that are there."""
        self.join = self.join.plan.open()
        for table in TABLES:
            present = [(row, times) for row, times in self.rows[table.name].items() if times]
            if table.name not in self.position or not present:
                continue
            rows = [(self.ids[table.name, row], row, times) for row, times in present]
            ids = np.array([number for number, _, _ in rows])
            words = np.zeros((max(ids) + 1, len(table.columns)), np.int64)
            words[ids] = [[NULL_CODE if value is None else value for value in row] for _, row, _ in rows]
            uses = self.join.plan.tables[self.position[table.name]].factors
            factors = [[row[int(one.text)] or 0 for _, row, _ in rows] for one in uses]
            shape = (len(uses), len(rows))
            self.join.load(
                self.position[table.name],
                ids,
                words.ravel(),
                words.shape[1],
                0,
                np.array(factors, np.int64).reshape(shape),
            )
            over = [i for i, atom in enumerate(self.query.atoms) if atom.table.name == table.name]
            masks = np.array([sum(1 << i for i in over if self.joins(i, row)) for _, row, _ in rows])
            part = table_events(table.name, ids, np.array([n for _, _, n in rows]), masks, np.zeros_like(masks))
            self.join.enlist(view_events([(self.position[table.name], part)]))
        self.join.build()

    def joins(self, atom: int, row: Row) -> bool:
        """Whether no column of a row that an atom joins by is NULL."""
        used = self.query.atoms[atom]
        return all(row[used.column_of(v)] is not None for v in self.query.join_variables(atom))

    def values(self, words: np.ndarray) -> list[Row]:
        """The values of results, with the numbers of an annotation behind them."""
        columns = len(self.query.head)
        rows = []
        for row in words.T.tolist():
            sums, at = [], columns
            for product in self.query.sums:
                sums.append((row[at] % (1 << 64) + (row[at + 1] << 64)) if product.wide else row[at])
                at += 2 if product.wide else 1
            rows.append((*(None if word == NULL_CODE else word for word in row[:columns]), *sums))
        return rows

    def result(self) -> Counter[Row]:
        """The whole result."""
        return Counter(row for words in self.join.scan(7) for row in self.values(words))

    def by_rank(self) -> Counter[Row]:
        """The whole result, each row by its rank."""
        access = self.join.access({})
        return Counter(self.values(access.results(np.arange(access.total()))))

    def expected(self) -> Counter[Row]:
        """The result by its definition."""
        contents: Mapping[str, list[Row]] = {name: list(rows.elements()) for name, rows in self.rows.items()}
        if self.query.free is None:
            return Counter(heads(self.query, contents))
        factors = list(dict.fromkeys(factor for product in self.query.sums for factor in product.factors))
        columns = tuple(ColumnRef(factor.atom, int(factor.expression.text)) for factor in factors)
        groups: dict[Row, list[int]] = {}
        for row in heads(replace(self.query, head=(*self.query.head, *columns)), contents):
            values = dict(zip(factors, row[len(self.query.head) :], strict=True))
            totals = groups.setdefault(row[: len(self.query.head)], [0] * len(self.query.sums))
            for i, product in enumerate(self.query.sums):
                totals[i] += prod(values[factor] or 0 for factor in product.factors)
        return Counter((*group, *totals) for group, totals in groups.items())


@pytest.mark.parametrize("seed", seeds(15, 40))
def test_every_change_gives_what_the_definition_says(seed: int) -> None:
    random = Random(seed)
    run(random, random_query(random, 1 + seed % 4))


@pytest.mark.parametrize("seed", seeds(15, 40))
def test_so_it_does_with_annotations_and_with_distinct_results(seed: int) -> None:
    random = Random(seed)
    run(random, grouped(random, random_query(random, 1 + seed % 4), 0 if seed % 5 == 0 else random.choice((1, 2, 3))))


def grouped(random: Random, query: ConjunctiveQuery, sums: int) -> ConjunctiveQuery:
    """A query with distinct results over some variables of its core, annotated with so many sums of products."""
    core = {v: ColumnRef(a, query.atoms[a].column_of(v)) for a in query.core for v in query.atoms[a].variables}
    asked = frozenset(random.sample(sorted(core), random.randint(0, min(2, len(core)))))
    free = Crown().output(query, asked, Statistics())
    assert free is not None, "the core is a tree, of variables that it has"
    shown = [a for a in range(len(query.atoms)) if a in query.core or _is_optional(query, a)]
    products = [Product((), random.random() < 0.3)]
    for _ in range(sums - 1):
        atoms = random.sample(shown, random.randint(1, min(2, len(shown))))
        factors = [Factor(a, Expression(str(random.choice(query.atoms[a].columns)), None)) for a in atoms]
        products.append(Product(tuple(factors), random.random() < 0.3))
    head = tuple(core[v] for v in sorted(free))
    return replace(query, head=head, outputs=query.outputs[:0], free=free, sums=tuple(products[:sums]))


def _is_optional(query: ConjunctiveQuery, atom: int) -> bool:
    """Whether an atom is in a branch above which only optional edges are."""
    at = next((branch for branch in query.branches if atom in branch.atoms), None)
    while at is not None:
        if at.kind != "optional":
            return False
        at = None if at.above is None else query.branches[at.above]
    return True


def run(random: Random, query: ConjunctiveQuery) -> None:
    """Maintain a query under random changes."""
    driver = Driver(query, random.randrange(3), random.choice((None, 3)))
    before: Counter[Row] = Counter()
    wide = sum(len(branch.key) == 0 for branch in query.branches) + len(query.atoms) > 7
    for step in range(60):
        table = random.choice(TABLES)
        present = [row for row, times in driver.rows[table.name].items() if times]
        is_full = sum(map(len, driver.rows.values())) > (9 if wide else 16)
        if present and (random.random() < 0.4 or is_full):
            row = random.choice(present)
            times = driver.rows[table.name][row]
            delta = driver.change(table.name, row, -random.choice((times, 1)))
            driver.rows[table.name] += Counter()
        else:
            row = tuple(random.choice((None, -1, 0, 1)) for _ in table.columns)
            delta = driver.change(table.name, row, random.choice((1, 1, 1, 2)))
        after = driver.expected()
        change = Counter(after)
        change.subtract(before)
        assert delta == Counter({row: n for row, n in change.items() if n}), step
        before = after
        if step in (7, 25, 45):
            driver.build_anew()
        if step % 5 == 0 or step == 7:
            driver.join._check()
            assert driver.result() == after
            assert driver.join.count() == after.total()
            assert driver.by_rank() == after
    for table in TABLES:
        for row, times in list(driver.rows[table.name].items()):
            if times:
                driver.change(table.name, row, -times)
    driver.join._check()
    assert driver.result() == driver.expected()


def test_a_family_that_has_inner_edges_only_says_so() -> None:
    query = random_query(Random(1), 1, ("not exists",))
    with pytest.raises(UnsupportedQueryError, match="it has NOT EXISTS"):
        ranked(query, Statistics(), "dyn")
