"""A view as it was, and what happened between two versions, are what a database says that stops there."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ReadError
from oracle import multiset, signed_multiset
from strategies import seeds

VIEWS = {
    "hop2": "SELECT A.src AS a, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "groups": "SELECT src, COUNT(*) AS n, SUM(w) AS s FROM G GROUP BY src",
    "first": "SELECT src, dst FROM G ORDER BY dst DESC, src LIMIT 3",
}
TABLE = "CREATE TABLE G (src BIGINT, dst BIGINT, w DOUBLE)"


def declared(db: livejoin.Database) -> livejoin.Database:
    """The table and the views."""
    db.execute(TABLE)
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    return db


def some(rng: random.Random, present: Counter[Any]) -> list[dict[str, Any]]:
    """Some changes that can be applied one after the other; ``present`` is what is there."""
    found = []
    for _ in range(rng.randint(1, 6)):
        if present and rng.random() < 0.4:
            row, kind = rng.choice(sorted(present.elements())), "delete"
            present -= Counter([row])
        else:
            row, kind = (rng.randint(0, 3), rng.randint(0, 3), float(rng.randint(0, 2))), "insert"
            present[row] += 1
        found.append({"src": row[0], "dst": row[1], "w": row[2], "_change_type": kind})
        present = +present
    return found


@pytest.mark.parametrize("place", ["memory", "folder", "a folder that is opened again"])
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_what_was_is_what_a_database_has_that_stops_there(place: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    db = livejoin.Database() if place == "memory" else livejoin.open(tmp_path)
    declared(db)
    twin = declared(livejoin.Database())
    for name in VIEWS:
        db.views[name].keep_history(10_000)
    present: Counter[Any] = Counter()
    truth = {0: {name: Counter[Any]() for name in VIEWS}}

    def note() -> None:
        truth[twin.version] = {name: multiset(twin.views[name].to_arrow()) for name in VIEWS}

    for number in range(14):
        if place.endswith("again") and number % 5 == 4:
            db.close()
            db = livejoin.open(tmp_path)
        kept = Counter(present)
        changes = some(rng, kept)
        for change in changes:
            row = (change["src"], change["dst"], change["w"])
            present[row] += 1 if change["_change_type"] == "insert" else -1
        present = +present
        if rng.random() < 0.4:
            db.replay({"G": [{**change, "_seq": i} for i, change in enumerate(changes)]})
            for change in changes:
                twin.apply("G", [change])
                note()
        else:
            db.apply("G", changes)
            twin.apply("G", changes)
            note()
    assert db.version == twin.version
    versions = rng.sample(range(db.version + 1), min(db.version + 1, 12))
    for version in versions:
        for name in VIEWS:
            view = db.views[name]
            assert multiset(view.as_of(version).to_arrow()) == truth[version][name], (name, version)
            later = rng.randint(version, db.version)
            delta = view.between(version, later)
            assert delta.schema == view.delta_schema
            total = Counter(truth[version][name])
            total.update(signed_multiset(delta))
            assert {row: n for row, n in total.items() if n} == truth[later][name], (name, version, later)
            assert all(signed_multiset(delta).values()), "a row that came and went is not there"
    db.close()


def test_beyond_the_history() -> None:
    db = declared(livejoin.Database())
    view = db.views["groups"]
    db.apply("G", [(1, 2, 0.5)])
    with pytest.raises(ReadError, match=r"keeps no history, and cannot be read as of version 0; view\.keep_history"):
        view.as_of(0)
    assert view.as_of(1).to_pylist() == [{"src": 1, "n": 1, "s": 0.5}]
    view.keep_history(3)
    for number in range(4):
        db.apply("G", [(number, number, 1.0)])
    with pytest.raises(ReadError, match=r"has a history from version [2-4] on"):
        view.between(1, 5)
    assert view.between(4, 5).num_rows in (1, 2)
    assert view.between(5, 5).num_rows == 0
    with pytest.raises(ReadError, match="version 6 is not there yet; the database is at version 5"):
        view.as_of(6)
    with pytest.raises(ReadError, match="last is 3 and first is 4"):
        view.between(4, 3)
    assert isinstance(view.as_of(5).to_arrow(), pa.Table)


def test_a_view_that_was_dropped() -> None:
    db = declared(livejoin.Database())
    view = db.views["groups"]
    was = view.as_of(0)
    db.drop_view("groups")
    with pytest.raises(ReadError):
        view.as_of(0)
    with pytest.raises(ReadError):
        was.to_arrow()


def ordered(folder: Path, select: str) -> tuple[livejoin.Database, int]:
    """A view in a folder whose rows change their places, and not themselves, behind a version; and that version."""
    db = livejoin.open(folder)
    db.execute(f"""
        CREATE TABLE t (k BIGINT PRIMARY KEY, p INT);
        CREATE VIEW best AS SELECT {select} FROM t ORDER BY p DESC LIMIT 3
    """)
    db.views["best"].keep_history(rows=100_000)
    db.apply("t", [(number, number) for number in range(10)])
    known = db.version
    db.execute("UPDATE t SET p = 100 WHERE k = 7")
    return db, known


@pytest.mark.parametrize("again", [False, True])
def test_an_order_by_what_is_not_shown_is_not_in_the_history_of_a_folder(tmp_path: Path, again: bool) -> None:
    db, known = ordered(tmp_path, "k")
    if again:
        db.close()
        db = livejoin.open(tmp_path)
    view = db.views["best"]
    with pytest.raises(ReadError, match=r"ordered by columns that it does not show.*name them in SELECT too"):
        view.as_of(known)
    with view.changes(since=known) as changes, pytest.raises(TimeoutError):
        changes.next(timeout=0)
    with view.changes(since=known, positions=True) as changes:
        update = changes.next(timeout=0)
    assert update is not None and update.reset
    assert update.delta["k"].to_pylist() == [7, 9, 8]
    with view.changes(since=db.version, positions=True) as changes:
        db.execute("UPDATE t SET p = 200 WHERE k = 8")
        moved = changes.next(timeout=1)
    assert moved is not None and not moved.reset
    assert moved.positions is not None and moved.positions.to_pylist() == [2, 0]
    assert view.as_of(db.version).top(2)["k"].to_pylist() == [8, 7]
    db.close()


def test_an_order_that_is_shown_is_in_the_history_of_a_folder(tmp_path: Path) -> None:
    db, known = ordered(tmp_path, "k, p")
    db.close()
    with livejoin.open(tmp_path) as again:
        view = again.views["best"]
        assert view.as_of(known).top(3)["k"].to_pylist() == [9, 8, 7]
        with view.changes(since=known, positions=True) as changes:
            update = changes.next(timeout=0)
        assert update is not None and not update.reset
        assert update.positions is not None and update.positions.to_pylist() == [2, 0]


def test_first_rows_of_what_has_no_order(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT); CREATE VIEW v AS SELECT k FROM t; INSERT INTO t VALUES (2), (1)")
    with db.snapshot() as seen, pytest.raises(ReadError, match="view 'v' has no ORDER BY"):
        seen["v"].top(1)
