"""`sequence_by`: whatever the order in which the changes of a key come, its newest one counts, deletions too."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors
from livejoin.schema import TOMBSTONES
from oracle import connect
from strategies import seeds

VIEWS = {
    "joined": "SELECT P.id, P.name, Q.amount FROM P JOIN Q ON P.id = Q.owner WHERE Q.amount > 1",
    "totals": "SELECT owner, COUNT(*) AS n, SUM(amount) AS total FROM Q GROUP BY owner",
}
TYPES = {
    "P": {"id": pa.string(), "name": pa.string(), "ts": pa.timestamp("us")},
    "Q": {"id": pa.int64(), "owner": pa.string(), "amount": pa.int32(), "ts": pa.int64()},
}


def database(tombstones: int | None = None) -> livejoin.Database:
    db = livejoin.Database()
    people = "id STRING PRIMARY KEY, name STRING NOT NULL, ts TIMESTAMP"
    db.create_table("P", people, sequence_by="ts", tombstones=tombstones)
    bound = "" if tombstones is None else f", 'livejoin.tombstones' = '{tombstones}'"
    properties = f"TBLPROPERTIES ('livejoin.sequence_by' = 'TS'{bound})"
    db.execute(f"CREATE TABLE Q (id BIGINT, owner STRING, amount INT, ts BIGINT, PRIMARY KEY (id)) {properties}")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    return db


def random_changes(rng: random.Random, count: int) -> dict[str, list[dict[str, Any]]]:
    """Changes of both tables in an order that `ts` does not follow; now and then two of a key with the same `ts`."""
    found: dict[str, list[dict[str, Any]]] = {"P": [], "Q": []}
    for _ in range(count):
        ts = rng.randrange(2 * count)
        kind = rng.choice(["upsert", "upsert", "delete", "update_postimage"])
        if rng.random() < 0.5:
            at = dt.datetime(2020, 1, 1) + dt.timedelta(seconds=ts)
            found["P"].append({"id": rng.choice("abcd"), "name": rng.choice("xyz"), "ts": at, "_change_type": kind})
        else:
            owner = rng.choice(["a", "b", "c", None])
            amount = rng.choice([1, 2, 3, None])
            row = {"id": rng.randrange(6), "owner": owner, "amount": amount, "ts": ts, "_change_type": kind}
            found["Q"].append(row)
    return found


def newest(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is left of the changes of a table: of each key the one with the largest `ts`, of equal ones the last."""
    last: dict[object, dict[str, Any]] = {}
    for change in changes:
        if change["id"] not in last or last[change["id"]]["ts"] <= change["ts"]:
            last[change["id"]] = change
    return [change for change in last.values() if change["_change_type"] != "delete"]


def expected(changes: dict[str, list[dict[str, Any]]]) -> dict[str, list[Any]]:
    """The tables and the views, by DuckDB."""
    with connect() as duck:
        for name, types in TYPES.items():
            left = newest(changes[name])
            table = pa.table({c: pa.array([row[c] for row in left], kind) for c, kind in types.items()})
            duck.register(name, table)
        texts = {**{name: f"SELECT * FROM {name}" for name in TYPES}, **VIEWS}
        return {name: sorted(duck.execute(sql).fetchall(), key=repr) for name, sql in texts.items()}


def shown(db: livejoin.Database) -> dict[str, list[Any]]:
    found = {}
    for name in TYPES:
        db.create_view(f"rows_{name}", f"SELECT * FROM {name}")
        found[name] = db.views[f"rows_{name}"].to_arrow()
        db.drop_view(f"rows_{name}")
    found |= {name: db.views[name].to_arrow() for name in VIEWS}
    return {
        name: sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)
        for name, table in found.items()
    }


