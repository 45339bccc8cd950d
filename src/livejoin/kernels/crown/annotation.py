"""The annotation of one row (CROWN, section 7.3, formulas 10 and 12)."""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_EMPTY,
    N_FACTOR_LIST,
    N_FACTORS,
    N_STATE,
    N_WEIGHS,
    N_WEIGHT,
)
from livejoin.kernels.crown.slots import slot_below
from livejoin.kernels.jit import helper
from livejoin.kernels.join import ring
from livejoin.kernels.parameters import Arena, Output, Plan


@helper
def annotation(m: Arena, p: Plan, node: int, row: int, times: int, without: int, out: Output, at: int) -> int:
    """Write ``times`` the annotation of a row with multiplicity one to ``out[at]`` on; -1 if it does not fit, else 0.

    Args:
        m: The arena.
        p: The plan.
        node: The row's node.
        row: The row.
        times: The row's multiplicity, 1 for a derived row.
        without: Position of a child to be left out, -1 for none.
        out: An arena or a cursor.
        at: Index of the first word there.
    """
    ring.set_one(out, p, at)
    return int(multiply_annotation(m, p, node, row, times, without, out, at))


@helper
def multiply_annotation(m: Arena, p: Plan, node: int, row: int, times: int, without: int, out: Output, at: int) -> int:
    """Multiply what stands at ``out[at]`` on by what `annotation` would write there; -1 if it does not fit, else 0."""
    wraps = ring.scale(out, p, at, times)
    if p[node + N_FACTORS] > 0:
        wraps |= ring.multiply_factors(m, p, p[node + N_FACTOR_LIST], p[node + N_FACTORS], row, out, at)
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        if c != without and p[child + N_WEIGHS] == 1:
            slot = slot_below(m, p, node, row, c, child)
            if p[child + N_EMPTY] < 0:
                wraps |= ring.multiply(out, p, at, m, slot + p[child + N_WEIGHT])
            else:
                wraps |= ring.multiply_above(out, p, at, m, slot + p[child + N_WEIGHT], p[child + N_EMPTY])
    return wraps


@helper
def multiplicity(m: Arena, p: Plan, node: int, row: int) -> int:
    """The multiplicity of a row; that of a derived row is one."""
    if p[node + N_ATOM] == 0:
        return 1
    times: int = m[row + p[node + N_STATE]] >> COUNTER_BITS
    return times
