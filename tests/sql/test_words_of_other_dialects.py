"""Words of other dialects and misspelled ones: each message says what to write."""

from __future__ import annotations

import pytest

import livejoin
from livejoin.errors import ExpressionError, SqlError
from livejoin.sql.parse.other_dialects import FUNCTIONS
from livejoin.sql.scalars.functions.by_name import known_names

QUERIES = [
    ("SELECT id ^FRM t", "did you mean 'FROM'"),
    ("SELECT id FROM t ^WHRE k = 1", "did you mean 'WHERE'"),
    ("SELECT k FROM t ^GROUP k", "write GROUP BY column"),
    ("SELECT ^TOP 3 id FROM t", "write ORDER BY column LIMIT number"),
    ("SELECT ^TOP (3) id FROM t", "write ORDER BY column LIMIT number"),
    ("SELECT id FROM t WHERE NOT ^EXIST (SELECT 1 FROM t)", "write EXISTS (SELECT ...)"),
    ("SELECT id FROM t ^ASOF NATURAL JOIN t q", "write t ASOF JOIN q"),
    ("SELECT id FROM t ^LEFT ASOF JOIN t q ON t.k = q.k AND t.ts >= q.ts", "write t ASOF JOIN q"),
    (
        "SELECT t.id FROM t ASOF JOIN t q ON t.k = q.k ^MATCH_CONDITION (t.ts >= q.ts)",
        "between the right table and ON: t ASOF JOIN q MATCH_CONDITION",
    ),
    ("SELECT t.id FROM t ^ASOF RIGHT JOIN t q USING (k, ts)", "ASOF [LEFT] JOIN"),
    ("SELECT RANK(^k) OVER (ORDER BY id) AS r FROM t", "RANK() OVER (ORDER BY ...)"),
    ("SELECT ROW_NUMBER(^7) OVER (ORDER BY id) AS r FROM t", "it ranks by ORDER BY"),
    ("SELECT id FROM t WHERE s ^~ '^a'", "RLIKE 'pattern'"),
    ("SELECT EXTRACT(EPOCH FROM ^ts) AS e FROM t", "write unix_timestamp(ts)"),
    ("SELECT ^CONVERT(INT, s) AS c FROM t", "write CAST(value AS type)"),
    ("SELECT ^CONVERT(VARCHAR(10), id) AS c FROM t", "write CAST(value AS type)"),
    ("SELECT ^[id] FROM t", "write `id`"),
    ("SELECT id FROM ^[t]", "in backticks: `name`"),
    ("SELECT id FROM t WHERE k IN (SELECT ^TOP 1 k FROM t)", "write ORDER BY column LIMIT number"),
    ("SELECT ^NTIL(4) OVER (ORDER BY id) AS n FROM t", "did you mean 'NTILE'"),
    ("SELECT t.id FROM t ASOF JOIN t q ^MATCH_CONDITION t.ts >= q.ts ON t.k = q.k", "write it in parentheses"),
    ("SELECT t.id FROM t ASOF JOIN t q MATCH_CONDITION (t.ts >= q.ts ^AND t.k = q.k)", "equalities stand behind ON"),
    ("SELECT t.id FROM t ASOF JOIN t q MATCH_CONDITION (t.ts >= q.ts) ^AND t.k = q.k", "equalities stand behind ON"),
    ("SELECT t.id FROM t AS OF JOIN t q ON ^t.k = q.k AND t.ts >= q.ts", "write t ASOF JOIN q"),
]
STATEMENTS = [
    ("CREATE TABLE x (id ^INTT)", "did you mean 'INT'"),
    ("CREATE TABLE x (id ^SERIAL)", "write BIGINT, and give the ids"),
    ("CREATE TABLE x (id INT, PRIMARY KEY ^id)", "write PRIMARY KEY (id)"),
    ("^CREATE TABEL x (id INT)", "did you mean 'TABLE'"),
    ("^DROP TABEL x", "did you mean 'TABLE'"),
    ("CREATE TABLE ^IF NOT EXIST x (id INT)", "write IF EXISTS or IF NOT EXISTS"),
    ("CREATE TABLE x (^id INT IDENTITY(1, 1))", "write BIGINT PRIMARY KEY, and give the ids"),
    ("CREATE TABLE x (id INT ^AUTO_INCREMENT)", "write BIGINT PRIMARY KEY, and give the ids"),
    ("CREATE TABLE ^[x] (id INT)", "in backticks: `name`"),
    ("INSERT INTO t (id) VALUES (1) ^RETURNING id", "the commit that a statement gives"),
    ("^TRUNCATE t", "write DELETE FROM table"),
    ("^REFRESH MATERIALIZED VIEW v", "nothing to refresh"),
    ("^REPLACE INTO t VALUES (1)", "MERGE INTO"),
    ("CREATE ASSERTION q CHECK (^SELECT id FROM t)", "write CHECK (NOT EXISTS (SELECT ...))"),
    ("CREATE ASSERTION q CHECK ^NOT EXISTS (SELECT id FROM t)", "a condition in parentheses"),
]


@pytest.fixture
def db() -> livejoin.Database:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (id INT, k INT, ts TIMESTAMP, s STRING)")
    return db


@pytest.mark.parametrize(("text", "says"), [*QUERIES, *STATEMENTS])
def test_a_message_says_what_to_write(db: livejoin.Database, text: str, says: str) -> None:
    place, sql = text.index("^"), text.replace("^", "", 1)
    with pytest.raises(SqlError) as caught:
        db.execute(sql if (text, says) in STATEMENTS else f"CREATE VIEW v AS {sql}")
    assert says in str(caught.value)
    assert caught.value.column == place + 1 + (0 if (text, says) in STATEMENTS else len("CREATE VIEW v AS "))


def test_each_view_is_materialized_and_may_be_called_so(db: livejoin.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM t; INSERT INTO t (id) VALUES (1)")
    assert db.views["v"].to_arrow().to_pylist() == [{"n": 1}]
    db.execute("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT id FROM t")
    assert db.views["v"].to_arrow().to_pylist() == [{"id": 1}]
    db.execute("DROP MATERIALIZED VIEW v")
    assert not db.views


@pytest.mark.parametrize("text", ["SELECT id FROM t WHERE ^id  =  '5x'", "SELECT id,\n ^cast('x' AS INT) AS c FROM t"])
def test_a_constant_that_fails_has_its_place(db: livejoin.Database, text: str) -> None:
    with pytest.raises(ExpressionError, match="malformed for") as caught:
        db.create_view("v", text.replace("^", ""))
    *_, line, caret = str(caught.value).splitlines()
    assert line[caret.index("^") :].lower().startswith(("id ", "cast("))


def test_functions_with_a_hint_are_none_of_ours() -> None:
    assert not FUNCTIONS.keys() & set(known_names())
