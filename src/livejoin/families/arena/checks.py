"""Asserts that every word of an arena belongs to exactly one thing; slow, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from livejoin.families.arena.join import ArenaPlan
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words

Span = tuple[int, int]
"""The first word of something and the number of its words."""


def check_tiling(arena: Words, used: Iterable[Span]) -> None:
    """Assert that used and free pieces lie side by side up to the bump pointer.

    Args:
        arena: The arena.
        used: The used pieces, in any order.
    """
    spans = list(used)
    for size_class in range(k.SIZE_CLASSES):
        free = list(free_list(arena, int(arena[k.H_FREE + size_class])))
        assert (int(arena[k.H_CLASSES]) >> size_class & 1) == bool(free), "the set of free classes"
        spans += [(at, 1 << size_class) for at in free]
    end = 0
    for begin, size in sorted(spans):
        assert begin == end, f"words {end} to {begin} are lost or used twice"
        end = begin + size
    assert end == int(arena[k.H_BUMP]), "the bump pointer stands behind the last word"


def free_list(arena: Words, at: int) -> Iterator[int]:
    """The members of a free list, from its first one."""
    while at:
        yield at
        at = int(arena[at])


def record_spans(plan: ArenaPlan, arena: Words) -> Iterator[Span]:
    """The header, and the records of the base rows."""
    yield 0, plan.header_words
    for position, use in enumerate(plan.tables):
        descriptor = int(plan.words[q.P_FIRST_TABLE]) + position * q.PLAN_TABLE
        header = int(plan.words[descriptor + q.PT_HEADER])
        table = int(arena[header + q.T_CHUNKS])
        yield table, 1 << int(arena[header + q.T_CLASS])
        for i in range(int(arena[header + q.T_COUNT])):
            yield int(arena[table + i]), use.stride * q.CHUNK_ROWS


def directory_spans(arena: Words, directory: int, entries: Iterable[int], size: int) -> Iterator[Span]:
    """The slots of a directory, its entries of some size, and the free ones."""
    yield int(arena[directory + k.D_SLOTS]), 1 << int(arena[directory + k.D_LOG])
    for entry in (*entries, *free_list(arena, int(arena[directory + k.D_FREE]))):
        yield entry, size


def block_span(word: int) -> Span:
    """What a word that refers to a block stands for."""
    return word & k.REF_MASK, 1 << (word >> k.CLASS_SHIFT)
