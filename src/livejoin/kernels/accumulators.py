"""What the aggregates of a group are computed from, exact under insertions and deletions.

Law: the accumulators of a group are a function of the multiset of its rows, whatever came and went before: sums of
integers, decimals and doubles, and of their squares, have no rounding and wrap modulo a power of two beyond what any
number of rows below 2**63 can sum up to (decimals of 38 digits: 192 bits); a value counts among the distinct ones while
its multiplicity is positive.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels import group_layout as g
from livejoin.kernels.big_integer import add, negate, square, subtract, times
from livejoin.kernels.exact_sum import add_double, add_square, forget, is_finite
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered_index import change
from livejoin.kernels.ring import add_wide, high_product


@inlined
def _add_product(m: Any, at: int, word: int, weight: int) -> None:
    """Add the product of two signed words to a two-word integer."""
    high = high_product(word, weight) - ((word >> 63) & weight) - ((weight >> 63) & word)
    add_wide(m, at, word * weight, high)


@helper
def _settle(m: Any, at: int, words: int, weight: int, length: int) -> None:
    """Add the term in scratch, of ``length`` words, ``weight`` times to an integer of ``words`` words."""
    times(m, g.G_TERM, length, abs(weight))
    if weight > 0:
        add(m, at, words, g.G_TERM, length + 1)
    else:
        subtract(m, at, words, g.G_TERM, length + 1)


@helper
def _add_wide_decimal(m: Any, at: int, low: int, high: int, weight: int) -> None:
    m[g.G_TERM] = low
    m[g.G_TERM + 1] = high
    if high < 0:
        negate(m, g.G_TERM, 2)
        weight = -weight
    _settle(m, at, 3, weight, 2)


@helper
def _add_square(m: Any, at: int, word: int, weight: int) -> None:
    size = abs(word)
    m[g.G_TERM] = size * size
    m[g.G_TERM + 1] = high_product(size, size)
    _settle(m, at, 3, weight, 2)


@helper
def _add_wide_square(m: Any, at: int, low: int, high: int, weight: int) -> None:
    m[g.G_LEFT] = low
    m[g.G_LEFT + 1] = high
    if high < 0:
        negate(m, g.G_LEFT, 2)
    square(m, g.G_LEFT, 2, g.G_TERM)
    _settle(m, at, 5, weight, 4)


@helper
def _add_double(m: Any, at: int, word: int, weight: int) -> None:
    if is_finite(word):
        add_double(m, at, word, weight, g.G_TERM)
    elif word & ((1 << 52) - 1) != 0:
        m[at + 1] += weight
    elif word > 0:
        m[at + 2] += weight
    else:
        m[at + 3] += weight


@helper
def accumulate(m: Any, p: Any, group: int, values: Any, line: int, row: int, weight: int, texts: Any) -> None:
    """Add a row to a group, or take it away; the arena must have the space that the plan's RESERVE says.

    Args:
        m: The arena.
        p: The plan.
        group: Reference of the group.
        values: The rows' values, a line for each word.
        line: Distance of the lines.
        row: Position of the row.
        weight: The change of its multiplicity, not 0.
        texts: The dictionaries, see `livejoin.kernels.value_order.precedes`.

    Cost: O(1) an accumulator, O(log(distinct values of the group)) an index.
    """
    m[group + g.R_ROWS] += weight
    entered = 0
    for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        if values[p[a + g.A_NULL] * line + row] == g.NULL:
            continue
        by = entered if p[a + g.A_DISTINCT] == 1 else weight
        if by == 0:
            continue
        kind = p[a + g.A_KIND]
        at = group + p[a + g.A_AT]
        place = p[a + g.A_LINE] * line + row
        word = values[place]
        if kind == g.COUNT:
            m[at] += by
        elif kind == g.SUM:
            _add_product(m, at, word, by)
        elif kind == g.INDEX:
            entered = change(m, at, word, by, p[a + g.A_DETAIL], texts, g.G_PATH)
        elif kind == g.DOUBLE_SUM:
            _add_double(m, at, word, by)
        elif kind == g.DOUBLE_SQUARES:
            if is_finite(word):
                add_square(m, at, word, by, g.G_TERM)
        elif kind == g.TRUE:
            if word == 1:
                m[at] += by
        elif kind == g.SQUARES:
            _add_square(m, at, word, by)
        elif kind == g.SUM_WIDE:
            _add_wide_decimal(m, at, word, values[place + line], by)
        else:
            _add_wide_square(m, at, word, values[place + line], by)


@helper
def settle(m: Any, p: Any, group: int) -> None:
    """Give back the words of sums that have no arguments left."""
    for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        kind = p[a + g.A_KIND]
        if (kind == g.DOUBLE_SUM or kind == g.DOUBLE_SQUARES) and m[group + p[a + g.A_DETAIL]] == 0:
            forget(m, group + p[a + g.A_AT])
