"""Readers in front of a database's lock, and the commits that they let by.

Calls that commit go first: a reader that comes while a commit waits for the lock lets it by, or readers that read one
after the other would leave no gap for it. It waits at the *gate* of this commit, which is a lock of its own, so that
the next commit never waits for readers that are still on their way through the gate of the one before. Readers form a
queue of their own, and only the first of them waits for the lock: a commit never has more than one before it.

A thread that commits again and again would never let a reader in: a reader that wakes up behind a lock needs Python's
lock first, which the next commit has by then. So a commit before which nobody has read since the last one began waits
until one of those in *line* has read. Who comes while a commit runs or waits stands behind those in line.
"""

from __future__ import annotations

from _thread import LockType, RLock, allocate_lock
from collections import deque
from contextlib import suppress
from typing import TypeAlias

Gate: TypeAlias = tuple[RLock, list[LockType]]
"""A gate, and a lock at most, for which its commit waits until a reader has released it."""

_TURN = 0.01  # seconds for which a commit waits for a reader at most: the system may not let that one run


class Line:
    """The readers of a database that wait for its lock or have it; mutable.

    Attributes:
        gate: A lock of the call that began to commit last, held until it has ended, and what one reader gives back
            that reads before it; readers go through the gate if there is no such thing.
        readers: A lock of each reader that waits or reads, held by it, the one that came first in front.
        queue: Held by the reader that waits for the database's lock or has it.
    """

    def __init__(self) -> None:
        self.gate: Gate = RLock(), []
        self.readers: deque[RLock] = deque()
        self.queue = RLock()
        self._reads = 0
        self._reads_before = -1  # at the beginning of the commit before

    def stand(self, reader: RLock) -> None:
        """Put a reader, by a lock that it holds, into the line; where a commit goes on, wait for those in front."""
        readers = self.readers
        try:
            before = readers[-1]
        except IndexError:
            readers.append(reader)
            return
        readers.append(reader)
        if _is_held(self.gate[0]):
            with before:
                pass

    def go_through(self) -> None:
        """Wait, as the first reader of the queue, until the commit has ended that goes first."""
        gate, first = self.gate
        if not first:
            with gate:
                pass

    def leave(self, reader: RLock) -> None:
        """Take a reader out of the line, and let the commit begin that waits for one."""
        self._reads += 1
        if reader in self.readers:  # else it was cut off before it stood there, or a commit has found that it is gone
            with suppress(ValueError):
                self.readers.remove(reader)
        _, first = self.gate
        if first:
            with suppress(IndexError):
                first.pop().release()

    def close(self, gate: RLock) -> None:
        """Close the gate of a commit, which holds it, but for one reader where nobody has read for long."""
        if not self.readers or self._reads != self._reads_before or not self._has_readers():
            self.gate = gate, []
        else:
            done = allocate_lock()
            done.acquire()
            self.gate = gate, [done]
        self._reads_before = self._reads

    def let_one_read(self) -> None:
        """Wait, as the commit whose turn it is, for the reader that goes first."""
        _, first = self.gate
        if first:
            with suppress(IndexError):
                first[0].acquire(timeout=_TURN)
                first.clear()  # where nobody read

    def _has_readers(self) -> bool:
        """Whether somebody is in line; who was cut off there before it could leave is taken out."""
        for reader in tuple(self.readers):
            if _is_held(reader):
                return True
            self.leave(reader)
        return False


def _is_held(lock: RLock) -> bool:
    """Whether another thread holds a lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True
