"""The threads of a database."""

from __future__ import annotations

import _thread
import gc
import os
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from livejoin.families.cells import workers as module
from livejoin.families.cells.workers import Workers

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_are_in_order(threads: int) -> None:
    workers = Workers(threads)
    for number in (9, 1, 0):
        assert workers.run([lambda i=i: i * i for i in range(number)]) == [i * i for i in range(number)]


def test_tasks_run_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=30)
    names = Workers(3).run([lambda: (barrier.wait(), threading.current_thread().name)[1]] * 3)
    assert len(set(names)) == 3
    assert names[0] == threading.current_thread().name


@pytest.mark.parametrize("failing", [0, 1])
def test_no_task_runs_after_a_failure_was_raised(failing: int) -> None:
    ended: list[int] = []

    def task(number: int) -> None:
        if number == failing:
            raise MemoryError
        time.sleep(0.05)
        ended.append(number)

    workers = Workers(3)
    with pytest.raises(MemoryError):
        workers.run([lambda i=i: task(i) for i in range(3)])
    before = len(ended)
    time.sleep(0.1)
    assert before == len(ended) <= 2
    assert workers.run([lambda: 1, lambda: 2]) == [1, 2]


def test_threads_end_with_their_owner() -> None:
    gc.collect()
    time.sleep(0.1)  # for those of other tests to end
    workers, here = Workers(4), _thread._count()
    workers.run([lambda: time.sleep(0.01)] * 4)
    assert _thread._count() == here + 3
    del workers
    gc.collect()
    end = time.monotonic() + 30
    while _thread._count() > here and time.monotonic() < end:
        time.sleep(0.01)
    assert _thread._count() == here


def test_a_forked_process_starts_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(2)
    workers.run([lambda: 1, lambda: 2])
    queue = workers._queue
    monkeypatch.setattr(module.os, "getpid", lambda: -os.getppid())
    assert workers.run([lambda: 1, lambda: 2]) == [1, 2]
    assert workers._queue is not queue


def test_what_is_cut_off_while_it_is_handed_over_never_runs_afterwards() -> None:
    """An interrupt at any line of `run`: behind `wait` no task is running, and none begins any more."""
    ran: list[int] = []

    def task(number: int) -> None:
        time.sleep(0.0005)
        ran.append(number)

    for place in range(60):
        workers = Workers(3)
        workers.run([lambda: 1, lambda: 2])
        seen = 0

        def trace(frame: FrameType, event: str, arg: object, at: int = place) -> Any:
            nonlocal seen
            if frame.f_code.co_filename != module.__file__:
                return None
            if event == "line" and threading.current_thread() is threading.main_thread():
                seen += 1
                if seen == at:
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            with suppress(KeyboardInterrupt):
                workers.run([lambda i=i: task(i) for i in range(4)])
        finally:
            sys.settrace(None)
        workers.wait()
        before = len(ran)
        time.sleep(0.004)
        assert len(ran) == before, place
        assert workers.run([lambda: 3, lambda: 4]) == [3, 4]
    assert seen < 60, "every line was cut off at"
