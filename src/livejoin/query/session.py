"""The DuckDB session that evaluates expressions: one private in-memory database for each thread.

It reads nothing but the Arrow tables handed to it: no files, no extensions, no variables of the caller. One DuckDB
thread keeps rows in their order and leaves the other cores to the caller.
"""

from __future__ import annotations

import os
import threading

import duckdb

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


class _Sessions(threading.local):
    """The sessions of one thread by process: a forked process must not use its parent's."""

    def __init__(self) -> None:
        self.by_process: dict[int, duckdb.DuckDBPyConnection] = {}


_sessions = _Sessions()


def session() -> duckdb.DuckDBPyConnection:
    """The session of this thread, opened on first use (about 10 ms)."""
    process = os.getpid()
    if process not in _sessions.by_process:
        connection = duckdb.connect(":memory:", config=_CONFIG)
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        _sessions.by_process[process] = connection
    return _sessions.by_process[process]


def reason(error: duckdb.Error) -> str:
    """What DuckDB complains about: the first line of its message without the name of the error's class."""
    first = str(error).strip().splitlines()[0]
    kind, separator, rest = first.partition(" Error: ")
    return rest if separator and len(kind.split()) <= 4 else first
