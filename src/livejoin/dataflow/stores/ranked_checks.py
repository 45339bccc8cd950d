"""The invariants of ranks in partitions, read off the arena; for tests.

The tree is as in `livejoin.dataflow.stores.top_k_checks`. Every entry has the copies in the result and the rank that
follow from the entries before it in its partition, and the number of rows is the sum of the copies.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from livejoin.dataflow.stores.top_k_checks import Walk, free_length
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.ordered import partitions as kernel
from livejoin.kernels.ordered import runs
from livejoin.kernels.values import row_order as o
from livejoin.words import Words


def check(m: Words, plans: tuple[Words, Words, Words, Words], text: Any) -> None:
    """Assert all invariants; O(rows)."""
    plan, prefix, keys, wide = plans
    walk = Walk(m)
    _, total = walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    entries = walk.entries
    assert total == m[t.T_TOTAL] and len(entries) == m[t.T_ENTRIES], "sizes"
    for one, other in pairwise(entries):
        assert o.compare(m, plan, one, other, text) == -1, "order"
    width, limit, function = int(plan[o.O_WIDTH]), int(plan[o.O_LIMIT]), int(plan[o.O_OFFSET])
    rows = dense = tied = inside = 0
    for place, entry in enumerate(entries):
        before = entries[place - 1] if place else 0
        if not place or o.compare(m, prefix, before, entry, text) != 0:
            rows = dense = tied = 0
        word = int(m[entry + o.E_COUNT])
        assert word > 0 and word & 1 == 0, "multiplicities are positive, no row is touched between versions"
        if not rows or o.compare(m, keys, before, entry, text) != 0:
            dense, tied = dense + 1, rows + 1
        first = {kernel.ROW_NUMBER: rows + 1, kernel.RANK: tied, kernel.DENSE_RANK: dense}[function]
        copies = (
            max(min(word >> 1, limit - rows), 0) if function == kernel.ROW_NUMBER else (word >> 1) * (first <= limit)
        )
        assert m[entry + o.E_IN] == copies, "copies in the result"
        assert not copies or m[entry + o.E_WORDS + width] == first, "ranks"
        rows, inside = rows + (word >> 1), inside + copies
    assert inside == m[runs.H_TOTAL], "rows of the result"
    free_nodes, free_entries = free_length(m, int(m[t.T_FREE_NODE]), t.NEXT), free_length(m, int(m[t.T_FREE_ENTRY]), 0)
    used = (walk.nodes + free_nodes) * t.NODE + (len(entries) + free_entries) * (o.E_WORDS + int(wide[o.O_WIDTH]))
    assert runs.PARTITION_HEADER + used == m[k.H_BUMP], "every word is a node's, an entry's or free"
