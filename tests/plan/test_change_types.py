"""What an explanation says of the change types of a delta is what commits give."""

from __future__ import annotations

import pytest

from livejoin import Database

UPDATES = {"update_preimage", "update_postimage"}


@pytest.mark.parametrize(
    ("sql", "said", "types"),
    [
        ("SELECT cid, COUNT(*) AS n FROM o GROUP BY cid", "of a group (cid)", UPDATES),
        ("SELECT SUM(price) AS s FROM o", "of the one row", UPDATES),
        (
            "SELECT c.id, g.n FROM c LEFT JOIN (SELECT cid, COUNT(*) AS n FROM o GROUP BY cid) g ON g.cid = c.id",
            "by the key (id), view.changes(paired=True)",
            {"insert", "delete"},
        ),
        ("SELECT cid, price FROM o", "one that comes an insert", {"insert", "delete"}),
    ],
)
def test_the_types_of_changes_are_said(sql: str, said: str, types: set[str]) -> None:
    db = Database()
    db.execute("CREATE TABLE c (id INT PRIMARY KEY)")
    db.execute("CREATE TABLE o (id INT PRIMARY KEY, cid INT, price INT)")
    db.execute("INSERT INTO c VALUES (1); INSERT INTO o VALUES (1, 1, 10), (2, 1, 20)")
    view = db.create_view("v", sql)
    for told in (db.explain(sql), view.explain()):
        assert said in told.change_types
        assert said in " ".join(told.text().split())
        assert told.to_dict()["change_types"] == told.change_types
    commit = db.apply(
        "o",
        [
            {"id": 2, "cid": 1, "price": 30, "_change_type": "upsert"},
            {"id": 3, "cid": 1, "price": 1, "_change_type": "upsert"},
        ],
    )
    assert set(commit["v"]["_change_type"].to_pylist()) <= types | ({"insert"} if types == UPDATES else set())
    assert commit["v"].num_rows
    paired = view.changes(since=db.version, paired=True) if view.keys else None
    db.apply("o", [{"id": 1, "_change_type": "delete"}])
    if paired is not None:
        assert set(paired.next(timeout=5).delta["_change_type"].to_pylist()) <= UPDATES


def test_without_deltas_there_are_no_types() -> None:
    db = Database()
    db.execute("CREATE TABLE o (id INT PRIMARY KEY)")
    assert db.explain("SELECT id FROM o", deltas=False).change_types == ""
