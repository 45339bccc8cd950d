"""Look-ups in views: by keys and by what views have indexes for, beside the rows after every commit; and `View.top`."""

from __future__ import annotations

import datetime as dt
import os
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from any_join import ANY_JOIN
from livejoin.errors import ReadError, SchemaError, UnsupportedQueryError
from livejoin.search.algorithm import Algorithm
from look_ups import check_look_ups

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "3"))
TABLES = """
    CREATE TABLE c (id BIGINT PRIMARY KEY, name STRING, town STRING, code INT NOT NULL UNIQUE);
    CREATE TABLE o (id BIGINT PRIMARY KEY, cid BIGINT, amount DECIMAL(8, 2), f DOUBLE);
    CREATE TABLE e (a BIGINT, b BIGINT, x FLOAT)
"""
VIEWS = {
    "one": "SELECT * FROM o WHERE amount IS NULL OR amount > 1",
    "joined": "SELECT o.id, c.name, c.town, o.amount + 1 AS more, o.f FROM o JOIN c ON o.cid = c.id WHERE c.code > 1",
    "shown": "SELECT o.id, c.id AS cid, c.code, o.f FROM o JOIN c ON o.cid = c.id",
    "outer_joined": "SELECT o.id, o.cid, name, code, e.b FROM o LEFT JOIN c ON o.cid = c.id LEFT JOIN e ON e.a = c.id",
    "in_o": "SELECT id, name FROM c WHERE id IN (SELECT cid FROM o)",
    "grouped": "SELECT cid, SUM(amount) AS s, COUNT(*) AS n FROM o GROUP BY cid HAVING COUNT(*) < 4",
    "of_customer": "SELECT c.id, c.name, SUM(amount) AS s FROM o JOIN c ON o.cid = c.id GROUP BY c.id, c.name",
    "over_groups": "SELECT name, t.* FROM c JOIN (SELECT cid, SUM(amount) AS s FROM o GROUP BY cid) t ON t.cid = c.id",
    "hops": "SELECT x.a, x.b, y.b AS c, x.x FROM e x JOIN e y ON x.b = y.a",
    "kinds": "SELECT DISTINCT a, x FROM e",
    "both": "SELECT a FROM e UNION ALL SELECT cid FROM o",
    "without": "SELECT a FROM e EXCEPT ALL SELECT cid FROM o",
    "first": "SELECT id, f FROM o ORDER BY f DESC, id LIMIT 3",
    "listed": "SELECT o.* FROM o JOIN (SELECT DISTINCT amount FROM o) USING (amount)",
    "by_float": "SELECT o.id, o.f, e.a FROM o JOIN e ON o.f = CAST(e.x AS DOUBLE)",
    "places": "SELECT id, cid, ROW_NUMBER() OVER (PARTITION BY cid ORDER BY f DESC, id) AS place FROM o",
    "first_two": "SELECT * FROM (SELECT c.name, o.id, RANK() OVER (PARTITION BY c.name ORDER BY o.f) AS place "
    "FROM o JOIN c ON o.cid = c.id) WHERE place < 3",
    "running": "SELECT id, cid, amount, COUNT(*) OVER (PARTITION BY cid, amount ORDER BY id) AS n FROM o",
    "whole": "SELECT COUNT(*) AS n, MAX(f) AS f FROM o",
    "triangle": "SELECT x.a, y.a AS b, z.a AS c FROM e x, e y, e z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a",
}
LEADING = {
    "one": 1, "joined": 1, "shown": 3, "outer_joined": 2, "in_o": 1, "grouped": 1, "of_customer": 1, "over_groups": 1,
    "hops": 1, "both": 0, "without": 1, "first": 2, "listed": 2, "whole": 2, "by_float": 1,
    "places": 1, "first_two": 1, "running": 0,
}  # fmt: skip
"""By how many columns alone rows are found in each view with the algorithm ``auto``, at least."""


def changes(random: Random, db: livejoin.Database, left: dict[str, list[tuple[Any, ...]]]) -> dict[str, pa.Table]:
    """Rows that come and go; few values, with NULL, NaN and both zeros among them."""
    floats = [0.0, -0.0, 1.5, float("nan"), float("inf"), None]
    numbers = [None, 0, 1, 2, 3]
    given: dict[str, list[dict[str, Any]]] = {}
    for name, names in (("c", "id name town code"), ("o", "id cid amount f"), ("e", "a b x")):
        rows = left.setdefault(name, [])
        for _ in range(random.randrange(4)):
            if rows and random.random() < 0.4:
                row, kind = rows.pop(random.randrange(len(rows))), "delete"
            else:
                key = random.choice([one for one in range(40) if all(row[0] != one for row in rows)])
                text, other = random.choice([None, "", "Zoë"]), random.choice(["A", None])
                price = random.choice([None, Decimal("1.50"), Decimal("2.00")])
                row = {
                    "c": (key % 6, text, other, key % 6),
                    "o": (key, random.choice(numbers), price, random.choice(floats)),
                    "e": (random.choice(numbers), random.choice(numbers), random.choice([*floats[:4], None])),
                }[name]
                if name != "e" and any(row[0] == one[0] for one in rows):
                    continue
                kind = "insert"
                rows.append(row)
            given.setdefault(name, []).append({**dict(zip(names.split(), row, strict=True)), "_change_type": kind})
    return {name: pa.Table.from_pylist(rows) for name, rows in given.items()}


