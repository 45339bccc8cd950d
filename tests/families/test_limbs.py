"""Annotations as limbs: added up, and what does not fit is seen; against Python's integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livejoin.families.cells.limbs import carried, fit, limbs_of, words_of
from livejoin.query import ConjunctiveQuery, Product
from strategies import FUZZ

pytestmark = pytest.mark.nojit


@dataclass(frozen=True)
class Sums:
    """What is asked of a query: the components of its annotation."""

    sums: tuple[Product, ...]


def numbers(bits: int) -> st.SearchStrategy[int]:
    limit = 1 << (bits - 1)
    edges = st.sampled_from([-limit, limit - 1, 0, -1, (1 << 32) - 1, -(1 << 32), 1 << (bits - 2)])
    return st.one_of(edges, st.integers(-limit, limit - 1))


def words(value: int, wide: bool) -> list[int]:
    low = value & ((1 << 64) - 1)
    return [low - (1 << 64) * (low >> 63), value >> 64][: 1 + wide]


@settings(FUZZ, max_examples=60)
@given(st.data())
def test_sums_and_differences_of_some_annotations(data: st.DataObject) -> None:
    wide = data.draw(st.lists(st.booleans(), min_size=1, max_size=3))
    query = cast(ConjunctiveQuery, Sums(tuple(Product((), one) for one in wide)))
    given_ = [[data.draw(numbers(128 if one else 64)) for one in wide] for _ in range(data.draw(st.integers(1, 4)))]
    signs = [data.draw(st.sampled_from([1, -1])) for _ in given_]
    total: Any = 0
    for values, sign in zip(given_, signs, strict=True):
        lines = [word for value, one in zip(values, wide, strict=True) for word in words(value, one)]
        limbs = limbs_of(query, np.array(lines, np.int64).reshape(-1, 1))
        assert words_of(query, carried(limbs)).ravel().tolist() == lines
        assert fit(query, limbs).all()
        total = total + sign * limbs
    total = carried(total)
    expected = [sum(s * v[i] for s, v in zip(signs, given_, strict=True)) for i in range(len(wide))]
    fits = all(
        -(1 << (63 + 64 * one)) <= value < 1 << (63 + 64 * one) for value, one in zip(expected, wide, strict=True)
    )
    assert fit(query, total).tolist() == [fits]
    if fits:
        lines = [word for value, one in zip(expected, wide, strict=True) for word in words(value, one)]
        assert words_of(query, total).ravel().tolist() == lines
