"""One call of a database at a time, and each call starts on a complete state.

A call may be cut off anywhere: by Ctrl-C, by an exception that another thread sets, or by lack of memory. Before a call
begins to change something, it writes down what (`livejoin.database.transactions.journal`). The next call in any thread,
also a read, first finishes that. So correctness does not depend on when signals arrive.

Calls that commit go first, and let a reader by now and then (`livejoin.database.transactions.readers`).

A lock written in C makes this safe: between taking such a lock in a ``with`` and knowing that it is taken, Python has
no point at which a signal can arrive.
"""

from __future__ import annotations

import os
import weakref
from _thread import RLock
from collections.abc import Callable
from functools import wraps
from threading import active_count
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from livejoin.database.transactions.python_lock import INTERVAL, Run, calm, hasten
from livejoin.database.transactions.readers import Line
from livejoin.errors import StateError

if TYPE_CHECKING:
    from livejoin.database.durable.log import Log

Method = TypeVar("Method", bound=Callable[..., Any])
_is_owned: Callable[[RLock], bool] = RLock._is_owned  # type: ignore[attr-defined]  # as threading.Condition asks it


class Guard:
    """The lock of a database, and what has to be done before a call may look at the data.

    Args:
        settle: Finishes what a cut-off call left, and tells of what became durable.
        is_busy: Whether a cut-off call left something.
        is_due: Whether ``settle`` has something to do; asked without the lock.

    Attributes:
        turn: Held by a call that commits, from where it waits for the lock.
        line: Readers that wait for the lock, and the commit that they let by.
        run: Commits that follow each other without a pause.
        is_shared: Whether the process had other threads of Python when the call that commits began, which wait for
            Python's lock; only who has it starts others.
        lock: Held while a call runs; a thread may take it again.
        log: The log that makes changes durable; None if nothing does.
        room: Waits until those who follow have room for another commit; None while commits wait for nobody.
        waited: The seconds that the call that commits has waited for those who follow, and for other calls.
        ended: A function for when what the call has written is durable, with the seconds that took; None for nothing.
    """

    is_shared: bool = True
    log: Log | None = None
    room: Callable[[], None] | None = None
    waited: tuple[float, float] = (0.0, 0.0)
    ended: Callable[[float], None] | None = None

    def __init__(self, settle: Callable[[], None], is_busy: Callable[[], bool], is_due: Callable[[], bool]) -> None:
        self.turn = RLock()
        self.line = Line()
        self.lock = RLock()
        self.run = Run()
        self._settle = settle
        self._is_busy = is_busy
        self._is_due = is_due
        _guards.add(self)

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
        return _is_owned(self.lock)


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
                guard.line.stand(reader)
                with guard.line.queue:
                    guard.line.go_through()
                    with guard.lock:
                        guard.enter(again)
                        result = method(self, *args, **kwargs)
                        log = guard.log
                        due = None if log is None else log.due()
        finally:
            guard.line.leave(reader)
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
        if _is_owned(guard.lock):
            with guard.lock:
                guard.enter(again=True)
                return method(self, *args, **kwargs)
        came = free = perf_counter()
        if has_followers and guard.room is not None:
            guard.room()
            free = perf_counter()
        gate = RLock()
        is_shared = active_count() > 1
        before = hasten(INTERVAL) if is_shared else 0.0
        try:
            with gate:
                guard.line.close(gate)
                with guard.turn:
                    if guard.line.gate[1]:
                        guard.line.let_one_read()
                    with guard.lock:  # not while it waits for the disk
                        guard.is_shared = is_shared
                        guard.waited, guard.ended = (free - came, perf_counter() - free), None
                        guard.enter(again=False)
                        result = method(self, *args, **kwargs)
                        log = guard.log
                        due = None if log is None else log.due()
                        ended, guard.ended = guard.ended, None
            if is_shared and due is None:  # else it waits for the disk
                guard.run.end(came)
        finally:
            if before:
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
        guard.line = Line()
    _give_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_give_all, after_in_child=_open_gates)
