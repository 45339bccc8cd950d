"""The expressions of the group ``formats``: patterns of times, formats of numbers and values, and time zones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

COLUMNS = ("b", "i8", "i32", "i64", "x", "p", "q", "v", "d", "z", "s", "n", "e", "h", "w", "NULL")
ZONES = (
    "UTC", "Z", "z", "GMT0", "GMT+0", "UT+3", "UTC-03:30", "utc", "+02:00", "+2", "-2:30", "+02:3", "+0230", "+023015",
    "+02:30:15", "+2:30:15", "+18:00", "-18:01", "+02:60", "+", "", " UTC", "America/New_York", "America/Los_Angeles",
    "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
    "Asia/Tehran", "Etc/GMT+3", "EST",
    "PST", "pst", "BST", "ROC", "Europe/berlin", "Nowhere/There",
)  # fmt: skip
PATTERNS = (
    "yyyy-MM-dd", "yyyy-M-d", "y-MM-dd", "yyyyMMdd", "yMMdd", "yy-MM-dd", "yyMMdd", "yyyyy-MM-dd", "yyy/MM", "MM/dd",
    "dd.MM.yyyy HH:mm", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm:ss.S", "yyyy-MM-dd HH:mm:ss.SSS",
    "yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyyMMddHHmmss", "yyyyMMddHHmmssSSS", "yyyyMMddHHmmssS", "HHmm", "Hmm", "H:m:s",
    "hh:mm a", "h a", "h:mm", "K a", "kk:mm", "k", "a", "d MMM yyyy", "d MMMM yyyy", "MMMM d, yyyy", "LLL yy",
    "yyyy DDD", "yyyy-D", "yyyyDDD", "yyyyD", "DD yyyy", "yyyy''MM", "yyyy-MM-dd'T'HH:mm:ss", "'on' yyyy-MM-dd",
    "ss.SS", "mm:ss",
    "", "yyyy MM MM", "HH a", "kk HH", "yyyy D dd", "yyyyyyy", "E", "Q", "uuuu", "G", "[yyyy]", "YYYY", "dd MMMMM",
    "HHH",
    "X",
)  # fmt: skip
NUMBERS = (
    "9", "999", "000", "9999999999", "0000000000", "99.99", "9.9", "999.990", "000.00", ".99", "9.", "999,999.99",
    "9,999,999,999", "0,000,000,000", "$999.9", "S999", "999S", "S0,000", "MI999.9", "999.9MI", "999PR", "$99,999.99PR",
    "999999999999999999999999999999D999999999999", "9G999G999D99", "s99999999.99", "S$99999.99", "99999.99S", "S99.",
    "90909.09", "09999.90", "$0", "9,9,9", "9$9", "9.9.9", "99S9", "SS9", "", "x", "9x", ",999", "999,", "9,,9",
    "9.9,9",
    "MI", "PR9", "9PRS", "$", "S9MI", "99999.0",
)  # fmt: skip
SPECS = (
    "%s", "%5s|", "%-8s|", "%.2s", "%6.3s|", "%S", "%d", "%6d|", "%-6d|", "%06d", "%+d", "% d", "%(d", "%,d", "%,015d",
    "%(,12d|", "%x", "%X", "%#x", "%08x", "%-10X|", "%f", "%.2f", "%.0f", "%12.3f|", "%-12.1f|", "%012.2f", "%+.1f",
    "%(.2f", "%,.2f", "%(,020.3f", "%e", "%.3e", "%E", "%015.2e", "%.0e", "%+(e",
)  # fmt: skip
ODD_SPECS = (
    "%%", "%5%|", "%1$s %1$s", "%2$s", "%0$s", "%c", "%b", "%o", "%h", "%n", "%g", "%a", "%05s", "%#s", "%-d", "%-05d",
    "%+ d", "%.2d", "%,x", "%,e", "%D", "%", "%q", "a%sb%%c", "",
)  # fmt: skip


def expressions() -> Iterator[str]:
    """The expressions."""
    yield from _zones()
    yield from _times()
    yield from _numbers()
    yield from _values()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _zones() -> Iterator[str]:
    for name, zone in product(("from_utc_timestamp", "to_utc_timestamp"), ZONES):
        yield f"{name}(z, {_quoted(zone)})"
    for name in ("from_utc_timestamp", "to_utc_timestamp"):
        for column in COLUMNS:
            yield from (f"{name}({column}, 'Europe/Paris')", f"{name}(z, {column})")
        yield f"{name}(z, CASE WHEN i32 > 0 THEN 'Asia/Tokyo' WHEN i32 < 0 THEN '-01:30' END)"
        yield f"{name}(add_months(d, i8) + make_ym_interval(0, 1), 'America/Sao_Paulo')"
    # Each hour of the days on which a clock of New York, and one of Lord Howe by half an hour, is moved.
    for day, zone in (
        ("2024-03-10", "America/New_York"), ("2024-11-03", "America/New_York"), ("2024-10-05", "Australia/Lord_Howe"),
        ("2024-04-06", "Australia/Lord_Howe"), ("1883-11-18", "America/New_York"), ("2011-12-30", "Pacific/Apia"),
        ("2400-07-01", "Europe/Berlin"),
    ):  # fmt: skip
        for hour in range(24):
            time = f"TIMESTAMP'{day} {hour:02}:15:00'"
            yield from (f"from_utc_timestamp({time}, '{zone}')", f"to_utc_timestamp({time}, '{zone}')")
    for zone in ZONES:
        yield f"to_timestamp(concat('2024-07-01 12:00:00 ', {_quoted(zone)}))"


def _times() -> Iterator[str]:
    chosen = random.Random("patterns of times")
    for pattern in PATTERNS:
        text = _quoted(pattern)
        yield from (f"to_char(z, {text})", f"to_timestamp(date_format(z, {text}), {text})", f"to_date(e, {text})")
        yield from (f"try_to_timestamp(e, {text})", f"try_to_timestamp(date_format(k, {text}), {text})")
        other = _quoted(chosen.choice(PATTERNS[:40]))
        yield from (f"to_timestamp(date_format(z, {other}), {text})", f"try_to_date(date_format(d, {other}), {text})")
        yield f"to_timestamp(upper(date_format(z, {text})), {text})"
    for name in ("to_timestamp", "to_date", "try_to_timestamp", "try_to_date", "unix_timestamp", "to_unix_timestamp"):
        for column in COLUMNS:
            yield from (f"{name}({column}, 'yyyy-MM-dd')", f"{name}({column})")
        yield from (f"{name}(e, NULL)", f"{name}(e, u)", f"{name}(date_format(z, 'yyyyMMdd HH'), 'yyyyMMdd HH')")
    for column in COLUMNS:
        yield f"to_char({column}, 'yyyy-MM-dd')"
    texts = (
        "10000-01-01", "+10000-01-01", "-0001-01-01", "+2024-01-01", "-2024-01-01", "0000-01-01", "-0000-01-01",
        "294247-01-10", "+294247-01-10", "+294247-01-11", "-290308-12-21", "999999-01-01", "2024-02-30", "2023-02-29",
        "2024-2-9", " 2024-02-09", "2024-02-09 ", "2024-02-9", "24-02-09", "٢٠٢٤-٠٢-٠٩", "2024-13-01", "2024-00-10",
    )  # fmt: skip
    for text, pattern in product(texts, ("yyyy-MM-dd", "y-M-d", "yyyyyy-MM-dd", "yy-MM-dd", "yyy-MM-d")):
        yield from (f"to_timestamp({_quoted(text)}, '{pattern}')", f"try_to_date({_quoted(text)}, '{pattern}')")
    for _ in range(400):
        pattern = "".join(
            letter * chosen.choice((1, 2, 2, 4 if letter in "yM" else 2)) + chosen.choice(("", "", "-", ":", " "))
            for letter in chosen.sample("yMdHms", chosen.randint(1, 6))
        ) + chosen.choice(("", "", "S", "SSS", ".SSSSSS"))
        text = "".join(
            str(chosen.choice((0, 1, 7, 12, 31, 2024, 60))).rjust(chosen.choice((0, 2, 2, 4)), "0")
            if part.isalpha() else part
            for part in _runs(pattern)
        )  # fmt: skip
        yield f"try_to_timestamp({_quoted(text)}, {_quoted(pattern)})"


def _runs(pattern: str) -> Iterator[str]:
    """The runs of one letter, and what stands between them."""
    place = 0
    while place < len(pattern):
        end = place + 1
        while end < len(pattern) and pattern[end] == pattern[place]:
            end += 1
        yield pattern[place:end]
        place = end


def _numbers() -> Iterator[str]:
    for format_, column in product(NUMBERS, ("i32", "p", "v")):
        yield f"to_char({column}, {_quoted(format_)})"
    for column in (*COLUMNS, "r", "-0.5", "0", "1e3", "123.45", "-7"):
        yield from (f"to_char({column}, 'S999,999.999')", f"to_varchar({column}, '09.9PR')")
    yield from ("to_char(i32, NULL)", "to_char(i32, u)", "to_char(p)", "to_char(i8, 's9')", "to_char(w, 'hex')")


def _values() -> Iterator[str]:
    for spec, column in product(SPECS, ("i8", "i32", "i64", "x", "h", "s", "NULL")):
        yield f"format_string({_quoted(spec)}, {column})"
    yield from (f"format_string({_quoted(spec)}, i32)" for spec in ODD_SPECS)
    for spec, column in product(("%s", "%10s|", "%d", "%x", "%f", "%e"), (*COLUMNS, "r", "o", "INTERVAL '1' DAY")):
        yield f"printf({_quoted(spec)}, {column})"
    yield from (
        "format_string('%s %d %.1f', s, i32, x)", "format_string('%2$s-%1$s %s', s, i8)", "format_string('%s')",
        "format_string('plain')", "format_string(NULL, i32)", "format_string(u, i32)", "format_string()",
        "format_string('%s', 1, 2)", "format_string('%.2f %.2f %.1e', 2.675D, 0.125D, 9.95D)", "printf(7, i32)",
        "format_string('%s', CAST(v / 1000000000 AS DECIMAL(38, 18)))", "format_string('%.3s|%3s|', s, '\U0001d49c')",
    )  # fmt: skip
