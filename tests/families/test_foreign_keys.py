"""Foreign-key joins compared with their definition after each change, and by SQL with the join tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from random_foreign_keys import random_join

import livejoin
from livejoin.errors import UnsupportedQueryError
from livejoin.families.events import table_events, view_events
from livejoin.families.foreign_keys.family import ForeignKeys
from livejoin.kernels.join.ahead import BEYOND
from livejoin.query import ConjunctiveQuery
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics
from livejoin.words import NULL_CODE
from naive_branches import heads
from reader import rows_of
from strategies import seeds

Row = tuple[int | None, ...]
Change = tuple[int, Row, int]


class Driver:
    """A join at work on rows of its tables, each known by a number."""

    def __init__(self, query: ConjunctiveQuery, capacity: int | None) -> None:
        (plan,) = ForeignKeys().candidates(query, Statistics()).plans
        self.query, self.capacity = query, capacity
        self.join = plan.compile(live=True).open()
        self.rows: list[Counter[Row]] = [Counter() for _ in query.atoms]
        self.ids: dict[tuple[int, Row], int] = {}
        self.position = {use.name: i for i, use in enumerate(self.join.plan.tables)}

    def apply(self, versions: Sequence[Sequence[Change]]) -> list[Counter[Row]]:
        """Apply changes of some versions in one call; the delta of each."""
        parts = []
        for version, changes in enumerate(versions):
            for atom, row, weight in changes:
                self.rows[atom][row] += weight
                table = self.query.atoms[atom].table
                number = np.array([self.ids.setdefault((atom, row), len(self.ids))])
                position = self.position[table.name]
                words = [NULL_CODE if value is None else value for value in row]
                self.join.load(position, number, np.array(words * (number[0] + 1), np.int64), len(row), 0)
                mask = np.array([int(self.takes(atom, row)) << atom])
                event = table_events(table.name, number, np.array([weight]), mask, np.full(1, version, np.int64))
                parts.append((position, event))
        deltas: list[Counter[Row]] = [Counter() for _ in versions]
        for chunk in self.join.maintain(view_events(parts), True, self.capacity):
            signs, of = (np.repeat(line, chunk.lengths()).tolist() for line in (chunk.signs, chunk.versions))
            for result, sign, version in zip(values(chunk.words), signs, of, strict=True):
                deltas[version][result] += sign
        return [Counter({row: n for row, n in delta.items() if n}) for delta in deltas]

    def takes(self, atom: int, row: Row) -> bool:
        """Whether no column of a row that its atom joins by is NULL."""
        used = self.query.atoms[atom]
        return all(row[used.column_of(v)] is not None for v in self.query.join_variables(atom))

    def expected(self) -> Counter[Row]:
        """The result by its definition."""
        contents = {a.table.name: list(rows.elements()) for a, rows in zip(self.query.atoms, self.rows, strict=True)}
        return Counter(heads(self.query, contents))

    def agrees(self) -> Counter[Row]:
        """Assert that scan, count and ranks give the result by its definition, which is returned."""
        expected = self.expected()
        for capacity in (1, 5, 1000):
            found = Counter(row for words in self.join.scan(capacity) for row in values(words))
            assert found == expected
        once: Counter[Row] = Counter()
        for words in self.join.combinations(3):
            for row, times in zip(values(words[:-1]), words[-1].tolist(), strict=True):
                once[row] += times
        assert once == expected
        assert self.join.count() == expected.total()
        access = self.join.access({})
        assert access.total() == expected.total()
        whole = np.concatenate([np.empty((len(self.query.head), 0), np.int64), *self.join.scan(7)], axis=1)
        assert np.array_equal(access.results(np.arange(access.total())), whole), "ranks are the order of the scan"
        self.join._check()
        return expected


def values(words: np.ndarray) -> list[Row]:
    """The rows that words stand for."""
    return [tuple(None if word == NULL_CODE else word for word in row) for row in words.T.tolist()]


def key_of(query: ConjunctiveQuery, atom: int, row: Row) -> Row:
    return tuple(row[c] for c in query.atoms[atom].table.primary_key)


def random_version(random: Random, driver: Driver, size: int) -> list[Change]:
    """Changes of one version: what leaves first, so that no key is there twice; the root may have equal rows."""
    query, changes = driver.query, []
    present = [Counter({row: n for row, n in rows.items() if n}) for rows in driver.rows]
    leaving = 0.8 if random.random() < 0.15 else 0.35
    for _ in range(size):
        atom = random.randrange(len(query.atoms))
        if present[atom] and random.random() < leaving:
            row = random.choice(sorted(present[atom], key=repr))
            weight = -random.randint(1, present[atom][row])
            changes.append((atom, row, weight))
            present[atom][row] += weight
            present[atom] += Counter()
    gone = {(atom, row) for atom, row, _ in changes}
    for _ in range(size):
        atom = random.randrange(len(query.atoms))
        table = query.atoms[atom].table
        row = tuple(random.randrange(3) if random.random() < 0.9 or not c.nullable else None for c in table.columns)
        taken = {key_of(query, atom, other) for other in present[atom]}
        if (atom, row) in gone or (table.primary_key and key_of(query, atom, row) in taken):
            continue
        weight = 1 if table.primary_key else random.choice((1, 1, 1, 3))
        changes.append((atom, row, weight))
        present[atom][row] += weight
    return changes


@pytest.mark.parametrize(
    ("seed", "branches"), [(seed, 0) for seed in seeds(8, 40)] + [(s, 1 + s % 4) for s in seeds(12, 60)]
)
def test_every_change_gives_what_the_definition_says(seed: int, branches: int) -> None:
    random = Random(seed)
    driver = Driver(random_join(random, 1 + seed % 6, branches), random.choice((None, 1, 3)))
    before = driver.agrees()
    for _ in range(25):
        for change in random_version(random, driver, random.randint(1, 4)):
            (delta,) = driver.apply([[change]])
            after = driver.expected()
            assert delta == Counter({row: n for row in after | before if (n := after[row] - before[row])})
            before = after
        driver.agrees()


@pytest.mark.parametrize("seed", seeds(12, 30))
def test_so_does_every_version_of_a_commit(seed: int) -> None:
    random = Random(seed)
    driver = Driver(random_join(random, 2 + seed % 6, seed % 3), random.choice((None, 2)))
    before = driver.agrees()
    for _ in range(12):
        versions, wanted = [], []
        twin = Driver(driver.query, None)
        twin.rows = [Counter(rows) for rows in driver.rows]
        for _ in range(random.randint(1, 3)):
            versions.append(random_version(random, twin, random.randint(1, 6)))
            for atom, row, weight in versions[-1]:
                twin.rows[atom][row] += weight
            after = twin.expected()
            wanted.append(Counter({row: n for row in after | before if (n := after[row] - before[row])}))
            before = after
        assert driver.apply(versions) == wanted
        driver.agrees()


SCHEMA = {
    "nation": "id BIGINT PRIMARY KEY, name BIGINT, region BIGINT",
    "customer": "id BIGINT PRIMARY KEY, nation BIGINT, v BIGINT",
    "supplier": "id BIGINT NOT NULL UNIQUE, nation BIGINT",
    "offer": "part BIGINT, supplier BIGINT, cost BIGINT, PRIMARY KEY (part, supplier)",
    "orders": "id BIGINT PRIMARY KEY, customer BIGINT, day BIGINT",
    "badge": "id BIGINT PRIMARY KEY, owner BIGINT NOT NULL UNIQUE, level BIGINT",
    "line": "orders BIGINT, part BIGINT, supplier BIGINT, price BIGINT",
}
KEYS = {name: [("id",)] for name in ("nation", "customer", "supplier", "orders", "badge")}
KEYS |= {"offer": [("part", "supplier")], "badge": [("id",), ("owner",)], "line": []}
LOCAL = (
    "FROM line l JOIN orders o ON l.orders = o.id JOIN customer c ON o.customer = c.id "
    "JOIN supplier s ON l.supplier = s.id JOIN nation n ON c.nation = n.id AND s.nation = n.id"
)
QUERIES = {
    "local": f"SELECT l.price, o.day, c.v, n.name {LOCAL} WHERE n.region < 2",
    "whole": "SELECT l.orders, l.part, l.supplier, l.price, o.day, o.customer, c.nation, c.v, n.name, n.region "
    f"{LOCAL}",
    "groups": f"SELECT n.name, count(*) AS n, sum(l.price * o.day) AS s, max(c.v) AS m {LOCAL} GROUP BY n.name",
    "total": f"SELECT count(*) AS n, sum(l.price) AS s {LOCAL}",
    "distinct": f"SELECT DISTINCT o.day, n.name {LOCAL}",
    "offers": "SELECT l.price, p.cost, s.nation FROM line l "
    "JOIN offer p ON l.part = p.part AND l.supplier = p.supplier JOIN supplier s ON p.supplier = s.id",
    "nations": "SELECT l.price, a.name AS buys, b.name AS sells FROM line l JOIN orders o ON l.orders = o.id "
    "JOIN customer c ON o.customer = c.id JOIN supplier s ON l.supplier = s.id JOIN nation a ON c.nation = a.id "
    "JOIN nation b ON s.nation = b.id WHERE a.region = 1 OR b.region = 1",
    "both": "SELECT o.day FROM orders o JOIN customer c ON o.customer = c.id "
    "UNION SELECT price FROM line WHERE part > 1",
    "nested": "SELECT l.price, t.n FROM line l JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY customer) t "
    "ON l.part = t.customer",
    "twins": "SELECT c.v, s.nation, b.level FROM customer c JOIN supplier s ON c.id = s.id JOIN badge b ON s.id = b.id",
    "owners": "SELECT l.price, b.id, b.level FROM line l JOIN badge b ON l.part = b.owner",
    "outer": "SELECT l.price, o.day, c.v, p.cost FROM line l LEFT JOIN orders o ON l.orders = o.id "
    "LEFT JOIN customer c ON o.customer = c.id LEFT JOIN offer p ON l.part = p.part AND l.supplier = p.supplier",
    "outer_whole": "SELECT l.price, o.day, n.name FROM line l LEFT JOIN (orders o JOIN customer c ON o.customer = c.id "
    "JOIN nation n ON c.nation = n.id) ON l.orders = o.id",
    "known": "SELECT l.price FROM line l WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = l.orders AND o.day > 1)",
    "orphans": "SELECT l.orders, l.price, s.nation FROM line l JOIN supplier s ON l.supplier = s.id "
    "WHERE NOT EXISTS (SELECT 1 FROM orders o JOIN customer c ON o.customer = c.id WHERE o.id = l.orders)",
    "outer_groups": "SELECT o.day, count(*) AS n, sum(l.price) AS s FROM line l LEFT JOIN orders o ON l.orders = o.id "
    "GROUP BY o.day",
}


def filled(threads: int = 1) -> livejoin.Database:
    """A database with a view of every query by foreign keys and by join trees."""
    db = livejoin.Database(threads=threads)
    for name, columns in SCHEMA.items():
        db.create_table(name, columns)
    for name, sql in QUERIES.items():
        db.create_view(f"{name}_aju", sql, algorithm="aju")
        db.create_view(f"{name}_tree", sql, algorithm="crown")
    return db


def lines(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def agree(db: livejoin.Database, commit: Any = None) -> None:
    for name in QUERIES:
        ours, tree = db.views[f"{name}_aju"], db.views[f"{name}_tree"]
        assert lines(ours.to_arrow()) == lines(tree.to_arrow()), name
        assert ours.count() == tree.count(), name
        by_rank = [ours.at(i) for i in range(ours.count())]
        assert sorted(map(repr, by_rank)) == sorted(map(repr, rows_of(ours.to_arrow())))
        if commit is not None:
            assert lines(commit[ours.name]) == lines(commit[tree.name]), name
    ours, tree = db.views["whole_aju"], db.views["whole_tree"]
    for row in [*rows_of(ours.to_arrow())][:5]:
        assert ours.multiplicity(row) == tree.multiplicity(row) > 0
        assert ours.multiplicity((*row[:-1], -1)) == 0
    db._check()


def random_commit(random: Random, rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Changes of some tables; keys are updated, foreign keys dangle or are NULL, and tables run empty."""
    commit = {}
    for name in random.sample(sorted(SCHEMA), random.randint(1, 4)):
        columns = [part.split()[0] for part in SCHEMA[name].partition(", PRIMARY")[0].split(", ")]
        keys, held, changes = KEYS[name], rows[name], []
        for _ in range(len(held) if random.random() < 0.1 else random.randint(0, min(2, len(held)))):
            changes.append({**held.pop(random.randrange(len(held))), "_change_type": "delete"})
        for _ in range(random.randint(0, 4 if name == "line" else 2)):
            keyed = {c for key in keys for c in key}
            row = {c: random.randrange(4) if c in keyed or random.random() < 0.9 else None for c in columns}
            if not any(all(row[c] == other[c] for c in key) for key in keys for other in held):
                held.append(row)
                changes.append({**row, "_change_type": "insert"})
        if changes:
            commit[name] = changes
    return commit


