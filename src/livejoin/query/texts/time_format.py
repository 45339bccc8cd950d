"""Times as texts, by the patterns of Spark's `date_format` (Java's DateTimeFormatter, English, UTC).

A letter says what is shown and how often it stands there how: ``MM`` is 07, ``MMM`` Jul and ``MMMM`` July. What stands
between quotes, and what is no letter, is shown as it is; ``''`` is a quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from livejoin.errors import ExpressionError

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS = ("1st", "2nd", "3rd", "4th")
_DAY = 86_400_000_000
TOKENS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)


@dataclass(frozen=True)
class _Time:
    """The fields of a time."""

    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    hour: int
    minute: int
    second: int
    micro: int

    @classmethod
    def of(cls, micros: int) -> _Time:
        """The fields of so many microseconds since 1970-01-01, in the proleptic Gregorian calendar.

        The days of an era of 400 years are counted from March on, so that a leap day is the last one of a year.
        """
        days, rest = divmod(micros, _DAY)
        era, of_era = divmod(days + 719_468, 146_097)
        year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year + year // 4 - year // 100)
        place = (5 * of_year + 2) // 153
        month = place + 3 if place < 10 else place - 9
        year += 400 * era + (month <= 2)
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        from_january = of_year - 305 if month <= 2 else of_year + 60 + leap
        seconds, micro = divmod(rest, 1_000_000)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        day = of_year - (153 * place + 2) // 5 + 1
        return cls(year, month, day, from_january, (days + 3) % 7, hour, minute, second, micro)


_Show = Callable[[_Time], str]


def formatted(pattern: str) -> Callable[[int], str]:
    """What shows a TIMESTAMP, in microseconds since 1970-01-01, by a pattern.

    Raises:
        ExpressionError: The pattern has a letter, or a number of one, that is not shown, or a quote without its end.
    """
    shows = [_shown(token.group(), pattern) for token in TOKENS.finditer(pattern)]

    def show(micros: int) -> str:
        time = _Time.of(micros)
        return "".join(one(time) for one in shows)

    return show


def _shown(token: str, pattern: str) -> _Show:
    letter, count = token[0], len(token)
    if letter == "'":
        if count < 2:
            raise _refused(pattern, "a quote without its end")
        text = token[1:-1].replace("''", "'") if count > 2 else "'"
        return lambda _: text
    if not (letter.isascii() and letter.isalpha()):
        if letter in "[]{}#":
            raise _refused(pattern, f"the mark {letter!r}")
        return lambda _: token
    show = _letter(letter, count)
    if show is None:
        raise _refused(pattern, f"{token!r}")
    return show


def _letter(letter: str, count: int) -> _Show | None:
    """What shows a letter that stands there so often; None if nothing does."""
    match letter, count:
        case "y", 2:
            return lambda t: f"{t.year % 100:02}"
        case "y", _ if count <= 6:
            return lambda t: _year(t.year, count)
        case "M" | "L", 1 | 2:
            return _number(lambda t: t.month, count)
        case "M" | "L", 3:
            return lambda t: MONTHS[t.month - 1][:3]
        case "M" | "L", 4:
            return lambda t: MONTHS[t.month - 1]
        case "d", 1 | 2:
            return _number(lambda t: t.day, count)
        case "D", 1 | 2 | 3:
            return _number(lambda t: t.day_of_year, count)
        case "E", 1 | 2 | 3:
            return lambda t: _DAYS[t.weekday][:3]
        case "E", 4:
            return lambda t: _DAYS[t.weekday]
        case "a", 1:
            return lambda t: "AM" if t.hour < 12 else "PM"
        case "H", 1 | 2:
            return _number(lambda t: t.hour, count)
        case "k", 1 | 2:
            return _number(lambda t: t.hour or 24, count)
        case "K", 1 | 2:
            return _number(lambda t: t.hour % 12, count)
        case "h", 1 | 2:
            return _number(lambda t: t.hour % 12 or 12, count)
        case "m", 1 | 2:
            return _number(lambda t: t.minute, count)
        case "s", 1 | 2:
            return _number(lambda t: t.second, count)
        case "S", _ if count <= 9:
            return lambda t: f"{t.micro * 1000:09}"[:count]
        case "Q" | "q", 1 | 2:
            return _number(lambda t: (t.month + 2) // 3, count)
        case "Q" | "q", 3:
            return lambda t: f"Q{(t.month + 2) // 3}"
        case "Q" | "q", 4:
            return lambda t: f"{_QUARTERS[(t.month - 1) // 3]} quarter"
        case _:
            return None


def _number(field: Callable[[_Time], int], digits: int) -> _Show:
    return lambda time: f"{field(time):0{digits}}"


def _year(year: int, digits: int) -> str:
    """A year with so many digits at least; one that has more is signed if there shall be four or more."""
    sign = "-" if year < 0 else "+" if digits >= 4 and abs(year) >= 10**digits else ""
    return f"{sign}{abs(year):0{digits}}"


def _refused(pattern: str, what: str) -> ExpressionError:
    msg = (
        f"the pattern {pattern!r} has {what}, which date_format does not show here; there are y, M, L, d, D, E, a, H, "
        "k, K, h, m, s, S, Q and q, texts in quotes, and what is no letter"
    )
    return ExpressionError(msg)
