"""The threads of a database: kernels run without the GIL, so that tasks of kernels run side by side.

An exception of a signal may come out of any line of the caller's thread, also between handing a task over and knowing
that. So what is handed over is noted before, and who takes a task first, a thread or the caller that gives it up, is
decided by one call of C. Nothing here is `threading`, whose own locks such an exception can leave taken.
"""

from __future__ import annotations

import os
import weakref
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_LOOK_AGAIN = 1.0  # seconds: what wakes who waits may have been taken by a call that was cut off


class Workers:
    """The caller's thread and some others; the others start when they are needed first and end with this object.

    Args:
        threads: How many in all, at least 1.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._jobs: Sequence[_Job] = ()
        self._queue: SimpleQueue[_Job | None] | None = None
        self._started: list[int] = []
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
        queue = self._others()
        self._jobs = jobs = [_Job(task) for task in tasks[1:]]
        try:
            self._is_running = True
            for job in jobs:
                queue.put(job)
            first = tasks[0]()
            for job in jobs:
                job.wait()
        finally:
            self.wait()
        return [first, *(job.result() for job in jobs)]

    def wait(self) -> None:
        """Wait until no task runs any more, also of a call of `run` that was cut off; what has not begun never does."""
        for job in self._jobs:
            job.give_up()
        self._jobs = ()
        self._is_running = False

    def _others(self) -> SimpleQueue[_Job | None]:
        """Where the other threads look for tasks; a forked process has none of its parent's threads."""
        if self._queue is None or self._process != os.getpid():
            queue: SimpleQueue[_Job | None] = SimpleQueue()
            weakref.finalize(self, _end, queue, self.threads)
            self._started, self._process, self._queue = [], os.getpid(), queue
        while len(self._started) < self.threads - 1:
            self._started.append(start_new_thread(_serve, (self._queue,)))
        return self._queue


class _Job:
    """A task that another thread may take."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self._task = task
        self._claims: list[bool] = []  # whether it is a thread that wants it, in order: the first one has it
        self._ended = False
        self._wakes = allocate_lock()
        self._wakes.acquire()
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Run the task in another thread, unless it was given up."""
        self._claims.append(True)
        if self._claims[0]:
            try:
                self._value = self._task()
            except BaseException as error:
                self._error = error
        self._ended = True
        self._wakes.release()

    def wait(self) -> None:
        """Wait for its end."""
        while not self._ended:
            self._wakes.acquire(timeout=_LOOK_AGAIN)

    def give_up(self) -> None:
        """Let no thread begin it, or wait for its end; may be cut off and called again."""
        self._claims.append(False)
        if self._claims[0]:
            self.wait()

    def result(self) -> Any:
        """What the task gave; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._value


def _serve(queue: SimpleQueue[_Job | None]) -> None:
    """Take tasks until there are none any more."""
    while (job := queue.get()) is not None:
        job.run()
        del job  # which holds what its task holds


def _end(queue: SimpleQueue[_Job | None], threads: int) -> None:
    """Let the threads that look for tasks end."""
    for _ in range(threads):
        queue.put(None)
