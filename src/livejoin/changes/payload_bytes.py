"""Values of payload (ARRAY, STRUCT, MAP, VARIANT) as runs of bytes, and back.

Law: two canonical values of one type have equal bytes iff they are equal. NULL equals NULL, -0.0 equals 0.0, NaN equals
NaN, and the entries of a map have no order, since canonical maps are sorted (`livejoin.changes.payload`). So bytes
decide which row a deletion removes. Bytes serve no other purpose.

A value is written column by column, so that no step runs once for each value. With n = 1 for the value itself:

=============  ========================================================================================================
n of any type  n bytes that say which values are not NULL; then the values, where NULL is zeros or has no bytes
fixed width    the values, little-endian, n times the width
STRING, ...    n lengths of 4 bytes, then the bytes
ARRAY, MAP     n lengths of 4 bytes, then all elements; for a map the keys, then the values
STRUCT         each field in turn, n values of it
=============  ========================================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import CapacityError, StateError
from livejoin.schema import SqlType
from livejoin.words import Words

Bytes = npt.NDArray[np.uint8]

_WIDTHS = {"boolean": 1, "date": 4, "timestamp": 8, "decimal": 16}
_LENGTH = 4
_MOST = (1 << 31) - 1
_BINARY = SqlType("binary")
_OF_VARIANT = (("value", _BINARY), ("metadata", _BINARY))


def encode_payload(values: pa.Array, type: SqlType) -> tuple[Bytes, Words]:
    """The bytes of canonical values in one array, and the begin of each value in it, with the end. NULL has no bytes.

    Cost: O(bytes), some ten nanoseconds each.

    >>> kind = SqlType.array(SqlType.integer(8))
    >>> data, bounds = encode_payload(pa.array([[1, None], None, []], kind.arrow), kind)
    >>> data.tolist(), bounds.tolist()
    ([1, 2, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0], [0, 9, 9, 14])
    """
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    rows = values if valid.all() else values.drop_null()
    pieces: list[tuple[Bytes, Words]] = []
    _write(rows, type, np.ones(len(rows), np.int64), pieces)
    sizes = np.zeros(len(values), np.int64)
    sizes[valid] = sum((size for _, size in pieces), np.zeros(len(rows), np.int64))
    bounds = _bounds(sizes)
    out = np.empty(int(bounds[-1]), np.uint8)
    at = bounds[:-1][valid]
    for data, size in pieces:
        out[_places(at, size)] = data
        at = at + size
    return out, bounds


def decode_payload(data: Bytes, bounds: Words, valid: npt.NDArray[np.bool_], type: SqlType) -> pa.Array:
    """The values from the bytes that `encode_payload` wrote.

    Args:
        data: The bytes.
        bounds: The position of each value in ``data``, and the end.
        valid: Which values are not NULL.
        type: The type of the values.

    Raises:
        StateError: A length points beyond the end of the bytes.
        CapacityError: More than 2 GiB in one part of the values.
    """
    reader = _Reader(data, bounds[:-1][valid].copy(), bounds[1:][valid])
    found = reader.read(type, np.ones(int(valid.sum()), np.int64))
    if not np.array_equal(reader.at, reader.end):
        raise _damaged()
    if valid.all():
        return found
    places = np.cumsum(valid) - 1
    whole = found.take(pa.array(places, mask=~valid))
    return _with_whole_parts(whole) if type.kind == "variant" else whole


def _with_whole_parts(variants: pa.Array) -> pa.Array:
    """Variants without NULL in their parts, since Spark refuses others."""
    valid = variants.is_valid().to_numpy(zero_copy_only=False)
    parts = [part.fill_null(b"") for part in variants.flatten()]
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(variants.type, len(variants), [validity], children=parts)


def _bounds(lengths: Words) -> Words:
    bounds = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _sums(lengths: Words, counts: Words) -> Words:
    """The sums of the next ``counts[0]`` lengths, of the next ``counts[1]``, and so on."""
    return np.diff(_bounds(lengths)[_bounds(counts)])


def _places(begins: Words, lengths: Words) -> Words:
    """The positions of all bytes of some runs."""
    return np.repeat(begins - _bounds(lengths)[:-1], lengths) + np.arange(int(lengths.sum()))


def _write(values: pa.Array, type: SqlType, counts: Words, pieces: list[tuple[Bytes, Words]]) -> None:
    """Append the pieces of values: bytes, and the number of bytes of each row. Row i has ``counts[i]`` values."""
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    pieces.append((valid.view(np.uint8), counts))
    match type.kind:
        case "string" | "binary":
            lengths, bounds = _lengths(values, valid)
            _, _, buffer = values.buffers()
            heap = np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
            pieces.append((lengths.astype(np.int32).view(np.uint8), counts * _LENGTH))
            pieces.append((heap[_places(bounds, lengths)], _sums(lengths, counts)))
        case "array" | "map":
            lengths, bounds = _lengths(values, valid)
            pieces.append((lengths.astype(np.int32).view(np.uint8), counts * _LENGTH))
            chosen, within = pa.array(_places(bounds, lengths)), _sums(lengths, counts)
            parts = (values.keys, values.items) if type.kind == "map" else (values.values,)
            for part, (_, kind) in zip(parts, type.inner, strict=True):
                _write(part.take(chosen), kind, within, pieces)
        case "struct" | "variant":
            for part, (_, kind) in zip(values.flatten(), type.inner or _OF_VARIANT, strict=True):
                _write(part, kind, counts, pieces)
        case _:
            fixed = _fixed(values, type, valid)
            width = _width(type)
            pieces.append((np.ascontiguousarray(fixed).view(np.uint8).reshape(-1), counts * width))


def _lengths(values: pa.Array, valid: npt.NDArray[np.bool_]) -> tuple[Words, Words]:
    """The length of each run (0 for NULL), and its begin."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    found = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    bounds = found.astype(np.int64)
    return np.where(valid, np.diff(bounds), 0), bounds[:-1]