@pytest.mark.parametrize(("seed", "threads"), [(0, 1), (1, 1), (2, 2)])
def test_it_says_what_the_join_tree_says(seed: int, threads: int, tmp_path: Path) -> None:
    random = Random(seed)
    db = filled(threads)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMA}
    for step in seeds(16, 40):
        commit = db.apply(random_commit(random, rows))
        agree(db, commit)
        if step == 8:
            db.save(tmp_path)
            db = livejoin.Database.load(tmp_path, trusted=True)
            agree(db)


def test_a_commit_that_fails_is_taken_back() -> None:
    """The joins have taken their events when the last view fails."""
    random = Random(5)
    db = filled()
    db.create_view("fails", "SELECT 1 / (l.price - 7) AS q FROM line l")
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMA}
    for _ in range(8):
        before = {name: lines(view.to_arrow()) for name, view in db.views.items()}
        commit = random_commit(random, rows)
        bad = [*commit.get("line", []), {"orders": 1, "part": 1, "supplier": 1, "price": 7, "_change_type": "insert"}]
        with pytest.raises(livejoin.LivejoinError, match=r"(?i)zero"):
            db.apply({**commit, "line": bad})
        assert {name: lines(view.to_arrow()) for name, view in db.views.items()} == before
        db._check()
        db.apply(commit)
    agree(db)


