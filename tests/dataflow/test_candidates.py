"""The first rows of a relation that is read again: the change of every version, with a horizon that moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_top_k import grouped, in_order, orders

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores import top_k
from livejoin.dataflow.stores.top_k import TopKStore
from livejoin.kernels.ordered import order_nodes
from livejoin.plan.operators import candidates
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from oracle import difference
from scenario import Row, canonical_row
from strategies import FUZZ
from weighted_rows import History, Weighted, by_version, content, delta_of, histories

BIGINT = SqlType.integer(64)
UP = SortKey(0, descending=False, nulls_first=True)


def few() -> mock._patch_dict:
    """Candidates as few as there may be, so that they run out and are cut off all the time."""
    return mock.patch.multiple(candidates, _LEAST=1, SHARE=1 << 40)


class Below:
    """A relation that is read again, in batches of two rows."""

    def __init__(self, codec: Codec, types: Sequence[SqlType]) -> None:
        self.codec, self.types = codec, types
        self.rows: Counter[Row] = Counter()
        self.shown: dict[Row, Row] = {}
        self.times = 0

    def change(self, changes: Sequence[Weighted], sign: int = 1) -> None:
        for one in changes:
            row = canonical_row(one.row)
            self.shown.setdefault(row, one.row)
            self.rows[row] += sign * one.weight

    def read(self, capacity: int) -> Iterator[tuple[Rows, np.ndarray]]:
        self.times += 1
        there = [Weighted(0, 0, self.shown[row], number) for row, number in self.rows.items() if number]
        for begin in range(0, len(there), 2):
            delta = delta_of(self.codec, self.types, there[begin : begin + 2])
            yield delta.rows, delta.weights


def live(history: History, keys: Sequence[SortKey], limit: int, offset: int, back: Sequence[bool]) -> None:
    """Apply a history, and take some of its batches back and apply them again."""
    codec = Codec()
    below = Below(codec, history.types)
    store = TopKStore(keys, limit, offset, codec, history.types, below.read)
    store.fill(below.read)
    for batch, again in zip(history.batches, back, strict=False):
        delta = delta_of(codec, history.types, batch, True)
        before = Counter(below.rows)
        below.change(batch)
        if again:
            store.maintain([delta])
            store.take_back(delta.inverse())
            below.rows = Counter(before)
            store._check()
            assert list(content(store.scan(2))) == grouped(in_order(originals(below), keys)[offset : offset + limit])
            below.change(batch)
        found = by_version(store.maintain([delta]))
        present = Counter(before)
        for version in sorted({change.version for change in batch}):
            window = in_order(originals(below, present), keys)[offset : offset + limit]
            for change in batch:
                if change.version == version:
                    present[canonical_row(change.row)] += change.weight
            then = in_order(originals(below, present), keys)[offset : offset + limit]
            expected = difference(Counter(map(canonical_row, then)), Counter(map(canonical_row, window)))
            assert found.pop(version, Counter()) == expected
        assert not found
        store._check()
        assert list(content(store.scan(2))) == grouped(in_order(originals(below), keys)[offset : offset + limit])
        anew = TopKStore(keys, limit, offset, codec, history.types, below.read)
        if again:
            anew.restore({name: array.copy() for name, array in store.arrays().items()})
        else:
            anew.fill(below.read)
        anew._check()
        store = anew


def originals(below: Below, rows: Counter[Row] | None = None) -> Counter[Row]:
    """The rows of a relation as they were given."""
    return Counter({below.shown[row]: n for row, n in (below.rows if rows is None else rows).items() if n})


@FUZZ
@given(st.data())
def test_candidates_at_every_version(data: st.DataObject) -> None:
    history = data.draw(histories(1, fewest_columns=1, most=5))
    keys = data.draw(orders(len(history.columns)))
    limit, offset = data.draw(st.sampled_from([1, 2, 3, 0, 100])), data.draw(st.sampled_from([0, 0, 1, 3, 1 << 63]))
    back = [data.draw(st.booleans()) for _ in history.batches]
    with few(), mock.patch.object(top_k, "_TOO_MANY", data.draw(st.sampled_from([1, 3]))):
        live(history, keys, limit, offset, back)


def numbered(store: TopKStore, below: Below, words: np.ndarray, weight: int) -> Delta:
    """Let numbers come or go, in one version."""
    below.change([Weighted(0, 0, (word,), weight) for word in words.tolist()])
    ones = np.ones(words.shape[0], np.int64)
    return store.maintain([Delta(Rows(store.codec, store.types, [words], words.shape[0]), weight * ones, ones)])


@pytest.mark.parametrize("order", ["first", "last", "any"])
def test_rows_leave_until_none_is_left(order: str) -> None:
    """The input is read once for a share of the rows that leave in front, and never for those behind the horizon."""
    codec, number = Codec(), 3000
    below = Below(codec, [BIGINT])
    words = np.random.default_rng(5).permutation(number)
    below.change([Weighted(0, 0, (word,), 1) for word in words.tolist()])
    leaving = {"first": np.arange(number), "last": np.arange(number)[::-1].copy(), "any": words}[order]
    with mock.patch.multiple(candidates, _LEAST=100, SHARE=10):
        store = TopKStore([UP], 10, 3, codec, [BIGINT], below.read)
        store.fill(below.read)
        assert store.arena.words[order_nodes.T_ENTRIES] < 1000
        below.times = 0
        for begin in range(0, number, 50):
            numbered(store, below, leaving[begin : begin + 50], -1)
            store._check()
            assert [row[0] for row, _ in content(store.scan(100))] == sorted(leaving[begin + 50 :].tolist())[3:13]
    assert below.times <= {"first": 24, "last": 2, "any": 12}[order]


def test_candidates_are_cut_off_and_found_again() -> None:
    codec = Codec()
    below = Below(codec, [BIGINT])
    with mock.patch.multiple(candidates, _LEAST=50, SHARE=10):
        store = TopKStore([UP], 5, 0, codec, [BIGINT], below.read)
        store.fill(below.read)
        for begin in range(4000, 0, -100):
            numbered(store, below, np.arange(begin, begin + 100), 1)
            store._check()
            assert store.horizon.shape[0] or begin > 3800
            assert store.arena.words[order_nodes.T_ENTRIES] <= 3 * (5 + max(50, 400)) + 100
        assert below.times == 1  # when it was filled
        numbered(store, below, np.arange(100, 3000), -1)
        assert [row[0] for row, _ in content(store.scan(9))] == [3000, 3001, 3002, 3003, 3004]
        store._check()


def test_rows_that_their_first_words_do_not_tell_apart() -> None:
    """All of them are candidates, and it is not asked again and again whether some are too many."""
    codec, text = Codec(), SqlType("string")
    below = Below(codec, [text])
    names = [f"a beginning that all have {number:04}" for number in range(500)]
    with mock.patch.multiple(candidates, _LEAST=5, SHARE=50):
        store = TopKStore([UP], 3, 0, codec, [text], below.read)
        store.fill(below.read)
        for begin in range(0, 500, 100):
            steps = [Weighted(begin, 0, (name,), 1) for name in names[begin : begin + 100]]
            below.change(steps)
            store.maintain([delta_of(codec, [text], steps)])
            store._check()
        assert store.arena.words[order_nodes.T_ENTRIES] == 500
        with mock.patch.object(top_k.horizon, "place_horizon", side_effect=AssertionError):
            steps = [Weighted(501, 0, (names[0],), -1)]
            below.change(steps)
            store.maintain([delta_of(codec, [text], steps)])
    assert [row for row, _ in content(store.scan(9))] == [(name,) for name in names[1:4]]
