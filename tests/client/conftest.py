"""Servers for clients."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def processes_for_queries() -> Iterator[None]:
    """One process for queries serves all servers of the tests; it takes seconds to begin."""
    if find_spec("starlette") is None:  # clients are tested without a server too
        yield
        return
    from waiting_processes import kept_from_server_to_server  # noqa: PLC0415

    with kept_from_server_to_server():
        yield
