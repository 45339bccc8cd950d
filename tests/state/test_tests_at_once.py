"""Tests that Arrow makes of many strings at once are those that are made of each alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.query.scalar import Call, Constant, Field
from livejoin.schema import SqlType
from livejoin.state.evaluate.bulk import tests as at_once
from livejoin.state.evaluate.patterns import like_expression
from livejoin.state.evaluate.text import text_function
from strategies import FUZZ

TEXT = SqlType("string")
LETTERS = st.sampled_from([*"aab%_.*\\[(^$ #-\n\r\t\x00", "é", "ß", "İ", "\u2028", "😀"])
TEXTS = st.lists(LETTERS, max_size=6).map("".join)
PATTERNS = st.lists(st.one_of(LETTERS, st.sampled_from("%%_")), max_size=5).map("".join)


def _call(function: str, *others: str) -> Call:
    constants = tuple(Constant(other, TEXT) for other in others)
    return Call(function, (Field(0, TEXT), *constants), SqlType("boolean"), "")


def _same(call: Call, texts: list[str]) -> None:
    test, tests = text_function(call), at_once(call)
    assert tests is not None
    others = [one.value for one in call.arguments[1:]]
    assert tests(pa.array(texts, pa.large_string())).to_pylist() == [bool(test(text, *others)) for text in texts]


@FUZZ
@given(pattern=PATTERNS.map(lambda pattern: pattern.replace("\\", "")), texts=st.lists(TEXTS, max_size=8))
def test_like(pattern: str, texts: list[str]) -> None:
    _same(_call("like", pattern), [*texts, pattern, pattern.replace("%", "ab\n").replace("_", "é")])


@FUZZ
@given(pattern=PATTERNS, texts=st.lists(TEXTS, max_size=8))
def test_like_with_an_escape_character(pattern: str, texts: list[str]) -> None:
    escaped = pattern.replace("#", "").replace("%", "#%") + "%"
    _same(_call("like", escaped, "#"), [*texts, pattern, pattern + "x"])


@FUZZ
@given(
    function=st.sampled_from(["starts_with", "ends_with", "contains"]), part=TEXTS, texts=st.lists(TEXTS, max_size=8)
)
def test_parts(function: str, part: str, texts: list[str]) -> None:
    _same(_call(function, part), [*texts, part, "a" + part, part + "b"])


@pytest.mark.parametrize("pattern", ["a+", "^a.b$", "[a-c]*\\.", "é|ß", ""])
def test_matches(pattern: str) -> None:
    _same(_call("matches", pattern), ["", "a", "a\nb", "aéb", "a.b\n", "xß", "abc."])


def test_what_is_not_constant_is_tested_one_by_one() -> None:
    assert at_once(Call("like", (Field(0, TEXT), Field(1, TEXT)), SqlType("boolean"), "")) is None
    assert at_once(_call("upper")) is None
    assert at_once(Call("like", (Constant("a", TEXT), Constant("a", TEXT)), SqlType("boolean"), "")) is not None


@pytest.mark.parametrize(("pattern", "expression"), [("%a%b%", "(?s)a.*b"), ("a", "(?s)\\Aa\\z"), ("%", "(?s)")])
def test_expressions(pattern: str, expression: str) -> None:
    assert like_expression(pattern) == expression


def test_a_view_with_many_texts_and_null() -> None:
    """More texts than are asked for at a time, and again after they are forgotten."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (k INT PRIMARY KEY, s STRING)")
    view = db.create_view(
        "v", "SELECT k FROM T WHERE s NOT LIKE '%1%7%' AND NOT startswith(s, 'x2') AND s RLIKE '^x.*$'"
    )
    rows = [{"k": k, "s": f"x{k}" if k % 11 else None} for k in range(10_000)]
    db.apply("T", rows)
    expected = {k for k in range(10_000) if k % 11 and not ("1" in str(k) and "7" in str(k)[str(k).index("1") :])}
    expected = {k for k in expected if not str(k).startswith("2")}
    assert set(view.to_arrow()["k"].to_pylist()) == expected
    db.apply("T", [{**row, "_change_type": "delete"} for row in rows])
    assert view.count() == 0
