"""One call of a database at a time, and each call starts on a complete state.

A call may be cut off anywhere: by Ctrl-C, by an exception that another thread sets, or by lack of memory. Before a call
begins to change something, it writes down what (`livejoin.database.transactions.journal`). The next call in any thread,
also a read, first finishes that. So correctness does not depend on when signals arrive.

Calls that commit go first: a reader that comes while a commit waits for the lock lets it by, or readers that read one
after the other would leave no gap for it. It waits at the *gate* of this commit, which is a lock of its own, so that
the next commit never waits for readers that are still on their way through the gate of the one before. Readers form a
queue of their own, and only the first of them waits for the lock: a commit never has more than one before it.

A thread that commits again and again would never let a reader in: a reader that wakes up behind a lock needs Python's
lock first, which the next commit has by then. So a commit before which nobody has read since the last one began waits
until one of those in *line* has read. Who comes while a commit runs or waits stands behind those in line. And a thread
that has committed for 5 ms without a pause makes a short one, or no other thread would run beside it, whatever it does.

A lock written in C makes this safe: between taking such a lock in a ``with`` and knowing that it is taken, Python has
no point at which a signal can arrive.
"""

from __future__ import annotations

import os
import weakref
from _thread import LockType, RLock, allocate_lock
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from threading import active_count
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from livejoin.database.transactions.python_lock import INTERVAL, calm, hasten
from livejoin.errors import StateError

if TYPE_CHECKING:
    from livejoin.database.durable.log import Log

Method = TypeVar("Method", bound=Callable[..., Any])


Gate: TypeAlias = tuple[RLock, list[LockType]]
"""A gate, and a lock at most, for which its commit waits until a reader has released it."""

_READERS_TURN = 0.01  # seconds for which a commit waits for a reader at most: the system may not let that one run
_LONGEST_RUN = 0.005  # seconds for which a thread commits without a pause: as long as one that computes has its turn
_PAUSE = 0.00005  # seconds in which another thread wakes up


class Guard:
    """The lock of a database, and what has to be done before a call may look at the data.

    Args:
        settle: Finishes what a cut-off call left, and tells of what became durable.
        is_busy: Whether a cut-off call left something.
        is_due: Whether ``settle`` has something to do; asked without the lock.

    Attributes:
        turn: Held by a call that commits, from where it waits for the lock.
        gate: A lock of the call that began to commit last, held until it has ended, and what one reader gives back
            that reads before it; readers go through the gate if there is no such thing.
        line: A lock of each reader that waits or reads, held by it, the one that came first in front.
        queue: Held by the reader that waits for the lock or has it.
        lock: Held while a call runs; a thread may take it again.
        log: The log that makes changes durable; None if nothing does.
        room: Waits until those who follow have room for another commit; None while commits wait for nobody.
        waited: The seconds that the call that commits has waited for those who follow, and for other calls.
        ended: A function for when what the call has written is durable, with the seconds that took; None for nothing.
    """

    log: Log | None = None
    room: Callable[[], None] | None = None
    waited: tuple[float, float] = (0.0, 0.0)
    ended: Callable[[float], None] | None = None

    def __init__(self, settle: Callable[[], None], is_busy: Callable[[], bool], is_due: Callable[[], bool]) -> None:
        self.turn = RLock()
        self.gate: Gate = RLock(), []
        self.line: deque[RLock] = deque()
        self.queue = RLock()
        self.lock = RLock()
        self._ended = self._paused = 0.0  # when the last commit ended; when there was a pause between commits
        self._reads = 0
        self._reads_before = -1  # at the beginning of the commit before
        self._settle = settle
        self._is_busy = is_busy
        self._is_due = is_due
        _guards.add(self)

    def stand_in_line(self, reader: RLock) -> None:
        """Put a reader, by a lock that it holds, into the line; where a commit goes on, wait for those in front."""
        line = self.line
        try:
            before = line[-1]
        except IndexError:
            line.append(reader)
            return
        line.append(reader)
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
        if reader in self.line:  # else it was cut off before it stood there, or a commit has found that it is gone
            with suppress(ValueError):
                self.line.remove(reader)
        _, first = self.gate
        if first:
            with suppress(IndexError):
                first.pop().release()

    def close(self, gate: RLock) -> None:
        """Close the gate of a commit, which holds it, but for one reader where nobody has read for long."""
        if not self.line or self._reads != self._reads_before or not self._has_readers():
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
                first[0].acquire(timeout=_READERS_TURN)
                first.clear()  # where nobody read

    def let_others_run(self, came: float) -> None:
        """Give Python's lock away for a moment, behind commits that have followed each other for long.

        Args:
            came: The time at which the call has begun that ends now.
        """
        now = perf_counter()
        if came - self._ended > _PAUSE:
            self._paused = came
        if now - self._paused > _LONGEST_RUN:
            if active_count() > 1:
                sleep(_PAUSE)
            self._paused = now = perf_counter()
        self._ended = now

    def _has_readers(self) -> bool:
        """Whether somebody is in line; who was cut off there before it could leave is taken out."""
        for reader in tuple(self.line):
            if _is_held(reader):
                return True
            self.leave(reader)
        return False

    def enter(self, again: bool) -> None:
        """The first step of a call, made with the lock held.

        Args:
            again: Whether the thread held the lock already, so that this call was made within another.

        Raises:
            StateError: The outer call is in the middle of a commit; this one comes from a signal handler or a
                finalizer.
        """
        if not again:
            self._settle()
        elif self._is_busy():
            msg = (
                "the call comes in the middle of another one of the same thread, as from a signal handler; set a flag "
                "there, and call the database when the other call has returned"
            )
            raise StateError(msg)

    def finish(self, due: int) -> None:
        """What a call does last, without the lock: wait until what it has written is durable, and tell of it.

        Args:
            due: The place up to which the call has written, as the log counts.

        Raises:
            StorageError: The change could not be made durable.
        """
        assert self.log is not None
        self.log.wait(due)
        if not self._is_due():  # what this call has to tell waits since it had the lock
            return
        with self.lock:
            if not self.log.is_closed:  # by another thread, which has told of all that stood
                self._settle()

    def is_held(self) -> bool:
        """Whether this thread holds the lock."""
        held: bool = self.lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks it
        return held


