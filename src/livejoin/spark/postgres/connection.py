"""Connections to PostgreSQL, and errors when one fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg

from livejoin.errors import StorageError
from livejoin.seldom import Seldom

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")
RETRY_SECONDS = 60.0
"""How long a server may be away, where the user does not say."""

logger = logging.getLogger("livejoin")
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # seconds
_WARNINGS = Seldom()
_TIMEOUT = 10  # seconds that a server may take to answer the first time, where the user gives none
_SESSION = "SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET TimeZone = 'UTC'; SET extra_float_digits = 1"


def connect(conninfo: str, **options: Any) -> Connection:
    """A connection whose session uses UTF-8, ISO dates and UTC. Call it within `explained`, which words its errors.

    Args:
        conninfo: As for libpq, ``postgresql://user@host/database``. A password is safer in ``~/.pgpass`` or in
            ``PGPASSWORD`` than here.
        options: Further parameters of libpq.
    """
    given = psycopg.conninfo.conninfo_to_dict(conninfo)
    settings = {
        "connect_timeout": _TIMEOUT,
        "application_name": "livejoin",
        "client_encoding": "UTF8",
        **{key: value for key, value in given.items() if value is not None},
        **options,
    }
    connection: Connection = psycopg.connect(autocommit=True, **settings)
    if "replication" not in options:
        connection.execute(_SESSION)
    return connection


class Patience:
    """How long a server may be unreachable before that is an error; mutable.

    Args:
        seconds: How long, from the last success on.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._pause = _SHORTEST_PAUSE

    def succeed(self) -> None:
        """Note that the server answers."""
        self._since = None
        self._pause = _SHORTEST_PAUSE

    def wait(self, error: psycopg.OperationalError) -> None:
        """Wait a while, longer each time; raises the error when the time is over."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now + self._pause > self._since + self._seconds:
            raise error
        if _WARNINGS.is_due(reason(error)):
            logger.warning("PostgreSQL does not answer, it is asked again for %g s: %s", self._seconds, reason(error))
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def patiently(attempt: Callable[[], Result], seconds: float) -> Result:
    """Call a function again and again until the server answers, for at most ``seconds``."""
    patience = Patience(seconds)
    while True:
        try:
            return attempt()
        except psycopg.OperationalError as error:
            patience.wait(error)


@contextmanager
def explained(conninfo: str, what: str) -> Iterator[None]:
    """Turn errors of psycopg inside into `StorageError`.

    Args:
        conninfo: The server.
        what: The failed task, and the consequence, as the end of a sentence.
    """
    try:
        yield
    except psycopg.Error as error:
        msg = f"PostgreSQL at {where(conninfo)}: {reason(error)}; {what}"
        raise StorageError(msg) from error


def where(conninfo: str) -> str:
    """A server and database without the password."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.Error:
        return "a place that libpq does not understand"
    host = given.get("host") or "localhost"
    port = f":{given['port']}" if given.get("port") else ""
    return f"{host}{port}/{given.get('dbname') or given.get('user') or ''}"


def reason(error: psycopg.Error) -> str:
    """The server's message, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
