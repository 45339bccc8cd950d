"""DuckDB's sessions: no failure outlives its call, and what a query may take is bounded."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ExpressionError
from livejoin.query import expression
from livejoin.query.expression import evaluate
from livejoin.query.session import EXPRESSIONS, Limits, session
from livejoin.query.time_limit import TimeLimits

TWO = pa.table({"a": [1, 2]})
LATIN1 = pa.array([b"abc", b"M\xfcnchen"]).view(pa.string())


def works() -> bool:
    return evaluate(["a * 2"], TWO)[0].to_pylist() == [2, 4]


def many(rows: int) -> pa.Table:
    return pa.table({"s": pa.repeat("abc", rows), "n": pa.repeat(60_000, rows)})


def test_a_fatal_error_does_not_outlive_its_call() -> None:
    """Behind the border bytes are trusted, and DuckDB's database is lost when it meets others."""
    other = livejoin.Database()
    other.execute("CREATE TABLE T (a BIGINT, s STRING)")
    view = other.create_view("v", "SELECT upper(s) AS s FROM T")
    with pytest.raises(ExpressionError, match=r"'upper\(s\)'"):
        evaluate(["upper(s)"], pa.table({"s": LATIN1}))
    assert works()
    other.apply("T", [(1, "x")])
    assert view.to_arrow().to_pylist() == [{"s": "X"}]


def test_a_session_that_has_failed_fatally_is_not_used_again() -> None:
    with session(EXPRESSIONS) as first:
        first.execute("SELECT 1")
    with pytest.raises(duckdb.ConversionException), session(EXPRESSIONS) as second:
        assert second is first
        second.execute("SELECT CAST('x' AS INT)")
    with pytest.raises(duckdb.Error), session(EXPRESSIONS) as third:
        assert third is first  # a refusal leaves it as it is
        third.from_arrow(pa.table({"s": LATIN1})).project("upper(s)").to_arrow_table()
    with session(EXPRESSIONS) as fourth:
        assert fourth is not first


def test_two_sessions_of_one_thread_do_not_share_a_connection() -> None:
    with session(EXPRESSIONS) as outer, session(EXPRESSIONS) as inner:
        assert outer is not inner


@pytest.mark.parametrize(
    ("limits", "text", "rows"),
    [
        pytest.param(Limits("32MiB", 60.0), "x" * 1000, 1, id="memory of one value"),
        pytest.param(Limits("1GiB", 0.2), "abc", 100_000, id="time"),
    ],
)
def test_limits_of_an_expression(monkeypatch: pytest.MonkeyPatch, limits: Limits, text: str, rows: int) -> None:
    monkeypatch.setattr(expression, "EXPRESSIONS", limits)
    data = pa.table({"s": pa.repeat(text, rows), "n": pa.repeat(60_000, rows)})
    asked = "length(repeat(s, n))" if rows > 1000 else "repeat(s, n)"
    with pytest.raises(ExpressionError, match=rf"{limits.memory} of memory.* or {limits.seconds:g} seconds"):
        evaluate([asked], data)
    assert works()


def test_what_grows_is_evaluated_in_small_steps() -> None:
    """In vectors of 2,048 rows this would take 180 MB; 64 rows at a time it takes 12 MB."""
    lengths = evaluate(["length(repeat(s, n))", "n"], many(1_000))
    assert lengths[0].to_numpy().tolist() == [180_000] * 1_000
    assert len(lengths[1]) == 1_000


def test_large_batches_are_evaluated_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression, "_PIECE_ROWS", 1000)
    monkeypatch.setattr(expression, "_PIECE_BYTES", 1 << 14)
    rows = pa.table({"a": np.arange(12_345), "s": [f"{i}" * (i % 7) for i in range(12_345)]})
    doubled, texts = evaluate(["a * 2", "s || a"], rows)
    assert doubled.to_numpy().tolist() == list(range(0, 2 * 12_345, 2))
    assert texts.to_pylist() == [f"{i}" * (i % 7) + str(i) for i in range(12_345)]
    with pytest.raises(ExpressionError, match=r"\(a = 9999, s"):
        evaluate(["if(a = 9999, error('no'), a)"], rows)


@pytest.mark.parametrize("handler", [signal.default_int_handler, lambda *_: (_ for _ in ()).throw(ValueError())])
def test_an_interrupt_is_no_runtime_error(handler: Callable[..., object]) -> None:
    before = signal.signal(signal.SIGINT, handler)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            evaluate(["length(repeat(s, n))"], many(100_000))
    finally:
        signal.signal(signal.SIGINT, before)
    assert works()


def test_a_time_limit_interrupts_until_the_call_ends() -> None:
    limits, calls = TimeLimits(), threading.Semaphore(0)
    with limits.of(calls.release, 60.0), limits.of(calls.release, 0.05):
        assert calls.acquire(timeout=10)
        assert calls.acquire(timeout=10)
    while calls.acquire(blocking=False):
        pass
    assert not calls.acquire(timeout=0.3)


def test_a_time_limit_after_a_longer_one_and_in_a_fork() -> None:
    limits = TimeLimits()
    with limits.of(lambda: None, 60.0):
        pass
    late = threading.Event()
    with limits.of(late.set, 0.05):
        assert late.wait(10)
    child = os.fork()
    if child == 0:
        inside = threading.Event()
        with limits.of(inside.set, 0.05):
            os._exit(0 if inside.wait(10) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
