"""States and transitions so far, and how much memory they take.

Nothing here is needed: what is forgotten is made again. Laws: a transition gives what the definition gives; a state
that an instance is in is never forgotten; behind `TransitionSystem.make` what is stored takes at most the limit, or
what the states that instances are in and the transitions of the version at work take.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from livejoin.families.transitions.static_join import StaticJoin
from livejoin.kernels.transitions import layout as t
from livejoin.kernels.transitions import make as kernel
from livejoin.kernels.transitions.states import fill_slots, hash_transitions
from livejoin.state.budget import Budget
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.reserved import bytes_to_grow, grown
from livejoin.words import Words

MOST_BYTES = 256 << 20
"""What states and transitions take at most where the database has no limit."""

_SHARE = 4  # of a database's limit, that they take at most
_LEAST = 16


class TransitionSystem:
    """States and transitions; mutable.

    Args:
        static: The static join.
        atoms: Dynamic atoms.
        budget: The memory of the database.
    """

    def __init__(self, static: StaticJoin, atoms: int, budget: Budget) -> None:
        self.static = static
        self._atoms = atoms
        self._budget = budget
        self.limit = MOST_BYTES if budget.limit is None else min(MOST_BYTES, budget.limit // _SHARE)
        keys, units = static.rows_that_matter, static.joined.unit_at.shape[0] - 1
        self.stride = t.STATE + ((keys + 63) >> 6)
        self.evictions = 0
        slots = np.zeros(2 * _LEAST, np.int32)
        self.known = t.Known(
            counts=np.zeros(t.COUNTS, np.int64),
            states=np.zeros(2 * self.stride, np.int64),
            state_slots=slots,
            transitions=np.zeros(_LEAST * t.TRANSITION, np.int64),
            transition_slots=slots.copy(),
            changes=np.zeros(_LEAST * t.CHANGE, np.int64),
            change_slots=slots.copy(),
            change_keys=np.zeros(_LEAST, np.int32),
            units=np.zeros(_LEAST, np.int32),
            results=np.zeros(_LEAST, np.int32),
            marks=np.zeros(keys, np.int64),
            seen=np.zeros(units, np.int64),
        )
        self._goes, self._comes = np.empty((2, units), np.int32)
        self.known.counts[t.N_STATES] = 1  # the empty state, in which no unit is alive
        self.known.states[t.S_AT] = 0
        self.known.state_slots[0] = 1
        budget.register(self)

    @cached_property
    def units(self) -> UnitIndex:
        """The units by their values."""
        return UnitIndex(self.static, self._budget)

    @property
    def nbytes(self) -> int:
        """Bytes allocated, the static join included."""
        return int(self.static.nbytes + self._goes.nbytes + self._comes.nbytes) + self._stored

    @property
    def _stored(self) -> int:
        return sum(int(array.nbytes) for array in self.known)

    @property
    def states(self) -> int:
        """States that are known."""
        return len(self.there)

    @property
    def transitions(self) -> int:
        """Transitions that are known."""
        return int(self.known.counts[t.N_TRANSITIONS])

    def make(self, state: int, keys: Words, count: int, wanted: bool) -> bool:
        """Make the transition of a state by a change, and the one back.

        Args:
            state: The state.
            keys: The keys that are turned, of which the first ``count`` mean something.
            count: How many they are.
            wanted: Whether anybody asks what comes and goes.

        Returns:
            Whether other transitions were forgotten for it; those of the version at work were not.

        Raises:
            MemoryLimitError: The database would take more than it may.

        Cost: see `livejoin.kernels.transitions.make.derive`.
        """
        joined, known = self.static.joined, self.known
        known.counts[t.N_MISSES] += 1
        going, coming = -1, 0
        if wanted:
            going, coming = kernel.derive(joined, known, self._atoms, state, keys, count, self._goes, self._comes)
        more = {"units": max(0, going) + coming, "change_keys": count if count > 1 else 0}
        forgets = self._must_forget(more)
        if forgets:
            self.forget()
        self._make_room(more)
        lists = (self._goes, going, self._comes, coming)
        kernel.store(self.known, state, keys, count, *lists)
        return forgets

    def result(self, state: int) -> None:
        """Make the result of a state. Cost: O(rows of the static join)."""
        units, at = self.known.seen.shape[0], int(self.known.counts[t.N_RESULTS])
        more = 4 * (at + units - self.known.results.shape[0])
        if more > 0 and at and self._stored + more > self.limit:
            self._forget_results()
            at, more = 0, 4 * (units - self.known.results.shape[0])
        if more > 0 and self.transitions and self._stored + more > self.limit:
            self.forget()
        if at + units > self.known.results.shape[0]:
            self._grow("results", at + units)
        kernel.fill_result(self.static.joined, self.known, self._atoms, state, True, self._goes)

    def grow_states(self) -> None:
        """Make room for more states."""
        number = int(self.known.counts[t.N_STATES])
        self._grow("states", 2 * (number + 2) * self.stride)
        self._widen_slots()

    def forget(self) -> None:
        """Forget the half of the transitions that were used longest ago, and the states that only these had.

        What was used in the version at work stays. What is kept is copied, and takes the place of all in the end, so
        that who is cut off has forgotten nothing. Cost: O(states and transitions).
        """
        known, counts = self.known, self.known.counts.copy()
        whole = known.transitions[: self.transitions * t.TRANSITION].reshape(-1, t.TRANSITION)
        used = whole[:, t.T_USED]
        is_kept = used == counts[t.N_CLOCK]
        is_kept[np.argsort(-used, kind="stable")[: whole.shape[0] // 2]] = True
        transitions = whole[is_kept]
        known = _with_changes(known, counts, transitions)
        known = _with_units(known, counts, transitions)
        known = self._with_states(known, counts, np.unique(transitions[:, [t.T_FROM, t.T_NEXT]]))
        counts[t.N_TRANSITIONS], counts[t.N_RESULTS] = transitions.shape[0], 0
        number = transitions.shape[0] + _LEAST
        self.known = known._replace(
            counts=counts,
            transitions=_extended(transitions, number),
            transition_slots=_slots(transitions[:, t.T_HASH], np.arange(transitions.shape[0]), 2 * number),
            results=np.zeros(_LEAST, np.int32),
        )
        self.evictions += 1

    def _with_states(self, known: t.Known, counts: Words, kept: Words) -> t.Known:
        """Without other states, but those that instances are in, and the empty one; without results."""
        number = int(counts[t.N_STATES])
        states = known.states[: number * self.stride].reshape(-1, self.stride)
        stays = (states[:, t.S_SIZE] != t.IS_FREE) & (states[:, t.S_REFS] > 0)
        stays[kept] = stays[0] = True
        there = np.flatnonzero(stays)
        last = int(there[-1]) + 1  # what is free behind the last one is not numbered any more
        states = states[:last].copy()
        gone = np.flatnonzero(~stays[:last])
        states[1:, t.S_AT] = -1
        states[gone, t.S_SIZE] = t.IS_FREE
        states[gone, t.S_REFS] = np.append(gone, 0)[1:]
        counts[t.N_FREE], counts[t.N_STATES] = (gone[0] if gone.size else 0), last
        slots = _slots(states[there, t.S_HASH], there, 2 * (last + _LEAST))
        return known._replace(states=_extended(states, last + 2), state_slots=slots)

    def _forget_results(self) -> None:
        known = self.known
        known.states[t.S_AT + self.stride :: self.stride] = -1
        known.counts[t.N_RESULTS] = 0
        self.known = known._replace(results=np.zeros(_LEAST, np.int32))

    @property
    def there(self) -> Words:
        """The numbers of states that are known."""
        number = int(self.known.counts[t.N_STATES])
        states = self.known.states[: number * self.stride].reshape(-1, self.stride)
        return np.flatnonzero(states[:, t.S_SIZE] != t.IS_FREE)

    def _needs(self, more: Mapping[str, int]) -> dict[str, int]:
        """Which arrays must have how many places for one more transition, of those that have not.

        Args:
            more: The places that it takes of units and of keys of changes.
        """
        known, counts = self.known, self.known.counts
        needed = {
            "units": int(counts[t.N_UNITS]) + more["units"],
            "change_keys": int(counts[t.N_CHANGE_KEYS]) + more["change_keys"],
            "states": (int(counts[t.N_STATES]) + 2) * self.stride,
            "transitions": (int(counts[t.N_TRANSITIONS]) + 2) * t.TRANSITION,
            "changes": (int(counts[t.N_CHANGES]) + 1) * t.CHANGE,
        }
        return {name: places for name, places in needed.items() if places > getattr(known, name).shape[0]}

    def _must_forget(self, more: Mapping[str, int]) -> bool:
        """Whether making room would pass the limit, and something can be forgotten."""
        known = self.known
        if not known.counts[t.N_TRANSITIONS]:
            return False
        size = 0
        for name, places in self._needs(more).items():
            array = getattr(known, name)
            size += max(2 * array.shape[0], places) * array.itemsize - array.nbytes
        return size > 0 and (self._stored + size > self.limit or not self._budget.has_room(size))

    def _make_room(self, more: Mapping[str, int]) -> None:
        for name, places in self._needs(more).items():
            self._grow(name, max(2 * getattr(self.known, name).shape[0], places))
        self._widen_slots()

    def _widen_slots(self) -> None:
        """Have at least twice as many slots as numbers and what one more transition needs."""
        known, counts = self.known, self.known.counts
        number = int(counts[t.N_STATES])
        if 2 * (number + 2) > known.state_slots.shape[0]:
            there = self.there
            hashes = known.states[: number * self.stride].reshape(-1, self.stride)[there, t.S_HASH]
            self.known = self.known._replace(state_slots=_slots(hashes, there, 4 * (number + 2)))
        number = int(counts[t.N_TRANSITIONS])
        if 2 * (number + 2) > known.transition_slots.shape[0]:
            hashes = known.transitions[t.T_HASH : number * t.TRANSITION : t.TRANSITION]
            self.known = self.known._replace(transition_slots=_slots(hashes, np.arange(number), 4 * (number + 2)))
        number = int(counts[t.N_CHANGES])
        if 2 * (number + 1) > known.change_slots.shape[0]:
            hashes = known.changes[t.E_HASH : number * t.CHANGE : t.CHANGE]
            self.known = self.known._replace(change_slots=_slots(hashes, np.arange(number), 4 * (number + 2)))

    def _grow(self, name: str, places: int) -> None:
        array: npt.NDArray[Any] = getattr(self.known, name)
        self._budget.take(bytes_to_grow(array, places), "states and transitions")
        self.known = self.known._replace(**{name: grown(array, places)})


class UnitIndex:
    """The units of a static join by their values.

    Args:
        static: The static join.
        budget: The memory of the database.
    """

    def __init__(self, static: StaticJoin, budget: Budget) -> None:
        values = static.joined.shown if static.is_set else static.lines()
        self._rows = DerivedRows(values.shape[0], "the units of a transition system", budget)
        ones = np.ones(values.shape[1], np.int64)
        made = self._rows.apply(np.ascontiguousarray(values), ones, np.zeros_like(ones))
        self._rows.finish()
        self._numbers = np.empty(values.shape[1], np.int64)
        self._numbers[made.rows] = np.arange(values.shape[1])

    def find(self, values: Words) -> Words:
        """The units with some values, int64 of shape (lines, n); -1 where there is none."""
        rows = self._rows.find(values)
        return np.where(rows >= 0, self._numbers[rows], -1) if self._numbers.shape[0] else rows


def _with_changes(known: t.Known, counts: Words, transitions: Words) -> t.Known:
    """Without the changes that none of some transitions has; the others are numbered anew, in the transitions too."""
    keys = known.marks.shape[0]
    places = np.flatnonzero(transitions[:, t.T_CHANGE] >= keys)
    kept, own = np.unique(transitions[places, t.T_CHANGE] - keys, return_inverse=True)
    transitions[places, t.T_CHANGE] = keys + own
    hash_transitions(transitions)
    changes = known.changes[: int(counts[t.N_CHANGES]) * t.CHANGE].reshape(-1, t.CHANGE)[kept]
    changes[:, t.E_AT], change_keys = _packed(known.change_keys, changes[:, t.E_AT], changes[:, t.E_LENGTH])
    counts[t.N_CHANGES], counts[t.N_CHANGE_KEYS] = kept.shape[0], int(changes[:, t.E_LENGTH].sum())
    number = kept.shape[0] + _LEAST
    slots = _slots(changes[:, t.E_HASH], np.arange(kept.shape[0]), 2 * number)
    return known._replace(changes=_extended(changes, number), change_slots=slots, change_keys=change_keys)


def _with_units(known: t.Known, counts: Words, transitions: Words) -> t.Known:
    """With the units of some transitions alone, side by side; a transition and the one back share theirs."""
    segments = np.concatenate([transitions[:, [at, at + 1]] for at in (t.T_GO_AT, t.T_COME_AT)])
    told = segments[:, 1] > 0
    starts, first, own = np.unique(segments[told, 0], return_index=True, return_inverse=True)
    lengths = segments[told, 1][first]
    begins, units = _packed(known.units, starts, lengths)
    segments[told, 0] = begins[own]
    segments[~told, 0] = 0
    transitions[:, t.T_GO_AT], transitions[:, t.T_COME_AT] = segments[:, 0].reshape(2, -1)
    counts[t.N_UNITS] = int(lengths.sum())
    return known._replace(units=units)


def _extended(rows: Words, number: int) -> Words:
    """Rows one behind the other, with room for so many."""
    array = np.zeros(number * rows.shape[1], np.int64)
    array[: rows.size] = rows.ravel()
    return array


def _slots(hashes: Words, numbers: Words, least: int) -> npt.NDArray[np.int32]:
    """Slots for numbers by their hashes, at least so many."""
    slots = np.zeros(1 << max(5, (least - 1).bit_length()), np.int32)
    fill_slots(slots, np.ascontiguousarray(hashes), np.ascontiguousarray(numbers, np.int64))
    return slots


def _packed(array: npt.NDArray[np.int32], starts: Words, lengths: Words) -> tuple[Words, npt.NDArray[np.int32]]:
    """Segments of an array side by side: where each begins, and the array."""
    ends = np.cumsum(lengths)
    begins = ends - lengths
    total = int(ends[-1]) if ends.size else 0
    packed = np.zeros(total + _LEAST, np.int32)
    packed[:total] = array[np.repeat(starts - begins, lengths) + np.arange(total)]
    return begins, packed
