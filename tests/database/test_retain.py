"""``retain = "used"``: the views are those of a table that keeps everything, and rows are what is kept of them."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors
from strategies import seeds

LINES = "k BIGINT, n INT NOT NULL, price DECIMAL(30, 2), note STRING NOT NULL, memo STRING"
VIEWS = {
    "sums": "SELECT k, SUM(n) AS s, COUNT(*) AS c FROM L GROUP BY k",
    "high": "SELECT k, n FROM L WHERE price > 1",
    "pairs": "SELECT SUM(A.n * B.w) AS s FROM L A JOIN M B ON A.k = B.k",
}
Row = tuple[Any, ...]


def database(retain: str, columns: str = LINES, **options: Any) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("L", columns, retain=retain, **options)  # type: ignore[arg-type]
    db.create_table("M", "k BIGINT, w INT")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    return db


def signed(delta: pa.Table) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row in delta.to_pylist():
        kind = row.pop("_change_type")
        row.pop("_commit_version")
        found[tuple(row.values())] += 1 if kind in ("insert", "update_postimage") else -1
    return Counter({row: times for row, times in found.items() if times})


def drawn(rng: random.Random, number: int) -> Row:
    return (rng.randrange(3), rng.randrange(4), rng.choice([None, 0, 3, 10**25]), f"note {number}", rng.choice("ab"))


@pytest.mark.parametrize("seed", seeds(2, 6))
@pytest.mark.parametrize("options", [{}, {"window_rows": 7}], ids=["plain", "window"])
def test_views_are_those_of_a_table_that_keeps_all(seed: int, options: dict[str, Any], tmp_path: Path) -> None:
    """Random rows come and go as a whole; commits, replays of each change, failing ones, and a snapshot between."""
    rng = random.Random(seed)
    small, whole = database("used", **options), database("all", **options)
    there: list[Row] = []
    for number in range(40):
        rows = [drawn(rng, 10 * number + i) for i in range(rng.randint(1, 4))]
        gone = rng.sample(there, min(len(there), rng.randint(0, 2))) if not options else []
        changes = [
            dict(zip(("k", "n", "price", "note", "memo"), row, strict=True)) | {"_change_type": kind, "_seq": i}
            for i, (row, kind) in enumerate([*((r, "insert") for r in rows), *((r, "delete") for r in gone)])
        ]
        joined = [(rng.randrange(3), rng.randrange(4))]
        for row in gone:
            there.remove(row)
        there += rows
        commits = []
        for db in (small, whole):
            before = {name: db.views[name].to_arrow() for name in VIEWS}
            with pytest.raises(errors.AbsentRowError):
                db.apply("L", [*changes, {**changes[0], "k": 99, "_change_type": "delete"}])
            assert all(db.views[name].to_arrow().equals(rows) for name, rows in before.items())
            db.apply("M", joined)
            commits.append(db.replay({"L": changes}, granularity="change") if number % 2 else db.apply("L", changes))
            db._check()
        for name in VIEWS:
            assert signed(commits[0][name]) == signed(commits[1][name])
        if number == 20:
            small.save(tmp_path)
            small = livejoin.Database.load(tmp_path)
        assert small.stats()["tables"]["L"]["dropped"] == ["note", "memo"]
    for name in VIEWS:
        assert signed_rows(small, name) == signed_rows(whole, name)
    assert small.stats()["dictionary_bytes"] <= whole.stats()["dictionary_bytes"]


def signed_rows(db: livejoin.Database, view: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.views[view].to_arrow().to_pylist())


def test_rows_are_what_is_kept_of_them() -> None:
    """Rows that differ in a dropped column alone are equal: also to a deletion, and to an upsert."""
    db = livejoin.Database()
    db.create_table("T", "id INT PRIMARY KEY, a INT, memo STRING", retain="used")
    db.create_table("U", "a INT, memo STRING", retain="used")
    db.create_view("of_t", "SELECT a FROM T")
    db.create_view("of_u", "SELECT a, COUNT(*) AS n FROM U GROUP BY a")
    db.apply({"T": [(1, 7, "x")], "U": [(5, "x"), (5, "y")]})
    figures = db.stats()["tables"]
    assert (figures["U"]["rows"], figures["U"]["distinct_rows"]) == (2, 1)
    assert db.apply("T", [(1, 7, "another")], on_conflict="update")["of_t"].num_rows == 0
    db.apply("U", [{"a": 5, "memo": "never there", "_change_type": "delete"}])
    assert db.views["of_u"].to_arrow().to_pylist() == [{"a": 5, "n": 1}]
    db.apply("T", [{"id": 1, "a": 7, "memo": "whatever", "_change_type": "delete"}])
    assert db.views["of_t"].count() == 0
    with pytest.raises(errors.ChangeValueError, match="'memo'"):
        db.apply("U", [(5, 6)])
    db._check()


def test_a_view_of_what_is_gone_is_refused_until_the_table_is_empty() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a INT, b INT, c INT) TBLPROPERTIES ('livejoin.retain' = 'used')")
    db.create_view("v", "SELECT a FROM T")
    db.create_view("w", "SELECT b FROM T")
    db.execute("DROP VIEW w")
    db.apply("T", [(1, 2, 3)])
    assert db.stats()["tables"]["T"]["dropped"] == ["b", "c"]
    with pytest.raises(
        errors.SchemaError, match=r"reads 'b', 'c' of table 'T', .* create the view before the rows come"
    ):
        db.create_view("x", "SELECT a FROM T WHERE b < c")
    assert "x" not in db.views
    db.create_view("y", "SELECT DISTINCT a FROM T")
    db.execute("DROP VIEW v")
    db.apply("T", [{"a": 1, "b": 0, "c": 0, "_change_type": "delete"}])
    db.create_view("x", "SELECT a FROM T WHERE b < c")
    db.apply("T", [(1, 2, 3), (4, 3, 2)])
    assert db.stats()["tables"]["T"]["dropped"] == []
    assert db.views["x"].to_arrow().to_pylist() == [{"a": 1}]
    assert sorted(db.views["y"].to_arrow().to_pydict()["a"]) == [1, 4]
    db._check()


def test_the_table_keeps_what_it_needs_itself() -> None:
    db = livejoin.Database()
    columns = "id INT PRIMARY KEY, at INT, code STRING UNIQUE, memo STRING"
    db.create_table("T", columns, retain="used", sequence_by="at")
    db.create_table("W", "at INT, memo STRING", retain="used", window_range=("at", 3))
    db.create_view("v", "SELECT COUNT(*) AS n FROM T")
    db.create_view("of_w", "SELECT COUNT(*) AS n FROM W")
    db.apply({"T": [(1, 5, "x", "m"), (2, 6, None, "m")], "W": [(1, "a"), (2, "b"), (4, "c")]})
    assert [db.stats()["tables"][name]["dropped"] for name in "TW"] == [["memo"], ["memo"]]
    assert [db.views[name].to_arrow()["n"][0].as_py() for name in ("v", "of_w")] == [2, 2]
    with pytest.raises(errors.DuplicateKeyError, match="code = 'x'"):
        db.apply("T", [(3, 9, "x", "m")])
    db._check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retain": "some"}, "retain is 'some'; allowed are 'all' and 'used'"),
        ({"retain": "used", "static": True}, "is static and has retain = 'used'"),
    ],
)
def test_what_cannot_be_declared(options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.SchemaError, match=message):
        livejoin.Database().create_table("T", "a INT", **options)
    with pytest.raises(errors.SqlTypeError, match="allowed: 'all' and 'used'"):
        livejoin.Database().execute("CREATE TABLE T (a INT) TBLPROPERTIES ('livejoin.retain' = 'some')")


def test_a_snapshot_that_keeps_less_than_its_views_read_is_refused(tmp_path: Path) -> None:
    """Whoever writes a snapshot by hand: a view of what is not there does not come back with NULL in its place."""
    db = livejoin.Database()
    db.create_table("T", "a INT, b INT", retain="used")
    db.create_view("v", "SELECT a FROM T")
    db.apply("T", [(1, 2)])
    db.save(tmp_path)
    inner = next(path for path in tmp_path.iterdir() if path.is_dir())
    manifest = json.loads((inner / "manifest.json").read_text())
    manifest["views"][0]["sql"] = "SELECT b FROM T"
    text = json.dumps(manifest).encode()
    (inner / "manifest.json").write_bytes(text)
    (tmp_path / "CURRENT").write_text(f"{inner.name} {zlib.crc32(text)}")
    with pytest.raises(errors.StateError, match="reads 'b' of table 'T'"):
        livejoin.Database.load(tmp_path)
