"""A first load in pieces: its database and its deltas are those of one commit, and it takes less memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from streams import TIME, Stream, job

from livejoin.checkpoint import first_load, large_batch
from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine
from livejoin.checkpoint.policy import Policy
from livejoin.database.transactions import pieces
from livejoin.errors import DuplicateKeyError, ExpressionError, ViolationError

TABLES = {"orders": "id INT PRIMARY KEY, item STRING, price INT", "items": "item STRING, kind STRING"}
VIEWS = {
    "joined": "SELECT o.id, i.kind, o.price FROM orders o JOIN items i ON o.item = i.item",
    "sums": "SELECT i.kind, SUM(o.price) AS total FROM orders o JOIN items i ON o.item = i.item GROUP BY i.kind",
    "number": "SELECT COUNT(*) AS n FROM orders",
    "top": "SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 3",
    "none": "SELECT id FROM orders WHERE price < 0",
}
ORDERS = [(n, f"item {n % 7}", n * 37 % 100) for n in range(50)]
ITEMS = [(f"item {n}", f"kind {n % 3}") for n in range(6)]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many changes each first load had; small batches count as large."""
    monkeypatch.setattr(first_load, "LEAST", 20)
    monkeypatch.setattr(pieces, "_PIECE", 7)
    plain, found = first_load.load_first, list[int]()

    def load(before: Any, of: Any, batch: Any, limits: Any) -> Any:
        done = plain(before, of, batch, limits)
        found.append(batch.rows)
        return done

    monkeypatch.setattr("livejoin.checkpoint.engine.load_first", load)
    yield found


def expected(orders: Any, items: Any) -> dict[str, Counter[Any]]:
    """The results of the views, by brute force."""
    joined = [(n, kind, price) for n, item, price in orders for other, kind in items if item == other]
    totals = Counter[Any]()
    for _, kind, price in joined:
        totals[kind] += price
    return {
        "joined": Counter(joined),
        "sums": Counter((kind, totals[kind]) for kind in {kind for _, kind, _ in joined}),
        "number": Counter([(len(orders),)]),
        "top": Counter(sorted(((n, price) for n, _, price in orders), key=lambda row: (-row[1], row[0]))[:3]),
        "none": Counter[Any](),
    }


