"""Join trees with exists, not exists and optional edges, compared with their definition after each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

from livejoin.errors import UnsupportedQueryError
from livejoin.families.crown.family import Crown
from livejoin.families.events import table_events, view_events
from livejoin.families.registry import ranked
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Statistics
from livejoin.words import NULL_CODE
from naive_branches import heads
from random_branches import TABLES, random_query

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
        self.join.load(self.position[table], number, words, len(row), 0)
        mask = sum(1 << i for i, atom in enumerate(self.query.atoms) if atom.table.name == table and self.joins(i, row))
        part = table_events(table, number, np.array([weight]), np.array([mask]), np.zeros(1, np.int64))
        delta: Counter[Row] = Counter()
        for chunk in self.join.maintain(view_events([(self.position[table], part)]), True, self.capacity):
            signs = np.repeat(chunk.signs, chunk.lengths()).tolist()
            for result, sign in zip(self.values(chunk.words), signs, strict=True):
                delta[result] += sign
        return Counter({row: n for row, n in delta.items() if n})

    def joins(self, atom: int, row: Row) -> bool:
        """Whether no column of a row that an atom joins by is NULL."""
        used = self.query.atoms[atom]
        return all(row[used.column_of(v)] is not None for v in self.query.join_variables(atom))

    @staticmethod
    def values(words: np.ndarray) -> list[Row]:
        """The values of results."""
        return [tuple(None if word == NULL_CODE else word for word in row) for row in words.T.tolist()]

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
        return Counter(heads(self.query, contents))


@pytest.mark.parametrize("seed", range(40))
def test_every_change_gives_what_the_definition_says(seed: int) -> None:
    random = Random(seed)
    query = random_query(random, 1 + seed % 4)
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
            row = tuple(random.choice((None, 0, 1, 2)) for _ in table.columns)
            delta = driver.change(table.name, row, random.choice((1, 1, 1, 2)))
        after = driver.expected()
        change = Counter(after)
        change.subtract(before)
        assert delta == Counter({row: n for row, n in change.items() if n}), step
        before = after
        if step % 5 == 0:
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
    with pytest.raises(UnsupportedQueryError, match="edges of the kind 'not exists'"):
        ranked(query, Statistics(), "dyn")
