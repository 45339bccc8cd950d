"""Each number of a verdict against what a change really met, looked up and changed, over skewed rows, query by query.

Rows of each table leave and come back one by one: those by which a table's mean is told, from the most frequent key to
the least one.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from livejoin import Database, View
from livejoin.families.nodes import READ, TOUCHED, TellsOfNodes
from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.operators import AnyJoin
from livejoin.search.statistics import Statistics

FACTOR = 1.6  # a mean over a sample of skewed rows
ROWS = {"cust": 60, "orders": 600, "line": 1500, "item": 40, "g": 400}
CHANGED = {"cust": 24, "orders": 24, "line": 24, "item": 40, "g": 250}  # rows of each table that leave and come back
COLUMNS = {
    "cust": ("cid", "seg"),
    "orders": ("oid", "cid", "ts", "price"),
    "line": ("oid", "item", "qty"),
    "item": ("item", "cat"),
    "g": ("src", "dst"),
}
DECLARED = """
    CREATE TABLE cust (cid BIGINT PRIMARY KEY, seg BIGINT NOT NULL);
    CREATE TABLE orders (oid BIGINT PRIMARY KEY, cid BIGINT NOT NULL, ts BIGINT NOT NULL, price BIGINT NOT NULL);
    CREATE TABLE line (oid BIGINT NOT NULL, item BIGINT NOT NULL, qty BIGINT NOT NULL);
    CREATE TABLE item (item BIGINT PRIMARY KEY, cat BIGINT NOT NULL);
    CREATE TABLE g (src BIGINT NOT NULL, dst BIGINT NOT NULL);
