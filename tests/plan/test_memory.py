"""The memory that is predicted before a view is made, against what is allocated then."""

from __future__ import annotations

import random

import pytest

import livejoin
from kinds_of_queries import DECLARED
from kinds_of_queries import QUERIES as KINDS

ROWS = 20_000
OVER = "OVER (PARTITION BY customer ORDER BY ts, id)"
WITH = "FROM orders o JOIN customers c ON o.customer = c.id"
MEANS = "(SELECT AVG(amount) FROM orders i WHERE i.customer = o.customer)"
QUERIES = {
    "filter": "SELECT id, amount FROM orders WHERE amount > 50",
    "groups": "SELECT customer, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY customer",
    "groups of two columns": "SELECT customer, region, AVG(amount) AS a FROM orders GROUP BY customer, region",
    "all in one group": "SELECT COUNT(*) AS n, SUM(amount) AS s FROM orders",
    "least and greatest": "SELECT customer, MIN(amount) AS lo, MAX(ts) AS hi FROM orders GROUP BY customer",
    "value with the least": "SELECT region, MIN_BY(amount, id) AS m FROM orders GROUP BY region",
    "greatest of an expression": "SELECT region, MAX(amount + customer * 0) AS m FROM orders GROUP BY region",
    "union of few rows": "SELECT region FROM orders UNION SELECT region + 0 FROM orders WHERE amount > 3",
    "different values of groups": "SELECT customer, COUNT(DISTINCT amount) AS n FROM orders GROUP BY customer",
    "medians": "SELECT region, MEDIAN(amount + id) AS m FROM orders GROUP BY region",
    "distinct": "SELECT DISTINCT customer, amount FROM orders",
    "except": "SELECT id FROM orders EXCEPT SELECT customer FROM orders",
    "first rows": "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10",
    "ranks": f"SELECT id, ROW_NUMBER() {OVER} AS r FROM orders",
    "running sums": f"SELECT id, SUM(amount) {OVER} AS r FROM orders",
    "row before": f"SELECT id, LAG(amount) {OVER} AS r FROM orders",
    "sums of partitions": "SELECT id, SUM(amount) OVER (PARTITION BY customer) AS r FROM orders",
    "as of": "SELECT o.id, q.price FROM orders o ASOF JOIN quotes q ON o.customer = q.customer AND o.ts >= q.ts",
    "pairs": "SELECT SUM(q.price) AS s FROM orders o JOIN quotes q ON o.customer = q.customer AND q.ts < o.ts",
    "pairs of orders": "SELECT o.id, COUNT(*) AS n FROM orders o JOIN quotes q "
    "ON o.customer = q.customer AND q.ts < o.ts GROUP BY o.id",
    "pairs of regions": "SELECT o.region, SUM(q.price) AS s, COUNT(*) AS n FROM orders o JOIN quotes q "
    "ON o.customer = q.customer AND q.ts BETWEEN o.ts - 50 AND o.ts GROUP BY o.region",
    "join": f"SELECT o.id, c.name {WITH}",
    "groups of a join": f"SELECT c.name, SUM(o.amount) AS s {WITH} GROUP BY c.name",
    "least of a join": f"SELECT c.name, MIN(o.amount) AS s {WITH} GROUP BY c.name",
    "rows within bounds": f"SELECT o.id FROM orders o WHERE o.amount > {MEANS}",
}


def _database() -> livejoin.Database:
    database = livejoin.Database()
    number = "BIGINT NOT NULL"
    columns = f"customer {number}, region {number}, amount {number}, ts {number}"
    database.execute(f"CREATE TABLE orders (id {number} PRIMARY KEY, {columns})")
    database.execute(f"CREATE TABLE customers (id {number} PRIMARY KEY, name {number})")
    database.execute(f"CREATE TABLE quotes (customer {number}, ts {number}, price {number})")
    return database


