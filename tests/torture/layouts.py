"""Values in every Arrow layout that can carry them, well-formed and broken, for `torture.inputs`."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

TEXTS = ("", "a", "é€😀", "\0", "no view has room for this text", "ab" * 200, "Ω" * 12, "'", "x\ny")
EDGES = {bits: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 1, -1, 7) for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Kind:
    """A column type: its values, the wider Arrow types that hold each of them, and an expression over x.

    The expression means in DuckDB what it means in Spark; their texts of a DOUBLE differ.
    """

    sql: str
    arrow: pa.DataType
    values: tuple[Any, ...]
    wider: tuple[pa.DataType, ...]
    expression: str = "CAST(x AS STRING)"


def _integer(sql: str, bits: int, arrow: pa.DataType) -> Kind:
    wide = tuple(t for b, t in ((16, pa.int16()), (32, pa.int32()), (64, pa.int64())) if b > bits)
    decimals = (pa.decimal128(38, 0), pa.decimal128(30, 5), pa.decimal256(50, 3))
    floats = (pa.float64(),) if bits < 64 else ()
    return Kind(sql, arrow, EDGES[bits], (*wide, *decimals, *floats))


DAY = (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29))
MOMENT = (
    dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(2024, 2, 29, 1, 2, 3, 456789),
    dt.datetime(2100, 1, 1),
)
MONEY = tuple(map(Decimal, ("0.00", "-0.01", "99999999.99", "-99999999.99", "1.10", "5.00")))
KINDS = {
    "text": Kind("STRING", pa.string(), TEXTS, (pa.large_string(), pa.string_view()), "upper(x)"),
    "tiny": _integer("TINYINT", 8, pa.int8()),
    "small": _integer("SMALLINT", 16, pa.int16()),
    "plain": _integer("INT", 32, pa.int32()),
    "big": _integer("BIGINT", 64, pa.int64()),
    "real": Kind("DOUBLE", pa.float64(), (0.0, -0.0, 1.5, -1e300, float("inf"), float("nan"), 5e-324), (), "x * 2"),
    "money": Kind("DECIMAL(10, 2)", pa.decimal128(10, 2), MONEY, (pa.decimal128(38, 2), pa.decimal256(60, 9))),
    "day": Kind("DATE", pa.date32(), DAY, (pa.date64(),)),
    "moment": Kind("TIMESTAMP", pa.timestamp("us"), MOMENT, (pa.timestamp("ns"), pa.timestamp("us", "Asia/Kolkata"))),
    "yes": Kind("BOOLEAN", pa.bool_(), (True, False), ()),
}
NAMES = tuple(KINDS)


# --- layouts: each keeps the values ----------------------------------------------------------------------------------


def _sliced(rng: random.Random, values: pa.Array) -> pa.Array:
    before, after = rng.randrange(9), rng.randrange(3)
    padded = pa.concat_arrays([pa.nulls(before, values.type), values, pa.nulls(after, values.type)])
    return padded.slice(before, len(values))


def _chunked(rng: random.Random, values: pa.Array) -> pa.ChunkedArray:
    cuts = sorted(rng.randrange(len(values) + 1) for _ in range(rng.randrange(4)))
    parts = [values.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]
    return pa.chunked_array(parts, values.type)


def _dictionary(rng: random.Random, values: pa.Array) -> pa.Array:
    """Entries may be NULL, repeated or unused, and a NULL may be one of an index or of an entry."""
    values = values.cast(pa.string()) if values.type == pa.string_view() else values
    entries = pa.concat_arrays([values.slice(0, 1), pa.nulls(1, values.type), values])
    indices = [None if not v.is_valid and rng.random() < 0.5 else i + 2 for i, v in enumerate(values)]
    kind = rng.choice((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()))
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), entries)


def _run_ends(rng: random.Random, values: pa.Array) -> pa.Array:
    length, kind = rng.randrange(1, 4), rng.choice((pa.int16(), pa.int32(), pa.int64()))
    ends = pa.array([length * (i + 1) for i in range(len(values))], kind)
    whole = pa.RunEndEncodedArray.from_arrays(ends, values)
    if length == 1:
        return whole
    return pa.chunked_array(
        [whole.slice(length * i + rng.randrange(length), 1) for i in range(len(values))], whole.type
    )


def _garbage_under_nulls(rng: random.Random, values: pa.Array) -> pa.Array:
    """The bytes under a NULL mean nothing, whatever they are."""
    if values.type != pa.string():
        return values
    parts = [b"\xe9\xff" if v is None else v.encode() for v in values.to_pylist()]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    valid = np.packbits([v.is_valid for v in values], bitorder="little") if len(values) else np.zeros(1, np.uint8)
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


LAYOUTS: tuple[Callable[[random.Random, pa.Array], Any], ...] = (
    _sliced,
    _dictionary,
    _run_ends,
    _garbage_under_nulls,
    lambda _, values: values,
)


def well_formed(rng: random.Random, kind: Kind, values: list[Any]) -> pa.Array | pa.ChunkedArray:
    """The values in some layout that livejoin takes."""
    array = pa.array(values, kind.arrow)
    if kind.wider and rng.random() < 0.4:
        wide = rng.choice(kind.wider)
        if not (pa.types.is_timestamp(wide) and wide.unit == "ns" and any(v and v.year > 2200 for v in values)):
            array = array.cast(wide)
    for layout in rng.sample(LAYOUTS, rng.randrange(3)):
        if isinstance(array, pa.ChunkedArray) or pa.types.is_run_end_encoded(array.type):
            break
        if not (pa.types.is_dictionary(array.type) and layout in (_dictionary, _garbage_under_nulls, _sliced)):
            array = layout(rng, array)
    if isinstance(array, pa.Array) and rng.random() < 0.3 and not pa.types.is_run_end_encoded(array.type):
        return _chunked(rng, array)
    return array


# --- broken data -----------------------------------------------------------------------------------------------------


def _from(kind: pa.DataType, length: int, *buffers: Any, **more: Any) -> pa.Array:
    return pa.Array.from_buffers(kind, length, [b if b is None else pa.py_buffer(b) for b in buffers], **more)


def latin1(kind: pa.DataType, rows: int, bad: int) -> pa.Array:
    """Texts of which one is not UTF-8."""
    raw = [b"M\xfcnchen, M\xfcnchen" if i == bad else b"Bern" for i in range(rows)]
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return pa.array(raw, binary[kind]).view(kind)


def broken(rng: random.Random) -> tuple[str, pa.Table]:
    """A kind of column, and a table with an array of it that is none, or whose values do not fit."""
    name, column, *spoilt = _broken_column(rng)
    table = pa.table({"x": column})
    for buffer, position, value in spoilt:
        buffer[position] = value  # behind Arrow's back, which looks at offsets when an array or a table is made
    return name, table


def _broken_column(rng: random.Random) -> tuple[Any, ...]:
    """A kind of column, an array, and what is to be changed in its buffers when it is in a table."""
    rows, text = rng.randrange(1, 6), rng.choice((pa.string(), pa.large_string(), pa.string_view()))
    bad = rng.randrange(rows)
    match rng.randrange(13):
        case 0:
            return "text", latin1(text, rows, bad)
        case 1:
            whole = latin1(text, rows + 2, bad + 1)
            return "text", whole.slice(1, rows)
        case 2:
            indices = pa.array([rng.randrange(rows) for _ in range(rows)] + [bad], pa.int8())
            return "text", pa.DictionaryArray.from_arrays(indices, latin1(text, rows, bad), safe=False)
        case 3:
            ends = pa.array([2 * i + 2 for i in range(rows)], pa.int32())
            children = [ends, latin1(text, rows, bad)]
            return "text", pa.Array.from_buffers(
                pa.run_end_encoded(pa.int32(), text), 2 * rows, [None], children=children
            )
        case 4:
            indices = [0] * rows
            indices[bad] = rng.choice((-1, 3, 100))
            entries = rng.choice((pa.array(["a", None, "b"]), pa.array([1, 2, 3])))
            taken = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int16()), entries, safe=False)
            return rng.choice(("text", "big")), taken
        case 5:
            width = np.int32 if text != pa.large_string() else np.int64
            kind = pa.string() if width == np.int32 else text
            return "text", _from(kind, 3, None, np.array([0, 7, rng.randrange(7), 9], width), b"123456789")
        case 6:
            offsets = np.array([0, 0, 3], np.int32)
            return "text", _from(pa.string(), 2, None, offsets, b"abc"), (offsets, 0, -5)
        case 7:
            return "money", _from(pa.decimal128(10, 2), 1, None, (10 ** rng.randrange(11, 30)).to_bytes(16, "little"))
        case 8:
            nulls = rng.randrange(1, rows + 1)
            return "big", _from(pa.int64(), rows + 1, np.zeros(1, np.uint8), np.arange(rows + 1), null_count=nulls)
        case 9:
            ends = np.arange(1, rows + 3, dtype=np.int32)
            array = pa.RunEndEncodedArray.from_arrays(
                _from(pa.int32(), rows + 2, None, ends), pa.array(range(rows + 2))
            )
            return "big", array, (ends, bad + 1, rng.choice((-1, 0, ends[bad])))
        case 10:
            view = np.frombuffer(bytes([13, 0, 0, 0]) + b"abcd" + bytes([0, 0, 0, 0, 1, 0, 0, 0]), np.uint8).copy()
            buffers = [None, pa.py_buffer(view), pa.py_buffer(b"abcd" * 4)]
            array = pa.Array.from_buffers(pa.string_view(), 1, buffers)
            return "text", array, (view, *rng.choice(((8, 9), (12, 9), (12, 255), (15, 255), (4, 0))))
        case 11:
            name = rng.choice(("tiny", "small", "plain", "big"))
            bits = KINDS[name].arrow.bit_width
            return name, pa.array([0] * bad + [Decimal(2 ** (bits - 1))], pa.decimal128(38, 0))
        case _:
            name = rng.choice(NAMES)
            others = (pa.array([b"x"]), pa.array([[1]]), pa.array([{"a": 1}]), pa.array([dt.time(1)]))
            return name, rng.choice((*others, pa.array([dt.timedelta(1)]), pa.array([b"0" * 16], pa.uuid())))
