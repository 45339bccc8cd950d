"""What the aggregates of a group are computed from, exact under insertions and deletions.

Law: the accumulators of a group are a function of the multiset of its rows, whatever came and went before: sums of
integers, decimals and doubles, and of their squares, have no rounding and wrap modulo a power of two beyond what any
number of rows below 2**63 can sum up to (decimals of 38 digits: 192 bits); a value counts among the distinct ones while
its multiplicity is positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.exact_sum import add_double, add_product, forget, is_finite
from livejoin.kernels.groups.ordered_index import PATH, change, change_pair
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.big_integer import add, negate, square, subtract, times
from livejoin.kernels.numbers.wide import add_wide, high_product
from livejoin.kernels.parameters import Arena, Matrix, Plan, Texts, Words
from livejoin.kernels.values.value_order import NUMBER


@inlined
def _add_product(m: Arena, at: int, word: int, weight: int) -> None:
    """Add the product of two signed words to a two-word integer."""
    high = high_product(word, weight) - ((word >> 63) & weight) - ((weight >> 63) & word)
    add_wide(m, at, word * weight, high)


@helper
def _add_wide(m: Arena, at: int, words: int, low: int, high: int, squared: bool, weight: int) -> None:
    """Add a two-word integer, or its square, ``weight`` times to an integer of some words."""
    m[g.H_LEFT] = low
    m[g.H_LEFT + 1] = high
    if high < 0:
        negate(m, g.H_LEFT, 2)
    term, length = g.H_LEFT, 2
    negative = weight < 0
    if squared:
        square(m, g.H_LEFT, 2, g.H_TERM)
        term, length = g.H_TERM, 4
    elif high < 0:
        negative = not negative
    times(m, term, length, abs(weight))
    if negative:
        subtract(m, at, words, term, length + 1)
    else:
        add(m, at, words, term, length + 1)


@helper
def _add_special(m: Arena, at: int, word: int, weight: int) -> None:
    """Count an infinite double or NaN."""
    if word & ((1 << 52) - 1) != 0:
        m[at + 1] += weight
    elif word > 0:
        m[at + 2] += weight
    else:
        m[at + 3] += weight


@inlined
def _add_one_or_less(m: Arena, at: int, low: int, high: int, weight: int) -> tuple[int, int]:
    """Add a two-word integer, or take it away, where ``weight`` is 1 or -1; the high word that was added, the carry."""
    if weight < 0:
        high = ~high + (1 if low == 0 else 0)
        low = -low
    total = m[at] + low
    carry = 1 if np.uint64(total) < np.uint64(low) else 0
    upper = m[at + 1] + high
    both = upper + carry
    over = 1 if np.uint64(upper) < np.uint64(high) or np.uint64(both) < np.uint64(upper) else 0
    m[at] = total
    m[at + 1] = both
    return high, over


@helper
def accumulate_block(
    m: Arena, p: Plan, values: Matrix, line: int, weights: Words, first: int, places: Words, rows: int
) -> None:
    """Add rows to the plain accumulators of their groups, one accumulator after the other.

    What to do is looked up once a block and not once a row, and each line of values is read from one end to the other.

    Args:
        m: The arena.
        p: The plan.
        values: The rows' values, a line for each word.
        line: Distance of the lines.
        weights: The changes of the rows' multiplicities.
        first: Position of the first row.
        places: The group of each row.
        rows: How many there are.
    """
    for a in range(p[g.P_PLAIN], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        kind, at = p[a + g.A_KIND], p[a + g.A_AT]
        null = p[a + g.A_NULL] * line + first
        place = p[a + g.A_LINE] * line + first
        if kind == g.COUNT:
            for i in range(rows):
                if values[null + i] != g.NULL:
                    m[places[i] + at] += weights[first + i]
        elif kind == g.TRUE:
            for i in range(rows):
                if values[place + i] == 1:
                    m[places[i] + at] += weights[first + i]
        elif kind == g.SUM:
            for i in range(rows):
                word, weight = values[place + i], weights[first + i]
                if word == g.NULL:
                    continue
                if weight == 1 or weight == -1:
                    _add_one_or_less(m, places[i] + at, word, word >> 63, weight)
                else:
                    _add_product(m, places[i] + at, word, weight)
        else:
            for i in range(rows):
                low, high, weight = values[place + i], values[place + line + i], weights[first + i]
                if high == g.NULL:
                    continue
                if weight == 1 or weight == -1:
                    added, over = _add_one_or_less(m, places[i] + at, low, high, weight)
                    m[places[i] + at + 2] += (added >> 63) + over
                elif weight != 0:
                    _add_wide(m, places[i] + at, p[a + g.A_DETAIL], low, high, False, weight)


@helper
def _count_value(m: Arena, at: int, word: int, before: int, after: int, order: int, texts: Texts) -> None:
    """Move a value to its place among the values by how often each is there, the most frequent first."""
    if before > 0:
        change_pair(m, at, (-before, word), -1, (NUMBER, order), texts, g.H_PATH)
    if after > 0:
        change_pair(m, at, (-after, word), 1, (NUMBER, order), texts, g.H_PATH)


@helper
def _add_factors(m: Arena, at: int, kind: int, word: int, other: int, weight: int) -> None:
    """Add the product of two doubles, or a power of one."""
    if not is_finite(word) or not is_finite(other):
        return
    degree = 3 if kind == g.FOURTHS else (2 if kind == g.CUBES else 1)
    add_product(m, at, word, degree, other, weight, g.H_TERM)


@helper
def _add_summed(m: Arena, at: int, values: Matrix, place: int, line: int, words: int) -> None:
    """Add an integer of some words, of which each has a line."""
    carry = 0
    for i in range(words):
        term = values[place + i * line]
        low = m[at + i] + term
        over = np.uint64(low) < np.uint64(term)
        total = low + carry
        m[at + i] = total
        carry = 1 if over or (carry == 1 and total == 0) else 0


@helper
def accumulate(m: Arena, p: Plan, group: int, values: Matrix, line: int, row: int, weight: int, texts: Texts) -> None:
    """Add a row to the other accumulators of a group; the arena must have the space that the plan's RESERVE says.

    Args:
        m: The arena.
        p: The plan.
        group: Reference of the group.
        values: The rows' values, a line for each word.
        line: Distance of the lines.
        row: Position of the row.
        weight: The change of its multiplicity, not 0.
        texts: The dictionaries, see `livejoin.kernels.values.dictionary_view`.

    Cost: O(1) an accumulator, O(log(distinct values of the group)) an index.
    """
    entered: Any = np.int64(0)  # unlike Python's integers it wraps where nothing is compiled
    for a in range(p[g.P_ACCUMULATORS], p[g.P_PLAIN], g.ACCUMULATOR):
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
            entered = np.int64(change(m, at, word, by, p[a + g.A_DETAIL], texts, g.H_PATH))
        elif kind == g.DOUBLE_SUM or kind == g.DOUBLE_SQUARES:
            if is_finite(word):
                add_double(m, at, word, kind == g.DOUBLE_SQUARES, by, g.H_TERM)
            elif kind == g.DOUBLE_SUM:
                _add_special(m, at, word, by)
        elif kind == g.TRUE:
            if word == 1:
                m[at] += by
        elif kind == g.MODE:
            after = m[g.H_PATH + PATH - 1]
            _count_value(m, at, word, after - by, after, p[a + g.A_OTHER_ORDER], texts)
        elif kind == g.PAIRS:
            second: Any = values[p[a + g.A_OTHER] * line + row] if p[a + g.A_OTHER] >= 0 else np.int64(0)
            orders = p[a + g.A_DETAIL], p[a + g.A_OTHER_ORDER]
            change_pair(m, at, (word, second), by, orders, texts, g.H_PATH)
        elif kind == g.PRODUCTS or kind == g.CUBES or kind == g.FOURTHS:
            factor = values[p[a + g.A_OTHER] * line + row] if kind == g.PRODUCTS else word
            _add_factors(m, at, kind, word, factor, by)
        elif kind == g.SUMMED:
            _add_summed(m, at, values, place, line, p[a + g.A_DETAIL])
        elif kind == g.BITS:
            for i in range(p[a + g.A_DETAIL]):
                m[at + i] += ((word >> i) & 1) * by
        else:
            high = word >> 63 if kind == g.SQUARES else values[place + line]
            _add_wide(m, at, p[a + g.A_DETAIL], word, high, kind != g.SUM_WIDE, by)


@helper
def settle(m: Arena, p: Plan, group: int) -> None:
    """Give back the words of sums that have no arguments left."""
    for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
        kind = p[a + g.A_KIND]
        is_window = kind == g.DOUBLE_SUM or kind == g.DOUBLE_SQUARES or g.PRODUCTS <= kind <= g.FOURTHS
        if is_window and m[group + p[a + g.A_DETAIL]] == 0:
            forget(m, group + p[a + g.A_AT])
