"""The transition system operator: results by the set of dynamic rows that matter (ICDT 2025, section 6).

The query is full with multiplicities, or has distinct results. Law: after every event, what `scan` enumerates is the
query's result over the rows given so far, and the deltas of `maintain` add up to it. Cost of a version: O(1) for each
change, by a transition that was taken before, besides its delta; the first time the rows of the static join with one of
the changed keys, and O(rows that matter / 64) for a new state. Of a result row: O(1), after one walk over the static
join for a state that is read for the first time. Of the state: O(rows), and states and transitions up to a limit.

A change of the static tables makes all anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena.join import ArenaState
from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.join_access import RowIndexes
from livejoin.families.sizes import MAX_COUNT, exactly, too_many
from livejoin.families.transitions.access import TransitionAccess
from livejoin.families.transitions.checks import check
from livejoin.families.transitions.static_join import StaticJoin, numbered, static_join
from livejoin.families.transitions.system import TransitionSystem
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.kernels.transitions import layout as t
from livejoin.kernels.transitions import maintain as kernel
from livejoin.kernels.transitions import read
from livejoin.kernels.transitions.buffers import TransitionBuffers
from livejoin.kernels.transitions.register import enter_keys, note, register
from livejoin.kernels.transitions.settle import settle
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.budget import Budget
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.transitions.plan import TransitionPlan


class TransitionJoin(ArenaState["TransitionPlan"]):
    """State and operations of one transition system; mutable. As `livejoin.families.join.WholeJoin`.

    Args:
        plan: The plan.
        budget: The memory of its database; None where it stands alone.

    Attributes:
        cells: The live arena.
        system: States and transitions.
    """

    def __init__(self, plan: TransitionPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, budget)
        self._done = {"propagated": 0, "stopped": 0, "touched": 0, "probes": 0}
        self._buffers = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64)
        self._output = np.empty((plan.columns, 0), np.int64)
        self._runs = np.empty((q.RUN_FIELDS, 0), np.int64)
        self._most_atoms = max(len(use.atoms) for use in plan.tables)
        self.cells = self._new_cells()
        self.system = self._new_system()
        self._at = Addressed(TransitionBuffers(self.arena.words, self.cells.words, plan.words, *self._buffers))

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """As `livejoin.families.join.Join.maintain`; a version that changes static tables makes all anew."""
        changes_hub = events[q.V_TABLE] == self.plan.hub
        if not changes_hub.any():
            yield from self._maintain(events, emit, capacity)
            return
        versions = events[q.V_VERSION]
        ends = np.append(np.flatnonzero(versions[1:] != versions[:-1]) + 1, versions.shape[0]).tolist()
        for begin, end in zip([0, *ends], ends, strict=False):
            part = np.ascontiguousarray(events[:, begin:end])
            if changes_hub[begin:end].any():
                yield from self._anew(part, emit, capacity)
            else:
                yield from self._maintain(part, emit, capacity)

    def _maintain(self, events: Words, emit: bool, capacity: int | None) -> Iterator[DeltaChunk]:
        """Apply events of dynamic tables."""
        rows, segments = chunk_limits(self.plan.columns, emit, capacity)
        self._make_room(events.shape[1])
        budget = self.arena.budget
        status = k.MORE
        while status != k.DONE:
            output, runs = self._outputs(rows, segments)
            given = (self.system.static.joined, self.system.known, emit, output, runs)
            cells = self.cells.words
            status = int(kernel.maintain(self.line, events, *given))
            self.refuse_overflow()
            if written := int(cells[q.H_OUT]):
                if budget.refuses:
                    budget.hold(output[:, :written].nbytes, "deltas")
                words = output[:, :written]
                if 2 * written < rows:
                    words = words.copy()
                else:
                    self._output = self._output[:, :0]  # it belongs to the caller now
                yield DeltaChunk(words, runs[:, : cells[q.H_SEGMENTS]].copy())
            if status == k.NEED_SPACE:
                self.cells.grow()
            elif status == t.MISS:
                self._make(emit)

    def _outputs(self, rows: int, segments: int) -> tuple[Words, Words]:
        """The buffers of the last delta if they have this size, else new ones."""
        if self._output.shape[1] != rows:
            self._output = np.empty((self.plan.columns, rows), np.int64)
        if self._runs.shape[1] != segments:
            self._runs = np.empty((q.RUN_FIELDS, segments), np.int64)
        return self._output, self._runs

    def _make(self, wanted: bool) -> None:
        """Make the transition that the kernel asks for."""
        cells = self.cells.words
        _, found, keys = self._buffers
        instance = int(found[cells[t.H_INSTANCE] * t.FOUND + t.F_INSTANCE])
        state, count = int(cells[instance + t.I_STATE]), int(cells[t.H_TOGGLED])
        if self.system.make(state, keys, count, wanted):
            cells[t.H_INSTANCE] = 0  # transitions of this version that are found already have other places

    def _make_room(self, events: int) -> None:
        """Have buffers for the touched cells and instances of a version."""
        places = events * self._most_atoms
        if self._buffers[2].shape[0] <= places:
            self.arena.budget.hold((t.TOUCHED + t.FOUND + 1) * 8 * places, "staged changes")
            touched, found = np.empty(places * t.TOUCHED, np.int64), np.empty(places * t.FOUND, np.int64)
            self._buffers = touched, found, np.empty(places + 1, np.int64)

    @property
    def line(self) -> Words:
        """The line of addresses of the state."""
        touched, found, keys = self._buffers
        records, live = self.arena.words, self.cells.words
        self._at = self._at.replaced(records=records, live=live, touched=touched, found=found, keys=keys)
        return self._at.line

    def enlist(self, events: Words, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.enlist`."""
        self.arena.words[q.H_REGISTERED] += note(self.arena.words, self.plan.words, events)

    def build(self, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.build`. Cost: O(rows log rows)."""
        if not self.registered:
            return
        for name, value in self._work().items():
            self._done[name] += value
        budget = self.arena.budget
        self.cells, self.system = self._new_cells(), self._new_system()
        budget.check("a static join")
        first = 0
        for atom, keys in zip(self.plan.atoms, self.system.static.keys, strict=True):
            while enter_keys(self.line, atom, keys, first) == k.NEED_SPACE:
                self.cells.grow()
            first += keys.shape[1]
        rows = [self._rows_of(table) for table in range(len(self.plan.tables))]
        self._make_room(sum(one.shape[0] for one in rows))
        for table, ids in enumerate(rows):
            while register(self.line, table, ids) == k.NEED_SPACE:
                self.cells.grow()
        while settle(self.line, self.system.known) == k.NEED_SPACE:
            self.system.grow_states()
        self._buffers = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64)

    def _anew(self, events: Words, emit: bool, capacity: int | None) -> Iterator[DeltaChunk]:
        """Apply a version that changes static tables, and give the difference of the results."""
        before = self.everything() if emit else None
        self.enlist(events)
        if self.registered:
            self.build()
        else:
            self.cells, self.system = self._new_cells(), self._new_system()
        if before is None:
            return
        after = self.everything()
        rows = np.concatenate([before[:-1], after[:-1]], axis=1)
        numbers, places = numbered(rows)
        times = np.zeros(places.shape[0], np.int64)
        np.add.at(times, numbers, np.concatenate([-before[-1], after[-1]]))
        most, _ = chunk_limits(self.plan.columns, emit, capacity)
        run = np.zeros((q.RUN_FIELDS, 1), np.int64)
        run[q.R_VERSION] = events[q.V_VERSION, 0]
        for sign in (-1, 1):
            changed = np.flatnonzero(sign * times > 0)
            whole = np.repeat(rows[:, places[changed]], sign * times[changed], axis=1)
            run[q.R_SIGN] = sign
            for begin in range(0, whole.shape[1], most):
                yield DeltaChunk(np.ascontiguousarray(whole[:, begin : begin + most]), run.copy())

    def everything(self) -> Words:
        """All results, with their multiplicities as the last line."""
        parts = [np.empty((self.plan.columns + 1, 0), np.int64), *self.combinations(1 << 14)]
        whole: Words = np.concatenate(parts, axis=1)
        self.arena.budget.hold(whole.nbytes, "deltas")
        return whole

    def scan(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.scan`."""
        return self._enumerated(self.plan.columns, capacity)

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.combinations`."""
        return self._enumerated(self.plan.columns + 1, capacity)

    def _enumerated(self, lines: int, capacity: int) -> Iterator[Words]:
        cursor = np.zeros(t.SCAN, np.int64)
        status = k.MORE
        while status != k.DONE:
            output = np.empty((lines, capacity), np.int64)
            arguments = (cursor, self.system.static.joined, self.system.known, output)
            status, rows = read.scan(self.line, *arguments)
            self.refuse_overflow()
            if rows:
                yield output[:, :rows]
            if status == t.MISS:
                self.system.result(int(cursor[t.SCAN_STATE]))

    def count(self) -> int:
        """As `livejoin.families.join.Join.count`. Cost: O(instances), once all their states are known."""
        return exactly(self.size())

    def size(self) -> int | float:
        """As `livejoin.families.join.Join.size`."""
        exact, rough, *_ = self.sizes_of_instances()
        return rough if rough > MAX_COUNT else exact

    def sizes_of_instances(self) -> tuple[int, float, Words, Words]:
        """The results, modulo 2**64 and about; the instances in the order of the scan, and the results of each."""
        places = int(self.cells.words[int(self.plan.words[t.P_INSTANCES]) + k.D_COUNT])
        instances, sizes = np.empty(places, np.int64), np.empty(places, np.int64)
        cursor = np.zeros(t.SCAN, np.int64)
        exact, rough, status = 0, 0.0, k.MORE
        while status != k.DONE:
            arguments = (cursor, self.system.static.joined, self.system.known, instances, sizes)
            status, more, about = read.count(self.line, *arguments)
            exact, rough = exact + int(more), rough + float(about)
            if status == t.MISS:
                self.system.result(int(cursor[t.SCAN_STATE]))
        return exact, rough, instances, sizes

    def access(self, tables: RowIndexes) -> TransitionAccess:
        """As `livejoin.families.join.Join.access`."""
        return TransitionAccess(self)

    @property
    def weighed(self) -> int:
        """None: the delta of a version is net here."""
        return 0

    def counters(self) -> dict[str, int]:
        """Work done so far.

        Returns:
            ``propagated``: transitions that were made; ``stopped``: steps by transitions that were there; ``touched``:
            as ``propagated``; ``probes``: look-ups of keys.
        """
        return {name: value + self._done[name] for name, value in self._work().items()}

    def _work(self) -> dict[str, int]:
        """Work done since all was made anew."""
        counts = self.system.known.counts
        made, taken = int(counts[t.N_MISSES]), int(counts[t.N_HITS])
        probes = int(self.cells.words[q.H_PROBES])
        return {"propagated": made, "stopped": max(0, taken - made), "touched": made, "probes": probes}

    @property
    def probes(self) -> int:
        return self.counters()["probes"]

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """As `livejoin.families.join.Join.restore`; states are made of the rows that are there."""
        super().restore(arrays)
        self.build()

    def sizes(self) -> tuple[int, int]:
        """As `livejoin.families.join.Join.sizes`; O(1)."""
        handed, allocated = self.cells.sizes()
        rows, rows_allocated = self.arena.sizes()
        known = self.system.nbytes
        return handed + rows + known, allocated + rows_allocated + known

    def free_bytes(self) -> int:
        """As `livejoin.families.join.Join.free_bytes`."""
        return self.arena.free_bytes() + self.cells.free_bytes(self.plan.live_directories)

    def _rows_of(self, table: int) -> Words:
        """The ids of the rows of a table that are in some atom."""
        matrix, use = self.records_of(table), self.plan.tables[table]
        own = sorted({self.own_words(atom) + t.R_TIMES for atom in use.atoms})
        return np.flatnonzero((matrix[:, own] > 0).any(axis=1))

    def own_words(self, atom: int) -> int:
        """Where the records of an atom have its own words."""
        words = self.plan.words
        return int(words[t.P_HUB_OWN] if atom == 0 else words[self.plan.atoms[atom - 1] + t.A_OWN])

    def records_of(self, table: int) -> Words:
        """The records of a table, of shape (rows, stride)."""
        m, words, stride = self.arena.words, self.plan.words, self.plan.tables[table].stride
        header = int(words[int(words[q.P_FIRST_TABLE]) + table * q.PLAN_TABLE + q.PT_HEADER])
        chunks = m[m[header + q.T_CHUNKS] : m[header + q.T_CHUNKS] + m[header + q.T_COUNT]]
        matrix: Words = m[chunks[:, None] + np.arange(stride * q.CHUNK_ROWS)].reshape(-1, stride)
        return matrix

    def _new_cells(self) -> Arena:
        return Arena(self.plan.live_words, tuple(self.plan.live_directories), (), self.arena.budget)

    def _new_system(self) -> TransitionSystem:
        return TransitionSystem(self._static_join(), len(self.plan.atoms), self.arena.budget)

    def _static_join(self) -> StaticJoin:
        plan = self.plan
        records = self.records_of(plan.hub)
        times = records[:, self.own_words(0) + t.R_TIMES]
        there = np.flatnonzero(times > 0)
        values = np.ascontiguousarray(records[there][:, list(plan.hub_places)].T)
        return static_join(values, times[there], plan.decided, plan.shown, plan.is_set)

    def refuse_overflow(self) -> None:
        """After a kernel: refuse multiplicities that do not fit their words.

        Raises:
            CapacityError: One does not fit.
        """
        if self.cells.words[q.H_OVERFLOW]:
            raise too_many(self.plan.query)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check(self)
