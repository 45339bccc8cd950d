"""The invariants of an as-of join, read off its arenas; for tests.

Both trees are as in `livejoin.dataflow.stores.top_k_checks`, every right entry is present and settled, no row
is touched between calls, and the rows of the result are counted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from livejoin.dataflow.stores.top_k_checks import Walk, free_length
from livejoin.kernels.as_of import layout as w
from livejoin.kernels.as_of.buffers import AsOfBuffers
from livejoin.kernels.as_of.matches import match_of
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.values import row_order as o


def check(s: AsOfBuffers, text: Any) -> None:
    """Assert all invariants; O(rows log rows)."""
    header = int(s.left[w.H_HIGH]) - w.LEFT_HEADER  # words of a row that is looked for, with its two counts
    lefts = _tree(s.left, s.left_whole, w.LEFT_HEADER + 2 * header, text)
    rights = _tree(s.right, s.right_whole, None, text)
    assert all(s.right[entry + o.E_IN] == 1 for entry in rights), "every right row was there before the next version"
    rows = sum(
        int(s.left[entry + o.E_COUNT]) >> 1 for entry in lefts if s.form[w.P_OPTIONAL] or match_of(s, entry, text)
    )
    assert rows == s.left[w.H_TOTAL], "rows of the result"


def _tree(m: Any, plan: Any, header: int | None, text: Any) -> list[int]:
    """The entries of a tree, in its order."""
    walk = Walk(m)
    _, total = walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    entries = walk.entries
    assert total == m[t.T_TOTAL] and len(entries) == m[t.T_ENTRIES], "sizes"
    assert [int(m[leaf + t.NEXT]) for leaf in walk.leaves] == [*walk.leaves[1:], 0], "the chain of leaves"
    for one, other in pairwise(entries):
        assert o.compare(m, plan, one, other, text) == -1, "order"
    for entry in entries:
        assert m[entry + o.E_COUNT] > 0 and m[entry + o.E_COUNT] & 1 == 0, "multiplicities, no row is touched"
    free_nodes, free_entries = free_length(m, int(m[t.T_FREE_NODE]), t.NEXT), free_length(m, int(m[t.T_FREE_ENTRY]), 0)
    used = (walk.nodes + free_nodes) * t.NODE + (len(entries) + free_entries) * (o.E_WORDS + int(plan[o.O_WIDTH]))
    if header is not None:
        assert header + used == m[k.H_BUMP], "every word is a node's, an entry's or free"
    return entries
