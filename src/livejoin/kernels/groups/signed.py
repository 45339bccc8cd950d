"""Groups of rows of which no table knows whether they are there: what makes a group sound.

Rows of a table whose deletions are trusted leave by their values alone. Inside of a version, and while a store is
loaded in pieces, a group may have fewer rows than none. So it stays until its words are those of no row, and what is
asked of it is asked behind each version. Law: a group is sound if there may be a multiset of rows that makes its
numbers what they are, as far as the numbers tell.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.exact_sum import class_of, forget, window_of
from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Arena, Plan


@helper
def is_window(kind: int) -> bool:
    """Whether an accumulator of a kind is the link of a window of words."""
    found: bool = kind == g.DOUBLE_SUM or kind == g.DOUBLE_SQUARES or (kind >= g.PRODUCTS and kind <= g.FOURTHS)
    return found


@helper
def settle_signed(m: Arena, p: Plan, group: int) -> None:
    """Give back the words of sums that have no arguments left and are zero."""
    for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        at = group + p[a + g.A_AT]
        if not is_window(p[a + g.A_KIND]) or m[at] == 0 or m[group + p[a + g.A_DETAIL]] != 0:
            continue
        window, is_zero = window_of(m[at]), True
        for i in range(1 << class_of(m[at])):
            if m[window + i] != 0:
                is_zero = False
        if is_zero:
            forget(m, at)


@helper
def is_sound(m: Arena, p: Plan, group: int) -> bool:
    """Whether the numbers of a group may be those of rows; its windows are settled."""
    rows = m[group + g.R_ROWS]
    if rows < 0:
        return False
    if rows == 0:
        for i in range(g.RECORD, p[g.P_KEY]):
            if m[group + i] != 0:
                return False
        return True
    for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        kind, at = p[a + g.A_KIND], group + p[a + g.A_AT]
        counts = 0
        if kind == g.COUNT or kind == g.TRUE:
            counts = 1
        elif kind == g.BITS:
            counts = p[a + g.A_DETAIL]
        elif is_window(kind) and m[at] != 0 and m[group + p[a + g.A_DETAIL]] <= 0:
            return False
        for i in range(counts):
            if m[at + i] < 0 or m[at + i] > rows:
                return False
        if kind == g.DOUBLE_SUM and (m[at + 1] < 0 or m[at + 2] < 0 or m[at + 3] < 0):
            return False
    return True
