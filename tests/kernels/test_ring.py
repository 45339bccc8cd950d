"""Annotations against Python's integers: what fits is exact, and what does not is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livejoin.kernels.join import ring
from livejoin.kernels.join.layout import P_COMPONENTS, P_WIDTHS, P_WORDS, PLAN_HEADER
from livejoin.kernels.numbers import wide
from strategies import FUZZ

pytestmark = pytest.mark.nojit

BITS = {1: 64, 2: 128}


def integers(bits: int) -> st.SearchStrategy[int]:
    """Integers of some bits, many of them at a border where another word or sign begins."""
    borders = [0, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 1 << 64, 1 << 95, 1 << 126, 1 << 127]
    near = st.builds(lambda at, by, sign: sign * at + by, st.sampled_from(borders), st.integers(-2, 2), SIGNS)
    sizes = st.integers(0, bits - 1).flatmap(lambda n: st.integers(-(1 << n), (1 << n) - 1))
    return st.one_of(near, sizes).filter(lambda value: fits(value, bits))


def fits(value: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


SIGNS = st.sampled_from([-1, 1])
WIDTHS = st.lists(st.sampled_from([1, 2]), min_size=1, max_size=3)
VECTORS = WIDTHS.flatmap(lambda widths: st.tuples(*([vector_of(widths)] * 2), st.just(widths)))


def vector_of(widths: list[int]) -> st.SearchStrategy[list[int]]:
    return st.tuples(*(integers(BITS[width]) for width in widths)).map(list)


def plan_of(widths: list[int]) -> np.ndarray:
    """A plan that says how many words each component has."""
    plan = np.zeros(PLAN_HEADER + len(widths), np.int64)
    plan[[P_WORDS, P_COMPONENTS, P_WIDTHS]] = sum(widths), len(widths), PLAN_HEADER
    plan[PLAN_HEADER:] = widths
    return plan


def words_of(values: list[int], widths: list[int]) -> np.ndarray:
    raw = b"".join((v % (1 << 64 * w)).to_bytes(8 * w, "little") for v, w in zip(values, widths, strict=True))
    return np.frombuffer(raw, np.int64).copy()


def assert_exact(words: np.ndarray, wraps: int, expected: list[int], widths: list[int]) -> None:
    """The words are the values, modulo their width, and whether all of them are the values is told."""
    assert words.tolist() == words_of(expected, widths).tolist()
    told = all(fits(value, BITS[width]) for value, width in zip(expected, widths, strict=True))
    assert int(wraps) == (0 if told else -1)


@FUZZ
@given(VECTORS, st.sampled_from(["add", "subtract", "multiply"]))
@example(([-(1 << 127)], [-1], [2]), "multiply")
@example(([-(1 << 64)], [1 << 63], [2]), "multiply")
@example(([1 << 64], [1 << 63], [2]), "multiply")
@example(([(1 << 64) - 1], [(1 << 63) + 1], [2]), "multiply")
@example(([-(1 << 63)], [-1], [1]), "multiply")
@example(([-1], [-(1 << 127)], [2]), "subtract")
@example(([0], [-(1 << 127)], [2]), "subtract")
def test_vectors(given_vectors: tuple[list[int], list[int], list[int]], operation: str) -> None:
    left, right, widths = given_vectors
    exact = {"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__}[operation]
    expected = [exact(a, b) for a, b in zip(left, right, strict=True)]
    m, source = words_of(left, widths), words_of(right, widths)
    wraps = getattr(ring, operation)(m, plan_of(widths), 0, source, 0)
    assert_exact(m, wraps, expected, widths)
    assert source.tolist() == words_of(right, widths).tolist()


@FUZZ
@given(VECTORS, integers(64))
@example(([-(1 << 63)], [], [1]), -1)
@example(([1 << 64], [], [2]), -(1 << 63))
def test_scaled_vectors(given_vectors: tuple[list[int], list[int], list[int]], times: int) -> None:
    values, _, widths = given_vectors
    m = words_of(values, widths)
    wraps = ring.scale(m, plan_of(widths), 0, np.int64(times))
    assert_exact(m, wraps, [value * times for value in values], widths)


@FUZZ
@given(VECTORS, st.lists(st.tuples(st.integers(0, 2), integers(64)), max_size=4))
def test_factors(given_vectors: tuple[list[int], list[int], list[int]], factors: list[tuple[int, int]]) -> None:
    """A component that did not fit once is told, also where a later factor is zero."""
    values, _, widths = given_vectors
    starts = [sum(widths[:i]) for i in range(len(widths))]
    used = [(component, factor) for component, factor in factors if component < len(widths)]
    triples = [[starts[component], widths[component], 1 + at] for at, (component, _) in enumerate(used)]
    plan = np.concatenate([plan_of(widths), np.array(triples, np.int64).reshape(-1)])
    row = np.array([0, *(factor for _, factor in used)], np.int64)
    m = words_of(values, widths)
    wraps = ring.multiply_factors(row, plan, PLAN_HEADER + len(widths), len(used), 0, m, 0)
    expected, told = list(values), True
    for component, factor in used:
        told = told and fits(expected[component] * factor, BITS[widths[component]])
        expected[component] *= factor
        if not told:
            break
    assert int(wraps) == (0 if told else -1)
    if told:
        assert m.tolist() == words_of(expected, widths).tolist()


@FUZZ
@given(integers(64), integers(64))
def test_products_of_words(left: int, right: int) -> None:
    a, b = np.int64(left), np.int64(right)
    assert int(wide.product_wraps(a, b)) == (0 if fits(left * right, 64) else -1)
    assert int(wide.signed_high_product(a, b)) == (left * right) >> 64
