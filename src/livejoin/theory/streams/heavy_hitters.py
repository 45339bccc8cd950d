"""The keys with most weight in a stream, by a summary of bounded size that batches are merged into.

A *summary* of k counters has for some keys a count, and one *error* for all. Law, with W the weight of the stream::

    count(x) <= weight(x) <= count(x) + error,    count(x) = 0 for a key without a counter
    error <= (W - sum of the counts) / (k + 1) <= W / (k + 1)

So every key with more than W / (k + 1) has a counter. Two summaries are merged by adding their counts and errors; where
more than k keys have a count then, the (k+1)-th largest count is taken from all of them and added to the error. Each of
the k + 1 largest loses as much as the error gains, which is the second line (Agarwal, Cormode, Huang, Phillips, Wei and
Yi, "Mergeable summaries", PODS 2012, theorem 2; for one key at a time it is the algorithm of Misra and Gries).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from livejoin.words import Words

_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, eq=False)
class HeavyHitters(Generic[_K]):
    """A summary of the weights of keys; frozen.

    Args:
        capacity: The most counters, k.
        counts: The counts of the keys that have one, positive.
        error: The most that a count falls short.
        total: The weight of all keys of the stream.
    """

    capacity: int
    counts: Mapping[_K, int] = field(default_factory=dict)
    error: int = 0
    total: int = 0

    def merged(self, other: HeavyHitters[_K]) -> HeavyHitters[_K]:
        """The summary of both streams together, with the capacity of this one.

        Cost: O(counters of both).

        >>> first = HeavyHitters(2, {"a": 5, "b": 1}, total=6)
        >>> both = first.merged(HeavyHitters(2, {"a": 1, "c": 2}, total=3))
        >>> dict(both.counts), both.error, both.total
        ({'a': 5, 'c': 1}, 1, 9)
        """
        counts = dict(self.counts)
        for key, count in other.counts.items():
            counts[key] = counts.get(key, 0) + count
        error, total = self.error + other.error, self.total + other.total
        if len(counts) > self.capacity:
            less = sorted(counts.values(), reverse=True)[self.capacity]
            counts = {key: count - less for key, count in counts.items() if count > less}
            error += less
        return HeavyHitters(self.capacity, counts, error, total)

    def largest(self, number: int) -> list[tuple[_K, int]]:
        """The keys with the largest counts, the largest first, with these."""
        return sorted(self.counts.items(), key=lambda item: -item[1])[:number]


def summed(keys: Words, weights: Words, capacity: int) -> tuple[Words, Words, int]:
    """The summary of a batch whose keys are words.

    Cost: O(n log n) for n keys, in NumPy.

    Args:
        keys: int64 of shape (columns, n).
        weights: int64 of shape (n,), not negative.
        capacity: The most counters.

    Returns:
        The keys that have a counter, of shape (columns, at most ``capacity``), their counts, and the error.

    >>> keys, counts, error = summed(np.array([[1, 2, 1, 3]]), np.array([5, 1, 1, 2]), 2)
    >>> keys.tolist(), counts.tolist(), error
    ([[1, 3]], [5, 1], 1)
    """
    if weights.shape[0] > 1:
        order = np.lexsort(keys)
        keys, weights = keys[:, order], weights[order]
        first = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
        keys, weights = keys[:, first], np.add.reduceat(weights, first)
    less = 0
    if weights.shape[0] > capacity:
        less = int(np.partition(weights, weights.shape[0] - capacity - 1)[weights.shape[0] - capacity - 1])
    kept = weights > less
    return keys[:, kept], weights[kept] - less, less
