"""Maintained aggregates: the change of every version, against all rows of a group at once and against DuckDB."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.errors import CapacityError, StateError, UnsupportedQueryError
from livejoin.kernels.groups.layout import P_RESERVE
from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.query.aggregates import AggregateCall, Function
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE
from naive_aggregates import Overflow, aggregate, canonical
from oracle import connect
from sized import sized
from strategies import FUZZ

pytestmark = pytest.mark.nojit

BIGINT, INT = SqlType.integer(64), SqlType.integer(32)
DOUBLE, TEXT, BOOLEAN = SqlType("double"), SqlType("string"), SqlType("boolean")
NARROW, WIDE = SqlType.decimal(9, 2), SqlType.decimal(38, 4)
NINES = Decimal("9999999999999999999999999999999999.9999")

# Small values often, so that groups and values meet; then the edges of the types.
VALUES: dict[SqlType, tuple[Any, ...]] = {
    BIGINT: (0, 1, 2, -7, 2**63 - 1, -(2**63), 2**53 + 1, 10**18),
    INT: (0, 1, 5, -3, 2**31 - 1, -(2**31)),
    DOUBLE: (0.0, 1.5, -2.25, 0.1, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-200, 3.14159, 1e17),
    NARROW: (Decimal("0.00"), Decimal("1.50"), Decimal("0.01"), Decimal("-9999999.99"), Decimal("3.33")),
    WIDE: (
        Decimal("0.0000"),
        Decimal("1.5000"),
        NINES,
        NINES.copy_negate(),
        Decimal("12345678901234567890.1234"),
        Decimal("-0.0001"),
    ),
    TEXT: (
        "a",
        "b",
        "",
        "ab",
        "äöü€",
        "a string of more than twelve bytes",
        "a string of more than twelve bytes!",
        "😀",
    ),
    BOOLEAN: (True, False),
    SqlType("date"): (date(1970, 1, 1), date(2024, 2, 29), date(1901, 12, 31)),
    SqlType("timestamp"): (datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1901, 1, 1)),
}
NUMBERS = (BIGINT, INT, DOUBLE, NARROW, WIDE)
BY_ANOTHER: tuple[Function, ...] = ("min_by", "max_by", "list_by")


def average_type(type_: SqlType) -> SqlType:
    """Spark's type of AVG."""
    if type_.kind != "decimal":
        return DOUBLE
    return SqlType.decimal(min(type_.precision + 4, 38), min(type_.scale + 4, 38))


def sum_type(type_: SqlType) -> SqlType:
    """Spark's type of SUM."""
    if type_.kind == "decimal":
        return SqlType.decimal(min(type_.precision + 10, 38), type_.scale)
    return BIGINT if type_.kind == "integer" else DOUBLE


def calls_on(argument: int, type_: SqlType) -> list[AggregateCall]:
    """All calls on an argument."""
    found = [AggregateCall("count", argument, d, BIGINT) for d in (False, True)]
    found += [AggregateCall("array_agg", argument, d, type_) for d in (False, True)]
    found += [AggregateCall("min", argument, False, type_), AggregateCall("max", argument, True, type_)]
    found += [AggregateCall("mode", argument, False, type_, descending=descending) for descending in (False, True)]
    found += [
        AggregateCall("percentile_disc", argument, distinct, type_, fraction=fraction, descending=distinct)
        for distinct, fraction in ((False, 0.5), (True, 0.3), (False, 1.0), (False, 0.0))
    ]
    if type_ in NUMBERS:
        for distinct in (False, True):
            found.append(AggregateCall("sum", argument, distinct, sum_type(type_)))
            found.append(AggregateCall("avg", argument, distinct, average_type(type_)))
            found += [
                AggregateCall("var_pop", argument, distinct, DOUBLE),
                AggregateCall("var_samp", argument, distinct, DOUBLE),
            ]
    if type_ == NARROW:
        found.append(AggregateCall("avg", argument, False, DOUBLE))
    if type_.kind == "integer":
        found += [
            AggregateCall(function, argument, function == "bit_xor", type_)
            for function in ("bit_and", "bit_or", "bit_xor")
        ]
        found.append(AggregateCall("bit_xor", argument, False, type_))
    if type_ == DOUBLE:
        found += [AggregateCall(function, argument, False, DOUBLE) for function in ("moment_3", "moment_4")]
        found += [
            AggregateCall(function, argument, False, DOUBLE, other=argument) for function in ("covar_pop", "covar_samp")
        ]
        found += [
            AggregateCall("percentile_cont", argument, distinct, DOUBLE, fraction=fraction, descending=distinct)
            for distinct, fraction in ((False, 0.5), (False, 0.1), (True, 0.9), (False, 0.0), (True, 1.0))
        ]
    if type_ == BOOLEAN:
        found += [
            AggregateCall("bool_and", argument, False, BOOLEAN),
            AggregateCall("bool_or", argument, True, BOOLEAN),
        ]
    return found


