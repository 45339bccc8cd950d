"""Edge directories against a Python dictionary, with keys whose hashes collide and clusters that wrap around."""

from __future__ import annotations

import random

import numpy as np
import pytest

from collisions import words_with_hash
from livejoin.kernels.memory import directory as kernel
from livejoin.kernels.memory import look_up
from livejoin.kernels.memory.layout import (
    ARENA_HEADER,
    D_COUNT,
    D_FREE,
    D_LOG,
    D_SLOTS,
    DIRECTORY,
    H_BUMP,
    H_CLASSES,
    H_END,
    H_FREE,
    MASK32,
    SIZE_CLASSES,
)
from livejoin.state.arena import Arena

Key = tuple[int, ...]

ENTRY_KEY = 3  # words in front of the key


class Directory:
    """A directory of keys of ``width`` words in an arena, and the dictionary that it must equal."""

    def __init__(self, width: int) -> None:
        self.at = ARENA_HEADER
        self.row = ARENA_HEADER + DIRECTORY
        self.width = width
        self.arena = Arena(self.row + 2 * width + 1, (self.at,))
        self.offsets = np.array([2 * i for i in range(width)], np.int64)  # every other word of the row
        self.entries: dict[Key, int] = {}
        self.growths = 0

    def _hash(self, key: Key) -> np.int64:
        """Write a key into the row; its hash."""
        for i, word in enumerate(key):
            self.arena.words[self.row + 2 * i] = word
        return np.int64(kernel.hash_key(self.arena.words, self.offsets, self.row, self.width, 0))

    def find(self, key: Key) -> int:
        h = self._hash(key)
        return int(kernel.find(self.arena.words, self.offsets, self.at, ENTRY_KEY, self.row, self.width, 0, h))

    def insert(self, key: Key) -> None:
        h = self._hash(key)
        size = ENTRY_KEY + self.width
        arguments = (self.offsets, self.at, size, ENTRY_KEY, self.row, self.width, 0, h)
        while (entry := int(kernel.create(self.arena.words, *arguments))) == 0:
            assert self.find(key) == 0, "without space nothing is inserted"
            self.check()
            self.arena.grow()
            self.growths += 1
            self._hash(key)
        self.arena.words[entry : entry + ENTRY_KEY] += 1 + np.arange(ENTRY_KEY)  # it comes cleared and stays as it is
        self.entries[key] = entry

    def remove(self, key: Key) -> None:
        kernel.remove(self.arena.words, self.at, self.entries.pop(key), ENTRY_KEY, self.width)

    def check(self) -> None:
        m = self.arena.words
        log, slots = int(m[self.at + D_LOG]), int(m[self.at + D_SLOTS])
        taken = m[slots : slots + (1 << log)]
        assert sorted((taken[taken != 0] & MASK32).tolist()) == sorted(self.entries.values())
        assert int(m[self.at + D_COUNT]) == len(self.entries) <= 3 << log >> 2
        assert log == kernel.LEAST_LOG or len(self.entries) * 8 >= 1 << log, "a walk costs O(entries)"
        for key, entry in self.entries.items():
            assert self.find(key) == entry
            assert tuple(m[entry + ENTRY_KEY : entry + ENTRY_KEY + self.width].tolist()) == key
            assert m[entry : entry + ENTRY_KEY].tolist() == [1, 2, 3]
        absent = [tuple(word ^ 1 for word in key) for key in self.entries]
        assert self.look_up([*self.entries, *absent]) == [
            *self.entries.values(),
            *(self.entries.get(key, 0) for key in absent),
        ]

    def look_up(self, keys: list[Key]) -> list[int]:
        """The entries of many keys at a time, which are not brought into the arena."""
        values = np.ascontiguousarray(np.array(keys, np.int64).reshape(len(keys), self.width).T)
        found = np.empty(len(keys), np.int64)
        look_up.find_entries(self.arena.words, self.at, ENTRY_KEY, values, found)
        return found.tolist()

    def home(self, key: Key) -> int:
        """The first slot that a key is looked for in."""
        return int(self._hash(key)) >> (32 - int(self.arena.words[self.at + D_LOG]))


