"""Dates and timestamps that stand in texts, as CAST and constants read them."""

from __future__ import annotations

import re

from livejoin.kernels.evaluate import civil
from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import DAY_MICROSECONDS
from livejoin.kernels.jit import as_written
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.zones import instant_of, zone_named

_days_from_civil = as_written(civil.days_from_civil)
_days_of_month = as_written(civil.days_of_month)
BLANKS = "".join(map(chr, (*range(33), 127)))
"""What Spark takes off the ends of a text before it reads a time, a whole number or a BOOLEAN."""
JAVA_BLANKS = "".join(map(chr, range(33)))
"""What Java takes off the ends of a text."""
_TIMESTAMP = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](?:([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?)?)?)?)?",
    re.DOTALL,
)
_LONG = 1 << 63
_LAST_HOUR, _LAST_MINUTE = 23, 59


def to_date(text: str) -> int:
    """A date: a year of four digits or more, month and day if they are there, and anything behind a blank or T."""
    trimmed = text.strip(BLANKS)
    found = re.fullmatch(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", trimmed, re.DOTALL)
    if found is None:
        raise FailedCall(k.MALFORMED)
    year = int(found[2]) * (-1 if found[1] == "-" else 1)
    return _day(year, int(found[3] or 1), int(found[4] or 1))


def _day(year: int, month: int, day: int) -> int:
    if not (1 <= month <= 12 and 1 <= day <= _days_of_month(year, month)):
        raise FailedCall(k.MALFORMED)
    days = _days_from_civil(year, month, day)
    if not -(1 << 31) <= days < 1 << 31:
        raise FailedCall(k.MALFORMED)
    return days


def to_timestamp(text: str) -> int:
    """A timestamp: a date, then time of day and zone as far as they are there; UTC without a zone."""
    found = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if found is None:
        raise FailedCall(k.MALFORMED)
    sign, year, month, day, hour, minute, second, fraction, named = found.groups()
    days = _day(int(year) * (-1 if sign == "-" else 1), int(month or 1), int(day or 1))
    if hour is None and text.strip(BLANKS).endswith("T"):
        raise FailedCall(k.MALFORMED)
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > _LAST_HOUR or minutes > _LAST_MINUTE or seconds > _LAST_MINUTE:
        raise FailedCall(k.MALFORMED)
    of_day = (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))
    local = days * DAY_MICROSECONDS + of_day
    zone = zone_named(named.strip(JAVA_BLANKS)) if named else 0
    if zone is None or not -_LONG <= local < _LONG:
        raise FailedCall(k.MALFORMED)
    try:
        return instant_of(local, zone)
    except FailedCall:
        raise FailedCall(k.MALFORMED) from None
