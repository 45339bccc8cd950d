"""Rows within bounds: the changes of every version against all rows compared at once, selected and added up."""

from __future__ import annotations

import operator
from collections import Counter
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.reading.store_access import ScannedAccess
from livejoin.dataflow.stores.threshold_aggregate import ThresholdAggregateStore
from livejoin.dataflow.stores.thresholds import ThresholdStore
from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.plan.operators import Comparison, NumbersOperator, SelectedOperator, ThresholdAggregateOperator
from livejoin.query.aggregates import AggregateCall
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
COMPARISONS = [*COMPARE, *(f"not_{name}" for name in COMPARE)]
INTEGER, TEXT = SqlType.integer(64), SqlType("string")
NARROW, WIDE = SqlType("decimal", precision=9, scale=1), SqlType("decimal", precision=30, scale=2)
LONG = "a text of more than sixteen bytes"
VALUES = {
    INTEGER: (None, -3, 0, 1, 2, 2**62),
    TEXT: (None, "", "a", LONG, LONG + "!"),
    SqlType("double"): (None, 0.5, -1.0, 7.0, float("inf")),
    NARROW: (None, Decimal("-0.5"), Decimal("12.3"), Decimal(7)),
    WIDE: (None, Decimal("-9e20"), Decimal("0.25"), Decimal("9e25")),
}


def content(rows: Rows, weights: Any) -> Counter[Row]:
    columns = [rows.arrow(i).to_pylist() for i in range(len(rows.types))]
    found: Counter[Row] = Counter()
    for i in range(rows.length):
        found[tuple(column[i] for column in columns)] += int(weights[i])
    return found


def delta_of(codec: Codec, types: list[SqlType], changes: list[tuple[Row, int, int]]) -> Delta:
    columns = [pa.array([row[i] for row, _, _ in changes], kind.arrow) for i, kind in enumerate(types)]
    weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (1, 2))
    return Delta(Rows(codec, types, columns, len(changes)), weights, versions)


class Given:
    """Rows and bounds, with what is to be asked of a store of them."""

    def __init__(self, types: list[SqlType], keys: int, comparison: Comparison) -> None:
        self.types, self.keys, self.comparison = types, keys, comparison
        self.codec = Codec()
        self.rows: Counter[Row] = Counter()
        self.bounds: dict[Row, Any] = {}
        self.changes: tuple[list[tuple[Row, int, int]], list[tuple[Row, int, int]]] = ([], [])

    def take(self, row: Row, weight: int, bound: bool, version: int) -> None:
        """Change a row, or make its compared value the bound of its key, or take this away."""
        of_bounds, of_rows = self.changes
        if not bound:
            weight = max(weight, -self.rows[row])
            self.rows[row] += weight
            of_rows += [(row, weight, version)] if weight else []
            return
        key = row[: self.keys]
        if key in self.bounds:
            of_bounds.append(((*key, self.bounds.pop(key)), -1, version))
        if weight > 0:
            self.bounds[key] = row[self.keys]
            of_bounds.append(((*key, row[self.keys]), 1, version))

    def deltas(self) -> list[Delta]:
        """The changes since the last call."""
        bounds, rows = self.changes
        self.changes = ([], [])
        types = self.types[: self.keys + 1]
        return [delta_of(self.codec, types, bounds), delta_of(self.codec, self.types, rows)]

    def inside(self) -> Counter[Row]:
        """The definition."""

        def stands(row: Row) -> bool:
            key, value = row[: self.keys], row[self.keys]
            bound = self.bounds.get(key)
            refused = self.comparison.startswith("not_")
            if None in key or value is None or bound is None:
                return refused
            if isinstance(value, str):
                value, bound = value.encode(), bound.encode()
            return bool(COMPARE[self.comparison.removeprefix("not_")](value, bound)) != refused

        return Counter({row: times for row, times in self.rows.items() if times > 0 and stands(row)})


KINDS = st.sampled_from(list(VALUES))
WEIGHTS = st.sampled_from([1, 1, 2, -1, -9])


@st.composite
def scripts(draw: st.DrawFn, others: tuple[SqlType, ...]) -> tuple[Given, list[list[tuple[Row, int, bool]]]]:
    keys = draw(st.lists(KINDS, max_size=2))
    types = [*keys, draw(KINDS), *others]
    row = st.tuples(
        *(st.sampled_from(VALUES[kind][:3] if i < len(keys) else VALUES[kind]) for i, kind in enumerate(types))
    )
    step = st.lists(st.tuples(row, WEIGHTS, st.booleans()), max_size=8)
    return Given(types, len(keys), draw(st.sampled_from(COMPARISONS))), draw(st.lists(step, max_size=8))


def make_short(arena: Arena) -> None:
    """Leave little space, so that the arena must grow."""
    arena.words[H_END] = min(int(arena.words[H_BUMP]) + 700, arena.words.shape[0])


@FUZZ
@given(script=scripts((TEXT, INTEGER)), batched=st.booleans())
def test_the_changes_are_the_differences_of_the_selected_rows(script: Any, batched: bool) -> None:
    one, steps = script
    store = ThresholdStore(one.types, one.keys, one.comparison, one.codec)
    before: Counter[Row] = Counter()
    expected: dict[int, Counter[Row]] = {}
    for version, step in enumerate(steps):
        for row, weight, bound in step:
            one.take(row, weight, bound, version)
        after = one.inside()
        expected[version] = Counter(after)
        expected[version].subtract(before)
        before = after
        if batched and version + 1 < len(steps):
            continue
        make_short(store.bounded.arena)
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


