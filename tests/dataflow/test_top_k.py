"""ORDER BY ... LIMIT: the change of every version, against a sorted list and DuckDB's order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.top_k import TopKStore
from livejoin.errors import UnsupportedQueryError
from livejoin.kernels.ordered import order_nodes
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from oracle import difference
from scenario import Row, canonical_row
from strategies import FUZZ, type_named
from weighted_rows import History, Weighted, by_version, content, delta_of, histories

BIGINT = SqlType.integer(64)
STRING = SqlType("string")
UP = SortKey(0, descending=False, nulls_first=True)
DOWN = SortKey(0, descending=True, nulls_first=False)


def _value(value: Any) -> Any:
    """Something that Python orders as SQL orders the value."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def in_order(rows: Counter[Row], keys: Sequence[SortKey]) -> list[Row]:
    """The rows of a multiset in the order, each as often as it stands there."""

    def compare(one: Row, other: Row) -> int:
        for key in [*keys, *(SortKey(c, False, True) for c in range(len(one)))]:
            a, b = one[key.column], other[key.column]
            if (a is None) != (b is None):
                return -1 if (a is None) == key.nulls_first else 1
            if a is not None and _value(a) != _value(b):
                return -1 if (_value(a) < _value(b)) != key.descending else 1
        return 0

    return sorted(rows.elements(), key=cmp_to_key(compare))


@st.composite
def orders(draw: st.DrawFn, columns: int) -> list[SortKey]:
    flags = st.tuples(st.integers(0, columns - 1), st.booleans(), st.booleans())
    return [SortKey(*flag) for flag in draw(st.lists(flags, min_size=1, max_size=3))]


def grouped(rows: Sequence[Row]) -> list[tuple[Row, int]]:
    """Neighbours that are equal as one, with their number."""
    counted = Counter(map(canonical_row, rows))
    return [(row, counted[row]) for row in dict.fromkeys(map(canonical_row, rows))]


def run(history: History, keys: Sequence[SortKey], limit: int, offset: int, coded: bool) -> None:
    codec = Codec()
    operator = TopKStore(keys, limit, offset, codec, history.types)
    present: Counter[Row] = Counter()
    originals: dict[Row, Row] = {}
    window: list[Row] = []
    for batch in history.batches:
        found = by_version(operator.maintain([delta_of(codec, history.types, batch, coded)]))
        for version in sorted({change.version for change in batch}):
            for change in batch:
                if change.version == version:
                    row = originals.setdefault(canonical_row(change.row), change.row)
                    present[row] += change.weight
            before, window = window, in_order(present, keys)[offset : offset + limit]
            expected = difference(Counter(map(canonical_row, window)), Counter(map(canonical_row, before)))
            assert found.pop(version, Counter()) == expected
        assert not found
        assert list(content(operator.scan(2))) == grouped(window)
        assert operator.count() == len(window)
        operator._check()
        restored = TopKStore(keys, limit, offset, codec, history.types)
        restored.restore({name: array.copy() for name, array in operator.arrays().items()})
        operator = restored


@FUZZ
@given(st.data())
def test_every_version(data: st.DataObject) -> None:
    history = data.draw(histories(1, fewest_columns=1, most=5))
    keys = data.draw(orders(len(history.columns)))
    limit = data.draw(st.sampled_from([1, 2, 3, 5, 0, 100, 1 << 63]))
    run(history, keys, limit, data.draw(st.sampled_from([0, 0, 1, 3, 10, 1 << 63])), data.draw(st.booleans()))


@pytest.mark.nojit
@pytest.mark.parametrize("offset", [0, 2])
def test_a_heavy_row_moves_through_the_window(offset: int) -> None:
    """One row takes many ranks, more than the window has, before, inside of and behind the others."""
    steps, version = [], 0
    for heavy in (-1, 5, 99):
        for weight in (1, 2, 7, -3, -7):
            version += 1
            steps += [Weighted(version, 0, (heavy,), weight)]
            steps += [Weighted(version, 0, (x,), 1) for x in range(4) if weight == 7]
            steps += [Weighted(version, 0, (x,), -1) for x in range(4) if weight == -3]
    run(History((type_named("BIGINT"),), (tuple(steps),)), [UP], 3, offset, True)


