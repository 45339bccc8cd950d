"""UNIQUE in a database: against a plain model of the rows, in every form of a commit, with what rests on it.

Every life is named by its seed; ``make fuzz`` draws others by LIVEJOIN_SEED.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin import errors
from livejoin.database.snapshots.snapshot import FORMAT

Row = tuple[int, int | None, str | None]

FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
PEOPLE = "id BIGINT PRIMARY KEY, badge INT UNIQUE, name STRING, UNIQUE (name, badge)"
BADGES = "badge INT UNIQUE, name STRING, org STRING, UNIQUE (name, org)"


def people(columns: str = PEOPLE, **options: Any) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("P", columns, **options)
    db.create_view("v", "SELECT * FROM P")
    return db


def rows(db: livejoin.Database) -> list[Row]:
    return sorted((tuple(row.values()) for row in db.views["v"].to_arrow().to_pylist()), key=repr)


def is_unique(kept: list[Row]) -> bool:
    badges = [badge for _, badge, _ in kept if badge is not None]
    names = [(name, badge) for _, badge, name in kept if badge is not None and name is not None]
    keys = [id for id, _, _ in kept]
    return all(len(set(some)) == len(some) for some in (badges, names, keys))


def drawn(rng: random.Random, kept: list[Row], count: int, kinds: list[str]) -> list[dict[str, Any]]:
    changes = []
    for number in range(count):
        row: Row = (rng.randrange(6), rng.choice([None, 1, 2, 3, 4]), rng.choice([None, "a", "b"]))
        kind = rng.choice(kinds)
        if kept and (kind == "delete" or rng.random() < 0.3):
            row = rng.choice(kept)
        changes.append(
            {"id": row[0], "badge": row[1], "name": row[2], "_change_type": kind, "_seq": number},
        )
    return changes


def applied(kept: list[Row], change: dict[str, Any], on_conflict: str) -> list[Row]:
    """The rows behind one change by key; those before it if it is a conflict that is skipped.

    Raises:
        KeyError: It is a conflict in itself; what is UNIQUE is for the caller.
    """
    row = (change["id"], change["badge"], change["name"])
    others = [one for one in kept if one[0] != row[0]]
    there = len(others) < len(kept)
    kind = change["_change_type"]
    if (kind == "delete" and not there) or (kind == "insert" and there and on_conflict != "update"):
        if on_conflict == "error":
            raise KeyError
        return kept
    after = others if kind == "delete" else [*others, row]
    return kept if on_conflict == "ignore" and not is_unique(after) else after


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_changes_by_key(seed: int) -> None:
    """Commits and replays by key, with each way to treat conflicts: a model agrees on what is refused."""
    rng = random.Random(seed)
    db, kept = people(), list[Row]()
    for _ in range(40):
        on_conflict: Any = rng.choice(["error", "ignore", "update"])
        each = rng.random() < 0.5
        changes = [
            *drawn(rng, kept, rng.randint(1, 5), ["insert", "upsert", "upsert", "delete"]),
            {"id": 9, "badge": None, "name": None, "_change_type": "upsert", "_seq": 99},
        ]
        after, is_refused = kept, False
        try:
            for change in changes:
                after = applied(after, change, on_conflict)
                is_refused |= each and not is_unique(after)
        except KeyError:
            is_refused = True
        is_refused |= not is_unique(after)
        try:
            db.replay({"P": changes}, granularity="change" if each else "commit", on_conflict=on_conflict)
        except (errors.DuplicateKeyError, errors.AbsentRowError):
            assert is_refused, changes
        else:
            assert not is_refused, changes
            kept = after
        assert rows(db) == sorted(kept, key=repr)
        db._check()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 8))
def test_sets_of_whole_rows(seed: int) -> None:
    """Values may go from row to row within a commit, in any order, and what it leaves is unique."""
    rng = random.Random(seed)
    db, kept = people(), list[Row]()
    for _ in range(40):
        gone = rng.sample(kept, rng.randint(0, len(kept)))
        come = [(c["id"], c["badge"], c["name"]) for c in drawn(rng, kept, rng.randint(1, 3), ["insert"])]
        signed = [*((row, "delete") for row in gone), *((row, "insert") for row in come)]
        rng.shuffle(signed)
        changes = [dict(zip(("id", "badge", "name"), row, strict=True)) | {"_change_type": k} for row, k in signed]
        after = [row for row in kept if row not in gone] + come
        try:
            db.apply("P", changes)
        except errors.DuplicateKeyError:
            assert not is_unique(after)
        else:
            assert is_unique(after)
            kept = after
        assert rows(db) == sorted(kept, key=repr)
        db._check()


def test_rows_with_null_are_a_multiset_and_others_are_not() -> None:
    db = people(BADGES)
    db.apply("P", [(None, "x", None), (None, "x", None), (1, None, "o"), (2, None, "o")])
    assert len(rows(db)) == 4
    for row, found in (((1, "y", None), r"\(badge = 1\) in UNIQUE \(badge\)"), ((7, None, "o"), "")):
        if found:
            with pytest.raises(errors.DuplicateKeyError, match=rf"'P'.*row 1.*{found}; delete or change the other row"):
                db.apply("P", [(9, "z", "z"), row])
        else:
            db.apply("P", [row])
        db._check()
    with pytest.raises(errors.DuplicateKeyError, match=r"\(name = 'z', org = 'z'\) in UNIQUE \(name, org\)"):
        db.apply("P", [(9, "z", "z"), (8, "z", "z")])
    commit = db.apply("P", [(9, "z", "z"), (8, "z", "z"), (9, "q", None)], on_conflict="ignore")
    assert (commit.changes, commit.ignored) == (1, 2)
    db._check()


def test_an_upsert_goes_by_the_primary_key_alone() -> None:
    db = people()
    db.apply("P", [(1, 10, "a"), (2, 20, "b")])
    with pytest.raises(errors.DuplicateKeyError, match=r"badge = 20.*Changes by key go by the PRIMARY KEY alone"):
        db.apply("P", [{"id": 3, "badge": 20, "name": "c", "_change_type": "upsert"}])
    with pytest.raises(errors.DuplicateKeyError, match="badge = 20"):
        db.apply("P", [(1, 20, "a")], on_conflict="update")
    db.apply("P", [(1, 20, "a"), (2, 10, "b")], on_conflict="update")
    assert rows(db) == [(1, 20, "a"), (2, 10, "b")]
    with pytest.raises(errors.ChangeFormatError, match="no PRIMARY KEY to upsert by"):
        people("a INT UNIQUE").apply("P", [{"a": 1, "_change_type": "upsert"}])


@pytest.mark.parametrize("options", [{"window_rows": 3}, {"window_range": ("id", 3)}])
def test_values_of_rows_that_a_window_took_are_free(options: dict[str, Any]) -> None:
    db, kept = people("id BIGINT, badge INT UNIQUE, name STRING", **options), list[Row]()
    rng = random.Random(5)
    for number in range(60):
        row = (number, rng.randrange(5), "x")
        kept = kept[-2:]
        if row[1] in [badge for _, badge, _ in kept]:
            with pytest.raises(errors.DuplicateKeyError):
                db.apply("P", [row])
            row = (number, None, "x")
        if rng.random() < 0.5:
            db.apply("P", [row])
        else:
            columns = dict(zip(("id", "badge", "name"), row, strict=True))
            db.replay({"P": [columns | {"_seq": number}]})
        kept = [*kept, row]
        assert rows(db) == sorted(kept, key=repr)
        db._check()


def test_snapshots_keep_it(tmp_path: Path) -> None:
    assert FORMAT == 6
    db = people()
    db.apply("P", [(1, 10, "a"), (2, None, "b"), (3, None, "b")])
    db.save(tmp_path)
    found = livejoin.Database.load(tmp_path)
    assert found.tables["P"] == db.tables["P"]
    assert found.stats()["tables"]["P"]["keys"] == ["PRIMARY KEY (id)", "UNIQUE (badge)", "UNIQUE (name, badge)"]
    for one in (db, found):
        with pytest.raises(errors.DuplicateKeyError, match="badge = 10"):
            one.apply("P", [(4, 10, "z")])
        one.apply("P", [(4, 11, "z")])
        one._check()
    assert rows(found) == rows(db)


def test_what_is_unique_and_not_null_is_a_key_of_the_planner() -> None:
    db = livejoin.Database()
    db.create_table("A", "id BIGINT PRIMARY KEY, code INT NOT NULL UNIQUE, n INT UNIQUE")
    db.create_table("B", "code INT REFERENCES A (code), v STRING")
    db.create_view("v", "SELECT code, n FROM A")
    db.create_view("w", "SELECT A.code, B.v, A.n FROM B JOIN A ON A.code = B.code")
    assert db.views["v"].keys == (("code",),)
    db.apply({"A": [(1, 7, None), (2, 8, 5)], "B": [(7, "x"), (7, "y"), (9, "z")]})
    assert [db.views["v"].multiplicity(row) for row in ((7, None), (8, 5), (8, None), (9, None))] == [1, 1, 0, 0]
    assert sorted(db.views["w"].to_arrow().to_pydict()["v"]) == ["x", "y"]
    with pytest.raises(
        errors.SchemaError, match=r"nor to UNIQUE columns that are all NOT NULL; .*REFERENCES \(id\) or \(code\)"
    ):
        db.create_table("C", "n INT REFERENCES A (n)")


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ("a INT, UNIQUE (b)", errors.UnknownNameError, "UNIQUE names 'b'"),
        ("a INT, UNIQUE (a, a)", errors.UnknownNameError, "names 'a' twice"),
        ("a INT, UNIQUE ()", errors.UnsupportedQueryError, "UNIQUE names no column"),
        ("a INT UNIQUE, UNIQUE (a)", errors.SchemaError, r"UNIQUE \(a\) says what another key"),
        ("a INT, b INT, PRIMARY KEY (a, b), UNIQUE (b, a)", errors.SchemaError, r"UNIQUE \(b, a\) says what another"),
        ("a INT, UNIQUE NULLS NOT DISTINCT (a)", errors.UnsupportedQueryError, "allowed are .*UNIQUE"),
    ],
)
def test_what_cannot_be_declared(columns: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        livejoin.Database().create_table("T", columns)


def test_a_named_constraint_and_many() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a INT, b INT, CONSTRAINT one UNIQUE (b))")
    assert db.tables["T"].unique == ((1,),)
    names = ", ".join(f"c{i} INT UNIQUE" for i in range(65))
    with pytest.raises(errors.SchemaError, match="has 65 UNIQUE constraints; allowed are 64"):
        db.create_table("W", names)
    db.create_table("X", ", ".join(f"c{i} INT UNIQUE" for i in range(64)))
    db.create_view("v", "SELECT c63 FROM X")
    db.apply("X", [tuple(range(64)), tuple(range(1, 65))])
    with pytest.raises(errors.DuplicateKeyError, match="c63 = 63"):
        db.apply("X", [(*([None] * 63), 63)])
    db._check()
