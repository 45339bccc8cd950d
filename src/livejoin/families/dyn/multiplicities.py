"""The multiplicities of given rows in a T-representation (DYN, Proposition 4.18)."""

from __future__ import annotations

from collections.abc import Mapping
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
    found = found_of(join, {variable: rows[shown.index(variable)] for variable in plan.output}, rows.shape[1])
    same = np.ones(rows.shape[1], bool)
    for line, variable in zip(rows, shown, strict=True):
        same &= line == rows[shown.index(variable)]
    return np.where(same, found, 0)


def found_of(join: ArenaJoin[DynPlan], values: Mapping[str, Words], length: int) -> Words:
    """As `multiplicities`, of results by the words of all variables that they are made of.

    Args:
        join: A T-representation.
        values: The words of the variables, a line each.
        length: The length of a line.
    """
    plan = join.plan
    given = np.array([values[variable] for variable in plan.output], np.int64).reshape(len(plan.output), length)
    found = np.empty((plan.annotation, length), np.int64)
    dyn_lookup.look_up(join.arena.words, plan.words, np.zeros(plan.cursor_words, np.int64), given, found)
    join.refuse_overflow()
    return found
