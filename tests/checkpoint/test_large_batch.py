"""A large batch in pieces: its database and its deltas are those of one commit, and it takes less memory."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from streams import TIME, Rows, Stream, job

from livejoin.checkpoint import large_batch
from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine
from livejoin.checkpoint.policy import Policy
from livejoin.database.transactions import pieces
from livejoin.errors import AbsentRowError, ExpressionError, LivejoinError, StateError, ViolationError
from oracle import connect
from strategies import seeds

TABLES = {"orders": "id INT PRIMARY KEY, item STRING, price INT", "items": "item STRING, kind STRING"}
VIEWS = {
    "joined": "SELECT o.id, i.kind, o.price FROM orders o JOIN items i ON o.item = i.item",
    "sums": "SELECT i.kind, SUM(o.price) AS total FROM orders o JOIN items i ON o.item = i.item GROUP BY i.kind",
    "number": "SELECT COUNT(*) AS n, MAX(price) AS most FROM orders",
    "many": "SELECT item FROM orders GROUP BY item HAVING COUNT(*) > 3",
    "distinct": "SELECT DISTINCT price FROM orders",
    "kinds": "SELECT o.id, i.kind FROM orders o LEFT JOIN items i ON o.item = i.item",
    "lost": "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.item = o.item)",
    "top": "SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 3",
}
ORDERS = [(n, f"item {n % 7}", n * 37 % 100) for n in range(50)]
ITEMS = [(f"item {n}", f"kind {n % 3}") for n in range(6)]
GONE = ("delete", "update_preimage")


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many changes each batch in pieces had that stood; small batches count as large."""
    monkeypatch.setattr(large_batch, "LEAST", 12)
    monkeypatch.setattr(pieces, "_PIECE", 7)
    monkeypatch.setattr("livejoin.checkpoint.net_delta._FEW", 3)
    plain, found = large_batch.apply_large, list[int]()

    def apply(database: Any, batch: Any) -> Any:
        done = plain(database, batch)
        found.append(batch.rows)
        return done

    monkeypatch.setattr("livejoin.checkpoint.engine.apply_large", apply)
    yield found


def results(views: Mapping[str, str], tables: Mapping[str, tuple[str, Sequence[Any]]]) -> dict[str, Counter[Any]]:
    """The results of views by DuckDB."""
    with connect() as duck:
        for name, (columns, rows) in tables.items():
            duck.execute(f"CREATE TABLE {name} ({columns.replace(' PRIMARY KEY', '')})")
            if rows:
                duck.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return {view: Counter(duck.execute(sql).fetchall()) for view, sql in views.items()}


