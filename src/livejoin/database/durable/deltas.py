"""The delta of a view as bytes, and back.

Each column is a vector of words, with its strings beside it as the changes of a commit have them
(`livejoin.state.portable`). A list that an aggregate made has two vectors: how long each list is, and the elements of
all. Law: `read` of `written` is the delta, but that -0.0 is 0.0 and all NaN are one, which SQL cannot tell apart.
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

from livejoin.dataflow.deltas.arrow_delta import kind_names
from livejoin.dataflow.deltas.message import KIND_NAMES
from livejoin.schema import Column, SqlType, is_made_list
from livejoin.state.codec import Codec, fixed_words
from livejoin.state.portable import DECIMAL_BYTES, Coded, Portable, portable, words_here
from livejoin.words import NULL_CODE, Words

_HEAD = struct.Struct("<QqB")  # rows, their version, whether each has its own
_VECTOR = struct.Struct("<QBIQI")  # values, whether a mask follows, strings, their bytes, decimals
_NAMES = pa.array(KIND_NAMES)
_LENGTHS = SqlType.integer(64)
_NO_LIST = -1  # the length of a list that is NULL
_NO_STRINGS = Portable(np.empty((0, 0), np.int64), np.empty(0, np.uint8), np.empty(0, np.int32), np.empty(0, np.uint8))


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
    columns = [_whole(column) for column in delta.columns]
    kinds = pc.index_in(columns[-2], _NAMES).to_numpy().astype(np.int8)
    versions = columns[-1].to_numpy()
    has_versions = bool((versions != versions[0]).any())
    pieces = [_HEAD.pack(delta.num_rows, int(versions[0]), has_versions), kinds.tobytes()]
    if has_versions:
        pieces.append(versions.tobytes())
    for values, type in zip(columns, types, strict=False):
        if is_made_list(values.type):
            lengths = pc.fill_null(pc.list_value_length(values), _NO_LIST).cast(pa.int64())
            pieces += _vector(lengths, _LENGTHS)
            pieces += _vector(values.flatten(), type)
        else:
            pieces += _vector(values, type)
    return b"".join(pieces)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _vector(values: pa.Array, type: SqlType) -> list[bytes]:
    if values.type != type.arrow:
        values = values.cast(type.arrow)
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    mask, beside = None, _NO_STRINGS
    words = np.empty(len(values), np.int64)
    if type.kind in ("string", "binary"):
        words[:] = np.arange(len(values))
        _, offsets, data = values.buffers()
        ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
        heap = np.frombuffer(b"" if data is None else data, np.uint8)[ends[0] : ends[-1]]
        beside = Portable(words, heap, np.diff(ends), beside.decimals)
    elif type.is_payload or type.kind == "decimal":
        codec = Codec()
        words = codec.encode_column(pa.chunked_array([values]), Column("c", type))
        beside = portable(codec, words[np.newaxis], Coded.of([type]))
        words = beside.words[0]
    else:
        fixed_words(values, type, words)
        if ((words == NULL_CODE) if valid is None else (words == NULL_CODE) & valid).any():
            mask = np.ones(len(values), np.bool_) if valid is None else valid  # a BIGINT that is the word of NULL
    if valid is not None:
        words[~valid] = NULL_CODE
    lengths, heap, decimals = beside.lengths, beside.heap, beside.decimals
    head = _VECTOR.pack(len(values), mask is not None, lengths.size, heap.size, decimals.size // DECIMAL_BYTES)
    masked = b"" if mask is None else mask.tobytes()
    return [head, masked, words.tobytes(), lengths.tobytes(), heap.tobytes(), decimals.tobytes()]


def read(data: bytes | bytearray, types: Sequence[SqlType], schema: pa.Schema) -> pa.Table:
    """The delta of bytes.

    Args:
        data: What `written` gave.
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
    columns = list[pa.Array]()
    for field, type in zip(schema, types, strict=False):
        values = _read_vector(reader, _LENGTHS if is_made_list(field.type) else type)
        if is_made_list(field.type):
            values = _lists(values.to_numpy(), _read_vector(reader, type), field.type)
        if len(values) != rows:
            msg = f"a column of {len(values)} values in a delta of {rows} rows"
            raise ValueError(msg)
        columns.append(values if values.type == field.type else values.cast(field.type))
    if not reader.is_at_end:
        msg = "a delta has bytes behind its end"
        raise ValueError(msg)
    return pa.Table.from_arrays([*columns, kind_names(kinds), pa.array(versions)], schema=schema)


def _read_vector(reader: Reader, type: SqlType) -> pa.Array:
    count, is_masked, strings, string_bytes, decimals = reader.fields(_VECTOR)
    mask = reader.array(np.bool_, count) if is_masked else None
    words = reader.array(np.int64, 1, count)
    lengths = reader.array(np.int32, strings)
    heap = reader.array(np.uint8, string_bytes)
    wide = reader.array(np.uint8, decimals * DECIMAL_BYTES)
    if strings and (int(lengths.min()) < 0 or int(lengths.sum(dtype=np.int64)) != string_bytes):
        msg = "the strings of a delta are none"
        raise ValueError(msg)
    codec = Codec()
    line: Words = words_here(codec, Portable(words, heap, lengths, wide), Coded.of([type]))[0]
    if mask is None:
        return codec.decode(line, type)
    return pa.array(line, mask=~mask).cast(type.arrow)


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
