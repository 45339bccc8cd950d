"""The delta of a view as bytes, and back.

The columns are words with their strings beside them, as the changes of a commit are (`livejoin.state.portable`). Of a
list that an aggregate made this is how long each list is, and the elements of all lists are a block of their own.

Law: `read` of `written` is the delta, but that -0.0 is 0.0 and all NaN are one, which SQL cannot tell apart.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.aside import import_what_arrow_wants
from livejoin.dataflow.deltas.arrow_delta import kind_names
from livejoin.dataflow.deltas.message import KIND_NAMES
from livejoin.schema import Column, SqlType, is_made_list
from livejoin.state.codec import Codec, fixed_words
from livejoin.state.portable import DECIMAL_BYTES, Coded, Portable, portable, words_here
from livejoin.words import NULL_CODE, WIDE_BASE, Words

_HEAD = struct.Struct("<QqB")  # rows, their version, whether each has its own
_BLOCK = struct.Struct("<IQBIQI")  # columns, rows, whether a mask follows, strings, their bytes, decimals
_NUMBERS: dict[str, int] = {name: number for number, name in enumerate(KIND_NAMES)}
_LENGTHS = SqlType.integer(64)
_NO_LIST = -1  # the length of a list that is NULL


class Reader:
    """Reads bytes from their beginning; mutable.

    Every method raises ValueError or struct.error where the bytes end before.
    """

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self.at = 0

    def fields(self, of: struct.Struct) -> tuple[Any, ...]:
        """The fields of a struct."""
        found = of.unpack_from(self._body, self.at)
        self.at += of.size
        return found

    def raw(self, size: int) -> memoryview:
        """So many bytes."""
        if size > len(self._body) - self.at:
            msg = f"{size} bytes are said to follow, of which {len(self._body) - self.at} are there"
            raise ValueError(msg)
        self.at += size
        return self._body[self.at - size : self.at]

    def array(self, kind: type[np.generic], *shape: int) -> npt.NDArray[Any]:
        """An array."""
        size = math.prod(shape) * np.dtype(kind).itemsize
        return np.frombuffer(self.raw(size), kind).reshape(shape).copy()  # aligned, and writable, as kernels have it

    @property
    def is_at_end(self) -> bool:
        """Whether all was read."""
        return self.at == len(self._body)


def written(delta: pa.Table, types: Sequence[SqlType]) -> bytes:
    """A delta that has rows, as bytes.

    Args:
        delta: The delta, as a view shows it.
        types: The types of the view's columns; of a list that an aggregate made, that of its elements.

    Cost: O(values).
    """
    import_what_arrow_wants()
    columns = [_whole(column) for column in delta.columns]
    kinds = bytes([_NUMBERS[kind] for kind in columns[-2].to_pylist()])
    versions = columns[-1].to_numpy()
    has_versions = bool(versions[0] != versions[-1])  # they ascend
    pieces = [_HEAD.pack(delta.num_rows, int(versions[0]), has_versions), kinds]
    if has_versions:
        pieces.append(versions.tobytes())
    plain: list[tuple[pa.Array, SqlType]] = []
    elements: list[tuple[pa.Array, SqlType]] = []
    for values, type in zip(columns, types, strict=False):
        if is_made_list(values.type):
            lengths = pc.fill_null(pc.list_value_length(values), _NO_LIST)
            plain.append((lengths, _LENGTHS))
            elements.append((values.flatten(), type))
        else:
            plain.append((values, type))
    pieces += _block(plain, delta.num_rows)
    for values, type in elements:
        pieces += _block([(values, type)], len(values))
    return b"".join(pieces)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _block(columns: Sequence[tuple[pa.Array, SqlType]], rows: int) -> list[bytes]:
    """Columns as words; where a value has the word of NULL, as a BIGINT may, a mask says which ones are NULL."""
    words = np.empty((len(columns), rows), np.int64)
    lengths: list[npt.NDArray[Any]] = []
    heaps: list[npt.NDArray[Any]] = []
    decimals: list[npt.NDArray[Any]] = []
    nulls: list[tuple[int, npt.NDArray[np.bool_]]] = []
    strings = wide = 0
    for line, (given, type) in enumerate(columns):
        values = given if given.type == type.arrow else given.cast(type.arrow)
        if values.null_count:
            nulls.append((line, values.is_null().to_numpy(zero_copy_only=False)))
        if type.kind in ("string", "binary"):
            _, offsets, data = values.buffers()
            ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + rows + 1]
            lengths.append(ends[1:] - ends[:-1])
            if data is not None:
                heaps.append(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]])
            words[line] = np.arange(strings, strings + rows)
            strings += rows
        elif type.is_payload or type.kind == "decimal":
            codec = Codec()
            coded = codec.encode_column(pa.chunked_array([values]), Column("c", type))
            found = portable(codec, coded[np.newaxis], Coded.of([type]))
            coded = found.words[0]
            if type.is_payload:
                coded += strings
            else:
                coded[coded >= WIDE_BASE] += wide
            words[line] = coded  # NULL is written below
            lengths.append(found.lengths)
            heaps.append(found.heap)
            decimals.append(found.decimals)
            strings, wide = strings + found.lengths.size, wide + found.decimals.size // DECIMAL_BYTES
        else:
            fixed_words(values, type, words[line])
    mask = None
    taken = words == NULL_CODE
    for line, null in nulls:
        taken[line] &= ~null
    if taken.any():
        mask = np.zeros(words.shape, np.bool_)
    for line, null in nulls:
        words[line][null] = NULL_CODE
        if mask is not None:
            mask[line] = null
    of_strings, of_heaps, of_decimals = (_joined(parts) for parts in (lengths, heaps, decimals))
    size = 0 if not heaps else sum(heap.size for heap in heaps)
    head = _BLOCK.pack(len(columns), rows, mask is not None, strings, size, wide)
    return [head, b"" if mask is None else mask.tobytes(), words.tobytes(), of_strings, of_heaps, of_decimals]


def _joined(parts: Sequence[npt.NDArray[Any]]) -> bytes:
    return b"".join([part.tobytes() for part in parts])


def read(data: bytes | bytearray, types: Sequence[SqlType], schema: pa.Schema) -> pa.Table:
    """The delta of bytes.

    Args:
        data: The bytes, as from `written`.
        types: The types of the view's columns.
        schema: The schema of the view's deltas.

    Raises:
        ValueError, LookupError, struct.error, StateError: The bytes are no delta of such a view.

    Cost: O(values).
    """
    reader = Reader(memoryview(data))
    rows, version, has_versions = reader.fields(_HEAD)
    kinds = reader.array(np.int8, rows)
    if rows and not 0 <= kinds.min() <= kinds.max() < len(KIND_NAMES):
        msg = "rows of a delta that neither come nor go"
        raise ValueError(msg)
    versions = reader.array(np.int64, rows) if has_versions else np.full(rows, version)
    pairs = list(zip(schema, types, strict=False))
    kept = [_LENGTHS if is_made_list(field.type) else type for field, type in pairs]
    columns = _read_block(reader, kept, rows)
    for place, (field, type) in enumerate(pairs):
        values = columns[place]
        if is_made_list(field.type):
            values = _lists(values.to_numpy(), _read_block(reader, [type], None)[0], field.type)
        columns[place] = values if values.type == field.type else values.cast(field.type)
    if not reader.is_at_end:
        msg = "a delta has bytes behind its end"
        raise ValueError(msg)
    return pa.Table.from_arrays([*columns, kind_names(kinds), pa.array(versions)], schema=schema)


def _read_block(reader: Reader, types: Sequence[SqlType], expected: int | None) -> list[pa.Array]:
    """The columns of a block, of so many rows if that is known."""
    columns, rows, is_masked, strings, string_bytes, decimals = reader.fields(_BLOCK)
    if columns != len(types) or expected not in (None, rows):
        msg = f"{columns} columns of {rows} values in the place of {len(types)} of {expected}"
        raise ValueError(msg)
    mask = reader.array(np.bool_, columns, rows) if is_masked else None
    words = reader.array(np.int64, columns, rows)
    lengths = reader.array(np.int32, strings)
    heap = reader.array(np.uint8, string_bytes)
    wide = reader.array(np.uint8, decimals * DECIMAL_BYTES)
    if (strings and int(lengths.min()) < 0) or int(lengths.sum(dtype=np.int64)) != string_bytes:
        msg = "the strings of a delta are none"
        raise ValueError(msg)
    codec, found = Codec(), list[pa.Array]()
    here = words_here(codec, Portable(words, heap, lengths, wide), Coded.of(types))
    for line, type in enumerate(types):
        if mask is not None and ((here[line] == NULL_CODE) & ~mask[line]).any():
            found.append(pa.array(here[line], mask=mask[line]).cast(type.arrow))
        else:
            found.append(codec.decode(here[line], type))
    return found


def _lists(lengths: Words, elements: pa.Array, type: pa.DataType) -> pa.Array:
    """Lists by their lengths."""
    if (lengths < _NO_LIST).any() or int(np.maximum(lengths, 0).sum()) != len(elements):
        msg = f"lists of {len(elements)} elements whose lengths are others"
        raise ValueError(msg)
    ends = np.zeros(lengths.shape[0] + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=ends[1:])
    begins = pa.array(ends.astype(np.int32), mask=np.append(lengths == _NO_LIST, False))
    values = elements if elements.type == type.value_type else elements.cast(type.value_type)
    return pa.ListArray.from_arrays(begins, values, type=type)