def test_it_tells_how_often_a_row_stands_from_what_names_the_root() -> None:
    """The row of the root names the result, also where columns that join are not shown."""
    db = livejoin.Database()
    for name in ("customer", "nation"):
        db.create_table(name, SCHEMA[name])
    sql = "SELECT c.id, n.name FROM customer c JOIN nation n ON c.nation = n.id"
    view = db.create_view("v", sql, algorithm="aju")
    db.apply({"customer": [(1, 7, 0), (2, 7, 0), (3, 8, 0)], "nation": [(7, 70, 0)]})
    assert [view.multiplicity(row) for row in ((1, 70), (2, 70), (3, 70), (1, 71), (4, 70))] == [1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT a.id FROM customer a JOIN supplier b ON a.nation = b.nation", "by no key of either"),
        ("SELECT a.id FROM customer a, supplier b", "referenced by none"),
        ("SELECT a.id FROM customer a JOIN orders b ON a.id = b.customer AND a.nation = b.id", "reference each other"),
        ("SELECT a.id, b.day FROM customer a LEFT JOIN orders b ON a.id = b.customer", "the whole of one of its keys"),
    ],
)
def test_it_says_what_it_does_not_take(sql: str, why: str) -> None:
    db = livejoin.Database()
    for name, columns in SCHEMA.items():
        db.create_table(name, columns)
    with pytest.raises(UnsupportedQueryError, match=why):
        db.create_view("v", sql, algorithm="aju")


