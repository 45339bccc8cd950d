"""What an explanation expects of a change, against what happens, on tables whose skew is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from livejoin import Commit, Database
from livejoin.plan import Explanation
from livejoin.plan.explain.effects.amount import Growth
from livejoin.plan.explain.effects.effect import Effect

CUSTOMERS, ORDERS_EACH, LINES_EACH = 60, 10, 4
FACTOR = 1.5


def uniform() -> Database:
    """Each customer has as many orders, each order as many lines; a seventh of the customers are of each segment."""
    db = Database()
    db.execute("CREATE TABLE customer (ck BIGINT PRIMARY KEY, segment BIGINT)")
    db.execute("CREATE TABLE orders (ok BIGINT PRIMARY KEY, ck BIGINT, day BIGINT)")
    db.execute("CREATE TABLE line (ok BIGINT, part BIGINT, price BIGINT)")
    orders = CUSTOMERS * ORDERS_EACH
    db.apply("customer", rows({"ck": i, "segment": i % 7} for i in range(CUSTOMERS)))
    db.apply("orders", rows({"ok": i, "ck": i % CUSTOMERS, "day": i % 13} for i in range(orders)))
    lines = range(orders * LINES_EACH)
    db.apply("line", rows({"ok": i % orders, "part": i % 97, "price": i % 31} for i in lines))
    return db


def rows(some: Iterable[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([*some])


NEW: dict[str, Callable[[random.Random, int], dict[str, int]]] = {
    "customer": lambda chance, i: {"ck": 11 * i % CUSTOMERS, "segment": 11 * i % CUSTOMERS % 7},
    "orders": lambda chance, i: {"ok": 37 * i, "ck": 37 * i % CUSTOMERS, "day": 37 * i % 13},
    "line": lambda chance, i: {
        "ok": chance.randrange(CUSTOMERS * ORDERS_EACH),
        "part": chance.randrange(97),
        "price": chance.randrange(31),
    },
}


def changed_rows(commit: Commit, view: str) -> int:
    """The rows of the result that a commit changed, one that took another one's place as one."""
    kinds = commit[view]["_change_type"].to_pylist()
    return len(kinds) - kinds.count("update_preimage")


def effect(told: Explanation, table: str) -> Effect:
    return next(one for one in told.effects if one.table == table)


QUERIES = {
    "join": "SELECT o.ok, o.day, l.part, l.price FROM orders o JOIN line l ON o.ok = l.ok",
    "three": (
        "SELECT c.segment, o.day, l.part FROM customer c JOIN orders o ON c.ck = o.ck JOIN line l ON o.ok = l.ok"
    ),
    "selected": "SELECT c.ck, o.ok FROM customer c JOIN orders o ON c.ck = o.ck WHERE c.segment = 3",
    "groups": "SELECT o.ok, SUM(l.price) AS s FROM orders o JOIN line l ON o.ok = l.ok GROUP BY o.ok",
    "groups above": (
        "SELECT c.segment, o.day, MAX(l.price) AS p FROM customer c JOIN orders o ON c.ck = o.ck "
        "JOIN line l ON o.ok = l.ok GROUP BY c.segment, o.day"
    ),
    "self": "SELECT a.ok, b.ok AS other FROM orders a JOIN orders b ON a.ck = b.ck AND a.day < b.day",
    "outer": "SELECT c.ck, o.ok FROM customer c LEFT JOIN orders o ON c.ck = o.ck",
    "distinct": "SELECT DISTINCT o.ck, l.part FROM orders o JOIN line l ON o.ok = l.ok",
    "first": "SELECT ok, day FROM orders ORDER BY day DESC, ok LIMIT 5",
    "nested": (
        "SELECT c.segment, s.n FROM customer c JOIN (SELECT ck, COUNT(*) AS n FROM orders GROUP BY ck) s ON s.ck = c.ck"
    ),
}


def test_what_is_expected_of_a_change_is_what_happens() -> None:
    """On uniform data the mean over some changes is within a factor; what is called a bound is not passed by it."""
    db, chance = uniform(), random.Random(7)
    told = {name: db.create_view(name, sql).explain() for name, sql in QUERIES.items()}
    changes = 16
    for table, new in NEW.items():
        happened = dict.fromkeys(QUERIES, 0)
        for i in range(changes):
            row = new(chance, i)
            there = table != "line"  # what has a key leaves and comes back
            for kind in ("delete", "insert") if there else ("insert", "delete"):
                commit = db.apply(table, rows([row | {"_change_type": kind}]))
                happened = {name: count + changed_rows(commit, name) for name, count in happened.items()}
        for name, count in happened.items():
            found = [one.result for one in told[name].effects if one.table == table]
            expected = found[0].expected if found else 0.0
            said = f"{name}: {table} changes {count / (2 * changes)} rows, {found} expected"
            assert expected is not None, said
            assert count / (2 * changes) <= FACTOR * expected + 0.5, said
            assert (found and found[0].is_bound) or count / (2 * changes) >= expected / FACTOR - 0.5, said


