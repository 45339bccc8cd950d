"""Views whose result depends on the session's time zone.

An instant (TIMESTAMP) has a date and a time of day only in a zone, which Spark takes from its session. So the zone
matters when an instant is made from a date, a text or a time without zone, or the reverse; and when days or months are
added to an instant. Comparing, ordering, counting and joining instants does not depend on the zone, nor does work with
TIMESTAMP_NTZ and DATE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sqlglot import exp

from livejoin.query.bound_query import Query
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar
from livejoin.schema import SqlType
from livejoin.sql.parse.column_types import TYPES
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import shown
from livejoin.sql.scalars.literals import names_zone

_INSTANT = SqlType("timestamp")
_LOCAL = ("date", "string")
_OF_ZONE = frozenset(
    {"hour", "minute", "second", "second_with_fraction", "difference_in_units", "format_time", "subtract", "add"}
)
"""Functions of instants that look at their dates or times of day, whatever else they are given."""
_FINE_UNITS = frozenset({"SECOND", "MILLISECOND", "MICROSECOND"})
_DAY = 86_400_000_000


def zone_dependence(query: Query, sql: str) -> str | None:
    """The first part of a view that depends on the session's time zone; None if there is none.

    Args:
        query: The view.
        sql: The text of the view, in which constants stand as written.
    """
    tree, _ = parse(sql)
    for node in tree.find_all(exp.Cast):
        is_text = isinstance(node.this, exp.Literal) and node.this.is_string
        if is_text and TYPES.get(node.to.this) == _INSTANT and not names_zone(node.this.name):
            return shown(node)
    for scalar in _scalars(query, set()):
        for call in _calls(scalar):
            if _depends(call):
                return call.text or call.function.upper()
    return None


def _depends(call: Call) -> bool:
    """Whether the result of a call itself depends on the zone."""
    types = [argument.type for argument in call.arguments]
    of_instants = _INSTANT in types
    match call.function:
        case "cast" | "try_cast":
            return (of_instants and _is_local(call.type)) or (call.type == _INSTANT and _is_local(types[0]))
        case "truncate_time":
            unit = call.arguments[1]
            is_fine = isinstance(unit, Constant) and str(unit.value).upper() in _FINE_UNITS
            return of_instants and not is_fine
        case "add_interval":
            months, days, microseconds = (part.value for part in call.arguments[1:] if isinstance(part, Constant))
            is_short = not months and not days and isinstance(microseconds, int) and abs(microseconds) < _DAY
            return of_instants and not is_short
        case "parse_time" | "try_parse_time":
            return True
        case _:
            return of_instants and call.function in _OF_ZONE


def _is_local(kind: SqlType) -> bool:
    return kind.kind in _LOCAL or kind.is_local


def _calls(scalar: Scalar) -> Iterator[Call]:
    """The calls within a scalar, outer ones first."""
    waiting = [scalar]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call):
            yield part
            waiting += reversed(part.arguments)


def _scalars(part: object, seen: set[int]) -> Iterator[Scalar]:
    """All scalars in a query."""
    if isinstance(part, Expression):
        part = part.scalar
    if isinstance(part, (Field, Constant, Call)):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from _scalars(value, seen)
    elif isinstance(part, (tuple, list, set, frozenset)):
        for value in part:
            yield from _scalars(value, seen)
    elif is_dataclass(part) and id(part) not in seen:
        seen.add(id(part))
        for field in fields(part):
            yield from _scalars(getattr(part, field.name), seen)
