"""Good texts with words dropped, doubled, swapped and put in: every refusal is ours, says where, and in our words."""

from __future__ import annotations

import os
import re

import pytest

import livejoin
from livejoin.errors import LivejoinError, SqlError
from mutated_texts import OUTSIDE, QUERIES, STATEMENTS, TABLES, mutations

COUNT = int(os.environ.get("LIVEJOIN_MUTATIONS", "400"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "29"))
FOREIGN = re.compile(
    r"Expect(ing|ed) |Invalid expression|Unexpected|Required |Failed to parse|does not parse|Unknown function"
    r"|(Binder|Conversion|Parser|Catalog) Error|does not exist!|No function matches|Candidate|<class|Token\b|sqlglot"
    r"|syntax error|LINE 1|DuckDB"
)


def _database() -> livejoin.Database:
    database = livejoin.Database()
    for table, columns in TABLES.items():
        database.create_table(table, columns)
    return database


def _check(sql: str, error: LivejoinError) -> None:
    message = str(error).partition("\n  at line ")[0]
    assert not FOREIGN.search(message), f"{sql}\n{message}"
    if isinstance(error, SqlError) and sql.strip():
        assert error.line >= 1, f"{sql}\n{message}"
        assert error.column >= 1, f"{sql}\n{message}"


def test_queries() -> None:
    database = _database()
    accepted = refused = 0
    for sql in mutations((*QUERIES, *OUTSIDE), COUNT, SEED):
        try:
            database.explain(sql)
            accepted += 1
        except LivejoinError as error:
            refused += 1
            _check(sql, error)
    assert accepted
    assert refused > COUNT // 2


def test_statements() -> None:
    refused = 0
    for sql in mutations(STATEMENTS, COUNT // 4, SEED):
        try:
            _database().execute(sql)
        except LivejoinError as error:
            refused += 1
            _check(sql, error)
    assert refused > COUNT // 16


@pytest.mark.parametrize("sql", QUERIES)
def test_the_texts_themselves_are_good(sql: str) -> None:
    _database().explain(sql)


WORDS = [
    ("SELECT a + FROM R", "found 'FROM' where a value is expected, behind '+'", 12),
    ("SELECT (a FROM R", "found 'FROM' where ')' is expected, which closes the '(' at line 1, column 8", 11),
    ("SELECT (a", "the text ends where ')' is expected, which closes the '(' at line 1, column 8", 10),
    ("SELECT CASE WHEN p 1 END AS x FROM R", "found '1' where THEN is expected, as in CASE WHEN", 20),
    ("SELECT CASE WHEN p THEN 1 AS x FROM R", "found 'AS' where END is expected, as in CASE WHEN", 27),
    ("SELECT CAST(a INT) AS x FROM R", "where AS is expected, as in CAST(value AS INT)", 15),
    ("SELECT a FROM R WHERE", "WHERE lacks a condition; the text ends", 22),
    ("SELECT a FROM R x y", "found 'y', which is not expected behind 'x'", 19),
    ("SELECT a FROM R WHERE for > 1", "WHERE lacks a condition; found 'for'; if for is a name, write `for`", 23),
    ("SELECT a FROM FROM R", "FROM lacks a table", 10),
    ("SELECT a, FROM R", "found a comma without an item behind it", 9),
    ("SELECT abs(, a) AS x FROM R", "found a comma without an item before it", 11),
    ("SELECT a IS 1 AS x FROM R", "found '1' where NULL, TRUE, FALSE or DISTINCT FROM is expected", 13),
    ("SELECT hex(a, b) AS x FROM R", "HEX takes 1 argument, and 2 are given", 8),
    ("SELECT nvl(a) AS x FROM R", "NVL lacks an argument; it takes 2 arguments, and 1 is given", 8),
    ("SELECT regexp_replace(s, 'a') AS x FROM R", "REGEXP_REPLACE lacks an argument; it takes at least 3", 8),
    ("SELECT collect_list(a, b) AS x FROM R", "COLLECT_LIST takes 1 argument, and 2 are given", 8),
    ("SELECT a AS 2 FROM R", "AS lacks a name or a type", 10),
    ("SELECT date_trunc('MONTH', SELECT t) AS x FROM R", "a query within an expression or a list stands in", 26),
    ("SELECT RANK() OVER (PARTITION BY ORDER BY a) AS r FROM R", "PARTITION BY lacks columns", 21),
    ("SELECT SUM(a) OVER w AS s FROM R WINDOW w (ORDER BY a)", "AS is missing behind 'w'", 41),
    ("SELECT SUM(a) FILTER (p) AS s FROM R", "FILTER lacks WHERE", 15),
    ("SELECT R.a FROM R NATURAL JOIN S USING (k)", "NATURAL JOIN with USING", 34),
    ("SELECT CAST(m AS DECIMAL(9 2)) AS x FROM R", "found '2' where ')' is expected", 28),
    ("SELECT CAST(m AS DECIMAL(9, s)) AS x FROM R", "DECIMAL(9, S) has no numbers of digits", 13),
    ("SELECT PERCENTILE(a) AS p FROM R", "PERCENTILE lacks a percentage", 8),
    ("SELECT R.k FROM R LEFT JOIN S ON R.k = nosuch(1)", "NOSUCH is not supported: livejoin has no such function", 40),
    ("SELECT k, (SELECT MAX(a) FROM S WHERE soundex('x') = R.k) AS top FROM R", "SOUNDEX is not supported", 39),
    ("SELECT a FROM R WHERE (2).k = 1", "a dot behind a value is not supported", 24),
    ("SELECT a FROM R WHERE 2 . k = 1", "found a dot behind a number", 23),
    ("+ SELECT a FROM R", "no statement begins with '+'", 1),
]


@pytest.mark.parametrize(("sql", "part", "column"), WORDS)
def test_what_is_said_and_where(sql: str, part: str, column: int) -> None:
    with pytest.raises(SqlError) as caught:
        _database().explain(sql)
    assert part in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)
