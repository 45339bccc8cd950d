"""Rows that are loaded come in pieces, and a block that they fill is what it is where they come as changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import livejoin
from livejoin.dataflow.blocks import row_source

QUERIES = {
    "join": "SELECT A.k AS a, B.k AS b FROM T A JOIN T B ON A.v = B.k",
    "groups": "SELECT A.v AS g, COUNT(*) AS n, SUM(B.v) AS s FROM T A JOIN T B ON A.v = B.k GROUP BY A.v",
    "bag": "SELECT A.k AS a, B.k AS b, C.k AS c FROM T A, T B, T C WHERE A.v = B.k AND B.v = C.k AND C.v = A.k",
}


def _emptied(db: livejoin.Database) -> None:
    """Ids that are free lie between those that are used."""
    db.apply("T", [{"k": k, "v": k % 5, "_change_type": "delete"} for k in range(6, 30, 4)])


@pytest.mark.parametrize("holes", [_emptied, lambda db: None], ids=["with holes", "without"])
@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_loaded_in_pieces(
    name: str, holes: Callable[[livejoin.Database], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_source, "_PIECE", 7)
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, v BIGINT")
    changing = db.create_view("changing", QUERIES[name])
    db.apply("T", [(k, k % 5) for k in range(30)])
    holes(db)
    loaded = db.create_view("loaded", QUERIES[name], algorithm="crown")
    rows = sorted(loaded.to_arrow().to_pylist(), key=str)
    assert rows == sorted(changing.to_arrow().to_pylist(), key=str) and rows
    db._check()
    db.apply("T", [(31, 2)])
    assert sorted(loaded.to_arrow().to_pylist(), key=str) == sorted(changing.to_arrow().to_pylist(), key=str)