@FUZZ
@given(script=scripts((TEXT, INTEGER, NARROW, WIDE)), groups=st.integers(0, 1))
def test_the_sums_are_those_of_the_selected_rows(script: Any, groups: int) -> None:
    one, steps = script
    first = one.keys + 1
    own = one.types[first:]
    arguments = {"count": 1, "sum": 2, "avg": 3}
    results = [INTEGER, SqlType("decimal", precision=19, scale=1), SqlType("decimal", precision=34, scale=6)]
    calls = tuple(
        AggregateCall(name, at, False, kind) for (name, at), kind in zip(arguments.items(), results, strict=True)
    )
    calls = (AggregateCall("count", None, False, INTEGER), *calls)
    types = (*own[:groups], INTEGER, *results)
    query: Any = None
    plan = ThresholdAggregateOperator(
        NumbersOperator(0),
        SelectedOperator(query, tuple(one.types)),
        one.keys,
        one.comparison,
        groups,
        calls,
        not groups,
        types,
        "",
    )
    store = ThresholdAggregateStore(plan, one.codec)
    kept: Counter[Row] = Counter() if groups else Counter({(0, 0, None, None): 1})
    for version, step in enumerate(steps):
        for row, weight, bound in step:
            one.take(row, weight, bound, version)
        make_short(store.bounded.arena)
        deltas = one.deltas()
        if version % 3 == 2:  # as it is loaded and undone
            for side in (1, 0):
                store.load(side, deltas[side])
            for side in (0, 1):
                store.load(side, deltas[side].inverse())
        delta = store.maintain(deltas)
        store._check()
        kept.update(content(delta.rows, delta.weights))
        members: dict[Row, list[Row]] = {} if groups else {(): []}
        for row in one.inside().elements():
            members.setdefault(row[first : first + groups], []).append(row[first:])
        wanted: Counter[Row] = Counter()
        for group, rows in members.items():
            integers, narrow, wide = ([row[i] for row in rows if row[i] is not None] for i in (1, 2, 3))
            with localcontext(prec=60):
                mean = (sum(wide) / len(wide)).quantize(Decimal("1e-6"), "ROUND_HALF_UP") if wide else None
            wanted[(*group, len(rows), len(integers), sum(narrow) if narrow else None, mean)] += 1
        assert +kept == wanted
        assert sum((content(*part) for part in store.scan(2)), Counter()) == wanted


def test_many_rows_by_position_and_by_value_and_restored() -> None:
    rng = np.random.default_rng(5)
    one = Given([INTEGER, INTEGER, TEXT], 1, "greater")
    store = ThresholdStore(one.types, 1, "greater", one.codec)
    for version in range(5):
        for _ in range(900):
            row = (int(rng.integers(7)), int(rng.integers(400)), str(rng.choice(["a", "b"])))
            one.take(row, -9 if version == 4 else 1, False, version)
        for key in range(7):
            one.take((key, int(rng.integers(400)), ""), 1, True, version)
        store.maintain(one.deltas())
        store._check()
        expected = one.inside()
        access = ScannedAccess(store)
        rows = access.at(np.arange(store.count()))
        assert content(rows, np.ones(rows.length)) == expected
        times = access.multiplicities(rows.take(np.arange(5)))
        shown = list(zip(*(rows.arrow(i).to_pylist()[:5] for i in range(3)), strict=True))
        assert times.tolist() == [expected[row] for row in shown]
    second = ThresholdStore(one.types, 1, "greater", one.codec)
    second.restore({name: words.copy() for name, words in store.arrays().items()})
    second._check()
    assert [content(*part) for part in second.scan(100)] == [content(*part) for part in store.scan(100)]
    assert set(store.used_words("string").tolist()) == set(rows.codes(2).tolist())


def test_sums_of_many_rows_are_exact_at_every_node() -> None:
    rng = np.random.default_rng(8)
    one = Given([INTEGER, INTEGER, INTEGER, WIDE], 1, "less_equal")
    total = SqlType("decimal", precision=38, scale=2)
    calls = (AggregateCall("count", None, False, INTEGER), AggregateCall("sum", 1, False, total))
    query: Any = None
    own = SelectedOperator(query, tuple(one.types))
    plan = ThresholdAggregateOperator(
        NumbersOperator(0), own, 1, "less_equal", 1, calls, False, (INTEGER, INTEGER, total), ""
    )
    store = ThresholdAggregateStore(plan, one.codec)
    kept: Counter[Row] = Counter()
    for version in range(6):
        for _ in range(sized(1500, 300)):
            value = Decimal(int(rng.integers(-(10**9), 10**9))).scaleb(15)
            one.take((int(rng.integers(3)), int(rng.integers(900)), int(rng.integers(4)), value), 1, False, version)
        if version >= 3:
            for row in list(one.rows)[:: 1 if version == 5 else 3]:
                one.take(row, -1, False, version)
        for key in range(3):
            one.take((key, int(rng.integers(900)), 0, None), 1, True, version)
        delta = store.maintain(one.deltas())
        store._check()
        kept.update(content(delta.rows, delta.weights))
        members: dict[Any, list[Decimal]] = {}
        for row in one.inside().elements():
            members.setdefault(row[2], []).append(row[3])
        wanted = Counter((group, len(values), sum(values)) for group, values in members.items())
        assert +kept == wanted