@dataclass(frozen=True)
class Change:
    """One row that comes or goes, as positions in the domains of its columns' types (-1: NULL)."""

    row: tuple[int, ...]
    weight: int
    version: int


@dataclass(frozen=True)
class History:
    """An aggregation and the deltas that it gets."""

    types: tuple[SqlType, ...]
    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    batches: tuple[tuple[Change, ...], ...]

    def values(self, row: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(None if i < 0 else VALUES[t][i] for i, t in zip(row, self.types, strict=True))


@st.composite
def histories(draw: st.DrawFn) -> History:
    groups = draw(st.sampled_from([1, 1, 0, 2, 3]))
    is_global = groups == 0
    types = [draw(st.sampled_from(tuple(VALUES))) for _ in range(groups + draw(st.integers(1, 3)))]
    arguments = range(draw(st.sampled_from([groups, 0])) if groups else 0, len(types))
    possible = [AggregateCall("count", None, False, BIGINT), *(c for a in arguments for c in calls_on(a, types[a]))]
    possible += [
        AggregateCall(f, a, False, types[a], other=b) for f in BY_ANOTHER for a in arguments for b in range(len(types))
    ]
    calls = draw(st.lists(st.sampled_from(possible), min_size=0 if groups else 1, max_size=6))
    usual = draw(st.sampled_from([3, 100]))  # with few values, sums seldom overflow
    cells = [st.integers(-1, min(len(VALUES[t]), usual) - 1) for t in types]
    present: Counter[tuple[int, ...]] = Counter()
    batches = []
    version = 1
    for _ in range(draw(st.integers(1, 4))):
        batch: list[Change] = []
        for _ in range(draw(st.integers(1, 3))):
            changes = []
            for _ in range(draw(st.sampled_from([3, 1, 6, 12, 0]))):
                row = draw(st.tuples(*cells))
                weight = draw(st.sampled_from([1, 1, 1, 2, 5]))
                if present and draw(st.booleans()):
                    row = draw(st.sampled_from(sorted(present)))
                    weight = -draw(st.integers(1, present[row])) if draw(st.integers(0, 3)) else weight
                present[row] += weight
                present += Counter()
                changes.append(Change(row, weight, version))
            batch += draw(st.permutations(changes))  # within a version the order is free
            version += draw(st.integers(1, 2))
        batches.append(tuple(batch))
    return History(tuple(types), groups, tuple(calls), is_global, tuple(batches))


def rows_of(codec: Codec, types: Sequence[SqlType], values: Sequence[tuple[Any, ...]], coded: bool) -> Rows:
    columns = [pa.array([row[i] for row in values], type_.arrow) for i, type_ in enumerate(types)]
    rows = Rows(codec, types, columns, len(values))
    return Rows(codec, types, [rows.codes(i) for i in range(len(types))], len(values)) if coded else rows


def content(rows: Rows, weights: np.ndarray | None = None) -> Counter[tuple[Any, ...]]:
    columns = [[canonical(value) for value in rows.arrow(i).to_pylist()] for i in range(len(rows.types))]
    found: Counter[tuple[Any, ...]] = Counter()
    for i in range(rows.length):
        found[tuple(column[i] for column in columns)] += 1 if weights is None else int(weights[i])
    return found


def store_of(history: History, codec: Codec, capacity: int = 1 << 15) -> AggregateStore:
    return AggregateStore(
        aggregate_plan(history.types, history.groups, history.calls, history.is_global), codec, capacity
    )


def leave_only(store: AggregateStore, space: int) -> None:
    """Let the arena be full but for the words that one row may need, and some more."""
    words, reserve = store.arena.words, int(store.plan.words[P_RESERVE])
    words[H_END] = min(int(words[H_BUMP]) + reserve + space, words.shape[0])


def scanned(store: AggregateStore, capacity: int = 100) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for rows, weights in store.scan(capacity):
        assert 0 < rows.length <= capacity
        found += content(rows, weights)
    return found


def check_pairs(delta: Delta) -> None:
    """A pair is a row that goes, one that comes, or both in this order next to each other; they differ."""
    assert delta.pairs is not None
    seen = set()
    rows = [next(iter(content(delta.rows.take(np.array([i]))))) for i in range(delta.rows.length)]
    for i, pair in enumerate(delta.pairs.tolist()):
        if i and pair == delta.pairs[i - 1]:
            assert (delta.weights[i - 1], delta.weights[i]) == (-1, 1)
            assert delta.versions[i - 1] == delta.versions[i] and rows[i - 1] != rows[i]
        else:
            assert pair not in seen
        seen.add(pair)


@FUZZ
@given(
    history=histories(),
    capacity=st.sampled_from([1, 2, 100]),
    coded=st.booleans(),
    space=st.sampled_from([0, 100, 1 << 20]),
)
def test_the_deltas_are_the_differences_of_the_results(
    history: History, capacity: int, coded: bool, space: int
) -> None:
    codec = Codec()
    store = store_of(history, codec, capacity)
    present: Counter[tuple[int, ...]] = Counter()

    def results() -> Counter[tuple[Any, ...]]:
        rows = [history.values(row) for row in present.elements()]
        return aggregate(rows, history.types, history.groups, history.calls, history.is_global)

    before = results()
    for batch in history.batches:
        rows = rows_of(codec, history.types, [history.values(change.row) for change in batch], coded)
        weights = np.array([change.weight for change in batch], np.int64)
        versions = np.array([change.version for change in batch], np.int64)
        expected: dict[int, Counter[tuple[Any, ...]]] = {}
        overflows = False
        for version in sorted({change.version for change in batch}):
            for change in batch:
                if change.version == version:
                    present[change.row] += change.weight
            try:
                after = results()
            except Overflow:
                overflows = True
                break
            difference = Counter(after)
            difference.subtract(before)
            expected[version] = Counter({row: n for row, n in difference.items() if n})
            before = after
        if overflows:
            with pytest.raises(CapacityError):
                store.maintain([Delta(rows, weights, versions)])
            return
        leave_only(store, space)
        delta = store.maintain([Delta(rows, weights, versions)])
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        found = {v: content(delta.rows.take(np.flatnonzero(delta.versions == v))) for v in expected}
        net = {v: Counter[tuple[Any, ...]]() for v in expected}
        for v in expected:
            at = np.flatnonzero(delta.versions == v)
            net[v] = content(delta.rows.take(at), delta.weights[at])
        assert net == expected
        assert found == {v: Counter({row: abs(n) for row, n in rows.items()}) for v, rows in expected.items()}
        check_pairs(delta)
        assert scanned(store, capacity) == before
        assert store.count() == sum(before.values())


@FUZZ
@given(history=histories())
def test_a_loaded_store_and_a_restored_one_go_on_alike(history: History) -> None:
    codec = Codec()
    first, second = store_of(history, codec), store_of(history, codec)
    for batch in history.batches:
        rows = rows_of(codec, history.types, [history.values(change.row) for change in batch], False)
        weights = np.array([change.weight for change in batch], np.int64)
        versions = np.array([change.version for change in batch], np.int64)
        delta = Delta(rows, weights, versions)
        try:
            first.maintain([delta])
            expected = scanned(first)
        except CapacityError:
            return
        second.load(0, delta)
        second._check()
        third = store_of(history, codec)
        third.restore({name: words.copy() for name, words in second.arrays().items()})
        second = third
        assert scanned(second, 1) == expected
        kept = {kind: set(second.used_words(kind).tolist()) for kind in ("string", "decimal")}
        codec.retain(*(np.array(sorted(kept[kind] - {NULL_CODE}), np.int64) for kind in ("string", "decimal")))
        assert scanned(second) == scanned(first) == expected, "the words in use are those that the codec must keep"


def delta_of(codec: Codec, types: Sequence[SqlType], rows: list[tuple[Any, ...]], weights: list[int]) -> Delta:
    return Delta(rows_of(codec, types, rows, False), np.array(weights, np.int64), np.zeros(len(rows), np.int64))


SQL = {
    "count": "count({d}{a})",
    "sum": "sum({d}{a})",
    "avg": "avg({d}{a})",
    "var_pop": "var_pop({d}{a})",
    "var_samp": "var_samp({d}{a})",
    "min": "min({a})",
    "max": "max({a})",
    "bool_and": "bool_and({a})",
    "bool_or": "bool_or({a})",
    "array_agg": "list_sort(list({d}{a}), 'ASC', 'NULLS FIRST')",
    "bit_and": "bit_and({a})",
    "bit_or": "bit_or({a})",
    "bit_xor": "bit_xor({d}{a})",
    "percentile_disc": "quantile_disc({d}{a}, {f})",
    "percentile_cont": "quantile_cont({d}{a}, {f})",
    "covar_pop": "covar_pop({a}, {a})",
    "covar_samp": "covar_samp({a}, {a})",
}


def duckdb_result(
    types: Sequence[SqlType], rows: list[tuple[Any, ...]], groups: int, calls: Sequence[AggregateCall]
) -> dict[Any, Any]:
    table = pa.table(
        [pa.array([r[i] for r in rows], t.arrow) for i, t in enumerate(types)], [f"c{i}" for i in range(len(types))]
    )
    texts = [
        SQL[c.function].format(
            d="DISTINCT " * c.distinct, a="*" if c.argument is None else f"c{c.argument}", f=c.fraction
        )
        for c in calls
    ]
    keys = [f"c{i}" for i in range(groups)]
    connection = connect()
    connection.register("t", table)
    sql = f"SELECT {', '.join([*keys, *texts])} FROM t" + (f" GROUP BY {', '.join(keys)}" if keys else "")
    return {tuple(map(canonical, row[:groups])): row[groups:] for row in connection.execute(sql).fetchall()}


def close(found: Any, expected: Any) -> bool:
    if isinstance(found, (float, Decimal)) and isinstance(expected, (float, Decimal)):
        rounding = (
            0.501 * 10.0 ** found.as_tuple().exponent if isinstance(found, Decimal) else 1e-9
        )  # an average's last digit
        return math.isclose(float(found), float(expected), rel_tol=1e-9, abs_tol=rounding)
    return bool(canonical(found) == canonical(expected))


@pytest.mark.parametrize("groups", [0, 1, 2])
def test_long_runs_agree_with_duckdb(groups: int) -> None:
    rng = random.Random(groups)
    argument_types = (INT, DOUBLE, NARROW, WIDE, TEXT, BOOLEAN, SqlType("date"))
    types = (*(INT, TEXT)[:groups], *argument_types)
    calls = [AggregateCall("count", None, False, BIGINT)]
    for i, type_ in enumerate(argument_types, groups):
        calls += [c for c in calls_on(i, type_) if c.function in SQL and not c.descending]
    codec = Codec()
    store = AggregateStore(aggregate_plan(types, groups, calls, groups == 0), codec, 16)

    def cell(type_: SqlType) -> Any:
        if rng.random() < 0.1:
            return None
        match type_:
            case _ if type_ == INT:
                return rng.randrange(-5, 5)
            case _ if type_ == DOUBLE:
                return round(rng.gauss(1000, 3), rng.randrange(1, 8))
            case _ if type_.kind == "decimal":
                return Decimal(rng.randrange(-(10**6), 10**6)).scaleb(-type_.scale)
            case _ if type_ == TEXT:
                return rng.choice("abcdefghijklmnop") * rng.randrange(4)
            case _ if type_ == BOOLEAN:
                return rng.random() < 0.8
            case _:
                return date(2024, 1, rng.randrange(1, 30))

    present: list[tuple[Any, ...]] = []
    many = sized(50, 10)
    for step in range(6):
        come = [tuple(map(cell, types)) for _ in range(6 * many if step < 4 else 20)]
        rng.shuffle(present)
        go, present = present[: 5 * many if step else 0], present[5 * many if step else 0 :]
        store.maintain([delta_of(codec, types, [*go, *come], [-1] * len(go) + [1] * len(come))])
        present += come
        expected = duckdb_result(types, present, groups, calls)
        found = {}
        for rows, _ in store.scan(1000):
            for row in zip(*(rows.arrow(i).to_pylist() for i in range(len(rows.types))), strict=True):
                found[tuple(map(canonical, row[:groups]))] = row[groups:]
        assert found.keys() == expected.keys()
        for key, row in found.items():
            for call, mine, theirs in zip(calls, row, expected[key], strict=True):
                assert close(mine, theirs), (call, key)
    store._check()


def test_covariances_and_moments_of_many_rows_are_exact() -> None:
    rng = random.Random(11)
    codec = Codec()
    types = (INT, DOUBLE, DOUBLE)
    calls = [AggregateCall(f, 1, False, DOUBLE, other=2) for f in ("covar_pop", "covar_samp")]
    calls += [AggregateCall(f, 1, False, DOUBLE) for f in ("moment_3", "moment_4")]
    store = AggregateStore(aggregate_plan(types, 1, calls, False), codec)
    present: list[tuple[Any, ...]] = []
    for spread in (1e-9, 1.0, 1e150, 1e-150):
        come = [(rng.randrange(2), 1e6 + rng.gauss(0, spread), rng.gauss(-5, spread)) for _ in range(40)]
        store.maintain([delta_of(codec, types, come, [1] * len(come))])
        present += come
        assert scanned(store) == aggregate(present, types, 1, calls, False)
        rng.shuffle(present)
        go, present = present[:30], present[30:]
        store.maintain([delta_of(codec, types, go, [-1] * len(go))])
        store._check()
        assert scanned(store) == aggregate(present, types, 1, calls, False)


def test_a_percentile_of_many_values_and_an_order_by_others() -> None:
    rng = random.Random(5)
    codec = Codec()
    types = (INT, DOUBLE, TEXT)
    calls = [AggregateCall("percentile_cont", 1, False, DOUBLE, fraction=f) for f in (0.0, 0.37, 0.5, 1.0)]
    calls += [AggregateCall("percentile_disc", 2, False, TEXT, fraction=0.9), AggregateCall("mode", 0, False, INT)]
    calls += [AggregateCall(f, 2, False, TEXT, other=1) for f in BY_ANOTHER]
    store = AggregateStore(aggregate_plan(types, 0, calls, True), codec)
    present: list[tuple[Any, ...]] = []
    many = sized(100, 15)
    for step in range(8):
        come = [(int(rng.gauss(0, 9)), rng.random(), str(rng.randrange(999)) * 4) for _ in range(9 * many)]
        go, present = (present[: 8 * many], present[8 * many :]) if step < 5 else (present, [])
        present += come
        store.maintain([delta_of(codec, types, [*go, *come], [-1] * len(go) + [1] * len(come))])
        store._check()
        assert scanned(store) == aggregate(present, types, 0, calls, True)
        rng.shuffle(present)


def test_doubles_leave_no_trace() -> None:
    codec = Codec()
    calls = [AggregateCall(f, 0, False, DOUBLE) for f in ("sum", "avg", "var_samp")]
    store = AggregateStore(aggregate_plan((DOUBLE,), 0, calls, True), codec)
    kept = [(0.1,), (0.2,), (1e-30,)]
    noise = [(1e308,), (-1e300,), (5e-324,), (math.nan,), (math.inf,), (1e17,)] * 3
    store.maintain([delta_of(codec, (DOUBLE,), kept + noise, [1] * (len(kept) + len(noise)))])
    store.maintain([delta_of(codec, (DOUBLE,), noise, [-1] * len(noise))])
    assert scanned(store) == aggregate(kept, (DOUBLE,), 0, calls, True)
    used = store.arena.used_bytes
    for _ in range(100):
        store.maintain([delta_of(codec, (DOUBLE,), noise, [1] * len(noise))])
        store.maintain([delta_of(codec, (DOUBLE,), noise, [-1] * len(noise))])
    assert store.arena.used_bytes <= 2 * used


@pytest.mark.parametrize("values", [[math.nan], [math.inf], [-math.inf], [math.inf, -math.inf], [math.inf, math.nan]])
def test_what_is_not_finite_comes_and_goes(values: list[float]) -> None:
    codec = Codec()
    calls = [AggregateCall(f, 0, False, DOUBLE) for f in ("sum", "avg", "var_pop", "var_samp", "min", "max")]
    store = AggregateStore(aggregate_plan((DOUBLE,), 0, calls, True), codec)
    kept, special = [(1.5,), (2.5,)], [(value,) for value in values]
    store.maintain([delta_of(codec, (DOUBLE,), kept + special, [1] * (2 + len(values)))])
    assert scanned(store) == aggregate(kept + special, (DOUBLE,), 0, calls, True)
    store.maintain([delta_of(codec, (DOUBLE,), special, [-1] * len(values))])
    assert scanned(store) == aggregate(kept, (DOUBLE,), 0, calls, True)


@pytest.mark.parametrize(
    ("total", "rows", "expected"),
    [
        ("0.0001", 32, "0.00000313"),  # 0.000003125
        ("-0.0001", 32, "-0.00000313"),
        ("0.0002", 3, "0.00006667"),
        ("0.0001", 3, "0.00003333"),
        ("9999999999999999999999999999.0001", 2, "4999999999999999999999999999.50005000"),
    ],
)
def test_averages_of_decimals_are_rounded_half_away_from_zero(total: str, rows: int, expected: str) -> None:
    codec = Codec()
    calls = [AggregateCall("avg", 0, False, average_type(WIDE))]
    store = AggregateStore(aggregate_plan((WIDE,), 0, calls, True), codec)
    store.maintain([delta_of(codec, (WIDE,), [(Decimal(total),), (Decimal(0),)], [1, rows - 1])])
    assert scanned(store) == Counter({(Decimal(expected),): 1})


def test_long_lists_find_space() -> None:
    codec = Codec()
    store = AggregateStore(aggregate_plan((INT, INT), 1, [AggregateCall("array_agg", 1, False, INT)], False), codec)
    rows = [(1, i) for i in range(3000)]
    store.load(0, delta_of(codec, (INT, INT), rows, [1] * len(rows)))
    leave_only(store, 0)
    delta = store.maintain([delta_of(codec, (INT, INT), [(1, 5), (2, 5)], [-1, 1])])
    store._check()
    assert [len(values) for values in delta.rows.arrow(1).to_pylist()] == [3000, 2999, 1]


def test_weights_multiply() -> None:
    codec = Codec()
    types = (BIGINT, DOUBLE, WIDE)
    calls = [c for i, t in enumerate(types) for c in calls_on(i, t) if c.function != "array_agg"]
    store = AggregateStore(aggregate_plan(types, 0, calls, True), codec)
    row = (3, 0.1, Decimal("-12345678901234567890.1234"))
    store.maintain([delta_of(codec, types, [row], [1 << 33])])
    store.maintain([delta_of(codec, types, [row], [7 - (1 << 33)])])
    assert scanned(store) == aggregate([row] * 7, types, 0, calls, True)


def test_a_global_aggregate_has_its_row_from_the_start() -> None:
    codec = Codec()
    calls = [
        AggregateCall("count", None, False, BIGINT),
        AggregateCall("sum", 0, False, BIGINT),
        AggregateCall("min", 0, False, INT),
    ]
    store = AggregateStore(aggregate_plan((INT,), 0, calls, True), codec)
    assert scanned(store) == Counter({(0, None, None): 1}) and store.count() == 1
    delta = store.maintain([delta_of(codec, (INT,), [(4,), (4,)], [1, -1])])
    assert delta.rows.length == 0
    delta = store.maintain([delta_of(codec, (INT,), [(4,)], [1])])
    assert content(delta.rows, delta.weights) == Counter({(0, None, None): -1, (1, 4, 4): 1})
    store.maintain([delta_of(codec, (INT,), [(4,)], [-1])])
    assert scanned(store) == Counter({(0, None, None): 1})


def test_a_sum_beyond_its_type_is_refused() -> None:
    codec = Codec()
    store = AggregateStore(aggregate_plan((BIGINT,), 0, [AggregateCall("sum", 0, False, BIGINT)], True), codec)
    with pytest.raises(CapacityError, match="SUM of a group is 9,223,372,036,854,775,808, which BIGINT cannot hold"):
        store.maintain([delta_of(codec, (BIGINT,), [(2**63 - 1,), (1,)], [1, 1])])
    for call in (AggregateCall("sum", 0, False, WIDE), AggregateCall("avg", 0, False, SqlType.decimal(38, 8))):
        store = AggregateStore(aggregate_plan((WIDE,), 0, [call], True), codec)
        with pytest.raises(CapacityError, match=r"DECIMAL\(38, "):
            store.maintain([delta_of(codec, (WIDE,), [(NINES,)], [4])])


def test_a_sum_may_be_the_value_that_stands_for_null() -> None:
    codec = Codec()
    store = AggregateStore(aggregate_plan((BIGINT,), 0, [AggregateCall("sum", 0, False, BIGINT)], True), codec)
    store.maintain([delta_of(codec, (BIGINT,), [(NULL_CODE - 1,), (1,)], [1, 1])])
    assert scanned(store) == Counter({(NULL_CODE,): 1})


def test_functions_that_a_type_does_not_have_are_refused() -> None:
    with pytest.raises(UnsupportedQueryError, match="SUM of a STRING: allowed are arguments of type integer"):
        aggregate_plan((TEXT,), 0, [AggregateCall("sum", 0, False, BIGINT)], True)
    with pytest.raises(UnsupportedQueryError, match="BOOL_AND of a INT"):
        aggregate_plan((INT,), 0, [AggregateCall("bool_and", 0, False, BOOLEAN)], True)


def test_a_foreign_snapshot_is_refused() -> None:
    store = AggregateStore(aggregate_plan((INT,), 0, [AggregateCall("sum", 0, False, BIGINT)], True), Codec())
    for arrays in ({}, {"arena": np.zeros(5000, np.int64)}):
        with pytest.raises(StateError, match="damaged or of another version"):
            store.restore(arrays)


def test_calls_on_one_argument_share_what_they_keep() -> None:
    calls = [
        AggregateCall("sum", 1, False, BIGINT),
        AggregateCall("avg", 1, False, DOUBLE),
        AggregateCall("count", 1, False, BIGINT),
    ]
    store = AggregateStore(aggregate_plan((INT, INT), 1, calls, False), Codec())
    alone = AggregateStore(aggregate_plan((INT, INT), 1, calls[:1], False), Codec())
    codec = store._codec
    delta = delta_of(codec, (INT, INT), [(i, i) for i in range(1000)], [1] * 1000)
    store.load(0, delta)
    alone.load(0, delta)
    assert store.arena.used_bytes < 1.05 * alone.arena.used_bytes + 4096
