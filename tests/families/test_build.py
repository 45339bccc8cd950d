"""Join trees that are built at once over rows that are there: a view that comes, and a database that is loaded.

`test_branches` builds its random trees anew in the middle of their changes; here is what they are too small for.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest

from collisions import words_with_hash
from livejoin import Database
from livejoin.families.crown import build, join
from oracle import connect, multiset, signed_multiset, without_zeros

HOPS = """SELECT a.src, a.dst AS b, b.dst AS c, c.dst AS d
          FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON b.dst = c.src"""
REACHED = "SELECT DISTINCT a.src FROM edges a JOIN edges b ON a.dst = b.src"
COUNTED = """SELECT a.src, COUNT(*) AS n, SUM(b.dst) AS total
             FROM edges a JOIN edges b ON a.dst = b.src LEFT JOIN edges c ON b.dst = c.src GROUP BY a.src"""


def _with_edges(rows: list[tuple[int, int]], threads: int = 1) -> Database:
    db = Database(threads=threads)
    db.create_table("edges", "src BIGINT, dst BIGINT")
    db.apply("edges", rows)
    return db


def _shown(query: str, rows: list[tuple[int, int]]) -> Counter[tuple[object, ...]]:
    with connect() as duck:
        edges = pa.table({"src": [r[0] for r in rows], "dst": [r[1] for r in rows]})
        duck.register("edges", edges)
        return Counter(duck.sql(query).fetchall())


def _same(db: Database, view: str, query: str, rows: list[tuple[int, int]]) -> None:
    found = multiset(db.views[view].to_arrow())
    assert found == _shown(query, rows)
    db._check()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("at_once", [1, 3, 1 << 14])
@pytest.mark.parametrize("query", [HOPS, REACHED, COUNTED])
def test_rows_come_in_pieces_of_any_size(
    query: str, at_once: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_AT_ONCE", at_once)
    random = Random(at_once)
    rows = [(random.randrange(12), random.randrange(12)) for _ in range(60)]
    db = _with_edges(rows, threads)
    db.create_view("v", query)
    _same(db, "v", query, rows)
    gone, rows = rows[:30], rows[30:]
    db.apply("edges", [{"src": s, "dst": d, "_change_type": "delete"} for s, d in gone])
    _same(db, "v", query, rows)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("query", [HOPS, REACHED, COUNTED])
def test_the_delta_of_many_first_rows_is_the_result(query: str, threads: int) -> None:
    random = Random(2)
    rows = [(random.randrange(4_000), random.randrange(4_000)) for _ in range(5_000)] + [(1, 2)] * 3
    assert len(rows) > join._MANY
    db = _with_edges([], threads)
    db.create_view("v", query)
    commit = db.apply("edges", rows)
    assert without_zeros(signed_multiset(commit["v"])) == _shown(query, rows)
    assert all(kind == "insert" for kind in commit["v"]["_change_type"].to_pylist())
    commit = db.apply("edges", [{"src": s, "dst": d, "_change_type": "delete"} for s, d in rows[100:]])
    _same(db, "v", query, rows[:100])
    db.apply("edges", [{"src": s, "dst": d, "_change_type": "delete"} for s, d in rows[:100]])
    again = db.apply("edges", rows)
    assert without_zeros(signed_multiset(again["v"])) == _shown(query, rows)
    _same(db, "v", query, rows)


@pytest.mark.nojit
@pytest.mark.parametrize("query", [HOPS, REACHED, COUNTED.replace(", SUM(b.dst) AS total", "")])
def test_keys_with_one_hash_are_told_apart(query: str) -> None:
    words = words_with_hash(0xDEADBEEF, 5)
    rows = [(words[i % 5], words[(i * i + 1) % 5]) for i in range(25)] + [(words[i % 5], i) for i in range(10)]
    db = _with_edges(rows)
    db.create_view("v", query)
    _same(db, "v", query, rows)


@pytest.mark.parametrize("query", [HOPS, COUNTED])
def test_directories_and_blocks_grow_as_they_are_filled(query: str) -> None:
    random = Random(1)
    rows = [(i, random.randrange(100_000)) for i in range(70_000)] + [(i, -1) for i in range(20_000)]
    db = _with_edges(rows)
    db.create_view("v", query)
    found = multiset(db.views["v"].to_arrow())
    assert found == _shown(query, rows)
