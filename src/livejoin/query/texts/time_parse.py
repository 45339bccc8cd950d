"""Texts as times, by the patterns of Spark's `to_timestamp` (Java's DateTimeFormatter, strict, English, UTC).

A pattern is made into a regular expression. A letter reads as many digits as it stands there, ``MMM`` and ``MMMM``
names of months, ``S`` a fraction of a second with at most so many digits, and everything else itself, all in any case.
One letter alone reads as many digits as there are, but leaves those to the fields of fixed width that stand directly
behind it: ``yyyyMMdd`` reads 20240229. What a pattern does not say is taken from 1970-01-01 00:00:00.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate import civil
from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import DAY_MICROSECONDS
from livejoin.kernels.jit import as_written
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.time_format import MONTHS, TOKENS

_days_from_civil = as_written(civil.days_from_civil)
_days_of_month = as_written(civil.days_of_month)
_LONG = 1 << 63
_LAST_YEAR = 999_999_999  # that Java has
_CENTURY = 2000
_NOON = 12
_OTHER_DAYS = 337  # of a year, without February
_FIELDS = {
    "M": ("month", 1, 12), "L": ("month", 1, 12), "d": ("day", 1, 31), "D": ("day_of_year", 1, 366),
    "H": ("hour", 0, 23), "k": ("clock", 1, 24), "K": ("half", 0, 11), "h": ("half_clock", 1, 12),
    "m": ("minute", 0, 59), "s": ("second", 0, 59),
}  # fmt: skip
_HOURS = ("hour", "clock", "half", "half_clock")
_HALVES = ("half", "half_clock")


@dataclass(frozen=True)
class _Item:
    """What a part of a pattern reads.

    Args:
        field: The field that the part gives; empty for a text.
        expression: The regular expression of the part.
        digits: The number of digits if it is fixed; else 0.
        grows: Whether the part takes as many digits as there are.
    """

    field: str
    expression: str
    digits: int = 0
    grows: bool = False

    @property
    def group(self) -> str:
        """The expression, named by the field."""
        return f"(?P<{self.field}>{self.expression})" if self.field else self.expression


def parsed(pattern: str) -> Callable[[str], int]:
    """What reads texts by a pattern: microseconds since 1970-01-01, or a `FailedCall` where a text does not fit.

    >>> parsed("dd.MM.yyyy HH:mm")("02.01.1970 00:01"), parsed("yyyyMMdd")("19700102")
    (86460000000, 86400000000)

    Raises:
        ExpressionError: The pattern has a letter, or a number of one, that is not read, one field in two ways, or a
            quote without its end.
    """
    items = [_item(found.group(), pattern) for found in TOKENS.finditer(pattern)]
    _check(items, pattern)
    expression = re.compile("".join(_joined(items)), re.IGNORECASE | re.ASCII | re.DOTALL)
    long_year = any(item.field == "year" and item.grows and "+" in item.expression for item in items)
    least = max((token.group().count("y") for token in TOKENS.finditer(pattern) if token.group()[0] == "y"), default=0)

    def read(text: str) -> int:
        found = expression.fullmatch(text)
        if found is None:
            raise FailedCall(k.MALFORMED)
        fields = found.groupdict()
        if long_year and not _is_signed(fields["year"], least):
            raise FailedCall(k.MALFORMED)
        return _time(fields)

    return read


def tried(pattern: str) -> Callable[[str], int | None]:
    """As `parsed`, with None for a text that does not fit; a time that no TIMESTAMP holds fails."""
    read = parsed(pattern)

    def read_or_none(text: str) -> int | None:
        try:
            return read(text)
        except FailedCall as failure:
            if failure.code != k.MALFORMED:
                raise
            return None

    return read_or_none


def _item(token: str, pattern: str) -> _Item:
    letter, count = token[0], len(token)
    if letter == "'":
        if count < 2 or "''" in token[1:-1]:
            raise _refused(pattern, "a quote within a text, or without its end")
        return _Item("", re.escape(token[1:-1] if count > 2 else "'"))
    if not (letter.isascii() and letter.isalpha()):
        if letter in "[]{}#":
            raise _refused(pattern, f"the mark {letter!r}")
        return _Item("", re.escape(token))
    match letter, count:
        case "y", 2:
            return _Item("short_year", r"\d{2}", 2)
        case "y", _ if count < 4:
            return _Item("year", rf"-?\d{{{count},19}}", grows=True)
        case "y", _ if count <= 6:
            return _Item("year", rf"[+-]?\d{{{count},19}}", grows=True)
        case "M" | "L", 3 | 4:
            names = sorted((name[:3] if count == 3 else name for name in MONTHS), key=len, reverse=True)
            return _Item("month_name", f"(?>{'|'.join(names)})")
        case "D", 2 | 3:
            return _Item("day_of_year", rf"\d{{{count},3}}", 3 * (count == 3), grows=count == 2)
        case "a", 1:
            return _Item("half_day", "[AP]M")
        case "S", _ if count <= 9:
            return _Item("fraction", rf"\d{{1,{count}}}", int(count == 1), grows=count > 1)
        case _ if letter in _FIELDS and count == 1:
            return _Item(_FIELDS[letter][0], r"\d{1,19}", grows=True)
        case _ if letter in _FIELDS and letter != "D" and count == 2:
            return _Item(_FIELDS[letter][0], r"\d{2}", 2)
    raise _refused(pattern, repr(token))


def _check(items: list[_Item], pattern: str) -> None:
    """Refuse a pattern that says one thing twice, which Java compares."""
    names = [item.field.removesuffix("_name").removeprefix("short_") for item in items if item.field]
    names = ["hour" if name in _HOURS else name for name in names]
    clear = len(set(names)) == len(names) and not ("day_of_year" in names and {"month", "day"} & set(names))
    full_hour = any(item.field in ("hour", "clock") for item in items)
    if not clear or (full_hour and "half_day" in names):
        raise _refused(pattern, "one field in two ways")


def _joined(items: list[_Item]) -> Iterator[str]:
    """The expressions of items, where one that takes all digits leaves those of a fixed number behind it."""
    place = 0
    while place < len(items):
        run = [items[place]]
        place += 1
        if run[0].digits or (run[0].grows and run[0].field != "fraction"):
            while place < len(items) and items[place].digits:
                run.append(items[place])
                place += 1
        yield f"(?>{''.join(item.group for item in run)})"


def _is_signed(year: str, least: int) -> bool:
    """Whether a year has a sign where it has more digits than its letters, and a plus sign there alone."""
    return year[0] == "-" or (len(year.lstrip("+")) > least) == (year[0] == "+")


def _time(fields: dict[str, str | None]) -> int:
    """The time that fields say."""
    numbers = {name: int(text) for name, text in fields.items() if text is not None and text[-1:].isdigit()}
    for name, least, most in _FIELDS.values():
        if not least <= numbers.get(name, least) <= most:
            raise FailedCall(k.MALFORMED)
    year = numbers.get("year", numbers.get("short_year", -30) + _CENTURY)
    month, month_name = numbers.get("month", 1), (fields.get("month_name") or "").lower()
    if month_name:
        month = next(number for number, full in enumerate(MONTHS, 1) if full.lower().startswith(month_name))
    day, of_year = numbers.get("day", 1), numbers.get("day_of_year", 1)
    is_minus_zero = year == 0 and (fields.get("year") or "").startswith("-")
    if (
        is_minus_zero
        or abs(year) > _LAST_YEAR
        or day > _days_of_month(year, month)
        or of_year > 337 + _days_of_month(year, 2)
    ):
        raise FailedCall(k.MALFORMED)
    days = _days_from_civil(year, month, day) + of_year - 1
    seconds = (_hour(numbers, fields.get("half_day")) * 60 + numbers.get("minute", 0)) * 60 + numbers.get("second", 0)
    fraction = int((fields.get("fraction") or "")[:6].ljust(6, "0"))
    found = days * DAY_MICROSECONDS + seconds * 1_000_000 + fraction
    if not -_LONG <= found < _LONG:
        raise FailedCall(k.TIME_OVERFLOW)
    return found


def _hour(numbers: dict[str, int], half_day: str | None) -> int:
    """The hour of a day; without a word for its half that of the morning, and noon for PM alone."""
    if "hour" in numbers:
        return numbers["hour"]
    if "clock" in numbers:
        return numbers["clock"] % 24
    hour = numbers.get("half", numbers.get("half_clock", 0)) % _NOON
    return hour + _NOON * (half_day is not None and half_day.upper() == "PM")


def _refused(pattern: str, what: str) -> ExpressionError:
    msg = (
        f"the pattern {pattern!r} has {what}, by which no text is read here; there are y, M, L, d, D, a, H, k, K, h, "
        "m, s and S, each field once, texts in quotes, and what is no letter"
    )
    return ExpressionError(msg)
