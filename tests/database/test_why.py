"""What a row is made of, what is missing for one, and which changes did it: the answers to known questions."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from livejoin import Database, ReadError, View
from livejoin.database.lineage.causes import CausingChange
from livejoin.database.lineage.found import Absence, Combination, DerivedRow, SourceRow
from livejoin.errors import AbsentIndexError
from oracle import connect
from strategies import seeds

TABLES = """
    CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING);
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, price DECIMAL(10, 2), state STRING);
    CREATE TABLE lines (oid BIGINT, part STRING, n INT)
"""


def shop(**options: Any) -> Database:
    db = Database(**options)
    db.execute(TABLES)
    prices = [(10, 1, "6.00", "a"), (11, 1, "20.00", "b"), (12, 2, "4.00", "a"), (13, 9, "50.00", None)]
    db.apply(
        {
            "customers": [(1, "Ann"), (2, "Bob"), (3, "Zed")],
            "orders": [(id, customer, Decimal(price), state) for id, customer, price, state in prices],
            "lines": [(10, "nut", 3), (10, "bolt", 1), (11, "nut", 5), (11, "nut", 5)],
        }
    )
    return db


def ids(combination: Combination) -> list[Any]:
    """The parts of a combination, shortly."""
    found: list[Any] = []
    for part in combination.parts:
        match part:
            case SourceRow():
                found.append((part.alias, next(iter(part.row.values()))))
            case DerivedRow():
                found.append((part.alias, [ids(one) for one in part.why.combinations]))
            case Absence():
                found.append((*part.tables, dict(part.values)))
    return found


JOIN = "SELECT o.id, c.name, o.price * 2 AS x FROM orders o JOIN customers c ON o.customer = c.id"
LEFT = "SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.price > 10"
ANTI = "SELECT c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)"
SEMI = """SELECT c.name FROM customers c
    WHERE EXISTS (SELECT 1 FROM orders o JOIN lines l ON o.id = l.oid WHERE o.customer = c.id AND l.n > 2)"""
NESTED = """SELECT c.name, t.s FROM customers c
    JOIN (SELECT customer, SUM(price) AS s FROM orders GROUP BY customer) t ON t.customer = c.id"""
ABOVE = "SELECT o.id FROM orders o WHERE o.price > (SELECT AVG(price) FROM orders x WHERE x.customer = o.customer)"


@pytest.mark.parametrize(
    ("sql", "row", "expected"),
    [
        (JOIN, {"id": 11, "name": "Ann", "x": Decimal("40.00")}, [[("o", 11), ("c", 1)]]),
        (JOIN, {"id": 11}, [[("o", 11), ("c", 1)]]),
        (LEFT, ("Ann", 11), [[("c", 1), ("o", 11)]]),
        (LEFT, ("Bob", None), [[("c", 2), ("orders", {"customer": 2})]]),
        (ANTI, ("Zed",), [[("c", 3), ("orders", {"customer": 3})]]),
        (SEMI, ("Ann",), [[("c", 1), ("o", 10), ("l", 10)], [("c", 1), ("o", 11), ("l", 11)]]),
        (NESTED, ("Ann", Decimal("26.00")), [[("c", 1), ("t", [[("orders", 10)], [("orders", 11)]])]]),
        (ABOVE, (11,), [[("o", 11), ("a sub-query", [[("x", 10)], [("x", 11)]])]]),
        ("SELECT COUNT(*) AS n FROM orders", (4,), [[("orders", id)] for id in (10, 11, 12, 13)]),
        ("SELECT DISTINCT state FROM orders", (None,), [[("orders", 13)]]),
        ("SELECT name AS t FROM customers UNION SELECT part FROM lines", ("Bob",), [[("customers", 2)]]),
        ("SELECT part, n FROM lines", ("nut", 5), [[("lines", 11)]]),
        ("SELECT id FROM orders ORDER BY price DESC LIMIT 2", (11,), [[("orders", 11)]]),
        ("SELECT id FROM customers EXCEPT SELECT customer FROM orders", (3,), [[("customers", 3)]]),
        ("SELECT id, RANK() OVER (ORDER BY price DESC) AS r FROM orders", (11, 2), [[("orders", 11)]]),
        ("SELECT 1 AS a, 'x' AS b", (1, "x"), []),
    ],
)
def test_rows_that_a_row_is_made_of(sql: str, row: Any, expected: list[Any]) -> None:
    view = shop().create_view("v", sql)
    why = view.why(row)
    assert sorted(map(ids, why.combinations), key=repr) == sorted(expected, key=repr)
    assert why.is_complete != why.has_others
    assert dict(why.row) in view.to_pylist()
    json.dumps(why.to_dict(), default=str)


def test_copies_and_what_a_combination_gives() -> None:
    db = shop()
    view = db.create_view("v", "SELECT part, SUM(n) AS s, MAX(n) AS m FROM lines GROUP BY part")
    why = view.why({"part": "nut"})
    assert [
        (one.gives["n"], part.copies) for one in why.combinations for part in one.parts if isinstance(part, SourceRow)
    ] == [(3, 1), (5, 2)]
    assert why.rows("LINES") == [{"oid": 10, "part": "nut", "n": 3}, {"oid": 11, "part": "nut", "n": 5}]
    assert (why.tables, why.steps) == (("lines",), ("the group of part = 'nut'",))
    few = view.why({"part": "nut"}, limit=1)
    assert (len(few.combinations), few.is_complete) == (1, False)
    assert str(few).startswith("v has part = 'nut', s = 13, m = 5, by more than one combination of rows")


def test_steps_say_what_a_row_went_through() -> None:
    db = shop()
    top = db.create_view("top", "SELECT id FROM orders ORDER BY price DESC LIMIT 2 OFFSET 1")
    assert top.why((11,)).steps == ("among the first 2 rows behind 1 by price DESC",)
    both = db.create_view("b", "SELECT id FROM customers INTERSECT SELECT customer FROM orders")
    assert both.why((1,)).steps == ("on both sides of INTERSECT",)
    reader = db.create_view("r", "SELECT t.id FROM top t WHERE t.id > 10")
    assert "among the first 2" in str(reader.why((11,)))


COUNTED = "SELECT o.state, COUNT(*) AS n FROM orders o JOIN lines l ON o.id = l.oid GROUP BY o.state"

NO_GROUP = "its group has no rows: there is no row of orders with state = 'z'"
LEFT_OF_EXCEPT = "on the left side of EXCEPT there is no row of customers with id = 8"
RIGHT = "on the right side of INTERSECT there is no row of orders with customer = 3"
NO_SIDE = (
    "on the left side of UNION there is no row of customers with name = '?'; on the right side there is no row of "
    "lines with part = '?'"
)
MISSING: list[tuple[str, Mapping[str, Any], str, int]] = [
    (JOIN, {"id": 99}, "there is no row of orders with id = 99", 0),
    (JOIN, {"id": 13}, "there is no row of customers with id = 9", 1),
    (JOIN, {"id": 10, "name": "Bob"}, "there is no row of customers with name = 'Bob', id = 1", 1),
    (JOIN, {"id": 11, "x": Decimal("1.00")}, "what is there has x = 40.00", 2),
    (JOIN + " WHERE o.price > 10", {"id": 10}, "no row of orders that fits passes the condition price > 10", 1),
    (
        JOIN + " WHERE o.price > LENGTH(c.name) * 10",
        {"id": 12},
        "the condition o.price > LENGTH(c.name) * 10 is not true",
        2,
    ),
    (ANTI, {"name": "Ann"}, "a row of orders matches, which must not be there", 3),
    (SEMI, {"name": "Zed"}, "there is no row of orders with customer = 3", 1),
    (SEMI, {"name": "Bob"}, "there is no row of lines with oid = 12", 2),
    (LEFT, {"name": "Ann", "id": 10}, "no row of orders that fits passes the condition price > 10", 2),
    (LEFT, {"name": "Ann", "id": 12}, "what is there has id = 11", 2),
    (NESTED, {"name": "Zed"}, "there is no row of t with customer = 3", 1),
    ("SELECT state, COUNT(*) AS n FROM orders GROUP BY state", {"state": "a", "n": 3}, "what is there has n = 2", 2),
    ("SELECT state, COUNT(*) AS n FROM orders GROUP BY state", {"state": "z"}, NO_GROUP, 0),
    (
        "SELECT state FROM orders GROUP BY state HAVING COUNT(*) > 1",
        {"state": "b"},
        "the condition COUNT(*) > 1 is not true",
        1,
    ),
    (
        "SELECT id FROM orders ORDER BY price DESC LIMIT 2",
        {"id": 10},
        "it is not among the first 2 rows by price DESC",
        1,
    ),
    ("SELECT id, RANK() OVER (ORDER BY price DESC) AS r FROM orders", {"id": 11, "r": 1}, "what is there has r = 2", 1),
    ("SELECT id FROM customers EXCEPT SELECT customer FROM orders", {"id": 1}, "the right side of EXCEPT has it", 2),
    ("SELECT id FROM customers EXCEPT SELECT customer FROM orders", {"id": 8}, LEFT_OF_EXCEPT, 0),
    ("SELECT id FROM customers INTERSECT SELECT customer FROM orders", {"id": 3}, RIGHT, 0),
    ("SELECT name AS t FROM customers UNION SELECT part FROM lines", {"t": "?"}, NO_SIDE, 0),
    ("SELECT 1 AS a", {"a": 2}, "what is there has a = 1", 0),
    (
        "SELECT state FROM orders WHERE price > 1000",
        {},
        "no row of orders that fits passes the condition price > 1000",
        3,
    ),
]


@pytest.mark.parametrize(("sql", "values", "reason", "rows"), MISSING)
def test_what_is_missing(sql: str, values: Mapping[str, Any], reason: str, rows: int) -> None:
    view = shop().create_view("v", sql)
    found = view.why_not(values)
    assert (found.reason, len(found.rows)) == (reason, rows), str(found)
    assert found.to_dict()["reason"] in str(found)


def test_conditions_of_what_is_not_there_are_said() -> None:
    db = shop()
    dear = db.create_view("dear", ANTI.replace("o.customer = c.id", "o.customer = c.id AND o.price > 50"))
    assert "no row of orders with customer = 1 and price > 50" in str(dear.why(("Ann",)))
    left = db.create_view("l", LEFT)
    assert "no row of orders with customer = 2 and price > 10" in str(left.why(("Bob", None)))
    assert left.why(("Bob", None)).rows("orders") == []
    found = left.why_not({"name": "Bob", "id": 12})
    assert found.reason == "no row of orders that fits passes the condition price > 10"
    assert [part.row["id"] for part in found.rows if isinstance(part, SourceRow)] == [2, 12]
    db.execute("INSERT INTO orders VALUES (90, NULL, 1, 'n')")
    join = db.create_view("j", JOIN)
    assert join.why_not({"id": 90}).reason == "NULL equals no id of customers"
    with pytest.raises(ReadError, match=r"no row of a table 'order' is part of it \(did you mean 'orders'\?\)"):
        join.why({"id": 10}).rows("order")


def test_a_row_that_depends_on_its_partition_says_so() -> None:
    db = shop()
    view = db.create_view("w", "SELECT id, SUM(price) OVER (PARTITION BY customer ORDER BY id) AS s FROM orders")
    why = view.why({"id": 11, "s": Decimal("26.00")})
    assert (why.is_complete, why.has_others) == (False, True)
    assert "by one combination of rows; SUM = 26.00 over the rows around it" in str(why)


def test_values_of_every_type_are_asked_for() -> None:
    db = Database()
    columns = "i INT, d DOUBLE, e DECIMAL(30, 4), t DATE, s TIMESTAMP, b BOOLEAN, y BINARY, a ARRAY<INT>, c CHAR(4)"
    db.execute(f"CREATE TABLE t ({columns})")
    rows = [
        (
            1,
            float("nan"),
            Decimal("1234567890123456789012.5000"),
            dt.date(2024, 2, 29),
            dt.datetime(2024, 1, 2, 3, 4, 5),
            True,
            b"\x00",
            [1, 2],
            "ab",
        ),
        (None, -0.0, None, None, None, None, None, None, None),
    ]
    db.apply("t", rows)
    for sql in ("SELECT * FROM t", "SELECT *, COALESCE(i, 0) + 1 AS j FROM t"):
        view = db.create_view(f"v{len(db.views)}", sql)
        for row in view.to_arrow().to_pylist():
            assert [ids(one) for one in view.why(row).combinations] == [[("t", row["i"])]]


def test_values_that_python_has_not_are_an_error_of_ours() -> None:
    db = Database()
    db.execute("CREATE TABLE t (id INT PRIMARY KEY, d DATE)")
    view = db.create_view("v", "SELECT id, d FROM t WHERE id > 0")
    days = pa.array([9_000_000], pa.int32()).cast(pa.date32())
    commit = db.apply("t", pa.table({"id": pa.array([1], pa.int32()), "d": days}))
    for ask in (lambda: view.why({"id": 1}), lambda: commit.why("v", {"id": 1})):
        with pytest.raises(ReadError, match="dates and times are of the years 1 to 9999"):
            ask()


def test_a_question_that_is_none_is_refused() -> None:
    db = shop()
    view = db.create_view("v", JOIN)
    with pytest.raises(ReadError, match=r"no column 'nme' \(did you mean 'name'\?\); it has id, name, x"):
        view.why({"nme": 1})
    with pytest.raises(ReadError, match=r"give all columns, id, name, x or those of a key, \(id\)"):
        view.why({"name": "Ann"})
    with pytest.raises(ReadError, match=r"view 'v' has no row with id = 99; why_not\(\) says what is missing"):
        view.why({"id": 99})
    with pytest.raises(ReadError, match=r"view 'v' has a row with id = 10; why\(\) says"):
        view.why_not({"id": 10})
    with pytest.raises(ReadError, match=r"view 'v' has rows; why\(\) says"):
        view.why_not({})
    with pytest.raises(ReadError, match="'x' is no value of the column 'id'"):
        view.why({"id": "x"})
    with pytest.raises(ReadError, match="limit is 0"):
        view.why({"id": 10}, limit=0)
    assert view.why({"id": "10"}, coerce="json").row["id"] == 10


def test_a_pass_over_a_large_table_can_be_refused() -> None:
    db = Database()
    db.execute("CREATE TABLE big (id INT PRIMARY KEY, k INT); CREATE TABLE small (id INT PRIMARY KEY)")
    view = db.create_view("v", "SELECT b.id, b.k FROM big b JOIN small s ON b.k = s.id")
    group = db.create_view("g", "SELECT k, COUNT(*) AS n FROM big GROUP BY k")
    db.apply({"big": [(i, i % 100) for i in range(20_000)], "small": [(i,) for i in range(100)]})
    assert view.why({"id": 7}, scan=False).rows("small") == [{"id": 7}]
    with pytest.raises(AbsentIndexError, match=r"rows of table 'big', and a pass over its 20,000 rows was not allowed"):
        group.why({"k": 3}, scan=False)
    assert not group.why({"k": 3}).is_complete
    with pytest.raises(AbsentIndexError, match="scan=True"):
        group.why_not({"k": 300}, scan=False)


@pytest.mark.parametrize("options", [{}, {"threads": 2}])
def test_a_question_leaves_nothing_behind(options: dict[str, Any]) -> None:
    db = shop(**options)
    view = db.create_view("v", NESTED)
    before = (len(db._contents.graph.nodes), db.version, sorted(view.to_pylist(), key=repr), db.stats()["tables"])
    view.why(("Ann", Decimal("26.00")))
    view.why_not({"name": "unheard of", "s": None})
    assert (
        len(db._contents.graph.nodes),
        db.version,
        sorted(view.to_pylist(), key=repr),
        db.stats()["tables"],
    ) == before
    assert len(db._contents.graph.nodes) == before[0]
    db.apply("orders", [(14, 3, Decimal("1.00"), "c")])
    assert [ids(one) for one in view.why(("Zed", Decimal("1.00"))).combinations] == [
        [("c", 3), ("t", [[("orders", 14)]])]
    ]


def test_columns_that_are_not_kept_are_not_told() -> None:
    db = Database()
    db.execute("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('livejoin.retain' = 'used')")
    view = db.create_view("v", "SELECT a FROM t")
    db.apply("t", [(1, 2)])
    assert view.why((1,)).rows("t") == [{"a": 1}]


def dicts(orders: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Changes of orders."""
    return [dict(zip(("id", "customer", "price", "state", "_change_type"), one, strict=True)) for one in orders]


