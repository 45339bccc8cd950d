"""What a Flink job takes from its first change to its last: the time of its tasks, each from when it runs.

To compile a query, to send it to a cluster and to start its tasks takes Flink a second, whatever the number of changes.
None of that is counted, as it is not of the other systems. The cluster says of each task when it began to run and when
it ended; what its thread worked in between is the difference of two readings of the processor time that Linux keeps for
each thread. The compiler and the collector of Java have threads of their own, which are not counted: kind to Flink.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.crown.job import Clock

NAME = 15  # characters that Linux keeps of a thread's name
_PAUSE = 0.004  # seconds from one reading to the next


@dataclass(frozen=True)
class Task:
    """A task of a job: its name, and the times in seconds since 1970 from when it ran and at which it ended."""

    name: str
    running: float
    ended: float


@dataclass
class Thread:
    """A thread: its name, and its processor time in seconds by the times at which it was read, ascending; mutable."""

    name: str
    readings: list[tuple[float, float]] = field(default_factory=list)

    def since(self, moment: float) -> float:
        """Processor time after a moment."""
        before = [used for at, used in self.readings if at <= moment]
        return self.readings[-1][1] - (before[-1] if before else 0.0)


def clock_of(tasks: Iterable[Task], threads: Iterable[Thread]) -> Clock:
    """The time of tasks: that of their threads together, and the span from the first that ran to the last that ended.

    Tasks with one name, as Linux keeps it, count from when the first of them ran. Where threads cannot be read, the
    span stands for both.

    >>> task = Task("Join", 10.0, 12.0)
    >>> clock = clock_of([task], [Thread("Join", [(9.9, 0.5), (11.9, 1.8)]), Thread("other", [(11.0, 7.0)])])
    >>> round(clock.processor, 3), clock.wall
    (1.3, 2.0)
    """
    known = list(tasks)
    began: dict[str, float] = {}
    for task in known:
        name = task.name[:NAME]
        began[name] = min(task.running, began.get(name, task.running))
    clock = Clock()
    clock.wall = max(task.ended for task in known) - min(began.values())
    found = [thread for thread in threads if thread.name in began]
    clock.processor = sum(thread.since(began[thread.name]) for thread in found) if found else clock.wall
    return clock


class Sampler:
    """Reads the processor time of the threads that a process starts while this is open; mutable.

    Args:
        process: The process.
    """

    def __init__(self, process: int) -> None:
        self._folder = Path(f"/proc/{process}/task")
        self._old = set(self._numbers())
        self._known: dict[tuple[str, str], Thread] = {}
        self._done = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Sampler:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._reader.join()

    @property
    def threads(self) -> list[Thread]:
        """The threads that were found."""
        return list(self._known.values())

    def _read(self) -> None:
        while not self._done.wait(_PAUSE):
            self._look()
        self._look()

    def _look(self) -> None:
        for number in self._numbers():
            if number in self._old:
                continue
            try:
                name = (self._folder / number / "comm").read_text().removesuffix("\n")
                used = int((self._folder / number / "schedstat").read_text().split()[0]) / 1e9
            except OSError:  # it has ended
                continue
            thread = self._known.setdefault((number, name), Thread(name))  # numbers are used again
            thread.readings.append((time.time(), used))

    def _numbers(self) -> list[str]:
        return [one.name for one in self._folder.iterdir()] if self._folder.exists() else []
