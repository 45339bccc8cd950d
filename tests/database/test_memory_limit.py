"""A memory limit: each kind of growth meets it once, nothing is changed by what is refused, and all goes on."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import CapacityError, MemoryLimitError, SchemaError
from livejoin.kernels.join.layout import EVENT_FIELDS
from livejoin.state.budget import SLACK, Budget, shown_bytes
from oracle import connect, multiset

HOP2 = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"
MB = 10**6


def numbers(begin: int, end: int) -> pa.Table:
    """A path: each row has a number and the next one."""
    return pa.table({"src": np.arange(begin, end), "dst": np.arange(begin, end) + 1})


def database(limit: Any, sql: str = "", columns: str = "src BIGINT, dst BIGINT", **options: Any) -> livejoin.Database:
    db = livejoin.Database(memory_limit=limit, threads=options.pop("threads", 1))
    db.create_table("G", columns)
    if sql:
        db.create_view("v", sql, **options)
    return db


def check(db: livejoin.Database) -> None:
    """Assert all invariants, but of binary joins, where that takes seconds for a thousand rows."""
    if all(view.algorithm != "change-propagation" for view in db.views.values()):
        db._check()


def fill(db: livejoin.Database, make: Callable[[int, int], pa.Table], step: int) -> tuple[int, str]:
    """Commit until one is refused, which changes nothing; how many rows there are, and what was said."""
    begin = 0
    while True:
        before, version = {name: view.to_arrow() for name, view in db.views.items()}, db.version
        try:
            db.apply("G", make(begin, begin + step))
        except MemoryLimitError as error:
            assert db.version == version
            for name, rows in before.items():
                assert multiset(db.views[name].to_arrow()) == multiset(rows)
            check(db)
            return begin, str(error)
        begin += step
        assert db.stats()["memory_bytes"] <= db.stats()["memory_limit"]


def go_on(db: livejoin.Database, make: Callable[[int, int], pa.Table], rows: int, sql: str) -> None:
    """Small commits, deletions and insertions, are right afterwards."""
    for begin in range(0, rows // 2, 250):
        gone = make(begin, min(begin + 250, rows // 2))
        db.apply("G", gone.append_column("_change_type", pa.array(["delete"] * gone.num_rows)))
    db.apply("G", make(0, 3))
    check(db)
    there = pa.concat_tables([make(0, 3), make(rows // 2, rows)])
    assert db.stats()["tables"]["G"]["rows"] == there.num_rows
    if sql:
        with connect() as duck:
            duck.register("G", there)
            assert multiset(db.views["v"].to_arrow()) == multiset(duck.sql(sql).to_arrow_table())


@pytest.mark.parametrize(
    ("limit", "sql", "options", "said"),
    [
        (1 * MB, "", {}, "largest are table 'G' with"),
        (2 * MB, HOP2, {"deltas": False}, "view 'v': memory_limit is 2 MB.*an arena that doubles"),
        (2 * MB, HOP2, {"algorithm": "dyn", "deltas": False}, r"block #1 \(join\) of 'v'"),
        (2 * MB, HOP2, {"algorithm": "change-propagation", "deltas": False}, "an arena that doubles"),
        (3 * MB, HOP2, {"deltas": False, "threads": 2}, r"block #1 \(join\) of 'v'"),
        (2 * MB, "SELECT src, MAX(dst) AS m FROM G GROUP BY src", {}, r"block #\d \(groups\) of 'v'"),
        (2 * MB, "SELECT src AS a FROM G UNION SELECT dst AS a FROM G", {}, "an arena that doubles"),
        (2 * MB, "SELECT src, dst FROM G ORDER BY dst LIMIT 5", {}, "an arena that doubles"),
    ],
)
def test_a_growth_that_meets_the_limit(limit: int, sql: str, options: dict[str, Any], said: str) -> None:
    db = database(limit, sql, **options)
    rows, message = fill(db, numbers, 1000)
    assert rows > 0
    with pytest.raises(MemoryLimitError, match=said):
        raise MemoryLimitError(message)
    go_on(db, numbers, rows, sql)


def test_the_window_of_a_table_by_rows() -> None:
    db = livejoin.Database(memory_limit=MB)
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=10**6)
    rows, message = fill(db, lambda begin, end: pa.table({"src": [1] * (end - begin), "dst": [2] * (end - begin)}), 500)
    assert rows > 0
    assert "for staging the database would take" in message
    db.apply("G", [(1, 2)])
    assert db.stats()["tables"]["G"]["rows"] == rows + 1
    db._check()


@pytest.mark.parametrize("window", [{"window_rows": 10**6}, {"window_range": ("src", 10**6)}])
def test_room_in_a_window(window: dict[str, Any]) -> None:
    db = livejoin.Database(memory_limit=MB)
    db.create_table("G", "src BIGINT, dst BIGINT", **window)
    db.apply("G", numbers(0, 100))
    db._contents.budget.begin()
    with pytest.raises(MemoryLimitError, match="for the window of table 'G' the database would take"):
        db._contents.tables["g"]._make_room_in_window(200_000)
    db.apply("G", numbers(100, 200))
    assert db.stats()["tables"]["G"]["rows"] == 200
    db._check()


def test_a_dictionary_and_what_a_refused_commit_left_in_it() -> None:
    def named(begin: int, end: int) -> pa.Table:
        return pa.table({"src": [f"{number:0200}" for number in range(begin, end)], "dst": np.arange(begin, end)})

    db = database(1 * MB, columns="src STRING, dst BIGINT")
    rows, message = fill(db, named, 200)
    assert "for a dictionary the database would take" in message
    assert "the dictionaries of strings and wide decimals with" in message
    for again in range(5):  # strings of commits that are refused do not add up
        with pytest.raises(MemoryLimitError):
            db.apply("G", named(10_000 * (again + 1), 10_000 * (again + 1) + 5000))
        db.apply("G", [(f"x{again}", again)])
    assert db.stats()["tables"]["G"]["rows"] == rows + 5
    db._check()


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [("crown", "deltas"), ("dyn", "deltas"), ("change-propagation", "an arena that doubles")],
)
def test_a_delta_that_is_too_large(algorithm: str, said: str) -> None:
    db = database(20 * MB, HOP2, algorithm=algorithm)
    db.apply("G", [(number, 0) for number in range(1500)])
    before = db.stats()["memory_bytes"]
    with pytest.raises(MemoryLimitError, match=f"for {said} the database would take.*deltas with"):
        db.apply("G", [(0, number) for number in range(1500)])
    db._check()
    assert (db.version, db.views["v"].count()) == (1, 1500)
    assert db.stats()["memory_bytes"] <= 20 * MB
    commit = db.apply("G", [(0, number) for number in range(10)])
    assert commit["v"].num_rows == db.views["v"].count() - 1500 > 10_000
    assert db.stats()["memory_bytes"] < before + 8 * MB


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What is counted as passing through commits."""
    found, hold = Counter[str](), Budget.hold

    def counting(self: Budget, size: int, what: str) -> None:
        found[what] += size
        hold(self, size, what)

    monkeypatch.setattr(Budget, "hold", counting)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "sql",
    [
        HOP2,
        "SELECT A.src + 1 AS a, B.dst::STRING AS b FROM G A JOIN G B ON A.dst = B.src",
        "SELECT src, MAX(dst) AS m FROM G GROUP BY src",
        "SELECT src, COUNT(*) AS n FROM G GROUP BY src",
        "SELECT src AS a FROM G UNION SELECT dst AS a FROM G",
        "SELECT src, dst FROM G ORDER BY dst LIMIT 9000",
        "SELECT src, ARRAY_AGG(dst) AS a FROM G GROUP BY src HAVING COUNT(*) > 0",
    ],
)
def test_what_counts_of_a_commit_is_all_that_it_takes(sql: str, threads: int, held: Counter[str]) -> None:
    db = database("1GB", sql, threads=threads)
    db.apply("G", numbers(0, 1000))
    held.clear()
    delta = db.apply("G", numbers(1000, 9000))["v"]
    assert delta.num_rows >= 7000
    assert held["deltas"] >= delta.drop_columns(["_change_type", "_commit_version"]).nbytes
    events = 8000 * 8 * EVENT_FIELDS
    assert held["staged changes"] >= events * (2 if db.views["v"].stats()["cells"] > 1 else 1)


