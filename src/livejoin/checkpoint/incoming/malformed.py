"""Rows of a stream that are no changes: unreadable texts, and rows of an unknown change type.

The reader of a stream passes them on: `CORRUPT` has the text that could not be read, `ORIGIN` its file, and `REFUSED`
the reason why a row is no change. Each is refused like a value that does not fit its column, and the rest of the batch
is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from livejoin.changes.kinds import KINDS, no_kind, of_no_kind
from livejoin.checkpoint.incoming.leaving import leaving
from livejoin.schema import CHANGE_TYPE, CORRUPT, ORIGIN, REFUSED, WITHOUT, Table
from livejoin.shown import shortened

TRUNCATE = "truncate"
"""What `CHANGE_TYPE` is of the deletion of all rows, in a stream that also has `WITHOUT`."""
_SHOWN = 200  # characters of a text, and of a list of columns


def malformed(table: Table, changes: pa.Table) -> dict[int, str]:
    """The rows that are no changes of a table, by their positions, each with the reason.

    Args:
        table: The table, with the columns that are kept.
        changes: The rows that came.

    Cost: some 13 ns a row if all are changes, and a message for each other row.

    >>> from livejoin.sql import parse_columns
    >>> rows = pa.table({"id": [1, 2], "_change_type": ["insert", None]})
    >>> malformed(parse_columns("T", "id BIGINT"), rows)[1][:30]
    '_change_type is NULL; allowed '
    """
    found: dict[int, str] = {}
    if CHANGE_TYPE in changes.column_names:
        is_keyed = bool(table.primary_key)
        types = changes.column(CHANGE_TYPE)
        rows = of_no_kind(types, len(KINDS) - (not is_keyed))
        kinds = types.take(rows).to_pylist()
        allowed = (TRUNCATE,) if WITHOUT in changes.column_names else ()
        said = {kind: no_kind(kind, table, is_keyed) for kind in set(kinds) if kind not in allowed}
        found = {row: said[kind] for row, kind in zip(rows.tolist(), kinds, strict=True) if kind in said}
    found |= leaving(table, changes)
    columns = ", ".join(f"{column.name} {column.declared}" for column in table.columns)
    wanted = f"of its columns these are kept: {shortened(columns, _SHOWN)}"
    files = dict(_texts(changes, ORIGIN))
    for row, text in _texts(changes, CORRUPT):
        shown = shortened(repr(text), _SHOWN)
        found[row] = f"what came is no row of the table: {shown}{_within(files, row)}; {wanted}"
    found |= ((row, f"{why}{_within(files, row)}") for row, why in _texts(changes, REFUSED))
    return found


def _within(files: Mapping[int, str], row: int) -> str:
    """The file of a row, for a message; empty if it is not known."""
    return f", in the file {files[row]!r}" if row in files else ""


def without_file(reason: str, file: str | None) -> str:
    """The reason for a row that has its file beside it, in `ORIGIN`: without the file.

    >>> without_file("no row: 'x', in the file '/in/1.csv'; of its columns ...", "/in/1.csv")
    "no row: 'x'; of its columns ..."
    """
    return reason if file is None else reason.replace(_within({0: file}, 0), "", 1)


def line_of(change: pa.Table) -> int:
    """The line of its file where an unreadable text stands, from 1; 0 if it is not found.

    Args:
        change: One row as it came, with `CORRUPT` and `ORIGIN`.

    Cost: the file is read up to there. Of several equal lines the first one is given.
    """
    if not {CORRUPT, ORIGIN} <= {*change.column_names}:
        return 0
    text, file = change.column(CORRUPT)[0].as_py(), change.column(ORIGIN)[0].as_py()
    if not text or not file:
        return 0
    wanted = text.encode()
    with suppress(OSError), Path(file).open("rb") as lines:
        return next((number for number, line in enumerate(lines, 1) if line.rstrip(b"\r\n") == wanted), 0)
    return 0


def of_changes_alone(changes: pa.Table) -> pa.Table:
    """Changes without the columns `CORRUPT`, `ORIGIN` and `REFUSED`."""
    own = [name for name in (CORRUPT, ORIGIN, REFUSED) if name in changes.column_names]
    return changes.drop_columns(own) if own else changes


def _texts(changes: pa.Table, name: str) -> Iterator[tuple[int, str]]:
    """The rows that have a text in a column, with the text."""
    if name in changes.column_names and changes.column(name).null_count < changes.num_rows:
        rows = np.flatnonzero(changes.column(name).is_valid().to_numpy())
        yield from zip(rows.tolist(), changes.column(name).take(rows).to_pylist(), strict=True)
