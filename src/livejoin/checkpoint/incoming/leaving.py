"""Changes that an append-only table refuses: those that delete or replace a row.

An update is refused as a whole: without the deletion of the old row, the new one would stand beside it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.schema import CHANGE_TYPE, Table

_LEAVE = pa.array(["delete", "update_preimage", "update_postimage", "upsert", "truncate"], pa.string())


def leaving(table: Table, changes: pa.Table) -> dict[int, str]:
    """The changes that an append-only table refuses, by their positions, each with the reason.

    Args:
        table: The table.
        changes: The table's changes, as they came.

    Cost: O(changes), in Arrow.

    >>> from livejoin.schema import TableSettings
    >>> from livejoin.sql import parse_columns
    >>> events = parse_columns("events", "id INT", TableSettings(append_only=True))
    >>> list(leaving(events, pa.table({"id": [1, 1], "_change_type": ["insert", "delete"]})))
    [1]
    """
    if not table.append_only or CHANGE_TYPE not in changes.column_names:
        return {}
    kinds = changes.column(CHANGE_TYPE).cast(pa.string())
    rows = np.flatnonzero(pc.is_in(kinds, _LEAVE).to_numpy())
    return dict(zip(rows.tolist(), map(_reason, kinds.take(pa.array(rows)).to_pylist()), strict=True))


def _reason(kind: str) -> str:
    return (
        f"{CHANGE_TYPE} is {kind!r}, and the table is append_only: rows come to it and none of them leaves or changes; "
        "declare it without append_only if they may"
    )
