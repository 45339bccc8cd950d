"""Rows of date_dim that are days of the calendar, as in the benchmark's data: month and week follow from the day.

A query that looks up the month of a year and a month in it wants one answer, which values drawn each by itself seldom
give. Days are drawn from the dates, months or years that the query names.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from typing import Any

_FIRST = date(1900, 1, 1)
_YEARS = (1902, 2100)
_WEEKS = (52, 53)
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def day_row(values: Mapping[str, list[Any]], named: Collection[str], draw: random.Random) -> dict[str, Any]:
    """The columns of date_dim that follow from a day.

    Args:
        values: What each column is drawn from.
        named: The columns that the query compares with constants.
        draw: What it is drawn by.
    """
    day = _day(values, named, draw)
    if "d_week_seq" in named or draw.random() < 0.2:
        day += timedelta(weeks=draw.choice((0, 0, *_WEEKS, *(-weeks for weeks in _WEEKS))))
    quarter = (day.month + 2) // 3
    return {
        "d_date": day,
        "d_month_seq": (day.year - _FIRST.year) * 12 + day.month - 1,
        "d_week_seq": (day - _FIRST).days // 7 + 1,
        "d_quarter_seq": (day.year - _FIRST.year) * 4 + quarter,
        "d_year": day.year,
        "d_dow": day.isoweekday() % 7,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": quarter,
        "d_day_name": _NAMES[day.weekday()],
        "d_quarter_name": f"{day.year}Q{quarter}",
    }


def _day(values: Mapping[str, list[Any]], named: Collection[str], draw: random.Random) -> date:
    if "d_date" in named and draw.random() < 0.8:
        found: date = draw.choice(values["d_date"])
        return found
    of_month = draw.choice(values["d_dom"]) if "d_dom" in named else draw.randint(1, 28)
    if "d_month_seq" in named and draw.random() < 0.8:
        month = draw.choice(values["d_month_seq"])
        return _valid(_FIRST.year + month // 12, month % 12 + 1, of_month)
    year = draw.choice(values["d_year"]) if "d_year" in named else 2000
    if "d_moy" in named:
        return _valid(year, draw.choice(values["d_moy"]), of_month)
    of_year = 3 * draw.choice(values["d_qoy"]) if "d_qoy" in named else draw.randint(1, 12)
    return _valid(year, of_year, of_month)


def _valid(year: int, of_year: int, of_month: int) -> date:
    """A date in the range, near to the one that numbers give."""
    return date(min(_YEARS[1], max(_YEARS[0], year)), min(12, max(1, of_year)), min(28, max(1, of_month)))
