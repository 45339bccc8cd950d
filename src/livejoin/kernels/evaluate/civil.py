"""The proleptic Gregorian calendar: days since 1970-01-01 and years, months, days.

Source: H. Hinnant, "chrono-compatible low-level date algorithms", days_from_civil and civil_from_days: an era is 400
years of 146,097 days, and years begin in March, so that the leap day is the last of its year.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined

DAY_MICROSECONDS = 86_400_000_000

_ERA_DAYS = 146_097
_EPOCH = 719_468  # days from 0000-03-01 to 1970-01-01


@helper
def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date, which exists."""
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH


@helper
def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day."""
    days = days + _EPOCH
    era = days // _ERA_DAYS
    of_era = days - era * _ERA_DAYS
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (1 if month <= 2 else 0), month, day


@helper
def days_of_month(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@inlined
def weekday(days: int) -> int:
    """0 for Monday to 6 for Sunday."""
    return (days + 3) % 7  # 1970-01-01 was a Thursday


@helper
def plus_months(days: int, months: int) -> int:
    """The date so many months later, on the last day of its month if that has no such day."""
    year, month, day = civil_from_days(days)
    total = year * 12 + month - 1 + months
    year = total // 12
    month = total - year * 12 + 1
    return days_from_civil(year, month, min(day, days_of_month(year, month)))


@helper
def week_of(days: int) -> tuple[int, int]:
    """Year and number of a date's week by ISO 8601: the week's Thursday says its year."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil_from_days(thursday)
    return year, (thursday - days_from_civil(year, 1, 1)) // 7 + 1
