"""Joins of tables with keys, one of which has a part of its rows in each cell: the deltas add up to DuckDB's result."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import CapacityError
from livejoin.plan.dispatch import Dispatch, choose, sampled
from livejoin.plan.stages import Everywhere, outline, stages
from livejoin.query import ConjunctiveQuery
from oracle import connect, signed_multiset, without_zeros
from scenario import Row
from spread_cells import Spread
from strategies import IS_FUZZ

COLUMNS = {
    "O": {"no": "BIGINT", "part": "INT", "customer": "BIGINT", "amount": "BIGINT", "at": "BIGINT"},
    "C": {"id": "BIGINT", "region": "INT"},
    "T": {"region": "INT", "rate": "INT"},
}
JOINED = "FROM O JOIN C ON O.customer = C.id"
VIEWS = {
    "groups": f"SELECT region, COUNT(*) AS n, SUM(amount) AS total, MIN(amount) AS least {JOINED} GROUP BY region",
    "one": f"SELECT COUNT(*) AS n, SUM(amount) AS total {JOINED}",
    "rows": f"SELECT O.no, O.part, C.region {JOINED}",
    "copies": f"SELECT O.amount, C.region {JOINED}",
    "each": f"SELECT DISTINCT C.region {JOINED}",
    "first": f"SELECT O.no, O.part, C.region {JOINED} ORDER BY O.no DESC, O.part, C.region LIMIT 4",
    "optional": "SELECT O.no, O.part, C.region FROM O LEFT JOIN C ON O.customer = C.id AND C.region > 1",
    "lonely": "SELECT O.no FROM O WHERE NOT EXISTS (SELECT 1 FROM C WHERE C.id = O.customer)",
    "early": "SELECT O.no FROM O WHERE NOT EXISTS (SELECT 1 FROM C WHERE C.id = O.customer AND C.region < O.amount)",
    "late": "SELECT customer, COUNT(*) AS n FROM O WHERE NOT EXISTS "
    "(SELECT 1 FROM C WHERE C.id = O.customer AND C.region >= O.amount) GROUP BY customer",
    "absent": "SELECT O.no FROM O WHERE O.customer NOT IN (SELECT id FROM C)",
    "itself": "SELECT A.no AS a, B.no AS b FROM O A JOIN O B ON A.customer = B.no",
    "three": f"SELECT O.no, C.id, T.rate {JOINED} JOIN T ON C.region = T.region",
    "alone": "SELECT customer, SUM(amount) AS total, COUNT(*) AS n FROM O GROUP BY customer",
    "passing": "SELECT no, amount FROM O WHERE amount > 20",
}


class Orders:
    """Tables in cells, and beside them what they hold; of each key of O the newest change by `at` counts."""

    def __init__(self, dice: Random, cells: int) -> None:
        self.dice, self.at = dice, 0
        self.orders: dict[tuple[int, int], tuple[int, Row | None]] = {}
        self.customers: dict[int, Row] = {}
        self.rates: list[Row] = []
        bound = livejoin.Database()
        columns = {name: ", ".join(f"{c} {t}" for c, t in kinds.items()) for name, kinds in COLUMNS.items()}
        bound.create_table("O", f"{columns['O']}, PRIMARY KEY (no, part)", sequence_by="at")
        bound.create_table("C", f"{columns['C']}, PRIMARY KEY (id)")
        bound.create_table("T", columns["T"])
        for name, sql in VIEWS.items():
            bound.create_view(name, sql)
        tables = {name: bound._contents.tables[name.lower()].table for name in COLUMNS}
        some = {name.lower(): sampled(table, table.arrow.empty_table(), total=100) for name, table in tables.items()}
        some["o"] = sampled(tables["O"], tables["O"].arrow.empty_table(), total=10_000)
        self.chosen: list[Dispatch] = []

        def chosen(query: ConjunctiveQuery) -> Dispatch:
            found = choose(query, some, cells)
            if {atom.table.lower() for atom in found.atoms} <= some.keys() and found.divided is None:
                found = replace(found, divided=next((i for i in query.core if query.atoms[i].table.primary_key), None))
            self.chosen.append(found)
            return Dispatch.from_plain(found.plain())

        staged = stages({view.name: view._query for view in bound.views.values()}, chosen)
        self.spread = Spread(staged, cells)
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in VIEWS}

    def step(self) -> None:
        """A batch, and the comparison of all views."""
        found = {"O": self.changed_orders(), "C": self.changed_customers(), "T": self.changed_rates()}
        changes = {name: _table(name, rows) for name, rows in found.items() if rows}
        for view, deltas in self.spread.apply(changes).items():
            for delta in deltas:
                self.told[view].update(signed_multiset(delta))
        self.spread.check()
        with connect() as connection:
            orders = [row for _, row in self.orders.values() if row is not None]
            for name, rows in (("O", orders), ("C", list(self.customers.values())), ("T", self.rates)):
                connection.register(name, _table(name, [(*row, "insert") for row in rows]))
            for name, sql in VIEWS.items():
                assert without_zeros(self.told[name]) == Counter(connection.execute(sql).fetchall()), name

    def changed_orders(self) -> list[Row]:
        dice, changes = self.dice, list[Row]()
        for _ in range(dice.randrange(12)):
            self.at += 1
            at = self.at if dice.random() < 0.7 else dice.randrange(self.at) * 1000 + self.at  # some are very new
            key, kind = (dice.randrange(8), dice.randrange(2)), dice.choice(["upsert", "upsert", "delete"])
            row = (*key, dice.choice([None, *range(7)]), dice.choice([None, *range(50)]), at)
            changes.append((*row, kind))
            if key not in self.orders or self.orders[key][0] < at:
                self.orders[key] = at, row if kind == "upsert" else None
        dice.shuffle(changes)
        return changes

    def changed_customers(self) -> list[Row]:
        changes = list[Row]()
        for _ in range(self.dice.randrange(4)):
            row = (self.dice.randrange(7), self.dice.choice([None, *range(4)]))
            kind = self.dice.choice(["upsert", "upsert", "delete"])
            changes.append((*row, kind))
            if kind == "upsert":
                self.customers[row[0]] = row
            else:
                self.customers.pop(row[0], None)
        return changes

    def changed_rates(self) -> list[Row]:
        come = [(self.dice.randrange(4), self.dice.randrange(3)) for _ in range(self.dice.randrange(3))]
        gone = [self.rates.pop(self.dice.randrange(len(self.rates)))] if len(self.rates) > 3 else []
        self.rates += come
        return [(*row, "insert") for row in come] + [(*row, "delete") for row in gone]


def _table(name: str, rows: list[Any]) -> pa.Table:
    kinds = [{"BIGINT": pa.int64(), "INT": pa.int32()}[kind] for kind in COLUMNS[name].values()] + [pa.string()]
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], [*COLUMNS[name], "_change_type"]
    )


@pytest.mark.parametrize("cells", [1, 2, 3] if IS_FUZZ else [3])
def test_changes_by_key_in_any_order(cells: int) -> None:
    orders = Orders(Random(cells), cells)
    assert sum(one.divided is not None for one in orders.chosen) >= len(VIEWS) - 5, "but one table, and NOT IN"
    for _ in range(8):
        orders.step()


def test_who_is_whole_in_every_cell() -> None:
    orders = Orders(Random(0), 4)
    first = orders.spread.staged.stages[0]
    everywhere = {one.relation for one in first.exchanges if isinstance(one.route, Everywhere)}
    assert everywhere == {"c", "t", "o"}, "the other side of the self-join too"
    assert "in all cells" in orders.chosen[0].lines()[0]
    told = list(outline(orders.spread.staged, 4).lines())[1]
    assert "O by no, part" in told
    assert "C to every cell" in told


@pytest.mark.parametrize(("rows", "divided"), [((10_000, 100), True), ((10_000, 9_000), False)])
def test_a_table_is_everywhere_where_that_takes_less(rows: tuple[int, int], divided: bool) -> None:
    bound = livejoin.Database()
    bound.create_table("F", "id BIGINT PRIMARY KEY, d BIGINT")
    bound.create_table("D", "id BIGINT PRIMARY KEY, x BIGINT")
    view = bound.create_view("v", "SELECT F.id, D.x FROM F JOIN D ON F.d = D.id")
    (join,) = view._query.joins
    samples = {}
    for name, total in zip(("f", "d"), rows, strict=True):
        table = bound._contents.tables[name].table
        samples[name] = sampled(table, table.arrow.empty_table(), total=total)
    assert (choose(join, samples, 8).divided is not None) is divided


def test_sums_that_fit_as_a_whole_and_not_in_a_cell() -> None:
    most = (1 << 63) - 1
    bound = livejoin.Database()
    bound.create_table("S", "id BIGINT PRIMARY KEY, g INT, x BIGINT")
    bound.create_view("v", "SELECT g, SUM(x) AS total FROM S GROUP BY g")
    cells = Spread(stages({"v": bound.views["v"]._query}, lambda query: choose(query, {}, 3)), 3)

    def apply(values: dict[int, int | None]) -> Counter[Row]:
        kinds = pa.array(["upsert"] * len(values))
        groups = pa.array([0] * len(values), pa.int32())
        rows = pa.table({"id": list(values), "g": groups, "x": pa.array(values.values(), pa.int64())})
        told = Counter[Row]()
        for delta in cells.apply({"S": rows.append_column("_change_type", kinds)})["v"]:
            told.update(signed_multiset(delta))
        return without_zeros(told)

    assert apply({i: most if i % 2 else -most for i in range(20)}) == Counter({(0, 0): 1})
    assert apply({20: most, 21: None}) == Counter({(0, most): 1, (0, 0): -1})
    with pytest.raises(CapacityError, match="SUM"):
        apply({22: 1})
