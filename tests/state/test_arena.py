"""The arena: blocks never overlap, nothing is lost, and running out of space at any point changes nothing."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from join_driver import JoinDriver
from livejoin.errors import CapacityError
from livejoin.kernels.memory import arena as kernel
from livejoin.kernels.memory import blocks, layout
from livejoin.kernels.memory.layout import (
    ARENA_HEADER,
    CLASS_SHIFT,
    H_BUMP,
    H_CLASSES,
    H_END,
    H_FREE,
    REF_MASK,
    SIZE_CLASSES,
)
from livejoin.state.arena import Arena
from oracle import multiset
from strategies import seeds
from test_naive import random_tree

HOLDER = ARENA_HEADER  # a word of the header that stands for a block's owner


def free_blocks(m: np.ndarray) -> list[tuple[int, int]]:
    """All free blocks (begin, size), read off the free lists."""
    found = []
    for size_class in range(SIZE_CLASSES):
        at = int(m[H_FREE + size_class])
        assert bool(m[H_CLASSES] >> size_class & 1) == (at != 0)
        while at:
            found.append((at, 1 << size_class))
            at = int(m[at])
    return found


def assert_all_accounted(arena: Arena, taken: list[tuple[int, int]], first: int) -> None:
    """Blocks in use and free ones tile the words from the header's end to the bump pointer."""
    end = first
    for begin, size in sorted(taken + free_blocks(arena.words)):
        assert begin == end
        end = begin + size
    assert end == int(arena.words[H_BUMP]) <= int(arena.words[H_END]) == arena.words.shape[0]


@pytest.mark.nojit
@pytest.mark.parametrize("seed", seeds(2, 6))
def test_blocks_never_overlap(seed: int) -> None:
    rng = random.Random(seed)
    first = ARENA_HEADER + 1
    arena = Arena(first)
    taken: list[tuple[int, int]] = []
    for _ in range(200):
        if taken and rng.random() < 0.5:
            at, size = taken.pop(rng.randrange(len(taken)))
            kernel.release(arena.words, at, size.bit_length() - 1)
        else:
            size_class = rng.choice((0, 0, 1, 2, 3, 5, 8))
            while (at := int(kernel.allocate(arena.words, size_class))) == 0:
                assert_all_accounted(arena, taken, first)
                arena.grow()
            arena.words[at : at + (1 << size_class)] = -1  # the owner may write all of it
            taken.append((at, 1 << size_class))
        assert_all_accounted(arena, taken, first)


@pytest.mark.nojit
def test_a_larger_block_is_split_before_new_words_are_taken() -> None:
    arena = Arena(ARENA_HEADER + 1)
    m = arena.words
    large = int(kernel.allocate(m, 6))
    kernel.release(m, large, 6)
    bump = int(m[H_BUMP])
    small = [int(kernel.allocate(m, 0)) for _ in range(64)]
    assert sorted(small) == list(range(large, large + 64))
    assert int(m[H_BUMP]) == bump
    assert int(m[H_CLASSES]) == 0
    assert int(kernel.allocate(m, 0)) == bump


@pytest.mark.nojit
def test_without_space_nothing_changes() -> None:
    arena = Arena(ARENA_HEADER + 1)
    before = arena.words.copy()
    assert int(kernel.allocate(arena.words, 20)) == 0
    assert int(kernel.allocate_raw(arena.words, before.shape[0])) == 0
    assert (arena.words == before).all()
    rest = int(before[H_END] - before[H_BUMP])
    assert int(kernel.allocate_raw(arena.words, rest)) == int(before[H_BUMP])
    assert int(kernel.allocate_raw(arena.words, 1)) == 0
    assert int(kernel.allocate_raw(arena.words, 0)) == int(before[H_END])