class TestCauses:
    VIEW = "SELECT state, SUM(price) AS s FROM orders GROUP BY state HAVING SUM(price) > 40"

    def changes(self) -> list[dict[str, Any]]:
        new = [(20, 1, 35), (21, 2, 1), (22, 3, 2), (23, 1, 4)]
        rows = [(i, c, Decimal(p), "z" if p > 1 else "y", "insert") for i, c, p in new]
        return dicts([*rows, (12, 2, Decimal("4.00"), "a", "delete")])

    def test_a_preview_and_a_commit_say_the_same(self) -> None:
        db = shop()
        db.create_view("v", self.VIEW)
        seen = db.preview("orders", self.changes())
        before = seen.why("v", {"state": "z"})
        commit = db.apply("orders", self.changes())
        behind = commit.why("v", ("z", Decimal("41.00")))
        assert before == behind
        assert [one.row["id"] for one in behind.changes] == [20, 22, 23]
        assert [one.position for one in behind.changes] == [0, 2, 3]
        assert (behind.of, behind.come, behind.go) == (5, ({"state": "z", "s": Decimal("41.00")},), ())
        assert db.version == commit.version
        assert db.views["v"].to_pylist().count({"state": "z", "s": Decimal("41.00")}) == 1

    def test_a_row_that_goes_and_one_that_moves_up(self) -> None:
        db = shop()
        db.create_view("top", "SELECT id FROM orders ORDER BY price DESC LIMIT 2")
        gone, new = (13, 9, Decimal(50), None, "delete"), (30, 1, Decimal(1), "q", "insert")
        commit = db.apply("orders", dicts([gone, new]))
        for row in ((13,), (10,)):
            (change,) = commit.why("top", row).changes
            assert (change.kind, change.row["id"], change.table) == ("delete", 13, "orders")
        assert str(commit.why("top", (10,))).splitlines()[:4] == [
            "top changes",
            "  + id = 10",
            "by 1 of 2 changes:",
            "  delete orders: id = 13, customer = 9, price = 50.00, state = NULL",
        ]

    def test_several_tables(self) -> None:
        db = shop()
        db.create_view("v", JOIN)
        commit = db.apply(
            {"customers": [(9, "New"), (8, "Old")], "orders": [(40, 8, Decimal(1), "q"), (41, 1, Decimal(1), "q")]}
        )
        assert [(one.table, one.row["id"]) for one in commit.why("v", {"id": 13}).changes] == [("customers", 9)]
        assert [(one.table, one.row["id"]) for one in commit.why("v", {"id": 40}).changes] == [
            ("customers", 8),
            ("orders", 40),
        ]

    def test_by_key_a_preview_answers_and_a_commit_says_so(self) -> None:
        db = shop()
        db.create_view("v", "SELECT id FROM orders WHERE price < 5")
        changes = [(10, 1, Decimal(1), "a"), (11, 1, Decimal(2), "b")]
        seen = db.preview("orders", changes, on_conflict="update")
        (change,) = seen.why("v", (11,)).changes
        assert (change.kind, change.position) == ("upsert", 1)
        commit = db.apply("orders", changes, on_conflict="update")
        with pytest.raises(ReadError, match=r"changes that go by key.*ask db.preview"):
            commit.why("v", (11,))
        with pytest.raises(ReadError, match="the preview is of version"):
            seen.why("v", (11,))

    def test_only_the_last_commit_and_rows_that_change(self) -> None:
        db = shop()
        db.create_view("v", "SELECT id FROM orders")
        first = db.apply("orders", [(50, 1, Decimal(1), "a")])
        with pytest.raises(ReadError, match="no row of view 'v' with id = 77 comes or goes"):
            first.why("v", (77,))
        with pytest.raises(ReadError, match="no delta of a view 'w'"):
            first.why("w", (77,))
        db.apply("orders", [(51, 1, Decimal(1), "a")])
        with pytest.raises(ReadError, match="is not the last one"):
            first.why("v", (50,))
        db.execute("CREATE TABLE only (a INT) TBLPROPERTIES ('livejoin.append_only' = 'true')")
        view = db.create_view("o", "SELECT a FROM only")
        commit = db.apply("only", [(1,)])
        with pytest.raises(ReadError, match="only grows"):
            commit.why(view.name, (1,))

    def test_an_update_is_one_change(self) -> None:
        db = Database()
        db.execute("CREATE TABLE o (id INT PRIMARY KEY, customer INT, price INT)")
        db.execute("CREATE VIEW poor AS SELECT customer FROM o GROUP BY customer HAVING SUM(price) < 150")
        db.apply("o", [(1, 1, 100), (2, 1, 100)])
        updates = ((1, 100, "delete"), (1, 101, "insert"), (2, 100, "delete"), (2, 1, "insert"))
        commit = db.apply("o", [{"id": i, "customer": 1, "price": p, "_change_type": kind} for i, p, kind in updates])
        found = [(one.kind, one.row["id"], one.row["price"]) for one in commit.why("poor", (1,)).changes]
        assert found == [("delete", 2, 100), ("insert", 2, 1)]

    def test_random_commits(self) -> None:
        """The changes that are found do it by themselves, as DuckDB has it, and none of them can be left out."""
        for seed in seeds(4, 12):
            dice, db = random.Random(seed), shop()
            db.create_view("v", COUNTED)
            before = {name: db.tables[name] and rows_of(db, name) for name in ("orders", "lines")}
            news = {
                "orders": [(100 + i, 1, Decimal(1), dice.choice("abz")) for i in range(6)],
                "lines": [(dice.choice([10, 12, 100, 101, 105]), "x", i) for i in range(6)],
            }
            commit = db.apply(news)
            delta = commit["v"].to_pylist()
            row = dice.choice(delta)
            cause = commit.why("v", {"state": row["state"]})

            goal = [(one["state"], one["n"]) for one in cause.come]
            assert counted(before, cause.changes, row["state"]) == goal
            for left_out in cause.changes:
                assert counted(before, [c for c in cause.changes if c is not left_out], row["state"]) != goal