def pieces(rng: random.Random, changes: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    cuts = sorted(rng.randrange(len(changes) + 1) for _ in range(4))
    return [changes[a:b] for a, b in zip([0, *cuts], [*cuts, len(changes)], strict=True)]


def as_arrow(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    types = TYPES[name] | {"_change_type": pa.string(), "_seq": pa.int64()}
    return pa.table({c: pa.array([row[c] for row in rows], types[c]) for c in rows[0]})


@pytest.mark.parametrize("seed", seeds(6, 25))
def test_the_order_of_changes_does_not_matter(seed: int, tmp_path: Path) -> None:
    """One commit, several, of rows or Arrow, with a snapshot between them, a replay of each change, one in pieces."""
    rng = random.Random(seed)
    changes = random_changes(rng, rng.choice([6, 20, 60]))
    wanted = expected(changes)
    total = sum(map(len, changes.values()))

    whole = database()
    commit = whole.apply(changes)
    assert (commit.late, commit.changes, shown(whole)) == (0, total, wanted)

    parts = database()
    counted = 0
    for number, some in enumerate(zip(*(pieces(rng, changes[name]) for name in TYPES), strict=True)):
        given = {
            name: rows if number % 2 else as_arrow(name, rows) for name, rows in zip(TYPES, some, strict=True) if rows
        }
        commit = parts.apply(given)
        counted += commit.changes + commit.late
        if number == 2:
            parts.save(tmp_path)
            parts = livejoin.Database.load(tmp_path, trusted=seed % 2 == 0)
        parts._check()
    assert (counted, shown(parts)) == (total, wanted)

    places = iter(rng.sample(range(1000), total))
    by_name = {name: [next(places) for _ in rows] for name, rows in changes.items()}
    logs: dict[str, object] = {}
    for name, rows in changes.items():
        ordered = sorted(by_name[name])  # so that equal `ts` follow each other as given
        log = [{**row, "_seq": seq} for row, seq in zip(rows, ordered, strict=True)]
        rng.shuffle(log)
        if log:
            logs[name] = log if seed % 2 else as_arrow(name, log)
    for options in ({}, {"granularity": "commit"}, {"max_rows": 7}, {"max_rows": 7, "granularity": "commit"}):
        db = database()
        done = db.replay(logs, **options)  # type: ignore[call-overload]
        done = [done] if isinstance(done, livejoin.Commit) else list(done)
        assert sum(one.changes + one.late for one in done) == total
        assert shown(db) == wanted, options
        db._check()


def upsert(id: str, name: str, second: int) -> dict[str, Any]:
    return {"id": id, "name": name, "ts": dt.datetime(2020, 1, 1, 0, 0, second), "_change_type": "upsert"}


def delete(id: str, second: int) -> dict[str, Any]:
    return {"id": id, "ts": dt.datetime(2020, 1, 1, 0, 0, second), "_change_type": "delete"}


def names(db: livejoin.Database) -> dict[str, str]:
    return {row[0]: row[1] for row in shown(db)["P"]}


def test_late_changes_are_counted() -> None:
    db = database()
    db.apply("P", [upsert("a", "Ada", 5), delete("b", 5)])
    commit = db.apply("P", [upsert("a", "old", 4), upsert("b", "old", 4), delete("a", 3), upsert("c", "Cy", 1)])
    assert (commit.late, commit.changes, commit.ignored) == (3, 1, 0)
    assert names(db) == {"a": "Ada", "c": "Cy"}
    assert (db.stats()["tables"]["P"]["late"], db.stats()["tables"]["P"]["tombstones"]) == (3, 1)
    commit = db.apply("P", [upsert("a", "equal", 5), upsert("b", "equal", 5)])
    assert (commit.late, names(db)) == (0, {"a": "equal", "b": "equal", "c": "Cy"})


def test_deletions_beyond_the_bound_leave_a_watermark() -> None:
    """What is forgotten cannot be told from what was never there: at or below the watermark both are late."""
    db = database(tombstones=4)
    db.apply("P", [upsert("a", "Ada", 1), *(delete(f"k{i}", 10 + i) for i in range(5))])
    assert db.stats()["tables"]["P"]["tombstones"] == 3
    commit = db.apply(
        "P", [upsert("k0", "back", 11), upsert("new", "New", 11), upsert("k1", "Kim", 12), delete("a", 9)]
    )
    assert (commit.late, names(db)) == (2, {"k1": "Kim"})
    assert db.apply("P", [upsert("k3", "old", 12), upsert("k4", "Pat", 14)]).late == 1


def test_insertions_and_conflicts_in_sequence() -> None:
    """An insertion that is late is no conflict; one that is not meets the row of its key as ever."""
    db = database()
    db.apply("P", [("a", "Ada", dt.datetime(2020, 1, 1, 0, 0, 5))])
    insert = {**upsert("a", "Eve", 6), "_change_type": "insert"}
    with pytest.raises(errors.DuplicateKeyError, match="id = 'a'"):
        db.apply("P", [insert])
    assert db.apply("P", [{**insert, "ts": dt.datetime(2020, 1, 1)}]).late == 1
    assert db.apply("P", [insert], on_conflict="ignore").ignored == 1
    assert db.apply("P", [insert], on_conflict="update").changes == 1
    assert names(db) == {"a": "Eve"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({**upsert("a", "x", 9), "ts": None}, errors.ChangeValueError, "NULL in column 'ts'.*sequence_by"),
        ({**delete("a", 9), "ts": None}, errors.ChangeValueError, "NULL in column 'ts'.*sequence_by"),
        ({"id": "a", "_change_type": "delete"}, errors.ChangeFormatError, "missing column 'ts'"),
        ({**upsert("a", "x", 9), "name": None}, errors.ChangeValueError, "NULL in column 'name'"),
    ],
)
def test_what_cannot_be_leaves_everything_as_it_was(change: dict[str, Any], error: type, message: str) -> None:
    db = database(tombstones=2)
    db.apply("P", [upsert("a", "Ada", 5), delete("b", 5), delete("c", 5), upsert("d", "Dan", 7)])
    with pytest.raises(error, match=message):
        db.apply("P", [change])
    db.create_view(
        "wrong", "SELECT id FROM P WHERE CASE WHEN name LIKE 'no%' THEN CAST(name AS INT) > 0 ELSE FALSE END"
    )
    before = db.stats()["tables"]["P"]
    with pytest.raises(errors.ExpressionError):
        db.apply("P", [upsert("a", "no number", 9), delete("d", 8), upsert("b", "late", 1)])
    db._check()
    after = db.stats()["tables"]["P"]
    assert [before[figure] for figure in ("rows", "tombstones", "late")] == [2, 2, 0]
    assert [after[figure] for figure in ("rows", "tombstones", "late")] == [2, 2, 0]
    assert db.apply("P", [upsert("d", "Don", 7), upsert("e", "Eve", 1)]).late == 0, "there is no watermark"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("id BIGINT, ts BIGINT", {"sequence_by": "ts"}, "no PRIMARY KEY"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"sequence_by": "at"}, "allowed is one of its columns: id, ts"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"sequence_by": "id"}, "which is in the primary key"),
        ("id BIGINT PRIMARY KEY, ts DOUBLE", {"sequence_by": "ts"}, "is DOUBLE; allowed are TIMESTAMP, DATE and int"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"sequence_by": "ts", "window_rows": 3}, "has a window"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"sequence_by": "ts", "tombstones": -1}, "tombstones is -1"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"tombstones": 5}, "no sequence_by"),
        ("id BIGINT PRIMARY KEY, ts BIGINT", {"sequence_by": 3}, "sequence_by is 3"),
    ],
)
def test_declarations_that_cannot_stand(columns: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.SchemaError, match=message):
        livejoin.Database().create_table("T", columns, **options)