@pytest.mark.nojit
def test_a_block_grows_and_shrinks_with_its_rows() -> None:
    """`reserve` keeps the rows that are used, `shrink` gives words back only when three quarters are empty."""
    arena = Arena(ARENA_HEADER + 1)
    m = arena.words
    for count in range(1, 130):
        assert blocks.reserve(m, HOLDER, count - 1, count)
        block = int(m[HOLDER]) & REF_MASK
        assert 1 << (int(m[HOLDER]) >> CLASS_SHIFT) >= count
        m[block + count - 1] = 1000 + count
        assert m[block : block + count].tolist() == list(range(1001, 1001 + count))
    sizes = []
    for count in range(128, 0, -1):
        blocks.shrink(m, HOLDER, count, count)
        block, size = int(m[HOLDER]) & REF_MASK, 1 << (int(m[HOLDER]) >> CLASS_SHIFT)
        assert size >= count
        assert m[block : block + count].tolist() == list(range(1001, 1001 + count))
        sizes.append(size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 256
    assert sizes[-1] == 4
    assert blocks.reserve(m, HOLDER, 1, 5) and blocks.reserve(m, HOLDER, 1, 9) and blocks.reserve(m, HOLDER, 1, 17)
    blocks.shrink(m, HOLDER, 1, 1)
    assert int(m[HOLDER]) >> CLASS_SHIFT == 2, "many rows that leave at once take all their words along"
    assert int(m[int(m[HOLDER]) & REF_MASK]) == 1001
    blocks.drop(m, HOLDER)
    assert int(m[HOLDER]) == 0
    assert_all_accounted(arena, [], ARENA_HEADER + 1)


@pytest.mark.nojit
def test_growing_keeps_all_words() -> None:
    arena = Arena(ARENA_HEADER + 20, (ARENA_HEADER,), (ARENA_HEADER + 10,))
    before = arena.words.copy()
    arena.grow()
    assert arena.words.shape[0] == 2 * before.shape[0] == int(arena.words[H_END])
    before[H_END] *= 2
    assert (arena.words[: before.shape[0]] == before).all()
    assert arena.nbytes == 16 * before.shape[0]
    assert arena.used_bytes == 8 * int(before[H_BUMP])


def test_the_arena_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_WORDS", 4096)
    arena = Arena(100)
    while arena.words.shape[0] < 4096:
        arena.grow()
    before = arena.words.copy()
    with pytest.raises(CapacityError, match="32,768 bytes"):
        arena.grow()
    assert (arena.words == before).all()


class Stingy:
    """Makes an arena end right behind its last word and grow by ``step`` words, so that every allocation fails."""

    def __init__(self, arena: Arena, step: int) -> None:
        self.arena = arena
        self.step = step
        self.growths = 0
        arena.words = arena.words[: int(arena.words[H_BUMP])].copy()
        arena.words[H_END] = arena.words.shape[0]
        arena.grow = self  # type: ignore[method-assign, assignment]

    def __call__(self) -> None:
        self.growths += 1
        self.grow(self.arena, self.step)

    @staticmethod
    def grow(arena: Arena, step: int) -> None:
        """Grow by some words, which hold anything."""
        size = arena.words.shape[0]
        arena.words = np.concatenate([arena.words, np.full(step, -1, np.int64)])
        arena.words[H_END] = size + step


def compare(seed: int, steps: int, domain: int, step: int, capacity: int | None) -> int:
    """A join whose arena is always too small against one with room; how often the small one grew."""
    rng = random.Random(seed)
    variables, tree = random_tree(rng)
    tight = JoinDriver(variables, tree, capacity=capacity)
    roomy = JoinDriver(variables, tree)
    grow = Stingy(tight.join.arena, step)
    rows: list[Counter[tuple[int, ...]]] = [Counter() for _ in variables]
    for number in range(steps):
        atom = rng.randrange(len(variables))
        row = tuple(rng.randrange(domain) for _ in variables[atom])
        weight = rng.choice((1, 1, 2))
        if rows[atom] and rng.random() < (0.3 if number < steps * 2 // 3 else 0.9):
            row = rng.choice(sorted(rows[atom]))
            weight = -rng.randint(1, rows[atom][row])
        rows[atom][row] += weight
        rows[atom] = +rows[atom]
        assert tight.change(atom, row, weight) == roomy.change(atom, row, weight)
        assert tight.result() == roomy.result()
        tight.check()
    return grow.growths


@pytest.mark.parametrize("seed", seeds(9, 30))
def test_every_allocation_runs_out_of_space(seed: int) -> None:
    """The arena grows by a word at a time or by a few: records, entries, blocks and slots all fail on the way."""
    step = (1, 2, 5)[seed % 3]
    assert compare(seed, steps=40, domain=8, step=step, capacity=(None, 1)[seed % 2]) > 50


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(100, 104))
def test_every_allocation_runs_out_of_space_without_the_compiler(seed: int) -> None:
    assert compare(seed, steps=12, domain=2, step=61, capacity=None) > 5


@pytest.mark.parametrize("step", [97, 5000])
def test_thousands_of_rows_in_a_tight_arena(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The table of chunks and the hash slots grow more than once, always with the least space that suffices."""
    random = np.random.default_rng(7)
    edges = [pa.table({"src": random.integers(0, 900, 1100), "dst": random.integers(0, 900, 1100)}) for _ in range(3)]
    kinds = pa.array(["delete"] * 1100)
    roomy = hop2()
    with monkeypatch.context() as patched:
        patched.setattr(Arena, "grow", lambda arena: Stingy.grow(arena, step))
        tight = hop2()
        for data in (*edges, edges[1].append_column("_change_type", kinds), edges[1]):
            found, expected = tight.apply("G", data)["hop2"], roomy.apply("G", data)["hop2"]
            assert multiset(found) == multiset(expected)
            assert tight.views["hop2"].count() == roomy.views["hop2"].count()
        tight._check()
    assert multiset(tight.views["hop2"].to_arrow()) == multiset(roomy.views["hop2"].to_arrow())


def hop2() -> livejoin.Database:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.create_view("hop2", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
    return db
