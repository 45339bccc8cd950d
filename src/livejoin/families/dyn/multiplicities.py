"""The multiplicities of given rows in a T-representation (DYN, Proposition 4.18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from livejoin.errors import UnsupportedQueryError
from livejoin.families.arena.join import ArenaJoin
from livejoin.kernels.dyn import look_up as dyn_lookup
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.dyn.plan import DynPlan


def multiplicities(join: ArenaJoin[DynPlan], rows: Words) -> Words:
    """The multiplicities of rows in the result, or their annotations (Proposition 4.18).

    Cost: O(1) a row, but that an atom at a leaf of the enumeration is searched in the group of its key.

    Args:
        join: A T-representation.
        rows: int64 of shape (head columns, n): rows as `BatchJoin.scan` writes them, without annotation.

    Returns:
        int64 of shape (words of the annotation, n), one word without annotation; zeros for rows that are not there.

    Raises:
        CapacityError: A multiplicity or an annotation does not fit.
        UnsupportedQueryError: The head lacks variables, so that a row stands for several results.
    """
    plan = join.plan
    shown = [plan.query.variable(ref) for ref in plan.query.head]
    if hidden := set(plan.output) - set(shown):
        msg = (
            f"the multiplicity of a row without {', '.join(sorted(hidden))} is the sum of many; allowed are rows with "
            "all variables that the results are made of; add them to the output"
        )
        raise UnsupportedQueryError(msg, clause="SELECT")
    values = np.ascontiguousarray(rows[[shown.index(v) for v in plan.output]]).reshape(-1, rows.shape[1])
    found = np.empty((plan.annotation, rows.shape[1]), np.int64)
    dyn_lookup.look_up(join.arena.words, plan.words, np.zeros(plan.cursor_words, np.int64), values, found)
    join.refuse_overflow()
    same = np.ones(rows.shape[1], bool)
    for line, variable in zip(rows, shown, strict=True):
        same &= line == rows[shown.index(variable)]
    return np.where(same, found, 0)
