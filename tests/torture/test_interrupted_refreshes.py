"""Refreshes of static tables that are cut off: counts and rows agree with DuckDB, and with each other, from then on.

A refresh loads joins anew in the form that knows who refers to static rows, and what static bags are made of; it
applies the changes, and gives both back. It is cut off in each of these places, and so is the call that takes it back.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest

import livejoin
from livejoin.database.transactions import transaction
from livejoin.dataflow.graph import Graph
from livejoin.search.algorithm import Algorithm
from oracle import assert_same_rows, connect, multiset
from torture.interrupts import NEVER, Cut, _raising, arrow

CUTS = int(os.environ.get("LIVEJOIN_TORTURE", "16"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
COLUMNS = {
    "sales": "id INT, product INT, customer INT",
    "shops": "id INT, customer INT",
    "products": "id INT PRIMARY KEY, category INT",
    "categories": "id INT PRIMARY KEY, name INT",
    "tags": "product INT, tag INT",
    "likes": "tag INT, customer INT",
}
PARTS = ("BagBlock.wake", "Graph.apply", "settle", "Graph.rest", "refresh")
"""What a refresh loads, applies, brings to its end and gives back; all of it."""
STATIC = ("tags", "products", "likes", "categories")
STAR = "FROM sales s JOIN products p ON p.id = s.product JOIN categories c ON c.id = p.category"
VIEWS: dict[str, tuple[str, Algorithm, bool]] = {
    "keyed": (f"SELECT s.id, p.id AS p, c.name {STAR}", "auto", True),
    "keyed_quietly": (f"SELECT s.id, c.name {STAR}", "auto", False),
    "tree": (f"SELECT s.id, p.id AS p, c.name {STAR}", "crown", True),
    "tree_quietly": (f"SELECT s.product, c.name {STAR} JOIN shops h ON h.customer = s.customer", "crown", False),
    "counted": (f"SELECT c.name, COUNT(*) AS n, SUM(s.id) AS x {STAR} GROUP BY c.name", "auto", True),
    "outer": (
        "SELECT s.id, p.category, t.tag FROM sales s LEFT JOIN products p ON p.id = s.product "
        "LEFT JOIN tags t ON t.product = p.id",
        "auto",
        True,
    ),
    "bag": (
        "SELECT s.id, s.product, s.customer FROM sales s JOIN tags t ON t.product = s.product "
        "JOIN likes l ON l.tag = t.tag AND l.customer = s.customer JOIN shops h ON h.customer = s.customer",
        "view-tree",
        True,
    ),
    "bag_quietly": (
        "SELECT s.product, COUNT(*) AS n FROM sales s JOIN tags t ON t.product = s.product "
        "JOIN likes l ON l.tag = t.tag AND l.customer = s.customer GROUP BY s.product",
        "auto",
        False,
    ),
    "static_alone": ("SELECT t.product, l.customer FROM tags t JOIN likes l ON l.tag = t.tag", "auto", True),
}
"""Each with its algorithm, and whether it gives deltas."""


class _Within(Cut):
    """As `Cut`, where the points within the calls of one function alone count.

    Args:
        part: The function's qualified name.
        error: What is raised.
        at: At which point.
    """

    def __init__(self, part: str, error: type[BaseException], at: int) -> None:
        super().__init__(error, at)
        self._part = part

    def _entered(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        caller: FrameType | None = frame
        while caller is not None and caller.f_code.co_qualname != self._part:
            caller = caller.f_back
        return None if caller is None else super()._entered(frame, event, argument)


class _Life:
    """A database with static tables beside plain lists of rows."""

    def __init__(self, seed: int, threads: int) -> None:
        self.random = random.Random(seed)
        self.db = livejoin.Database(threads=threads)
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in COLUMNS}
        for name, columns in COLUMNS.items():
            self.db.create_table(name, columns, static=name in STATIC)
            self.rows[name] = [self._row(name, number) for number in range(12)]
        self.db.apply({name: arrow(rows, self.db.tables[name].arrow) for name, rows in self.rows.items()})
        for name, (sql, algorithm, deltas) in VIEWS.items():
            self.db.create_view(name, sql, algorithm=algorithm, deltas=deltas)
        for view in self.db.views.values():
            view.count()  # so that it is kept up to date by deltas

    def _row(self, name: str, number: int) -> tuple[Any, ...]:
        pick = self.random.randint
        match name:
            case "sales":
                return (pick(0, 99), pick(0, 9), pick(0, 5))
            case "products" | "categories":
                return (number, pick(0, 9))
            case "shops":
                return (number, pick(0, 5))
            case "tags":
                return (pick(0, 9), pick(0, 4))
            case _:
                return (pick(0, 4), pick(0, 5))

    def others(self, name: str) -> list[tuple[Any, ...]]:
        """Rows for a table: most of those that are there, and some new ones."""
        kept = [row for row in self.rows[name] if self.random.random() < 0.8]
        if name in ("products", "categories"):
            there = {row[0] for row in kept}
            free = [number for number in range(14) if number not in there]
            return kept + [self._row(name, number) for number in self.random.sample(free, min(3, len(free)))]
        return kept + [self._row(name, self.random.randint(0, 20)) for _ in range(self.random.randint(0, 4))]

    def refresh(self, name: str, cut: Cut, error: type[BaseException], again: bool) -> bool:
        """A refresh that is cut off; whether it stands.

        Args:
            name: The table.
            cut: Where.
            error: What is raised.
            again: What takes it back is cut off at once, too.
        """
        rows, version = self.others(name), self.db.version
        given = arrow(rows, self.db.tables[name].arrow)
        kept = transaction.settle
        try:
            if again:
                transaction.settle = _raising(error)  # type: ignore[assignment]
            with suppress(error), cut:
                self.db.refresh(name, given)
        finally:
            transaction.settle = kept
        stands = self.db.version != version
        if stands:
            self.rows[name] = rows
        return stands

    def refresh_now(self, name: str) -> None:
        """A refresh that is not cut off."""
        rows = self.others(name)
        self.db.refresh(name, arrow(rows, self.db.tables[name].arrow))
        self.rows[name] = rows

    def commit(self) -> None:
        """Rows of the other tables go and come."""
        changes = {}
        for name in ("sales", "shops"):
            gone, come = self.rows[name][:2], [self._row(name, number) for number in range(2)]
            kinds = ["delete"] * len(gone) + ["insert"] * len(come)
            rows = arrow([*gone, *come], self.db.tables[name].arrow)
            changes[name] = rows.append_column("_change_type", [kinds])
            self.rows[name] = [*self.rows[name][2:], *come]
        self.db.apply(changes)

    def check(self, when: str) -> None:
        """Each view has the rows that DuckDB computes, and says how many they are."""
        with connect() as duck:
            for name in COLUMNS:
                duck.register(f"rows_{name}", arrow(self.rows[name], self.db.tables[name].arrow))
                duck.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_{name}")
            for name, (sql, _, _) in VIEWS.items():
                view = self.db.views[name]
                expected = multiset(duck.execute(sql).to_arrow_table())
                counted, found = view.count(), view.to_arrow()
                assert counted == found.num_rows == sum(expected.values()), f"{name}, {when}"
                assert_same_rows(found, expected, f"{name}, {when}")
        self.db._check()


@pytest.mark.parametrize(("threads", "cuts"), [(1, CUTS // 6), (2, CUTS // 10)])
def test_a_refresh_that_is_cut_off_stands_or_does_not(threads: int, cuts: int) -> None:
    life = _Life(SEED, threads)
    life.check("as it begins")
    kinds = {name: life.db.views[name].explain().plan.kind for name in ("keyed", "tree", "bag")}
    assert kinds == {"keyed": "foreign keys", "tree": "join tree", "bag": "view trees"}
    found: Counter[bool] = Counter()
    points: dict[tuple[str, str], int] = {}
    for number in range(cuts):
        name, part = STATIC[number % len(STATIC)], PARTS[number // len(STATIC) % len(PARTS)]
        if (name, part) not in points:
            with (counted := _Within(part, KeyboardInterrupt, NEVER)):
                life.refresh_now(name)
            points[name, part] = counted.points
        if not points[name, part]:
            continue  # no bag is made of it
        at = life.random.randint(1, points[name, part])
        error = (KeyboardInterrupt, MemoryError)[number % 2]
        cut = _Within(part, error, at)
        stands = life.refresh(name, cut, error, again=number % 3 == 0)
        found[stands] += 1
        when = (
            f"a refresh of {name}, cut at {at} of {points[name, part]} within {part}, in {cut.where}; stands: {stands}"
        )
        life.check(when)
        if number % 2:
            life.commit()
        other = STATIC[(number + 2) % len(STATIC)]  # what is joined with it in a bag
        left = number % 4 < 2  # else all joins are loaded anew behind it, and counts no more those that deltas keep
        with patch.object(Graph, "rest", lambda self: None) if left else nullcontext():
            life.refresh_now(other)
        life.check(f"{when}; then a refresh of {other}{', not given back' * left}")
    print(f"refreshes with {threads} threads: {dict(found)}")
    assert len(found) == 2 or cuts < 10
