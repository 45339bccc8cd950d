"""Windows of time as they are written: ``window(ts, '10 minutes', '5 minutes')``, ``session_window(ts, '30 minutes')``.

A window has two fields, ``start`` and ``end``: it holds the times from its start on that are before its end. Windows of
one call begin a *slide* apart, the first one at the *offset* from 1970-01-01 00:00 UTC. A slide below the duration puts
a time into several windows. All three are constants: a text with units of fixed length, an INTERVAL, or microseconds.

    >>> width("1 hour 30 minutes"), width("2 weeks")
    (5400000000, 1209600000000)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.query.scalar import Constant
from livejoin.sql.scalars import intervals
from livejoin.sql.scalars.literals import number
from livejoin.sql.scalars.operands import Interval, Mismatch, Operand, Refused, Unsayable

WINDOW, SESSION = "window", "session_window"
FIELDS = ("start", "end")
DAY = 86_400_000_000
_FORMS = {
    WINDOW: "window(time, 'duration'[, 'slide'[, 'offset']]), as window(ts, '10 minutes', '5 minutes')",
    SESSION: "session_window(time, 'gap'), as session_window(ts, '30 minutes')",
}
_MOST = {WINDOW: 4, SESSION: 2}


@dataclass(frozen=True)
class TimeWindow:
    """The lengths of a call, in microseconds.

    Args:
        name: ``window`` or ``session_window``.
        duration: The length of a window; of sessions, the longest time without a row within one.
        slide: From the start of a window to that of the next one.
        offset: The start of a window from 1970-01-01 00:00 UTC.

    >>> TimeWindow("window", 600, 400, 0).copies
    2
    """

    name: str
    duration: int
    slide: int
    offset: int

    @property
    def is_session(self) -> bool:
        """Whether windows end where no row follows."""
        return self.name == SESSION

    @property
    def copies(self) -> int:
        """In how many windows a time is at most; of sessions, one."""
        return -(-self.duration // self.slide)

    @staticmethod
    def of_values(name: str, values: Sequence[str | int]) -> TimeWindow:
        """The window of a call with these constants behind the time.

        Raises:
            Mismatch: A constant is no length of time, or too long, too short or negative.
        """
        if not 1 <= len(values) < _MOST[name]:
            msg = f"{name} takes a time and 1 to {_MOST[name] - 1} lengths, and {len(values)} are given; {_FORMS[name]}"
            if name == SESSION:
                msg = f"{name} takes a time and one length, and {len(values)} are given; {_FORMS[name]}"
            raise Mismatch(msg)
        lengths = [value if isinstance(value, int) else width(value) for value in values]
        duration = lengths[0]
        slide, offset = lengths[1] if len(lengths) > 1 else duration, lengths[2] if len(lengths) > 2 else 0
        for what, length in (("gap" if name == SESSION else "duration", duration), ("slide", slide)):
            if length <= 0:
                msg = f"the {what} of {name} is {length:,} microseconds; it is longer than nothing"
                raise Mismatch(msg)
        if slide > duration:
            msg = f"the slide of {name} is longer than its duration, so that rows between two windows would be in none"
            raise Mismatch(f"{msg}; write a slide of at most the duration")
        if abs(offset) >= slide:
            msg = f"the offset of {name} is {offset:,} microseconds; it is shorter than the slide, {slide:,}"
            raise Mismatch(msg)
        return TimeWindow(name, duration, slide, offset)


def width(text: str) -> int:
    """The microseconds of a text such as ``10 minutes``.

    Raises:
        Mismatch: The text is no length of time, or has months.
    """
    return _exact(intervals.parts(text), repr(text))


def _exact(found: Interval, written: str) -> int:
    """The microseconds of an interval.

    Raises:
        Mismatch: The interval has months.
    """
    if found.months or found.unit == "months":
        msg = f"{written} has months, which differ in length; write days, as '30 days'"
        raise Mismatch(msg)
    return found.days * DAY + found.microseconds


def of_operands(name: str, values: Sequence[Operand]) -> TimeWindow:
    """The window of a call with these operands behind the time.

    Raises:
        Mismatch: As `TimeWindow.of_values`, or an operand is no constant text, interval or integer.
    """
    found: list[str | int] = []
    for value in values:
        if isinstance(value, Interval):
            found.append(_exact(value, f"a length of {name}"))
            continue
        plain = value.value if isinstance(value, Constant) else None
        if not isinstance(plain, (str, int)) or isinstance(plain, bool):
            raise Refused(_no_length(name))
        found.append(plain)
    return TimeWindow.of_values(name, found)


def window_of(call: exp.Expr) -> TimeWindow:
    """The window of a call.

    Raises:
        Mismatch: As `TimeWindow.of_values`, or an argument is no constant text, interval or integer.
    """
    name, (_, *values) = call.name.lower(), call.expressions
    found: list[str | int] = []
    for value in values:
        plain = value.this if isinstance(value, exp.Neg) else value
        if isinstance(plain, exp.Interval):
            try:
                length = _exact(intervals.interval(plain), f"a length of {name}")
            except Unsayable:  # its number is no constant
                raise Refused(_no_length(name)) from None
            found.append(length if plain is value else -length)
            continue
        if not isinstance(plain, exp.Literal) or (plain.is_string and plain is not value):
            raise Refused(_no_length(name))
        given = plain.name if plain.is_string else number(plain, "-" if plain is not value else "").value
        if not isinstance(given, (str, int)):
            raise Refused(_no_length(name))
        found.append(given)
    return TimeWindow.of_values(name, found)


def _no_length(name: str) -> str:
    lengths = "constants: texts, as '10 minutes', intervals, or whole microseconds"
    return f"the lengths of {name} are {lengths}; write {_FORMS[name]}"


def is_call(node: object) -> bool:
    """Whether a node is a call of a window of time."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in (WINDOW, SESSION) and bool(node.expressions)


def field_of(node: object) -> str:
    """The field of a window of time that a node reads; empty if it is something else."""
    if not isinstance(node, exp.Dot) or not is_call(node.this):
        return ""
    return str(node.expression.name).lower()


def interval_of(microseconds: int) -> exp.Interval:
    """A constant interval."""
    return exp.Interval(this=exp.Literal.string(str(microseconds)), unit=exp.var("MICROSECOND"))


def field(call: exp.Expr, name: str) -> exp.Dot:
    """A field of a window."""
    return exp.Dot(this=call, expression=exp.to_identifier(name))
