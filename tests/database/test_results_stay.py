"""What was read stays as it was: no result, delta or image shares memory with tables that go on changing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from livejoin import Database
from livejoin.database.snapshots.tables import image_of_tables

VIEWS = {
    "all": "SELECT k, w FROM B",
    "projected": "SELECT w FROM B",
    "distinct": "SELECT DISTINCT w FROM B",
    "joined": "SELECT A.k, v, w FROM A JOIN B ON A.k = B.k",
    "outer": "SELECT A.k, v, w FROM A LEFT JOIN B ON A.k = B.k",
    "grouped": "SELECT k, SUM(w) AS s, COUNT(*) AS n FROM B GROUP BY k",
    "extreme": "SELECT k, MAX(w) AS m FROM B GROUP BY k",
    "annotated": "SELECT v, COUNT(*) AS n, SUM(w) AS s FROM A JOIN B ON A.k = B.k GROUP BY v",
    "total": "SELECT SUM(w) AS s, COUNT(*) AS n FROM B",
    "either": "SELECT k FROM A UNION SELECT k FROM B",
    "both": "SELECT k FROM A INTERSECT ALL SELECT k FROM B",
    "first": "SELECT k, w FROM B ORDER BY w DESC LIMIT 2",
    "ranked": "SELECT k, w, ROW_NUMBER() OVER (PARTITION BY k ORDER BY w) AS r FROM B QUALIFY r < 3",
    "over": "SELECT o.s FROM (SELECT k, SUM(w) AS s FROM B GROUP BY k) o JOIN A ON A.k = o.k",
    "absent": "SELECT k, v FROM A WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k)",
    "triangle": "SELECT X.k AS a, Y.k AS b, Z.k AS c FROM B X, B Y, B Z WHERE X.w = Y.k AND Y.w = Z.k AND Z.w = X.k",
}


def tables() -> Database:
    database = Database()
    database.create_table("A", "k BIGINT PRIMARY KEY, v BIGINT")
    database.create_table("B", "k BIGINT, w BIGINT")
    return database


def changes(step: int) -> dict[str, list[dict[str, Any]]]:
    """Changes that leave a single row in each table, in the place that the row before had."""
    into = [{"k": 1, "w": step % 5, "_change_type": "insert"}]
    out = [{"k": 1, "w": (step - 1) % 5, "_change_type": "delete"}] if step else []
    return {"A": [{"k": 1, "v": 10 + step, "_change_type": "upsert"}], "B": out + into}


@pytest.mark.parametrize("view", VIEWS)
def test_results_and_deltas_stay(view: str) -> None:
    database = tables()
    kept = database.create_view("V", VIEWS[view])
    read: list[tuple[pa.Table, str]] = []
    for step in range(8):
        commit = database.apply(changes(step))
        for result in (kept.to_arrow(), commit["V"]):
            read.append((result, str(result.to_pylist())))
    for result, text in read:
        assert str(result.to_pylist()) == text


def test_an_image_of_tables_stays() -> None:
    """A snapshot is written in the background, while the table's only row is another one already."""
    database = tables()
    for step in range(8):
        database.apply(changes(step))
        image = image_of_tables(database, {})
        bases = database._contents.tables
        for table, rows in image.tables:
            for part in (rows.values, rows.weights, rows.ids, rows.arrivals, rows.tombstones):
                assert not np.shares_memory(part, bases[table.name.lower()].words)
        live = database._contents.codec.arrays()
        assert not any(np.shares_memory(array, live[name]) for name, array in image.codec.items())
