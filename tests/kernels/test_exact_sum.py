"""Exact sums of doubles and squares against fractions, in windows that grow both ways."""

from __future__ import annotations

import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.kernels.groups import exact_sum as kernel
from livejoin.kernels.memory.layout import ARENA_HEADER, H_BUMP
from livejoin.state.arena import Arena
from strategies import FUZZ

pytestmark = pytest.mark.nojit

TERM, SUM, SQUARES = ARENA_HEADER, ARENA_HEADER + 8, ARENA_HEADER + 9
DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 1e308, -1.7976931348623157e308, 5e-324, 2.0**64, -(2.0**-64)]),
    st.floats(-1000, 1000),
)


class Sums:
    """A sum and a sum of squares in an arena, and the values that they are of."""

    def __init__(self) -> None:
        self.arena = Arena(ARENA_HEADER + 10)
        while self.arena.words.shape[0] < 1 << 14:
            self.arena.grow()
        self.values: Counter[float] = Counter()

    def add(self, value: float, weight: int) -> None:
        word = np.int64(struct.unpack("<q", struct.pack("<d", value))[0])
        self.values[value] += weight
        kernel.add_double(self.arena.words, SUM, word, False, np.int64(weight), TERM)
        kernel.add_double(self.arena.words, SQUARES, word, True, np.int64(weight), TERM)

    def held(self, at: int, unit: int) -> Fraction:
        link = int(self.arena.words[at])
        if link == 0:
            return Fraction(0)
        window, first, words = kernel.window_of(link), kernel.first_of(link), 1 << kernel.class_of(link)
        number = int.from_bytes(self.arena.words[window : window + words].tobytes(), "little", signed=True)
        return number * Fraction(2) ** (64 * first - unit)

    def check(self) -> None:
        assert self.held(SUM, kernel.UNIT) == sum((Fraction(v) * n for v, n in self.values.items()), Fraction(0))
        squares = sum((Fraction(v) ** 2 * n for v, n in self.values.items()), Fraction(0))
        assert self.held(SQUARES, 2 * kernel.UNIT) == squares


@FUZZ
@given(st.lists(st.tuples(DOUBLES, st.one_of(st.integers(-3, 3), st.integers(-(1 << 58), 1 << 58))), max_size=12))
def test_sums_are_exact_and_what_is_taken_away_leaves_no_trace(changes: list[tuple[float, int]]) -> None:
    sums = Sums()
    for value, weight in changes:
        if weight:
            sums.add(value, weight)
            sums.check()
    for value, weight in list(sums.values.items()):
        if weight:
            sums.add(value, -weight)
    sums.check()
    used = int(sums.arena.words[H_BUMP])
    for at in (SUM, SQUARES):
        kernel.forget(sums.arena.words, at)
    for value, weight in changes:
        if weight:
            sums.add(value, weight)
    assert sums.arena.words[H_BUMP] <= used + 8, "words that were given back are used again"


def test_a_window_makes_room_for_carries() -> None:
    sums = Sums()
    for _ in range(200):
        sums.add(1.0, 1 << 62)
        sums.add(-3.0, 1 << 62)
    sums.check()


def test_values_of_one_size_take_four_words() -> None:
    sums = Sums()
    for i in range(1, 1000):
        sums.add(i / 100, 1)
    sums.check()
    assert kernel.class_of(int(sums.arena.words[SUM])) == kernel.SMALLEST


@pytest.mark.parametrize(("value", "finite"), [(1e308, True), (float("inf"), False), (float("nan"), False)])
def test_what_is_finite(value: float, finite: bool) -> None:
    assert bool(kernel.is_finite(np.int64(struct.unpack("<q", struct.pack("<d", value))[0]))) == finite


@pytest.mark.parametrize("before", [0.0, 1.0])
def test_a_term_never_reaches_the_word_of_the_sign(before: float) -> None:
    """Terms of every length, whose highest bit is the highest one of a word now and then, alone and above another."""
    value = 2.0 - 2.0**-52
    for exponent in range(0, 64, 3):
        for bits in range(59):
            for weight in (1 << bits, -(1 << bits)):
                sums = Sums()
                if before:
                    sums.add(before, 1)
                sums.add(value * 2.0**exponent, weight)
                sums.check()
