"""Assertions as a user declares, violates and drops them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from livejoin import Database, SchemaError, SqlError, ViolationError
from livejoin.errors import SqlSyntaxError, UnknownNameError, UnsupportedQueryError

TOTALS = (
    "CREATE ASSERTION totals CHECK (NOT EXISTS (SELECT o.id, price, paid FROM orders o "
    "JOIN (SELECT order_id, SUM(amount) AS paid FROM payments GROUP BY order_id) p ON p.order_id = o.id "
    "WHERE paid > price))"
)


def shop(path: Path | None = None) -> Database:
    db = Database(path)
    db.execute(
        "CREATE TABLE customers (id INT PRIMARY KEY, name STRING);"
        "CREATE TABLE orders (id INT PRIMARY KEY, customer INT REFERENCES customers (id) ENFORCED, price INT);"
        "CREATE TABLE payments (order_id INT, amount INT);"
        f"{TOTALS}; CREATE ASSERTION staffed CHECK ((SELECT COUNT(*) FROM customers) <= 3)"
    )
    db.apply({"customers": [(7, "Ada")], "orders": [(1, 7, 10)], "payments": [(1, 4)]})
    return db


def test_a_commit_that_violates_an_assertion_is_refused_whole() -> None:
    db = shop()
    before = {name: view.to_pylist() for name, view in db.views.items()}
    with pytest.raises(ViolationError, match=r"'totals' does not hold: a row violates it: id = 1, price = 10") as found:
        db.apply({"payments": [(1, 6), (1, 1)], "customers": [(8, "Bob")]})
    assert (found.value.assertion, found.value.count) == ("totals", 1)
    assert found.value.rows.to_pylist() == [{"id": 1, "price": 10, "paid": 11}]
    assert db.version == 1 and db.sql("SELECT id FROM customers").num_rows == 1
    assert {name: view.to_pylist() for name, view in db.views.items()} == before
    assert db.apply({"payments": [(1, 6)], "customers": [(8, "Bob")]}).version == 2


def test_many_rows_are_counted_and_the_first_hundred_told() -> None:
    db = shop()
    with pytest.raises(ViolationError, match=r"250 rows violate it, the first of them: id = \d+, customer = ") as found:
        db.apply("orders", [(10 + i, 100 + i, 1) for i in range(250)])
    assert found.value.count == 250 and found.value.rows.num_rows == 100 and found.value.table == "orders"


def test_a_condition_without_rows_says_so() -> None:
    db = shop()
    with pytest.raises(ViolationError, match=r"'staffed' does not hold: its condition is false; nothing of the commit"):
        db.apply("customers", [(i, "x") for i in range(10, 13)])


def test_all_violated_assertions_are_named() -> None:
    db = shop()
    with pytest.raises(ViolationError, match=r"neither would 'totals' hold|neither would 'orders_customer_fkey' hold"):
        db.apply({"payments": [(1, 60)], "orders": [(2, 99, 1)]})


def test_unknown_holds_as_sql_has_it() -> None:
    db = Database()
    db.execute("CREATE TABLE t (v INT); CREATE ASSERTION positive CHECK ((SELECT SUM(v) FROM t) > 0)")
    db.apply("t", [(None,)])
    with pytest.raises(ViolationError):
        db.apply("t", [(-1,)])
    db.apply("t", [(1,)])


def test_a_foreign_key_is_checked_for_what_a_commit_leaves() -> None:
    db = shop()
    db.apply({"orders": [(2, 8, 1)], "customers": [(8, "Bob")]})
    db.apply("orders", [(3, None, 1)])
    with pytest.raises(ViolationError, match="customer = 8"):
        db.execute("DELETE FROM customers WHERE id = 8")
    db.execute("BEGIN; DELETE FROM orders WHERE customer = 8; DELETE FROM customers WHERE id = 8; COMMIT")
    with pytest.raises(SchemaError, match="is a FOREIGN KEY of table 'orders', with which it comes and goes"):
        db.drop_assertion("orders_customer_fkey")
    db.execute("DROP ASSERTION totals; DROP TABLE orders")
    assert list(db.assertions) == ["staffed"]


def test_a_key_of_several_columns_and_one_to_the_table_itself() -> None:
    db = Database()
    db.execute(
        "CREATE TABLE p (a INT, b INT, PRIMARY KEY (a, b));"
        "CREATE TABLE c (a INT, b INT, FOREIGN KEY (b, a) REFERENCES p (b, a) ENFORCED);"
        "CREATE TABLE tree (id INT PRIMARY KEY, parent INT REFERENCES tree (id) ENFORCED)"
    )
    db.apply({"p": [(1, 2)], "c": [(1, 2), (1, None)], "tree": [(2, 1), (1, None)]})
    with pytest.raises(ViolationError):
        db.apply("c", [(2, 1)])
    with pytest.raises(ViolationError):
        db.execute("DELETE FROM tree WHERE id = 1")
    db.drop_table("tree")
    db.drop_table("c")


def test_what_is_there_must_hold_or_be_shown() -> None:
    db = shop()
    with pytest.raises(ViolationError, match="mend what is there, or create it with WARN") as found:
        db.create_assertion("unpaid", "NOT EXISTS (SELECT id FROM orders WHERE price > 5)")
    assert found.value.count == 1 and "unpaid" not in db.views
    found_view = db.create_assertion("unpaid", "SELECT id FROM orders WHERE price > 5", warn=True)
    assert found_view.to_pylist() == [{"id": 1}]
    assert db.views["livejoin_violations"].to_pylist() == [{"assertion": "unpaid", "violations": 1}]
    commit = db.apply("orders", [(2, 7, 8)])
    assert [row["id"] for row in commit["unpaid"].to_pylist()] == [2]
    db.execute("CREATE ASSERTION `it's` CHECK (NOT EXISTS (SELECT * FROM payments WHERE amount > 3)) WARN")
    assert db.views["livejoin_violations"].to_pylist() == [
        {"assertion": "unpaid", "violations": 2},
        {"assertion": "it's", "violations": 1},
    ]
    db.execute("DROP ASSERTION unpaid; DROP ASSERTION `it's`; DROP ASSERTION IF EXISTS unpaid")
    assert db.views["livejoin_violations"].to_pylist() == []


def test_a_preview_tells_what_would_be_refused() -> None:
    db = shop()
    seen = db.preview({"payments": [(1, 60)]})
    assert [(one.assertion, one.count) for one in seen.violations] == [("totals", 1)]
    assert "refused by 'totals'" in repr(seen) and db.version == 1
    assert db.preview({"payments": [(1, 1)]}).violations == ()


def replayed(db: Database, granularity: str) -> livejoin.Commit:
    log = {"customer": [9, 9], "id": [2, 2], "price": [1, 1], "_change_type": ["insert", "delete"], "_seq": [1, 2]}
    return db.replay({"orders": pa.table(log)}, granularity=granularity)  # type: ignore[arg-type]


def test_a_replay_holds_at_each_change_unless_it_is_deferrable() -> None:
    db = shop()
    with pytest.raises(ViolationError, match="customer = 9"):
        replayed(db, "change")
    assert replayed(db, "commit").version == 2
    db = Database()
    db.execute("CREATE TABLE orders (id INT PRIMARY KEY, customer INT, price INT)")
    db.create_assertion("none", "SELECT id, customer FROM orders", deferrable=True)
    assert replayed(db, "change").version == 2
    log = {"customer": [9, 9], "id": [2, 3], "price": [1, 1], "_seq": [1, 2]}
    with pytest.raises(ViolationError) as found:
        db.replay({"orders": pa.table(log)}, granularity="change")
    assert found.value.count == 2 and db.version == 2


def test_a_replay_in_pieces_says_where_it_stopped() -> None:
    db = shop()
    log = {"customer": [7, 9], "id": [2, 3], "price": [1, 1], "_seq": [1, 2]}
    pieces = db.replay({"orders": pa.table(log)}, max_rows=1)
    next(pieces)
    with pytest.raises(ViolationError, match="the replay of 2 changes stopped: its changes up to _seq 1") as found:
        next(pieces)
    assert found.value.assertion == "orders_customer_fkey" and found.value.rows.num_rows == 1


def test_replacing_a_view_below_is_refused_if_the_assertion_would_not_hold() -> None:
    db = shop()
    db.create_view("large", "SELECT id FROM orders WHERE price > 100")
    db.create_assertion("no_large", "NOT EXISTS (SELECT id FROM large)")
    with pytest.raises(ViolationError, match="'no_large' does not hold: a row violates it: id = 1; view 'large' stays"):
        db.execute("CREATE OR REPLACE VIEW large AS SELECT id FROM orders WHERE price > 1")
    db.execute("CREATE OR REPLACE VIEW large AS SELECT id FROM orders WHERE price > 10")
    with pytest.raises(ViolationError):
        db.apply("orders", [(5, 7, 11)])
    with pytest.raises(SchemaError, match="is read by 'no_large'; drop these assertions first"):
        db.drop_view("large", cascade=True)


def test_they_stay_in_a_folder_and_in_a_snapshot(tmp_path: Path) -> None:
    db = shop(tmp_path / "a folder")
    db.create_assertion("unpaid", "SELECT id FROM orders WHERE price > 5", warn=True)
    db.execute("ALTER TABLE orders RENAME TO sales")
    db.save(tmp_path / "saved")
    db.close()
    for again in (livejoin.open(tmp_path / "a folder"), Database.load(tmp_path / "saved")):
        assert list(again.assertions) == ["orders_customer_fkey", "totals", "staffed", "unpaid"]
        with pytest.raises(ViolationError, match="table 'sales'"):
            again.apply("sales", [(2, 99, 1)])
        again.execute("DROP ASSERTION totals; DROP ASSERTION unpaid; DROP TABLE sales")
        assert sorted(again.views) == ["livejoin_violations", "staffed"]
        again.close()


def test_a_foreign_key_of_a_table_that_a_kill_left_half_declared_is_enforced_when_the_folder_opens(
    tmp_path: Path,
) -> None:
    db = Database(tmp_path / "folder")
    db.execute("CREATE TABLE p (id INT PRIMARY KEY)")
    db._contents.add_table(livejoin.sql.parse_create_table("CREATE TABLE c (p INT REFERENCES p (id) ENFORCED)"))
    db.close()
    again = livejoin.open(tmp_path / "folder")
    with pytest.raises(ViolationError):
        again.apply("c", [(1,)])


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        ("CREATE ASSERTION", SqlSyntaxError, "the text ends where a name is expected"),
        ("CREATE ASSERTION a", SqlSyntaxError, r"the text ends where CHECK \( is expected"),
        ("CREATE ASSERTION a CHECK (", SqlSyntaxError, "a condition in parentheses"),
        ("CREATE ASSERTION a CHECK ()", SqlSyntaxError, r"found '\)' where a condition in parentheses is expected"),
        ("CREATE ASSERTION a CHECK (1 = 1) LATER", UnsupportedQueryError, "LATER is not supported here"),
        ("CREATE ASSERTION a CHECK (1 = 1) WARN ENFORCED", UnsupportedQueryError, "ENFORCED is not supported here"),
        ("CREATE ASSERTION a CHECK (NOT EXISTS (SELECT x FROM orders))", UnknownNameError, "column 46"),
        ("CREATE ASSERTION a CHECK ((SELECT x FROM orders) = 1)", UnknownNameError, "column 35"),
        ("CREATE OR REPLACE ASSERTION totals CHECK (1 = 1)", UnsupportedQueryError, "create another one"),
        ("DROP ASSERTION a b", SqlSyntaxError, "found 'b' where the end of DROP ASSERTION"),
        ("CREATE TABLE x (a INT REFERENCES orders (id) ON DELETE CASCADE)", UnsupportedQueryError, "changes no row"),
    ],
)
def test_malformed_statements_are_refused_where_they_are_wrong(sql: str, kind: type[SqlError], message: str) -> None:
    with pytest.raises(kind, match=message):
        shop().execute(sql)


def test_assertions_and_views_are_not_taken_for_each_other() -> None:
    db = shop()
    db.create_view("v", "SELECT id FROM orders")
    for act, message in [
        (lambda: db.drop_view("totals"), r"'totals' is an assertion: DROP ASSERTION totals"),
        (
            lambda: db.drop_assertion("v"),
            "'v' is a view; known assertions: 'orders_customer_fkey', 'totals', 'staffed'",
        ),
        (lambda: db.drop_assertion("w"), "there is no assertion 'w'"),
        (lambda: db.create_view("totals", "SELECT id FROM orders"), "the name 'totals' is taken"),
        (lambda: db.create_view("totals", "SELECT id FROM orders", replace=True), "which is not replaced"),
        (lambda: db.create_assertion("v", "SELECT id FROM orders"), "the name 'v' is taken"),
        (lambda: db.drop_table("customers"), "table 'customers' is used by 'staffed'"),
    ]:
        with pytest.raises(SchemaError, match=message):
            act()
    assert db.assertions["totals"].assertion == livejoin.schema.Assertion()
    db.execute("CREATE ASSERTION IF NOT EXISTS totals CHECK (1 = 0)")


def test_an_assertion_that_cannot_be_gathered_is_not_created() -> None:
    db = Database()
    db.execute("CREATE TABLE livejoin_violations (a INT)")
    with pytest.raises(SchemaError, match="the name 'livejoin_violations' is taken"):
        db.create_assertion("none", "SELECT a FROM livejoin_violations", warn=True)
    assert not db.views


def test_bad_rows_are_those_that_violate_it_and_an_order_may_come_behind_its_lines() -> None:
    db = shop()
    commit = db.apply(
        {
            "payments": [(1, 5), (1, 9), (2, 1), (1, 1)],
            "orders": [(2, 9, 4), (3, 9, 4), (4, 99, 1)],
            "customers": [(9, "Eve")],
        },
        on_bad_rows="dead_letter",
    )
    left_out = [(letter.table, letter.row, letter.change) for letter in commit.dead_letters]
    assert left_out == [("payments", 1, (1, 9)), ("orders", 2, (4, 99, 1))]
    assert commit.dead_letters[0].reason == "with it, assertion 'totals' would not hold"
    assert db.sql("SELECT COUNT(*) AS n FROM payments").to_pylist() == [{"n": 4}]
    assert db.sql("SELECT id FROM orders ORDER BY id")["id"].to_pylist() == [1, 2, 3]
    with pytest.raises(ViolationError):
        db.apply("payments", [(1, 9)])
    assert db.apply("payments", [(1, 9)], on_bad_rows="skip").bad_rows == 1


def test_explain_says_what_it_refuses() -> None:
    db = shop()
    told = db.views["totals"].explain()
    assert "a commit that gives this query a row is refused" in " ".join(str(told).split())
    assert told.to_dict()["verdict"].startswith("An assertion:")
    db.create_assertion("late", "SELECT id FROM orders", warn=True)
    assert "An assertion that warns" in db.views["late"].explain().to_dict()["verdict"]


def test_rows_of_static_tables_and_of_windows_are_held_to_it() -> None:
    db = Database()
    db.execute(
        "CREATE TABLE rates (currency STRING PRIMARY KEY, rate INT) TBLPROPERTIES ('livejoin.static' = 'true');"
        "CREATE TABLE prices (currency STRING, price INT)"
    )
    db.create_table("newest", "v INT", window_rows=2)
    db.apply("rates", [("EUR", 1)])
    db.create_assertion("rated", "SELECT p.currency FROM prices p ANTI JOIN rates r ON r.currency = p.currency")
    db.create_assertion("rising", "(SELECT COUNT(*) FROM newest WHERE v < 0) < 2")
    db.apply({"prices": [("EUR", 5)], "newest": [(-1,), (1,)]})
    with pytest.raises(ViolationError, match="'rated' does not hold: a row violates it: currency = 'EUR'"):
        db.refresh("rates", [("USD", 1)])
    assert db.sql("SELECT currency FROM rates").to_pylist() == [{"currency": "EUR"}]
    db.refresh("rates", [("USD", 1), ("EUR", 2)])
    db.apply("newest", [(-2,)])  # the first one leaves
    with pytest.raises(ViolationError):
        db.apply("newest", [(-3,)])
    assert sorted(row["v"] for row in db.sql("SELECT v FROM newest").to_pylist()) == [-2, 1]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_that_come_and_go_in_one_commit_violate_nothing(threads: int) -> None:
    """Of a projection, whose rows come from several cells: one cell loses what another one gains."""
    db = Database(threads=threads)
    db.execute("CREATE TABLE a (k INT, v INT); CREATE TABLE b (k INT, w INT)")
    db.create_assertion("few", "SELECT v, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY v HAVING COUNT(*) > 8")
    db.create_assertion("none", "SELECT DISTINCT v FROM a JOIN b ON a.k = b.k WHERE w > 5")
    db.apply({"a": [(i, i % 2) for i in range(8)], "b": [(i, 1) for i in range(8)]})
    db.execute("BEGIN; INSERT INTO b VALUES (1, 1), (3, 1), (5, 2); DELETE FROM a WHERE k IN (1, 3); COMMIT")
    with pytest.raises(ViolationError):
        db.apply("b", [(2, 6), (4, 7)])
    db.apply("b", [(9, 6)])


def test_who_listens_to_violations_hears_of_all_assertions_that_come_and_go() -> None:
    db = shop()
    heard: list[tuple[str, str, int]] = []

    def hear(delta: pa.Table) -> None:
        heard.extend((row["assertion"], row["_change_type"], row["violations"]) for row in delta.to_pylist())

    view = db.views["livejoin_violations"]
    view.subscribe(hear)
    with view.changes() as changes:
        assert changes.next(timeout=5).reset
        db.create_assertion("dear", "SELECT id FROM orders WHERE price > 5", warn=True)
        db.create_assertion("cheap", "SELECT id FROM orders WHERE price < 5", warn=True)
        db.drop_assertion("dear")
        db.drop_assertion("cheap")
        db.create_assertion("dear", "SELECT id FROM orders WHERE price > 5", warn=True)
        db.apply("orders", [(2, 7, 1)])
        db.apply("orders", [(3, 7, 100)])
        net = Counter[tuple[str, int]]()
        while net != {("dear", 2): 1}:
            update = changes.next(timeout=5)
            assert update is not None and not update.reset
            for row in update.delta.to_pylist():
                is_there = row["_change_type"] in ("insert", "update_postimage")
                net[row["assertion"], row["violations"]] += 1 if is_there else -1
            net = +net
    assert heard == [
        ("dear", "insert", 1),
        ("dear", "delete", 1),
        ("dear", "insert", 1),
        ("dear", "delete", 1),
        ("dear", "insert", 2),
    ]
