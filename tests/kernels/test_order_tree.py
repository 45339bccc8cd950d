"""The tree of an ordered multiset against a sorted list: places, ranks, sums, and the space that it needs."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import order_tree as tree
from livejoin.kernels.ordered.top_k import TOP_K_HEADER, prepare
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS
from livejoin.state.arena import Arena
from strategies import IS_FUZZ, seeds

PLAN = np.array([0, 0, 1, 0])  # no window; rows of one word that is compared as it is
TEXT = (np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))


class Tree:
    """A tree of single words and the sorted list of rows, each as often as it stands there, that it must equal."""

    def __init__(self) -> None:
        self.arena = Arena(TOP_K_HEADER)
        prepare(self.arena.words)
        self.rows: list[int] = []
        self.entries: dict[int, int] = {}

    def add(self, row: int, weight: int) -> None:
        while not nodes.has_space(self.arena.words, PLAN):
            self.arena.grow()
        m = self.arena.words
        probe = int(nodes.new_entry(m, PLAN))
        m[probe + E_WORDS] = row
        m[probe + E_IN] = 0
        entry = int(tree.descend(m, PLAN, probe, TEXT))
        assert entry == self.entries.get(row, 0)
        tree.weigh(m, weight)
        if entry:
            nodes.free_entry(m, probe)
            m[entry + E_COUNT] += weight << 1
        else:
            m[probe + E_COUNT] = weight << 1
            tree.insert(m, probe)
            self.entries[row] = entry = probe
        at = bisect_left(self.rows, row)
        self.rows[at : at - min(weight, 0)] = [row] * max(weight, 0)
        if m[entry + E_COUNT] == 0:
            tree.remove(m, PLAN, self.entries.pop(row), TEXT)

    def check(self) -> None:
        m = self.arena.words
        assert m[nodes.T_TOTAL] == len(self.rows) and m[nodes.T_ENTRIES] == len(self.entries)
        for rank in range(0, len(self.rows), 1 + len(self.rows) // 50):
            row = self.rows[rank]
            assert tuple(map(int, tree.select(m, rank))) == (self.entries[row], bisect_left(self.rows, row))
            end = bisect_right(self.rows, row) - 1
            assert tuple(map(int, tree.select(m, end))) == (self.entries[row], bisect_left(self.rows, row))
        seen = []
        leaf = int(tree.first_leaf(m))
        while leaf:
            seen += m[leaf + nodes.FIRST + nodes.LEAF :][: m[leaf + nodes.COUNT]].tolist()
            leaf = int(m[leaf + nodes.NEXT])
        assert seen == [self.entries[row] for row in sorted(self.entries)]


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_ranks_and_places(seed: int) -> None:
    rng = random.Random(seed)
    rows = Tree()
    for most in (3000, 100, 4000, 0) if IS_FUZZ else (1400, 100, 1800, 0):
        while abs(len(rows.entries) - most) > 0:
            if len(rows.entries) < most:
                rows.add(rng.randrange(10_000), rng.randrange(1, 4))
            else:
                row = rng.choice(rows.rows)
                rows.add(row, -rows.rows.count(row))
        rows.check()
    assert rows.arena.words[nodes.T_HEIGHT] == 0


@pytest.mark.nojit
def test_a_few_rows() -> None:
    rows = Tree()
    for row in [*range(70), *range(140, 70, -1)]:
        rows.add(row, 2)
    rows.check()
    for row in range(140):
        rows.add(row, -2 if row in rows.entries else 1)
    rows.check()


@pytest.mark.nojit
def test_space_is_asked_for_before_a_word_is_written() -> None:
    """Every insertion, also one that splits nodes on all levels, does with the least space that `has_space` accepts."""
    rows = Tree()
    for row in range(1400, 0, -1):
        while not nodes.has_space(rows.arena.words, PLAN):
            rows.arena.grow()
        m = rows.arena.words
        end = int(m[H_END])
        m[H_END] = m[H_BUMP]
        while not nodes.has_space(m, PLAN):
            m[H_END] += 16
        rows.add(row, 1)
        assert m is rows.arena.words and m[H_BUMP] <= m[H_END]
        m[H_END] = end
    assert rows.arena.words[nodes.T_HEIGHT] == 2
    rows.check()