def test_declarations() -> None:
    table = database().tables["q"]
    assert (table.sequence_by, table.tombstones, table.columns[3].nullable) == (3, TOMBSTONES, False)
    assert database(7).tables["Q"].tombstones == 7
    for wrong, message in (("'livejoin.tombstones' = 'many'", "whole number"), ("'livejoin.sequence_by' = 3", "name")):
        with pytest.raises(errors.SqlTypeError, match=message):
            livejoin.Database().execute(f"CREATE TABLE T (id BIGINT PRIMARY KEY, ts BIGINT) TBLPROPERTIES ({wrong})")


def test_keys_of_tombstones_stay_in_the_dictionary() -> None:
    """Strings that only a tombstone has are kept when the dictionary is collected, and when its codes become others."""
    for bound, kept in ((None, 16_000), (300, 225)):
        db = database(bound)
        for number in range(40):
            ids = [f"a key of some length {number}-{i}" for i in range(400)]
            db.apply("P", [upsert(one, f"name of {one}", number) for one in ids])
            db.apply("P", [delete(one, number + 1) for one in ids])
        for _ in range(40):  # the codes are scattered now, and become dense between two commits
            db.apply("P", [upsert("a", "Ada", 50)])
        db._check()
        assert db.stats()["tables"]["P"]["tombstones"] == kept
        assert bound is None or db.stats()["dictionary_state_bytes"] < 100_000
        late = [upsert(f"a key of some length 39-{399 - number}", "late", 39) for number in range(40)]
        assert db.apply("P", late).late == 40
        assert db.apply("P", [upsert("a key of some length 39-399", "again", 40)]).late == 0
        assert names(db) == {"a": "Ada", "a key of some length 39-399": "again"}


def test_tombstones_meet_the_memory_limit() -> None:
    """They count, a commit that brings too many of them is refused, and nothing of it is left."""
    db = livejoin.Database(memory_limit="3MB")
    db.create_table("T", "id BIGINT PRIMARY KEY, ts BIGINT", sequence_by="ts", tombstones=10**6)
    view = db.create_view("v", "SELECT id FROM T")
    db.apply("T", [(i, 1) for i in range(100)])
    before = db.stats()

    def gone(first: int, count: int) -> pa.Table:
        ids = pa.array(range(first, first + count), pa.int64())
        return pa.table({"id": ids, "ts": pa.repeat(2, count), "_change_type": pa.repeat("delete", count)})

    with pytest.raises(errors.MemoryLimitError):
        for number in range(100):
            db.apply("T", gone(1_000 + 2_000 * number, 2_000))
    assert db.stats()["memory_bytes"] > before["memory_bytes"]
    db._check()
    kept = db.stats()["tables"]["T"]["tombstones"]
    assert kept == 2_000 * (db.version - 1)
    assert db.apply("T", gone(0, 40)).late == 0
    assert (view.count(), db.stats()["tables"]["T"]["tombstones"]) == (60, kept + 40)
