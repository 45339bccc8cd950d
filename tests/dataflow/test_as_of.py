"""As-of joins: the changes of every version against all rows compared at once."""

from __future__ import annotations

import math
import operator
from collections import Counter
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.reading.store_access import ScannedAccess
from livejoin.dataflow.stores.as_of import AsOfStore
from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.query.relational import AsOfComparison, AsOfCondition
from livejoin.schema import SqlType
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from scans import scanned
from sized import sized
from strategies import FUZZ

pytestmark = pytest.mark.nojit

Row = tuple[Any, ...]
COMPARE = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
INTEGER, TEXT, DOUBLE = SqlType.integer(64), SqlType("string"), SqlType("double")
WIDE = SqlType("decimal", precision=30, scale=2)
LONG = "a text of more than sixteen bytes"
VALUES: dict[SqlType, tuple[Any, ...]] = {
    INTEGER: (None, -3, 0, 1, 2, 5, 2**62),
    TEXT: (None, "", "a", LONG, LONG + "!"),
    DOUBLE: (None, 0.5, -1.0, 7.0, math.inf, math.nan),
    WIDE: (None, Decimal("-9e20"), Decimal("0.25"), Decimal("9e25")),
}


def order(one: Any, other: Any) -> int:
    """SQL's order of two values, NULL first, NaN last."""
    keys = [(value is not None, isinstance(value, float) and math.isnan(value)) for value in (one, other)]
    if keys[0] != keys[1] or not keys[0][0] or keys[0][1]:
        return (keys[0] > keys[1]) - (keys[0] < keys[1])
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return (one > other) - (one < other)


def order_of_rows(one: Row, other: Row) -> int:
    return next((found for pair in zip(one, other, strict=True) if (found := order(*pair))), 0)


def seen(row: Row) -> Row:
    """A row in which NaN is equal to itself."""
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in row)


def content(rows: Rows, weights: Any) -> Counter[Row]:
    columns = [rows.arrow(i).to_pylist() for i in range(len(rows.types))]
    found: Counter[Row] = Counter()
    for i in range(rows.length):
        found[seen(tuple(column[i] for column in columns))] += int(weights[i])
    return found


class Sides:
    """The rows of both sides, keys first, then what is compared, with what is to be asked of a store of them."""

    def __init__(self, types: list[SqlType], keys: int, comparison: AsOfComparison, optional: bool) -> None:
        self.types, self.keys, self.comparison, self.optional = types, keys, comparison, optional
        self.codec = Codec()
        self.rows: tuple[Counter[Row], Counter[Row]] = (Counter(), Counter())
        self.changes: tuple[list[tuple[Row, int, int]], list[tuple[Row, int, int]]] = ([], [])

    def store(self) -> AsOfStore:
        places = tuple(range(self.keys))
        on = AsOfCondition(places, places, self.keys, self.keys, self.comparison, self.optional)
        return AsOfStore(self.types, self.types, on, self.codec)

    def take(self, row: Row, weight: int, side: int, version: int) -> None:
        row = next((one for one in self.rows[side] if seen(one) == seen(row)), row)
        weight = max(weight, -self.rows[side][row])
        self.rows[side][row] += weight
        self.changes[side].extend([(row, weight, version)] if weight else [])

    def deltas(self) -> list[Delta]:
        """The changes since the last call."""
        found = []
        for changes in self.changes:
            columns = [pa.array([row[i] for row, _, _ in changes], kind.arrow) for i, kind in enumerate(self.types)]
            weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (1, 2))
            found.append(Delta(Rows(self.codec, self.types, columns, len(changes)), weights, versions))
        self.changes = ([], [])
        return found

    def joined(self) -> Counter[Row]:
        """The definition."""
        found: Counter[Row] = Counter()
        nearer = 1 if self.comparison.startswith("greater") else -1
        rights = [row for row, times in self.rows[1].items() if times > 0 and None not in row[: self.keys + 1]]

        def further(one: Row, other: Row) -> int:
            at = self.keys
            return nearer * order(one[at], other[at]) or order_of_rows(one, other)

        for row, times in self.rows[0].items():
            key, time = row[: self.keys], row[self.keys]
            fit = []
            if None not in row[: self.keys + 1]:
                fit = [
                    other
                    for other in rights
                    if order_of_rows(other[: self.keys], key) == 0
                    and COMPARE[self.comparison](order(time, other[self.keys]), 0)
                ]
            if fit:
                found[seen((*row, *max(fit, key=cmp_to_key(further))))] += times
            elif self.optional:
                found[seen((*row, *[None] * len(self.types)))] += times
        return +found


