"""Rows of a join by one comparison or two bounds: what a store has against all pairs of rows made at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_as_of import INTEGER, content, make_short, seen
from test_inequality import Pairs, scripts

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.reading.access import NoAccess
from livejoin.dataflow.reading.inequality_access import InequalityAccess
from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.errors import CapacityError
from livejoin.plan.operators import InequalityJoinOperator, SelectedOperator
from livejoin.query.inequality_sides import Side, SideColumn
from livejoin.schema import SqlType
from strategies import FUZZ

Row = tuple[Any, ...]


def rows_plan(one: Pairs) -> InequalityJoinOperator:
    """The operator that shows all columns of both sides of some pairs."""
    query: Any = None
    columns = tuple(SideColumn(side, i) for side in (0, 1) for i in range(len(one.types[side])))
    left, right = (SelectedOperator(query, tuple(types)) for types in one.types)
    sides = [Side(tuple(range(one.first[side], len(one.types[side]))), True) for side in (0, 1)]
    types = tuple(one.types[c.side][c.column] for c in columns)
    bounds = (*one.bounds, one.goes_together)
    return InequalityJoinOperator(left, right, one.keys, *bounds, (sides[0], sides[1]), columns, types, "")


def joined(one: Pairs) -> Counter[Row]:
    """The definition."""
    found: Counter[Row] = Counter()
    for (left, n), (right, m) in product(one.rows[0].items(), one.rows[1].items()):
        if n > 0 and m > 0 and one._meet(left, right):
            found[seen((*left, *right))] += n * m
    return found


def check_parts(store: InequalityRowsStore, one: Pairs, pairs: Counter[Row]) -> None:
    """Pairs by rank are those of the scan in its order; those of some rows or of a key are found in pieces."""
    access = InequalityAccess(store, (NoAccess(""), NoAccess("")))
    listed = [seen(row) for rows, times in store.scan(3) for row, n in pieces(rows, times) for _ in range(n)]
    assert access.total() == len(listed)
    found = access.at(np.arange(len(listed)))
    assert [seen(row) for row, _ in pieces(found, np.ones(found.length))] == listed
    if pairs:
        assert dict(zip(listed, access.multiplicities(found).tolist(), strict=True)) == pairs
    for side in (0, 1):
        there = [(row, n) for row, n in one.rows[side].items() if n > 0]
        asked = made(one, one.types[side], [row for row, _ in there])
        begin = len(one.types[0]) * side
        ours: Counter[Row] = Counter()
        for places, some, weights in store.met(side, asked, np.array([n for _, n in there], np.int64), 2):
            for place, (row, n) in zip(places, pieces(some, weights), strict=True):
                assert seen(there[place][0]) == seen(row)[begin : begin + len(one.types[side])]
                ours[seen(row)] += n
        assert ours == pairs
    keys = list({seen(row[: one.keys]): row[: one.keys] for row in one.rows[0]}.items())
    by_key: Counter[Row] = Counter()
    for places, some, weights in store.of_keys(made(one, one.types[0][: one.keys], [key for _, key in keys]), 2):
        for place, (row, n) in zip(places, pieces(some, weights), strict=True):
            assert seen(row)[: one.keys] == keys[place][0]
            by_key[seen(row)] += n
    assert by_key == pairs


def made(one: Pairs, types: Sequence[SqlType], rows: Sequence[Row]) -> Rows:
    columns = [pa.array([row[i] for row in rows], kind.arrow) for i, kind in enumerate(types)]
    return Rows(one.codec, types, columns, len(rows))


def pieces(rows: Rows, weights: Any) -> list[tuple[Row, int]]:
    """Rows with multiplicities, in their order."""
    columns = [rows.arrow(i).to_pylist() for i in range(len(rows.types))]
    return list(zip(zip(*columns, strict=True), weights.tolist(), strict=True))


def scanned(store: InequalityRowsStore, capacity: int) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for rows, weights in store.scan(capacity):
        for row, n in content(rows, weights).items():
            found[seen(row)] += n
    return found


@pytest.mark.nojit
@FUZZ
@given(script=scripts(), batched=st.booleans())
def test_the_rows_are_all_pairs(script: Any, batched: bool) -> None:
    one, steps = script
    store = InequalityRowsStore(rows_plan(one), one.codec)
    before: Counter[Row] = Counter()
    expected: dict[int, Counter[Row]] = {}
    for version, step in enumerate(steps):
        for row, weight, side in step:
            one.take(row, weight, side, version)
        after = joined(one)
        expected[version] = Counter(after)
        expected[version].subtract(before)
        before = after
        if batched and version + 1 < len(steps):
            continue
        for arena in store.sides.arenas:
            make_short(arena)
        delta = store.maintain(one.deltas())
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        for each, wanted in expected.items():
            at = np.flatnonzero(delta.versions == each)
            found: Counter[Row] = Counter()
            for row, n in content(delta.rows.take(at), delta.weights[at]).items():
                found[seen(row)] += n
            assert {row: n for row, n in found.items() if n} == {row: n for row, n in wanted.items() if n}
        expected = {}
        assert scanned(store, 2) == scanned(store, 100) == after
        check_parts(store, one, after)


@pytest.mark.parametrize("bounds", [("", "less"), ("greater", ""), ("greater_equal", "less_equal")], ids=str)
def test_many_rows_that_come_and_go_and_are_restored(bounds: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    one = Pairs([INTEGER], INTEGER, bounds, (False, False, False), (True, True))
    store = InequalityRowsStore(rows_plan(one), one.codec)
    for version in range(3):
        for side, _ in product((0, 1), range(60)):
            time = int(rng.integers(300))
            compared = [time, time - 40] if side == 0 and all(bounds) else [time]
            one.take((int(rng.integers(2)), *compared, str(rng.choice(["a", "b"])), None), 1, side, version)
        if version == 2:
            for side in (0, 1):
                for row in list(one.rows[side])[::2]:
                    one.take(row, -1, side, version)
        store.maintain(one.deltas())
        store._check()
    second = InequalityRowsStore(rows_plan(one), one.codec)
    second.restore({name: words.copy() for name, words in store.arrays().items()})
    second._check()
    assert scanned(second, 7) == joined(one)


def test_more_pairs_than_64_bits_count_are_refused() -> None:
    one = Pairs([INTEGER], INTEGER, ("", "less"), (False, False, False), (True, True))
    store = InequalityRowsStore(rows_plan(one), one.codec)
    one.take((1, 5, "a", None), 1 << 31, 0, 0)
    one.take((1, 2, "a", None), 1 << 31, 1, 0)
    store.maintain(one.deltas())
    assert store.count() == 1 << 62
    one.take((1, 6, "a", None), 1 << 31, 0, 1)
    with pytest.raises(CapacityError, match="more than 64 bits count"):
        store.maintain(one.deltas())
