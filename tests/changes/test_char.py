"""CHAR(n): strings that are filled with blanks up to n characters, whatever they come in.

What comparisons mean is asked of a real Spark in `tests/spark/test_char_columns.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import livejoin
from char_queries import COLUMNS, QUERIES, ROWS
from livejoin.errors import ChangeValueError, UnsupportedQueryError
from oracle import connect

FITTING = ["", "abc", "ä", None, "😀b    ", "   "]
FILLED = ["   ", "abc", "ä  ", None, "😀b ", "   "]


def forms(values: list[Any]) -> list[Any]:
    column = pa.array(values, pa.string())
    return [
        [(1, value) for value in values],
        [{"k": 1, "s": value} for value in values],
        pa.table({"k": [1] * len(values), "s": column}),
        pa.table({"k": [1] * len(values), "s": column.dictionary_encode()}),
        pa.table({"k": [1] * len(values), "s": pa.chunked_array([column[:2], column[2:]])}),
        pa.table({"k": [1] * len(values), "s": column.cast(pa.large_string())}),
    ]


@pytest.mark.parametrize("form", range(6))
def test_texts_are_filled_and_longer_ones_refused(form: int) -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, s CHAR(3)")
    view = db.create_view("v", "SELECT s FROM T")
    db.apply("T", forms(FITTING)[form])
    assert Counter(view.to_arrow()["s"].to_pylist()) == Counter(FILLED)
    with pytest.raises(ChangeValueError) as caught:
        db.apply("T", forms(["ab", "abc ", "abcd ", "abcde"])[form])
    assert caught.value.row == 2
    assert "'abcd ' of column 's' has 5 characters; CHAR(3) takes at most 3" in str(caught.value)
    db.apply("T", [{"k": 1, "s": value, "_change_type": "delete"} for value in FITTING])
    assert view.count() == 0


def test_keys_are_filled_too() -> None:
    db = livejoin.Database()
    db.create_table("T", "s CHAR(2) PRIMARY KEY, n INT")
    db.create_table("S", "t CHAR(4), m INT")
    view = db.create_view("v", "SELECT s, n, m FROM T JOIN S ON s = t")
    db.apply("S", [("a", 1), ("ab", 2), ("abc", 3)])
    db.apply("T", [{"s": "a", "n": 1, "_change_type": "upsert"}, {"s": "ab", "n": 2, "_change_type": "upsert"}])
    db.apply("T", [{"s": "a  ", "n": 3, "_change_type": "upsert"}])
    assert sorted(map(str, view.to_arrow().to_pylist())) == [
        "{'s': 'a ', 'n': 3, 'm': 1}",
        "{'s': 'ab', 'n': 2, 'm': 2}",
    ]
    db.apply("T", [{"s": "a", "_change_type": "delete"}])
    assert view.to_arrow().to_pylist() == [{"s": "ab", "n": 2, "m": 2}]


def test_a_snapshot_keeps_it(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (k BIGINT, s CHARACTER(3) NOT NULL)")
    db.apply("T", [(1, "a")])
    db.create_view("v", "SELECT k FROM T WHERE s = 'a'")
    db.save(tmp_path / "saved")
    other = livejoin.Database.load(tmp_path / "saved")
    assert str(other.tables["T"].columns[1]) == "s CHAR(3) NOT NULL"
    other.apply("T", [(2, "a ")])
    assert other.views["v"].to_arrow()["k"].to_pylist() == [1, 2]
    with pytest.raises(ChangeValueError, match="takes at most 3"):
        other.apply("T", [(1, "abcd")])


def test_a_view_is_read_as_its_columns_are() -> None:
    db = livejoin.Database()
    db.create_table("T", "c CHAR(4), d CHAR(2)")
    db.create_view("below", "SELECT c AS x, d AS y, c || '' AS z FROM T")
    view = db.create_view("v", "SELECT x = 'a', y = 'a', z = 'a', x = y FROM below")
    db.apply("T", [("a", "a")])
    assert [tuple(row.values()) for row in view.to_arrow().to_pylist()] == [(True, True, False, True)]


@pytest.mark.parametrize("constant", ["concat('a', upper('b'))", "upper('a')", "if(1 = 1, 'a', 'b')"])
def test_a_computed_constant_beside_it_is_refused(constant: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "c CHAR(4), s STRING")
    with pytest.raises(UnsupportedQueryError, match="is a constant that is computed, and stands beside a CHAR column"):
        db.create_view("v", f"SELECT c FROM T WHERE c = {constant}")
    db.create_view("w", f"SELECT c FROM T WHERE s = {constant}")


def test_histories_against_duckdb() -> None:
    """Joins, groups and conditions over random changes; DuckDB is given filled texts, and fills the shorter side."""
    queries = {
        "SELECT a.k, b.k AS j FROM T a JOIN T b ON a.c = b.d": (
            "SELECT a.k, b.k FROM T a JOIN T b ON a.c = rpad(b.d, 4, ' ')"
        ),
        "SELECT a.k FROM T a WHERE NOT EXISTS (SELECT 1 FROM T b WHERE b.d = a.c)": (
            "SELECT a.k FROM T a WHERE NOT EXISTS (SELECT 1 FROM T b WHERE rpad(b.d, 4, ' ') = a.c)"
        ),
        "SELECT c, COUNT(*) AS n FROM T WHERE d <> 'a' GROUP BY c HAVING c < 'b'": (
            "SELECT c, COUNT(*) FROM T WHERE d <> 'a ' GROUP BY c HAVING c < 'b   '"
        ),
        "SELECT a.k, b.k AS j FROM T a LEFT JOIN T b ON a.c = b.d AND b.c IN ('a', 'b  ', 'ab')": (
            "SELECT a.k, b.k FROM T a LEFT JOIN T b ON a.c = rpad(b.d, 4, ' ') AND b.c IN ('a   ', 'b   ', 'ab  ')"
        ),
    }
    db = livejoin.Database()
    db.create_table("T", "k INT, c CHAR(4), d CHAR(2)")
    views = [db.create_view(f"v{number}", query) for number, query in enumerate(queries)]
    with connect() as connection:
        connection.execute("CREATE TABLE T (k INT, c VARCHAR, d VARCHAR)")
        chosen, rows = random.Random(5), list[tuple[Any, ...]]()
        for _ in range(25):
            if rows and chosen.random() < 0.4:
                gone = rows.pop(chosen.randrange(len(rows)))
                db.apply("T", [dict(zip("kcd", gone, strict=True)) | {"_change_type": "delete"}])
            else:
                rows.append((chosen.randrange(4), *(chosen.choice(["a", "b", "ab", "a ", "", None]) for _ in "cd")))
                db.apply("T", [rows[-1]])
            _fill(connection, rows)
            for view, query in zip(views, queries.values(), strict=True):
                found = Counter(tuple(row.values()) for row in view.to_arrow().to_pylist())
                assert found == Counter(connection.execute(query).fetchall()), query


def _fill(connection: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]]) -> None:
    connection.execute("DELETE FROM T")
    for row in rows:
        connection.execute("INSERT INTO T VALUES ($1, rpad($2, 4, ' '), rpad($3, 2, ' '))", row)


def test_all_queries_bind_and_keep_up() -> None:
    """The queries that Spark is asked: from nothing to the rows and back, and one by one as at once."""
    db, other = livejoin.Database(), livejoin.Database()
    for one in (db, other):
        one.create_table("t", COLUMNS)
    queries = QUERIES
    views = [db.create_view(f"v{number}", query) for number, query in enumerate(queries)]
    for row in ROWS:
        db.apply("t", [row])
    other.apply("t", ROWS)
    for number, view in enumerate(views):
        loaded = other.create_view(f"v{number}", queries[number]).to_arrow()
        rows = [Counter(map(str, found.to_pylist())) for found in (view.to_arrow(), loaded)]
        assert rows[0] == rows[1], queries[number]
