"""How a commit and other threads share Python's lock.

Who waits for Python's lock asks for it after a *switch interval*, which is 5 ms unless the program has set another one.
Who has lost it waits as long, if the others compute in Python, and longer if the system has taken one of them off its
core. So the interval depends on who has the lock:

- A call that waits, for the database or for its log, wants the others to go on quickly: the interval is 0.1 ms.
- A short commit keeps the lock in its kernels, too. The interval is 5 ms while it runs, so that it ends within one.
- A long commit gives the lock back in each kernel, behind which it waits: the interval is 0.1 ms.

Behind the call the interval is what it was before.
"""

from __future__ import annotations

import sys
from threading import active_count
from time import perf_counter, sleep, thread_time

from livejoin.database.commit_times import CommitTimes
from livejoin.kernels.compiling.python_lock import give_back, keep

_WAITING = 0.000101  # seconds; no values that a program would set, so that it is known whose an interval is
_HOLDING = 0.004999
_SHORT = 0.005  # seconds of a processor: as long as any thread that computes in Python may keep the lock
_LONGEST_RUN = 0.005  # seconds of commits without a pause: as long as one that computes has its turn
_PAUSE = 0.00005  # seconds in which another thread wakes up
_FEW = 128  # changes of a commit that may be short

_of_program = sys.getswitchinterval()  # as it was when it was none of these, by whichever thread saw it last


def is_ours(interval: float) -> bool:
    """Whether a call has set a switch interval, and not the program."""
    return interval in (_WAITING, _HOLDING)


def hasten() -> float:
    """Let threads of Python give up Python's lock soon, as a call waits for them.

    Returns:
        The interval of before, for `calm` at the end of a call, or for `resume` within it.
    """
    global _of_program  # noqa: PLW0603  # as the interval is the whole process's
    before = sys.getswitchinterval()
    if not is_ours(before):
        _of_program = before
    sys.setswitchinterval(_WAITING)
    return before


def resume(before: float) -> None:
    """Go on in a call as before it waited."""
    if is_ours(sys.getswitchinterval()):  # else the program has set another one
        sys.setswitchinterval(before)


def calm() -> None:
    """Give the program its interval back, where a call ends."""
    if is_ours(sys.getswitchinterval()):
        sys.setswitchinterval(_of_program)


class Held:
    """Python's lock while a commit runs; mutable. A commit is taken for short if the last one of few changes was.

    What a commit waits for is no work of its own, so that processor time says so where the clock says otherwise.

    Args:
        changes: How many changes it has.
        times: The times of the commits before.
    """

    __slots__ = ("_began", "_clock", "_is_few", "_times")

    def __init__(self, changes: int, times: CommitTimes) -> None:
        self._is_few = changes <= _FEW
        self._times = times
        self._clock = thread_time if times.is_unsure else perf_counter

    def __enter__(self) -> None:
        if self._is_few and self._times.busy < _SHORT:
            keep()
            sys.setswitchinterval(_HOLDING)
        else:
            sys.setswitchinterval(_WAITING)
        self._began = self._clock() if self._is_few else 0.0

    def __exit__(self, *error: object) -> None:
        if self._is_few:
            self._times.note_busy(self._clock() - self._began, _SHORT)
        give_back()


class Run:
    """Commits of one database that follow each other without a pause; mutable.

    Without one no other thread would run beside them, whatever it does: who wakes up asks for Python's lock only when
    nobody has let go of it for an interval, and a commit lets go of it for a moment again and again.
    """

    __slots__ = ("_began", "_ended")

    def __init__(self) -> None:
        self._began = self._ended = 0.0

    def end(self, came: float) -> None:
        """Give Python's lock away for a moment, if commits have followed each other for long.

        Args:
            came: The time at which the call has begun that ends now, by `time.perf_counter`.
        """
        now = perf_counter()
        if came - self._ended > _PAUSE:
            self._began = came
        if now - self._began > _LONGEST_RUN:
            if active_count() > 1:
                sleep(_PAUSE)
            self._began = now = perf_counter()
        self._ended = now
