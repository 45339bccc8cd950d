"""The change data feed of a Delta table as changes: a table that follows it has the rows of each version."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors, from_delta

TYPES = {"id": pa.int64(), "name": pa.string(), "_change_type": pa.string(), "_commit_version": pa.int64()}


def history(rng: random.Random, versions: int) -> tuple[list[list[dict[str, Any]]], list[dict[int, str | None]]]:
    """Rows of the feed by version, in no order within it; and the rows of the table behind each version."""
    there: dict[int, str | None] = {}
    feed: list[list[dict[str, Any]]] = []
    tables: list[dict[int, str | None]] = []
    for version in range(versions):
        said: list[tuple[str, int, str | None]] = []
        for id in rng.sample(range(6), rng.randint(1, 4)):
            name = rng.choice(["x", "y", "z", None])
            if id not in there:
                said.append(("insert", id, name))
                there[id] = name
            elif rng.random() < 0.4:
                said.append(("delete", id, there.pop(id)))
            elif rng.random() < 0.3:  # a merge that replaces a row
                said.append(("delete", id, there[id]))
                said.append(("insert", id, name))
                there[id] = name
            else:
                said.append(("update_preimage", id, there[id]))
                said.append(("update_postimage", id, name))
                there[id] = name
        rng.shuffle(said)
        feed.append([{"id": i, "name": n, "_change_type": k, "_commit_version": version} for k, i, n in said])
        tables.append(dict(there))
    return feed, tables


def as_arrow(rows: list[dict[str, Any]]) -> pa.Table:
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})
    times = pa.array([dt.datetime(2024, 1, 1)] * len(rows), pa.timestamp("us", "UTC"))
    return table.append_column("_commit_timestamp", times)


@pytest.mark.parametrize("key", ["id", None])
@pytest.mark.parametrize("seed", range(10))
def test_a_table_follows_a_feed(key: str | None, seed: int) -> None:
    """Version by version, and all versions at once, whose rows may come in any order."""
    rng = random.Random(seed)
    feed, tables = history(rng, 8)
    declared = "id BIGINT PRIMARY KEY, name STRING" if key else "id BIGINT, name STRING"
    one, all_ = livejoin.Database(), livejoin.Database()
    for db in (one, all_):
        db.create_table("T", declared)
        db.create_view("v", "SELECT * FROM T")
    for rows, expected in zip(feed, tables, strict=True):
        one.apply("T", from_delta(as_arrow(rows), key))
        assert {row["id"]: row["name"] for row in one.views["v"].to_arrow().to_pylist()} == expected
    rows = [row for some in feed for row in some]
    rng.shuffle(rows)
    all_.apply("T", from_delta(as_arrow(rows), key))
    assert sorted(all_.views["v"].to_arrow().to_pylist(), key=repr) == sorted(
        one.views["v"].to_arrow().to_pylist(), key=repr
    )


def test_preimages_go_where_their_key_does_not_come() -> None:
    """An update of the key itself takes the old one out."""
    rows = [
        {"id": 1, "name": "a", "_change_type": "update_preimage", "_commit_version": 3},
        {"id": 2, "name": "a", "_change_type": "update_postimage", "_commit_version": 3},
        {"id": 3, "name": "b", "_change_type": "update_postimage", "_commit_version": 2},
        {"id": 3, "name": "c", "_change_type": "update_preimage", "_commit_version": 2},
    ]
    found = from_delta(as_arrow(rows), key=["id"]).select(["id", "_change_type"])
    assert list(zip(*found.to_pydict().values(), strict=True)) == [(3, "upsert"), (1, "delete"), (2, "upsert")]


def test_what_is_no_feed() -> None:
    good = as_arrow([{"id": 1, "name": "a", "_change_type": "insert", "_commit_version": 3}])
    for feed, key, text in (
        (good.drop_columns(["_commit_version"]), None, "no '_commit_version'"),
        (good, "nr", "no 'nr'; it has id, name"),
        ([1], None, "of type list"),
        (as_arrow([*good.to_pylist(), {**good.to_pylist()[0], "_change_type": "upsert"}]), None, "row 1 .*'upsert'"),
        (as_arrow([*good.to_pylist(), {**good.to_pylist()[0], "_change_type": None}]), None, "row 1 .*None"),
        (as_arrow([{**good.to_pylist()[0], "_commit_version": None}]), None, "row 0 .*_commit_version is NULL"),
    ):
        with pytest.raises(errors.ChangeFormatError, match=text):
            from_delta(feed, key)
    assert from_delta(good.slice(0, 0), "id").num_rows == 0
