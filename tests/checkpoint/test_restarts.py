"""An engine that is stopped anywhere goes on with the state that it had, and tells each delta as it was."""

from __future__ import annotations

import logging
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import Stream, job

from livejoin.checkpoint import pace
from livejoin.checkpoint.engine import open_engine
from livejoin.checkpoint.history import History
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.policy import Policy
from livejoin.database.snapshots.tables import Limits
from livejoin.errors import AbsentRowError, ExpressionError, LivejoinError, MemoryLimitError, SchemaError, StateError
from livejoin.schema import Table
from strategies import EXAMPLES, FUZZ

TABLES = {"G": "src BIGINT, dst BIGINT", "N": "k BIGINT PRIMARY KEY, name STRING"}
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "named": "SELECT N.name, COUNT(*) AS n FROM G JOIN N ON G.src = N.k GROUP BY N.name",
    "total": "SELECT COUNT(*) AS n, SUM(dst) AS s FROM G",
    "busy": "SELECT name FROM named WHERE n > 1",
}
NODE = st.integers(0, 4)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "G": st.lists(st.tuples(NODE, NODE), min_size=1, max_size=6),
        "N": st.lists(
            st.tuples(NODE, st.sampled_from(["x", "y", None, "ä" * 40]), st.sampled_from(["upsert", "delete"])),
            min_size=1,
            max_size=4,
        ),
    },
)
STOPS = st.sampled_from(["never", "taken", "applied", "done"])


