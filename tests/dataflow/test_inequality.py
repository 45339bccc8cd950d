"""Aggregates of a join by one comparison or two bounds: what a store has against all pairs of rows made at once."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_as_of import COMPARE, INTEGER, TEXT, VALUES, WIDE, content, make_short, order, seen

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.inequality import InequalityAggregateStore
from livejoin.plan.operators import InequalityAggregateOperator, SelectedOperator
from livejoin.query.aggregates import AggregateCall
from livejoin.query.inequality_sides import Side, SideColumn
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from strategies import FUZZ

Row = tuple[Any, ...]
TOTAL, MEAN = SqlType("decimal", precision=38, scale=0), SqlType("decimal", precision=34, scale=6)
WORDS = ("red", "green", None)


class Pairs:
    """The rows of both sides with what is to be asked of a store of them.

    Args:
        keys: The types of the key.
        compared: The type of the bounds and of the point.
        bounds: How the point compares with the lower and the upper bound; empty where there is none.
        groups: Whether columns of the key, of left rows and of right rows are the group.
        by_row: Whether rows are in the order of what is compared, though they have groups, on each side.
        goes_together: Whether left rows in the order of one bound are in that of the other one.
    """

    def __init__(
        self,
        keys: list[SqlType],
        compared: SqlType,
        bounds: tuple[str, str],
        groups: tuple[bool, bool, bool],
        by_row: tuple[bool, bool],
        goes_together: bool = True,
    ) -> None:
        self.keys, self.bounds, self.goes_together = len(keys), bounds, goes_together
        self.codec = Codec()
        low, high = bounds
        self.first = len(keys) + bool(low) + bool(high), len(keys) + 1
        self.types: tuple[list[SqlType], list[SqlType]] = (
            [*keys, *[compared] * (self.first[0] - len(keys)), TEXT, WIDE],
            [*keys, compared, TEXT, INTEGER],
        )
        of_key = [SideColumn(0, i) for i in range(len(keys))] if groups[0] else []
        own = [SideColumn(side, self.first[side]) for side in (0, 1) if groups[1 + side]]
        self.groups = [*of_key, *own]
        count = len(self.groups)
        arguments = [SideColumn(0, self.first[0] + 1), SideColumn(1, self.first[1] + 1)]
        calls = (
            AggregateCall("count", None, False, INTEGER),
            AggregateCall("count", count, False, INTEGER),
            AggregateCall("avg", count, False, MEAN),
            AggregateCall("sum", count + 1, False, TOTAL),
        )
        sides = [Side((self.first[side],) if groups[1 + side] else (), by_row[side]) for side in (0, 1)]
        query: Any = None
        self.plan: Any = InequalityAggregateOperator(
            SelectedOperator(query, tuple(self.types[0])),
            SelectedOperator(query, tuple(self.types[1])),
            len(keys),
            *bounds,
            goes_together,
            (sides[0], sides[1]),
            (*self.groups, *arguments),
            (*(self.types[one.side][one.column] for one in self.groups), *(call.type for call in calls)),
            "",
            groups=count,
            calls=calls,
            is_global=not count,
        )
        self.rows: tuple[Counter[Row], Counter[Row]] = (Counter(), Counter())
        self.changes: tuple[list[tuple[Row, int, int]], list[tuple[Row, int, int]]] = ([], [])

    def take(self, row: Row, weight: int, side: int, version: int) -> None:
        row = next((one for one in self.rows[side] if seen(one) == seen(row)), row)
        weight = max(weight, -self.rows[side][row])
        self.rows[side][row] += weight
        self.changes[side].extend([(row, weight, version)] if weight else [])

    def deltas(self) -> list[Delta]:
        """The changes since the last call."""
        found = []
        for types, changes in zip(self.types, self.changes, strict=True):
            columns = [pa.array([row[i] for row, _, _ in changes], kind.arrow) for i, kind in enumerate(types)]
            weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (1, 2))
            found.append(Delta(Rows(self.codec, types, columns, len(changes)), weights, versions))
        self.changes = ([], [])
        return found

    def _meet(self, left: Row, right: Row) -> bool:
        keys = zip(left[: self.keys], right[: self.keys], strict=True)
        if any(one is None or other is None or order(one, other) for one, other in keys):
            return False
        at, point = self.keys, right[self.keys]
        for name in (self.bounds[1], self.bounds[0]):
            if name:
                bound = left[at]
                if bound is None or point is None or not COMPARE[name](order(point, bound), 0):
                    return False
                at += 1
        return True

    def joined(self) -> Counter[Row]:
        """The definition."""
        members: dict[Row, list[tuple[int, Row, Row]]] = {} if self.groups else {(): []}
        for (left, n), (right, m) in product(self.rows[0].items(), self.rows[1].items()):
            if n > 0 and m > 0 and self._meet(left, right):
                group = seen(tuple((left, right)[one.side][one.column] for one in self.groups))
                members.setdefault(group, []).append((n * m, left, right))
        found: Counter[Row] = Counter()
        at = self.first[0] + 1, self.first[1] + 1
        for group, pairs in members.items():
            wide = [(n, left[at[0]]) for n, left, _ in pairs if left[at[0]] is not None]
            integers = [n * right[at[1]] for n, _, right in pairs if right[at[1]] is not None]
            counted = sum(n for n, _ in wide)
            with localcontext(prec=60):
                total = sum((n * value for n, value in wide), Decimal(0))
                mean = (total / counted).quantize(Decimal("1e-6"), "ROUND_HALF_UP") if counted else None
            found[(*group, sum(n for n, *_ in pairs), counted, mean, sum(integers) if integers else None)] += 1
        return found


KINDS = st.sampled_from(list(VALUES))
WEIGHTS = st.sampled_from([1, 1, 2, -1, -9])
BOUNDS = st.sampled_from(
    [
        *(("", name) for name in ("less", "less_equal")),
        *((name, "") for name in ("greater", "greater_equal")),
        *product(("greater", "greater_equal"), ("less", "less_equal")),
    ]
)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[Pairs, list[list[tuple[Row, int, int]]]]:
    keys = draw(st.lists(KINDS, max_size=2))
    bounds = draw(BOUNDS)
    groups = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    by_row = tuple(has and draw(st.booleans()) for has in groups[1:])
    is_shifted = all(bounds) and draw(st.booleans())
    one = Pairs(keys, INTEGER if is_shifted else draw(KINDS), bounds, groups, by_row, is_shifted)  # type: ignore[arg-type]

    @st.composite
    def changes(draw: st.DrawFn) -> tuple[Row, int, int]:
        side = draw(st.integers(0, 1))
        row = [draw(st.sampled_from(VALUES[kind][:3])) for kind in keys]
        compared = [draw(st.sampled_from(VALUES[kind])) for kind in one.types[side][len(keys) : one.first[side]]]
        if side == 0 and is_shifted:
            compared[1] = None if compared[0] is None else compared[0] - 2
        argument = draw(st.sampled_from(VALUES[one.types[side][-1]]))
        return (*row, *compared, draw(st.sampled_from(WORDS)), argument), draw(WEIGHTS), side

    return one, draw(st.lists(st.lists(changes(), max_size=10), max_size=8))


@pytest.mark.nojit
@FUZZ
@given(script=scripts(), batched=st.booleans())
def test_the_aggregates_are_those_of_all_pairs(script: Any, batched: bool) -> None:
    one, steps = script
    store = InequalityAggregateStore(one.plan, one.codec)
    before = Counter() if one.groups else Counter({(0, 0, None, None): 1})
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
        for arena in store.sides.arenas:
            make_short(arena)
        delta = store.maintain(one.deltas())
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        for each, wanted in expected.items():
            at = np.flatnonzero(delta.versions == each)
            found = content(delta.rows.take(at), delta.weights[at])
            assert {row: n for row, n in found.items() if n} == {row: n for row, n in wanted.items() if n}
        expected = {}
        assert sum((content(*part) for part in store.scan(2)), Counter()) == after


@pytest.mark.nojit
@FUZZ
@given(script=scripts())
def test_a_load_and_an_undo_are_changes_that_nobody_asks_for(script: Any) -> None:
    one, steps = script
    store = InequalityAggregateStore(one.plan, one.codec)
    for version, step in enumerate(steps):
        before = one.joined()
        for row, weight, side in step:
            one.take(row, weight, side, version)
        deltas = one.deltas()
        for side in (0, 1):
            store.load(side, deltas[side])
        store._check()
        for side in (0, 1):
            store.load(side, deltas[side].inverse())
        store._check()
        assert sum((content(*part) for part in store.scan(100)), Counter()) == before
        for side in (1, 0):
            store.load(side, deltas[side])
    assert sum((content(*part) for part in store.scan(100)), Counter()) == one.joined()


@pytest.mark.parametrize("by_row", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("bounds", [("", "less"), ("greater", ""), ("greater_equal", "less_equal")], ids=str)
def test_many_rows_of_few_keys_and_restored(bounds: tuple[str, str], by_row: tuple[bool, bool]) -> None:
    """Trees of several levels, more lines than a buffer has, and rows that come and go in one version."""
    rng = np.random.default_rng(5)
    one = Pairs([INTEGER], INTEGER, bounds, (False, True, True), by_row)
    store = InequalityAggregateStore(one.plan, one.codec)
    for version in range(3):
        for side, _ in product((0, 1), range(120)):
            time = int(rng.integers(400))
            compared = [time, time - 40] if side == 0 and all(bounds) else [time]
            value = Decimal(int(rng.integers(-9, 9))) if side == 0 else int(rng.integers(-9, 9))
            one.take((int(rng.integers(2)), *compared, str(rng.choice(["a", "b", "c"])), value), 1, side, version)
        if version == 2:
            for side in (0, 1):
                for row in list(one.rows[side])[::2]:
                    one.take(row, -1, side, version)
        store.maintain(one.deltas())
        store._check()
    second = InequalityAggregateStore(one.plan, one.codec)
    second.restore({name: words.copy() for name, words in store.arrays().items()})
    second._check()
    assert sum((content(*part) for part in second.scan(100)), Counter()) == one.joined()
    assert set(one.codec.decode(np.unique(store.used_words("string")), TEXT).to_pylist()) == {"a", "b", "c"}
