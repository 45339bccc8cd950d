"""Arrow's values as JSON.

A number is a number, also a large one; DECIMAL is a text, as JSON's readers would round it. DATE and TIMESTAMP are ISO
texts, a TIMESTAMP in UTC with a ``Z``; INTERVAL is an ISO duration; BINARY is base64; what is no number of DOUBLE is
``"NaN"``, ``"Infinity"`` or ``"-Infinity"``. A struct is an object, an array an array, a map an array of pairs.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_MICROSECONDS = (("D", 86_400_000_000), ("H", 3_600_000_000), ("M", 60_000_000))
_SECOND = 1_000_000


def dumps(value: object) -> bytes:
    """A JSON text, without a line break in it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def objects(table: pa.Table, instants: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """The rows as objects by the names of their columns; O(values).

    Args:
        table: The rows.
        instants: The columns of type TIMESTAMP, which are instants, and not times of a calendar alone.
    """
    names = table.column_names
    columns = [values(column, name in instants) for name, column in zip(names, table.columns, strict=True)]
    if not columns:
        return [{}] * table.num_rows
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def values(column: pa.ChunkedArray, is_instant: bool = False) -> list[Any]:
    """The values of a column, of which JSON can be made.

    Args:
        column: The column.
        is_instant: Whether a timestamp is an instant.
    """
    kind = column.type
    found: list[Any]
    if pa.types.is_dictionary(kind):
        return values(column.cast(kind.value_type), is_instant)
    if pa.types.is_floating(kind):
        found = column.to_pylist()
        return found if pc.all(pc.is_finite(column)).as_py() in (True, None) else [_number(one) for one in found]
    if pa.types.is_timestamp(kind):
        texts = pc.replace_substring(column.cast(pa.timestamp("us")).cast(pa.string()), " ", "T")
        found = pc.replace_substring_regex(texts, r"\.?0*$", "Z" if is_instant else "").to_pylist()
        return found
    if pa.types.is_date(kind) or pa.types.is_decimal(kind) or pa.types.is_time(kind):
        found = column.cast(pa.string()).to_pylist()
        return found
    if pa.types.is_duration(kind):
        return _each(column.cast(pa.int64()).to_pylist(), _duration)
    if pa.types.is_interval(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _each(column.to_pylist(), _plain)
    if pa.types.is_nested(kind):
        return [value for chunk in column.chunks for value in _nested(chunk)]
    found = column.to_pylist()
    return found


def plain(value: object) -> Any:
    """A value of Python of which JSON can be made; what JSON does not have is a text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return _number(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(name): plain(one) for name, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)


def _each(given: Sequence[Any], make: Callable[[Any], Any]) -> list[Any]:
    return [None if one is None else make(one) for one in given]


def _nested(array: pa.Array) -> list[Any]:
    """The values of an array of a nested type, column by column below it, so that each type is written as elsewhere."""
    kind, there = array.type, array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        fields = [values(pa.chunked_array([array.field(place)])) for place in range(kind.num_fields)]
        rows: list[Any] = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
        return [row if is_there else None for row, is_there in zip(rows, there, strict=True)]
    if pa.types.is_map(kind):
        keys, items = values(pa.chunked_array([array.keys])), values(pa.chunked_array([array.items]))
        inside: list[Any] = [list(pair) for pair in zip(keys, items, strict=True)]
    else:
        inside = values(pa.chunked_array([array.values]))
    bounds = array.offsets.to_pylist()
    pairs = zip(bounds, bounds[1:], there, strict=False)
    return [inside[begin:end] if is_there else None for begin, end, is_there in pairs]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    months: int = value.months  # INTERVAL YEAR TO MONTH
    sign = "-" if months < 0 else ""
    years, rest = divmod(abs(months), 12)
    return f"{sign}P{years}Y{rest}M"


def _number(value: float | None) -> Any:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _duration(microseconds: int) -> str:
    """An ISO duration, as ``P1DT2H3M4.5S``."""
    rest = abs(microseconds)
    parts = []
    for letter, unit in _MICROSECONDS:
        count, rest = divmod(rest, unit)
        parts.append(f"{count}{letter}" if count else "")
    seconds, fraction = divmod(rest, _SECOND)
    text = f"{seconds}.{fraction:06d}".rstrip("0").rstrip(".")
    parts.append(f"{text}S" if rest or not any(parts) else "")
    days, times = parts[0], "".join(parts[1:])
    return ("-" if microseconds < 0 else "") + "P" + days + (f"T{times}" if times else "")
