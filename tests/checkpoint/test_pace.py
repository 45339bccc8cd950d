"""Log and snapshots together are in proportion to the changes, whatever comes and for however long."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import Stream, job

from livejoin import seldom
from livejoin.checkpoint import pace
from livejoin.checkpoint.pace import LEAST, MOST_BATCHES, SnapshotPace
from livejoin.checkpoint.policy import Policy

SIZES = st.integers(0, 5) | st.integers(1000, 400_000) | st.integers(LEAST // 2, 8 * LEAST)


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[int, bool, int, bool]]:
    """Bytes of a batch, whether changes of it are refused, bytes of the tables, whether a snapshot is being written."""
    one = st.tuples(SIZES, st.booleans(), SIZES, st.booleans())
    few = draw(st.lists(one, max_size=30))
    return few * draw(st.integers(1, 40))


@given(batches(), st.sampled_from([0, 5, 3 * LEAST]))
@settings(deadline=None)
def test_all_that_is_written_is_at_most_three_times_the_changes(
    run: list[tuple[int, bool, int, bool]], found: int
) -> None:
    """``found`` is what the log has at the start, paid for by another run, whose part of the law it is."""
    kept = SnapshotPace(log=found)
    changes = log = snapshots = 0
    behind = found
    is_refused = False
    for size, refused, tables, busy in run:
        changes += size
        log += size
        kept.logged(size)
        if refused:
            is_refused = True
            kept.withdrawn(size)
            log += size - size // 10
            kept.logged(size - size // 10)
        behind += size - size // 10 if refused else size
        kept.done(1e9)
        assert kept.log == behind
        if not busy and kept.is_due(tables):
            snapshots += tables
            behind = 0
            kept.begun()
        assert snapshots <= found + changes, "a snapshot is paid for by the log behind the one before"
        assert log + snapshots <= found + (3 if is_refused else 2) * changes
        assert busy or kept.log < max(tables, LEAST), "what a restart applies again is not more than the tables"
        many = not busy and kept.batches >= MOST_BATCHES
        assert not many or kept.log < tables, "batches are many only where the tables are larger than all of them"


@given(st.floats(0, 10), st.lists(st.floats(0, 3), min_size=1))
@settings(deadline=None)
def test_a_limit_on_the_time_of_a_recovery_is_kept(limit: float, seconds: list[float]) -> None:
    kept = SnapshotPace(limit)
    since = 0.0
    for one in seconds:
        kept.done(one)
        since += one
        assert kept.is_due(1 << 40) == (since > limit)
        if since > limit:
            kept.begun()
            since = 0.0


def test_a_batch_that_comes_back_without_refused_changes_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine counts what the log holds, and what snapshots have on disk is what it takes them for."""
    monkeypatch.setattr(pace, "LEAST", 1 << 40)
    stream = Stream(tmp_path)
    declared = job({"T": "a BIGINT, b STRING"}, {"v": "SELECT 1 / a AS x, b FROM T"})
    engine = stream.open(declared, policy=Policy(on_bad_rows="skip"))
    for number in range(6):
        rows = [(n % (3 + number % 2 * 97), f"{number} {n}") for n in range(1, 100)]
        stream.run(number, {"T": rows})
        held = sum(file.stat().st_size for file in (tmp_path / "log").glob("*.batch"))
        assert engine.pace.log == held < engine.written.log
    engine.snapshot()
    assert engine.pace.log == 0
    engine.history.snapshots.wait()
    on_disk = sum(file.stat().st_size for file in (tmp_path / "snapshots").rglob("*") if file.is_file())
    assert on_disk <= engine.written.snapshots + 50_000
    stream.take(6, {"T": [(1, "x")]})
    engine = stream.open(declared)
    assert engine.pace.log == engine._pending_bytes == (tmp_path / "log" / "00000006.batch").stat().st_size


def test_small_batches_are_not_applied_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However old a query is, a start applies as few of them."""
    monkeypatch.setattr(pace, "MOST_BATCHES", 10)
    stream = Stream(tmp_path)
    declared = job({"T": "a BIGINT PRIMARY KEY"}, {"v": "SELECT COUNT(*) AS n FROM T"})
    stream.open(declared)
    for number in range(40):
        stream.run(number, {"T": [(number % 3, "upsert")]})
        if number % 7 == 6:
            engine = stream.open(declared)
            assert engine.pace.batches == engine.recovered.batches <= 20, "one snapshot may still be written"
    assert stream.held("v") == {(3,): 1}


def test_a_warning_is_not_said_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    declared = job({"T": "a BIGINT"}, {"v": "SELECT a FROM T"})
    stream = Stream(tmp_path)
    engine = stream.open(declared)
    (tmp_path / "snapshots").write_text("no folder")

    def tried() -> int:
        for _ in range(3):
            stream.run(0 if engine.last_batch is None else engine.last_batch + 1, {"T": [(1,)]})
            engine.snapshot()
            engine.history.snapshots.wait()
        return sum("no snapshot of the checkpoint was written" in record.message for record in caplog.records)

    with monkeypatch.context() as patched:
        patched.setattr(seldom, "QUIET", float("inf"))
        assert tried() == 1
        patched.setattr(seldom, "QUIET", 0.0)
        assert tried() == 4
    (tmp_path / "snapshots").unlink()