@pytest.mark.parametrize("algorithm", ["crown", "dyn"])
def test_what_a_join_keeps_from_one_commit_to_the_next_counts(algorithm: str, held: Counter[str]) -> None:
    db = database("1GB", HOP2, algorithm=algorithm)
    db.apply("G", [(number, 0) for number in range(1, 5001)])
    commit = db.apply("G", [(0, 10_001), (0, 10_002)])
    assert commit["v"].num_rows == 10_000
    held.clear()
    db.apply("G", [(7, 8)])
    assert held["deltas"] > {"crown": 2 * 8 * 10_000, "dyn": 8 * 4096}[algorithm]


def test_the_events_of_rows_that_are_loaded_count() -> None:
    db = livejoin.Database(memory_limit="10MB")
    db.create_table("G", "src BIGINT, dst BIGINT")
    for begin in range(0, 100_000, 10_000):
        db.apply("G", numbers(begin, begin + 10_000))
    with pytest.raises(MemoryLimitError, match="for the events of rows that are loaded the database would take"):
        db.create_view("v", "SELECT src FROM G WHERE src < 10", deltas=False)
    db._contents.budget.limit = 40 * MB
    db.create_view("v", "SELECT src FROM G WHERE src < 10", deltas=False)
    assert db.views["v"].count() == 10