KINDS = st.sampled_from(list(VALUES))
WEIGHTS = st.sampled_from([1, 1, 2, -1, -9])


@st.composite
def scripts(draw: st.DrawFn) -> tuple[Sides, list[list[tuple[Row, int, int]]]]:
    keys = draw(st.lists(KINDS, max_size=2))
    types = [*keys, draw(KINDS), draw(KINDS)]
    row = st.tuples(*(st.sampled_from(VALUES[kind][: 3 if i < len(keys) else 7]) for i, kind in enumerate(types)))
    step = st.lists(st.tuples(row, WEIGHTS, st.integers(0, 1)), max_size=10)
    sides = Sides(types, len(keys), draw(st.sampled_from(list(COMPARE))), draw(st.booleans()))  # type: ignore[arg-type]
    return sides, draw(st.lists(step, max_size=8))


def make_short(arena: Arena) -> None:
    """Leave little space, so that the arena must grow."""
    arena.words[H_END] = min(int(arena.words[H_BUMP]) + 700, arena.words.shape[0])


@FUZZ
@given(script=scripts(), batched=st.booleans())
def test_the_changes_are_the_differences_of_the_joined_rows(script: Any, batched: bool) -> None:
    one, steps = script
    store = one.store()
    before: Counter[Row] = Counter()
    expected: dict[int, Counter[Row]] = {}
    for version, step in enumerate(steps):
        for row, weight, side in step:
            one.take(row, weight, side, version)
        after = one.joined()
        expected[version] = Counter(after)
        expected[version].subtract(before)
        before = after
        if batched and version + 1 < len(steps):
            continue
        for arena in store._arenas:
            make_short(arena)
        delta = store.maintain(one.deltas())
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        for each, wanted in expected.items():
            at = np.flatnonzero(delta.versions == each)
            found = content(delta.rows.take(at), delta.weights[at])
            assert {row: n for row, n in found.items() if n} == {row: n for row, n in wanted.items() if n}
        expected = {}
        assert scanned(store, content) == after
        assert store.count() == after.total()
    assert ScannedAccess(store).total() == before.total()


@FUZZ
@given(script=scripts())
def test_a_load_and_an_undo_are_changes_that_nobody_asks_for(script: Any) -> None:
    one, steps = script
    store = one.store()
    for version, step in enumerate(steps):
        before = one.joined()
        for row, weight, side in step:
            one.take(row, weight, side, version)
        deltas = one.deltas()
        for side in (0, 1):
            store.load(side, deltas[side])
        store._check()
        assert store.count() == one.joined().total()
        for side in (0, 1):
            store.load(side, deltas[side].inverse())
        store._check()
        assert sum((content(*batch) for batch in store.scan(100)), Counter()) == before
        for side in (1, 0):
            store.load(side, deltas[side])
    assert sum((content(*batch) for batch in store.scan(100)), Counter()) == one.joined()


def test_many_rows_of_one_key_in_one_version() -> None:
    """Trees of several levels, a run of right rows that all go, and a result that is larger than a buffer."""
    one = Sides([INTEGER, INTEGER, INTEGER], 1, "greater_equal", True)
    store = one.store()
    many = sized(360, 270)
    for i in range(many):
        one.take((0, 3 * i, i), 1, 0, 0)
        one.take((0, 2 * i, i), 1, 1, 0)
    store.maintain(one.deltas())
    before = one.joined()
    for i in range(many // 9, many * 8 // 9):
        one.take((0, 2 * i, i), -1, 1, 1)
    for i in range(0, many, 7):
        one.take((0, 2 * i + 1, -i), 1, 1, 1)
    delta = store.maintain(one.deltas())
    store._check()
    after = one.joined()
    after.subtract(before)
    assert {row: n for row, n in content(delta.rows, delta.weights).items() if n} == {
        row: n for row, n in after.items() if n
    }
    assert store.used_words("string").shape == (0,)
