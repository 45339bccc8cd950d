"""Sums of the values of the entries of an ordered multiset, kept at its nodes (AJU, Theorem 15).

The *values* of an entry are T_SUMS words behind its own: numbers of one or several words, the low one first, each
modulo 2 to the power of its bits. T_CARRIED says which words go on the number of the word before. Behind the arrays of
a node stand the sums of the values of all entries below it.

Law: the sums of a node are those of its entries, of an inner node those of its children. So the sum of all entries
before a place is read off one path: O(places of a node) a level, and O(1) for what is added to an entry.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.wide import high_product
from livejoin.kernels.ordered.order_nodes import (
    CHILD,
    COUNT,
    FIRST,
    LEAF,
    NODE,
    T_CARRIED,
    T_HEIGHT,
    T_LEAF,
    T_PATH,
    T_SUMS,
    T_VALUES,
)
from livejoin.kernels.parameters import Arena


@inlined
def clear_sums(m: Arena, at: int) -> None:
    """Make values zero."""
    for i in range(m[T_SUMS]):
        m[at + i] = 0


@inlined
def is_zero(m: Arena, at: int) -> bool:
    """Whether all values are zero."""
    for i in range(m[T_SUMS]):
        if m[at + i] != 0:
            return False
    return True


@helper
def add_sums(m: Arena, to: int, by: int) -> None:
    """Add values to others."""
    carry = 0
    for i in range(m[T_SUMS]):
        if (m[T_CARRIED] >> i) & 1 == 0:
            carry = 0
        term = m[by + i]
        low = m[to + i] + term
        over = np.uint64(low) < np.uint64(term)
        total = low + carry
        m[to + i] = total
        carry = 1 if over or (carry == 1 and total == 0) else 0


@helper
def subtract_sums(m: Arena, to: int, by: int) -> None:
    """Take values away from others."""
    borrow = 0
    for i in range(m[T_SUMS]):
        if (m[T_CARRIED] >> i) & 1 == 0:
            borrow = 0
        had, term = m[to + i], m[by + i]
        difference = had - term
        m[to + i] = difference - borrow
        borrow = 1 if np.uint64(had) < np.uint64(term) or (borrow == 1 and difference == 0) else 0


@helper
def multiply_sums(m: Arena, at: int, by: int) -> None:
    """Multiply values by a number, which is not the least one."""
    carry, times = 0, abs(by)
    for i in range(m[T_SUMS]):
        if (m[T_CARRIED] >> i) & 1 == 0:
            carry = 0
        word = m[at + i]
        low = word * times
        total = low + carry
        m[at + i] = total
        carry = high_product(word, times) + (1 if np.uint64(total) < np.uint64(low) else 0)
    if by >= 0:
        return
    carry = 1
    for i in range(m[T_SUMS]):
        if (m[T_CARRIED] >> i) & 1 == 0:
            carry = 1
        m[at + i] = ~m[at + i] + carry
        carry = 1 if carry == 1 and m[at + i] == 0 else 0


@helper
def add_along(m: Arena, by: int) -> None:
    """Add what an entry gains to the sums of all nodes of the last descent, which led to its place."""
    for level in range(m[T_HEIGHT]):
        add_sums(m, m[T_PATH + 2 * level] + NODE, by)
    add_sums(m, m[T_LEAF] + NODE, by)


@helper
def add_before(m: Arena, node: int, places: int, end: int, to: int) -> None:
    """Add the sums of the first items of a node."""
    for i in range(end):
        if places == LEAF:
            add_sums(m, to, m[node + FIRST + LEAF + i] + m[T_VALUES])
        else:
            add_sums(m, to, m[node + CHILD + i] + NODE)


@helper
def sum_again(m: Arena, node: int, places: int) -> None:
    """Make the sums of a node anew from those of its items."""
    clear_sums(m, node + NODE)
    add_before(m, node, places, m[node + COUNT], node + NODE)
