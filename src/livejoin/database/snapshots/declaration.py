"""Declarations of tables, views and statistics as JSON values, and back.

Every function that reads raises ValueError, KeyError or TypeError where a value is not one that was written, or the
LivejoinError of the declaration.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar, get_args

from livejoin.families.registry import check_algorithm
from livejoin.schema import (
    Assertion,
    Check,
    Column,
    ForeignKey,
    Kind,
    Late,
    Span,
    SqlType,
    Table,
    TableSettings,
    Watermark,
    delay_of,
    span_of,
)
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics

Value = TypeVar("Value")

_LARGEST = (1 << 63) - 1
_KINDS: tuple[Kind, ...] = get_args(Kind)
_BITS = (8, 16, 32, 64)
_SOURCES = ("given", "observed", "unknown")


@dataclass(frozen=True, eq=False)
class ViewImage:
    """What is kept of a view.

    Args:
        name: The name.
        sql: The query.
        deltas: Whether it keeps deltas.
        algorithm: The algorithm that maintains the view's joins.
        statistics: The statistics that its plan was chosen by: the same ones give the same plan.
        adaptive: Whether it may move to another plan; its running figures begin anew.
        allow_product: Whether its conditions may compare tables that no equality connects.
        assertion: How it is asserted that it has no rows; None if it is not.
        begins: The start of its first window, in microseconds since 1970, if its table had freed rows before it was
            made; else None.
    """

    name: str
    sql: str
    deltas: bool
    algorithm: Algorithm
    statistics: Statistics
    adaptive: bool
    allow_product: bool = False
    assertion: Assertion | None = None
    begins: int | None = None


def value(entry: object, key: str, kind: type[Value]) -> Value:
    """A value of a JSON object, of one type."""
    if not isinstance(entry, dict):
        msg = f"the manifest has {entry!r:.80} in the place of the object with {key!r}"
        raise ValueError(msg)
    found = entry[key]
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        msg = f"{key!r} is {found!r:.80} in the manifest, which is no {kind.__name__}"
        raise ValueError(msg)
    return found


def number(entry: object, key: str, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number of a JSON object, within bounds."""
    found = value(entry, key, int)
    if not least <= found <= most:
        msg = f"{key!r} is {found} in the manifest; allowed are {least} to {most}"
        raise ValueError(msg)
    return found


_MICROSECOND = dt.timedelta(microseconds=1)