def skewed(orders: int) -> Database:
    """A tenth of the orders are of one customer, the others of one each; every order has two lines."""
    db = Database()
    db.execute("CREATE TABLE orders (ok BIGINT PRIMARY KEY, ck BIGINT)")
    db.execute("CREATE TABLE line (ok BIGINT, price BIGINT)")
    numbers = np.arange(orders)
    db.apply("orders", pa.table({"ok": numbers, "ck": np.where(numbers % 10 == 0, 0, numbers)}))
    db.apply("line", pa.table({"ok": np.repeat(numbers, 2), "price": np.arange(2 * orders) % 4}))
    return db


@pytest.mark.parametrize(("orders", "source"), [(1000, "counted"), (200_000, "sampled")])
def test_a_frequent_key_counts_as_often_as_it_is_there(orders: int, source: str) -> None:
    """The mean over the rows, not rows by keys: a row meets n/10 others with the probability 1/10."""
    told = skewed(orders).explain("SELECT a.ok, b.ok AS other FROM orders a JOIN orders b ON a.ck = b.ck")
    (one,) = told.effects
    mean = (0.1 * orders) ** 2 / orders + 0.9
    assert one.sources == (source,)
    assert one.met.expected == pytest.approx(2 * mean, rel=0.1)  # as a, and as b
    assert one.met.most == pytest.approx(2 * 0.1 * orders, rel=0.1)


@pytest.mark.parametrize("orders", [1000, 200_000])
def test_keys_of_two_tables_and_shares_that_pass(orders: int) -> None:
    sql = "SELECT o.ok, l.price FROM orders o JOIN line l ON o.ok = l.ok WHERE l.price = 3"
    told = skewed(orders).explain(sql)
    assert effect(told, "orders").met.expected == pytest.approx(0.5, rel=0.15)  # two lines, of which a quarter pass
    assert effect(told, "line").result.expected == pytest.approx(0.25, rel=0.1)
    assert effect(told, "line").growth == Growth.NONE
    assert effect(told, "orders").causes == ("rows of line per ok",)


def test_conditions_that_frequent_keys_fit_more_often() -> None:
    """Pairs are counted among the rows that fit: ``also bought`` of what is sold most meets more than the mean."""
    chance = random.Random(4)
    sold = [min(int(chance.paretovariate(0.8)), 90) for _ in range(600)]
    there = [(i, who, int(who < 4), i % 7) for i, who in enumerate(sold)]
    db = Database()
    db.execute("CREATE TABLE sale (sid BIGINT PRIMARY KEY, who BIGINT, dear BIGINT, item BIGINT)")
    db.execute("CREATE TABLE person (who BIGINT PRIMARY KEY, kind STRING)")
    people = [(i, "often" if i < 4 else "rare") for i in range(1, 91)]
    db.apply({"sale": there, "person": people})
    for dear in (0, 1):
        pairs = sum(a[1] == b[1] and a[2] == b[2] == dear for a in there for b in there)
        told = db.explain(
            "SELECT a.sid, b.sid AS o FROM sale a JOIN sale b ON a.who = b.who "
            f"WHERE a.dear = {dear} AND b.dear = {dear}"
        )
        assert told.effects[0].result.expected == pytest.approx(2 * pairs / 600), dear
    for kind in ("often", "rare"):
        told = db.explain(f"SELECT s.sid FROM person p JOIN sale s ON s.who = p.who WHERE p.kind = '{kind}'")
        number = sum((who < 4) == (kind == "often") for who in sold)
        assert effect(told, "person").result.expected == pytest.approx(number / 90)
        assert effect(told, "sale").result.expected == pytest.approx(number / 600)
    # a share that is given goes before the rows
    sql = "SELECT a.sid, b.sid AS o FROM sale a JOIN sale b ON a.who = b.who WHERE b.dear = 1"
    condition = next(node for node in db.explain(sql).diagram.nodes if any("only where" in line for line in node.lines))
    text = next(line.removeprefix("only where ") for line in condition.lines if "only where" in line)
    told = db.explain(sql, statistics={"sale": {"passing": {text: 0.0}}})
    assert told.effects[0].result.expected == 0.0


def test_statistics_that_are_given_come_before_the_rows_that_are_there() -> None:
    known = {"orders": {"rows": 1e6, "distinct": {"ck": 1e3}}}
    told = skewed(100).explain("SELECT a.ok, b.ok AS other FROM orders a, orders b WHERE a.ck = b.ck", statistics=known)
    assert told.effects[0].result.expected == 2000
    assert told.effects[0].sources == ("given",)


