"""Rows of a join by one comparison or two bounds: what a store has against all pairs of rows made at once."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_as_of import INTEGER, content, make_short, seen
from test_inequality import Pairs, scripts

from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.plan.operators import InequalityJoinOperator, SelectedOperator
from livejoin.query.inequality import Side, SideColumn
from strategies import FUZZ

Row = tuple[Any, ...]


def rows_plan(one: Pairs) -> InequalityJoinOperator:
    """The operator that shows all columns of both sides of some pairs."""
    query: Any = None
    columns = tuple(SideColumn(side, i) for side in (0, 1) for i in range(len(one.types[side])))
    left, right = (SelectedOperator(query, tuple(types)) for types in one.types)
    sides = [Side(tuple(range(one.first[side], len(one.types[side]))), True) for side in (0, 1)]
    types = tuple(one.types[c.side][c.column] for c in columns)
    return InequalityJoinOperator(left, right, one.keys, *one.bounds, (sides[0], sides[1]), columns, types, "")


def joined(one: Pairs) -> Counter[Row]:
    """The definition."""
    found: Counter[Row] = Counter()
    for (left, n), (right, m) in product(one.rows[0].items(), one.rows[1].items()):
        if n > 0 and m > 0 and one._meet(left, right):
            found[seen((*left, *right))] += n * m
    return found


def scanned(store: InequalityRowsStore, capacity: int) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for rows, weights in store.scan(capacity):
        for row, n in content(rows, weights).items():
            found[seen(row)] += n
    return found


@pytest.mark.nojit
@FUZZ
@given(script=scripts(is_shifted=True), batched=st.booleans())
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
