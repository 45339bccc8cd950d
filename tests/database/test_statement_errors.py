"""Errors of INSERT, UPDATE, DELETE and MERGE INTO show the statement that was written, and the row that is meant."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeError, ChangeValueError, ExpressionError, SqlError
from livejoin.sql.parse.source import Source


@pytest.fixture(scope="module")
def db() -> livejoin.Database:
    """Two accounts, and a source of changes; no statement of this file changes them."""
    found = livejoin.Database()
    found.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, bal DECIMAL(10, 2), name STRING); CREATE TABLE s (id INT, x TINYINT);"
        "INSERT INTO t VALUES (7, 9, 'x'), (8, 100, 'y'); INSERT INTO s VALUES (7, 3), (9, 2)"
    )
    return found


# Each statement has a caret ^ in front of what is wrong.
WRONG = [
    "UPDATE t SET bal = bal + 1,\n name = ^nope WHERE id = 7",
    "UPDATE t SET bal = bal +^ WHERE id = 7",
    "UPDATE t SET bal = (bal + 1 ^WHERE id = 7",
    "UPDATE t SET bal = bal, name = name || + * ^2 WHERE id = 7",
    "UPDATE t SET bal = ^frobnicate(bal)",
    "UPDATE t SET bal = bal WHERE id =^",
    "DELETE FROM t WHERE bal = 1 AND ^nope = 2",
    "DELETE FROM t a WHERE a.^nope = 2",
    "MERGE INTO t USING ^absent ON t.id = absent.id WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.id = s.^absent WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND x >^ THEN DELETE",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET bal = s.^y",
    "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, bal) VALUES (s.id, s.^y)",
    "MERGE INTO t USING (SELECT id, ^y FROM s) r ON t.id = r.id WHEN MATCHED THEN DELETE",
    "INSERT INTO t (id) SELECT ^y FROM s",
    "INSERT INTO t VALUES (1, ^nope, 'z')",
    "MERGE INTO t USING (VALUES (1, ^nope)) AS r(id, x) ON t.id = r.id WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING (VALUES (1, 2)) AS r(id, x) ON t.id = r.^y WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize("marked", WRONG)
def test_the_caret_stands_in_the_statement(db: livejoin.Database, marked: str) -> None:
    before, sql = marked.partition("^")[0], marked.replace("^", "")
    with pytest.raises(SqlError) as caught:
        db.execute(sql)
    error = caught.value
    assert error.sql == sql
    assert "livejoin_" not in str(error)
    assert "COUNT" not in str(error)
    assert error.line == before.count("\n") + 1
    assert error.column - 1 == len(before.rpartition("\n")[2])


def test_positions_within_messages_are_those_of_the_statement(db: livejoin.Database) -> None:
    with pytest.raises(SqlError, match="which closes the '\\(' at line 2, column 5"):
        db.execute("UPDATE t SET\nbal=(bal + 1 WHERE id = 7")


def test_a_value_that_does_not_fit_names_its_row(db: livejoin.Database) -> None:
    with pytest.raises(ChangeValueError, match=r"the row with the key \(id = 8\): .*33.3"):
        db.execute("UPDATE t SET bal = bal / 3")
    with pytest.raises(ChangeValueError, match=r"the row with the values \(id = 7, x = 3\): value 300 "):
        db.execute("UPDATE s SET x = x * 100")
    with pytest.raises(ChangeValueError, match=r"the row with the key \(id = 7\)"):
        db.execute("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET bal = 1.001 * s.x")


# Scripts of several statements, with values for ``?``.
WRONG_SCRIPTS: list[tuple[str, object]] = [
    ("DELETE FROM s WHERE x = 100;\n  CREATE VIEW v AS\n SELECT id, ^nope\nFROM t", None),
    ("DELETE FROM s WHERE x = 100; CREATE VIEW v AS ^SELECT FROM t;", None),
    ("\n\n  CREATE OR REPLACE VIEW v AS ^SELEC id FROM t", None),
    ("DELETE FROM s WHERE x = ?;\nDELETE FROM s WHERE x = ? AND ^nope = ?", [100, 12345, 6]),
    ("DELETE FROM s WHERE x = :long_name; UPDATE t SET bal = ^nope WHERE id = :i", {"long_name": 100, "i": 1}),
    ("DELETE FROM s WHERE x = 100;\nDELETE FROM s WHERE id ^?", [1]),
    ("DELETE FROM s WHERE x = 100;\nCREATE TABLE u (a ^INTT)", None),
    ("DELETE FROM s WHERE x = 100;\n\nALTER TABLE t ^FOO", None),
    ("BEGIN;\nDELETE FROM s WHERE x = 100;\nDELETE FROM t WHERE ^nope; COMMIT", None),
    ("DELETE FROM s WHERE x = 100;\n^SELEC 1", None),
    ("DELETE FROM s WHERE x = 100;\nCREATE VIEW w AS SELECT t.id FROM t, s WHERE ^t.id < s.id", None),
]


@pytest.mark.parametrize(("marked", "values"), WRONG_SCRIPTS)
def test_the_caret_stands_in_the_script(db: livejoin.Database, marked: str, values: object) -> None:
    script = marked.replace("^", "")
    with pytest.raises(SqlError) as caught:
        db.execute(script, values)
    error = caught.value
    assert error.sql == script
    assert (error.line, error.column) == Source(script, ()).position(marked.index("^"))
    lines = [line.strip() for line in str(error).splitlines()]
    assert lines[lines.index("^") - 1] == script.splitlines()[error.line - 1].strip()


def test_positions_within_messages_are_those_of_the_script(db: livejoin.Database) -> None:
    with pytest.raises(SqlError, match=r"which closes the '\(' at line 3, column 25"):
        db.execute("DELETE FROM s\nWHERE x = ?;\nCREATE VIEW v AS SELECT (id FROM t", [100])


def test_a_query_with_values_shows_what_was_written(db: livejoin.Database) -> None:
    with pytest.raises(SqlError) as caught:
        db.sql("SELECT id FROM t WHERE name = ? AND nope = ?", ["a long text", 1])
    assert (caught.value.sql, caught.value.column) == ("SELECT id FROM t WHERE name = ? AND nope = ?", 37)


def test_a_select_says_first_what_is_wrong_with_it() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT PRIMARY KEY)")
    with pytest.raises(SqlError, match="'typo'"):
        db.execute("SELECT * FROM typo")
    with pytest.raises(SqlError, match="a SELECT changes nothing, and execute runs what changes something"):
        db.execute("SELECT * FROM t")


def test_a_lone_begin_says_that_nothing_was_applied() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT PRIMARY KEY)")
    with pytest.raises(SqlError, match="nothing behind the BEGIN was applied: no transaction stays open"):
        db.execute("BEGIN; INSERT INTO t VALUES (1)")
    assert db.version == 0 and db.execute("INSERT INTO t VALUES (1)") is not None


def test_a_parameter_without_a_value_says_how_to_give_one() -> None:
    db = livejoin.Database()
    with pytest.raises(SqlError, match=r"the parameter \? has no value here; sql and execute take values beside"):
        db.sql("SELECT ? AS x")
    assert db.sql("SELECT ? AS x", [5]).to_pylist() == [{"x": 5}]
    with pytest.raises(SqlError, match="give it to a query that is asked once as a parameter"):
        db.sql("SELECT current_timestamp() AS now")


@pytest.mark.parametrize(
    "call",
    [
        lambda db: db.apply("t", [{"k": 1.5}], coerce="json"),
        lambda db: db.apply("t", pa.table({"k": ["x"]}), coerce="json"),
        lambda db: db.execute("INSERT INTO t VALUES ('a')"),
        lambda db: db.create_view("v", "SELECT k FROM t WHERE"),
        lambda db: db.sql("SELECT count(k, FROM t"),
        lambda db: db.execute("CREATE TABLE x (a NOPE)"),
    ],
)
def test_an_error_has_no_traceback_of_our_own_inside(call: Any) -> None:
    """What came before it in the chain is another library's, or nothing."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT PRIMARY KEY)")
    with pytest.raises(livejoin.errors.LivejoinError) as raised:
        call(db)
    one: BaseException | None = raised.value
    while one is not None:
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        assert one is None or not type(one).__module__.startswith("livejoin"), repr(one)


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("UPDATE t SET id = 8 WHERE id = 7", "the row with the key (id = 8)"),
        ("BEGIN; UPDATE t SET bal = 1 WHERE id = 8; INSERT INTO t VALUES (9, 1, 'z'), (7, 1, 'x'); COMMIT", "(id = 7)"),
        ("INSERT INTO p VALUES (DATE '2026-02-01', 1.5), (NULL, -1)", "the values (day = NULL, price = -1.00)"),
        ("INSERT INTO p VALUES (DATE '2026-02-01', -1)", "the row (price = -1.00) breaks CHECK"),
    ],
)
def test_rows_are_named_by_what_is_in_them(db: livejoin.Database, sql: str, row: str) -> None:
    db.execute("DROP TABLE IF EXISTS p; CREATE TABLE p (day DATE, price DECIMAL(10, 2), CHECK (price > 0))")
    with pytest.raises(ChangeError) as caught:
        db.execute(sql)
    assert row in str(caught.value)
    assert "of the given changes" not in str(caught.value)
    assert caught.value.row == -1


def test_an_expression_is_named_as_it_is_written(db: livejoin.Database) -> None:
    with pytest.raises(ExpressionError, match=r"cannot evaluate 'id \* 2000000000' for the row"):
        db.execute("UPDATE t SET id = id * 2000000000")
