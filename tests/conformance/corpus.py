"""What a real Spark says of several thousand expressions: the type of each, and its value or error for each row.

The fixture ``spark.jsonl.zst`` is made by ``make conformance`` (`conformance.make`), and read here without Spark. Its
first line has Spark's version and the rows (`conformance.edge_rows`); each other line has one expression. Values are
those of `livejoin.query.scalar.Value`: a DATE by its days, a TIMESTAMP by its microseconds since 1970-01-01, a decimal
by a `Decimal`. An error is a `Failure` with Spark's name for it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.query.scalar import Value
from livejoin.schema import Column, SqlType

PATH = Path(__file__).parent / "spark.jsonl.zst"
EVERY = 1 if os.environ.get("LIVEJOIN_CONFORMANCE") == "all" else 8
"""The tests take every so many expressions, and ``make conformance`` all."""


@dataclass(frozen=True)
class Failure:
    """An error by Spark's name, for example DIVIDE_BY_ZERO."""

    condition: str


@dataclass(frozen=True)
class Case:
    """One expression.

    Args:
        group: The group of expressions that it is in.
        sql: Its text.
        type: What Spark calls its type; empty where Spark refuses it.
        refusal: Why Spark refuses it, as DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES; empty where it does not.
        used: The columns that it may use.
        values: A value or error for each row of `rows`; None where Spark refuses it, or no column has its type.
    """

    group: str
    sql: str
    type: str
    refusal: str
    used: tuple[str, ...]
    values: tuple[Value | Failure, ...] | None

    @property
    def sql_type(self) -> SqlType | None:
        """Its type; None where Spark refuses it, or no column has its type."""
        return sql_type(self.type)


def sql_type(name: str) -> SqlType | None:
    """A column's type by the name that Spark has for it; None where no column has it.

    >>> sql_type("decimal(10,2)"), sql_type("interval year")
    (SqlType(kind='decimal', bits=0, precision=10, scale=2), None)
    """
    if name.startswith("decimal("):
        precision, scale = name.removeprefix("decimal(").rstrip(")").split(",")
        return SqlType.decimal(int(precision), int(scale))
    if re.fullmatch("interval (day|hour|minute|second).*", name):
        return SqlType("interval")
    return _TYPES.get(name)


_TYPES = {
    "boolean": SqlType("boolean"),
    "tinyint": SqlType.integer(8),
    "smallint": SqlType.integer(16),
    "int": SqlType.integer(32),
    "bigint": SqlType.integer(64),
    "float": SqlType.real(),
    "double": SqlType("double"),
    "date": SqlType("date"),
    "timestamp": SqlType("timestamp"),
    "timestamp_ntz": SqlType.local_time(),
    "string": SqlType("string"),
    "binary": SqlType("binary"),
}


@cache
def version() -> str:
    """The version of the Spark that was asked."""
    found: str = _lines()[0]["spark"]
    return found


@cache
def columns() -> tuple[Column, ...]:
    """The columns of the rows."""
    found = [Column(name, sql_type(kind) or SqlType("string")) for name, kind in _lines()[0]["columns"]]
    return tuple(found)


@cache
def rows() -> pa.Table:
    """The rows."""
    head = _lines()[0]
    arrays = [
        _array([decoded(value, column.type) for value in values], column.type)
        for column, values in zip(columns(), head["values"], strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in columns()])


def groups() -> tuple[str, ...]:
    """The groups of the expressions, for which no value is read."""
    return tuple(dict.fromkeys(line["group"] for line in _lines()[1:]))


@cache
def cases() -> tuple[Case, ...]:
    """The expressions, in the order in which they were made."""
    return tuple(_case(line) for line in _lines()[1:])


def some() -> tuple[Case, ...]:
    """The expressions that this run of the tests takes: every `EVERY`-th."""
    return cases()[::EVERY]


def places(used: Sequence[str], values: Sequence[Sequence[Any]], names: Sequence[str]) -> list[int]:
    """For each row the number of the first row with these values, counted among such first rows.

    Args:
        used: The columns that count.
        values: The encoded values of each column.
        names: The names of the columns.
    """
    chosen = [values[names.index(name)] for name in used]
    keys = [json.dumps([column[i] for column in chosen]) for i in range(len(values[0]))]
    first: dict[str, int] = {}
    return [first.setdefault(key, len(first)) for key in keys]


def encoded(value: Any, kind: SqlType) -> Any:
    """A value as JSON."""
    if isinstance(value, Failure):
        return [value.condition]
    if kind == SqlType.real() and isinstance(value, float):  # Spark's text of it is that of 32 bits
        value = float(np.float32(value))
    if kind.kind == "double" and isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, float) and value != value:  # noqa: PLR0124, NaN
        return "nan"
    return format(value, "f") if isinstance(value, Decimal) else value


def decoded(value: Any, kind: SqlType) -> Value | Failure:
    """A value from JSON."""
    match value:
        case None:
            return None
        case [condition]:
            return Failure(condition)
        case _ if kind.kind == "decimal":
            return Decimal(value)
        case _ if kind.kind == "binary":
            return bytes.fromhex(value)
        case _ if kind.kind == "double":
            return float(value)
        case _:
            found: Value = value
            return found


def _array(values: list[Any], kind: SqlType) -> pa.Array:
    """Values as an Arrow array; DATE and TIMESTAMP by their numbers."""
    if kind.kind == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if kind.kind == "timestamp":
        return pa.array(values, pa.int64()).cast(pa.timestamp("us"))
    return pa.array(values, kind.arrow)


def _case(line: dict[str, Any]) -> Case:
    used = tuple(line.get("used", ()))
    kind = sql_type(line.get("type", ""))
    values = None
    if "values" in line and kind is not None:
        found = [decoded(value, kind) for value in line["values"]]
        values = tuple(found[place] for place in _places(used))
    return Case(line["group"], line["sql"], line.get("type", ""), line.get("refusal", ""), used, values)


@cache
def _places(used: tuple[str, ...]) -> list[int]:
    head = _lines()[0]
    return places(used, head["values"], [name for name, _ in head["columns"]])


@cache
def _lines() -> list[dict[str, Any]]:
    with pa.input_stream(str(PATH), compression="zstd") as stream:
        return [json.loads(line) for line in stream.read().decode().splitlines()]