def deltas_of(engine: Engine, batch_id: int, changes: Mapping[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the deltas of a batch, in their order."""
    batch = engine.take(batch_id, lambda: Arrival(changes, TIME))
    found = {
        view: pa.Table.from_batches(delta.to_batches(1000), delta.schema) for view, delta in engine.apply(batch).items()
    }
    engine.finish(batch_id, [view for view, delta in found.items() if delta.num_rows])
    return {view: delta.to_pylist() for view, delta in found.items()}


def check_order(rows: Sequence[dict[str, Any]]) -> None:
    """What goes stands first, then updates, both rows of one next to each other, then what comes."""
    kinds = [row["_change_type"] for row in rows]
    ranks = [{"delete": 0, "insert": 2}.get(kind, 1) for kind in kinds]
    assert ranks == sorted(ranks)
    images = [kind for kind in kinds if kind.startswith("update")]
    assert images == ["update_preimage", "update_postimage"] * (len(images) // 2)


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_a_batch_in_pieces_is_one_commit(
    tmp_path: Path, batches: list[int], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = random.Random(seed)
    in_pieces, at_once = Stream(tmp_path / "pieces"), Stream(tmp_path / "once")
    engines = [stream.open(job(TABLES, VIEWS)) for stream in (in_pieces, at_once)]
    orders, items, told = dict[int, tuple[Any, ...]](), Counter[tuple[str, str]](), 0
    sums: dict[str, Counter[Any]] = {view: Counter() for view in VIEWS}
    for batch_id in range(6):
        came: list[tuple[Any, ...]] = []
        for _ in range(dice.randrange(5, 60)):
            row = (dice.randrange(40), f"item {dice.randrange(8)}", dice.randrange(9))
            if dice.random() < 0.3:
                came.append((*row, "delete"))
                orders.pop(row[0], None)
            else:
                came.append((*row, dice.choice(["upsert", "insert", "update_postimage"])))
                orders[row[0]] = row
        held = list(items.elements())
        gone = dice.sample(held, dice.randrange(len(held) + 1) // 2)
        new = [(f"item {dice.randrange(8)}", f"kind {dice.randrange(3)}") for _ in range(dice.randrange(12))]
        items = items - Counter(gone) + Counter(new)
        changes = {
            "orders": pa.table(
                dict(zip(("id", "item", "price", "_change_type"), zip(*came, strict=True), strict=True))
            ),
            "items": pa.table(
                {
                    "item": pa.array([one for one, _ in (*gone, *new)], pa.string()),
                    "kind": pa.array([kind for _, kind in (*gone, *new)], pa.string()),
                    "_change_type": pa.array(["delete"] * len(gone) + ["insert"] * len(new), pa.string()),
                }
            ),
        }
        found = deltas_of(engines[0], batch_id, changes)
        with monkeypatch.context() as patch:
            patch.setattr(large_batch, "LEAST", 1 << 30)
            once = deltas_of(engines[1], batch_id, changes)
        assert engines[0].database.version == engines[1].database.version
        assert engines[0].ignored == engines[1].ignored
        now = results(
            VIEWS,
            {"orders": (TABLES["orders"], list(orders.values())), "items": (TABLES["items"], list(items.elements()))},
        )
        for view in VIEWS:
            rows = found.get(view, [])
            assert Counter(tuple(row.items()) for row in rows) == Counter(
                tuple(row.items()) for row in once.get(view, [])
            )
            if batches and batches[-1] == sum(map(len, changes.values())):
                check_order([row for row in rows if row["_commit_version"] == engines[0].database.version])
            for row in rows:
                values = tuple(list(row.values())[:-3])
                sums[view][values] += -1 if row["_change_type"] in GONE else 1
            assert {row: n for row, n in sums[view].items() if n} == dict(now[view]), view
            assert Counter(tuple(row.values()) for row in engines[0].database.views[view].to_pylist()) == now[view]
        told += sum(map(len, found.values()))
        engines[0].database._check()
    assert len(batches) >= 3 and told


def test_a_batch_in_pieces_is_applied_again_from_the_log(tmp_path: Path, batches: list[int]) -> None:
    stream = Stream(tmp_path)
    stream.open(job(TABLES, VIEWS))
    stream.run(0, {"orders": ORDERS, "items": ITEMS})
    came = [(n, "item 1", 5, "upsert") for n in range(20, 60)]
    stream.deliver(1, stream.take(1, {"orders": came}))
    engine = stream.open(job(TABLES, VIEWS))  # no word that it is done
    assert engine.last_batch == 0
    stream.run(1, {"orders": ORDERS[:1]})  # what the source brings now does not count
    assert batches == [56, 40, 40]
    left = [*ORDERS[:20], *(row[:3] for row in came)]
    now = results(VIEWS, {"orders": (TABLES["orders"], left), "items": (TABLES["items"], ITEMS)})
    for view, rows in now.items():
        assert stream.sum(view) == stream.held(view) == rows


@pytest.mark.parametrize("is_first", [False, True])
def test_a_piece_that_is_refused_leaves_nothing_of_the_batch(
    tmp_path: Path, batches: list[int], is_first: bool
) -> None:
    tables = {"seen": "a INT, b INT"}
    views = {"sums": "SELECT a, SUM(b) AS s FROM seen GROUP BY a"}
    stream = Stream(tmp_path)
    engine = stream.open(job(tables, views))
    there = [] if is_first else [(n % 5, n) for n in range(10)]
    number = 0
    if not is_first:
        stream.run(0, {"seen": there})
        number = 1
    before, bad = engine.database, [*((n % 5, n + 100, "insert") for n in range(30)), (1, 7777, "delete")]
    with pytest.raises(AbsentRowError, match="7777"):
        stream.run(number, {"seen": bad})
    assert not batches
    assert stream.held("sums") == results(views, {"seen": (tables["seen"], there)})["sums"]
    with pytest.raises(StateError, match="closed"):  # it has a part of the batch
        _ = before.views
    stream.run(number, {"seen": bad[:-1]})
    assert batches == [30]
    now = results(views, {"seen": (tables["seen"], [*there, *(row[:2] for row in bad[:-1])])})["sums"]
    assert stream.sum("sums") == stream.held("sums") == now
    stream.open(job(tables, views))
    assert stream.held("sums") == now


def test_what_is_refused_in_pieces_and_stands_together(tmp_path: Path, batches: list[int]) -> None:
    tables = {"seen": "a INT, b INT"}
    views = {"all": "SELECT a, b FROM seen"}
    stream = Stream(tmp_path)
    stream.open(job(tables, views))
    stream.run(0, {"seen": [(0, 0)]})
    came = [(900, 1, "delete"), *((n, n, "insert") for n in range(30)), (900, 1, "insert")]
    stream.run(1, {"seen": came})
    assert not batches
    assert stream.sum("all") == stream.held("all") == Counter([(0, 0), *((n, n) for n in range(30))])


def test_a_piece_with_a_row_that_has_no_value_is_left_out(tmp_path: Path, batches: list[int]) -> None:
    tables = {"orders": "id INT PRIMARY KEY, price INT"}
    views = {"shares": "SELECT id, 100 / price AS share FROM orders"}
    came = [(n, n - 30) for n in range(1, 50)]
    stream = Stream(tmp_path)
    stream.open(job(tables, views), policy=Policy(on_bad_rows="skip"))
    stream.run(0, {"orders": [(0, 1)]})
    stream.run(1, {"orders": came})
    now = Counter((n, 100 / price) for n, price in [(0, 1), *came] if price)
    assert stream.sum("shares") == stream.held("shares") == now
    assert not batches
    stream = Stream(tmp_path / "fail")
    engine = stream.open(job(tables, views))
    stream.run(0, {"orders": [(0, 1)]})
    with pytest.raises(ExpressionError):
        stream.run(1, {"orders": came})
    assert (engine.database.version, stream.held("shares")) == (1, Counter({(0, 100.0): 1}))


@pytest.mark.parametrize("at", [1, 3])
def test_a_batch_that_is_cut_off_between_two_pieces(
    tmp_path: Path, batches: list[int], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    tables, views = {"seen": "a INT, b INT"}, {"sums": "SELECT a, SUM(b) AS s FROM seen GROUP BY a"}
    stream = Stream(tmp_path)
    engine = stream.open(job(tables, views))
    stream.run(0, {"seen": [(1, 1)]})
    came, seen, plain = [(n % 5, n) for n in range(40)], [0], large_batch.NetDelta.add

    def add(delta: Any, rows: pa.Table) -> None:
        seen[0] += 1
        if seen[0] == at:
            raise KeyboardInterrupt
        plain(delta, rows)

    with monkeypatch.context() as patch:
        patch.setattr(large_batch.NetDelta, "add", add)
        with pytest.raises(KeyboardInterrupt):
            stream.run(1, {"seen": came})
    assert (engine.database.version, stream.held("sums")) == (1, Counter({(1, 1): 1}))
    stream.run(1, {"seen": came})
    assert batches == [40]
    now = results(views, {"seen": (tables["seen"], [(1, 1), *came])})["sums"]
    assert stream.sum("sums") == stream.held("sums") == now


def test_a_refused_piece_behind_a_change_of_the_job(tmp_path: Path, batches: list[int]) -> None:
    stream = Stream(tmp_path)
    stream.open(job({"seen": "a INT, b INT"}, {"all": "SELECT a, b FROM seen"}))
    stream.run(0, {"seen": [(1, 1)]})
    tables = {"seen": "a INT, b INT", "more": "c INT"}
    views = {"all": "SELECT a, b FROM seen", "c": "SELECT c FROM more"}
    stream.open(job(tables, views))
    with pytest.raises(AbsentRowError):
        stream.run(1, {"seen": [*((n, n, "insert") for n in range(20)), (7, 8, "delete")], "more": [(1, "insert")]})
    assert (stream.held("all"), stream.held("c")) == (Counter([(1, 1)]), Counter())
    stream.run(1, {"seen": [(n, n) for n in range(20)], "more": [(1,)]})
    assert (batches, stream.held("c")) == ([21], Counter([(1,)]))


def test_what_comes_as_one_commit(tmp_path: Path, batches: list[int]) -> None:
    def run(name: str, views: Mapping[str, str], came: Rows, **options: Any) -> Stream:
        stream = Stream(tmp_path / name)
        stream.open(job({"t": options.pop("columns", "id INT PRIMARY KEY, p INT")}, views, t=options))
        stream.run(0, {"t": [(0, 1)]})
        stream.run(1, {"t": came})
        return stream

    rows = [(n, n % 7) for n in range(1, 40)]
    plain = {"v": "SELECT p, COUNT(*) AS n FROM t GROUP BY p"}
    run("window", plain, rows, window_rows=20)
    run("unique", plain, rows, columns="id INT PRIMARY KEY, p INT, UNIQUE (id, p)")
    run("ranks", {"v": "SELECT id, RANK() OVER (PARTITION BY p ORDER BY id) AS r FROM t"}, rows)
    assert batches == []
    run("plain", plain, rows)
    assert batches == [39]


def test_somebody_who_listens_hears_of_one_commit(tmp_path: Path, batches: list[int]) -> None:
    views = {"v": "SELECT p, COUNT(*) AS n FROM t GROUP BY p"}
    stream, heard = Stream(tmp_path), list[pa.Table]()
    engine = stream.open(job({"t": "id INT, p INT"}, views, keep_all=True))
    stream.run(0, {"t": [(0, 1)]})
    engine.database.views["v"].subscribe(heard.append)
    stream.run(1, {"t": [(n, n % 3) for n in range(30)]})
    assert ([delta.num_rows for delta in heard], batches) == ([4], [])


def test_an_assertion_holds_behind_the_whole_batch(tmp_path: Path, batches: list[int]) -> None:
    declared = replace(
        job({"t": "id INT, p INT"}, {"v": "SELECT SUM(p) AS s FROM t"}, keep_all=True),
        assertions={"even": "(SELECT COALESCE(SUM(p), 0) FROM t) % 2 = 0"},
    )
    stream = Stream(tmp_path)
    stream.open(declared)
    stream.run(0, {"t": [(0, 2)]})
    stream.run(1, {"t": [(n, 1) for n in range(30)]})
    with pytest.raises(ViolationError):
        stream.run(2, {"t": [(n, 1) for n in range(31)]})
    assert (stream.held("v"), batches) == (Counter([(32,)]), [])


def test_deltas_of_pieces_count_for_the_limit(
    tmp_path: Path, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(tmp_path)
    engine = stream.open(job({"t": "id BIGINT, p BIGINT"}, {"v": "SELECT id, p FROM t"}))
    stream.run(0, {"t": [(0, 1)]})
    budget, counted, plain = engine.database._contents.budget, list[int](), large_batch.NetDelta.add

    def add(delta: Any, rows: pa.Table) -> None:
        before = budget.total - delta.nbytes
        plain(delta, rows)
        counted.append(budget.total - before)

    monkeypatch.setattr(large_batch.NetDelta, "add", add)
    stream.run(1, {"t": [(n, n) for n in range(28)]})
    assert counted == sorted(counted)
    assert counted[-1] >= 28 * 2 * 8


def peak(folder: Path, rows: int) -> int:
    """The most memory of numpy that applying a later batch took at once, beyond what stays."""
    stream = Stream(folder)
    engine = stream.open(
        job({"t": "id BIGINT, k BIGINT, price BIGINT"}, {"v": "SELECT id, price FROM t WHERE k < 100"})
    )
    stream.run(0, {"t": [(0, 0, 0)]})
    columns = {name: np.arange(rows) * step % 1000 for name, step in (("id", 1), ("k", 7), ("price", 11))}
    batch = engine.take(1, lambda: Arrival({"t": pa.table({**columns, "id": np.arange(rows)})}, TIME))
    tracemalloc.start()
    try:
        assert engine.apply(batch)["v"].num_rows == rows // 10
        kept, most = tracemalloc.get_traced_memory()
        return most - kept
    finally:
        tracemalloc.stop()
        engine.close()


def test_a_batch_in_pieces_takes_a_third_of_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 300_000
    assert rows >= large_batch.LEAST
    monkeypatch.setattr(pieces, "_PIECE", rows // 10)
    in_pieces = peak(tmp_path / "pieces", rows)
    monkeypatch.setattr(large_batch, "LEAST", 1 << 30)
    at_once = peak(tmp_path / "once", rows)
    assert 3 * in_pieces < at_once, f"{in_pieces:,} of {at_once:,} bytes"


def test_a_refused_piece_says_what_one_commit_says(tmp_path: Path, batches: list[int]) -> None:
    told = list[str]()
    for least in (12, 1 << 30):
        stream = Stream(tmp_path / str(least))
        stream.open(job({"seen": "a INT, b INT"}, {"all": "SELECT a, b FROM seen"}))
        stream.run(0, {"seen": [(0, 0)]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(large_batch, "LEAST", least)
            with pytest.raises(LivejoinError) as error:
                stream.run(1, {"seen": [*((n, n, "insert") for n in range(30)), (5, 77, "delete")]})
        told.append(str(error.value))
    assert told[0] == told[1]
    assert not batches
