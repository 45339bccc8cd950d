"""Asserts that a transition system is what its definition says, by recomputing it; slow, for tests.

Cells follow from the records, the states of instances from the cells, and what transitions let come and go from the
units that are alive in their two states.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena.checks import check_tiling, directory_spans, record_spans
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.kernels.transitions import layout as t

if TYPE_CHECKING:
    from livejoin.families.transitions.join import TransitionJoin


def check(join: TransitionJoin) -> None:
    """Assert all invariants; O(state) Python steps."""
    state = _State(join)
    state.check_cells()
    state.check_states()
    state.check_transitions()
    check_tiling(join.arena.words, record_spans(join.plan, join.arena.words))


class _State:
    """A transition system as sets."""

    def __init__(self, join: TransitionJoin) -> None:
        self.join, self.plan, self.system = join, join.plan, join.system
        self.m, self.known, self.joined = join.cells.words, join.system.known, join.system.static.joined
        shared = len(self.plan.shared)
        self.instances = {
            tuple(self.m[entry + t.I_KEY : entry + t.I_KEY + shared].tolist()): entry
            for entry in self.entries(int(self.plan.words[t.P_INSTANCES]))
        }

    def entries(self, directory: int) -> list[int]:
        """All entries of a directory."""
        slots, log = int(self.m[directory + k.D_SLOTS]), int(self.m[directory + k.D_LOG])
        found = [int(w) & k.MASK32 for w in self.m[slots : slots + (1 << log)] if w != 0]
        assert len(found) == int(self.m[directory + k.D_COUNT]), "entries are counted"
        return found

    def keys(self) -> list[dict[tuple[int, ...], int]]:
        """For each dynamic atom the number of each key."""
        found = []
        for atom in self.plan.atoms:
            directory, width = self.plan.words[[atom + t.A_KEYS, atom + t.A_WIDTH]].tolist()
            found.append(
                {
                    tuple(self.m[entry + t.K_KEY : entry + t.K_KEY + width].tolist()): int(self.m[entry + t.K_ID])
                    for entry in self.entries(directory)
                }
            )
        return found

    def check_cells(self) -> None:
        """Cells and the states of instances follow from the records."""
        wanted: Counter[tuple[tuple[int, ...], int]] = Counter()
        registered = 0
        for table, use in enumerate(self.plan.tables):
            records = self.join.records_of(table)
            for atom in use.atoms:
                own = self.join.own_words(atom)
                times = records[:, own + t.R_TIMES]
                assert (times >= 0).all(), "multiplicities"
                registered += int((times > 0).sum())
                if atom == 0:
                    continue
                descriptor, keys = self.plan.atoms[atom - 1], self.keys()[atom - 1]
                width = int(self.plan.words[descriptor + t.A_WIDTH])
                places = self.plan.words[descriptor + t.A_PLACES :][:1].tolist()[0]
                shared = int(self.plan.words[descriptor + t.A_SHARED])
                for record in records[times > 0]:
                    of_key = tuple(record[self.plan.words[places : places + width]].tolist())
                    instance = tuple(record[self.plan.words[shared : shared + len(self.plan.shared)]].tolist())
                    if of_key in keys:
                        wanted[instance, keys[of_key]] += int(record[own + t.R_TIMES])
                        assert record[own + t.R_CELL] != 0, "a row that matters has a cell"
                    else:
                        assert record[own + t.R_CELL] == 0, "a row that does not matter has none"
        assert registered == self.join.registered, "registered atom rows"
        values = {entry: key for key, entry in self.instances.items()}
        cells = self.entries(int(self.plan.words[t.P_CELLS]))
        found = {
            (values[int(self.m[cell + t.C_KEY])], int(self.m[cell + t.C_KEY + 1])): int(self.m[cell + t.C_TIMES])
            for cell in cells
        }
        assert found == wanted, "cells"
        assert not any(self.m[cell + t.C_MARK] for cell in cells), "no cell is touched between versions"
        assert int(self.m[q.H_DUPLICATES]) == sum(times > 1 for times in found.values()), "duplicates"
        for key, entry in self.instances.items():
            keys_there = {number for instance, number in wanted if instance == key}
            assert int(self.m[entry + t.I_CELLS]) == len(keys_there) > 0, "cells of an instance"
            assert self.set_of(int(self.m[entry + t.I_STATE])) == keys_there, "the state of an instance"
        entries = {**self.plan.live_directories}
        spans = [(0, self.plan.live_words)]
        for directory, size in entries.items():
            spans += directory_spans(self.m, directory, self.entries(directory), size)
        check_tiling(self.m, spans)

    def set_of(self, state: int) -> set[int]:
        """The keys of a state."""
        at = state * self.system.stride
        words = self.known.states[at + t.STATE : at + self.system.stride]
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return set(np.flatnonzero(bits).tolist())

    def alive(self, state: int) -> set[int]:
        """The units that are alive in a state."""
        there = self.set_of(state)
        atoms = len(self.plan.atoms)
        row_keys = self.joined.row_keys.reshape(-1, atoms).tolist()
        return {int(self.joined.unit_of[row]) for row, keys in enumerate(row_keys) if there.issuperset(keys)}

    def check_states(self) -> None:
        """States differ, are found by their hashes, and have the results that are kept with them."""
        numbers = self.system.there.tolist()
        slots = sorted((self.known.state_slots[self.known.state_slots != 0] - 1).tolist())
        assert slots == numbers, "states in slots"
        assert len({frozenset(self.set_of(number)) for number in numbers}) == len(numbers), "states differ"
        inside = Counter(int(self.m[entry + t.I_STATE]) for entry in self.instances.values())
        for number in numbers:
            at = number * self.system.stride
            size, begin = int(self.known.states[at + t.S_SIZE]), int(self.known.states[at + t.S_AT])
            assert number == 0 or int(self.known.states[at + t.S_REFS]) == inside[number], "instances in a state"
            assert size in (-1, len(self.alive(number))), "the size of a result"
            if begin >= 0:
                assert set(self.known.results[begin : begin + size].tolist()) == self.alive(number), "a result"

    def check_transitions(self) -> None:
        """Transitions end where their changes lead, and let come and go what differs."""
        keys = self.known.marks.shape[0]
        seen = set()
        for number in range(self.system.transitions):
            one = self.known.transitions[number * t.TRANSITION : (number + 1) * t.TRANSITION].tolist()
            change = {one[t.T_CHANGE]}
            if one[t.T_CHANGE] >= keys:
                at = (one[t.T_CHANGE] - keys) * t.CHANGE
                begin, length = self.known.changes[at + t.E_AT : at + t.E_LENGTH + 1].tolist()
                change = set(self.known.change_keys[begin : begin + length].tolist())
                assert len(change) == length > 1, "a change that is a set"
            state, following = one[t.T_FROM], one[t.T_NEXT]
            assert self.set_of(following) == self.set_of(state) ^ change, "the next state"
            assert (state, frozenset(change)) not in seen, "a transition is there once"
            seen.add((state, frozenset(change)))
            if one[t.T_GO] >= 0:
                goes = self.known.units[one[t.T_GO_AT] : one[t.T_GO_AT] + one[t.T_GO]].tolist()
                comes = self.known.units[one[t.T_COME_AT] : one[t.T_COME_AT] + one[t.T_COME]].tolist()
                before, after = self.alive(state), self.alive(following)
                assert sorted(goes) == sorted(before - after), "what goes"
                assert sorted(comes) == sorted(after - before), "what comes"
