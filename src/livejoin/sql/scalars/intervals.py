"""Constant intervals: INTERVAL 3 DAYS, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.5' DAY TO SECOND.

Spark has two kinds of intervals that do not mix: years and months, and days and time. DATE plus days alone is a DATE.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from sqlglot import exp

from livejoin.sql.scalars.operands import Interval, Mismatch, Unsayable

_MONTHS = {"year": 12, "month": 1}
_MICROSECONDS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_DAY = _MICROSECONDS["day"]
_OF_DAYS = ("week", "day")
_AMOUNT = r"[+-]?\d+(?:\.\d+)?|[+-]?\.\d+"
_PART = re.compile(rf"\s*({_AMOUNT})\s+([a-z]+)", re.IGNORECASE)
_SPANS = {
    ("year", "month"): r"(?P<year>\d+)-(?P<month>\d+)",
    ("day", "hour"): r"(?P<day>\d+) (?P<hour>\d+)",
    ("day", "minute"): r"(?P<day>\d+) (?P<hour>\d+):(?P<minute>\d+)",
    ("day", "second"): r"(?P<day>\d+) (?P<hour>\d+):(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
    ("hour", "minute"): r"(?P<hour>\d+):(?P<minute>\d+)",
    ("hour", "second"): r"(?P<hour>\d+):(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
    ("minute", "second"): r"(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
}
_MOST = {"month": 11, "hour": 23, "minute": 59, "second": 59}


def interval(node: exp.Interval) -> Interval:
    """The interval of an INTERVAL node.

    Raises:
        Mismatch: The text is no interval.
        Unsayable: The amount is no constant.
    """
    amount, unit = node.this, node.args.get("unit")
    negative = isinstance(amount, exp.Neg)
    amount = amount.this if isinstance(amount, exp.Neg) else amount
    if not isinstance(amount, exp.Literal):
        raise Unsayable("INTERVAL", "an interval is a constant")
    text = amount.name.strip()
    if isinstance(unit, exp.IntervalSpan):
        found = _span(text, unit.this.name.lower(), unit.expression.name.lower())
    elif unit is not None:
        found = _of(text, unit.name)
    else:
        found = parts(text)
    return found.negated() if negative else found


def of_unit(amount: int, unit: str) -> Interval:
    """An interval of an amount in one unit.

    Raises:
        Mismatch: There is no such unit.

    >>> of_unit(3, "WEEKS")
    Interval(months=0, days=21, microseconds=0, unit='days')
    """
    return _of(str(amount), unit)


def total(left: Interval, right: Interval) -> Interval:
    """The sum of two intervals of one kind.

    Raises:
        Mismatch: Only one of the intervals has months.
    """
    if (left.unit == "months") != (right.unit == "months"):
        msg = "an interval is of years and months, or of days and below; these two cannot be added"
        raise Mismatch(msg)
    unit = left.unit if left.unit == right.unit else "time"
    microseconds = left.microseconds + right.microseconds
    return Interval(left.months + right.months, left.days + right.days, microseconds, unit)


def parts(text: str) -> Interval:
    """Several amounts, each with its unit, as one interval."""
    bare = re.sub(r"^interval\s+", "", text, flags=re.IGNORECASE)
    found: Interval | None = None
    at = 0
    while match := _PART.match(bare, at):
        part = _of(match[1], match[2])
        found = part if found is None else total(found, part)
        at = match.end()
    if found is None or bare[at:].strip():
        msg = f"INTERVAL {text!r} is not understood; write an interval as INTERVAL 3 DAYS"
        raise Mismatch(msg)
    return found


def _of(text: str, unit: str) -> Interval:
    """An amount in one unit as an interval."""
    name = unit.lower()
    name = name.removesuffix("s") if name.endswith("s") else name
    if not re.fullmatch(_AMOUNT, text):
        msg = f"INTERVAL {text!r} {unit} has no number; write INTERVAL 3 DAYS"
        raise Mismatch(msg)
    if "." in text and name != "second":
        msg = f"INTERVAL {text} {unit}: only seconds have a fraction"
        raise Mismatch(msg)
    if name in _MONTHS:
        return Interval(int(text) * _MONTHS[name], 0, 0, "months")
    if name not in _MICROSECONDS:
        msg = f"{unit} is no unit of intervals; allowed are {', '.join(_MONTHS)}, {', '.join(_MICROSECONDS)}"
        raise Mismatch(msg)
    return _of_time(int(Decimal(text) * _MICROSECONDS[name]), "days" if name in _OF_DAYS else "time")


def _of_time(microseconds: int, unit: Literal["days", "time"]) -> Interval:
    sign = -1 if microseconds < 0 else 1
    days, rest = divmod(abs(microseconds), _DAY)
    return Interval(0, sign * days, sign * rest, unit)


def _span(text: str, start: str, end: str) -> Interval:
    """An interval from one unit to a smaller one."""
    pattern = _SPANS.get((start, end))
    found = re.fullmatch(rf"(?P<sign>[+-]?){pattern}", text) if pattern else None
    if found is None or any(Decimal(found[name]) > 10**9 for name in found.groupdict() if name != "sign"):
        written = f"INTERVAL {text!r} {start.upper()} TO {end.upper()}"
        msg = f"{written} is not understood; write INTERVAL '1 02:03:04' DAY TO SECOND"
        raise Mismatch(msg)
    parts = {name: Decimal(value) for name, value in found.groupdict().items() if name != "sign"}
    for name, value in parts.items():
        if name != start and int(value) > _MOST[name]:
            msg = f"INTERVAL {text!r}: {value} is no {name} from 0 to {_MOST[name]}"
            raise Mismatch(msg)
    if start == "year":
        whole = Interval(int(parts["year"]) * 12 + int(parts["month"]), 0, 0, "months")
    else:
        whole = _of_time(int(sum(value * _MICROSECONDS[name] for name, value in parts.items())), "time")
    return whole.negated() if found["sign"] == "-" else whole
