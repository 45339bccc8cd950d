"""One query a checkpoint: a lock that dies with its process.

Two queries that write one checkpoint would destroy it, and Spark stops the first one silently if both are in one
process. So ``<checkpoint>/lock`` is locked by ``flock`` while the query runs. The file stays afterwards, and its text
names the last holder. In an object store there is a lease instead (`livejoin.database.durable.lease`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery

from livejoin.database.durable import lease
from livejoin.errors import StateError, StorageError
from livejoin.spark.paths import made
from livejoin.state.objects import check_creates_once
from livejoin.state.store_folder import Place, StorePath

_held: dict[Place, CheckpointLock] = {}
_guard = threading.Lock()
_STOP_IT = "stop that query and wait for its end, or give another checkpoint and another output folder"


class Closing(Protocol):
    """An object with open files."""

    def close(self) -> None:
        """Close them."""


class CheckpointLock:
    """The lock of a checkpoint; mutable. Made by `lock_checkpoint`.

    Args:
        place: Where the lock is.
        give_back: Gives back what keeps others out.
        say: Writes down who has it.
    """

    def __init__(self, place: Place, give_back: Callable[[], object], say: Callable[[str], object]) -> None:
        self._place = place
        self._give_back = give_back
        self._say = say
        self._query: StreamingQuery | None = None
        self._engine: Closing | None = None

    def guard(self, engine: Closing) -> None:
        """Keep the lock until an engine's files are closed."""
        self._engine = engine

    def hand_to(self, query: StreamingQuery) -> None:
        """Keep the lock until a query ends."""
        self._query = query
        self._say(f"the query {query.name or query.id}")
        threading.Thread(target=self._release_at_end, args=(query,), daemon=True).start()

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        with _guard:
            self._release()

    @property
    def holder(self) -> str:
        """Who has it, for messages."""
        return _holder("a query" if self._query is None else f"the query {self._query.name or self._query.id}")

    @property
    def ended(self) -> bool:
        """Whether the query that holds the lock has ended."""
        return self._query is not None and not self._query.isActive

    def _release(self) -> None:
        if _held.get(self._place) is self:
            if self._engine is not None:
                self._engine.close()
            del _held[self._place]
            self._give_back()

    def _release_at_end(self, query: StreamingQuery) -> None:
        with contextlib.suppress(Exception):  # the query's error is its caller's
            query.awaitTermination()
        self.release()


def lock_checkpoint(place: Place) -> CheckpointLock:
    """Lock a checkpoint; its folder is made if it is missing.

    Raises:
        StateError: A running query of this process or another one holds the lock, or the store cannot keep two apart.
        StorageError: The folder cannot be made or written to, its file system has no locks, or the store refuses.
    """
    if isinstance(place, StorePath):
        return _leased(place)
    return _locked(place)


def _free(place: Place) -> CheckpointLock | None:
    """The lock that a query of this process holds; one of a query that has ended is given back."""
    before = _held.get(place)
    if before is not None and before.ended:
        before._release()
        return None
    return before


def _leased(place: StorePath) -> CheckpointLock:
    with _guard:
        before = _free(place)
        if before is not None:
            raise StateError(_refusal(place, before.holder))
        try:
            check_creates_once(place.files)
            taken = lease.take(place.files, _STOP_IT.capitalize())
        except OSError as error:
            msg = f"the checkpoint in {str(place)!r} could not be opened: {error}; repair that, and start again"
            raise StorageError(msg) from error
        _held[place] = CheckpointLock(place, taken.release, lambda _: None)
        return _held[place]


def _locked(folder: Path) -> CheckpointLock:
    made(folder, "the checkpoint")
    path = folder.resolve() / "lock"
    with _guard:
        _free(path)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            msg = f"the lock {path} of the checkpoint cannot be opened: {error.strerror}; repair that, and start again"
            raise StorageError(msg) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                os.close(descriptor)
                msg = f"{folder} is on a file system without locks ({error.strerror}); give a checkpoint on another one"
                raise StorageError(msg) from error
            holder = os.pread(descriptor, 1000, 0).decode(errors="replace") or "another query"
            os.close(descriptor)
            raise StateError(_refusal(folder, holder)) from error

        def say(who: str) -> None:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _holder(who).encode(), 0)

        say("a query")
        _held[path] = CheckpointLock(path, lambda: os.close(descriptor), say)
        return _held[path]


def _refusal(place: Place, holder: str) -> str:
    return f"the checkpoint in {place} is that of {holder}, which runs; {_STOP_IT}"


def _holder(query: str) -> str:
    return f"{query} in process {os.getpid()}"
