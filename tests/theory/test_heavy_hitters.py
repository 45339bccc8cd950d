"""Summaries of heavy keys against exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from livejoin.theory.streams.heavy_hitters import HeavyHitters, summed


@pytest.mark.parametrize(("skew", "capacity"), [(1.1, 10), (1.5, 10), (1.3, 64), (3.0, 4)])
def test_zipf_keys_stay_within_the_error_that_is_promised(skew: float, capacity: int) -> None:
    random = np.random.default_rng(capacity)
    exact: Counter[tuple[int, ...]] = Counter()
    found = HeavyHitters[tuple[int, ...]](capacity)
    for _ in range(60):
        size = int(random.integers(1, 200))
        keys = np.minimum(random.zipf(skew, (2, size)), 10**6)
        weights = random.integers(0, 50, size)
        for key, weight in zip(keys.T.tolist(), weights.tolist(), strict=True):
            exact[tuple(key)] += weight
        kept, counts, error = summed(keys, weights, capacity)
        batch = dict(zip(map(tuple, kept.T.tolist()), counts.tolist(), strict=True))
        assert len(batch) <= capacity
        found = found.merged(HeavyHitters(capacity, batch, error, int(weights.sum())))
        assert len(found.counts) <= capacity
        assert found.total == exact.total()
        assert found.error * (capacity + 1) <= found.total - sum(found.counts.values())
        for key, weight in exact.items():
            count = found.counts.get(key, 0)
            assert count <= weight <= count + found.error, key
    assert found.counts.keys() <= exact.keys()
    heavy = {key for key, weight in exact.items() if weight > found.total / (capacity + 1)}
    assert heavy <= found.counts.keys()
    if capacity == 64:
        assert len(heavy) >= 5, "else the test says nothing"
        largest = [key for key, _ in found.largest(3)]
        assert largest == [key for key, _ in exact.most_common(3)]


def test_a_batch_alone_is_exact_where_it_fits() -> None:
    keys = np.array([[1, 1, 2, 1], [1, 2, 1, 1]])
    kept, counts, error = summed(keys, np.array([1, 2, 3, 4]), 3)
    assert dict(zip(map(tuple, kept.T.tolist()), counts.tolist(), strict=True)) == {(1, 1): 5, (1, 2): 2, (2, 1): 3}
    assert error == 0


def test_keys_of_equal_weight_beyond_the_capacity_go_together() -> None:
    kept, counts, error = summed(np.arange(10)[None], np.full(10, 7), 9)
    assert (kept.shape, counts.tolist(), error) == ((1, 0), [], 7)
