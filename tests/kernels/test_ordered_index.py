"""Ordered multisets of words against sorted counters: every order, splits, removals, and every word given back."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.kernels.groups import index_nodes as nodes
from livejoin.kernels.groups import ordered_index as kernel
from livejoin.kernels.memory.layout import ARENA_HEADER, H_BUMP, H_END, H_FREE, SIZE_CLASSES
from livejoin.kernels.values import value_order
from livejoin.schema import Column, SqlType
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from strategies import FUZZ

pytestmark = pytest.mark.nojit

ROOT, PATH = ARENA_HEADER, ARENA_HEADER + 1
HEADER = PATH + kernel.PATH


class Index:
    """An index over values of a type, and the counter that it must equal."""

    def __init__(self, type_: SqlType, order: int, values: list[Any], key: Callable[[Any], Any]) -> None:
        codec = Codec()
        column = pa.chunked_array([pa.array(values, type_.arrow)])
        self.words = codec.encode_column(column, Column("a", type_))
        self.rank = {int(word): key(value) for word, value in zip(self.words, values, strict=True)}
        arrays = codec.arrays()
        names = ("strings.heap", "strings.starts", "strings.lengths", "decimals.heap", "decimals.starts")
        self.texts = tuple(arrays[name] for name in names)
        self.order = order
        self.arena = Arena(HEADER)
        self.counts: Counter[int] = Counter()

    def change(self, word: int, weight: int) -> None:
        while self.arena.words[H_BUMP] + kernel.WORST_CASE > self.arena.words[H_END]:
            self.arena.grow()
        before = self.counts[word]
        self.counts[word] += weight
        moved = kernel.change(self.arena.words, ROOT, np.int64(word), weight, self.order, self.texts, PATH)
        assert moved == int(self.counts[word] > 0) - int(before > 0)
        if not self.counts[word]:
            del self.counts[word]

    def written(self, distinct: bool) -> list[int]:
        out = np.empty(sum(1 if distinct else max(count, 0) for count in self.counts.values()), np.int64)
        end = kernel.write(self.arena.words, self.arena.words[ROOT], distinct, False, PATH, out, 0)
        return out[:end].tolist()

    def check(self) -> None:
        expected = sorted(self.counts, key=self.rank.__getitem__)
        link = self.arena.words[ROOT]
        assert self.written(True) == expected
        assert self.written(False) == [word for word in expected for _ in range(self.counts[word])]
        if expected:
            assert (kernel.least(self.arena.words, link), kernel.greatest(self.arena.words, link)) == (
                expected[0],
                expected[-1],
            )
        assert sum(size for _, size in self.blocks(int(link))) + self.free() == self.arena.words[H_BUMP] - HEADER

    def blocks(self, link: int) -> Iterator[tuple[int, int]]:
        """All blocks of the tree, whose shape is checked."""
        if link == 0:
            return
        block, length, places = nodes.block_of(link), nodes.length_of(link), nodes.places_of(link)
        assert 1 <= length <= places <= nodes.MOST
        assert places == 2 or 4 * length > places
        yield block, 2 * places
        for child in self.arena.words[block + places : block + places + length] if nodes.level_of(link) else ():
            assert nodes.level_of(int(child)) == nodes.level_of(link) - 1
            yield from self.blocks(int(child))

    def free(self) -> int:
        words = 0
        for size_class in range(SIZE_CLASSES):
            at = int(self.arena.words[H_FREE + size_class])
            while at:
                words += 1 << size_class
                at = int(self.arena.words[at])
        return words


def numbers(count: int) -> Index:
    return Index(SqlType.integer(64), value_order.NUMBER, list(range(count)), lambda value: value)


DOUBLES = [0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), 1e-300, -1e-300, 1e300, 5e-324]
DECIMALS = ["0", "1", "-1", "99999999999999999.99", "-99999999999999999.99", "123456789012345678901.01"]
DECIMALS += [
    f"-{DECIMALS[-1]}",
    "9" * 28 + ".99",
    "-" + "9" * 28 + ".99",
    "184467440737095516.16",
    "184467440737095516.17",
]
TEXTS = [
    "é" * 9,
    "aaaaaaaaz",
    "bbbbbbbba",
    "z" * 9,
    "é" * 8 + "z",
    "",
    "a",
    "b",
    "ab",
    "aa",
    "a\0",
    "é",
    "z",
    "😀",
    "\uffff",
    "a string that is long",
    "a string that is longer",
]


def doubles() -> Index:
    return Index(SqlType("double"), value_order.DOUBLE, DOUBLES, lambda v: (math.isnan(v), v))


def decimals() -> Index:
    return Index(SqlType.decimal(30, 2), value_order.DECIMAL, list(map(Decimal, DECIMALS)), lambda v: v)


def texts() -> Index:
    return Index(SqlType("string"), value_order.TEXT, TEXTS, lambda v: v.encode())


@FUZZ
@given(
    st.sampled_from([numbers, doubles, decimals, texts]), st.lists(st.tuples(st.integers(0, 99), st.integers(-2, 2)))
)
def test_every_order(make: Any, changes: list[tuple[int, int]]) -> None:
    index = make(20) if make is numbers else make()
    for position, weight in changes:
        if weight:
            index.change(int(index.words[position % len(index.words)]), weight)
    index.check()


@pytest.mark.parametrize("make", [doubles, decimals, texts])
def test_all_pairs_of_values_are_in_order(make: Callable[[], Index]) -> None:
    for left in range(len(make().words)):
        for right in range(left):
            index = make()
            index.change(int(index.words[left]), 1)
            index.change(int(index.words[right]), 1)
            index.check()


@pytest.mark.parametrize("way", ["random", "up", "down"])
@pytest.mark.parametrize("removal", ["random", "up", "down"])
def test_many_values_come_and_go(way: str, removal: str) -> None:
    rng = random.Random(7)
    index = numbers(3000)

    def ordered(how: str) -> list[int]:
        words = index.words.tolist()
        if how == "random":
            rng.shuffle(words)
        return words[::-1] if how == "down" else words

    for i, word in enumerate(ordered(way)):
        index.change(word, 2)
        if i % 500 == 0:
            index.check()
    index.check()
    for i, word in enumerate(ordered(removal)):
        index.change(word, -1)
        index.change(word, -1)
        if i % 500 == 0:
            index.check()
            index.change(word, 1)
    index.check()
    assert len(index.counts) == 6


def test_growing_values_fill_their_blocks() -> None:
    index = numbers(10_000)
    for word in index.words.tolist():
        index.change(word, 1)
    index.check()
    assert index.arena.words[H_BUMP] - HEADER < 2.2 * len(index.words)


def test_a_window_of_values_takes_the_space_of_the_window() -> None:
    index = numbers(20_000)
    words = index.words.tolist()
    for i, word in enumerate(words):
        index.change(word, 1)
        if i >= 100:
            index.change(words[i - 100], -1)
    index.check()
    assert index.arena.words[H_BUMP] - HEADER < 4000


def test_words_in_use_include_the_bounds_of_inner_nodes() -> None:
    index = numbers(5000)
    for word in index.words.tolist():
        index.change(word, 1)
    link = index.arena.words[ROOT]
    size = kernel.words_of(index.arena.words, link, PATH)
    out = np.full(size + 1, -1, np.int64)
    assert kernel.write(index.arena.words, link, True, True, PATH, out, 0) == size < 5000 * 1.1
    assert set(out[:size].tolist()) == set(index.words.tolist())