def test_the_planner_takes_it_where_a_tree_has_a_worse_bound() -> None:
    """TPC-H Q5 is cyclic: the nation of a customer is the supplier's."""
    db = filled()
    assert db.explain(QUERIES["whole"]).plan.kind == "foreign keys"
    assert db.explain(QUERIES["offers"]).plan.kind == "join tree"


def test_a_store_is_fed_by_a_foreign_key_join_where_annotations_have_a_worse_bound() -> None:
    """AJU, Corollary 9: the results that changes add and remove are O(lambda), whatever maintains the join."""
    db = filled()
    for name in ("groups", "total", "distinct"):
        told = db.explain(QUERIES[name])
        assert (told.plan.kind, str(told.guarantee.bound)) == ("foreign keys", "FIFO"), name
    days = "SELECT l.price, count(*) AS n FROM line l JOIN orders o ON l.orders = o.id WHERE o.day < 3 GROUP BY l.price"
    told = db.explain(days)
    assert (told.plan.kind, str(told.guarantee.bound)) == ("join tree", "FIFO")
    assert "Corollary 9" in told.guarantee.source
    assert "amortised O(1) for FIFO" in told.guarantee.update
    assert str(db.explain(days, algorithm="crown").guarantee.bound) == "linear"
    keyed = "SELECT o.id, count(*) AS n FROM line l JOIN orders o ON l.orders = o.id GROUP BY o.id"
    told = db.explain(keyed)
    assert (told.plan.kind, str(told.guarantee.bound), "store" in told.guarantee.update) == ("join tree", "O1", False)


