"""Several output columns with one name: the later ones get a number, and explain says which; AS names one column."""

from __future__ import annotations

import pytest

import livejoin
from livejoin.errors import UnknownNameError, UnsupportedQueryError


def _database() -> livejoin.Database:
    database = livejoin.Database()
    database.create_table("t", "a INT, b INT")
    database.create_table("u", "a INT, c INT")
    return database


CASES = [
    ("SELECT a, a FROM t", ["a", "a_1"], "a_1 (written a)"),
    ("SELECT A, a FROM t ORDER BY b", ["a", "a_1"], "a_1 (written a)"),
    ("SELECT * FROM t JOIN u ON t.a = u.a", ["a", "b", "a_1", "c"], "a_1 (written a)"),
    ("SELECT * FROM t JOIN u USING (a)", ["a", "b", "c"], ""),
    ("SELECT a, a, COUNT(*) AS n FROM t GROUP BY a", ["a", "a_1", "n"], "a_1 (written a)"),
    ("SELECT b, b FROM t UNION ALL SELECT a, c FROM u", ["b", "b_1"], "b_1 (written b)"),
    ("WITH q AS (SELECT a, a FROM t) SELECT * FROM q", ["a", "a_1"], "a_1 (written a)"),
    ("SELECT a + 1, a + 1 FROM t", ["a + 1", "a + 1_1"], "a + 1_1 (written a + 1)"),
    ("SELECT a, b FROM t", ["a", "b"], ""),
]


@pytest.mark.parametrize(("sql", "names", "said"), CASES)
def test_names_that_come_twice(sql: str, names: list[str], said: str) -> None:
    database = _database()
    explained = database.explain(sql)
    assert said in explained.names
    assert bool(said) == bool(explained.names)
    assert ("name them with AS" in " ".join(str(explained).split())) == bool(said)
    assert database.create_view("v", sql).to_arrow().column_names == names


@pytest.mark.parametrize("sql", ["SELECT a AS x, b AS x FROM t", "SELECT a, b AS a FROM t"])
def test_a_name_with_as_is_that_of_one_column(sql: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="two output columns have the name"):
        _database().create_view("v", sql)


def test_a_name_that_comes_twice_is_ambiguous_outside() -> None:
    with pytest.raises(UnknownNameError, match="the query has it twice; give each its own name with AS"):
        _database().create_view("v", "SELECT a FROM (SELECT a, a FROM t) q")