def counted(before: Mapping[str, pa.Table], chosen: Sequence[CausingChange], state: str | None) -> list[Any]:
    """The group of a state over the rows before with some changes, by DuckDB."""
    with connect() as connection:
        for name, rows in before.items():
            more = [dict(one.row) for one in chosen if one.table == name]
            connection.register(name, pa.concat_tables([rows, pa.Table.from_pylist(more, rows.schema)]))
        text = COUNTED.replace("GROUP BY", "WHERE o.state IS NOT DISTINCT FROM ? GROUP BY")
        return connection.execute(text, [state]).fetchall()


def rows_of(db: Database, name: str) -> pa.Table:
    with db.snapshot() as at:
        return at.tables[name].to_arrow()


def test_what_if_is_one_preview_of_several_commits() -> None:
    db = shop()
    view: View = db.create_view("v", "SELECT state, SUM(price) AS s FROM orders GROUP BY state")
    rows = view.to_pylist()
    steps: list[dict[str, object]] = [
        {"orders": [(60, 1, Decimal(1), "q")]},
        {
            "orders": [{"id": 60, "customer": 1, "price": Decimal(1), "state": "q", "_change_type": "delete"}],
            "customers": [(7, "x")],
        },
        {"orders": [(61, 1, Decimal(2), "q")]},
    ]
    seen = db.what_if(steps)
    assert [(one["state"], one["s"]) for one in seen.deltas["v"].to_pylist()] == [("q", Decimal("2.00"))]
    assert (seen.changes, view.to_pylist()) == (4, rows)
    by_key = db.what_if(
        [
            {"orders": [(61, 1, Decimal(2), "q")]},
            {"orders": [{"id": 61, "price": Decimal(3), "_change_type": "upsert"}]},
        ]
    )
    assert [(one["state"], one["s"]) for one in by_key.deltas["v"].to_pylist()] == [("q", Decimal("3.00"))]
    assert db.what_if([]).changes == 0
