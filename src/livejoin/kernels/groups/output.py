"""Rows of results that go and come, written to output buffers."""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.lists import words_of_lists, write_list
from livejoin.kernels.groups.results import render
from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Arena, Output, Plan, Words


@helper
def write_results(m: Arena, p: Plan, group: int, at: int, output: Output, kept: bool, lists: Words) -> None:
    """Write a row: the group's words and its results; lists from where they are kept, or else from the group."""
    row = m[g.H_OUT]
    key = group + p[g.P_KEY]
    line = 0
    for i in range(p[g.P_GROUPS]):
        output[line, row] = m[key + i]
        line += 1
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        output[line, row] = m[at]
        if p[c + g.C_WIDTH] == 2:
            output[line + 1, row] = m[at + 1]
        if p[c + g.C_KIND] == g.GIVE_LIST:
            to = m[g.H_LISTED]
            output[line + 1, row] = to
            if kept:
                for i in range(m[at]):
                    lists[to + i] = m[m[at + 1] + i]
            else:
                write_list(m, p, c, group, m[at], lists, to)
            m[g.H_LISTED] = to + m[at]
        at += p[c + g.C_WIDTH]
        line += p[c + g.C_WIDTH]
    m[g.H_OUT] = row + 1


@helper
def _is_same(m: Arena, p: Plan, old: int, new: int, lists: Words, first: int, second: int) -> bool:
    """Whether two rows of results are equal, whose lists were written from two places on."""
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        if m[old] != m[new]:
            return False
        if p[c + g.C_KIND] == g.GIVE_LIST:
            for i in range(m[old]):
                if lists[first + i] != lists[second + i]:
                    return False
            first += m[old]
            second += m[old]
        elif p[c + g.C_WIDTH] == 2 and m[old + 1] != m[new + 1]:
            return False
        old += p[c + g.C_WIDTH]
        new += p[c + g.C_WIDTH]
    return True


@helper
def emit_group(m: Arena, p: Plan, block: int, version: int, output: Output, lists: Words, list_capacity: int) -> bool:
    """Write what a touched group had and has; False if the output has no space."""
    group = m[block + g.T_GROUP]
    existed = m[block + g.T_EXISTED] == 1
    exists = m[group + g.R_ROWS] > 0 or p[g.P_GLOBAL] == 1
    old, new = block + g.T_RESULTS, p[g.P_SCRATCH]
    row, listed = m[g.H_OUT], m[g.H_LISTED]
    if exists:
        render(m, p, group, new)
    if p[g.P_LISTS] > 0:
        needed = (words_of_lists(m, p, old) if existed else 0) + (words_of_lists(m, p, new) if exists else 0)
        if listed + needed > list_capacity:
            m[g.H_NEED] = needed
            return False
    if row + 2 > output.shape[1]:
        return False
    last = output.shape[0] - 3
    middle = listed
    if existed:
        write_results(m, p, group, old, output, True, lists)
        middle = m[g.H_LISTED]
    if exists:
        write_results(m, p, group, new, output, False, lists)
    if existed and exists and _is_same(m, p, old, new, lists, listed, middle):
        m[g.H_OUT] = row
        m[g.H_LISTED] = listed
        return True
    for i in range(row, m[g.H_OUT]):
        output[last, i] = -1 if existed and i == row else 1
        output[last + 1, i] = version
        output[last + 2, i] = m[g.H_PAIR]
    m[g.H_PAIR] += 1
    return True