@pytest.mark.parametrize("key", [UP, DOWN, SortKey(0, False, False), SortKey(0, True, True)])
@pytest.mark.parametrize(
    ("type", "values"),
    [
        (BIGINT, [None, -(2**63), -(2**63) + 1, -1, 0, 0x7FF94E554C4C0000, 0x7FF94E554C4C0002, 2**63 - 1]),
        (
            SqlType("double"),
            [None, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, -5e-324, -1e308, 1.5],
        ),
        (SqlType.decimal(18, 2), [None, "-9999999999999999.99", "9999999999999999.99", "0.00", "-0.01"]),
        (SqlType.decimal(38, 0), [None, "-" + "9" * 38, "9" * 38, "0", "-1", str(2**64), str(-(2**64)), str(10**18)]),
        (
            STRING,
            [None, "", "\0", "a", "a\0", "a\0\0", "ä", "z", "\U0001f600", "\ufffd"]
            + [
                stem + end
                for stem in ("12345678", "1234567890123456", "12345678901234567")
                for end in ("", "\0", "0", "é")
            ],
        ),
        (SqlType("boolean"), [None, False, True]),
    ],
    ids=["bigint", "double", "decimal18", "decimal38", "string", "boolean"],
)
def test_duckdb_orders_alike(key: SortKey, type: SqlType, values: list[Any]) -> None:
    """The whole order of the edges of a type, in which every row comes back as it was."""
    column = pa.array(values, pa.string() if type.kind == "decimal" else type.arrow).cast(type.arrow)
    table = pa.table({"c0": column})
    operator = TopKStore([key], 1000, 0, Codec(), [type])
    ones = np.ones(len(values), np.int64)
    operator.maintain([Delta(Rows(operator.codec, [type], [column], len(values)), ones, ones)])
    operator._check()
    direction = ("DESC" if key.descending else "ASC") + (" NULLS FIRST" if key.nulls_first else " NULLS LAST")
    expected = duckdb.from_arrow(table).order(f"c0 {direction}").to_arrow_table()["c0"].to_pylist()
    assert [row for row, _ in content(operator.scan(3))] == [canonical_row([value]) for value in expected]


def test_strings_that_share_their_beginning() -> None:
    """Bytes beyond the order words decide; the dictionary moves on while the rows stay."""
    codec = Codec()
    operator = TopKStore([DOWN], 20, 5, codec, [STRING, BIGINT])
    texts = [f"a very long beginning, then {i * 37 % 300:05d}" for i in range(300)]
    present: Counter[Row] = Counter()
    for begin in range(0, 300, 50):
        changes = [Weighted(begin, 0, (text, 1), 1) for text in texts[begin : begin + 50]]
        changes += [Weighted(begin, 0, (text, 1), -1) for text in texts[begin - 25 : begin]]
        operator.maintain([delta_of(codec, operator.types, changes)])
        for change in changes:
            present[change.row] += change.weight
        assert [row for row, _ in content(operator.scan(100))] == in_order(present, [DOWN])[5:25]
        operator._check()
        codec.retain(operator.column_words(0), np.empty(0, np.int64))


def numbers(operator: TopKStore, words: np.ndarray, weights: np.ndarray, versions: np.ndarray) -> Delta:
    return operator.maintain([Delta(Rows(operator.codec, operator.types, [words], words.shape[0]), weights, versions)])


@pytest.mark.parametrize("sequence", ["up", "down", "random", "middle"])
def test_thousands_of_rows_come_and_go(sequence: str) -> None:
    """The tree grows to three levels and shrinks to nothing, for all orders of arrival, one change a version."""
    n = 5000
    generator = np.random.default_rng(7)
    words = np.arange(n)
    if sequence == "down":
        words = words[::-1].copy()
    elif sequence == "random":
        words = generator.permutation(n)
    elif sequence == "middle":
        words = np.where(words % 2 == 0, words, -words)
    operator = TopKStore([UP], 10, 3, Codec(), [BIGINT])
    ones = np.ones(n, np.int64)
    numbers(operator, words, ones, np.arange(n))
    operator._check()
    assert operator.arena.words[order_nodes.T_HEIGHT] == 2
    assert [row[0] for row, _ in content(operator.scan(100))] == sorted(words.tolist())[3:13]
    leaving = words if sequence in ("up", "middle") else generator.permutation(words)
    for begin in range(0, n, 1000):
        numbers(operator, leaving[begin : begin + 1000], -ones[:1000], np.arange(1000))
        operator._check()
        assert [row[0] for row, _ in content(operator.scan(100))] == sorted(leaving[begin + 1000 :].tolist())[3:13]
    assert operator.arena.words[order_nodes.T_HEIGHT] == 0 == operator.count()
    used = operator.arena.used_bytes
    numbers(operator, words, ones, np.arange(n))
    numbers(operator, words, -ones, np.arange(n))
    assert operator.arena.used_bytes <= used + (1 << 14), "words are used again"


