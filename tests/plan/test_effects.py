"""What an explanation expects of a change, against what happens, on tables whose skew is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from livejoin import Commit, Database
from livejoin.plan import Explanation
from livejoin.plan.explain.effects.effects import Effect

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