def _is_held(lock: RLock) -> bool:
    """Whether another thread holds a lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def open_guard() -> Guard:
    """A guard that keeps nobody out: of a view that is being made, while the database's own says that it is busy."""
    return Guard(lambda: None, lambda: False, lambda: False)


class Guarded(Protocol):
    """A class with methods that run one at a time."""

    @property
    def _guard(self) -> Guard: ...


def alone(method: Method) -> Method:
    """Make a method run alone: calls in other threads wait until it has returned. Cost: 2 microseconds."""

    @wraps(method)
    def call(self: Guarded, /, *args: Any, **kwargs: Any) -> Any:
        guard = self._guard
        again = guard.is_held()
        if again:
            with guard.lock:
                guard.enter(again)
                return method(self, *args, **kwargs)
        reader = RLock()
        try:
            with reader:
                guard.stand_in_line(reader)
                with guard.queue:
                    guard.go_through()
                    with guard.lock:
                        guard.enter(again)
                        result = method(self, *args, **kwargs)
                        log = guard.log
                        due = None if log is None else log.due()
        finally:
            guard.leave(reader)
        if due is not None:
            guard.finish(due)
        return result

    return cast("Method", call)


def first(method: Method) -> Method:
    """As `alone`, for a method that commits: later readers wait for it, and threads of Python do not hold it up.

    A thread that computes in Python keeps Python's lock for a *switch interval*, of 5 ms. While a commit waits or runs,
    the interval is shorter (`livejoin.database.transactions.python_lock`).
    """

    return _first(method, has_followers=False)


def commits(method: Method) -> Method:
    """As `first`, for a method whose deltas somebody may follow: it waits for those whom commits wait for."""
    return _first(method, has_followers=True)


def _first(method: Method, *, has_followers: bool) -> Method:
    """As `first`, and for ``has_followers`` as `commits`: one function, as each commit of one row goes through it."""

    @wraps(method)
    def call(self: Guarded, /, *args: Any, **kwargs: Any) -> Any:
        guard = self._guard
        if guard.is_held():
            with guard.lock:
                guard.enter(again=True)
                return method(self, *args, **kwargs)
        came = free = perf_counter()
        if has_followers and guard.room is not None:
            guard.room()
            free = perf_counter()
        gate = RLock()
        before = hasten(INTERVAL)
        try:
            with gate:
                guard.close(gate)
                with guard.turn:
                    guard.let_one_read()
                    with guard.lock:  # not while it waits for the disk
                        guard.waited, guard.ended = (free - came, perf_counter() - free), None
                        guard.enter(again=False)
                        result = method(self, *args, **kwargs)
                        log = guard.log
                        due = None if log is None else log.due()
                        ended, guard.ended = guard.ended, None
            if due is None:  # else it waits for the disk
                guard.let_others_run(came)
        finally:
            calm(before)
        if due is not None:
            written = perf_counter()
            guard.finish(due)
            if ended is not None:
                ended(perf_counter() - written)
        return result

    return cast("Method", call)


_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


_taken: list[Guard] = []


def _take_all() -> None:
    """Before a fork: wait for calls of other threads. The child has no such threads and would wait forever."""
    for guard in list(_guards):
        guard.turn.acquire()
        guard.lock.acquire()
        _taken.append(guard)


def _give_all() -> None:
    while _taken:
        guard = _taken.pop()
        guard.lock.release()
        guard.turn.release()


def _open_gates() -> None:
    """In the child: what other threads hold of the gates and queues is free, as these are not there."""
    for guard in _taken:
        guard.gate, guard.queue = (RLock(), []), RLock()
        guard.line.clear()
    _give_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_give_all, after_in_child=_open_gates)
