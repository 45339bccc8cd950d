"""Patterns of times that read texts, time zones, and formats of numbers; against Python's own, and in views.

`tests/conformance` compares them with Spark.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.errors import ExpressionError, SqlError
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.time_format import formatted
from livejoin.query.texts.time_parse import parsed, tried
from livejoin.query.texts.zones import instant_of, local_time, zone_named
from strategies import FUZZ

pytestmark = pytest.mark.nojit
EPOCH = datetime(1970, 1, 1)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
NAMES = st.sampled_from(("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"))
WHOLE = (
    "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "yyyyMMdd HHmmssSSSSSS",
    "d MMMM yyyy, hh:mm:ss a SSSSSS",
    "yyyy DDD H:m:s.SSSSSS",
)


def micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


@FUZZ
@given(TIMES, st.sampled_from(WHOLE))
def test_what_a_pattern_shows_it_reads(time: datetime, pattern: str) -> None:
    text = formatted(pattern)(micros(time))
    assert parsed(pattern)(text) == parsed(pattern)(text.upper()) == tried(pattern)(text) == micros(time)
    assert tried(pattern)(text + "0") is None
    with pytest.raises(FailedCall):
        parsed(pattern)(" " + text)


@FUZZ
@given(TIMES, NAMES)
def test_zones_are_those_of_python(time: datetime, name: str) -> None:
    zone = zone_named(name)
    assert isinstance(zone, ZoneInfo)
    ahead = time.replace(tzinfo=UTC).astimezone(ZoneInfo(name)).utcoffset()
    assert ahead is not None
    assert local_time(micros(time), zone) - micros(time) == round(ahead.total_seconds()) * 1_000_000
    cycle = 146_097 * 86_400_000_000
    assert (
        local_time(micros(time) + 40 * cycle, zone) % cycle == local_time(micros(time), zone) % cycle
        or time.year < 2100
    )
    # There and back, but for local times that a clock skips.
    assert local_time(instant_of(micros(time), zone), zone) - micros(time) in (
        0,
        1_800_000_000,
        3_600_000_000,
        86_400_000_000,
    )


@pytest.mark.parametrize("pattern", ["yyyy MM M", "HH hh", "HH a", "DDD dd", "uuuu", "E", "[HH]", "'open", "X", "S''S"])
def test_patterns_by_which_no_text_is_read(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="by which no text is read here"):
        parsed(pattern)


def test_views_with_formats_and_zones() -> None:
    """Rows that come, go and come again; a text that does not fit fails the commit, and try_ gives NULL."""
    db = livejoin.Database()
    db.create_table("T", "s STRING, t TIMESTAMP, z STRING, n DECIMAL(8, 2), i INT")
    view = db.create_view(
        "v",
        "SELECT to_date(s, 'dd.MM.yyyy') AS d, try_to_timestamp(z, 'HH:mm') AS c, from_utc_timestamp(t, z) AS l, "
        "to_char(n, 'S9,990.00') AS n, format_string('%s: %05d %%', s, i) AS f, COUNT(*) AS k FROM T GROUP BY ALL",
    )
    at = datetime(2024, 3, 10, 7, 30)
    row = ("29.02.2024", at, "America/New_York", Decimal("-1234.50"), 7)
    db.apply("T", [row, row, ("01.03.2024", at, None, None, None), ("29.02.2024", at, "+02:00", Decimal(1), -7)])
    names = ("s", "t", "z", "n", "i")
    db.apply("T", [dict(zip(names, row, strict=True)) | {"_change_type": "delete"}])
    day = datetime(2024, 2, 29).date()
    expected = [
        (day, None, datetime(2024, 3, 10, 3, 30), "-1,234.50", "29.02.2024: 00007 %", 1),
        (day, None, datetime(2024, 3, 10, 9, 30), "    +1.00", "29.02.2024: -0007 %", 1),
        (datetime(2024, 3, 1).date(), None, None, None, "01.03.2024:  null %", 1),
    ]
    rows = sorted(
        (tuple(row.values()) for row in view.to_arrow().to_pylist()), key=lambda row: (row[0], row[4][-4:], row)
    )
    assert sorted(rows, key=str) == sorted(expected, key=str)
    for odd, message in (
        (("2024-02-29", at, None, None, 1), "try_to_date"),
        (("01.01.2024", at, "Mars", None, 1), "time zone"),
    ):
        with pytest.raises(ExpressionError, match=message):
            db.apply("T", [odd])
    db._check()
    assert sorted((tuple(row.values()) for row in view.to_arrow().to_pylist()), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    "call, message",
    [
        ("to_timestamp(s, z)", "a pattern is written into the query"),
        ("to_char(i, '9x9')", "the format '9x9' has 'X'"),
        ("to_char(i, z)", "a pattern is written into the query"),
        ("format_string('%q', i)", "There are %s, %d"),
        ("format_string('%d', s)", "%d shows integers, and STRING is found"),
        ("format_string('%s %s', s)", "and there are 1 values"),
        ("format_string(s, i)", "a pattern is written into the query"),
        ("to_timestamp(i, 'yyyy')", "cast it to STRING"),
    ],
)
def test_formats_that_are_refused_when_a_view_is_made(call: str, message: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "s STRING, z STRING, i INT")
    with pytest.raises(SqlError, match=message):
        db.create_view("v", f"SELECT {call} AS x FROM T")
