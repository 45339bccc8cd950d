"""Which events concern a cell, against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.kernels import route as kernel
from livejoin.kernels.join import layout as q

pytestmark = pytest.mark.nojit

STRIDE, FIRST = 3, 1
CELLS = 3


class Cell:
    """One cell of a table whose atoms 0 and 1 are split by its columns 1 and 0, and whose atom 2 is replicated."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.homes = np.zeros(64, np.int32)
        self.spare = np.zeros(kernel.S_STACK + 64, np.int32)

    def route(self, events: np.ndarray, words: np.ndarray) -> np.ndarray:
        rows, masks = np.full(events.shape[1], -7), np.zeros(events.shape[1], np.int64)
        split = (np.array([1, 0]), np.array([0b001, 0b010]), 0b100)
        kept = kernel.route(
            events, 0, *split, self.number, CELLS, words[FIRST:], STRIDE, self.homes, self.spare, rows, masks
        )
        others = events[q.V_TABLE] != 0
        assert (rows[others] == -7).all(), "events of other tables are left alone"
        chosen = np.empty((q.EVENT_FIELDS, kept), np.int64)
        kernel.gather(events, rows, masks, chosen)
        return chosen


def cell_of(value: int) -> int:
    """SplitMix64's finaliser in Python integers."""
    z = value % (1 << 64)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % (1 << 64)
    return ((z >> 32) * CELLS) >> 32


def test_events_go_where_the_definition_says() -> None:
    """Ids of rows are used again with other values; every cell sees the atoms of its rows, and their deletion."""
    random = np.random.default_rng(5)
    words = np.zeros(64 * STRIDE, np.int64)
    cells = [Cell(number) for number in range(CELLS)]
    live: dict[int, int] = {}  # row -> mask
    for version in range(30):
        fresh = [int(r) for r in random.permutation(64)[:12] if r not in live]
        gone = [r for r in live if random.random() < 0.4]
        for row in fresh:
            words[row * STRIDE + FIRST :][:2] = random.integers(-9, 9, 2)
        inserted = {row: int(random.integers(0, 8)) for row in fresh}
        listed = [(0, r, -1, 0) for r in gone] + [(1, 5, 1, 1)] + [(0, r, 1, m) for r, m in inserted.items()]
        events = np.zeros((q.EVENT_FIELDS, len(listed)), np.int64)
        events[: q.V_MASK + 1] = np.array(listed).T
        events[q.V_VERSION] = version
        expected: dict[int, list[tuple[int, ...]]] = {c: [] for c in range(CELLS)}
        for c in range(CELLS):
            for table, row, weight, mask in listed:
                if table:
                    continue
                one, two = words[row * STRIDE + FIRST :][:2].tolist()
                wanted = 0b100 | (0b001 if cell_of(two) == c else 0) | (0b010 if cell_of(one) == c else 0)
                if (live[row] if weight < 0 else mask) & wanted:
                    expected[c].append((0, weight, 0 if weight < 0 else mask & wanted, version))
            if c == 0:
                live_before = dict(live)
        for cell in cells:
            found = cell.route(events, words)
            fields = [q.V_TABLE, q.V_WEIGHT, q.V_MASK, q.V_VERSION]
            assert [tuple(e) for e in found[fields].T.tolist()] == expected[cell.number]
            numbers = found[q.V_ROW][found[q.V_WEIGHT] > 0]
            assert len(set(numbers.tolist())) == numbers.size
            held = cell.homes[cell.homes != 0]
            free = cell.spare[kernel.S_STACK : kernel.S_STACK + cell.spare[kernel.S_COUNT]]
            assert sorted([*held, *free]) == list(range(1, 1 + cell.spare[kernel.S_ISSUED]))
        live = {row: mask for row, mask in live_before.items() if row not in gone} | inserted


def test_values_are_spread() -> None:
    """Ascending values, and multiples of large powers of two, fill all cells about equally."""
    for step in (1, 1 << 20, 1 << 40):
        found = [kernel.cell_of(np.int64(i * step), 4) for i in range(2000)]
        assert min(np.bincount(found, minlength=4)) > 400


def test_rows_that_have_a_number_are_listed() -> None:
    homes = np.array([0, 3, 0, 1], np.int32)
    numbers, sources, positions = np.zeros((3, 4), np.int64)
    assert kernel.place(np.array([3, 0, 1, 3]), homes, numbers, sources, positions) == 3
    assert (numbers[:3].tolist(), sources[:3].tolist(), positions[:3].tolist()) == ([0, 2, 0], [3, 1, 3], [0, 2, 3])
