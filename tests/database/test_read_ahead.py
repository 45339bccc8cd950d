"""Joins whose state is larger than the caches read ahead: their results are DuckDB's, whatever rows look at nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.kernels.join.ahead import BEYOND
from oracle import connect, multiset

TABLES = {
    "c": "ck INT PRIMARY KEY, seg INT NOT NULL",
    "o": "ok INT PRIMARY KEY, ck INT NOT NULL REFERENCES c (ck), d INT NOT NULL",
    "l": "ok INT NOT NULL REFERENCES o (ok), n INT, x INT NOT NULL, PRIMARY KEY (ok, n)",
}
JOIN = "FROM c, o, l WHERE c.ck = o.ck AND o.ok = l.ok AND seg = 1 AND d < 5 AND x > 2"
VIEWS = {
    "sums": (f"SELECT l.ok, d, SUM(x) AS s {JOIN} GROUP BY l.ok, d", "crown"),
    "rows": (f"SELECT l.ok, n, c.ck, x {JOIN}", "aju"),
    "counts": ("SELECT c.ck, COUNT(o.ok) AS k FROM c LEFT JOIN o ON c.ck = o.ck AND d < 7 GROUP BY c.ck", "crown"),
    "without": ("SELECT o.ok, d FROM o WHERE NOT EXISTS (SELECT * FROM l WHERE l.ok = o.ok AND x > 6)", "crown"),
    "keys": ("SELECT DISTINCT o.ck FROM o, l WHERE o.ok = l.ok AND x > 6", "crown"),
}
ORDERS, LINES = 24_000, 3


def _data() -> dict[str, pa.Table]:
    draw = np.random.default_rng(7)
    keys = np.arange(ORDERS, dtype=np.int32)
    columns = {
        "c": {"ck": keys[: ORDERS // 8], "seg": draw.integers(0, 3, ORDERS // 8, np.int32)},
        "o": {"ok": keys, "ck": draw.integers(0, ORDERS // 8, ORDERS, np.int32), "d": keys % 10},
        "l": {
            "ok": np.repeat(keys, LINES),
            "n": np.tile(np.arange(LINES, dtype=np.int32), ORDERS),
            "x": draw.integers(0, 10, ORDERS * LINES, np.int32),
        },
    }
    return {name: pa.table(lines) for name, lines in columns.items()}


@pytest.mark.parametrize("views", [["sums"], ["rows"], ["counts", "without", "keys"]])
def test_large_joins(views: list[str]) -> None:
    db, data, draw = livejoin.Database(), _data(), np.random.default_rng(3)
    for name, columns in TABLES.items():
        db.execute(f"CREATE TABLE {name} ({columns})")
    for view in views:
        text, algorithm = VIEWS[view]
        db.create_view(view, text, algorithm=algorithm)
    there = {name: np.zeros(rows.num_rows, np.bool_) for name, rows in data.items()}
    for share in (0.9, 0.5, 0.3):
        logs = {}
        for name, rows in data.items():
            changed = np.flatnonzero(draw.random(rows.num_rows) < share)
            draw.shuffle(changed)
            kinds = np.where(there[name][changed], "delete", "insert")
            logs[name] = rows.take(pa.array(changed)).append_column("_change_type", pa.array(kinds))
            there[name][changed] ^= True
        db.apply(logs)
        assert max(block["capacity_bytes"] for block in db.stats()["blocks"]) > 8 * BEYOND
        with connect() as duckdb:
            for name, rows in data.items():
                duckdb.register(name, rows.filter(pa.array(there[name])))
            for view in views:
                assert multiset(db.views[view].to_arrow()) == multiset(duckdb.sql(VIEWS[view][0]).fetchall())
