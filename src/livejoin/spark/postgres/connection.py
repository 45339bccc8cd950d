"""Connections to PostgreSQL, and what livejoin says when one fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg

from livejoin.errors import StorageError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_TIMEOUT = 10  # seconds that a server may take to answer the first time, where the user gives none
_SESSION = "SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET TimeZone = 'UTC'; SET extra_float_digits = 1"


def connect(conninfo: str, **options: Any) -> Connection:
    """A connection whose session speaks UTF-8, ISO dates and UTC; within `explained`, which words its errors.

    Args:
        conninfo: As for libpq, ``postgresql://user@host/database``. A password is better in ``~/.pgpass`` or in
            ``PGPASSWORD`` than here.
        options: More of libpq's parameters.
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
        connection.execute(
            "SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET TimeZone = 'UTC'; SET extra_float_digits = 1"
        )
    return connection


@contextmanager
def explained(conninfo: str, what: str) -> Iterator[None]:
    """Errors of psycopg inside become `StorageError`.

    Args:
        conninfo: Of which server.
        what: What could not be done, and what holds now, as the end of a sentence.
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
    """What the server says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