def plain_table(table: Table) -> dict[str, Any]:
    """A table as JSON values."""
    columns = [_plain_column(column) for column in table.columns]
    return {
        "name": table.name,
        "columns": columns,
        "key": table.primary_key,
        "window_rows": table.window_rows,
        "foreign_keys": [_plain_foreign_key(key) for key in table.foreign_keys],
        "static": table.static,
        "window_range": None if table.window_range is None else asdict(table.window_range),
        "sequence_by": table.sequence_by,
        "tombstones": table.tombstones,
        **({"checks": [asdict(check) for check in table.checks]} if table.checks else {}),
        "unique": table.unique,
        "retain": table.retain,
        **({"append_only": True} if table.append_only else {}),
        **({} if table.watermark is None else {"watermark": {**asdict(table.watermark), "late": table.late}}),
        **({} if table.keep == "all" else {"keep": table.keep}),
        **({"deletes": "trusted"} if table.is_trusted else {}),
        **({} if table.keep_final is None else {"keep_final": table.keep_final // _MICROSECOND}),
    }


def _plain_foreign_key(key: ForeignKey) -> dict[str, Any]:
    """A foreign key as JSON values, with a mark if it is enforced."""
    found = {"columns": key.columns, "table": key.table, "references": key.references}
    return found | ({"enforced": True} if key.enforced else {})


def _plain_column(column: Column) -> dict[str, Any]:
    """A column as JSON values, with its length, and with a mark if it is a UUID or a CHAR."""
    found: dict[str, Any] = {"name": column.name, "type": _plain_type(column.type), "nullable": column.nullable}
    found |= {"length": column.length} if column.length else {}
    found |= {"char": True} if column.is_char else {}
    found |= {} if column.default is None else {"default": column.default}
    found |= {} if column.generated is None else {"generated": column.generated}
    return found | ({"uuid": True} if column.is_uuid else {})


def _plain_type(type: SqlType) -> dict[str, Any]:
    """A type as JSON values, with the names and types of its parts."""
    found = {"kind": type.kind, "bits": type.bits, "precision": type.precision, "scale": type.scale}
    found |= {"local": True} if type.is_local else {}
    return found | ({"inner": [[name, _plain_type(kind)] for name, kind in type.inner]} if type.inner else {})


def read_table(entry: object) -> Table:
    """The table of JSON values."""
    columns = tuple(
        Column(
            value(c, "name", str),
            _type(value(c, "type", dict)),
            value(c, "nullable", bool),
            number(c, "length", 1) if "length" in c else 0,
            "uuid" in c and value(c, "uuid", bool),
            "char" in c and value(c, "char", bool),
            value(c, "default", str) if "default" in c else None,
            value(c, "generated", str) if "generated" in c else None,
        )
        for c in value(entry, "columns", list)
    )
    foreign = tuple(
        ForeignKey(
            read_positions(value(key, "columns", list), columns),
            value(key, "table", str),
            tuple(_texts(value(key, "references", list))),
            "enforced" in key and value(key, "enforced", bool),
        )
        for key in value(entry, "foreign_keys", list)
    )
    checks: list[object] = _since_format_6(entry, "checks", [])
    unique: list[object] = _since_format_6(entry, "unique", [])
    return Table(
        value(entry, "name", str),
        columns,
        read_positions(value(entry, "key", list), columns),
        foreign,
        tuple(read_positions(key, columns) for key in unique),
        _settings(entry, columns),
        tuple(
            Check(value(c, "name", str), value(c, "text", str), _positions(value(c, "columns", object), columns))
            for c in checks
        ),
    )


def _settings(entry: object, columns: Sequence[Column]) -> TableSettings:
    """The settings of a table; JSON names columns by their positions."""
    rows, range = value(entry, "window_rows", object), value(entry, "window_range", object)
    window = None
    if range is not None:
        (place,) = read_positions([number(range, "column")], columns)
        window = columns[place].name, span_of(columns[place], value(range, "width", int))
    sequence = None
    if isinstance(entry, dict) and entry.get("sequence_by") is not None:  # formats before 5 know of none
        (sequence,) = read_positions([number(entry, "sequence_by")], columns)
    mark, late = _watermark(entry, columns)
    retain: Any = _since_format_6(entry, "retain", "all")
    return TableSettings(
        static=value(entry, "static", bool),
        append_only=isinstance(entry, dict) and "append_only" in entry and value(entry, "append_only", bool),
        window_rows=None if rows is None else number(entry, "window_rows", 1),
        window_range=window,
        sequence_by=None if sequence is None else columns[sequence].name,
        tombstones=None if sequence is None else number(entry, "tombstones"),
        retain=retain,
        watermark=mark,
        late=late,
        keep=_word_of(entry, "keep", "all"),
        deletes=_word_of(entry, "deletes", "checked"),
        keep_final=number(entry, "keep_final", 1) * _MICROSECOND if _has(entry, "keep_final") else None,
    )


def _has(entry: object, key: str) -> bool:
    return isinstance(entry, dict) and key in entry


def _word_of(entry: object, key: str, default: str) -> Any:
    return value(entry, key, str) if _has(entry, key) else default


def _watermark(entry: object, columns: Sequence[Column]) -> tuple[tuple[str, Span] | None, Late]:
    """The watermark of a table and what becomes of late changes; none where its JSON names none."""
    if not isinstance(entry, dict) or "watermark" not in entry:
        return None, "skip"
    found = value(entry, "watermark", dict)
    (place,) = read_positions([number(found, "column")], columns)
    late: Any = value(found, "late", str)
    return (columns[place].name, delay_of(Watermark(place, number(found, "delay")))), late


def _since_format_6(entry: object, key: str, default: Value) -> Value:
    """A value for which older formats have no key."""
    return value(entry, key, type(default)) if isinstance(entry, dict) and key in entry else default


def read_statistics(entries: object, tables: Mapping[str, Table]) -> Statistics:
    """Statistics from the JSON values of `Statistics.plain`.

    Args:
        entries: The values.
        tables: The tables by name in lower case; figures of other names are figures of derived relations.
    """
    if not isinstance(entries, list):
        msg = f"the manifest has {entries!r:.80} in the place of statistics"
        raise ValueError(msg)
    for entry in entries:
        table = tables.get(value(entry, "table", str).lower())
        _figure(value(entry, "changes", dict))
        _figure(value(entry, "rows", dict))
        for positions, figure in value(entry, "distinct", list):
            if table is not None:
                read_positions(positions, table.columns)
            _figure(figure)
        for predicate, figure in value(entry, "passing", list):
            _texts([predicate])
            _figure(figure)
    return Statistics.from_plain(entries)


def plain_view(view: ViewImage) -> dict[str, Any]:
    """A view as JSON values."""
    return {
        "name": view.name,
        "sql": view.sql,
        "deltas": view.deltas,
        "algorithm": view.algorithm,
        "statistics": view.statistics.plain(),
        "adaptive": view.adaptive,
        "preprocessing_limit": view.statistics.preprocessing_limit,
        **({"allow_product": True} if view.allow_product else {}),
        **({} if view.assertion is None else {"assertion": asdict(view.assertion)}),
        **({} if view.begins is None else {"begins": view.begins}),
    }


def read_view(entry: object, tables: Mapping[str, Table]) -> ViewImage:
    """The view of JSON values.

    Args:
        entry: The values.
        tables: The tables by name in lower case.
    """
    algorithm: Any = value(entry, "algorithm", str)
    check_algorithm(algorithm)
    limit = None
    if isinstance(entry, dict) and entry.get("preprocessing_limit") is not None:  # older snapshots know of none
        limit = number(entry, "preprocessing_limit")
    known = read_statistics(value(entry, "statistics", list), tables)
    return ViewImage(
        value(entry, "name", str),
        value(entry, "sql", str),
        value(entry, "deltas", bool),
        algorithm,
        replace(known, preprocessing_limit=limit),
        value(entry, "adaptive", bool),
        isinstance(entry, dict) and "allow_product" in entry and value(entry, "allow_product", bool),
        _assertion(value(entry, "assertion", dict)) if isinstance(entry, dict) and "assertion" in entry else None,
        number(entry, "begins") if isinstance(entry, dict) and "begins" in entry else None,
    )


def _assertion(entry: dict[str, Any]) -> Assertion:
    return Assertion(value(entry, "enforced", bool), value(entry, "deferred", bool), value(entry, "table", str))


def _type(entry: dict[str, Any]) -> SqlType:
    bits, precision, scale = (number(entry, name) for name in ("bits", "precision", "scale"))
    kind = next((kind for kind in _KINDS if kind == entry["kind"]), None)
    match kind:
        case None:
            declared = None
        case "decimal":
            declared = SqlType.decimal(precision, scale)
        case "integer":
            declared = SqlType.integer(bits) if bits in _BITS else None
        case "double" if bits:
            declared = SqlType.real()
        case "timestamp" if "local" in entry:
            declared = SqlType.local_time()
        case "array" | "struct" | "map":
            declared = _payload(kind, [_named_type(part) for part in value(entry, "inner", list)])
        case _:
            declared = SqlType(kind)
    if declared is None or _plain_type(declared) != entry:
        msg = f"{entry!r:.80} is no type of a column"
        raise ValueError(msg)
    return declared


def _named_type(entry: object) -> tuple[str, SqlType]:
    if not isinstance(entry, list) or len(entry) != 2:
        msg = f"the manifest has {entry!r:.80} in the place of a name and a type"
        raise ValueError(msg)
    (name,) = _texts(entry[:1])
    return name, _type(value({"type": entry[1]}, "type", dict))


def _payload(kind: Kind, inner: Sequence[tuple[str, SqlType]]) -> SqlType | None:
    """A type made of inner types, as an array is; None if their number does not fit."""
    types = [type for _, type in inner]
    match kind, len(types):
        case "array", 1:
            return SqlType.array(*types)
        case "map", 2:
            return SqlType.map(*types)
        case "struct", _:
            return SqlType.struct(inner)
        case _:
            return None


def read_positions(entries: object, columns: Sequence[Column]) -> tuple[int, ...]:
    """Distinct positions of columns, from a list of JSON."""
    found = entries if isinstance(entries, list) else [None]
    sound = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < len(columns) for one in found)
    if not sound or len(set(found)) != len(found):
        msg = f"the manifest has {entries!r:.80} in the place of distinct positions of {len(columns)} columns"
        raise ValueError(msg)
    return tuple(found)


def _positions(entries: object, columns: Sequence[Column]) -> tuple[int, ...]:
    """As `read_positions`; a list that was never written as JSON may be a tuple."""
    return read_positions(list(entries) if isinstance(entries, tuple) else entries, columns)


def _texts(entries: Sequence[object]) -> list[str]:
    texts = [one for one in entries if isinstance(one, str)]
    if len(texts) != len(entries):
        msg = f"the manifest has {entries!r:.80} in the place of texts"
        raise ValueError(msg)
    return texts


def _figure(entry: object) -> None:
    """Check a figure: None, or a finite number from 0 on, and a known source."""
    if not isinstance(entry, dict) or entry.keys() != {"value", "known"} or entry["known"] not in _SOURCES:
        msg = f"the manifest has {entry!r:.80} in the place of a figure"
        raise ValueError(msg)
    found = entry["value"]
    known = isinstance(found, (int, float)) and not isinstance(found, bool)
    if found is not None and not (known and found >= 0):
        msg = f"the manifest has the figure {found!r:.80}; allowed are numbers from 0, and null"
        raise ValueError(msg)
