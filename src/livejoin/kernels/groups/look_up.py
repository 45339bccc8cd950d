"""Rows of given groups of an aggregation."""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.buffers import opened
from livejoin.kernels.groups.lists import words_of_lists
from livejoin.kernels.groups.output import write_results
from livejoin.kernels.groups.results import render
from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.parameters import Addresses, Line, Output, Words


@kernel
def write_groups(store: Addresses, groups: Line, begin: int, output: Output, lists: Words) -> int:
    """Write the rows of groups, one for each place of the output.

    Args:
        store: The groups; only scratch is changed.
        groups: int64, references of groups.
        begin: The first one to be written.
        output: int64 of shape (words of a group and its results, capacity).
        lists: int64: the values of lists, one list after the other.

    Returns:
        The first group that was not written; ``H_OUT`` and ``H_LISTED`` say how much was, ``H_NEED`` what that group's
        lists need.
    """
    s = opened(store)
    m, p = s.arena, s.plan
    listed = words(lists)
    m[g.H_OUT] = 0
    m[g.H_LISTED] = 0
    for i in range(begin, groups.shape[0]):
        if m[g.H_OUT] == output.shape[1]:
            return i
        render(m, p, groups[i], p[g.P_SCRATCH])
        if p[g.P_LISTS] > 0:
            m[g.H_NEED] = words_of_lists(m, p, p[g.P_SCRATCH])
            if m[g.H_LISTED] + m[g.H_NEED] > lists.shape[0]:
                return i
        write_results(m, p, groups[i], p[g.P_SCRATCH], output, False, listed)
    return int(groups.shape[0])
