"""The invariants of the ordered sides of an inequality join, read off their arenas; for tests.

Each tree is as in `livejoin.dataflow.stores.top_k_checks`, its sums at nodes those of the entries below. The left rows
stand in the tree of their lower bounds too, where that is kept.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from livejoin.dataflow.stores.bounded_rows_checks import check_sums
from livejoin.dataflow.stores.top_k_checks import Walk, free_length
from livejoin.kernels.inequality import layout as w
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.values import row_order as o

if TYPE_CHECKING:
    from livejoin.dataflow.stores.compared_sides import ComparedSides


def check(store: ComparedSides) -> None:
    """Assert all invariants; O(rows)."""
    totals = []
    buffers, text = store.both.buffers, store.text()
    for order, arena in store.trees():
        m = arena.words
        whole = buffers.left_whole if order is store.orders[0] else buffers.right_whole
        walk = Walk(m)
        _, total = walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
        totals.append(total)
        assert total == m[t.T_TOTAL] and len(walk.entries) == m[t.T_ENTRIES], "sizes"
        for one, other in pairwise(walk.entries):
            assert o.compare(m, whole, one, other, text) == -1, "order"
        assert all(m[entry + o.E_COUNT] > 0 for entry in walk.entries), "multiplicities are positive"
        check_sums(m, int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
        nodes = walk.nodes + free_length(m, int(m[t.T_FREE_NODE]), t.NEXT)
        entries = len(walk.entries) + free_length(m, int(m[t.T_FREE_ENTRY]), 0)
        size = int(m[t.T_SUMS])
        used = nodes * (t.NODE + size) + entries * (o.E_WORDS + int(whole[o.O_WIDTH]) + size)
        assert int(store.form[w.P_HIGH]) + size + used == m[k.H_BUMP], "every word is a node's, an entry's or free"
    assert len(totals) < 3 or totals[0] == totals[1], "the left rows by both bounds"
