"""The range of a window as users write it: a column and a span, in Python or in a table's properties.

=========  ===========================  ==================================================
Column     In Python                    In a property: the column, then
=========  ===========================  ==================================================
TIMESTAMP  ``timedelta``                an interval, ``1 HOUR`` or ``INTERVAL 1 DAY 6 HOURS``
DATE       ``timedelta`` in whole days  the same, in whole days
integers   ``int``                      a whole number, ``3600``
=========  ===========================  ==================================================

Units are those of fixed length, from WEEK to MICROSECOND: a MONTH has none.
"""

from __future__ import annotations

import datetime as dt
import re

from livejoin.schema import Span

_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_COLUMN = r"(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))"
_NUMBER = re.compile(rf"\s*{_COLUMN}\s+(?P<number>\d+)\s*", re.ASCII)
_PART = rf"\d+\s+(?:{'|'.join(_UNITS)})s?"
_INTERVAL = re.compile(
    rf"\s*{_COLUMN}\s+(?:interval\s+)?(?P<parts>{_PART}(?:\s+{_PART})*)\s*", re.ASCII | re.IGNORECASE
)


def parse_range(text: str) -> tuple[str, Span] | None:
    """The column and the span in a property; None if it has another form.

    >>> parse_range("ts 1 HOUR"), parse_range("seen 3600"), parse_range("ts 1 MONTH")
    (('ts', datetime.timedelta(seconds=3600)), ('seen', 3600), None)
    """
    if found := _NUMBER.fullmatch(text):
        return found["quoted"] or found["plain"], int(found["number"])
    if not (found := _INTERVAL.fullmatch(text)):
        return None
    words = found["parts"].lower().split()
    span = dt.timedelta()
    try:
        for number, unit in zip(words[::2], words[1::2], strict=True):
            span += dt.timedelta(**{unit.rstrip("s") + "s": int(number)})
    except OverflowError:
        return None
    return found["quoted"] or found["plain"], span