@pytest.mark.parametrize("versions", [1, 4])
def test_a_large_window_moves_as_a_whole(versions: int) -> None:
    """More changes than the output holds at first, in one version and over several; the order of arrival is free."""
    n, k = 20_000, 6000
    operator = TopKStore([UP], k, 0, Codec(), [BIGINT])
    words = np.random.default_rng(3).permutation(n)
    numbers(operator, words, 1 + words % 3, np.ones(n, np.int64))
    window = Counter(np.repeat(np.arange(n), 1 + np.arange(n) % 3)[:k].tolist())
    for begin in range(0, 8000, 2000):
        leaving = np.arange(begin, begin + 2000)
        delta = numbers(operator, leaving, -1 - leaving % 3, np.sort(leaving % versions))
        for changes in by_version(delta).values():
            window.update({row[0]: n for row, n in changes.items()})
        rest = np.arange(begin + 2000, n)
        assert {row: n for row, n in window.items() if n} == Counter(np.repeat(rest, 1 + rest % 3)[:k].tolist())
        operator._check()


@pytest.mark.nojit
def test_a_window_is_replaced_by_another() -> None:
    """One version takes out every row of the result and lets in as many others."""
    operator = TopKStore([UP], 1500, 0, Codec(), [BIGINT])
    words, ones = np.arange(4000), np.ones(4000, np.int64)
    numbers(operator, words, ones, ones)
    (changes,) = by_version(numbers(operator, words[:2000], -ones[:2000], ones[:2000])).values()
    assert changes == {(x,): -1 for x in range(1500)} | {(x,): 1 for x in range(2000, 3500)}
    operator._check()


@pytest.mark.nojit
def test_loaded_rows() -> None:
    operator = TopKStore([DOWN], 2, 0, Codec(), [BIGINT])
    operator.load(0, delta_of(operator.codec, [BIGINT], [Weighted(0, 0, (x,), 1) for x in (4, 9, 1, None)]))
    assert list(content(operator.scan(1))) == [((9,), 1), ((4,), 1)]
    assert sorted(operator.column_words(0).tolist())[:3] == [1, 4, 9]
    operator._check()


def test_wide_decimals_outlive_the_dictionary() -> None:
    """They are kept by their digits; no code of theirs must be remembered."""
    wide = SqlType.decimal(38, 0)
    operator = TopKStore([UP], 1, 0, Codec(), [wide, BIGINT])
    rows = [(Decimal(10**30), 1), (Decimal(-(10**37)), 2), (None, 3)]
    operator.maintain([delta_of(operator.codec, operator.types, [Weighted(0, 0, row, 1) for row in rows], True)])
    assert operator.column_words(0).size == 0 and operator.column_words(1).tolist() == [3, 2, 1]
    operator.codec.retain(np.empty(0, np.int64), operator.column_words(0))
    gone = operator.maintain([delta_of(operator.codec, operator.types, [Weighted(1, 0, rows[2], -1)])])
    assert by_version(gone) == {1: Counter({(None, 3): -1, (Decimal(-(10**37)), 2): 1})}


def test_lists_are_refused() -> None:
    operator = TopKStore([UP], 1, 0, Codec(), [BIGINT, STRING])
    columns = [pa.array([1]), pa.array([["x"]])]
    with pytest.raises(UnsupportedQueryError, match=r"ORDER BY ... LIMIT over lists.*column 2"):
        operator.maintain([Delta(Rows(operator.codec, operator.types, columns, 1), np.ones(1, int), np.ones(1, int))])
    operator._check()
