"""Processes that answer the queries of servers, kept from one server of the tests to the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from livejoin.server import Limits, queries


@contextmanager
def kept_from_server_to_server() -> Iterator[None]:
    """What answers queries serves one server after the other, as it would go on to serve one alone.

    Each process takes seconds to begin. One that took too long or too much is ended still, and those that may have
    another amount of memory than the usual one are begun anew.
    """
    usual, waiting = Limits().query_memory, list[queries._Process]()
    begin = queries._Process

    def begun(memory: int) -> queries._Process:
        return waiting.pop() if memory == usual and waiting else begin(memory)

    def close(self: queries.Queries) -> None:
        self._is_closed = True
        while self._free:
            one = self._free.pop()
            waiting.append(one) if self._limits.query_memory == usual else one.end()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queries, "_Process", begun)
        patched.setattr(queries.Queries, "close", close)
        yield
    for one in waiting:
        one.end()
