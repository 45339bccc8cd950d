"""Tests that Arrow, or the machine, makes of many strings at once are those that are made of each alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.like import SHORT
from livejoin.query.scalar import Call, Constant, Field
from livejoin.query.texts.like import like_expression
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program
from livejoin.state.evaluate.bulk import pattern as of_machine
from livejoin.state.evaluate.bulk import tests as at_once
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
    texts = [*texts, *(text + SHORT * "b" + text for text in texts[:2])]
    expected = [bool(test(text, *others)) for text in texts]
    assert tests(pa.array(texts, pa.large_string())).to_pylist() == expected
    codec = Codec()
    words = codec.codes_of(texts).reshape(1, -1)
    assert Program([call], codec).run(words).words[0].tolist() == expected


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


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (_call("like", "a%bc%%d%e"), (1, 1, 0, 2, *b"ae", 2, *b"bc", 1, *b"d")),
        (_call("like", "é"), (2, 0, 1, 0, *"é".encode())),
        (_call("like", "%"), (0, 0, 0, 0)),
        (_call("contains", "ab"), (0, 0, 0, 1, 2, *b"ab")),
        (_call("contains", ""), (0, 0, 0, 0)),
        (_call("starts_with", "a"), (1, 0, 0, 0, *b"a")),
        (_call("ends_with", "a"), (0, 1, 0, 0, *b"a")),
        (_call("like", "a_%"), None),
        (_call("matches", "a"), None),
        (_call("upper"), None),
    ],
)
def test_what_the_machine_looks_for_itself(call: Call, expected: tuple[int, ...] | None) -> None:
    assert of_machine(call) == expected


def test_only_texts_that_are_not_short_are_remembered() -> None:
    codec, call = Codec(), _call("like", "%a%")
    program = Program([call], codec)
    texts = ["a" * SHORT, "b" * SHORT, "b" * SHORT + "a", "b" * SHORT + "c"]
    words = codec.codes_of(texts).reshape(1, -1)
    for _ in range(2):
        assert program.run(np.repeat(words, 3, axis=1)).words[0].tolist() == 3 * [1] + 3 * [0] + 3 * [1] + 3 * [0]
    assert program._memos is not None
    assert program._memos.words[k.MEMO_USED] == 2


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