def test_a_log_gives_figures_too() -> None:
    db = Database()
    db.execute("CREATE TABLE orders (ok BIGINT, ck BIGINT)")
    log = {"orders": pa.table({"ok": range(40), "ck": [i % 4 for i in range(40)]})}
    told = db.explain("SELECT a.ok, b.ok AS other FROM orders a, orders b WHERE a.ck = b.ck", log=log)
    assert told.effects[0].result.expected == 20
    assert "from the change log" in str(told)
    skewed_log = {"orders": pa.table({"ok": range(40), "ck": [i if i % 2 else 0 for i in range(40)]})}
    told = db.explain("SELECT a.ok, b.ok AS other FROM orders a, orders b WHERE a.ck = b.ck", log=skewed_log)
    assert told.effects[0].result.expected == 2 * (20 * 20 + 20) / 40  # a frequent key as often as it is there
    assert told.effects[0].sources == ("observed",)
    gone = {"orders": [{"ok": 1, "ck": 1, "_change_type": kind} for kind in ("insert", "delete")]}
    assert db.explain("SELECT ok FROM orders WHERE ck = 1", log=gone).effects[0].result.is_bound


def test_without_rows_and_statistics_only_keys_say_something() -> None:
    db = Database()
    db.execute("CREATE TABLE orders (ok BIGINT PRIMARY KEY, ck BIGINT)")
    db.execute("CREATE TABLE line (ok BIGINT, price BIGINT)")
    told = db.explain("SELECT o.ok, l.price FROM orders o JOIN line l ON o.ok = l.ok")
    assert effect(told, "orders").met.expected is None
    assert (effect(told, "line").met.most, effect(told, "line").met.is_bound) == (1.0, True)
    assert "orders: meets an unknown number of rows" in str(told)
    assert "line: meets at most 1 row" in str(told)


@pytest.mark.parametrize(
    ("sql", "growth", "most"),
    [
        ("SELECT COUNT(*) AS n FROM orders", Growth.NONE, 1),
        ("SELECT o.ok FROM orders o, (SELECT MAX(price) AS p FROM line) m WHERE m.p > 3", Growth.TABLE, None),
        ("SELECT a.n, b.n AS m FROM (SELECT COUNT(*) AS n FROM orders) a, (SELECT COUNT(*) AS n FROM line) b",
         Growth.NONE, 1),
        ("SELECT ok, SUM(price) OVER (PARTITION BY ok ORDER BY price) AS s FROM line", Growth.KEY, 4),
        ("SELECT ok, LAG(price) OVER (PARTITION BY ok ORDER BY price) AS s FROM line", Growth.NONE, 2),
        ("SELECT ok FROM line ORDER BY price, ok LIMIT 3", Growth.NONE, 2),
    ],
)  # fmt: skip
def test_growth(sql: str, growth: Growth, most: float | None) -> None:
    told = skewed(100).explain(sql, allow_product=True)
    assert max(one.growth for one in told.effects) == growth
    if most is not None:
        found = max(one.result.expected or 0.0 for one in told.effects)
        assert found <= most


def test_what_never_changes_does_nothing() -> None:
    db = Database()
    db.execute("CREATE TABLE region (rk BIGINT, name STRING) TBLPROPERTIES ('livejoin.static' = 'true')")
    db.execute("CREATE TABLE place (rk BIGINT) TBLPROPERTIES ('livejoin.append_only' = 'true')")
    told = db.explain("SELECT name FROM place JOIN region ON place.rk = region.rk")
    assert [(one.table, one.promise, one.growth) for one in told.effects] == [
        ("place", "append-only", Growth.NONE),  # the rows of a table that never changes do not become more
        ("region", "static", Growth.NONE),
    ]


def test_a_window_of_rows_bounds_what_is_met() -> None:
    db = Database()
    db.create_table("few", "k BIGINT, a BIGINT", window_rows=5)
    db.create_table("many", "k BIGINT, b BIGINT")
    told = db.explain("SELECT a, b FROM few JOIN many ON few.k = many.k")
    assert effect(told, "many").growth == Growth.NONE
    assert effect(told, "many").met.expected == 5
    assert effect(told, "few").growth == Growth.KEY


def test_the_mean_times_the_rows_is_the_size_of_a_join() -> None:
    """Of a join of two tables that are counted whole it is exact, whatever the skew and the NULLs."""
    chance = random.Random(5)
    for _ in range(12):
        db = Database()
        db.execute("CREATE TABLE r (a BIGINT, b BIGINT); CREATE TABLE s (b BIGINT, c BIGINT)")
        values = [None, *range(chance.randrange(1, 9))]
        there = {name: [(chance.choice(values), chance.choice(values)) for _ in range(50)] for name in ("r", "s")}
        for name, some in there.items():
            db.apply(name, some)
        with_s = sum(b is not None and b == other for _, b in there["r"] for other, _ in there["s"])
        with_itself = sum(b is not None and b == other for _, b in there["r"] for other, _ in there["r"])
        for sql, starts, results in (
            ("SELECT r.a, s.c FROM r JOIN s ON r.b = s.b", 1, with_s),
            ("SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a", 2, with_itself),
        ):
            for one in db.explain(sql).effects:
                assert one.result.expected == pytest.approx(starts * results / 50), (sql, one.table, there)
