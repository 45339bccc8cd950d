"""Servers of small databases."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

import livejoin
from livejoin.server import Server
from waiting_processes import kept_from_server_to_server

SQL = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, d DECIMAL(10, 2), x DOUBLE, s STRING, ts TIMESTAMP, b BINARY);
    CREATE TABLE u (k BIGINT, w BIGINT);
    CREATE VIEW totals AS SELECT k, SUM(v) AS s FROM t GROUP BY k;
    CREATE VIEW pairs AS SELECT t.k, u.w FROM t JOIN u ON t.k = u.k;
    CREATE VIEW quiet AS SELECT s, x FROM t
"""


@pytest.fixture(scope="session", autouse=True)
def processes_for_queries() -> Iterator[None]:
    """One process for queries serves all servers of the tests; it takes seconds to begin."""
    with kept_from_server_to_server():
        yield


@pytest.fixture
def db() -> livejoin.Database:
    """Two tables and three views, empty."""
    found = livejoin.Database()
    found.execute(SQL)
    return found


@pytest.fixture
def server(db: livejoin.Database) -> Iterator[Server]:
    """A server of the database, open to this machine."""
    with Server(db, port=0) as found:
        yield found


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    """A client of the server."""
    with httpx.Client(base_url=server.url, timeout=30) as found:
        yield found
