"""The threads of a database."""

from __future__ import annotations

import gc
import os
import threading
import time

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
    assert len(ended) == 2
    assert workers.run([lambda: 1, lambda: 2]) == [1, 2]


def test_threads_end_with_their_owner() -> None:
    workers = Workers(4)
    workers.run([lambda: time.sleep(0.01)] * 4)
    assert workers._pool is not None
    threads = list(workers._pool._threads)
    assert len(threads) == 3
    del workers
    gc.collect()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def test_a_forked_process_starts_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(2)
    workers.run([lambda: 1, lambda: 2])
    pool = workers._pool
    monkeypatch.setattr(module.os, "getpid", lambda: -os.getppid())
    assert workers.run([lambda: 1, lambda: 2]) == [1, 2]
    assert workers._pool is not pool
