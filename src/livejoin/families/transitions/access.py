"""Access to the results of a transition system, by rank and by values.

A result is a unit of the static join, for an instance. By values both are found, and the unit is looked for in the
state: O(its rows). By rank: an instance by the sizes before it, and a place in the result of its state; where results
are there several times, all of them are written once after a change.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.join_access import Found, Values
from livejoin.families.ranks import no_annotations
from livejoin.families.sizes import exactly
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import look_up
from livejoin.kernels.transitions import layout as t
from livejoin.kernels.transitions import read
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.transitions.join import TransitionJoin


class TransitionAccess:
    """The results of a transition system as they are now.

    Args:
        join: The join.
    """

    def __init__(self, join: TransitionJoin) -> None:
        self._join = join
        self._plan = join.plan
        shown = range(len(self._plan.lines)) if not self._plan.is_set else self._plan.shown
        self._lines = [self._plan.lines[line] for line in shown]
        self.needed = frozenset((*self._lines, *self._plan.shared))

    def total(self) -> int:
        return self._join.count()

    def results(self, ranks: Words) -> Words:
        if not self._is_plain:
            rows, ends = self._all
            return np.ascontiguousarray(rows[:, np.searchsorted(ends, ranks, side="right")])
        instances, ends = self._sizes
        at = np.searchsorted(ends, ranks, side="right")
        places = ranks - np.append(0, ends)[at]
        found = np.empty((self._plan.columns, ranks.shape[0]), np.int64)
        status = t.MISS
        while status == t.MISS:
            system = self._join.system
            where = (np.ascontiguousarray(instances[at]), np.ascontiguousarray(places), found)
            status, state = read.pick(self._join.line, system.static.joined, system.known, *where)
            if status == t.MISS:
                system.result(int(state))
        return found

    def find(self, values: Values, length: int) -> Found:
        cells, plan = self._join.cells.words, self._plan
        given = _matrix(plan.shared, values, length)
        instances = np.zeros(length, np.int64)
        look_up.find_entries(cells, int(plan.words[t.P_INSTANCES]), t.I_KEY, given, instances)
        times = np.zeros(length, np.int64)
        system = self._join.system
        arguments = (system.static.joined, system.known, instances, self._units(values, length), times)
        read.look_up(self._join.line, *arguments)
        self._join.refuse_overflow()
        return Found(times, no_annotations(length), values)

    def _units(self, values: Values, length: int) -> Words:
        """The units with some values, -1 where there is none."""
        static = self._join.system.static
        if not self._lines:
            return np.full(length, 0 if static.joined.unit_at.shape[0] > 1 else -1, np.int64)
        return self._join.system.units.find(_matrix(self._lines, values, length))

    @property
    def _is_plain(self) -> bool:
        """Whether every result is there once."""
        weighted = self._join.system.static.joined.weights.shape[0]
        return bool(self._plan.is_set or (self._join.cells.words[q.H_DUPLICATES] == 0 and not weighted))

    @cached_property
    def _sizes(self) -> tuple[Words, Words]:
        """The instances, and the results up to each."""
        exact, rough, instances, sizes = self._join.sizes_of_instances()
        exactly(rough if rough > float(exact) + 1 else exact)
        return instances, np.cumsum(sizes)

    @cached_property
    def _all(self) -> tuple[Words, Words]:
        """The results, each once, and how many there are up to each, with multiplicities."""
        self._join.count()  # refuses what 64 bits do not count
        whole = self._join.everything()
        return whole[:-1], np.cumsum(whole[-1])


def _matrix(variables: tuple[str, ...] | list[str], values: Values, length: int) -> Words:
    """The words of variables, of shape (variables, length), C order."""
    return np.array([values[v] for v in variables], np.int64).reshape(len(variables), length)
