"""The DuckDB session that evaluates expressions: private in-memory databases, each for one query at a time.

It reads nothing but the Arrow tables handed to it: no files, no extensions, no variables of the caller. One DuckDB
thread keeps rows in their order and leaves the other cores to the caller.

The law: no failure outlives its call. After an error that DuckDB means as a refusal (it cannot bind, convert or
represent something) a session goes on; after any other one, a fatal error or an interrupt, it is thrown away, and the
next call opens a new one.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from livejoin.query.time_limit import TimeLimits

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_REFUSALS = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError)
_INTERRUPTED = "Query interrupted"  # what DuckDB makes of an exception of a signal's handler
_TOO_LARGE = "maximum total string size"


@dataclass(frozen=True)
class Limits:
    """What a query may take.

    Args:
        memory: DuckDB's ``memory_limit``.
        seconds: After so many the query is interrupted, as soon as DuckDB is between two vectors of rows.
    """

    memory: str
    seconds: float


EXPRESSIONS = Limits("1GiB", 60.0)
LINEAR = Limits("80%", float("inf"))  # for queries of livejoin's own, which take what their input takes


# The idle sessions, by process and limits. A forked process must not use its parent's, nor close them, since their
# threads are not there any more: so they are held here, and not by threads, whose data goes in the child of a fork.
_idle: dict[tuple[int, Limits], list[duckdb.DuckDBPyConnection]] = {}
_time_limits = TimeLimits()


@atexit.register
def _let_go() -> None:
    """At the end of a process: let its own sessions go while there is an interpreter that can; not its parent's."""
    for kind, idle in _idle.items():
        if kind[0] == os.getpid():
            idle.clear()


@contextmanager
def session(limits: Limits) -> Iterator[duckdb.DuckDBPyConnection]:
    """A session for one query; a new one takes about 10 ms.

    Args:
        limits: The most memory and time that the query may take.

    Raises:
        KeyboardInterrupt: The handler of a signal raised an exception while DuckDB was at work, which calls it
            RuntimeError and forgets which one it was.
    """
    kind = (os.getpid(), limits)
    idle = _idle.setdefault(kind, [])
    with _interrupts_by_their_name():
        try:
            connection = idle.pop()
        except IndexError:
            connection = _opened(limits)
        try:
            with _time_limits.of(connection.interrupt, limits.seconds):
                yield connection
        except _REFUSALS:
            idle.append(connection)
            raise
        idle.append(connection)


@contextmanager
def _interrupts_by_their_name() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from error
        raise


def _opened(limits: Limits) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": limits.memory})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def passes_limits(error: Exception) -> bool:
    """Whether an error says that a query took more than its limits, or gives a column of more than 2 GiB of strings."""
    return isinstance(error, duckdb.InterruptException | duckdb.OutOfMemoryException) or _TOO_LARGE in str(error)


def reason(error: Exception) -> str:
    """What DuckDB complains about: the first line of its message without the name of the error's class."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    kind, separator, rest = first.partition(" Error: ")
    return rest if separator and len(kind.split()) <= 4 else first