def run(directory: Directory, pool: list[Key], steps: int, most: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(steps):
        key = rng.choice(pool)
        if key in directory.entries:
            directory.remove(key)
        elif len(directory.entries) < most:
            assert directory.find(key) == 0
            directory.insert(key)
        else:
            directory.remove(rng.choice(sorted(directory.entries)))
        directory.check()
    for key in sorted(directory.entries):
        directory.remove(key)
        directory.check()


@pytest.mark.nojit
def test_the_hash_runs_backwards() -> None:
    """What the other tests rest on: `words_with_hash` finds words with the hash that it was asked for."""
    directory = Directory(1)
    for hash32 in (0, 1, 0x80000000, 0xFFFFFFFF):
        words = words_with_hash(hash32, 4)
        assert len(set(words)) == 4
        assert [directory._hash((word,)) for word in words] == [hash32] * 4


@pytest.mark.nojit
@pytest.mark.parametrize("hash32", [0, 0xFFFFFFFF])
def test_equal_hashes(hash32: int) -> None:
    """The key decides. With all bits set the home is the last slot, and the cluster wraps around."""
    run(Directory(1), [(word,) for word in words_with_hash(hash32, 8)], steps=40, most=6, seed=1)


@pytest.mark.parametrize("seed", range(20))
def test_clusters_that_wrap_around(seed: int) -> None:
    """Homes in the last and the first slots, equal and different hashes mixed; the table stays as small as it was."""
    hashes = [0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 0xE0000000, 0xC0000000, 0, 1, 0x20000000]
    pool = [(word,) for i, h in enumerate(hashes) for word in words_with_hash(h, 3)[i % 2 :]]
    directory = Directory(1)
    assert {directory.home(key) for key in pool} == {0, 1, 6, 7}
    run(directory, pool, steps=80, most=6, seed=seed)
    assert int(directory.arena.words[directory.at + D_LOG]) == 3


@pytest.mark.nojit
def test_wide_keys() -> None:
    """Keys that differ in one word only, at any place."""
    pool = [tuple(int(i == j) * value for i in range(6)) for j in range(6) for value in (1, -1, 1 << 62)]
    run(Directory(6), pool, steps=60, most=12, seed=2)


@pytest.mark.nojit
def test_the_empty_key() -> None:
    """A Cartesian product has one entry."""
    run(Directory(0), [()], steps=9, most=1, seed=3)


@pytest.mark.nojit
def test_extreme_words() -> None:
    words = [0, 1, -1, 2**63 - 1, -(2**63), 1 << 32, -(1 << 32)]
    run(Directory(2), [(a, b) for a in words for b in words], steps=60, most=20, seed=4)


def test_growth() -> None:
    """Thousands of keys, equal hashes among them; the arena and the slots grow, entries keep their places."""
    directory = Directory(1)
    colliding = [(word,) for word in words_with_hash(0xFFFFFFFF, 40)]
    for i in range(3000):
        directory.insert((i * 1_000_003,))
        if i % 75 == 0:
            directory.insert(colliding[i // 75])
        if i % 500 == 0:
            directory.check()
    directory.check()
    assert directory.growths > 0
    assert int(directory.arena.words[directory.at + D_LOG]) >= 12
    for key in list(directory.entries)[::2]:
        directory.remove(key)
    directory.check()


def test_slots_are_given_back() -> None:
    """2,000 keys come and go twice: eight slots are left each time, and the second time needs no new words."""
    directory = Directory(1)
    used = 0
    for _ in range(2):
        for i in range(2000):
            directory.insert((i,))
        for i in range(2000):
            directory.remove((i,))
            if i % 97 == 0:
                directory.check()
        directory.check()
        assert int(directory.arena.words[directory.at + D_LOG]) == kernel.LEAST_LOG
        bump = int(directory.arena.words[H_BUMP])
        assert not used or bump == used
        used = bump


def test_without_space_the_slots_stay_until_the_next_removal() -> None:
    directory = Directory(1)
    for i in range(100):
        directory.insert((i,))
    m = directory.arena.words
    free, classes = m[H_FREE : H_FREE + SIZE_CLASSES].copy(), m[H_CLASSES]
    m[H_FREE : H_FREE + SIZE_CLASSES], m[H_CLASSES], end = 0, 0, m[H_END]
    m[H_END] = m[H_BUMP]
    log = int(m[directory.at + D_LOG])
    for i in range(90):
        directory.remove((i,))
    assert int(m[directory.at + D_LOG]) == log
    m[H_FREE : H_FREE + SIZE_CLASSES], m[H_CLASSES], m[H_END] = free, classes, end
    for i in range(90, 97):
        directory.remove((i,))
    directory.check()


@pytest.mark.nojit
def test_words_of_removed_entries_are_used_again() -> None:
    directory = Directory(2)
    for i in range(6):
        directory.insert((i, i))
    bump = int(directory.arena.words[H_BUMP])
    for i in range(50):
        directory.remove((i, i))
        directory.insert((i + 6, i + 6))
    assert int(directory.arena.words[H_BUMP]) == bump
    assert int(directory.arena.words[directory.at + D_FREE]) == 0
    directory.check()
