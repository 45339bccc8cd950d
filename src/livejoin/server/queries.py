"""Ad-hoc queries, each in a process of its own, so that time and memory can be taken from it.

A process is started when it is first needed, and stays for the next query. One that takes too long, or too much
memory, is ended, and the server and its views do not notice.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

import livejoin
from livejoin.database.versions.queried import read_by
from livejoin.database.versions.rows_at import Named
from livejoin.errors import CapacityError, LivejoinError
from livejoin.schema import is_made_list
from livejoin.server.answers import RequestError, arrow_bytes
from livejoin.server.limits import Limits

_VALUE = 8  # bytes of a value at least
_START = 60.0  # seconds in which a process has begun
_WAIT = 5.0  # seconds to wait for one that is free
_LOOK = 0.2  # seconds between two looks whether who asked is there


def _never() -> bool:
    return False


def _nobody_waits() -> RequestError:
    return RequestError("nobody waits for the query any more", HTTPStatus.SERVICE_UNAVAILABLE)


class _Process:
    """A process that answers one query at a time."""

    def __init__(self, memory: int) -> None:
        ours, theirs = socket.socketpair()
        source = str(Path(livejoin.__file__).parent.parent)
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "livejoin.server.query_process", str(theirs.fileno()), str(memory)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        self._connection = Connection(ours.detach())
        if not self._connection.poll(_START):
            self.end()
            msg = "the process for queries did not begin"
            raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
        self._connection.recv()

    def ask(self, asked: tuple[Any, ...], seconds: float, is_gone: Callable[[], bool]) -> Any:
        """The answer; None if it takes longer, or who asked is gone.

        Raises:
            EOFError, OSError: The process has ended.
        """
        self._connection.send(asked)
        ends = time.monotonic() + seconds
        while not self._connection.poll(min(_LOOK, max(0.0, ends - time.monotonic()))):
            if time.monotonic() >= ends or is_gone():
                return None
        return self._connection.recv()

    def end(self) -> None:
        """End it."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


class Queries:
    """Answers ad-hoc queries; may be called from any thread.

    Args:
        limits: The limits of a query.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free: list[_Process] = []
        self._places = threading.Semaphore(limits.queries)
        self._is_closed = False

    def ask(
        self, query: str, parameters: Any, named: Mapping[str, Named], is_gone: Callable[[], bool] = _never
    ) -> tuple[pa.Table, frozenset[str]]:
        """The rows that a query gives, and the columns that are instants.

        Args:
            query: The query.
            parameters: The values of its places.
            named: The rows that it may name; others are not there for it.
            is_gone: Whether nobody waits for the answer any more, so that the query ends.

        Raises:
            LivejoinError: The query is wrong, or takes more than it may.
            RequestError: As many queries as may are being answered.
        """
        read = {one.name: one for one in read_by(query, named)}
        for one in read.values():
            self._refuse_large(one)
        tables = [  # those that are not read are known by name, for messages
            (one.name, one.types, arrow_bytes(one.read() if one.name in read else one.schema.empty_table()))
            for one in named.values()
            if one.name in read or not any(is_made_list(field.type) for field in one.schema)
        ]
        asked = (query, parameters, tables, self._limits.query_memory, self._limits.rows)
        if not self._places.acquire(timeout=_WAIT):
            msg = f"{self._limits.queries} queries are being answered, as many as may be; ask again"
            raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            found = self._ask(asked, is_gone)
        finally:
            self._places.release()
        if isinstance(found, LivejoinError):
            raise found
        data, instants = found
        return pa.ipc.open_stream(pa.BufferReader(data)).read_all(), instants

    def _ask(self, asked: tuple[Any, ...], is_gone: Callable[[], bool]) -> Any:
        limits = self._limits
        try:
            process = self._free.pop()
        except IndexError:
            process = _Process(limits.query_memory)
        if is_gone():  # while it began
            self._keep(process)
            raise _nobody_waits()
        try:
            found = process.ask(asked, limits.query_seconds, is_gone)
        except (EOFError, OSError) as error:
            process.end()
            msg = f"the query ended its process, as by more than the {limits.query_memory:,} bytes of memory it may"
            raise CapacityError(msg) from error
        except BaseException:
            process.end()
            raise
        if found is None:
            process.end()
            if is_gone():
                raise _nobody_waits()
            msg = f"the query took more than the {limits.query_seconds:g} s that it may; a view of it is read at once"
            raise CapacityError(msg)
        self._keep(process)
        return found

    def _keep(self, process: _Process) -> None:
        """Let a process wait for the next query."""
        if self._is_closed:
            process.end()
        else:
            self._free.append(process)

    def _refuse_large(self, one: Named) -> None:
        """Refuse to read rows that take more memory than a query may, before they are read.

        Raises:
            CapacityError: The rows take more.
        """
        count = 0 if one.count is None else one.count()
        if count * len(one.types) * _VALUE > self._limits.query_memory:
            msg = (
                f"{one.name!r} has {count:,} rows, which take more than the {self._limits.query_memory:,} bytes of "
                "memory that a query may; create a view of the query, which need not read them whole"
            )
            raise CapacityError(msg)

    def close(self) -> None:
        """End the processes; a query that is under way is answered still."""
        self._is_closed = True
        while self._free:
            self._free.pop().end()
