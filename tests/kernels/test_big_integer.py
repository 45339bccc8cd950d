"""Integers of several words against Python's, and their rounding against that of Python's division."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.kernels.numbers import big_integer as kernel
from strategies import FUZZ

pytestmark = pytest.mark.nojit

WORD = 1 << 64
LENGTHS = st.integers(1, 5)
EDGES = st.sampled_from([0, 1, WORD - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1])
MAGNITUDES = st.lists(st.one_of(EDGES, st.integers(0, WORD - 1)), min_size=1, max_size=5)


def words_of(value: int, length: int) -> np.ndarray:
    """An integer in two's complement, the low word first."""
    return np.frombuffer((value % (1 << (64 * length))).to_bytes(8 * length, "little"), np.int64).copy()


def value_of(words: np.ndarray, signed: bool = False) -> int:
    return int.from_bytes(words.tobytes(), "little", signed=signed)


def value(words: list[int]) -> int:
    return sum(word << (64 * i) for i, word in enumerate(words))


@FUZZ
@given(MAGNITUDES, MAGNITUDES, st.booleans())
def test_sums_and_differences_wrap(left: list[int], right: list[int], plus: bool) -> None:
    a, b = value(left), value(right)
    length = max(len(left), len(right))
    m = np.concatenate([words_of(a, length), words_of(b, len(right))])
    (kernel.add if plus else kernel.subtract)(m, 0, length, length, len(right))
    assert value_of(m[:length]) == (a + b if plus else a - b) % (1 << (64 * length))
    assert value_of(m[length:]) == b


@FUZZ
@given(MAGNITUDES, st.integers(0, (1 << 63) - 1))
def test_products_and_squares(words: list[int], factor: int) -> None:
    n = len(words)
    m = np.concatenate([words_of(value(words), n), np.zeros(2 * n + 1, np.int64)])
    kernel.square(m, 0, n, n + 1)
    assert value_of(m[n + 1 :]) == value(words) ** 2
    kernel.times(m, 0, n, np.int64(factor))
    assert value_of(m[: n + 1]) == value(words) * factor


@FUZZ
@given(MAGNITUDES, st.one_of(st.integers(1, 10), st.integers(1, 1 << 33), st.integers(1, (1 << 63) - 1)))
def test_quotients_are_rounded_down(words: list[int], divisor: int) -> None:
    m = words_of(value(words), len(words))
    inexact = kernel.divide(m, 0, len(words), np.int64(divisor))
    assert (value_of(m), inexact) == (value(words) // divisor, value(words) % divisor != 0)


@FUZZ
@given(MAGNITUDES, st.integers(0, 40))
def test_division_by_powers_of_ten(words: list[int], digits: int) -> None:
    m = words_of(value(words), len(words))
    inexact = kernel.divide_by_power(m, 0, len(words), digits)
    assert (value_of(m), inexact) == (value(words) // 10**digits, value(words) % 10**digits != 0)


@FUZZ
@given(MAGNITUDES)
def test_magnitudes_and_signs(words: list[int]) -> None:
    n = len(words)
    m = np.concatenate([words_of(value(words), n), np.zeros(n, np.int64)])
    signed = value_of(m[:n], signed=True)
    assert kernel.magnitude(m, 0, n, n) == (signed < 0)
    assert value_of(m[n:]) == abs(signed)
    kernel.negate(m, 0, n)
    assert value_of(m[:n]) == -signed % (1 << (64 * n))


def double_of(words: list[int], exponent: int, inexact: bool, negative: bool) -> float:
    m = words_of(value(words), len(words))
    bits = int(kernel.to_double(m, 0, len(words), exponent, inexact, negative))
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf


@FUZZ
@given(MAGNITUDES, st.one_of(st.integers(-1400, 1000), st.integers(-1150, -1020)), st.booleans(), st.booleans())
def test_the_nearest_double(words: list[int], exponent: int, more: bool, negative: bool) -> None:
    exact = Fraction(value(words))
    more = more and value(words).bit_length() > 55
    if more:
        exact += Fraction(1, 3)
    expected = nearest(exact * Fraction(2) ** exponent)
    assert double_of(words, exponent, more, negative) == (-expected if negative else expected)


@pytest.mark.parametrize("tie", [(1 << 53) + 1, (1 << 53) + 3, ((1 << 53) + 1) << 64, (1 << 118) + (1 << 65)])
def test_ties_go_to_the_even_double(tie: int) -> None:
    words = [tie % WORD, tie >> 64]
    assert double_of(words, 0, False, False) == float(tie)
    assert double_of([0, 0, *words], -128, False, False) == float(tie)
    if tie.bit_length() > 55:
        assert double_of(words, 0, True, False) == nearest(Fraction(tie) + Fraction(1, 2))


def test_the_ends_of_the_range() -> None:
    assert double_of([1], -1074, False, False) == 5e-324
    assert double_of([1], -1075, False, False) == 0.0
    assert double_of([3], -1076, False, False) == 5e-324
    assert double_of([(1 << 53) - 1], 971, False, False) == 1.7976931348623157e308
    assert double_of([(1 << 54) - 1], 970, False, False) == math.inf
    assert double_of([1], 1024, False, True) == -math.inf
    assert math.copysign(1, double_of([0], 0, False, True)) == 1
