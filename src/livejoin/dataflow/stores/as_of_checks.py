"""The invariants of an as-of join, read off its arenas; for tests.

Both trees are as in `livejoin.dataflow.stores.top_k_checks`, every right entry is present and settled, no row
is touched between calls, and the rows of the result are counted.
"""

from __future__ import annotations

from typing import Any

from livejoin.dataflow.stores.top_k_checks import check_tree
from livejoin.kernels.as_of import layout as w
from livejoin.kernels.as_of.buffers import AsOfBuffers
from livejoin.kernels.as_of.matches import match_of
from livejoin.kernels.memory import layout as k
from livejoin.kernels.values import row_order as o


def check(s: AsOfBuffers, text: Any) -> None:
    """Assert all invariants; O(rows log rows)."""
    header = int(s.left[w.H_HIGH]) - w.LEFT_HEADER  # words of a row that is looked for, with its two counts
    lefts, used = check_tree(s.left, s.left_whole, text)
    assert w.LEFT_HEADER + 2 * header + used == s.left[k.H_BUMP], "every word is a node's, an entry's or free"
    rights, _ = check_tree(s.right, s.right_whole, text)
    assert all(s.right[entry + o.E_IN] == 1 for entry in rights), "every right row was there before the next version"
    rows = sum(
        int(s.left[entry + o.E_COUNT]) >> 1 for entry in lefts if s.form[w.P_OPTIONAL] or match_of(s, entry, text)
    )
    assert rows == s.left[w.H_TOTAL], "rows of the result"
