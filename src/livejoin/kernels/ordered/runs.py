"""Runs of changes of an ordered multiset: those of one version and one partition, which are applied together.

A kernel over partitions goes from run to run: it applies the changes of one, which notes the entries that these touch,
writes what the result gains and loses, and forgets what nothing is left of. Every entry has words of its own behind
those of its row, for what the result says of it.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.ordered.order_nodes import T_END, free_entry, has_space, new_entry
from livejoin.kernels.ordered.order_tree import descend, insert, remove, rows_before, select, weigh
from livejoin.kernels.parameters import Arena, Line, Matrix, Plan, Texts, Touched
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH, compare

# Arena header behind that of the tree
P_CHANGE = T_END  # cursor of an interrupted call: change, step
P_STEP = T_END + 1
P_TOUCHED = T_END + 2  # entries that the run touched
P_MADE = T_END + 3  # changes written by the current call
P_NEEDED = T_END + 4  # OUTPUT_FULL: places that the run needs
P_TOTAL = T_END + 5  # rows of the result
P_HEADER = T_END + 6

# Steps of a run; a new one begins with applying
APPLYING = 0
WRITING = 1


@helper
def first_touched(m: Arena, p: Plan, touched: Touched, text: Texts) -> int:
    """The entry that comes first of those that the run touched."""
    first: int = touched[0]
    for i in range(1, m[P_TOUCHED]):
        if compare(m, p, touched[i], first, text) < 0:
            first = touched[i]
    return first


@helper
def entry_before(m: Arena, p: Plan, prefix: Plan, row: int, text: Texts) -> tuple[int, int]:
    """The entry before the first one that is not before a row by some first words, in the row's partition, else 0.

    And how many rows come before it and with it, those of other partitions included.
    """
    ahead = rows_before(m, p, row, text)
    if ahead == 0:
        return 0, 0
    entry, _ = select(m, ahead - 1)
    return entry if compare(m, prefix, entry, row, text) == 0 else 0, ahead


@helper
def apply_change(
    m: Arena, p: Plan, wide: Plan, values: Matrix, change: int, weight: int, touched: Touched, text: Texts
) -> None:
    """Change the multiplicity of a row."""
    row = new_entry(m, wide)
    for i in range(p[O_WIDTH]):
        m[row + E_WORDS + i] = values[i, change]
    entry = descend(m, p, row, text)
    weigh(m, weight)
    if entry == 0:
        entry = row
        m[entry + E_COUNT] = weight << 1
        m[entry + E_IN] = 0
        for i in range(p[O_WIDTH], wide[O_WIDTH]):
            m[entry + E_WORDS + i] = 0
        insert(m, entry)
    else:
        free_entry(m, row)
        m[entry + E_COUNT] += weight << 1
    if m[entry + E_COUNT] & 1 == 0:
        m[entry + E_COUNT] |= 1
        touched[m[P_TOUCHED]] = entry
        m[P_TOUCHED] += 1


@helper
def is_same_run(prefix: Plan, values: Matrix, versions: Line, one: int, other: int) -> bool:
    """Whether two changes are of one version and one partition."""
    if versions[one] != versions[other]:
        return False
    for i in range(prefix[O_WIDTH]):
        if values[i, one] != values[i, other]:
            return False
    return True


@helper
def apply_run(
    m: Arena,
    p: Plan,
    prefix: Plan,
    wide: Plan,
    values: Matrix,
    weights: Line,
    versions: Line,
    change: int,
    touched: Touched,
    text: Texts,
) -> int:
    """Apply the changes of a run from one on; which one is behind it. P_STEP stays APPLYING where space is needed."""
    while has_space(m, wide):
        apply_change(m, p, wide, values, change, weights[change], touched, text)
        change += 1
        if change == weights.shape[0] or not is_same_run(prefix, values, versions, change - 1, change):
            m[P_STEP] = WRITING
            return change
    return change


@helper
def end_run(m: Arena, p: Plan, touched: Touched, text: Texts) -> None:
    """Forget the entries of which nothing is left."""
    for i in range(m[P_TOUCHED]):
        entry = touched[i]
        m[entry + E_COUNT] ^= 1
        if m[entry + E_COUNT] == 0:
            remove(m, p, entry, text)
    m[P_TOUCHED] = 0
    m[P_STEP] = APPLYING