def test_a_first_load_in_pieces_is_one_commit(tmp_path: Path, loads: list[int]) -> None:
    stream = Stream(tmp_path)
    engine = stream.open(job(TABLES, VIEWS))
    stream.run(0, {"orders": ORDERS, "items": ITEMS})
    assert loads == [56]
    assert engine.database.version == 1
    for view, rows in expected(ORDERS, ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows
    changes = [(*row, "delete") for row in ORDERS[:30]] + [(99, "item 1", 1000, "insert")]
    stream.run(1, {"orders": changes})
    assert loads == [56], "the tables had rows"
    stream.open(job(TABLES, VIEWS))
    for view, rows in expected([*ORDERS[30:], (99, "item 1", 1000)], ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows


def test_a_first_load_that_was_cut_off_comes_again_from_the_log(tmp_path: Path, loads: list[int]) -> None:
    stream = Stream(tmp_path)
    stream.open(job(TABLES, VIEWS))
    stream.deliver(0, stream.take(0, {"orders": ORDERS, "items": ITEMS}))
    engine = stream.open(job(TABLES, VIEWS))  # no word that it is done
    assert engine.last_batch is None
    stream.run(0, {"orders": ORDERS[:1]})  # what the source brings now does not count
    assert loads == [56, 56]
    for view, rows in expected(ORDERS, ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows


def test_a_key_that_comes_twice_in_a_first_load(tmp_path: Path, loads: list[int]) -> None:
    twice = {"orders": [*ORDERS, (3, "item 3", 0)], "items": ITEMS}
    stream = Stream(tmp_path / "error")
    engine = stream.open(job(TABLES, VIEWS, orders={"append_only": True}))
    with pytest.raises(DuplicateKeyError, match="primary key"):
        stream.run(0, twice)
    assert (engine.database.version, engine.filled, loads) == (0, [], [])
    stream = Stream(tmp_path / "skip")
    engine = stream.open(job(TABLES, VIEWS, orders={"append_only": True}), policy=Policy(on_conflict="skip"))
    stream.run(0, twice)
    assert (sum(engine.ignored.values()), loads) == (1, [57])
    for view, rows in expected(ORDERS, ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows


def test_upserts_of_a_first_load_keep_the_last_row(tmp_path: Path, loads: list[int]) -> None:
    stream = Stream(tmp_path)
    stream.open(job(TABLES, VIEWS))
    came = [(*row, "upsert") for row in (*ORDERS, *((n, "item 2", 7) for n in range(0, 50, 9)))]
    stream.run(0, {"orders": came, "items": ITEMS})
    assert loads == [62]
    left = [(n, "item 2", 7) if n % 9 == 0 else (n, item, price) for n, item, price in ORDERS]
    for view, rows in expected(left, ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows


def test_deletions_in_a_first_load_go_the_way_of_one_commit(tmp_path: Path, loads: list[int]) -> None:
    stream = Stream(tmp_path)
    stream.open(job(TABLES, VIEWS))
    came = [(1000, "item 1", 5, "delete"), *((*row, "insert") for row in ORDERS), (1000, "item 1", 5, "insert")]
    stream.run(0, {"orders": came, "items": ITEMS})
    assert loads == []
    for view, rows in expected([*ORDERS, (1000, "item 1", 5)], ITEMS).items():
        assert stream.sum(view) == stream.held(view) == rows


@pytest.mark.parametrize("on_bad_rows", ["fail", "skip"])
def test_a_first_load_with_a_row_that_has_no_value(tmp_path: Path, loads: list[int], on_bad_rows: Any) -> None:
    stream = Stream(tmp_path)
    views = {"shares": "SELECT id, 100 / price AS share FROM orders"}
    tables = {"orders": "id INT PRIMARY KEY, price INT"}
    engine = stream.open(job(tables, views), policy=Policy(on_bad_rows=on_bad_rows))
    came = [(n, n - 30) for n in range(50)]
    if on_bad_rows == "fail":
        with pytest.raises(ExpressionError):
            stream.run(0, {"orders": came})
        assert (engine.database.version, engine.filled) == (0, [])
    else:
        stream.run(0, {"orders": came})
        assert (
            stream.sum("shares") == stream.held("shares") == Counter((n, 100 / (n - 30)) for n in range(50) if n != 30)
        )
    assert loads == []


def test_an_assertion_refuses_a_first_load(tmp_path: Path, loads: list[int]) -> None:
    stream = Stream(tmp_path)
    declared = replace(job(TABLES, VIEWS), assertions={"cheap": "NOT EXISTS (SELECT id FROM orders WHERE price > 98)"})
    engine = stream.open(declared)
    with pytest.raises(ViolationError, match="cheap"):
        stream.run(0, {"orders": [*ORDERS, (70, "item 1", 99)], "items": ITEMS})
    assert (engine.database.version, engine.filled, loads) == (0, [], [])
    stream.run(0, {"orders": [row for row in ORDERS if row[2] <= 98], "items": ITEMS})
    assert len(loads) == 1


def peak(folder: Path, rows: int) -> tuple[int, Engine]:
    """The most memory of numpy and Arrow that applying a first batch took at once."""
    stream = Stream(folder)
    engine = stream.open(
        job({"t": "id BIGINT, k BIGINT, price BIGINT"}, {"v": "SELECT id, price FROM t WHERE k < 900"})
    )
    columns = {name: np.arange(rows) * step % 1000 for name, step in (("id", 1), ("k", 7), ("price", 11))}
    batch = engine.take(0, lambda: Arrival({"t": pa.table({**columns, "id": np.arange(rows)})}, TIME))
    tracemalloc.start()
    try:
        for delta in engine.apply(batch).values():
            assert sum(piece.num_rows for piece in delta.to_batches(10_000)) == rows * 9 // 10
        return tracemalloc.get_traced_memory()[1], engine
    finally:
        tracemalloc.stop()


def test_a_first_load_in_pieces_takes_half_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 300_000
    assert rows >= first_load.LEAST
    monkeypatch.setattr(pieces, "_PIECE", rows // 10)
    in_pieces, engine = peak(tmp_path / "pieces", rows)
    engine.close()
    monkeypatch.setattr(first_load, "LEAST", 1 << 30)
    monkeypatch.setattr(large_batch, "LEAST", 1 << 30)
    at_once, engine = peak(tmp_path / "once", rows)
    engine.close()
    assert 2 * in_pieces < at_once, f"{in_pieces:,} of {at_once:,} bytes"
