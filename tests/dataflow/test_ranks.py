"""Ranks within partitions: the changes of every version against all rows ranked at once."""

from __future__ import annotations

import random
from collections import Counter
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.reading.store_access import ScannedAccess
from livejoin.dataflow.stores.ranked import RankedStore
from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.query.orders import RankFunction, SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from ordered_rows import Row, check_partitions, content, delta_of, sort
from scans import scanned
from strategies import FUZZ

pytestmark = pytest.mark.nojit

TYPES = (SqlType.integer(64), SqlType("string"), SqlType("double"))
VALUES: tuple[tuple[Any, ...], ...] = (
    (None, 0, 1, 2),
    (None, "", "a", "a text of more than sixteen bytes", "a text of more than sixteen bytes!"),
    (None, 0.5, -1.0, 7.0),
)
FUNCTIONS: tuple[RankFunction, ...] = ("row_number", "rank", "dense_rank")


def ranked(
    rows: Counter[Row], partition: list[int], keys: list[SortKey], function: RankFunction, limit: int
) -> Counter[Row]:
    """The definition."""

    def part(row: Row, key: SortKey) -> Any:
        return (row[key.column] is None) != key.nulls_first, row[key.column]

    all_rows = list(rows.elements())
    for column in reversed(range(len(TYPES))):
        all_rows = sort(all_rows, SortKey(column, False, True))
    for key in reversed([*(SortKey(column, False, True) for column in partition), *keys]):
        all_rows = sort(all_rows, key)
    found: Counter[Row] = Counter()
    for _, group in groupby(all_rows, key=lambda row: [row[column] for column in partition]):
        before, rank, dense = None, 0, 0
        for number, row in enumerate(group, 1):
            values = [row[key.column] for key in keys]
            if values != before:
                before, rank, dense = values, number, dense + 1
            place = {"row_number": number, "rank": rank, "dense_rank": dense}[function]
            found[(*row, place)] += place <= limit
    return +found


SPECS = [
    ([0], [SortKey(2, False, True)]),
    ([1], [SortKey(2, True, False), SortKey(0, False, False)]),
    ([], [SortKey(1, True, False)]),
    ([0, 1], [SortKey(2, False, True)]),
    ([2], [SortKey(1, False, True)]),
    ([0], [SortKey(0, False, True)]),
]
CELLS = st.tuples(*(st.sampled_from(values) for values in VALUES))


@FUZZ
@given(
    spec=st.sampled_from(SPECS),
    function=st.sampled_from(FUNCTIONS),
    limit=st.sampled_from([0, 1, 2, 3, 100]),
    steps=st.lists(st.lists(st.tuples(CELLS, st.sampled_from([1, 1, 2, -1, -9])), max_size=8), max_size=8),
    batched=st.booleans(),
)
def test_the_changes_are_the_differences_of_the_ranks(
    spec: tuple[list[int], list[SortKey]],
    function: RankFunction,
    limit: int,
    steps: list[list[tuple[Row, int]]],
    batched: bool,
) -> None:
    partition, keys = spec
    codec = Codec()
    store = RankedStore(partition, keys, function, limit, codec, TYPES)
    present: Counter[Row] = Counter()
    before: Counter[Row] = Counter()
    waiting: list[tuple[Row, int, int]] = []
    expected: dict[int, Counter[Row]] = {}
    for version, step in enumerate(steps):
        for row, weight in step:
            by = max(weight, -present[row])
            present[row] += by
            waiting += [(row, by, version)] if by else []
        after = ranked(present, partition, keys, function, limit)
        expected[version] = Counter(after)
        expected[version].subtract(before)
        before = after
        if batched and version + 1 < len(steps):
            continue
        if not waiting:
            continue
        store.arena.words[H_END] = min(int(store.arena.words[H_BUMP]) + 700, store.arena.words.shape[0])
        delta = store.maintain([delta_of(codec, TYPES, waiting)])
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        for one in {change[2] for change in waiting}:
            at = np.flatnonzero(delta.versions == one)
            rows = delta.rows.take(at)
            found = content(rows, delta.weights[at])
            assert {row: n for row, n in found.items() if n} == {row: n for row, n in expected[one].items() if n}
            assert content(rows, np.abs(delta.weights[at])) == {row: abs(n) for row, n in found.items()}, "net"
        waiting = []
        assert scanned(store, content) == after
        assert store.count() == after.total()
        check_partitions(store, codec, TYPES, VALUES, after)


def test_many_rows_by_position_and_by_value() -> None:
    rng = random.Random(9)
    codec = Codec()
    store = RankedStore([0], [SortKey(2, True, False)], "rank", 5, codec, TYPES)
    present: Counter[Row] = Counter()
    for version in range(6):
        changes = []
        for _ in range(700):
            row = (rng.randrange(40), rng.choice("abc"), float(rng.randrange(60)))
            by = 1 if version < 4 or not present[row] else -present[row]
            present[row] += by
            changes.append((row, by, version))
        store.maintain([delta_of(codec, TYPES, changes)])
        store._check()
        expected = ranked(+present, [0], [SortKey(2, True, False)], "rank", 5)
        access = ScannedAccess(store)
        rows = access.at(np.arange(store.count()))
        assert content(rows, np.ones(rows.length)) == expected
        times = access.multiplicities(rows.take(np.arange(5)))
        shown = list(zip(*(rows.arrow(i).to_pylist()[:5] for i in range(4)), strict=True))
        assert times.tolist() == [expected[row] for row in shown]
    second = RankedStore([0], [SortKey(2, True, False)], "rank", 5, codec, TYPES)
    second.restore({name: words.copy() for name, words in store.arrays().items()})
    second._check()
    assert [content(*part) for part in second.scan(100)] == [content(*part) for part in store.scan(100)]
