"""Lists among a group's results: NULLs first, then the values in their order; or values in the order of others.

The list that a group had before a version is kept in a block of the arena until the version ends; a result's two words
are its length and where it is.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.ordered_index import write, write_seconds
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.parameters import Arena, Output, Plan


@inlined
def class_for(size: int) -> int:
    """Size class of a block for some words."""
    size_class = 0
    while 1 << size_class < size:
        size_class += 1
    return size_class


@helper
def write_list(m: Arena, p: Plan, c: int, group: int, length: int, out: Output, at: int) -> None:
    """Write a group's list for the result at ``c`` of the plan."""
    nulls = length - m[group + p[c + g.C_COUNT]]
    for _ in range(nulls):
        out[at] = g.NULL
        at += 1
    root, what = m[group + p[c + g.C_FIRST]], p[c + g.C_DETAIL]
    if what == g.SECONDS:
        write_seconds(m, root, False, g.H_PATH, out, at)
    else:
        write(m, root, what == g.DISTINCT_VALUES, False, g.H_PATH, out, at)


@helper
def keep_lists(m: Arena, p: Plan, group: int, at: int) -> None:
    """Write all lists of a group to blocks; the results at ``at`` then say where."""
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        if p[c + g.C_KIND] == g.GIVE_LIST and m[at] > 0:
            m[at + 1] = allocate(m, class_for(m[at]))
            write_list(m, p, c, group, m[at], m, m[at + 1])
        at += p[c + g.C_WIDTH]


@helper
def release_lists(m: Arena, p: Plan, at: int) -> None:
    """Give the blocks back that `keep_lists` took."""
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        if p[c + g.C_KIND] == g.GIVE_LIST and m[at] > 0:
            release(m, m[at + 1], class_for(m[at]))
        at += p[c + g.C_WIDTH]


@helper
def words_of_lists(m: Arena, p: Plan, at: int) -> int:
    """Words of all lists of the results at ``at``."""
    total = 0
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        if p[c + g.C_KIND] == g.GIVE_LIST:
            total += m[at]
        at += p[c + g.C_WIDTH]
    return total