@pytest.mark.parametrize(("algorithm", "threads"), [*((name, 1) for name in ANY_JOIN if name != "crown"), ("auto", 2)])
def test_what_is_looked_up_is_what_is_there(algorithm: Algorithm, threads: int) -> None:
    random, left = Random(5 * threads), dict[str, list[tuple[Any, ...]]]()
    db = livejoin.Database(threads=threads)
    db.execute(TABLES)
    for name, sql in VIEWS.items():
        with suppress(UnsupportedQueryError):  # an outer join, of all but one algorithm
            db.create_view(name, sql, algorithm=algorithm)
    done = dict.fromkeys(VIEWS, 0)
    for _ in range(2 * ROUNDS):
        db.apply(changes(random, db, left), on_conflict="error", coerce="json")
        for name in db.views:
            done[name] += check_look_ups(db.views[name], db.views[name].to_arrow())
    if algorithm == "auto":
        for name, columns in LEADING.items():
            view = db.views[name]
            places = range(len(view.schema))
            assert sum(view._access.leads({place}) for place in places) >= columns, name
            assert done[name] or name == "both"


@pytest.fixture
def db() -> livejoin.Database:
    found = livejoin.Database()
    found.execute(
        """
        CREATE TABLE c (id BIGINT PRIMARY KEY, name STRING, born DATE);
        CREATE TABLE o (id BIGINT PRIMARY KEY, cid BIGINT, amount DECIMAL(8, 2), f DOUBLE);
        CREATE VIEW v AS SELECT o.id, c.name, o.amount, o.f, c.born FROM o JOIN c ON o.cid = c.id;
        CREATE VIEW totals AS SELECT cid, name, COUNT(*) AS n FROM o JOIN c ON o.cid = c.id GROUP BY cid, name;
        CREATE VIEW days AS SELECT born, COUNT(*) AS n FROM c GROUP BY born;
        CREATE VIEW names AS SELECT name FROM c;
        CREATE VIEW best AS SELECT id, amount FROM o ORDER BY amount DESC NULLS LAST, id LIMIT 3;
        CREATE VIEW sorted AS SELECT id, amount FROM o ORDER BY amount, id;
        CREATE VIEW running AS
            SELECT id, cid, amount, COUNT(*) OVER (PARTITION BY cid, amount ORDER BY id) AS n FROM o;
        CREATE VIEW ranked AS SELECT id, ROW_NUMBER() OVER (PARTITION BY cid ORDER BY id) AS place FROM o;
        INSERT INTO c VALUES (1, 'Zoë', DATE '2000-01-02'), (2, 'Ann', NULL);
        INSERT INTO o VALUES (10, 1, 1.5, 0), (11, 1, 2.5, 0), (12, 2, 2.5, 1), (13, 3, 1, 2), (14, NULL, NULL, NULL);
        """
    )
    return found


def test_keys(db: livejoin.Database) -> None:
    view = db.views["v"]
    day = dt.date(2000, 1, 2)
    assert view.get(10) == view.get((10,)) == view.get({"ID": 10}) == (10, "Zoë", Decimal("1.50"), 0.0, day)
    assert view.get({"id": 10, "name": "Ann"}) is None
    assert view.get(13) is view.get(None) is None
    assert db.views["days"].get(None) == (None, 1)
    assert db.views["totals"].get(1) == db.views["totals"].get({"cid": 1, "name": "Zoë"}) == (1, "Zoë", 2)
    assert view.lookup(id=10, amount=Decimal("1.5")).num_rows == 1
    assert view.lookup(id=10, f=-0.0).num_rows == 1
    assert db.views["days"].lookup(born="2000-01-02", coerce="json").to_pylist() == [{"born": day, "n": 1}]
    assert view.lookup(id=10).schema == view.schema


