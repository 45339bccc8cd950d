"""The threads of a database: kernels run without the GIL, so that tasks of kernels run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """The caller's thread and some others; the others start when they are needed first and end with this object.

    Args:
        threads: How many in all, at least 1.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._futures: list[Future[Any]] = []
        self._process = 0
        self._is_running = False

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run all tasks, the first in the caller's thread; their results in order.

        Whatever a task raises, none runs any more when this returns or raises; of several exceptions that of the first
        task is raised. What a signal raises may come out of the waiting too: then `wait` must be called. Tasks that a
        task wants to run itself are run one after the other in its thread.

        Cost: about 30 microseconds on an idle machine, and the longest task.
        """
        if self.threads == 1 or len(tasks) <= 1 or self._is_running:
            return [task() for task in tasks]
        pool = self._threads()
        self._futures = []
        try:
            self._is_running = True
            for task in tasks[1:]:
                self._futures.append(pool.submit(task))
            first = tasks[0]()
        finally:
            self.wait()
        return [first, *(future.result() for future in self._futures)]

    def wait(self) -> None:
        """Wait until no task runs any more, also one of a call of `run` that was cut off."""
        if self._futures:
            wait(self._futures)
        self._is_running = False

    def _threads(self) -> ThreadPoolExecutor:
        """The other threads; a forked process has none of its parent's."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.threads - 1, "livejoin")
            self._process = os.getpid()
        return self._pool
