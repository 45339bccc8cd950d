"""Kernels let go of Python's lock, but not for a thread that keeps it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

from livejoin.kernels.compiling.linking import KernelCompiler
from livejoin.kernels.compiling.python_lock import give_back, keep

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT),  # type: ignore[attr-defined]
    reason="kernels are plain Python",
)


@pytest.fixture(scope="module")
def long() -> Any:
    """A kernel that runs for a while."""

    @numba.njit(pipeline_class=KernelCompiler, boundscheck=False, nogil=True)
    def added(array: Any, times: int) -> int:
        total = 0
        for i in range(times):
            for one in array:
                total += one * i & 7
        return total

    added(np.arange(3), 1)
    return added


@pytest.fixture
def counted() -> Iterator[list[int]]:
    """What another thread counts, while it has Python's lock."""
    count, done = [0], threading.Event()

    def spin() -> None:
        while not done.is_set():
            count[0] += 1

    spinning = threading.Thread(target=spin)
    spinning.start()
    yield count
    give_back()
    done.set()
    spinning.join()


def counts(kernel: Any, count: list[int], interval: float) -> int:
    """How far the other thread counts while a kernel runs; the least of three times, as it may have waited before."""
    numbers, found, before = np.arange(1000), [], sys.getswitchinterval()
    for _ in range(3):
        sys.setswitchinterval(interval)
        begin = count[0]
        kernel(numbers, 50_000)
        found.append(count[0] - begin)
        sys.setswitchinterval(before)
    return min(found)


def test_another_thread_runs_beside_a_kernel(long: Any, counted: list[int]) -> None:
    assert counts(long, counted, 0.001) > 0


def test_no_other_thread_runs_beside_a_kernel_whose_thread_keeps_the_lock(long: Any, counted: list[int]) -> None:
    keep()
    assert counts(long, counted, 0.5) == 0


def test_what_another_thread_keeps_is_not_kept_here(long: Any, counted: list[int]) -> None:
    keeping = threading.Thread(target=keep)
    keeping.start()
    keeping.join()
    assert counts(long, counted, 0.001) > 0
