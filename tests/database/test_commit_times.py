"""Whether commits are short is told by the clock, and by the processor's time where the clock is unsure."""

from __future__ import annotations

import pytest

from livejoin.database.commit_times import CommitTimes
from livejoin.database.transactions import python_lock
from livejoin.database.transactions.python_lock import Held


class Clock:
    """A clock that is set by hand, and counts who asks."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return self.now


def test_processor_time_is_asked_for_where_a_commit_was_not_short(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, processor, times = Clock(), Clock(), CommitTimes()
    monkeypatch.setattr(python_lock, "perf_counter", clock)
    monkeypatch.setattr(python_lock, "thread_time", processor)

    def commit(seconds: float, busy: float) -> tuple[float, int]:
        before = processor.asked
        with Held(1, times):
            clock.now += seconds
            processor.now += busy
        return times.busy, processor.asked - before

    assert commit(0.001, 0.001) == (0.001, 0)
    assert commit(0.100, 0.002) == (0.001, 0), "it may have waited: it counts as it was"
    assert commit(0.100, 0.002) == (pytest.approx(0.002), 2), "it has"
    assert commit(0.003, 0.002) == (pytest.approx(0.003), 0)
    assert commit(0.100, 0.100) == (pytest.approx(0.003), 0)
    assert commit(0.100, 0.100) == (pytest.approx(0.1), 2), "it has not: it was long"
    assert commit(0.100, 0.100) == (pytest.approx(0.1), 2)
    assert commit(0.001, 0.001) == (pytest.approx(0.001), 2)
    assert commit(0.001, 0.001) == (pytest.approx(0.001), 0)