@pytest.fixture(scope="module")
def database() -> livejoin.Database:
    found, chance = _database(), random.Random(1)
    keys, times = range(ROWS // 10), range(ROWS)
    orders = [(i, chance.choice(keys), chance.randrange(5), chance.randrange(100), chance.choice(times)) for i in times]
    found.apply("orders", orders)
    found.apply("customers", [(i, chance.randrange(ROWS // 20)) for i in keys])
    found.apply("quotes", [(chance.choice(keys), chance.choice(times), i) for i in range(ROWS // 2)])
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_the_predicted_total_is_within_a_factor_of_two_of_what_is_allocated(
    name: str, database: livejoin.Database
) -> None:
    told = database.explain(QUERIES[name]).to_dict()["memory"]
    database.create_view("v", QUERIES[name])
    blocks = database.stats()["blocks"]
    database.drop_view("v")
    assert told["bytes"] == sum(part["bytes"] for part in told["parts"])
    assert told["bytes"] / 2 <= sum(block["capacity_bytes"] for block in blocks) <= 2 * told["bytes"]
    assert [part["name"] for part in told["parts"]] == [b["kind"] for b in blocks if b["capacity_bytes"]]


def test_what_is_not_known_is_said() -> None:
    told = _database().explain(QUERIES["groups"])
    assert told.to_dict()["memory"]["bytes"] is None
    assert told.to_dict()["memory"]["lines"] == [
        "not known beside the tables, in all",
        "groups: not known, as the number of its rows is not known",
    ]


def test_statistics_tell_the_memory_before_there_are_rows() -> None:
    figures = {"orders": {"rows": 1_000_000, "distinct": {"customer": 50_000}}}
    told = _database().explain(QUERIES["groups"], statistics=figures)
    assert told.to_dict()["memory"]["lines"] == [
        "about 7.56 MB allocated beside the tables, in all",
        "groups: about 7.56 MB for 50,000 groups",
    ]


CIRCLES = {
    "triangles": "SELECT A.src, B.src AS b, C.src AS c FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src AND C.dst = A.src",
    "their number": "SELECT COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src AND C.dst = A.src",
    "squares": "SELECT A.src, B.src AS b, C.src AS c, D.src AS d FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src JOIN G D ON C.dst = D.src AND D.dst = A.src",
    "of three tables": "SELECT A.src, B.dst FROM G A JOIN H B ON A.dst = B.src JOIN I C ON B.dst = C.src "
    "AND C.dst = A.src",
}


@pytest.mark.parametrize("edges", [20, 2000])
@pytest.mark.parametrize("name", CIRCLES)
def test_the_memory_of_a_circle_is_within_a_factor_of_two_too(name: str, edges: int) -> None:
    database, chance = livejoin.Database(), random.Random(2)
    for table in "GHI":
        database.execute(f"CREATE TABLE {table} (src BIGINT NOT NULL, dst BIGINT NOT NULL)")
    nodes = range(int(edges**0.5) * 3)
    database.apply({table: [(chance.choice(nodes), chance.choice(nodes)) for _ in range(edges)] for table in "GHI"})
    told = database.explain(CIRCLES[name]).to_dict()["memory"]
    database.create_view("v", CIRCLES[name])
    allocated = sum(block["capacity_bytes"] for block in database.stats()["blocks"])
    assert told["bytes"] / 2 <= allocated <= 2 * told["bytes"]


def test_a_circle_of_tables_without_rows_is_not_known() -> None:
    database = livejoin.Database()
    database.execute("CREATE TABLE G (src BIGINT NOT NULL, dst BIGINT NOT NULL)")
    lines = database.explain(CIRCLES["triangles"]).to_dict()["memory"]["lines"]
    assert "bag: not known, as the rows of its tables are not known" in lines


FEW = {
    "left join": "SELECT c.name, COUNT(o.id) AS n {} LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name",
    "greatest": "SELECT c.name, MAX(o.amount) AS n {} LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name",
    "not exists": "SELECT c.id {} WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
    "few of many": "SELECT c.id, o.id AS o {} JOIN orders o ON o.customer = c.id AND o.amount < 5 AND c.name > 3",
}


@pytest.mark.parametrize(("customers", "orders"), [(10, 10), (100, 50), (5000, 100), (100, 5000)])
@pytest.mark.parametrize("name", FEW)
def test_few_rows_and_many_are_told_alike(name: str, customers: int, orders: int) -> None:
    """After one commit, and of what is in use too."""
    database, chance = _database(), random.Random(3)
    view = database.create_view("v", FEW[name].format("FROM customers c"))
    database.apply(
        {
            "customers": [(i, i % 20) for i in range(customers)],
            "orders": [(i, chance.randrange(customers), 0, chance.randrange(100), i) for i in range(orders)],
        }
    )
    told = view.explain(analyze=True).to_dict()
    allocated = sum(block["capacity_bytes"] for block in database.stats()["blocks"])
    assert told["memory"]["bytes"] / 2 <= allocated <= 2 * told["memory"]["bytes"]
    for block in told["actual"]["blocks"]:
        if block["expected_bytes"] is not None:
            assert block["expected_bytes"] / 2 <= block["state_bytes"] <= 2 * block["expected_bytes"]


def test_all_forms_say_the_same(database: livejoin.Database) -> None:
    told = database.explain(QUERIES["least of a join"])
    for line in told.to_dict()["memory"]["lines"]:
        assert line in " ".join(told.text().split())
        assert line in told.html()


def test_a_view_that_keeps_nothing_says_so() -> None:
    told = _database().explain("SELECT 1 AS one")
    assert told.to_dict()["memory"]["lines"] == ["nothing beside the tables"]


FAR = {"groupmin": 6.0, "ineqcolumns": 3.0}
"""Queries whose prediction is a bound that is further away: all values of each group, of a join with few of
them; rows whose bounds are turned around, which are not kept."""
SMALL = 65_536  # bytes, below which least sizes count most


def test_the_memory_of_every_kind_of_query_is_within_a_factor() -> None:
    """Also of what is in use: equal rows, NULLs and rows without a match count as what is kept of them."""
    chance, number = random.Random(1), 1500

    def value() -> int | None:
        return None if chance.random() < 0.08 else chance.randrange(80)

    db = livejoin.Database()
    db.execute(DECLARED)
    db.apply(
        {
            "r": [(i, value(), value()) for i in range(number)],
            "s": [(value(), value(), value()) for _ in range(number)],
            "t": [(chance.randrange(80), chance.randrange(80)) for _ in range(number)],
            "u": [(i, value()) for i in range(number // 3)],
        }
    )
    wrong = []
    for name, sql in KINDS.items():
        told = db.explain(sql, allow_product=True).to_dict()["memory"]["bytes"]
        db.create_view("v", sql, allow_product=True)
        allocated = sum(block["capacity_bytes"] for block in db.stats()["blocks"])
        db.drop_view("v")
        factor = FAR.get(name, 2.2)
        if allocated >= SMALL and not told / factor <= allocated <= 2.2 * told:
            wrong.append(f"{name}: {told:.0f} told, {allocated} allocated")
    assert wrong == []
