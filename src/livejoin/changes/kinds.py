"""Change types: their names, and a fast reader for Arrow columns of them.

The reader compares bytes. A commit of 100 rows takes some 100 microseconds in all; Arrow's own functions took 27 of
them for the change types.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.kernels.values.change_types import SIGN_BYTES, read_kinds
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.words import Words

KINDS = ("insert", "delete", "update_preimage", "update_postimage", "upsert")
"""The change types; the last one only of changes by key."""

_TEXTS = np.frombuffer("".join(KINDS).encode(), np.uint8).copy()
_BEGINS = np.cumsum([0, *map(len, KINDS)])
_SHORTS = np.array([int.from_bytes(kind.encode(), "little") if len(kind) == SIGN_BYTES else 0 for kind in KINDS])
_OFFSETS = {pa.string(): np.int32, pa.large_string(): np.int64}


def kinds_of_texts(values: pa.Array, known: int) -> Words | None:
    """The place of each change type among the first ``known`` of `KINDS`.

    Args:
        values: An array that passed ``validate(full=True)``; a dictionary may have no texts but change types.
        known: How many of the `KINDS` are allowed.

    Returns:
        int64, one a row. None if one is NULL or unknown, or if the array has another type: the caller then asks Arrow.

    Cost: 7 microseconds, and 2 ns a row, 20 ns of an update; in a dictionary 4 ns a row.

    >>> kinds_of_texts(pa.array(["delete", "insert"]), 4).tolist(), kinds_of_texts(pa.array(["upsert"]), 4)
    ([1, 0], None)
    """
    if values.null_count:
        return None
    if pa.types.is_dictionary(values.type):
        places = kinds_of_texts(values.dictionary, known)
        return None if places is None else places[values.indices.to_numpy()]
    if values.type == pa.string_view():  # what Polars gives
        values = values.cast(pa.string())
    width = _OFFSETS.get(values.type)
    if width is None:
        return None
    found = np.empty(len(values), np.int64)
    _, offsets, data = values.buffers()
    if data is None:  # of no row, or of empty texts
        return None if len(values) else found
    bounds = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1]
    text = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    if width is np.int64:
        bounds = (bounds - bounds[0]).astype(np.int32)
    bounds.flags.writeable = text.flags.writeable = False  # so that there is one compiled form
    return found if read_kinds(bounds, text, _TEXTS, _BEGINS[: known + 1], _SHORTS, found) else None


def of_no_kind(types: pa.ChunkedArray, known: int) -> Words:
    """The rows whose change type is not among the first ``known`` of `KINDS`. Cost: some 13 ns a row.

    >>> of_no_kind(pa.chunked_array([["insert", None, "upsert", "remove"]]), 4).tolist()
    [1, 2, 3]
    """
    found = pc.is_in(types, pa.array(KINDS[:known], pa.string()))
    return np.flatnonzero(~found.to_numpy()) if not pc.all(found, min_count=0).as_py() else np.empty(0, np.int64)


def no_kind(value: str | None, table: Table, keyed: bool) -> str:
    """The message for an unknown change type.

    Args:
        value: The change type.
        table: The table.
        keyed: Whether the table's changes may go by key.
    """
    shown = "NULL" if value is None else repr(value)
    why = ""
    if value == KINDS[-1]:
        why = "no change goes by key here" if table.primary_key else "the table has no PRIMARY KEY to upsert by"
        why = f", and {why}"
    allowed = ", ".join(KINDS if keyed else KINDS[:-1])
    return f"{CHANGE_TYPE} is {shown}{why}; allowed are {allowed}; without the column every row is an insert"