@pytest.mark.parametrize(
    ("view", "how", "why"),
    [
        ("v", lambda view: view.lookup(name="Zoë"), r"no index by name.*it has indexes by \(id\)"),
        ("v", lambda view: view.lookup(), r"lookup\(\) names no column.*to_arrow\(\) gives all rows.*by \(id\)"),
        ("running", lambda view: view.lookup(cid=1), r"no index by cid.*indexes by \(cid, amount\).*PARTITION BY"),
        ("v", lambda view: view.lookup(nothing=1), "no column 'nothing'; it has id, name"),
        ("v", lambda view: view.lookup(id="10"), "'10' is no value of the column 'id', which is BIGINT"),
        ("v", lambda view: view.lookup(id=10, amount=Decimal("1.555")), "no value of the column 'amount'"),
        ("v", lambda view: view.lookup("Zoë"), r"by the names of columns, as lookup\(name=value\).*found 'Zoë'"),
        ("v", lambda view: view.lookup({"ID": 10}, id=11), "two values are given for the column 'id'"),
        ("v", lambda view: view.get((1, 2)), r"2 values are no key of view 'v'; its keys are \(id\)"),
        ("v", lambda view: view.get({"name": "Zoë"}), "name is no key of view 'v'"),
        ("names", lambda view: view.get("Zoë"), "no key of view 'names' is known"),
        ("ranked", lambda view: view.get(10), "it has indexes by none"),
        ("v", lambda view: view.top(1), "has no ORDER BY"),
        ("best", lambda view: view.top(-1), "rows is -1"),
    ],
)
def test_what_is_refused(db: livejoin.Database, view: str, how: Any, why: str) -> None:
    with pytest.raises((ReadError, SchemaError), match=why):
        how(db.views[view])


def test_the_index_that_a_message_proposes(db: livejoin.Database) -> None:
    db.execute("CREATE VIEW by_name AS SELECT c.* FROM c JOIN (SELECT DISTINCT name FROM c) USING (name)")
    assert db.views["by_name"].lookup(name="Ann")["id"].to_pylist() == [2]


def test_the_first_rows(db: livejoin.Database) -> None:
    assert db.views["best"].top(2)["id"].to_pylist() == [11, 12]
    assert db.views["best"].top(9)["id"].to_pylist() == [11, 12, 10]
    assert db.views["sorted"].top(3)["id"].to_pylist() == [14, 13, 10]
    db.execute("UPDATE o SET amount = 9 WHERE id = 13")
    assert db.views["best"].top(2)["id"].to_pylist() == [13, 11]
    assert db.views["best"].top(0).num_rows == 0


def test_rows_that_are_linked_along_foreign_keys() -> None:
    db = livejoin.Database()
    db.execute(
        """
        CREATE TABLE p (id BIGINT PRIMARY KEY, name STRING);
        CREATE TABLE q (id BIGINT PRIMARY KEY, pid BIGINT REFERENCES p (id), a INT);
        CREATE VIEW v AS SELECT q.id, name, a + 1 AS b FROM q JOIN p ON pid = p.id;
        INSERT INTO p VALUES (1, 'x'), (2, NULL);
        INSERT INTO q VALUES (5, 1, 7), (6, 2, NULL), (7, NULL, 1)
        """
    )
    view = db.views["v"]
    for sql in ("UPDATE q SET pid = 2 WHERE id = 5", "DELETE FROM q WHERE id = 6", "INSERT INTO q VALUES (6, 1, 1)"):
        assert check_look_ups(view, view.to_arrow()) >= 2
        db.execute(sql)
    assert view.get(5) == (5, None, 8)


def test_rows_with_a_foreign_key_are_listed_along_links() -> None:
    """By the key that rows of any table are linked to, at any depth, also where nobody has the key."""
    db = livejoin.Database()
    db.execute(
        """
        CREATE TABLE lands (id BIGINT PRIMARY KEY, land STRING);
        CREATE TABLE shops (id BIGINT PRIMARY KEY, land_id BIGINT REFERENCES lands (id), shop STRING);
        CREATE TABLE sales (n BIGINT PRIMARY KEY, shop_id BIGINT REFERENCES shops (id), amount INT);
        INSERT INTO lands VALUES (1, 'de'), (2, NULL), (3, 'fr');
        INSERT INTO shops VALUES (10, 1, 'x'), (11, 1, 'y'), (12, 2, NULL), (13, 9, 'nowhere')
        """
    )
    db.apply("sales", [(n, 10 + n % 5, n) for n in range(200)])  # some of shops that are not there
    joined = "sales JOIN shops ON shop_id = shops.id JOIN lands ON land_id = lands.id"
    sql = f"SELECT n, shop_id, land_id, land, amount FROM {joined}"
    view = db.create_view("v", sql, algorithm="aju")
    outer = db.create_view("o", sql.replace(" JOIN", " LEFT JOIN"), algorithm="aju")
    for statement in (
        "DELETE FROM sales WHERE n % 3 = 0",
        "DELETE FROM shops WHERE id = 11",
        "UPDATE lands SET id = 9 WHERE id = 3",
    ):
        for shop in range(9, 16):
            expected = [row for row in view.to_pylist() if row["shop_id"] == shop]
            assert sorted(view.lookup(shop_id=shop)["n"].to_pylist()) == sorted(row["n"] for row in expected)
        for land in (1, 2, 3, 9):
            expected = [row for row in view.to_pylist() if row["land_id"] == land and row["shop_id"] == 10]
            assert view.lookup(land_id=land, shop_id=10).num_rows == len(expected)
        assert check_look_ups(view, view.to_arrow()) >= 2
        check_look_ups(outer, outer.to_arrow())
        db.execute(statement)