@settings(FUZZ, max_examples=max(2, EXAMPLES // 4))
@given(st.lists(st.tuples(CHANGES, STOPS, st.booleans()), max_size=8))
def test_stops_at_any_step(tmp_path_factory: pytest.TempPathFactory, batches: list[Any]) -> None:
    """What is lost is nothing: an engine that runs through and one that is stopped tell the same."""
    folder = tmp_path_factory.mktemp("restarts")
    declared = job(TABLES, VIEWS)
    through, stopped = Stream(folder / "a"), Stream(folder / "b")
    through.open(declared)
    stopped.open(declared)
    for number, (brought, stop, wants_snapshot) in enumerate(batches):
        changes = brought
        through.run(number, changes)
        if stop in ("taken", "applied"):
            batch = stopped.take(number, changes)
            if stop == "applied":
                stopped.deliver(number, batch)
            changes = {name: list(reversed(rows)) for name, rows in changes.items()}  # as Spark reads them again
            stopped.open(declared)
        stopped.run(number, changes)
        assert stopped.engine is not None
        if wants_snapshot:
            stopped.engine.snapshot()
        if stop == "done":
            stopped.open(declared)
            stopped.run(number, changes)  # it is done, and skipped
        stopped.engine.database._check()
        for view in VIEWS:
            assert stopped.sum(view) == through.sum(view) == through.held(view) == stopped.held(view)
            assert stopped.output.get(view) == through.output.get(view)
    through.stop()
    stopped.stop()
    shutil.rmtree(folder)


def test_a_window_after_a_restart_is_the_one_that_was(tmp_path: Path) -> None:
    """The rows of a batch come again in another order, and the log has the one that counts."""
    declared = job({"W": "a BIGINT"}, {"v": "SELECT a FROM W"}, W={"window_rows": 2})
    stream = Stream(tmp_path)
    stream.open(declared)
    stream.run(0, {"W": [(1,), (2,), (3,)]})
    stream.take(1, {"W": [(4,), (5,), (6,)]})
    stream.open(declared)
    stream.run(1, {"W": [(6,), (5,), (4,)]})
    assert stream.sum("v") == Counter({(5,): 1, (6,): 1})


def test_what_an_aggregate_holds_at_first_is_told(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.open(job({"T": "a BIGINT"}, {"n": "SELECT COUNT(*) AS n FROM T", "v": "SELECT a FROM T"}))
    stream.run(0, {})
    assert (stream.output["n"], stream.output["v"]) == ({0: Counter({(0,): 1})}, {})
    stream.run(1, {"T": [(7,)]})
    assert stream.output["n"][1] == Counter({(1,): 1, (0,): -1})


def test_snapshots_come_by_size_and_two_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LEAST", 1)
    stream = Stream(tmp_path)
    engine = stream.open(job(TABLES, VIEWS))
    written = []
    for number in range(60):
        stream.run(number, {"G": [(number % 7, number % 5)] * 8 + [(number, number)] * 8})
        engine.history.snapshots.wait()
        written.append(engine.written.snapshot)
    snapshots = [number for number in dict.fromkeys(written) if number is not None]
    assert len(snapshots) > 3
    assert engine.history.snapshots.numbers() == snapshots[-2:]
    assert engine.history.log.batches() == list(range(snapshots[-2] + 1, 60))
    assert engine.history.log.done() == list(range(snapshots[-2] + 1, 60))
    # The log is written once, and a snapshot when the log behind the one before has come to be as large.
    assert engine.written.log + engine.written.snapshots <= 2 * engine.written.log
    assert stream.open(job(TABLES, VIEWS)).recovered.batches == 59 - snapshots[-1]
    assert stream.held("hop2") == stream.sum("hop2")


def test_a_limit_on_the_time_of_a_recovery(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    engine = stream.open(job(TABLES, VIEWS), recovery_seconds=0.0)
    stream.run(0, {"G": [(1, 2)]})
    assert engine.written.snapshot == 0
    engine.history.snapshots.wait()
    assert engine.history.snapshots.numbers() == [0]


def test_a_batch_that_is_refused_leaves_the_log(tmp_path: Path) -> None:
    declared = job({"T": "a BIGINT"}, {"v": "SELECT 1 / a AS x FROM T"})
    stream = Stream(tmp_path)
    engine = stream.open(declared)
    stream.run(0, {"T": [(1,)]})
    with pytest.raises(ExpressionError):
        stream.run(1, {"T": [(2,), (0,)]})
    assert engine.history.log.batches() == [0]
    stream.open(declared)
    stream.run(1, {"T": [(2,)]})
    assert stream.sum("v") == Counter({(1.0,): 1, (0.5,): 1})


def test_a_batch_over_the_limit_comes_again_under_another_one(tmp_path: Path) -> None:
    declared = job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"})
    rows = [(number,) for number in range(20_000)]
    stream = Stream(tmp_path)
    stream.open(declared, limits=Limits(memory_limit=400_000))
    with pytest.raises(MemoryLimitError):
        stream.run(0, {"T": rows})
    stream.open(declared)
    stream.run(0, {"T": rows})
    with pytest.raises(MemoryLimitError):
        stream.open(declared, limits=Limits(memory_limit=400_000))
    assert sum(stream.sum("v").values()) == len(rows)


def test_the_one_that_opened_last_owns_it(tmp_path: Path) -> None:
    """Two processes on a disk without locks: the first one stops before it delivers anything more."""
    declared = job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"})
    first, second = Stream(tmp_path), Stream(tmp_path)
    first.open(declared)
    first.run(0, {"T": [(1,)]})
    second.open(declared)
    with pytest.raises(StateError, match=r"another query has opened it since \(epoch 2, ours is 1\)"):
        first.run(1, {"T": [(2,)]})
    second.run(1, {"T": [(3,)]})
    assert second.held("v") == Counter({(1,): 1, (3,): 1})
    first.stop()
    second.stop()


def test_of_two_that_bring_a_batch_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"})
    first, second = Stream(tmp_path), Stream(tmp_path)
    first.open(declared)
    second.open(declared)
    assert first.engine is not None
    first.engine.history.log.epoch = 99  # it looked before the second one opened
    second.run(0, {"T": [(3,)]})
    with pytest.raises(StateError, match=r"another query has written 00000000\.batch"):
        first.run(0, {"T": [(2,)]})
    assert first.output == {}


def test_batches_that_do_not_follow_are_refused(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    engine = stream.open(job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"}))
    with pytest.raises(StateError, match=r"Spark runs batch 1, .* has no state yet"):
        engine.is_new(1)
    stream.run(0, {})
    assert not engine.is_new(0)
    with pytest.raises(StateError, match=r"Spark runs batch 3, .* holds the batches up to 0"):
        engine.is_new(3)


def test_a_view_that_does_not_bind_leaves_the_checkpoint_free(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    declared = job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"})
    stream = Stream(tmp_path)
    stream.open(declared)
    stream.run(0, {"T": [(0,)]})
    with pytest.raises(LivejoinError):
        open_engine(job({"T": "a BIGINT"}, {"v": "SELECT 1 / a AS x FROM T"}), tmp_path)
    with caplog.at_level(logging.INFO, "livejoin"):
        stream.open(declared)
    assert "row behind batch 0 came back in" in caplog.text
    assert "1 batch with 1 change applied again" in caplog.text
    assert stream.held("v") == Counter({(0,): 1})


BAD = {"T": "a BIGINT, b STRING", "K": "k BIGINT PRIMARY KEY, n BIGINT"}
FAILING = {"v": "SELECT 10 / a AS x, b FROM T", "j": "SELECT b, 1 / (a + n) AS y FROM T JOIN K ON a = k"}


def bad_batch(dice: random.Random, count: int) -> dict[str, list[Any]]:
    return {
        "T": [
            (dice.choice([0, 1, 2, 3, -1]), dice.choice("pq"), dice.choice(["insert", "insert", "delete"]))
            for _ in range(count)
        ],
        "K": [(dice.choice([1, 2, None]), dice.randrange(-3, 3), "upsert") for _ in range(2)],
    }


@pytest.mark.parametrize("seed", range(4))
def test_what_cannot_be_applied_goes_to_dead_letters(tmp_path: Path, seed: int) -> None:
    """All else is applied, and the log has what was: a restart gives the same deltas and the same letters."""
    dice = random.Random(seed)
    declared, policy = job(BAD, FAILING), Policy("dead_letter", "dead_letter")
    stream = Stream(tmp_path)
    stream.open(declared, policy=policy)
    held: Counter[Any] = Counter()
    keyed: dict[int, int] = {}
    posted = 0
    for number in range(6):
        changes = bad_batch(dice, 12)
        batch = stream.take(number, changes)
        stream.deliver(number, batch)
        assert stream.engine is not None
        first = stream.engine.pending
        assert first is not None
        told = {view: parts.get(number) for view, parts in stream.output.items()}
        stream.open(declared, policy=policy)
        stream.run(number, {})
        assert told == {view: parts.get(number) for view, parts in stream.output.items()}
        assert stream.engine.database.version == number + 1
        # What was applied and what is in the letters is what came, and what was applied is what is there.
        letters = first.letters["T"].to_pylist() if "T" in first.letters else []
        applied = first.changes["T"].to_pylist() if "T" in first.changes else []
        assert all(letter.pop("_reason") for letter in letters)
        posted += len(letters)
        came = Counter(changes["T"])
        assert came == Counter(tuple(row.values()) for row in letters) + Counter(tuple(row.values()) for row in applied)
        for row in applied:
            held[row["a"], row["b"]] += 1 if row["_change_type"] == "insert" else -1
        assert min(held.values(), default=0) >= 0
        for row in first.changes["K"].to_pylist() if "K" in first.changes else ():
            keyed[row["k"]] = row["n"]
        assert (0, "p") not in +held
        joined = [(b, 1 / (a + keyed[a])) for (a, b), times in held.items() for _ in range(times) if a in keyed]
        assert stream.held("j") == Counter(joined)
        assert stream.sum("v") == Counter((10 / a, b) for (a, b), times in held.items() for _ in range(times))
    assert posted > 5


def test_bad_changes_are_skipped_or_end_the_stream(tmp_path: Path) -> None:
    declared = job(BAD, FAILING)
    stream = Stream(tmp_path)
    gone, zero, good = (9, "x", "delete"), (0, "x", "insert"), (1, "x", "insert")
    engine = stream.open(declared, policy=Policy("skip", "skip"))
    stream.run(0, {"T": [gone, zero, good]})
    assert stream.sum("v") == Counter({(10.0, "x"): 1})
    engine = stream.open(declared, policy=Policy("fail", "skip"))
    with pytest.raises(AbsentRowError):
        stream.run(1, {"T": [gone, good]})
    engine = stream.open(declared, policy=Policy("skip", "fail"))
    with pytest.raises(ExpressionError, match="by zero"):
        stream.run(1, {"T": [zero, good]})
    engine = stream.open(declared, policy=Policy("dead_letter", "dead_letter", most=2))
    with pytest.raises(ExpressionError) as caught:
        stream.run(1, {"T": [zero, good, zero, zero]})
    assert caught.value.__notes__[-1] == "it is one of more than 2 changes of this batch that are refused"
    assert engine.history.log.batches() == [0]
    stream.run(1, {"T": [zero, good, zero]})
    assert stream.sum("v") == Counter({(10.0, "x"): 2})
    for wrong in ({"on_conflict": "ignore"}, {"on_bad_rows": None}, {"most": -1}):
        with pytest.raises(SchemaError):
            Policy(**wrong)  # type: ignore[arg-type]


def test_static_tables_are_filled_before_the_views(tmp_path: Path) -> None:
    """A restart, from the log or from a snapshot, has what was there; a static table may come later."""
    tables = {"G": "src BIGINT, dst BIGINT", "N": "k BIGINT PRIMARY KEY, name STRING"}
    views = {"v": "SELECT name, dst FROM G JOIN N ON src = k"}
    asked: list[str] = []

    def rows_of(table: Table) -> pa.Table:
        asked.append(table.name)
        return pa.table([pa.array([1, 2]), pa.array(["one", "two"])], schema=table.arrow)

    declared = job(tables, views, N={"static": True})
    stream = Stream(tmp_path)
    stream.open(declared, rows_of=rows_of)
    stream.run(0, {"G": [(1, 7), (3, 8)]})
    engine = stream.open(declared, rows_of=rows_of)
    assert stream.held("v") == stream.sum("v") == Counter({("one", 7): 1})
    engine.snapshot()
    stream.open(declared, rows_of=rows_of)
    stream.run(1, {"G": [(2, 9)]})
    assert stream.held("v") == stream.sum("v") == Counter({("one", 7): 1, ("two", 9): 1})
    assert asked == ["N"] * 3, "once a start"
    more = {**tables, "M": "k BIGINT PRIMARY KEY, name STRING"}
    static = {"N": {"static": True}, "M": {"static": True}}
    both = job(more, {**views, "w": "SELECT M.name FROM G JOIN M ON dst = k + 6"}, **static)
    for number in (2, 3):
        stream.open(both, rows_of=rows_of)
        stream.run(number, {"G": [(5, 8)]})
        assert stream.held("w") == stream.sum("w") == Counter({("one",): 1, ("two",): number})
    assert sorted(asked) == ["M"] * 2 + ["N"] * 5
    (file,) = (tmp_path / "static").glob("M*")
    file.unlink()
    stream.stop()
    with pytest.raises(StateError, match="the rows of a static table, is missing"):
        History(tmp_path, is_owner=False).recover(Job({}, {}, {}), Limits())
    with pytest.raises(StateError, match="the rows of a static table, is missing"):
        stream.open(both, rows_of=rows_of)  # those of today may be others than those that the batches came to
