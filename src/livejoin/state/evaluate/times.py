"""Dates, times and intervals."""

from __future__ import annotations

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import DAY_MICROSECONDS
from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.state.evaluate.code import Value
from livejoin.state.evaluate.compiler import Compiler, unsupported

PARTS: dict[Function, int] = {
    "year": k.YEAR,
    "quarter": k.QUARTER,
    "month": k.MONTH,
    "day": k.DAY,
    "day_of_week": k.DAY_OF_WEEK,
    "weekday": k.WEEKDAY,
    "day_of_year": k.DAY_OF_YEAR,
    "week": k.WEEK,
    "year_of_week": k.YEAR_OF_WEEK,
    "last_day": k.LAST_DAY,
}
"""Parts of dates, and the last day of a month."""

OF_DATES: dict[Function, int] = {
    "add_days": k.ADD_DAYS,
    "add_months": k.ADD_MONTHS,
    "date_difference": k.DATE_DIFFERENCE,
}
"""Functions of two values, of which one is a DATE."""

_DATE_UNITS = {
    "YEAR": k.UNIT_YEAR,
    "YYYY": k.UNIT_YEAR,
    "YY": k.UNIT_YEAR,
    "QUARTER": k.UNIT_QUARTER,
    "MONTH": k.UNIT_MONTH,
    "MON": k.UNIT_MONTH,
    "MM": k.UNIT_MONTH,
    "WEEK": k.UNIT_WEEK,
}
_DAY_UNITS = ("DAY", "DD")
_TIME_UNITS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_UNIT_SIZES = {**_TIME_UNITS, "DAY": DAY_MICROSECONDS, "WEEK": 7 * DAY_MICROSECONDS}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_NULL = "null"


def date(compiler: Compiler, scalar: Scalar) -> Value:
    """A DATE, that of a TIMESTAMP too."""
    if scalar.type.kind == "timestamp":
        return compiler.value(Call("cast", (scalar,), SqlType("date")))
    return compiler.value(scalar)


def part(compiler: Compiler, call: Call) -> Value:
    """A part of a date."""
    return compiler.each(PARTS[call.function], call, date(compiler, call.arguments[0]))


def of_dates(compiler: Compiler, call: Call) -> Value:
    """Days and months later, and days between two dates."""
    left, right = (compiler.value(argument) for argument in call.arguments)
    return compiler.each_of_two(OF_DATES[call.function], call, left, right, fails=call.function == "add_months")


def microseconds_of(compiler: Compiler, call: Call) -> Value:
    """The microseconds of a TIMESTAMP, which are its word."""
    return compiler.value(call.arguments[0])


def difference_in_units(compiler: Compiler, call: Call) -> Value:
    """Whole units between two TIMESTAMPs."""
    end, start = (compiler.value(argument) for argument in call.arguments[:2])
    unit = _unit(call, 2)
    months, size = _MONTHS.get(unit, 0), _UNIT_SIZES.get(unit, 0)
    if not months and not size:
        raise unsupported(call, f" has no unit {unit}")
    status = compiler.code.merge(end.status, start.status)
    at, out = compiler.code.emit(
        k.UNITS_BETWEEN, end.at, start.at, x=size, y=months, status=status, call=compiler.number_of(call), says=True
    )
    return Value(at, out, True)


def truncate_date(compiler: Compiler, call: Call) -> Value:
    """The first day of a unit."""
    unit = _unit(call)
    if unit not in _DATE_UNITS:
        return compiler.null(call.type)
    return compiler.each(k.TRUNCATE_DATE, call, date(compiler, call.arguments[0]), _DATE_UNITS[unit])


def truncate_time(compiler: Compiler, call: Call) -> Value:
    """The first microsecond of a unit."""
    unit, value = _unit(call), compiler.value(call.arguments[0])
    if unit in _TIME_UNITS:
        size = _TIME_UNITS[unit]
        return compiler.each(k.TRUNCATE_TIME, call, value, k.UNIT_MICROSECONDS, size, fails=True)
    if unit in _DAY_UNITS or unit in _DATE_UNITS:
        return compiler.each(k.TRUNCATE_TIME, call, value, _DATE_UNITS.get(unit, k.UNIT_DAY), fails=True)
    return compiler.null(call.type)


def make_date(compiler: Compiler, call: Call) -> Value:
    """A date of year, month and day."""
    year, month, day = (compiler.value(argument) for argument in call.arguments)
    status = compiler.code.merge(compiler.code.merge(year.status, month.status), day.status)
    shifted, _ = compiler.code.emit(k.PLAIN_MULTIPLY, month.at, compiler.code.constant(1 << 32))
    packed, _ = compiler.code.emit(k.PLAIN_ADD, shifted, day.at)
    number = compiler.number_of(call)
    at, out = compiler.code.emit(k.MAKE_DATE, year.at, packed, status=status, call=number, says=True)
    return Value(at, out, True)


def add_interval(compiler: Compiler, call: Call) -> Value:
    """A TIMESTAMP later by a constant interval: its months, then its days, then its microseconds."""
    value = compiler.value(call.arguments[0])
    parts = [argument.value for argument in call.arguments[1:] if isinstance(argument, Constant)]
    if len(parts) != len(call.arguments) - 1:
        raise unsupported(call, " takes a constant interval")
    if None in parts:
        return compiler.null(call.type)
    months, days, microseconds = (int(part) for part in parts if part is not None)
    if months:
        value = compiler.each_of_two(k.ADD_MONTHS_TO_TIME, call, value, Value(compiler.code.constant(months)))
    for part in (days * DAY_MICROSECONDS, microseconds):
        if not -(1 << 63) <= part < 1 << 63:
            raise unsupported(call, f" takes an interval of at most {(1 << 63) - 1} microseconds")
        if part:
            value = compiler.each_of_two(k.ADD_TIME, call, value, Value(compiler.code.constant(part)))
    return value


def _unit(call: Call, position: int = 1) -> str:
    unit = call.arguments[position]
    if not isinstance(unit, Constant):
        raise unsupported(call, " takes a constant unit")
    return _NULL if unit.value is None else str(unit.value).upper()