def _fixed(values: pa.Array, type: SqlType, valid: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Fixed-width values with zero for NULL; doubles with one zero and one NaN."""
    if type.kind == "boolean":
        return np.asarray(values.fill_null(False).cast(pa.uint8()).to_numpy())
    kind = _dtype(type)
    items = 2 if type.kind == "decimal" else 1
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return np.zeros((len(values), items), kind)
    found = np.frombuffer(buffer, kind)[values.offset * items : (values.offset + len(values)) * items].copy()
    if type.kind == "double":
        found += 0.0
        found[np.isnan(found)] = np.nan
    found = found.reshape(-1, items)
    found[~valid] = 0
    return found


def _dtype(type: SqlType) -> np.dtype[Any]:
    if type.kind == "double":
        return np.dtype(np.float32 if type.bits else np.float64)
    return np.dtype(f"i{min(_width(type), 8)}")


def _width(type: SqlType) -> int:
    if type.kind == "double":
        return _dtype(type).itemsize
    return _WIDTHS.get(type.kind) or type.bits // 8


def _damaged() -> StateError:
    return StateError("the bytes of an array, struct, map or variant are none; they are damaged or from elsewhere")


class _Reader:
    """Reads the pieces of rows in turn; mutable.

    Args:
        data: The bytes of all rows.
        at: For each row the position of the next piece.
        end: For each row the end of its bytes.
    """

    def __init__(self, data: Bytes, at: Words, end: Words) -> None:
        self.data, self.at, self.end = data, at, end

    def read(self, type: SqlType, counts: Words) -> pa.Array:
        """Values of a type: ``counts`` says how many each row has."""
        total = int(counts.sum())
        valid = self._bytes(counts)
        validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        match type.kind:
            case "string" | "binary":
                lengths, bounds = self._lengths(counts)
                heap = self._bytes(_sums(lengths, counts))
                return pa.Array.from_buffers(type.arrow, total, [validity, bounds, pa.py_buffer(heap)])
            case "array" | "map":
                lengths, bounds = self._lengths(counts)
                within = _sums(lengths, counts)
                parts = [self.read(kind, within) for _, kind in type.inner]
                if type.kind == "map":
                    if parts[0].null_count:  # which would end the process in Arrow
                        raise _damaged()
                    entries = pa.struct([type.arrow.key_field, type.arrow.item_field])
                    parts = [pa.Array.from_buffers(entries, int(within.sum()), [None], children=parts)]
                return pa.Array.from_buffers(type.arrow, total, [validity, bounds], children=parts)
            case "struct" | "variant":
                parts = [self.read(kind, counts) for _, kind in type.inner or _OF_VARIANT]
                found = pa.Array.from_buffers(type.arrow, total, [validity], children=parts)
                return _with_whole_parts(found) if type.kind == "variant" else found
            case "boolean":
                bits = np.packbits(self._bytes(counts), bitorder="little")
                return pa.Array.from_buffers(type.arrow, total, [validity, pa.py_buffer(bits)])
            case _:
                found = self._bytes(counts * _width(type))
                return pa.Array.from_buffers(type.arrow, total, [validity, pa.py_buffer(found)])

    def _lengths(self, counts: Words) -> tuple[Words, pa.Buffer]:
        lengths = self._bytes(counts * _LENGTH).view(np.int32).astype(np.int64)
        if (lengths < 0).any():
            raise _damaged()
        bounds = _bounds(lengths)
        if bounds[-1] > _MOST:
            msg = f"one part of the values has {bounds[-1]} bytes or elements; Arrow holds 2^31 - 1: read fewer rows"
            raise CapacityError(msg)
        return lengths, pa.py_buffer(bounds.astype(np.int32))

    def _bytes(self, lengths: Words) -> Bytes:
        """The next ``lengths`` bytes of each row."""
        if (lengths > self.end - self.at).any():
            raise _damaged()
        found = self.data[_places(self.at, lengths)]
        self.at = self.at + lengths
        return found
