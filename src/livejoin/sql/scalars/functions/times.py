"""Dates and timestamps: their sums with days, months and intervals, their differences, their parts.

DATE plus days, or plus an interval of days or months, is a DATE; plus hours it is a TIMESTAMP. The difference of two
times is an interval of days and time, however Spark names its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.sql.parse.other_dialects import TIME_PARTS
from livejoin.sql.scalars.arithmetic import binary
from livejoin.sql.scalars.coercion import accepted, common_type
from livejoin.sql.scalars.operands import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVALS,
    LOCAL_TIME,
    MONTHS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Interval,
    Mismatch,
    Operand,
    Unsayable,
    Void,
    as_value,
    call,
    cast,
    is_kind,
    is_number,
    type_of,
)

_DAYS_OF_WEEK: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_FULL_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DATE_UNITS: Final = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mm", "mon"), "month"),
    "week": "week",
}
_TIME_UNITS: Final = {
    **_DATE_UNITS,
    **dict.fromkeys(("day", "dd"), "day"),
    **{unit: unit for unit in ("hour", "minute", "second", "millisecond", "microsecond")},
}
_FIELDS: Final[dict[str, Function]] = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("yearofweek",), "year_of_week"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "week"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "day_of_week"),
    **dict.fromkeys(("doy",), "day_of_year"),
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
}
_SECONDS: Final = ("second", "s", "sec", "seconds", "secs")
_SHORT_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SHORT_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_SECONDS: Final = 86_400
_MONTH_SECONDS: Final = 31 * _DAY_SECONDS
_ROUNDED: Final = 1e8
_MOST_INT: Final = (1 << 31) - 1
_YEAR: Final = 12
_NO_MONTHS: Final = Constant(0, INT)
_TRUE: Final = Constant(True, BOOLEAN)


def plus(left: Operand, right: Operand) -> Operand | None:
    """The sum of a time and an interval or days; None if neither operand is a time or an interval."""
    if isinstance(right, Interval) and type_of(left) not in INTERVALS:
        return shifted(left, right)
    if isinstance(left, Interval) and type_of(right) not in INTERVALS:
        return shifted(right, left)
    for time, by in ((left, as_value(right)), (right, as_value(left))):
        if not isinstance(by, Void) and by.type in INTERVALS:
            return _plus_interval(time, by)
    if {"VOID"} < {type_of(left), type_of(right)} <= {"VOID", DATE, TIMESTAMP, LOCAL_TIME}:
        raise Unsayable("+", "a time plus a NULL without a type is always NULL; write CAST(NULL AS TIMESTAMP)")
    for time, days in ((left, right), (right, left)):
        if type_of(time) == DATE and not is_kind(type_of(days), "string"):
            return add_days(time, days)
    return None


def minus(left: Operand, right: Operand) -> Operand | None:
    """The difference of a time and an interval, days or time; None if neither operand is a time or an interval."""
    if isinstance(right, Interval) and type_of(left) not in INTERVALS:
        return shifted(left, right.negated())
    right = as_value(right)
    if not isinstance(right, Void) and right.type in INTERVALS:
        value = as_value(left)
        if not isinstance(value, Void) and value.type == right.type == MONTHS:
            return call("subtract", MONTHS, value, right)
        return _plus_interval(left, call("negate", right.type, right))
    if is_kind(type_of(right), "date", "timestamp") and is_kind(type_of(left), "date", "timestamp"):
        kind = LOCAL_TIME if type_of(left) == type_of(right) == DATE else common_type(type_of(left), type_of(right))
        assert isinstance(kind, SqlType), "two times have a type in common"
        return call("subtract", INTERVAL, cast(left, kind), cast(right, kind))
    if type_of(as_value(left)) in INTERVALS:
        msg = f"an interval is taken from a time or an interval, and {type_of(right)} is found"
        raise Mismatch(msg)
    if is_kind(type_of(right), "date", "timestamp") or is_kind(type_of(left), "timestamp"):
        raise Unsayable("-", "the other side is no time; cast it to TIMESTAMP")
    if type_of(left) == DATE:
        if type_of(right) in ("VOID", STRING):
            raise Unsayable("-", "the other side is no time; cast it to DATE, or to INT for days")
        return subtract_days(left, right)
    return None


def _plus_interval(time: Operand, by: Scalar) -> Scalar:
    """A time, or an interval, plus an interval that is no constant.

    Raises:
        Mismatch: The first operand is neither, or an interval of the other kind.
        Unsayable: The first operand is an untyped NULL, or a DATE and the interval has days and time.
    """
    time = as_value(time)
    kind = type_of(time)
    if kind == DATE and by.type == MONTHS:
        return call("add_months", DATE, cast(time, DATE), by)
    if kind in ("VOID", DATE):
        raise Unsayable("+", "an interval that is no constant is added to a TIMESTAMP; cast to it")
    if isinstance(kind, SqlType) and kind.kind == "timestamp":
        return call("add", kind, cast(time, kind), by)
    if kind == by.type:
        return call("add", by.type, cast(time, by.type), by)
    msg = f"{by.type} is added to a TIMESTAMP or another such interval, and {kind} is found"
    raise Mismatch(msg)


def multiplied(left: Operand, right: Operand) -> Scalar:
    """An interval times an integer.

    Raises:
        Mismatch: The other factor is no number.
        Unsayable: The other factor is no integer.
    """
    by, factor = (left, right) if type_of(left) in INTERVALS else (right, left)
    if not is_number(type_of(factor)):
        msg = f"an interval is multiplied by a number, and {type_of(factor)} is found"
        raise Mismatch(msg)
    if not is_kind(type_of(factor), "integer"):
        raise Unsayable("*", "an interval is multiplied by whole numbers")
    if type_of(by) == MONTHS:
        return cast(call("multiply", BIGINT, cast(by, BIGINT), cast(factor, BIGINT)), MONTHS)
    return call("multiply", INTERVAL, cast(by, INTERVAL), cast(factor, BIGINT))


def of_months(years: Operand = _NO_MONTHS, months: Operand = _NO_MONTHS) -> Scalar:
    """``make_ym_interval(years, months)``."""
    whole = call("multiply", BIGINT, cast(accepted(years, INT), BIGINT), Constant(_YEAR, BIGINT))
    return cast(call("add", BIGINT, whole, cast(accepted(months, INT), BIGINT)), MONTHS)


def shifted(time: Operand, by: Interval) -> Scalar:
    """A time plus an interval.

    Raises:
        Mismatch: The first operand is no time.
        Unsayable: The first operand is an interval too.
    """
    kind = type_of(time)
    if isinstance(time, Interval) or kind == "VOID":
        raise Unsayable("INTERVAL", "an interval is only added to a time")
    if kind == DATE and by.unit == "months":
        return call("add_months", DATE, cast(time, DATE), Constant(by.months, INT))
    if kind == DATE and by.unit == "days":
        return call("add_days", DATE, cast(time, DATE), Constant(by.days, INT))
    if is_kind(kind, "date", "timestamp"):
        return _add_interval(cast(time, LOCAL_TIME if kind == LOCAL_TIME else TIMESTAMP), by)
    if is_kind(kind, "string") and by.unit != "months":
        moved = _add_interval(cast(time, TIMESTAMP), by)
        return cast(moved, STRING)
    msg = f"an interval is added to a DATE or TIMESTAMP, and {kind} is found"
    raise Mismatch(msg)


def _add_interval(time: Scalar, by: Interval) -> Scalar:
    parts = (Constant(by.months, INT), Constant(by.days, INT), Constant(by.microseconds, BIGINT))
    return call("add_interval", time.type, time, *parts)


def add_days(time: Operand, days: Operand) -> Scalar:
    """A date plus days."""
    return call("add_days", DATE, accepted(time, DATE), _days(days))


def subtract_days(time: Operand, days: Operand) -> Scalar:
    """A date minus days."""
    number = _days(days)
    if isinstance(number, Constant) and isinstance(number.value, int) and number.value > -_MOST_INT:
        return call("add_days", DATE, accepted(time, DATE), Constant(-number.value, INT))
    return call("add_days", DATE, accepted(time, DATE), call("negate", INT, number))


def _days(operand: Operand) -> Scalar:
    """A number of days: an INT or narrower, or a string with one."""
    kind = type_of(operand)
    if kind in ("VOID", STRING, TINYINT, SMALLINT, INT):
        return cast(operand, INT)
    msg = f"days are INT, SMALLINT or TINYINT, and {kind} is found; cast it to INT"
    raise Mismatch(msg)


def difference(unit: str, start: Operand, end: Operand) -> Scalar:
    """``datediff(unit, start, end)``: the number of whole units between two times.

    Raises:
        Mismatch: There is no such unit, or an argument is no time.
    """
    found = _TIME_UNITS.get(unit.lower())
    if found is None:
        msg = f"{unit} is no unit; allowed are {', '.join(dict.fromkeys(_TIME_UNITS.values()))}"
        raise Mismatch(msg)
    times = accepted(end, TIMESTAMP), accepted(start, TIMESTAMP)
    return call("difference_in_units", BIGINT, *times, Constant(found, STRING))


def microseconds(time: Operand) -> Scalar:
    """The microseconds of a timestamp."""
    return call("microseconds_of", BIGINT, with_clock(time))


def with_clock(time: Operand) -> Scalar:
    """A value with a time of day; one without a zone keeps having none."""
    return accepted(time, LOCAL_TIME if type_of(time) == LOCAL_TIME else TIMESTAMP)


def part(function: Function, time: Operand) -> Scalar:
    """A part of a date or of its time of day, as INT."""
    is_of_clock = function in ("hour", "minute", "second")
    return call(function, INT, with_clock(time) if is_of_clock else accepted(time, DATE))


def day_name(time: Operand) -> Scalar:
    """DAYNAME: the day of the week in three letters."""
    return _named(part("weekday", time), _SHORT_DAYS, 0)


def month_name(time: Operand) -> Scalar:
    """MONTHNAME: the month in three letters."""
    return _named(part("month", time), _SHORT_MONTHS, 1)


def _named(number: Scalar, names: Sequence[str], first: int) -> Scalar:
    """The name for a number; NULL for NULL."""
    branches: list[Scalar] = []
    for place, name in enumerate(names, first):
        branches += [call("equal", BOOLEAN, number, Constant(place, INT)), Constant(name, STRING)]
    return call("case", STRING, *branches, Constant(None, STRING))


def months_between(end: Operand, start: Operand, rounded: Operand = _TRUE) -> Scalar:
    """MONTHS_BETWEEN: months between two times; each day of a partial month counts 1/31.

    The result is whole if both are the same day of a month, or both the last one, whatever the time of day is. Else it
    is rounded to eight digits, if asked for.
    """
    (last, last_second), (first, first_second) = _day_and_second(end), _day_and_second(start)
    is_rounded = accepted(rounded, BOOLEAN)

    def difference(unit: Function) -> Scalar:
        return call("subtract", INT, call(unit, INT, last), call(unit, INT, first))

    months = call("add", INT, call("multiply", INT, difference("year"), Constant(_YEAR, INT)), difference("month"))
    both_last = [call("equal", BOOLEAN, day, call("last_day", DATE, day)) for day in (last, first)]
    same_day = call("equal", BOOLEAN, difference("day"), Constant(0, INT))
    is_whole = call("or", BOOLEAN, same_day, call("and", BOOLEAN, *both_last))
    days = call("multiply", INT, difference("day"), Constant(_DAY_SECONDS, INT))
    of_days = call("subtract", INT, last_second, first_second)
    seconds = cast(call("add", INT, days, of_days), DOUBLE)
    part_ = call("divide", DOUBLE, seconds, Constant(float(_MONTH_SECONDS), DOUBLE))
    exact = call("add", DOUBLE, cast(months, DOUBLE), part_)
    scaled = call("multiply", DOUBLE, exact, Constant(_ROUNDED, DOUBLE))
    whole = call("floor", BIGINT, call("add", DOUBLE, scaled, Constant(0.5, DOUBLE)))
    to_digits = call("divide", DOUBLE, cast(whole, DOUBLE), Constant(_ROUNDED, DOUBLE))
    value = call("case", DOUBLE, is_rounded, to_digits, call("not", BOOLEAN, is_rounded), exact, Constant(None, DOUBLE))
    if isinstance(is_rounded, Constant) and is_rounded.value is not None:
        value = to_digits if is_rounded.value else exact
    known = call("case", DOUBLE, is_whole, cast(months, DOUBLE), value)
    if isinstance(is_rounded, Constant) and is_rounded.value is not None:
        return known
    return call("case", DOUBLE, call("is_null", BOOLEAN, is_rounded), Constant(None, DOUBLE), known)


def _day_and_second(time: Operand) -> tuple[Scalar, Scalar]:
    """The day of a time, and the second of that day; a DATE has no zone."""
    if type_of(time) == DATE:
        return cast(time, DATE), Constant(0, INT)
    instant = accepted(time, TIMESTAMP)
    hours = call("multiply", INT, call("hour", INT, instant), Constant(60, INT))
    minutes = call("add", INT, hours, call("minute", INT, instant))
    seconds = call("add", INT, call("multiply", INT, minutes, Constant(60, INT)), call("second", INT, instant))
    return cast(instant, DATE), seconds


def in_other_zone(*arguments: Operand) -> Scalar:
    """CONVERT_TIMEZONE: the local time in one zone for a local time in another one, or in the session's."""
    *of, to, time = arguments
    if is_kind(type_of(time), "string"):  # Spark leaves out a zone that the string has
        raise Unsayable("CONVERT_TIMEZONE", "it reads no strings; cast to TIMESTAMP, in which a zone counts")
    local = accepted(time, LOCAL_TIME)
    if not of:
        instant = cast(local, TIMESTAMP)  # in the zone of the session
        return cast(call("time_in_zone", TIMESTAMP, instant, accepted(to, STRING)), LOCAL_TIME)
    in_utc = call("time_from_zone", LOCAL_TIME, local, accepted(of[0], STRING))
    return call("time_in_zone", LOCAL_TIME, in_utc, accepted(to, STRING))


