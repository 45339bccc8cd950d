"""Rows and types as Spark's tests write them: as Hive does, a line a row, with tabs between the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from livejoin.schema import SqlType
from livejoin.state.evaluate.conversions import date_text, double_text, float_text, timestamp_text

_DAY = 86_400_000_000
_SECOND = 1_000_000


def rows_of(table: pa.Table, types: Sequence[SqlType]) -> list[str]:
    """The rows of a table, each as a line; a text with line breaks makes it several.

    >>> rows_of(pa.table({"a": [1, None], "b": [0.5, 1e10]}), [SqlType.integer(64), SqlType("double")])
    ['1\\t0.5', 'NULL\\t1.0E10']
    """
    columns = [_column(column, kind) for column, kind in zip(table.columns, types, strict=True)]
    return ["\t".join(row) for row in zip(*columns, strict=True)] if columns else [""] * table.num_rows


def type_pattern(kind: SqlType, arrow: pa.DataType) -> str:
    """A regular expression for what Spark calls a type.

    A column of nothing but NULL, which is VOID in Spark, has some type here. What an aggregate collects is a list in
    Arrow, and the type that livejoin has for it is that of its items.
    """
    return f"(?:{_type_pattern(kind, arrow)}|void)"


def _type_pattern(kind: SqlType, arrow: pa.DataType) -> str:
    if kind.kind != "array" and pa.types.is_list(arrow):
        return f"array<{type_pattern(kind, arrow.value_type)}>"
    match kind.kind:
        case "integer":
            return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[kind.bits]
        case "double":
            return "float" if kind.bits else "double"
        case "decimal":
            return rf"decimal\({kind.precision},{kind.scale}\)"
        case "timestamp":
            return "timestamp_ntz" if kind.is_local else "timestamp"
        case "string":
            return r"(?:string(?: collate \w+)?|(?:var)?char\(\d+\))"
        case "interval":
            return "interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?"
        case "months":
            return "interval (?:year|month)(?: to month)?"
        case "array":
            return f"array<{type_pattern(kind.inner[0][1], arrow.value_type)}>"
        case "struct":
            inner = zip(kind.inner, arrow, strict=True)
            return f"struct<{','.join(f'[^,]*:{type_pattern(one, field.type)}' for (_, one), field in inner)}>"
        case "map":
            (_, key), (_, item) = kind.inner
            return f"map<{type_pattern(key, arrow.key_type)},{type_pattern(item, arrow.item_type)}>"
        case other:
            return other


def _column(column: pa.ChunkedArray, kind: SqlType) -> list[str]:
    if pa.types.is_duration(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return ["NULL" if value is None else text(value, kind) for value in column.to_pylist()]


def text(value: Any, kind: SqlType, inside: bool = False) -> str:
    """A value that is not NULL.

    Args:
        value: As Arrow gives it; of dates, times and intervals their number of days and microseconds.
        kind: Its type.
        inside: Whether it stands within another one, where texts have quotes.
    """
    if isinstance(value, list) and kind.kind not in ("array", "map"):
        return "[" + ",".join(_inner(item, kind) for item in value) + "]"
    match kind.kind:
        case "boolean":
            return str(value).lower()
        case "double":
            return float_text(value) if kind.bits else double_text(value)
        case "decimal":
            return f"{value:f}"
        case "date":
            return date_text(value)
        case "timestamp":
            return timestamp_text(value)
        case "binary":
            return bytes(value).decode(errors="replace")
        case "string":
            return f'"{value}"' if inside else value
        case "interval":
            size = abs(value)
            clock = f"{size % _DAY // (3600 * _SECOND):02}:{size // (60 * _SECOND) % 60:02}:{size // _SECOND % 60:02}"
            return f"{'-' if value < 0 else ''}{size // _DAY} {clock}.{size % _SECOND:06}000"
        case "months":
            return f"{'-' if value.months < 0 else ''}{abs(value.months) // 12}-{abs(value.months) % 12}"
        case "array":
            return "[" + ",".join(_inner(item, kind.inner[0][1]) for item in value) + "]"
        case "struct":
            return "{" + ",".join(f'"{name}":{_inner(value[name], inner)}' for name, inner in kind.inner) + "}"
        case "map":
            (_, key), (_, item) = kind.inner
            return "{" + ",".join(f"{_inner(one, key)}:{_inner(other, item)}" for one, other in value) + "}"
        case "integer" | "variant":
            return str(value)


def _inner(value: Any, kind: SqlType) -> str:
    return "null" if value is None else text(_number(value), kind, inside=True)


def _number(value: Any) -> Any:
    """Of what Python has for a date, a time or a difference within another value: its days or microseconds."""
    match value:
        case dt.datetime():
            return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case dt.timedelta():
            return value // dt.timedelta(microseconds=1)
        case _:
            return value
