"""The invariants of an ordered multiset and its window, read off the arena; for tests.

- Entries stand in strict order, each in one leaf, and the leaves are chained in this order.
- Every node but the root is at least a quarter full; first entries and sums of multiplicities are exact.
- Multiplicities are positive, and the window is the ranks that the plan says.
- Every word is a node's, an entry's or free.
- Where there is a horizon, no entry is behind it, and the entries have offset + limit ranks at least.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.ordered import top_k as kernel
from livejoin.kernels.values import row_order as o
from livejoin.words import Words


class Walk:
    """A walk over the tree."""

    def __init__(self, m: Words) -> None:
        self.m = m
        self.nodes = 0
        self.leaves: list[int] = []
        self.entries: list[int] = []

    def visit(self, node: int, height: int) -> tuple[int, int]:
        """First entry and sum of a subtree."""
        m = self.m
        self.nodes += 1
        count = int(m[node + t.COUNT])
        places = t.INNER if height else t.LEAF
        assert count <= places, "a node holds what it has places for"
        if node != m[t.T_ROOT]:
            assert 4 * count >= places, "nodes are a quarter full"
        refs = [int(r) for r in m[node + t.FIRST + places :][:count]]
        assert [int(w) for w in m[node + t.FIRST :][:count]] == [int(m[r + o.E_WORDS]) for r in refs], "first words"
        if height == 0:
            self.leaves.append(node)
            self.entries += refs
            return (refs[0] if refs else 0), sum(int(m[r + o.E_COUNT]) >> 1 for r in refs)
        assert count > 1, "a node has children to choose from"
        total = 0
        for i, ref in enumerate(refs):
            first, below = self.visit(int(m[node + t.CHILD + i]), height - 1)
            assert (first, below) == (ref, int(m[node + t.SUM + i])), "first entries and sums"
            total += below
        return refs[0], total


def check(m: Words, plan: Words, text: Any) -> None:
    """Assert all invariants; O(rows)."""
    entries, used = check_tree(m, plan, text)
    total = int(m[t.T_TOTAL])
    begin = int(plan[o.O_OFFSET])
    end = begin + int(plan[o.O_LIMIT])
    width = int(m[kernel.H_HORIZON])
    if width:
        horizon = m[kernel.H_FIRST_WORDS :][:width].tolist()
        assert total >= end or begin == end, "there are candidates enough"
        assert all(m[one + o.E_WORDS :][:width].tolist() <= horizon for one in entries), "no candidate is behind"
    rank, inside = 0, []
    for entry in entries:
        word = int(m[entry + o.E_COUNT])
        copies = max(min(rank + (word >> 1), end) - max(rank, begin), 0)
        assert copies == m[entry + o.E_IN], "copies in the window"
        inside += [(entry, copies)] if copies else []
        rank += word >> 1
    low, high = int(m[kernel.H_LOW]), int(m[kernel.H_HIGH])
    assert low == (inside[0][0] if inside else 0), "the window's first entry"
    assert not low or m[kernel.H_LOW_COPIES] == inside[0][1]
    if inside:
        assert high == (inside[-1][0] if total >= end else 0), "the window's last entry"
        assert not high or m[kernel.H_HIGH_COPIES] == inside[-1][1]
    assert kernel.TOP_K_HEADER + used == m[k.H_BUMP], "every word is a node's, an entry's or free"


def check_tree(m: Words, plan: Words, text: Any) -> tuple[list[int], int]:
    """Assert the invariants of a tree of rows; its entries in their order, and the words that it has, free ones too."""
    walk = Walk(m)
    _, total = walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    entries = walk.entries
    assert total == m[t.T_TOTAL] and len(entries) == m[t.T_ENTRIES], "sizes"
    assert [int(m[leaf + t.NEXT]) for leaf in walk.leaves] == [*walk.leaves[1:], 0], "the chain of leaves"
    for one, other in pairwise(entries):
        assert o.compare(m, plan, one, other, text) == -1 and o.compare(m, plan, other, one, text) == 1, "order"
    for entry in entries:
        word = int(m[entry + o.E_COUNT])
        assert word > 0 and word & 1 == 0, "multiplicities are positive, no row is touched between versions"
    free_nodes, free_entries = free_length(m, int(m[t.T_FREE_NODE]), t.NEXT), free_length(m, int(m[t.T_FREE_ENTRY]), 0)
    used = (walk.nodes + free_nodes) * t.NODE + (len(entries) + free_entries) * (o.E_WORDS + int(plan[o.O_WIDTH]))
    return entries, used


def free_length(m: Words, at: int, link: int) -> int:
    """Length of a free list."""
    length = 0
    while at:
        length += 1
        at = int(m[at + link])
    return length