@pytest.mark.parametrize("algorithm", ["aju", "crown"])
def test_a_state_that_caches_do_not_hold_is_read_ahead_and_stays_what_it_is(algorithm: Algorithm) -> None:
    """Rows come, go and change, of keys that are there, that are not, and that come and go with them."""
    dice = np.random.default_rng(1)
    db = livejoin.Database()
    db.create_table("orders", "no BIGINT NOT NULL PRIMARY KEY, customer BIGINT NOT NULL")
    db.create_table("customers", "id BIGINT NOT NULL PRIMARY KEY, nation BIGINT NOT NULL")
    view = db.create_view("v", "SELECT no, nation FROM orders JOIN customers ON customer = id", algorithm=algorithm)
    of = {"orders": np.full(20_000, -1), "customers": np.full(3_000, -1)}
    held = np.zeros(20_000, np.int64)
    for _ in range(3):
        changes = {}
        for (name, values), columns in zip(of.items(), (("no", "customer"), ("id", "nation")), strict=True):
            keys = dice.permutation(values.shape[0])[: values.shape[0] * 2 // 3]
            goes = dice.random(keys.shape[0]) < 0.3
            values[keys] = np.where(goes, -1, dice.integers(0, 3_000, keys.shape[0]))
            kinds = np.where(goes, "delete", "upsert")
            changes[name] = pa.table({columns[0]: keys, columns[1]: values[keys], "_change_type": kinds})
        delta = db.apply(changes, on_conflict="update")["v"].to_pydict()
        signs = [1 if kind in ("insert", "update_postimage") else -1 for kind in delta["_change_type"]]
        np.add.at(held, delta["no"], signs)
        nation = np.where(of["orders"] >= 0, of["customers"][of["orders"]], -1)
        rows = view.to_arrow().to_pydict()
        expected = {no: value for no, value in enumerate(nation.tolist()) if value >= 0}
        assert dict(zip(rows["no"], rows["nation"], strict=True)) == expected
        assert np.array_equal(held, nation >= 0)
    assert view.stats()["state_bytes"] > 8 * BEYOND, "the test is for a state that is read ahead of"
