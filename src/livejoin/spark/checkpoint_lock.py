"""One query a checkpoint: a lock that dies with its process.

Two queries that write one checkpoint would destroy it, and Spark stops the first one silently if both are in one
process. So ``<checkpoint>/lock`` is locked by ``flock`` while the query runs. The file stays afterwards, and its text
names the last holder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery

from livejoin.errors import StateError, StorageError
from livejoin.spark.local_folder import made

_held: dict[Path, CheckpointLock] = {}
_guard = threading.Lock()


class Closing(Protocol):
    """An object with open files."""

    def close(self) -> None:
        """Close them."""


class CheckpointLock:
    """The lock of a checkpoint; mutable. Made by `lock_checkpoint`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._query: StreamingQuery | None = None
        self._engine: Closing | None = None

    def guard(self, engine: Closing) -> None:
        """Keep the lock until an engine's files are closed."""
        self._engine = engine

    def hand_to(self, query: StreamingQuery) -> None:
        """Keep the lock until a query ends."""
        self._query = query
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, _holder(f"the query {query.name or query.id}").encode(), 0)
        threading.Thread(target=self._release_at_end, args=(query,), daemon=True).start()

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        with _guard:
            self._release()

    @property
    def ended(self) -> bool:
        """Whether the query that holds the lock has ended."""
        return self._query is not None and not self._query.isActive

    def _release(self) -> None:
        if _held.get(self._path) is self:
            if self._engine is not None:
                self._engine.close()
            del _held[self._path]
            os.close(self._descriptor)

    def _release_at_end(self, query: StreamingQuery) -> None:
        with contextlib.suppress(Exception):  # the query's error is its caller's
            query.awaitTermination()
        self.release()


def lock_checkpoint(folder: Path) -> CheckpointLock:
    """Lock a checkpoint; its folder is made if it is missing.

    Raises:
        StateError: A running query of this process or another one holds the lock.
        StorageError: The folder cannot be made or written to, or its file system has no locks.
    """
    made(folder, "the checkpoint")
    path = folder.resolve() / "lock"
    with _guard:
        before = _held.get(path)
        if before is not None and before.ended:
            before._release()
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
            msg = (
                f"the checkpoint in {folder} is that of {holder}, which runs; stop that query and wait for its end, or "
                "give another checkpoint and another output folder"
            )
            raise StateError(msg) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _holder("a query").encode(), 0)
        _held[path] = CheckpointLock(path, descriptor)
        return _held[path]


def _holder(query: str) -> str:
    return f"{query} in process {os.getpid()}"