def extract(field: str, time: Operand) -> Scalar:
    """EXTRACT(field FROM time).

    Raises:
        Mismatch: There is no such field, or the argument is no time.
    """
    name = field.lower()
    value = as_value(time)
    if not isinstance(value, Void) and value.type == MONTHS and _FIELDS.get(name) in ("year", "month"):
        months = cast(value, BIGINT)
        if _FIELDS[name] == "year":
            return cast(call("integral_divide", BIGINT, months, Constant(_YEAR, BIGINT)), INT)
        return cast(call("remainder", BIGINT, months, Constant(_YEAR, BIGINT)), TINYINT)
    if name in _SECONDS:
        return call("second_with_fraction", SqlType.decimal(8, 6), with_clock(time))
    if name in ("dayofweek_iso", "dow_iso"):
        return binary("add", part("weekday", time), Constant(1, INT))
    if name not in _FIELDS:
        if hint := TIME_PARTS.get(name):
            msg = f"{field} is no part of a time here; {hint}"
            raise Mismatch(msg)
        msg = f"{field} is no part of a time; allowed are {', '.join(dict.fromkeys(_FIELDS))}"
        raise Mismatch(msg)
    return part(_FIELDS[name], time)


def truncated_date(time: Operand, unit: Operand) -> Scalar:
    """``trunc(date, unit)``: the first day of the year, quarter, month or week; NULL for another unit."""
    return _truncated("truncate_date", accepted(time, DATE), unit, _DATE_UNITS)


