"""Deltas become Arrow when they are read: whatever has become of the database by then."""

from __future__ import annotations

import threading
from datetime import date
from decimal import Decimal

import pyarrow as pa

import livejoin

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


def test_a_delta_outlives_its_database() -> None:
    db = database()
    commit = db.apply("T", rows(0, 3, "x"))
    del db
    assert [row["s"] for row in commit["joined"].to_pylist()] == ["x 0", "x 1", "x 2"]
