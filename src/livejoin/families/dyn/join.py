"""Dynamic Yannakakis as an operator: a conjunctive query kept as a T-representation (DYN, sections 4.2 to 4.5).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every version the state is the T-representation of the rows given so far, from which the result is enumerated with
constant delay. Cost of a version of u changes: O(u) for a simple tree, and only for such (Theorem 4.15), else O(rows)
(Proposition 4.16); of the state: O(rows) (Proposition 4.10); of a count: O(rows). Unlike the join-tree plan there are
neither counters nor live views: every change of a multiplicity goes up to the root, as far as tuples are live.
"""

from __future__ import annotations

import numpy as np

from livejoin.errors import UnsupportedQueryError
from livejoin.families.batch_join import BatchJoin, Kernels
from livejoin.families.dyn.checks import check
from livejoin.families.dyn.plan import DynPlan
from livejoin.kernels.dyn import count as dyn_counting
from livejoin.kernels.dyn import look_up as dyn_lookup
from livejoin.kernels.dyn import maintain as dyn
from livejoin.kernels.errstate import wrapping
from livejoin.words import Words

_KERNELS = Kernels(dyn.maintain, dyn.scan, dyn_counting.count, check)


def dyn_join(plan: DynPlan) -> BatchJoin:
    """An empty T-representation."""
    return BatchJoin(plan, _KERNELS)


def multiplicities(join: BatchJoin, rows: Words) -> Words:
    """The multiplicities of rows in the result, or their annotations (Proposition 4.18).

    Cost: O(1) a row, but that an atom at a leaf of the enumeration is searched in the group of its key.

    Args:
        join: A T-representation.
        rows: int64 of shape (head columns, n): rows as `BatchJoin.scan` writes them, without annotation.

    Returns:
        int64 of shape (words of the annotation, n), one word without annotation; zeros for rows that are not there.

    Raises:
        UnsupportedQueryError: The head lacks variables, so that a row stands for several results.
    """
    plan = join.plan
    assert isinstance(plan, DynPlan)
    shown = [plan.query.variable(ref) for ref in plan.query.head]
    if hidden := set(plan.output) - set(shown):
        msg = (
            f"the multiplicity of a row without {', '.join(sorted(hidden))} is the sum of many; allowed are rows with "
            "all variables that the results are made of; add them to the output"
        )
        raise UnsupportedQueryError(msg, clause="SELECT")
    values = np.ascontiguousarray(rows[[shown.index(v) for v in plan.output]]).reshape(-1, rows.shape[1])
    found = np.empty((plan.annotation, rows.shape[1]), np.int64)
    with wrapping():
        dyn_lookup.look_up(join.arena.words, plan.words, np.zeros(plan.cursor_words, np.int64), values, found)
    same = np.ones(rows.shape[1], bool)
    for line, variable in zip(rows, shown, strict=True):
        same &= line == rows[shown.index(variable)]
    return np.where(same, found, 0)
