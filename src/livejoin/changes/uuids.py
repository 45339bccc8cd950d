"""UUIDs as text: 36 characters in lower case with hyphens, whatever form they come in.

==========  ===================================================  =================================
Column      Arrow                                                Python object
==========  ===================================================  =================================
UUID        the extension type ``arrow.uuid``, 16 bytes each,    uuid.UUID; str as in Arrow
            text in either case, with the hyphens or without
==========  ===================================================  =================================
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.encoding import plain
from livejoin.changes.source import Values
from livejoin.errors import ChangeValueError
from livejoin.schema import Column, Table
from livejoin.schema.uuids import PATTERN, uuid_text
from livejoin.shown import shown, shown_scalar

_BYTES = 16
_CHARACTERS = 36
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_HYPHENS = (8, 13, 18, 23)
_types = pa.types


def uuid_texts(values: Values, column: Column, table: Table, sound: bool) -> Values:
    """The texts of UUIDs; NULL stays NULL.

    Args:
        values: The column as given.
        column, table: Named in errors.
        sound: Whether Arrow has validated the values in full.

    Raises:
        ChangeValueError: A value is no UUID.

    Cost: O(values).
    """
    if isinstance(values, tuple):
        return tuple(None if value is None else _text(value, row, column, table) for row, value in enumerate(values))
    decoded = plain(values, column, table, sound)
    whole = decoded.chunk(0) if decoded.num_chunks == 1 else decoded.combine_chunks()
    if isinstance(whole, pa.ExtensionArray) and whole.type.extension_name == "arrow.uuid":
        whole = whole.storage
    kind = whole.type
    if _types.is_null(kind) or not len(whole):
        return pa.chunked_array([pa.nulls(len(whole), pa.string())])
    if _types.is_fixed_size_binary(kind) and kind.byte_width == _BYTES:
        return pa.chunked_array([_of_bytes(whole)])
    if not (_types.is_string(kind) or _types.is_large_string(kind) or _types.is_string_view(kind)):
        row = -1 if whole.null_count == len(whole) else pc.index(whole.is_valid(), True).as_py()
        found = f"column {column.name!r} is UUID, but its data has the Arrow type {kind}"
        msg = f"{found}; allowed: {_ALLOWED}; cast it first"
        raise ChangeValueError(msg, table.name, row)
    lowered = pc.utf8_lower(whole.cast(pa.string()))
    fits = pc.match_substring_regex(lowered, PATTERN)
    if pc.all(fits).as_py() is False:
        row = pc.index(fits, False).as_py()
        raise _misfit(shown_scalar(whole[row]), row, column, table)
    return pa.chunked_array([pc.replace_substring_regex(lowered, PATTERN, r"\1-\2-\3-\4-\5")])


_ALLOWED = "uuid.UUID, 16 bytes in Arrow, and text as 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'"


def _text(value: Any, row: int, column: Column, table: Table) -> str:
    if isinstance(value, UUID):
        return str(value)
    found = uuid_text(value) if isinstance(value, str) else None
    if found is None:
        raise _misfit(shown(value), row, column, table)
    return found


def _of_bytes(values: pa.Array) -> pa.Array:
    """The texts of 16 bytes each."""
    count = len(values)
    data = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * _BYTES : (values.offset + count) * _BYTES]
    digits = np.empty((count, 2 * _BYTES), np.uint8)
    digits[:, 0::2] = _DIGITS[data.reshape(count, _BYTES) >> 4]
    digits[:, 1::2] = _DIGITS[data.reshape(count, _BYTES) & 15]
    out = np.full((count, _CHARACTERS), ord("-"), np.uint8)
    out[:, [place for place in range(_CHARACTERS) if place not in _HYPHENS]] = digits
    bounds = np.arange(count + 1, dtype=np.int64) * _CHARACTERS
    texts = pa.Array.from_buffers(pa.large_string(), count, [None, pa.py_buffer(bounds), pa.py_buffer(out)])
    return pc.if_else(values.is_valid(), texts, None).cast(pa.string())


def _misfit(value: str, row: int, column: Column, table: Table) -> ChangeValueError:
    return ChangeValueError(f"value {value} of column {column.name!r} is no UUID; allowed: {_ALLOWED}", table.name, row)
