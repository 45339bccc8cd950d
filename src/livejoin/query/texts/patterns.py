"""The functions that go by a pattern, and what is made of it: once for all rows where the pattern is a constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate.civil import DAY_MICROSECONDS
from livejoin.query.texts import time_parse
from livejoin.query.texts.like import like
from livejoin.query.texts.matches import extracted, replaced, split_item
from livejoin.query.texts.regular_expression import matches
from livejoin.query.texts.time_format import formatted
from livejoin.query.texts.zones import Zone, instant_of, local_time, zone_named


def _lowered(test: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: test(text.lower())


def _days(read: Callable[[str], int | None]) -> Callable[[str], int | None]:
    """The date of the time that is read."""

    def read_date(text: str) -> int | None:
        found = read(text)
        return None if found is None else found // DAY_MICROSECONDS

    return read_date


def _in_zone(of: Callable[[int, Zone], int], name: str) -> Callable[[int], int]:
    zone = zone_named(name)
    if zone is None:
        msg = f"there is no time zone {name!r}; write one as America/New_York or +02:00"
        raise ExpressionError(msg)
    return lambda time: of(time, zone)


PATTERNS: dict[str, Callable[..., Callable[..., Any]]] = {
    "like": like,
    "like_any_case": lambda pattern, escape="\\": _lowered(like(pattern.lower(), escape)),
    "matches": matches,
    "replace_matches": replaced,
    "extract_match": extracted,
    "format_time": formatted,
    "parse_time": time_parse.parsed,
    "parse_date": lambda pattern: _days(time_parse.parsed(pattern)),
    "try_parse_time": time_parse.tried,
    "try_parse_date": lambda pattern: _days(time_parse.tried(pattern)),
    "time_in_zone": lambda name: _in_zone(local_time, name),
    "time_from_zone": lambda name: _in_zone(instant_of, name),
    "split_item": split_item,
}
"""For each function with a pattern, what makes a function of its first argument from the constants behind that."""

WRITTEN = (
    "matches",
    "replace_matches",
    "extract_match",
    "split_item",
    "format_time",
    "parse_time",
    "parse_date",
    "try_parse_time",
    "try_parse_date",
)
"""The functions whose patterns are written into the query."""
