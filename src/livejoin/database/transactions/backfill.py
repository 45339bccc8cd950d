"""The rows of tables that keep none, for a view that is made after they came: the caller's promise.

While a view is made, such a table offers the rows that it is said to have. What the new blocks keep of them is copied
before the view stands, as of those that were there (`livejoin.database.transactions.trusted`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from livejoin.changes import STRICT, read_changes
from livejoin.database.arguments import check_changes
from livejoin.database.declared.defaults import defaults_of
from livejoin.database.transactions.trusted import fold
from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.state.trusted_table import Changes, TrustedTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.view import View

_COMPRESSION = "zstd"
NOTHING: Mapping[str, pa.Table] = {}


def rows_given(contents: Contents, given: Mapping[str, object]) -> dict[str, pa.Table]:
    """The rows that a caller says are there, as Arrow, by the tables' names as declared.

    Raises:
        SchemaError: There is no such table, or it keeps its rows.
        ChangeError: The rows are none of the table, or there is a deletion.
    """
    found: dict[str, pa.Table] = {}
    for name, data in check_changes(given, "{'events': rows}").items():
        table = contents.declared(name)
        if not table.is_trusted:
            msg = f"table {table.name!r} keeps its rows, so that a view over it needs no backfill; leave it out"
            raise SchemaError(msg)
        batch = read_changes(table, data, False, "given", STRICT, defaults_of(table))
        if table.generated:
            msg = f"table {table.name!r} has generated columns, which a backfill cannot have; compute them in the views"
            raise SchemaError(msg)
        if batch.by_key or batch.given is not None or (batch.weights < 0).any():
            msg = "a backfill has the rows that are there, each whole; leave out deletions, and changes by key"
            raise ChangeFormatError(msg, table.name)
        found[table.name] = batch.rows
    return found


def refuse_unread(view: View, rows: Iterable[str]) -> None:
    """Refuse rows of tables that a view does not read.

    Raises:
        SchemaError: There are such tables.
    """
    for name in rows:
        if not view._reads_table(name):
            msg = f"the backfill has rows of table {name!r}, which the view does not read; leave them out"
            raise SchemaError(msg)


@contextmanager
def offering(contents: Contents, rows: Mapping[str, pa.Table]) -> Iterator[None]:
    """Let tables that keep no rows have some, for the views that are made meanwhile.

    Cost: O(rows), and of what is kept of these tables.
    """
    tables = []
    try:
        for name, given in rows.items():
            table = contents.tables[name.lower()]
            assert isinstance(table, TrustedTable), "rows are given of tables that keep none"
            fold(contents, table)  # loads what has to be loaded from what was kept
            words = contents.codec.encode(given, table.table)
            tables.append(table)
            table.offered = Changes(words, np.ones(given.num_rows, np.int64))
        yield
        for table in tables:
            table.came = max(table.came, 1)
            fold(contents, table)
    finally:
        for table in tables:
            table.offered = None


def plain_rows(rows: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Rows as JSON values, for a log; nothing of none."""
    if not rows:
        return {}
    found = {}
    for name, table in rows.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=_COMPRESSION)) as writer:
            writer.write_table(table)
        found[name] = base64.b64encode(sink.getvalue()).decode()
    return {"backfill": found}


def read_rows(entry: Mapping[str, Any]) -> dict[str, pa.Table]:
    """The rows that a log has beside the declaration of a view.

    Raises:
        ValueError, TypeError, pyarrow.ArrowException: They are damaged.
    """
    given = entry.get("backfill", {})
    return {name: pa.ipc.open_stream(base64.b64decode(text)).read_all() for name, text in given.items()}
