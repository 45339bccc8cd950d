"""A commit that fails at any point changes nothing: memory that runs out in any kernel, an error in the last view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.dataflow.blocks import join as join_block
from livejoin.dataflow.blocks import row_source
from livejoin.errors import AbsentRowError, CapacityError, ExpressionError, ReadError
from livejoin.kernels.crown import maintain
from livejoin.kernels.join import records
from livejoin.kernels.memory.layout import H_END
from livejoin.kernels.relation import settling, stage_commit
from livejoin.state import table as table_module
from livejoin.state.arena import Arena
from oracle import multiset, signed_multiset
from strategies import IS_FUZZ

Changes = dict[str, list[dict[str, Any]]]

VIEWS = {
    "hop2": "SELECT A.src AS a, B.src AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "named": "SELECT G.src, P.name, CAST(P.name AS BIGINT) AS number FROM G JOIN P ON G.dst = P.id",
    "wide": "SELECT P.name, G.src, Q.id FROM P JOIN G ON P.id = G.src JOIN P Q ON Q.id = G.dst",
}


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=60)
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    db.create_view("quiet", VIEWS["hop2"], deltas=False)
    db.apply({"P": [(i, str(i)) for i in range(8)], "G": [(i % 8, (i * 3) % 8) for i in range(50)]})
    return db


def changes() -> Changes:
    """Insertions, evictions, deletions and updates, in all tables."""
    inserted = [{"src": i % 11, "dst": i % 7, "_change_type": "insert"} for i in range(30)]
    deleted = [{"src": i % 8, "dst": (i * 3) % 8, "_change_type": "delete"} for i in range(30, 40)]
    people = [{"id": 3, "name": "3", "_change_type": "delete"}, {"id": 3, "name": "33", "_change_type": "insert"}]
    people += [{"id": i, "name": str(i), "_change_type": "insert"} for i in range(8, 12)]
    return {"G": inserted + deleted, "P": people}


def image(db: livejoin.Database) -> dict[str, Any]:
    """All that can be seen of a database."""
    seen: dict[str, Any] = {"version": db.version}
    for name, view in db.views.items():
        stats = view.stats()
        seen[name] = multiset(view.to_arrow()), view.count(), {k: stats[k] for k in ("commits", "changes", "rows")}
    for name, base in db._contents.tables.items():
        rows, weights = base.live_rows()
        seen[f"table {name}"] = dict(zip(map(tuple, base.values_of(rows).T.tolist()), weights.tolist(), strict=True))
    return seen


def assert_fails_cleanly(db: livejoin.Database, error: type[BaseException], failing: Callable[[], object]) -> None:
    """The commit fails, nothing has changed, and the same commit without the failure then does what it always does."""
    before = image(db)
    told: list[pa.Table] = []
    unsubscribe = db.views["hop2"].subscribe(told.append)
    with pytest.raises(error):
        failing()
    unsubscribe()
    assert told == []
    assert image(db) == before
    db._check()
    expected = database()
    found, right = db.apply(changes()), expected.apply(changes())
    assert found.version == right.version == db.version
    for name in right.views:
        assert signed_multiset(found[name]) == signed_multiset(right[name])
    db._check()
    for name, view in expected.views.items():
        assert multiset(db.views[name].to_arrow()) == multiset(view.to_arrow())


class Fuse:
    """Fails in call ``at`` of a function, once."""

    def __init__(self, function: Callable[..., Any], at: int, error: BaseException) -> None:
        self.function = function
        self.at = at
        self.error = error
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        return lambda *args, **kwargs: self(instance, *args, **kwargs)


def grow_by_little(arena: Arena) -> None:
    size = arena.words.shape[0]
    arena.words = np.concatenate([arena.words, np.zeros(8, np.int64)])
    arena.words[H_END] = size + 8


@pytest.mark.parametrize("error", [CapacityError("full"), MemoryError()])
def test_memory_runs_out_wherever_an_arena_grows(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Arenas that grow by 8 words have dozens of places where they can fail, in every view and phase."""
    monkeypatch.setattr(Arena, "grow", grow_by_little)
    db = database()
    counting = Fuse(grow_by_little, -1, error)
    with monkeypatch.context() as patched:
        patched.setattr(Arena, "grow", counting)
        db.apply(changes())
    assert counting.calls > 20
    for at in {1, counting.calls, *range(2, counting.calls, counting.calls // (9 if IS_FUZZ else 4))}:
        db = database()
        with monkeypatch.context() as patched:
            patched.setattr(Arena, "grow", Fuse(grow_by_little, at, error))

            def failing(db: livejoin.Database = db) -> None:
                db.apply(changes())

            assert_fails_cleanly(db, type(error), failing)


FAILURES = [
    (records, "load", KeyboardInterrupt),
    (maintain, "maintain", KeyboardInterrupt),
    (maintain, "maintain", MemoryError),
    (stage_commit, "stage_commit", MemoryError),
    (settling, "net_events", MemoryError),
    (row_source, "view_events", MemoryError),
    (join_block, "net_pieces", MemoryError),
    (join_block, "net_pieces", ExpressionError),
    (join_block, "ChunkRows", ExpressionError),
    (table_module.BaseTable, "_result", MemoryError),
    (table_module, "roomy", MemoryError),
]


@pytest.mark.parametrize(("owner", "name", "error"), FAILURES, ids=lambda value: getattr(value, "__name__", value))
def test_any_step_may_fail(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: type[BaseException]) -> None:
    function = getattr(owner, name)
    for at in range(1, 4):
        db = database()
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, Fuse(function, at, error("it fails here")))
            before = image(db)
            failed = False
            try:
                db.apply(changes())
            except error:
                failed = True
        assert failed or at > 1
        if failed:
            assert image(db) == before
            db._check()
            assert_fails_cleanly(db, AbsentRowError, lambda db=db: db.apply("G", [absent()]))


def absent() -> dict[str, Any]:
    return {"src": -1, "dst": -1, "_change_type": "delete"}


def test_memory_that_stays_short_leaves_a_view_that_loads_when_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even the old state can be built again, no wrong result is read: reading fails, and works later."""
    db = database()
    before = image(db)

    def no_memory(arena: Arena) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Arena, "grow", no_memory)
        patched.setattr(join_block, "ChunkRows", Fuse(join_block.ChunkRows, 1, MemoryError()))
        for _ in range(2):
            with pytest.raises(MemoryError):
                db.apply(changes())
        with pytest.raises(MemoryError):
            db.views["hop2"].to_arrow()
        with pytest.raises(MemoryError):
            db.views["hop2"].count()
    assert image(db) == before
    assert_fails_cleanly(db, AbsentRowError, lambda: db.apply("G", [absent()]))


def test_batches_that_are_read_over_a_failed_commit_are_stopped() -> None:
    db = database()
    batches = db.views["named"].batches(max_rows=1)
    next(batches)
    with pytest.raises(ExpressionError):
        db.apply({"P": [(100, "not a number")], "G": [(3, 100)]})
    with pytest.raises(ReadError, match="changed while it was read"):
        list(batches)
    assert len(list(db.views["named"].batches(max_rows=1))) == db.views["named"].count()


def test_an_expression_fails_in_the_second_view_of_a_commit_over_two_tables() -> None:
    db = database()

    def failing() -> None:
        db.apply({"P": [(100, "not a number")], "G": [(3, 100), (1, 1)]})

    assert_fails_cleanly(db, ExpressionError, failing)


def test_a_failed_commit_over_a_window_gives_the_evicted_rows_back() -> None:
    """Their order too: the next rows to leave are the same."""
    db, twin = (windowed() for _ in range(2))
    with pytest.raises(ExpressionError):
        db.apply("G", [(9, "9")] * 4 + [(7, "seven")])
    for row in range(20, 26):
        deltas = [signed_multiset(d.apply("G", [(row, str(row))])["v"]) for d in (db, twin)]
        assert deltas[0] == deltas[1]
        assert len(deltas[0]) == 2
    db._check()


def windowed() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "a BIGINT, s STRING", window_rows=5)
    db.create_view("v", "SELECT a, CAST(s AS BIGINT) AS n FROM G")
    db.apply("G", [(i, str(i)) for i in range(7)])
    db.apply("G", [{"a": 4, "s": "4", "_change_type": "delete"}, {"a": 8, "s": "8", "_change_type": "insert"}])
    return db


def test_batches_larger_than_memory_are_not_allocated() -> None:
    db = database()
    view = db.views["hop2"]
    (batch,) = view.batches(max_rows=10**15)
    assert batch.num_rows == view.count()


@pytest.mark.nojit
def test_what_a_commit_says() -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT")
    db.create_view("V", "SELECT src FROM G")
    db.create_view("quiet", "SELECT src FROM G", deltas=False)
    commit = db.apply("G", [(1,), (2,)])
    assert (commit.version, commit.changes, commit.ignored, commit.views) == (1, 2, 0, ("V",))
    assert commit["v"].num_rows == commit["V"].num_rows == 2
    assert repr(commit) == "Commit(version=1, changes=2, V: 2 delta rows)"
    with pytest.raises(ReadError, match=r"'QUIET'.*deltas=False"):
        commit["QUIET"]
    with pytest.raises(ReadError, match=r"'other'.*it has V"):
        commit["other"]
    commit = db.apply("G", [{"src": 5, "_change_type": "delete"}], on_conflict="ignore")
    assert (commit.version, commit.changes, commit.ignored) == (2, 0, 1)
    assert repr(commit) == "Commit(version=2, changes=0)"
    assert commit["V"].num_rows == 0


@pytest.mark.nojit
def test_a_commit_keeps_its_deltas() -> None:
    """What later commits do to the database, to its dictionaries and to the view itself does not reach them."""
    db = livejoin.Database()
    db.create_table("G", "s STRING")
    db.create_view("v", "SELECT s FROM G")
    first = db.apply("G", [("a",), ("b",)])
    db.apply("G", [{"s": s, "_change_type": "delete"} for s in "ab"] + [{"s": "c", "_change_type": "insert"}])
    db.drop_view("v")
    assert sorted(first["v"]["s"].to_pylist()) == ["a", "b"]
    assert first["v"]["_commit_version"].to_pylist() == [1, 1]