def test_the_arrow_strings_of_a_delta_count() -> None:
    sql = "SELECT A.src AS a, B.name AS n FROM G A JOIN P B ON A.dst = B.id"
    db = database(12 * MB)
    db.create_table("P", "id BIGINT, name STRING")
    db.create_view("v", sql)
    db.apply("P", [(0, "x" * 2000)])
    with pytest.raises(MemoryLimitError, match="deltas with"):
        db.apply("G", [(number, 0) for number in range(10_000)])
    assert (db.version, db.views["v"].count()) == (1, 0)
    assert db.apply("G", [(1, 0)])["v"].num_rows == 1


def test_staging_that_is_too_large() -> None:
    db = database(3 * MB)
    with pytest.raises(MemoryLimitError, match="for staged changes the database would take"):
        db.apply("G", numbers(0, 100_000))
    assert db.version == db.stats()["tables"]["G"]["rows"] == 0
    db.apply("G", numbers(0, 100))
    pieces = db.replay({"G": numbers(0, 200_000).append_column("_seq", pa.array(range(200_000)))}, max_rows=5000)
    with pytest.raises(MemoryLimitError, match="replay of 200,000 changes stopped: its changes up to _seq"):
        list(pieces)
    assert db.stats()["tables"]["G"]["rows"] == 100 + pieces.changes > 5000


def test_a_view_that_does_not_fit_is_not_made() -> None:
    db = database(4 * MB)
    db.apply("G", numbers(0, 20_000))
    with pytest.raises(MemoryLimitError, match=r"view 'v'.*what is being loaded with"):
        db.create_view("v", HOP2)
    assert not db.views
    db.create_view("few", "SELECT src FROM G WHERE src < 10")
    assert db.views["few"].count() == 10


def test_a_database_above_its_limit_can_be_made_smaller() -> None:
    db = database(None, HOP2)
    db.apply("G", numbers(0, 20_000))
    db._contents.budget.limit = 10_000  # as after a state that was put back, which is not refused
    with pytest.raises(MemoryLimitError):
        db.apply("G", numbers(20_000, 120_000))
    go_on(db, numbers, 20_000, HOP2)


def test_what_is_dropped_counts_no_more() -> None:
    db = database(8 * MB)
    db.apply("G", numbers(0, 10_000))
    gc.disable()
    try:
        for _ in range(8):
            db.create_view("v", HOP2)
            db.drop_view("v")
    finally:
        gc.enable()
    gc.collect()
    stats = db.stats()
    assert stats["memory_bytes"] == stats["table_bytes"] + stats["dictionary_bytes"]


