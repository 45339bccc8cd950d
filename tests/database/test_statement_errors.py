"""Errors of INSERT, UPDATE, DELETE and MERGE INTO show the statement that was written, and the row that is meant."""

from __future__ import annotations

import pytest

import livejoin
from livejoin.errors import ChangeValueError, SqlError


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
