"""Deltas become Arrow when they are read: whatever has become of the database by then."""

from __future__ import annotations

import gc
import threading
import weakref
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ReadError

WIDE = Decimal("12345678901234567890.25")
JOIN = "SELECT A.k, A.s, A.d, upper(B.s) AS up, A.day FROM T A JOIN T B ON A.k = B.k"
GROUPS = "SELECT s, MAX(d) AS d, COUNT(*) AS n FROM T GROUP BY s"


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("T", "k INT, s STRING, d DECIMAL(38, 2), day DATE")
    for name, sql in (("joined", JOIN), ("groups", GROUPS)):
        db.create_view(name, sql)
    return db


def rows(begin: int, end: int, word: str) -> list[tuple[int, str, Decimal, date]]:
    return [(i, f"{word} {i}", WIDE + i, date(2026, 1, 1 + i % 28)) for i in range(begin, end)]


def read(commit: livejoin.Commit) -> dict[str, list[dict[str, object]]]:
    return {name: commit[name].to_pylist() for name in commit.views}


def collect(db: livejoin.Database) -> None:
    """Let the dictionaries forget what no row uses, so that its codes are given to others."""
    db._contents.seen.is_due = True
    db.apply("T", [])


def test_codes_that_were_collected_and_given_to_others() -> None:
    at_once, later = database(), database()
    expected = read(at_once.apply("T", rows(0, 50, "early")))
    commit = later.apply("T", rows(0, 50, "early"))
    gone = [dict(zip(("k", "s", "d", "day"), row, strict=True), _change_type="delete") for row in rows(0, 50, "early")]
    expected_gone = read(at_once.apply("T", gone))
    commit_gone = later.apply("T", gone)
    before = later._contents.codec.entries
    collect(later)
    assert later._contents.codec.entries < before, "codes are free"
    later.apply("T", [(k, f"late {k}", d + 1000, day) for k, _, d, day in rows(0, 50, "late")])
    assert read(commit) == expected
    assert read(commit_gone) == expected_gone


def test_a_delta_is_read_once_and_by_many_threads() -> None:
    commit = database().apply("T", rows(0, 3000, "x"))
    found: list[pa.Table] = []
    begin = threading.Barrier(4)

    def reader() -> None:
        begin.wait()
        found.append(commit["joined"])

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.num_rows for one in found] == [3000] * 4
    assert all(one.equals(found[0]) for one in found)
    assert commit["joined"] is commit["joined"]
    batches = list(commit.batches("joined", max_rows=700))
    assert pa.Table.from_batches(batches).equals(found[0].combine_chunks()), "after the table is there"


def test_a_delta_can_be_streamed_before_and_after_it_is_a_table() -> None:
    commit = database().apply("T", rows(0, 100, "x"))
    before = pa.Table.from_batches(commit.batches("groups", max_rows=7))
    assert before.to_pylist() == commit["groups"].to_pylist()
    assert max(batch.num_rows for batch in commit.batches("groups", max_rows=7)) == 7
    assert commit.rows("groups") == 100


def test_a_delta_outlives_its_database_and_holds_nothing_of_it() -> None:
    """Plain columns, computed ones, strings, groups, rows that cancel, and a view without deltas beside them."""
    db = database()
    db.create_view("plain", "SELECT A.k, B.day FROM T A JOIN T B ON A.k = B.k")
    db.create_view("netted", "SELECT A.k AS a, B.s FROM T A JOIN T B ON A.k = B.k WHERE A.d > 0")
    db.create_view("quiet", "SELECT k FROM T", deltas=False)
    db.apply("T", rows(0, 5, "w"))
    gone = dict(zip(("k", "s", "d", "day"), rows(0, 1, "w")[0], strict=True), _change_type="delete")
    new = [dict(zip(("k", "s", "d", "day"), row, strict=True), _change_type="insert") for row in rows(0, 3, "x")]
    commit = db.apply("T", [gone, *new])
    kept = weakref.ref(db._contents)
    del db
    gc.collect()
    assert kept() is None, "whoever keeps a commit does not keep the database"
    assert {row["s"] for row in commit["joined"].to_pylist() if row["k"] == 2} == {"w 2", "x 2"}
    assert sorted({row["k"] for row in commit["plain"].to_pylist()}) == [1, 2], "rows of 0 cancel"
    assert {row["a"]: row["s"] for row in commit["netted"].to_pylist() if row["_change_type"] == "delete"} == {0: "w 0"}
    assert commit["groups"].num_rows == 4
    with pytest.raises(ReadError, match="quiet"):
        commit["quiet"]