def truncated_time(unit: Operand, time: Operand) -> Scalar:
    """``date_trunc(unit, time)``: the first moment of the unit; NULL for an unknown unit."""
    return _truncated("truncate_time", accepted(time, TIMESTAMP), unit, _TIME_UNITS)


def _truncated(function: Function, time: Scalar, unit: Operand, units: dict[str, str]) -> Scalar:
    name = accepted(unit, STRING)
    if not isinstance(name, Constant):
        raise Unsayable(function.upper(), "the unit is a constant")
    found = None if name.value is None else units.get(str(name.value).lower())
    return call(function, time.type, time, Constant(found, STRING)) if found else Constant(None, time.type)


def next_day(time: Operand, day: Operand) -> Scalar:
    """``next_day(date, day)``: the first such day of the week after a date."""
    name = accepted(day, STRING)
    if not isinstance(name, Constant):
        raise Unsayable("NEXT_DAY", "the day of the week is a constant")
    text = str(name.value).strip().lower()
    for number, (short, full) in enumerate(zip(_DAYS_OF_WEEK, _FULL_DAYS, strict=True)):
        if text in (short, full[:3], full):
            since = binary("subtract", Constant(number - 1, INT), part("weekday", time))
            ahead = binary("positive_remainder", since, Constant(7, INT))
            return add_days(time, binary("add", ahead, Constant(1, INT)))
    raise Unsayable("NEXT_DAY", f"{name.value!r} is no day of the week; write 'Monday'")