"""
LINES = "orders o JOIN line l ON l.oid = o.oid"
QUERIES = {
    "four": f"SELECT c.seg, l.qty, i.cat FROM {LINES} JOIN cust c ON o.cid = c.cid JOIN item i ON i.item = l.item",
    "circle": "SELECT a.src, b.src AS y FROM g a JOIN g b ON a.dst = b.src JOIN g c ON b.dst = c.src AND c.dst = a.src",
    "hops": "SELECT a.src, c.dst FROM g a JOIN g b ON a.dst = b.src JOIN g c ON b.dst = c.src",
    "left": "SELECT c.cid, o.oid FROM cust c LEFT JOIN orders o ON o.cid = c.cid",
    "left by key": "SELECT l.item, o.price FROM line l LEFT JOIN orders o ON o.oid = l.oid",
    "having": f"SELECT o.cid, SUM(l.qty) AS s FROM {LINES} GROUP BY o.cid HAVING SUM(l.qty) > 50",
    "groups": f"SELECT i.cat, o.ts, MAX(l.qty) AS m FROM {LINES} JOIN item i ON i.item = l.item GROUP BY i.cat, o.ts",
    "first": "SELECT oid, seg FROM orders o JOIN cust c ON c.cid = o.cid ORDER BY price DESC, oid LIMIT 9",
    "itself": "SELECT a.oid, b.ts FROM orders a JOIN orders b ON a.cid = b.cid AND a.ts < b.ts AND a.price > b.price",
    "exists": "SELECT oid FROM orders o WHERE EXISTS (SELECT 1 FROM line l WHERE l.oid = o.oid AND l.qty > 5)",
    "union": "SELECT cid AS k FROM orders WHERE price > 50 UNION SELECT seg FROM cust",
    "ranks": "SELECT oid, ROW_NUMBER() OVER (PARTITION BY cid ORDER BY ts) AS n FROM orders",
    "running": f"SELECT o.oid, SUM(l.qty) OVER (PARTITION BY o.cid ORDER BY o.ts, l.item, l.qty) AS s FROM {LINES}",
    "distinct": f"SELECT DISTINCT o.cid, i.cat FROM {LINES} JOIN item i ON i.item = l.item",
    "few groups": "SELECT i.cat, MAX(l.qty) AS s FROM line l JOIN item i ON i.item = l.item GROUP BY i.cat",
    "few pairs": (
        "SELECT i.cat, j.cat AS other, COUNT(*) AS n FROM line k JOIN line l ON k.oid = l.oid AND k.qty < l.qty "
        "JOIN item i ON i.item = k.item JOIN item j ON j.item = l.item GROUP BY i.cat, j.cat"
    ),
    "few values": "SELECT DISTINCT i.cat FROM line l JOIN item i ON i.item = l.item",
    "few parts": "SELECT seg AS k FROM cust UNION SELECT ts % 3 FROM orders",
    "one group": "SELECT COUNT(*) AS n, MAX(b.ts) AS t FROM orders a JOIN orders b ON a.cid = b.cid",
    "first of groups": f"SELECT o.cid, SUM(l.qty) AS s FROM {LINES} GROUP BY o.cid ORDER BY s DESC, o.cid LIMIT 3",
    "few groups of all": "SELECT c.seg, n FROM (SELECT seg, COUNT(*) AS n FROM cust GROUP BY seg) c WHERE n > 3",
    "nested": "SELECT seg, n FROM cust JOIN (SELECT cid, COUNT(*) AS n FROM orders GROUP BY cid) s ON s.cid = cust.cid",
}
STORES = ("groups", "DISTINCT", "first rows", "UNION")
"""The kinds of blocks in which each row that comes is one look-up."""

Row = tuple[int, ...]


def skewed(chance: random.Random, number: int, keys: int) -> list[int]:
    """Keys of which a few are frequent."""
    return [min(int(chance.paretovariate(0.8)), keys) - 1 for _ in range(number)]


def tables() -> dict[str, list[Row]]:
    chance = random.Random(5)
    customers, items = skewed(chance, ROWS["orders"], 60), skewed(chance, ROWS["line"], 40)
    edges = {(a, chance.randrange(70)) for a in skewed(chance, ROWS["g"], 70)}
    return {
        "cust": [(i, i % 4) for i in range(ROWS["cust"])],
        "orders": [(i, cid, i, chance.randrange(100)) for i, cid in enumerate(customers)],
        "line": [(chance.randrange(ROWS["orders"]), item, chance.randrange(9)) for item in items],
        "item": [(i, i % 5) for i in range(ROWS["item"])],
        "g": sorted(edges),
    }


def some(rows: list[Row], number: int) -> list[Row]:
    """Rows from those with the most frequent second value to the others, evenly."""
    often = Counter(row[1] for row in rows)
    ordered = sorted(rows, key=lambda row: (-often[row[1]], row))
    return [ordered[(2 * i + 1) * len(ordered) // (2 * number)] for i in range(number)]


def met(view: View) -> int | None:
    """Rows that changes met in the joins of a view; None where a join does not tell."""
    found = 0
    for node in view._graph.below(view._node):
        if not isinstance(node.plan, AnyJoin):
            continue
        program = node.plan.physical
        is_of_tables = [one.alias for one in program.query.atoms] == [one.alias for one in node.plan.query.atoms]
        if not isinstance(program, TellsOfNodes) or not is_of_tables:
            return None
        assert node.watch is not None
        counted = node.watch.work.nodes[1]
        places = [place for place, one in enumerate(program.node_figures(Statistics())) if one.atom is not None]
        found += int(counted[[TOUCHED, READ]][:, places].sum()) if counted.shape[1] else 0
    return found


STARS = {
    "lines": "SELECT l.qty FROM line l JOIN orders o ON o.oid = l.oid JOIN cust c ON c.cid = o.cid",
    "shown": "SELECT l.qty, o.ts, c.seg FROM line l JOIN orders o ON o.oid = l.oid JOIN cust c ON c.cid = o.cid",
    "star": "SELECT l.qty, i.cat FROM line l JOIN orders o ON o.oid = l.oid JOIN item i ON i.item = l.item",
    "some": "SELECT l.qty FROM line l JOIN orders o ON o.oid = l.oid AND o.price < 20 WHERE l.qty > 3",
    "left": "SELECT l.qty, c.seg FROM line l LEFT JOIN orders o ON o.oid = l.oid LEFT JOIN cust c ON c.cid = o.cid",
    "none": "SELECT l.qty FROM line l WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.oid = l.oid AND o.price < 20)",
}
"""Joins along foreign keys, where a row looks up the rows of its keys."""


def looked_up(view: View) -> int:
    return sum(node.counts.total.received for node in view._graph.below(view._node) if node.plan.kind in STORES)


def check(said: str, expected: Amount, actual: float) -> None:
    assert expected.expected is not None, said
    assert actual <= FACTOR * expected.expected + 0.5, f"{said}: {actual}, {expected}"
    assert expected.is_bound or actual >= expected.expected / FACTOR - 0.5, f"{said}: {actual}, {expected}"


@pytest.fixture(scope="module")
def happened() -> dict[tuple[str, str], tuple[Any, float | None, float, float]]:
    """For each query and table what was expected, and what a change met, looked up and changed on average."""
    db, there = Database(), tables()
    db.execute(DECLARED)
    db.apply(there)
    views = {name: db.create_view(name.replace(" ", "_"), sql) for name, sql in QUERIES.items()}
    told = {name: view.explain() for name, view in views.items()}
    for view in views.values():
        view.analyze()
    found: dict[tuple[str, str], tuple[Any, float | None, float, float]] = {}
    for table, rows in there.items():
        begun = {name: (met(view), looked_up(view)) for name, view in views.items()}
        deltas = dict.fromkeys(views, 0)
        for row in some(rows, CHANGED[table]):
            for kind in ("delete", "insert"):
                change = dict(zip(COLUMNS[table], row, strict=True)) | {"_change_type": kind}
                commit = db.apply(table, pa.Table.from_pylist([change]))
                for name in views:
                    deltas[name] += commit[name.replace(" ", "_")].num_rows
        changes = 2 * CHANGED[table]
        for name, view in views.items():
            effect = next((one for one in told[name].effects if one.table == table), None)
            now, before = met(view), begun[name][0]
            each = None if now is None or before is None else (now - before) / changes
            if effect is not None:
                above = (looked_up(view) - begun[name][1]) / changes
                found[name, table] = effect, each, above, deltas[name] / changes
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_numbers_of_a_verdict_are_true(
    name: str, happened: dict[tuple[str, str], tuple[Any, float | None, float, float]]
) -> None:
    """A mean is within a factor of what happened, and what is called a bound is not passed."""
    for (query, table), (effect, each, above, delta) in happened.items():
        if query == name:
            check(f"{name}: {table} in the delta", effect.delta, delta)
            if each is not None:
                check(f"{name}: {table} meets", effect.met, each)
            if name not in ("ranks", "running", "nested", "itself"):  # rows in an order are not counted
                check(f"{name}: {table} looks up", effect.looked_up, above)


@pytest.mark.parametrize("name", STARS)
def test_what_is_met_along_foreign_keys_is_what_is_told(name: str) -> None:
    """Rows that are looked up by a key count on both sides."""
    db, there = Database(), tables()
    db.execute(DECLARED)
    db.apply(there)
    view = db.create_view("v", STARS[name], algorithm="aju")
    told = view.explain()
    view.analyze()
    for table, rows in there.items():
        effect = next((one for one in told.effects if one.table == table), None)
        if effect is None:
            continue
        before = met(view)
        for row in some(rows, CHANGED[table]):
            for kind in ("delete", "insert"):
                db.apply(table, [dict(zip(COLUMNS[table], row, strict=True)) | {"_change_type": kind}])
        now = met(view)
        assert now is not None and before is not None
        check(f"{name}: {table} meets", effect.met, (now - before) / (2 * CHANGED[table]))
    block = view.explain(analyze=True).to_dict()["actual"]["blocks"][0]
    assert block["met"] == pytest.approx(block["expected_met"], rel=0.6)


def test_an_as_of_join_counts_keys_that_both_sides_have() -> None:
    """The largest partition of trades has no quote, so that no change moves it, and these trades have no result."""
    db = Database()
    db.execute("CREATE TABLE trades (id BIGINT PRIMARY KEY, sym BIGINT NOT NULL, ts BIGINT NOT NULL)")
    db.execute("CREATE TABLE quotes (sym BIGINT NOT NULL, ts BIGINT NOT NULL, bid BIGINT NOT NULL)")
    trades = [(i, 0, i) for i in range(500)] + [(500 + i, 1 + i % 5, 2 * i + 1) for i in range(500)]
    db.apply({"trades": trades, "quotes": [(1 + i % 5, 10 * i, i) for i in range(100)]})
    asof = "FROM trades t ASOF {} JOIN quotes q ON t.sym = q.sym AND t.ts >= q.ts"
    inner = {one.table: one.result for one in db.explain(f"SELECT t.id, q.bid {asof.format('')}").effects}
    assert inner["quotes"].most == 100  # of one symbol, and not 500
    assert inner["quotes"].expected == 5
    assert (inner["trades"].expected, inner["trades"].most, inner["trades"].is_bound) == (0.5, 1, True)
    outer = {one.table: one.result for one in db.explain(f"SELECT t.id, q.bid {asof.format('LEFT')}").effects}
    assert (outer["trades"].expected, outer["trades"].is_bound) == (1, False)


@pytest.mark.parametrize("rows", [2_000, 80_000])
def test_the_share_of_a_condition_is_one_number(rows: int) -> None:
    """In the verdict, the tree and analyze, for tables that are counted and for those that are sampled."""
    db = Database()
    db.execute("CREATE TABLE a (k BIGINT PRIMARY KEY, x BIGINT NOT NULL); CREATE TABLE b (k BIGINT, y BIGINT)")
    ids = pa.array(range(rows))
    db.apply({"a": pa.table({"k": ids, "x": [i * 7 % 10 for i in range(rows)]}), "b": pa.table({"k": ids, "y": ids})})
    view = db.create_view("v", "SELECT a.k, b.y FROM a JOIN b ON a.k = b.k WHERE a.x < 4")
    told = view.explain()
    (way,) = next(one for one in told.effects if one.table == "a").ways
    assert way.reach.fits == pytest.approx(0.4, rel=0.02)
    view.analyze()
    db.apply("a", [{"k": 0, "x": 0, "_change_type": "delete"}])
    nodes = view.explain(analyze=True).to_dict()["actual"]["blocks"][0]["nodes"]
    (expected,) = [one["expected_rows"] for one in nodes if one["label"] == "a"]
    assert expected == pytest.approx(way.reach.fits * rows, rel=0.02)


MOST = {
    ("few groups", "item"): (5, 10),
    ("few pairs", "item"): (25, 50),
    ("few pairs", "line"): (25, 50),
    ("few values", "item"): (1, 1),
    ("few parts", "cust"): (1, 1),
    ("one group", "orders"): (1, 2),
    ("first of groups", "orders"): (6, 6),
    ("few groups of all", "cust"): (1, 2),
}
"""The rows of the result, and of its delta, that a change of a table changes at most, as there are no more."""


@pytest.mark.parametrize(("name", "table"), MOST)
def test_no_more_rows_change_than_there_are(
    name: str, table: str, happened: dict[tuple[str, str], tuple[Any, float | None, float, float]]
) -> None:
    effect, _, _, delta = happened[name, table]
    result, most = MOST[name, table]
    assert effect.result.expected <= result and effect.result.most <= result
    assert effect.delta.expected <= most and effect.delta.most <= most
    assert delta <= most


def test_groups_of_a_large_table_are_bounded_by_a_sample() -> None:
    """What was drawn often is all there is; each value that was drawn once may stand for several."""
    db = Database()
    db.execute("CREATE TABLE big (region BIGINT, k BIGINT, once BIGINT); CREATE TABLE other (k BIGINT, v BIGINT)")
    number = 80_000
    ids = pa.array(range(number))
    columns = {"region": [i % 5 for i in range(number)], "k": [i % 20 for i in range(number)], "once": ids}
    db.apply({"big": pa.table(columns), "other": [(i % 20, i) for i in range(6000)]})
    join = "FROM big b JOIN other o ON o.k = b.k"
    (of_big, _) = sorted(db.explain(f"SELECT region, SUM(v) AS s {join} GROUP BY region").effects, key=_table)
    (_, of_other) = sorted(db.explain(f"SELECT region, SUM(v) AS s {join} GROUP BY region").effects, key=_table)
    assert (of_big.result.expected, of_other.result.expected) == (1.0, 1.0)  # rows with one k have one region
    (_, of_other) = sorted(db.explain(f"SELECT once, SUM(v) AS s {join} GROUP BY once").effects, key=_table)
    assert of_other.result.expected == pytest.approx(number / 20, rel=0.1)  # of 80,000 groups


def _table(one: Any) -> str:
    return str(one.table)


def test_orders_of_one_customer() -> None:
    """Each change meets all of them, as the first line says, and the delta is smaller: each pair is checked."""
    db, number = Database(), 2000
    db.execute("CREATE TABLE orders (oid BIGINT PRIMARY KEY, cid BIGINT, ts BIGINT, price BIGINT)")
    chance = random.Random(2)
    db.apply("orders", [(i, 7, i, chance.randrange(1000)) for i in range(number)])
    view = db.create_view(
        "later",
        "SELECT a.oid, b.oid AS y FROM orders a JOIN orders b ON a.cid = b.cid AND a.ts <> b.ts "
        "WHERE a.price % 2 <> b.price % 2",
    )
    (effect,) = view.explain().effects
    assert (effect.met.expected, effect.met.is_bound) == (2 * number, False)
    check("later: in the result", effect.result, number)  # of each two rows with prices of another kind both orders
    first = str(view.explain()).partition("One change of")[0]
    assert (
        "A change of orders meets all rows of orders with the same cid (about 2,000 rows). Together, as a and as b, "
        "that is about 4,000 rows."
    ) in " ".join(first.split())
    assert "Each combination of rows that it meets is checked: a.ts <> b.ts AND a.price % 2 <> b.price % 2" in " ".join(
        first.split()
    )
    view.analyze()
    db.apply("orders", [(number + i, 7, number + i, chance.randrange(1000)) for i in range(10)])
    found = met(view)
    assert found is not None
    assert 2 * number <= found / 10 <= 2 * (number + 10)
