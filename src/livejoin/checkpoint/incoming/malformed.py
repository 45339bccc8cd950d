"""What comes in a stream beside changes: texts that are no rows of their table, and rows whose kind there is not.

Who reads a stream lets them come: in `CORRUPT` the text that could not be read, in `REFUSED` why something is no
change. Each is refused like a value that its column does not take, and the rest of the batch is applied.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from livejoin.changes.kinds import KINDS, no_kind, of_no_kind
from livejoin.checkpoint.incoming.leaving import leaving
from livejoin.schema import CHANGE_TYPE, CORRUPT, REFUSED, WITHOUT, Table
from livejoin.shown import shortened

TRUNCATE = "truncate"
"""What `CHANGE_TYPE` is of the deletion of all rows, in a stream that also has `WITHOUT`."""
_SHOWN = 200  # characters of a text, and of a list of columns


def malformed(table: Table, changes: pa.Table) -> dict[int, str]:
    """What is no change of a table, by its place among those that came, with the reason.

    Args:
        table: The table, with the columns that are kept.
        changes: What came.

    Cost: some 13 ns a row where all are changes, a message for each other one.

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
    for row, text in _texts(changes, CORRUPT):
        found[row] = f"what came is no row of the table: {shortened(repr(text), _SHOWN)}; {wanted}"
    found |= _texts(changes, REFUSED)
    return found


def of_changes_alone(changes: pa.Table) -> pa.Table:
    """Changes without the columns that say what is none."""
    own = [name for name in (CORRUPT, REFUSED) if name in changes.column_names]
    return changes.drop_columns(own) if own else changes


def _texts(changes: pa.Table, name: str) -> Iterator[tuple[int, str]]:
    """The rows that have a text in a column, with it."""
    if name in changes.column_names and changes.column(name).null_count < changes.num_rows:
        rows = np.flatnonzero(changes.column(name).is_valid().to_numpy())
        yield from zip(rows.tolist(), changes.column(name).take(rows).to_pylist(), strict=True)
