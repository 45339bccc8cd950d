"""Time zones as Spark has them (Java's ZoneId): names, offsets, and what both make of a time.

A zone is a region of the time zone database, as ``America/New_York``, one of Java's short names, as ``PST``, or an
offset, as ``+02:00``, ``-3`` or ``UTC+5``. A local time that a clock skips is moved ahead by what is skipped, and of a
local time that a clock shows twice the first one counts, as Java's ZonedDateTime has it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from livejoin.kernels.evaluate import layout as k
from livejoin.query.texts.failed_call import FailedCall

Zone = ZoneInfo | int
"""A region, or the microseconds that an offset is ahead of UTC."""

_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
_NOT_OF_JAVA = frozenset({"Factory", "ROC", "localtime", "posixrules"})
_OFFSET = re.compile(r"([+-])(?:(\d)|(\d\d)|(\d\d)(\d\d)|(\d\d):(\d\d)|(\d\d)(\d\d)(\d\d)|(\d\d):(\d\d):(\d\d))")
_ONE_HOUR, _ONE_MINUTE = re.compile(r"([+-])(\d):"), re.compile(r"([+-]\d\d:)(\d)$", re.ASCII)
_PREFIXES = ("UTC", "GMT", "UT")
_LAST_MINUTE, _MOST_SECONDS = 59, 18 * 3600
_EPOCH = datetime(1970, 1, 1)
_CYCLE = 146_097 * 86_400_000_000  # 400 years, in which weekdays and rules come again
_FIRST, _LAST = -62_100_000_000_000_000, 253_370_000_000_000_000  # within the years 2 to 9998
_LONG = 1 << 63


@lru_cache(1024)
def zone_named(name: str) -> Zone | None:
    """The zone of a name; None if there is none.

    >>> zone_named("UTC+2"), zone_named("Asia/Tokyo"), zone_named("asia/tokyo")
    (7200000000, zoneinfo.ZoneInfo(key='Asia/Tokyo'), None)
    """
    padded = _ONE_MINUTE.sub(r"\g<1>0\2", _ONE_HOUR.sub(r"\g<1>0\2:", name, count=1))
    known = _SHORT.get(padded, padded)
    if known in ("Z", *_PREFIXES):
        return 0
    for prefix in ("", *_PREFIXES):
        if known.startswith((f"{prefix}+", f"{prefix}-")):
            return _offset(known.removeprefix(prefix))
    return ZoneInfo(known) if known in _regions() else None


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_OF_JAVA


def _offset(text: str) -> int | None:
    found = _OFFSET.fullmatch(text)
    if found is None or not text.isascii():
        return None
    sign, *digits = (part for part in found.groups() if part is not None)
    hours, minutes, seconds = (*map(int, digits), 0, 0)[:3]
    size = hours * 3600 + minutes * 60 + seconds
    if minutes > _LAST_MINUTE or seconds > _LAST_MINUTE or size > _MOST_SECONDS:
        return None
    return size * (-1_000_000 if sign == "-" else 1_000_000)


def local_time(instant: int, zone: Zone) -> int:
    """The local time in a zone at an instant; both in microseconds since 1970-01-01.

    Raises:
        FailedCall: The local time is outside of TIMESTAMP.
    """
    if isinstance(zone, int):
        return _fitting(instant + zone)
    return _fitting(instant + _microseconds(_date_time(instant).replace(tzinfo=UTC).astimezone(zone).utcoffset()))


def instant_of(local: int, zone: Zone) -> int:
    """The instant at which a clock in a zone shows a time; both in microseconds since 1970-01-01.

    Raises:
        FailedCall: The instant is outside of TIMESTAMP.
    """
    if isinstance(zone, int):
        return _fitting(local - zone)
    return _fitting(local - _microseconds(_date_time(local).replace(tzinfo=zone).utcoffset()))


def _date_time(microseconds: int) -> datetime:
    """A time, or one that is some times 400 years from it, where the same rules hold."""
    if microseconds < _FIRST:
        microseconds += ((_FIRST - microseconds) // _CYCLE + 1) * _CYCLE
    elif microseconds > _LAST:
        microseconds -= ((microseconds - _LAST) // _CYCLE + 1) * _CYCLE
    return _EPOCH + timedelta(microseconds=microseconds)


def _microseconds(offset: timedelta | None) -> int:
    assert offset is not None, "a region has an offset at any time"
    return round(offset.total_seconds()) * 1_000_000


def _fitting(microseconds: int) -> int:
    if not -_LONG <= microseconds < _LONG:
        raise FailedCall(k.TIME_OVERFLOW)
    return microseconds
