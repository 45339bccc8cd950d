"""The process that answers ad-hoc queries: it has the rows of each query, and nothing else of the server.

``python -m livejoin.server.query_process FD BYTES``: requests come and answers go over a socket.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from livejoin.database.versions.queried import queried
from livejoin.database.versions.rows_at import Named
from livejoin.errors import CapacityError, LivejoinError
from livejoin.schema import instants_of
from livejoin.server.answers import arrow_bytes

_SPARE = 1 << 30  # beyond what is counted: what the kernels and DuckDB take for themselves


def _same(rows: pa.Table) -> pa.Table:
    return rows


def answer(query: str, parameters: Any, tables: list[tuple[str, Any, bytes]], memory: int, most: int) -> Any:
    """What a query gives: its rows as Arrow's IPC, and the columns that are instants; or the error.

    Args:
        query: The query.
        parameters: The values of its places.
        tables: The name of each table that it reads, the types of its columns, and its rows as Arrow's IPC.
        memory: The most bytes that it may take.
        most: The most rows that it may give.
    """
    try:
        named = []
        for name, types, data in tables:
            rows = pa.ipc.open_stream(pa.BufferReader(data)).read_all()
            named.append(Named(name, rows.schema, types, partial(_same, rows)))
        found, types = queried(query, parameters, named, memory)
        if found.num_rows > most:
            msg = f"the query gives {found.num_rows:,} rows; allowed are {most:,}, so give it a LIMIT, or count them"
            raise CapacityError(msg)
        return arrow_bytes(found), instants_of(found.column_names, types)
    except LivejoinError as error:
        return error
    except (MemoryError, pa.ArrowMemoryError):
        return CapacityError(f"the query takes more than the {memory:,} bytes of memory that it may have")


def main(descriptor: int, memory: int) -> None:
    """Answer queries until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    present = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (present + memory + _SPARE, hard))
    connection = Connection(descriptor)
    connection.send("ready")
    while True:
        try:
            asked = connection.recv()
        except EOFError:
            return
        try:
            connection.send(answer(*asked))
        except OSError:  # nobody waits for it
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)
