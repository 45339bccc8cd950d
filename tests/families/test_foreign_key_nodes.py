"""What is counted at the tables of a foreign-key join, against what each change meets, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from livejoin import Database

DECLARED = """
    CREATE TABLE region (rid BIGINT PRIMARY KEY, name BIGINT);
    CREATE TABLE customer (cid BIGINT PRIMARY KEY, rid BIGINT);
    CREATE TABLE supplier (sid BIGINT PRIMARY KEY, rid BIGINT);
    CREATE TABLE sale (cid BIGINT, sid BIGINT, price BIGINT);
"""
SHARED = """
    SELECT r.name, c.cid, s.sid, l.price FROM sale l JOIN customer c ON l.cid = c.cid JOIN supplier s ON l.sid = s.sid
    JOIN region r ON c.rid = r.rid AND s.rid = r.rid
"""


def nodes(view: Any) -> dict[str, dict[str, Any]]:
    (block,) = view.explain(analyze=True).to_dict()["actual"]["blocks"]
    return {one["label"]: one for one in block["nodes"]}


def filled() -> Database:
    """Two regions; five customers and two suppliers of each; every customer buys from all suppliers of its region."""
    db = Database()
    db.execute(DECLARED)
    db.apply({"region": [(0, 10), (1, 11)], "customer": [(c, c % 2) for c in range(10)]})
    db.apply({"supplier": [(s, s % 2) for s in range(4)]})
    db.apply({"sale": [(c, s, 1) for c in range(10) for s in range(4) if c % 2 == s % 2]})
    return db


def changed(db: Database, table: str, row: dict[str, int]) -> None:
    for kind in ("delete", "insert"):
        db.apply(table, [row | {"_change_type": kind}])


@pytest.mark.parametrize("deltas", [True, False])
def test_a_relation_that_several_refer_to(deltas: bool) -> None:
    """Rows touched on the way up, those of its keys, and those that are read where somebody asks for the delta."""
    db = filled()
    view = db.create_view("sold", SHARED, algorithm="aju", deltas=deltas)
    view.analyze()
    assert [*nodes(view)] == ["l", "c", "r", "s"]
    changed(
        db, "customer", {"cid": 4, "rid": 0}
    )  # its two sales are touched; a supplier and a region are read for each
    found = nodes(view)
    assert {name: found[name]["touched"] for name in found} == {"l": 2, "c": 0, "s": 0, "r": 0}
    assert {name: found[name]["read"] for name in found} == {"l": 0, "c": 0, "s": 2 * deltas, "r": 1 + 2 * deltas}
    assert {name: found[name]["reached"] for name in found} == {"l": 4, "c": 2, "s": 0, "r": 0}
    db.apply("region", [(7, 12)])  # nobody refers to it
    found = nodes(view)
    assert (found["r"]["reached"], found["r"]["stopped"], found["r"]["rows"]) == (1, 1, 3)
    db.apply("sale", [(4, 2, 9)])  # a customer, a supplier and a region are read
    found = nodes(view)
    assert found["l"]["rows"] == 21
    assert found["s"]["read"] * 4 == 2 * 2 * deltas + 1
    assert found["c"]["read"] * 4 == 1
    assert all(one["state_bytes"] > 0 and one["expected_bytes"] > 0 for one in found.values())
    assert {name: one["expected_rows"] for name, one in found.items()} == {"l": 21, "c": 10, "s": 4, "r": 3}
    db._check()


def test_what_may_be_missing() -> None:
    """Below an optional edge a change goes to all rows that refer to it, once, and is read as it was and as it is."""
    db = filled()
    view = db.create_view(
        "sold", "SELECT l.price, c.rid FROM sale l LEFT JOIN customer c ON l.cid = c.cid", algorithm="aju"
    )
    view.analyze()
    changed(db, "customer", {"cid": 4, "rid": 0})
    found = nodes(view)
    assert (found["l"]["touched"], found["l"]["read"], found["l"]["met"]) == (0, 2, 2)
    assert (found["c"]["reached"], found["c"]["stopped"], found["c"]["read"]) == (2, 0, 0)
    assert found["l"]["expected_met"] == 2
    db._check()
