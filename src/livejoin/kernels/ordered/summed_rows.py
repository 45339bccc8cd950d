"""Rows of an ordered multiset with values: a row changes with what it adds, and sums up to a place are read.

Law: the sums at the nodes stay those of the entries below them (`livejoin.kernels.ordered.sums`).
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.ordered.order_nodes import CHILD, INNER, LEAF, T_HEIGHT, T_ROOT, T_SUMS, T_VALUES, new_entry
from livejoin.kernels.ordered.order_tree import before, descend, insert, remove, weigh
from livejoin.kernels.ordered.sums import add_along, add_before, add_sums, clear_sums, is_zero
from livejoin.kernels.parameters import Arena, Plan, Texts
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH


@helper
def change_row(m: Arena, whole: Plan, wide: Plan, row: int, weight: int, term: int, text: Texts) -> None:
    """Change the multiplicity of the row that is looked for, and its values by a term; the arena must have space."""
    entry = descend(m, whole, row, text)
    weigh(m, weight)
    add_along(m, term)
    if entry == 0:
        entry = new_entry(m, wide)
        m[entry + E_COUNT] = weight << 1
        m[entry + E_IN] = 0
        for i in range(whole[O_WIDTH]):
            m[entry + E_WORDS + i] = m[row + E_WORDS + i]
        for i in range(m[T_SUMS]):
            m[entry + m[T_VALUES] + i] = m[term + i]
        insert(m, entry)
        return
    m[entry + E_COUNT] += weight << 1
    add_sums(m, entry + m[T_VALUES], term)
    if m[entry + E_COUNT] == 0 and is_zero(m, entry + m[T_VALUES]):
        remove(m, whole, entry, text)


@helper
def sums_before(m: Arena, prefix: Plan, row: int, least: int, to: int, text: Texts) -> None:
    """Write the sums of all entries before a row, by some first words; with ``least`` 1 also of those equal to it."""
    clear_sums(m, to)
    node = m[T_ROOT]
    for _ in range(m[T_HEIGHT]):
        child = max(before(m, prefix, node, INNER, row, least, text) - 1, 0)
        add_before(m, node, INNER, child, to)
        node = m[node + CHILD + child]
    add_before(m, node, LEAF, before(m, prefix, node, LEAF, row, least, text), to)
