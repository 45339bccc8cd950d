"""Calls that no signal cuts off: another thread makes the call, and the caller waits.

``imported("numba")`` imports Numba even if Ctrl-C is pressed meanwhile.

Python runs signal handlers in the main thread alone. An exception of a handler, such as KeyboardInterrupt, comes out of
whatever line the main thread is at. Some libraries do not survive that: a half-imported C module cannot be imported
again, a generator of Numba's that was cut off stays at its end, and LLVM frees memory twice.

The law: a call that was begun comes to its end, also when its caller is interrupted while it waits. A fork, and the end
of the process, wait for the call.
"""

from __future__ import annotations

import atexit
import gc
import os
import threading
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_LOOK = 0.2  # seconds after which the caller looks for signals again
_turn = threading.RLock()  # held by the thread that makes such a call; one at a time, as Numba's own lock has it


def aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread that no signal interrupts. Give its result, or raise its exception.

    Cost: about 0.1 ms in the main thread, for a thread of its own. Other threads get no signals, and there the call is
    made at once.

    Raises:
        KeyboardInterrupt: A signal came while the main thread waited; the call goes on. Other exceptions of
            handlers come out likewise.
    """
    if threading.get_ident() != threading.main_thread().ident:
        with _turn:
            return function(*args, **kwargs)
    call = _Call(lambda: function(*args, **kwargs))
    # Not threading.Thread: an interrupt in its `start` or `join` leaves its own locks in a state that nobody expects.
    start_new_thread(call.make, ())
    while not call.done.acquire(timeout=_LOOK):  # a signal that comes just before it waits would not wake it
        pass
    return cast(T, call.outcome())


def imported(name: str) -> Any:
    """Import a module where no signal arrives, without looking for garbage: there is none, and it took a sixth.

    Raises:
        ImportError, KeyboardInterrupt: As for an import, and for `aside`.
    """
    return aside(_imported, name)


def _imported(name: str) -> Any:
    with no_collections():
        return import_module(name)


class Later:
    """A module that is imported when something of it is first asked for, as by `imported`.

    For what many processes never need. Type checkers see a plain import, in the branch of ``TYPE_CHECKING``.

    Args:
        name: The module's full name.

    >>> fractions = Later("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @cached_property
    def _module(self) -> Any:
        return imported(self._name)


@contextmanager
def no_collections() -> Iterator[None]:
    """Let Python's collector of garbage rest, and count among the oldest objects what was made meanwhile.

    Else the next collection would look through all of that. Where somebody has frozen objects it looks through them.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if collects:
            gc.enable()


@cache
def import_what_arrow_wants() -> None:
    """Let Arrow import pandas now, if it is there.

    Arrow does so when it first builds an array of Python objects, or gives one to NumPy, and takes no notice of what
    comes out of the import: a Ctrl-C in the middle of it would be lost.

    Cost: that of importing pandas for the first call, then nothing.
    """
    import pyarrow as pa  # noqa: PLC0415  # who uses no data needs no Arrow

    aside(pa.array, ())


def is_ending() -> bool:
    """Whether the main thread has ended. The process then waits for this call alone, which should be short."""
    return not threading.main_thread().is_alive()


class _Call:
    """A call of another thread.

    Attributes:
        done: A lock that is free when the call has ended.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self.done = allocate_lock()
        self.done.acquire()
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None

    def make(self) -> None:
        try:
            with _turn:
                self._result = self._function()
        except BaseException as error:
            self._error = error
        finally:
            self.done.release()

    def outcome(self) -> Any:
        """The result of the call, or its exception is raised; the object forgets both."""
        error, result = self._error, self._result
        self._error = self._result = None
        if error is None:
            return result
        try:
            raise error
        finally:
            del error  # which holds this frame


def _holding() -> Iterator[None]:
    """Take the turn until the iterator is closed. A ``with`` alone has no point between taking it and knowing that."""
    with _turn:
        yield


_held: Iterator[None] | None = None


def _take_turn() -> None:
    """Wait until no such call is under way, whatever signals come. Python ignores exceptions of this hook."""
    global _held  # noqa: PLW0603
    while True:
        with suppress(BaseException):
            _held = _holding()
            next(_held)
            return


def _give_turn() -> None:
    global _held  # noqa: PLW0603
    _held = None


def _wait_for_turn() -> None:
    _take_turn()
    _give_turn()


atexit.register(_wait_for_turn)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_turn, after_in_parent=_give_turn, after_in_child=_give_turn)
