"""Asserts every invariant of a store of groups; slow, for tests.

Groups: each has rows, is found by probing and is not touched between calls. Indexes: every value stands once, those
that words order in order, with a positive multiplicity, all leaves are on one level, and the sums below children are
exact. Sums: no window without arguments. Memory: every word of the arena belongs to one thing.
"""

from __future__ import annotations

from collections.abc import Iterator

from livejoin.dataflow.stores.aggregate_plan import AggregatePlan
from livejoin.families.arena.checks import Span, check_tiling, directory_spans
from livejoin.kernels.groups import exact_sum
from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.exact_sum import first_of, window_of
from livejoin.kernels.groups.index_nodes import (
    MOST,
    block_of,
    class_of,
    length_of,
    level_of,
    pairs_of,
    places_of,
    sums_of,
)
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.words import Words


def check(plan: AggregatePlan, arena: Words) -> None:
    """Assert all invariants of an arena; O(state) Python steps."""
    p = plan.words
    assert arena[g.H_PHASE] == g.APPLY and arena[g.H_TOUCHED] == 0, "no version is half applied"
    slots, log = int(arena[g.H_DIRECTORY + k.D_SLOTS]), int(arena[g.H_DIRECTORY + k.D_LOG])
    groups = [int(word) & k.MASK32 for word in arena[slots : slots + (1 << log)] if word]
    assert arena[g.H_DIRECTORY + k.D_COUNT] == len(groups) <= 3 << log >> 2
    assert not plan.is_global or len(groups) == 1, "a global aggregation has its one group"
    spans: list[Span] = [(0, plan.header_words)]
    for group in groups:
        assert _found(p, arena, group) == group, "probing reaches the group"
        assert arena[group + g.R_ROWS] > 0 or plan.is_global, "a group has rows"
        assert arena[group + g.R_TOUCH] == 0, "no group is touched between calls"
        for at in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
            _check_accumulator(arena, group, p[at : at + g.ACCUMULATOR], spans)
    spans += directory_spans(arena, g.H_DIRECTORY, groups, int(p[g.P_RECORD]))
    check_tiling(arena, spans)


def _found(p: Words, arena: Words, group: int) -> int:
    """What the directory has for a group's key."""
    key, width, offsets = group + int(p[g.P_KEY]), int(p[g.P_GROUPS]), int(p[g.P_OFFSETS])
    h = hash_key(arena, p, key, width, offsets)
    return int(find(arena, p, g.H_DIRECTORY, int(p[g.P_KEY]), key, width, offsets, h))


def _check_accumulator(arena: Words, group: int, accumulator: Words, spans: list[Span]) -> None:
    at = group + int(accumulator[g.A_AT])
    rows = int(arena[group + g.R_ROWS])
    match int(accumulator[g.A_KIND]):
        case g.COUNT | g.TRUE:
            assert 0 <= arena[at] <= rows, "a count is one of the group's rows"
        case g.INDEX:
            values = list(_values(arena, int(arena[at]), spans))
            assert len({value for value, _ in values}) == len(values), "a value stands once in an index"
            assert all(copies > 0 for _, copies in values), "multiplicities are positive"
            assert sum(copies for _, copies in values) <= rows
            if accumulator[g.A_DETAIL] == 0:
                assert [value for value, _ in values] == sorted(value for value, _ in values), "values are in order"
        case g.PAIRS | g.MODE:
            values = list(_values(arena, int(arena[at]), spans))
            assert all(copies > 0 for _, copies in values), "multiplicities are positive"
            assert sum(copies for _, copies in values) <= rows
        case g.BITS:
            assert (arena[at : at + accumulator[g.A_DETAIL]] >= 0).all(), "counts of bits"
            assert (arena[at : at + accumulator[g.A_DETAIL]] <= rows).all(), "counts of bits"
        case g.DOUBLE_SUM | g.DOUBLE_SQUARES | g.PRODUCTS | g.CUBES | g.FOURTHS:
            if accumulator[g.A_KIND] == g.DOUBLE_SUM:
                assert (arena[at + 1 : at + 4] >= 0).all(), "counts of what is not finite"
            if arena[at] != 0:
                assert arena[group + accumulator[g.A_DETAIL]] > 0, "a sum of no values has no window"
                spans.append(_window(arena, int(arena[at])))


def _window(arena: Words, link: int) -> Span:
    words = 1 << exact_sum.class_of(link)
    assert 0 <= first_of(link) < 1 << 8
    return window_of(link), words


def _values(arena: Words, link: int, spans: list[Span]) -> Iterator[tuple[int, int]]:
    """The values of an index in order, with their multiplicities."""
    if link == 0:
        return
    block, length, places = block_of(link), length_of(link), places_of(link)
    assert 1 <= length <= places <= MOST, "a node has entries and space for them"
    spans.append((block, 1 << class_of(link)))
    for i in range(length):
        key, value = int(arena[block + i]), int(arena[block + places + i])
        if level_of(link) == 0:
            yield key, value
            continue
        assert level_of(value) == level_of(link) - 1, "all leaves are on one level"
        below = list(_values(arena, value, spans))
        if pairs_of(link) == 1:
            assert sum(copies for _, copies in below) == arena[sums_of(link) + i], "sums below children are exact"
        yield from below
