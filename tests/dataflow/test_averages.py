"""Averages of annotated groups: where words are quick they are what exact arithmetic gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.annotated_groups import _EXACT_DOUBLE, _average, _quick_average
from livejoin.plan.operators import Result
from livejoin.schema import SqlType
from livejoin.state.exact_aggregates import integers
from livejoin.words import Words
from strategies import FUZZ

NEAR = [0, 1, 2, 3, 7, 10**9, _EXACT_DOUBLE - 1, _EXACT_DOUBLE, 2**57, 2**61 // 20000 - 1, 2**61, 2**63 + 5]
SUMS = st.builds(lambda size, sign: size * sign, st.sampled_from(NEAR), st.sampled_from([1, -1]))
COUNTS = st.sampled_from([0, 1, 2, 3, 10, 999_983, 2**40, _EXACT_DOUBLE, 2**61])
GROUPS = st.lists(st.tuples(SUMS, COUNTS), min_size=1, max_size=4)


def pair(values: list[int]) -> tuple[Words, Words]:
    low = np.array([(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in values], np.int64)
    return low, np.array([value >> 64 for value in values], np.int64)


@FUZZ
@given(GROUPS, st.sampled_from([0, 2]), st.booleans())
def test_the_quick_way_is_exact_or_not_taken(groups: list[tuple[int, int]], scale: int, decimal: bool) -> None:
    type_ = SqlType.decimal(38, scale + 4) if decimal else SqlType("double")
    result = Result("avg", (0, 1), type_, scale)
    total, number = pair([one for one, _ in groups]), pair([one for _, one in groups])
    some = (number[0] | number[1]) != 0
    quick = _quick_average(total, number, some, result)
    if quick is None:
        return
    exact = _average(integers(*total), np.where(some, integers(*number), 1), some, result)
    assert quick.equals(exact)
    values = [None if value is None else Fraction(value) for value in quick.to_pylist()]
    for value, (whole, count) in zip(values, groups, strict=True):
        if value is None or count == 0:
            assert (value is None) == (count == 0)
        else:
            error = abs(value - Fraction(whole, count * 10**scale))
            bound = Fraction(1, 2 * 10 ** (scale + 4)) if decimal else abs(value) / 2**53
            assert error <= bound


def test_both_ways_are_taken() -> None:
    result = Result("avg", (0, 1), SqlType("double"))
    for whole, is_quick in ((_EXACT_DOUBLE - 1, True), (_EXACT_DOUBLE, False)):
        some = np.ones(1, bool)
        found = _quick_average(pair([whole]), pair([3]), some, result)
        assert (found is not None) == is_quick
        exact = _average(integers(*pair([whole])), np.array([3], object), some, result)
        assert exact.to_pylist() == [whole / 3]
        assert found is None or isinstance(found, pa.Array)