@pytest.mark.parametrize("trusted", [True, False])
def test_a_load_has_a_limit_of_its_own(tmp_path: Path, trusted: bool) -> None:
    db = database(None, HOP2)
    db.apply("G", numbers(0, 12_000))
    stats = db.stats()
    assert stats["memory_limit"] is None
    assert stats["memory_bytes"] == stats["table_bytes"] + stats["dictionary_bytes"] + stats["capacity_bytes"]
    db.save(tmp_path)
    with pytest.raises(MemoryLimitError, match="memory_limit is 2 MB"):
        livejoin.Database.load(tmp_path, trusted=trusted, memory_limit="2MB")
    loaded = livejoin.Database.load(tmp_path, trusted=trusted, memory_limit="40MB")
    assert loaded.stats()["memory_limit"] == 40 * MB
    assert loaded.views["v"].count() == db.views["v"].count()
    with pytest.raises(CapacityError):
        loaded.apply("G", numbers(12_000, 1_000_000))
    loaded._check()


@pytest.mark.parametrize(
    ("given", "size"),
    [("4GB", 4 * 10**9), ("4 gib", 4 << 30), ("1.5KB", 1500), ("700b", 700), (1 << 40, 1 << 40), (np.int64(9), 9)],
)
def test_limits_are_numbers_and_sizes(given: Any, size: int) -> None:
    assert livejoin.Database(memory_limit=given).stats()["memory_limit"] == size


@pytest.mark.parametrize("given", ["", "4", "GB", "-1GB", "4 G", 0, -5, True, 1.5, "0GB", b"4GB", "4GBB"])
def test_limits_that_are_none(given: Any) -> None:
    with pytest.raises(SchemaError, match=r"memory_limit is .*; allowed are numbers of bytes"):
        livejoin.Database(memory_limit=given)


def test_what_helps_fits_what_was_refused() -> None:
    db = livejoin.Database(memory_limit=30_000_000)
    db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)")
    db.create_view("v", "SELECT id, n FROM t")
    rows = 0
    with pytest.raises(MemoryLimitError, match="commit fewer changes at a time, keep fewer rows"):
        for rows in range(0, 1_000_000, 20_000):
            db.apply("t", pa.table({"id": np.arange(rows, rows + 20_000), "n": np.arange(20_000)}))
    with pytest.raises(MemoryLimitError, match="; delete fewer rows at a time, drop views"):
        db.apply("t", pa.table({"id": np.arange(rows), "_change_type": ["delete"] * rows}))
    assert db.tables["t"].count() == rows
    with pytest.raises(MemoryLimitError, match="; close snapshots, read or change fewer rows at a time"):
        db.execute("DELETE FROM t WHERE n >= 0")
    assert db.tables["t"].count() == rows


def test_a_budget_refuses_between_its_begin_and_its_end_alone() -> None:
    class Held:
        nbytes = 100_000

    budget, held = Budget(200_000, lambda: [("all", 100_000)]), Held()
    budget.register(held)
    budget.take(1_000_000, "what is put back")
    budget.begin()
    budget.take(100_000, "what fits")
    with pytest.raises(MemoryLimitError, match="with 100 KB for a test the database would take 200 KB"):
        budget.take(100_001, "a test")
    budget.hold(SLACK - 1, "little by little")
    with pytest.raises(MemoryLimitError, match=r"little by little with 1\.049 MB, all with 100 KB"):
        budget.hold(1, "little by little")
    with budget.holding(50_000, "a while"), pytest.raises(MemoryLimitError, match="a while with 50 KB"):
        budget.take(100_000, "too much beside it")
    with (
        pytest.raises(MemoryLimitError, match="for a while the database would take"),
        budget.holding(100_000, "a while"),
    ):
        pass
    with budget.holding(50_000, "to the end"):
        budget.end()
    budget.hold(SLACK, "nothing")
    assert budget.total == 100_000
    del held
    assert budget.total == 0
    assert [shown_bytes(size) for size in (1, 12_345, 10**16)] == ["1 bytes", "12.35 KB", "1e+04 TB"]
