"""Regular expressions, distances of texts, and patterns of times, against Python's own."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.errors import ExpressionError
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.matches import extracted, replaced, split_item
from livejoin.query.texts.time_format import formatted
from livejoin.state.evaluate.text import edit_distance
from strategies import FUZZ

pytestmark = pytest.mark.nojit
TEXTS = st.text("abc,-1\n", max_size=12)
ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "ab", r"\d", r"\w", "(?:a|bc)", "(b)", "(a|ab)", r"\-"])
PATTERNS = st.lists(st.tuples(ATOMS, st.sampled_from(["", "", "+", "?", "{1,2}", "+?"])), min_size=1, max_size=4).map(
    lambda parts: "".join(atom + times for atom, times in parts)
)
EPOCH = datetime(1970, 1, 1)


def naive_distance(one: str, other: str) -> int:
    line = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, line = line, [number]
        for place, character in enumerate(other):
            line.append(min(last[place + 1] + 1, line[place] + 1, last[place] + (letter != character)))
    return line[-1]


@FUZZ
@given(TEXTS, TEXTS, st.integers(-1, 6))
def test_distances(one: str, other: str, most: int) -> None:
    expected = naive_distance(one, other)
    assert edit_distance(one, other) == expected
    assert edit_distance(one, other, most) == (expected if expected <= most else -1)


def test_a_distance_that_takes_too_long_fails() -> None:
    with pytest.raises(FailedCall):
        edit_distance("a" * (1 << 15), "b" * (1 << 14))


@FUZZ
@given(PATTERNS, TEXTS)
def test_matches_are_those_of_python(pattern: str, text: str) -> None:
    """For patterns that match something wherever they match; Python knows one end of a line, Java five."""
    own = re.compile(pattern, re.ASCII)
    if own.match("") is None:
        assert replaced(pattern, "<$0>")(text) == own.sub(lambda found: f"<{found.group()}>", text)
        parts = own.split(text) if own.groups == 0 else None
        for number in range(len(parts or ())):
            assert parts is not None and split_item(pattern)(text, number) == parts[number]
        if parts is not None:
            with pytest.raises(FailedCall):
                split_item(pattern)(text, len(parts))
    assert replaced(pattern, "")(text) == own.sub("", text)
    found = own.search(text)
    for group in range(own.groups + 1):
        assert extracted(pattern, group)(text) == (found.group(group) or "" if found else "")


@pytest.mark.parametrize(
    "by, expected",
    [("$2$1", "b-a-"), ("\\$1", "$1"), ("\\\\", "\\"), ("$11", "a-1"), ("x", "x"), ("$0$0", "a-b-a-b-"), ("\\n", "n")],
)
def test_what_takes_the_place_of_a_match(by: str, expected: str) -> None:
    assert replaced("(a-)(b-)", by)("a-b-") == expected


@pytest.mark.parametrize(
    "pattern, by, message",
    [
        ("x*", "-", "a match without a character to replace"),
        ("(a*)+b", "-", "a repeated group that may match nothing"),
        ("(?:a|)*b", "-", "a repeated group that may match nothing"),
        ("a$", "-", "a \\$, before which a line may end"),
        ("(?<n>a)", "-", "the group"),
        ("a++", "-", "possessive"),
        ("a", "$1", "a group 1, of 0"),
        ("a", "$", "names no group"),
        ("a", "\\", "a backslash at its end"),
    ],
)
def test_what_is_not_read_alike_is_refused(pattern: str, by: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        replaced(pattern, by)


@FUZZ
@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_times_are_shown_as_python_shows_them(time: datetime) -> None:
    micros = (time - EPOCH) // timedelta(microseconds=1)
    assert formatted("yyyy-MM-dd HH:mm:ss.SSSSSS")(micros) == time.isoformat(" ", "microseconds")
    shown = f"{time.day} {time:%B} {time.year}, {time:%A}, {time:%j}, {time:%I} {time:%p}"
    assert formatted("d MMMM y, EEEE, DDD, hh a")(micros) == shown


@pytest.mark.parametrize("pattern", ["uuuu", "YYYY", "[HH]", "aa", "'open", "VV", "SSSSSSSSSS", "{"])
def test_patterns_of_times_that_are_not_there(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="date_format does not show here"):
        formatted(pattern)


def test_a_view_computes_them_once_for_each_value() -> None:
    """In conditions, outputs and groups; rows that go, and a part that is not there fails the commit."""
    db = livejoin.Database()
    db.create_table("T", "s STRING, t TIMESTAMP")
    view = db.create_view(
        "v",
        "SELECT split(s, '-')[0] AS head, regexp_extract(s, '-(\\\\d+)', 1) AS n, date_format(t, 'yyyy-MM') AS m, "
        "COUNT(*) AS k FROM T WHERE levenshtein(s, 'ab-1') < 3 AND regexp_replace(s, '[0-9]', '') = 'ab-' "
        "GROUP BY 1, 2, 3",
    )
    at = datetime(2024, 2, 29, 12)
    db.apply("T", [("ab-1", at), ("ab-12", at), ("ab-12", at), ("cd-1", at), ("ab-12345", at), (None, at)])
    db.apply("T", [{"s": "ab-12", "t": at, "_change_type": "delete"}])
    rows = sorted(tuple(row.values()) for row in view.to_arrow().to_pylist())
    assert rows == [("ab", "1", "2024-02", 1), ("ab", "12", "2024-02", 1)]
    db.create_view("w", "SELECT split(s, '-')[1] AS tail FROM T WHERE s IS NOT NULL")
    with pytest.raises(ExpressionError, match="fewer parts than the index says"):
        db.apply("T", [("none", at)])
    db._check()


def test_a_pattern_is_a_constant() -> None:
    db = livejoin.Database()
    db.create_table("T", "s STRING, p STRING")
    for call in ("regexp_replace(s, p, 'x')", "regexp_replace(s, 'a', p)", "regexp_extract(s, p, 0)", "split(s, p)[0]"):
        with pytest.raises(livejoin.UnsupportedQueryError, match="a pattern is written into the query"):
            db.create_view("v", f"SELECT {call} AS x FROM T")
