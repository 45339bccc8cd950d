"""A base table: its rows as words, a hash index over them, that of its UNIQUE constraints, and the window.

Law: after `commit` the table is the multiset that the changes so far make; after `rollback` it is what it was before
the staging. An exception may come out of any line, from a signal or for lack of memory: after one, `rollback` and
`commit` can be called, and called again when they were themselves cut off. Cost of a change: O(1) expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livejoin.errors import CapacityError, StateError
from livejoin.kernels.memory import layout as k
from livejoin.kernels.relation import (
    find,
    range_window,
    settle_keys,
    settling,
    stage_changes,
    stage_commit,
    stage_few,
    staging,
    unique,
    window,
)
from livejoin.kernels.relation import rows as kernel
from livejoin.kernels.relation.buffers import TableBuffers
from livejoin.kernels.relation.gather import gather
from livejoin.kernels.relation.staging import G_MADE, PROGRESS
from livejoin.kernels.relation.used import AT_ONCE, Marks, mark_used
from livejoin.schema import Table
from livejoin.state.addressed import Addressed
from livejoin.state.budget import Budget
from livejoin.state.codec import is_coded
from livejoin.state.constraints import constraints
from livejoin.state.slots import (
    empty_slots,
    extended,
    ids_in_use,
    ids_of,
    is_sparse,
    roomy,
    rows_with,
    trimmed,
    values_of,
)
from livejoin.state.table_invariants import check_table
from livejoin.state.window_room import empty_queue, roomy_queue, window_of
from livejoin.words import Words

_FEW = 1 << 12  # changes that are staged in one call, of less than a millisecond
_NOTHING_TOUCHED = np.zeros((0, kernel.TOUCHED), np.int64)
_NO_UNIQUES = np.zeros(1, np.int64)
_LOOKED_AT = 1 << 16  # rows that one call of a kernel looks at: some milliseconds, after which Python looks for signals
_DEAD_ENTRIES = 1024  # a window's queue may hold as many more entries than twice its rows


class Conflict(Exception):
    """A change that breaks a rule of its table; a signal to the caller, who knows the values and makes the error.

    Args:
        status: ``ABSENT``, ``DUPLICATE`` or ``TAKEN`` of `livejoin.kernels.relation.rows`.
        change: Position of the change among those staged.

    Attributes:
        absent: Whether the row, or the key, is not there.
        unique: The number of the UNIQUE constraint that another row has the values of; None for the primary key.
    """

    def __init__(self, status: int, change: int) -> None:
        super().__init__(status, change)
        self.absent = status == kernel.ABSENT
        self.unique = status - kernel.TAKEN if status >= kernel.TAKEN else None
        self.change = change


@dataclass(eq=False)
class Staged:
    """What a staging did.

    Args:
        rows: Row id of each event.
        weights: Change of its multiplicity.
        changes: Position of the change in the given data that names the row; -1 if only the window took it out, or a
            change that named its key.
        ignored: Conflicts that were skipped.
        late: Changes that were skipped because their key has a newer one.
    """

    rows: Words
    weights: Words
    changes: Words
    ignored: int
    late: int = 0


class BaseTable:
    """The rows of a table; mutable.

    Args:
        table: The declaration.
        budget: The memory of its database; None where it stands alone.

    Attributes:
        coded: Columns whose words may be codes of the dictionaries.
        tombstones: With ``sequence_by`` the keys that were deleted, each with the sequence of its deletion; the rest is
            in `livejoin.state.tombstones`.
        watermark: The largest sequence of a tombstone that was dropped; None if there was none.
        late: Changes that were late since the table was made.
        kept: With ``retain = "used"`` the columns of which the rows have values, decided when the first one comes; the
            words of the others are NULL. None keeps all.
        kept_for: The views that ``kept`` was found for, of a table that keeps no rows.
        renumbered: The ids that the rows had before they got others, from 0 on, the last time; None if they never did,
            or nobody follows them.
    """

    def __init__(self, table: Table, budget: Budget | None = None) -> None:
        self.table = table
        self._budget = budget or Budget()
        self._first = 2 if table.has_window else 1
        self.stride = self._first + len(table.columns)
        self.coded = sum(is_coded(column.type) for column in table.columns)
        self._at = Addressed(
            TableBuffers(
                header=np.zeros(kernel.ROWS_HEADER, np.int64),
                words=np.zeros(16 * self.stride, np.int64),
                slots=empty_slots(4),
                key=np.array([len(table.primary_key), *(self._first + c for c in table.primary_key)], np.int64),
                unique_slots=empty_slots(4 if table.unique else 0),
                uniques=constraints(table, self._first),
                queue=empty_queue(table),
                window=window_of(table, self._first),
                phase=np.zeros(settling.PHASE_WORDS, np.int64),
                stride=self.stride,
                first=self._first,
            )
        )
        self._touched = _NOTHING_TOUCHED
        self._few = None if table.has_window else _Few()
        self._counted = -1  # rows that the staging has touched, once that is known
        self._expected = 0  # rows that the indexes are to have room for, however few there are
        self._before = (0, 0)  # head and tail of the queue or begin of the range, as they were
        self.tombstones = None if table.sequence_by is None else BaseTable(table.of_tombstones, self._budget)
        self.watermark: int | None = None
        self.late = 0
        self.kept: frozenset[int] | None = None
        self.kept_for: object = None
        self.renumbered: Words | None = None
        self._watermark_before: int | None = None
        self._late_after = 0
        self._budget.register(self)

    @property
    def words(self) -> Words:
        """The rows, ``stride`` words each, by their ids."""
        found: Words = self._at.buffers.words
        return found

    @property
    def _header(self) -> Words:
        found: Words = self._at.buffers.header
        return found

    @property
    def _slots(self) -> Words:
        found: Words = self._at.buffers.slots
        return found

    @property
    def _unique_slots(self) -> Words:
        found: Words = self._at.buffers.unique_slots
        return found

    @property
    def _queue(self) -> Words:
        found: Words = self._at.buffers.queue
        return found

    @property
    def _phase(self) -> Words:
        found: Words = self._at.buffers.phase
        return found

    def take_over(self, **buffers: Words) -> None:
        """Have other buffers from here on, by their names in `TableBuffers`."""
        self._at = self._at.replaced(**buffers)

    @property
    def rows(self) -> int:
        """Distinct rows."""
        return int(self._header[kernel.R_ROWS])

    @property
    def total(self) -> int:
        """Rows counted with their multiplicities."""
        return int(self._header[kernel.R_TOTAL])

    @property
    def nbytes(self) -> int:
        """Bytes allocated, but for tombstones, which count by themselves."""
        return sum(array.nbytes for array in (self.words, self._slots, self._unique_slots, self._queue))

    def sizes(self) -> tuple[int, int]:
        """Bytes of the rows that are there, each with its places in the indexes, and bytes allocated; O(1)."""
        places = self.stride + 1 + len(self.table.unique)
        used = self.rows * places + (self._entries if self.table.has_window else 0)
        beside = (0, 0) if self.tombstones is None else self.tombstones.sizes()
        return used * self.words.itemsize + beside[0], self.nbytes + beside[1]

    def dropped(self) -> list[str]:
        """The names of the columns that are not kept."""
        kept = range(len(self.table.columns)) if self.kept is None else self.kept
        return [column.name for place, column in enumerate(self.table.columns) if place not in kept]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows under dense ids would take at most a quarter of the words."""
        return is_sparse(self._header, self.words, self.stride)

    def trim(self) -> None:
        """Between two commits: give back what is free, as far as rows can keep their ids. Cost: O(1) amortised."""
        self._forget_dead_entries()
        header, words = trimmed(self._header, self.words, self.stride, self._slots)
        self.take_over(header=header, words=words)
        self.take_over(slots=roomy(self._slots, int(self._header[kernel.R_USED]), self._budget))
        if self.table.unique:
            entries = len(self.table.unique) * self.rows
            self.take_over(unique_slots=roomy(self._unique_slots, entries, self._budget))
        self._make_room_in_window(self._entries if self.table.has_window else 0)
        if self.tombstones is not None:
            self.tombstones.trim()

    @property
    def begin(self) -> int:
        """With a window by range the least time that is in it."""
        return int(self._queue[range_window.W_BEGIN])

    def value_offset(self, column: int) -> int:
        """Offset of a column's word in a row."""
        return self._first + column

    def stage_commit(self, values: Words, weights: Words, ignore: bool) -> Staged:
        """Apply an atomic set of changes, whose order matters for the window alone.

        Args:
            values: Words of shape (columns, n).
            weights: +1 or -1 a change.
            ignore: Skip conflicts and count them.

        Returns:
            The net events, deletions first.

        Raises:
            Conflict: A deletion of a row that is not there, a second row with the same primary key, or with the same
                values of a UNIQUE constraint; the table is as before.
            MemoryLimitError: The database would take more than it may; the table is as before.
        """
        if self._few is not None and weights.shape[0] <= _FEW:
            staged = self._stage_few(self._few, values, weights, ignore)
            if staged is not None:
                return staged
        self._begin(weights)
        arguments = (self._at.line, values, weights, ignore, self._touched, _no_progress())
        status = kernel.MORE
        while status == kernel.MORE:
            status, count, change = stage_commit.stage_commit(*arguments)
        if status != kernel.OK:
            self.rollback()
            raise Conflict(status, _that_brings(status, change, values, weights))
        return self._result(self._net_events(count))

    def _stage_few(self, few: _Few, values: Words, weights: Words, ignore: bool) -> Staged | None:
        """As `stage_commit`, in one call of a kernel; None if room has to be made first, and nothing was done."""
        at, changes = self._at, weights.shape[0]
        if at.buffers.phase[settling.PHASE] != settling.IDLE:
            self._refuse_staged()
        self._counted = -1
        self._touched = few.touched_by(changes)
        events = np.empty((kernel.EVENT, changes), np.int64)
        status, count, made, change = stage_few.stage_few(
            at.line, values, weights, ignore, self._touched, few.progress, events
        )
        if status == kernel.NO_ROOM:
            return None
        self._counted = count
        if status != kernel.OK:
            self.rollback()
            raise Conflict(status, _that_brings(status, change, values, weights))
        ignored = int(self._header[kernel.R_IGNORED]) if ignore else 0
        return Staged(events[0, :made], events[1, :made], events[2, :made], ignored)

    def stage_changes(self, values: Words, weights: Words, ignore: bool) -> Staged:
        """Apply changes one after the other; otherwise as `stage_commit`, but with all events in order.

        ``weights`` may also be kinds of changes by key, as `livejoin.kernels.relation.staging` names them.
        """
        return self._result(np.ascontiguousarray(self._stage_each(values, weights, ignore).T))

    def stage_in_order(self, values: Words, kinds: Words, ignore: bool) -> Staged:
        """As `stage_changes`, but with the net events, deletions first: what is left of all changes together.

        A row that a change by key took out names no change, and one that comes names the one that brings it. UNIQUE
        constraints count for what is left; where conflicts are skipped, they count for each change.
        """
        is_late = bool(self.table.unique) and not ignore
        events = self._stage_each(values, kinds, ignore, is_late)
        count = self._staged
        if is_late:
            self._settle_uniques(events, count)
        net = self._net_events(count)
        lost = np.flatnonzero((net[1] > 0) & (net[2] < 0))  # a window dropped a dead entry of theirs before
        if lost.shape[0]:
            brought = events[events[:, 1] > 0]
            order = np.argsort(brought[:, 0], kind="stable")
            net[2, lost] = brought[order[np.searchsorted(brought[order, 0], net[0, lost])], 2]
        return self._result(net)

    def _settle_uniques(self, events: Words, count: int) -> None:
        """Look at the UNIQUE constraints, of changes that are staged without them and have touched so many rows."""
        progress, status = _no_progress(), kernel.MORE
        progress[staging.G_COUNT] = count
        arguments = (self._at.line, self._touched, progress)
        while status == kernel.MORE:
            status, _, _ = settle_keys.settle_uniques(*arguments)
        if status != kernel.OK:
            row = self._touched[progress[staging.G_PLACE] - count, 0]
            brought = events[(events[:, 0] == row) & (events[:, 1] > 0)]
            self.rollback()
            raise Conflict(status, int(brought[-1, 2]))

    def _stage_each(self, values: Words, weights: Words, ignore: bool, without_uniques: bool = False) -> Words:
        """Apply changes one after the other, each under the UNIQUE constraints or without them; the events in order."""
        self._begin(weights)
        at = self._at.replaced(uniques=_NO_UNIQUES) if without_uniques else self._at
        events = np.empty((self._touched.shape[0] + weights.shape[0], 3), np.int64)
        arguments = (at.line, values, weights, ignore, self._touched, _no_progress(), events)
        status = kernel.MORE
        while status == kernel.MORE:
            status, _, made, change = stage_changes.stage_changes(*arguments)
        if status != kernel.OK:
            self.rollback()
            raise Conflict(status, change)
        return events[:made]

    def _net_events(self, count: int) -> Words:
        """What is left of the changes that are staged, deletions first; they have touched so many rows.

        Returns:
            int64 of shape (EVENT, n): row ids, weights, and changes.
        """
        self._counted = count  # from here on nothing more is touched
        events, progress = np.empty((kernel.EVENT, count), np.int64), _no_progress()
        arguments = (self._at.line, self._touched, count, events, progress)
        while settling.net_events(*arguments) == kernel.MORE:
            pass
        return events[:, : progress[G_MADE]]

    def commit(self) -> None:
        """End a staging for good, if there is one; ids of rows that are gone may be used again."""
        if self.tombstones is not None:
            self.tombstones.commit()
        self.late, self._watermark_before = self._late_after, self.watermark
        if self._at.buffers.phase[settling.PHASE] == settling.IDLE:
            return
        count = self._counted if self._counted >= 0 else self._staged
        while settling.finish_commit(self._at.line, self._touched, count) == kernel.MORE:
            pass
        self._touched = _NOTHING_TOUCHED

    def rollback(self) -> None:
        """Undo a staging, if there is one."""
        self._late_after, self.watermark = self.late, self._watermark_before
        if self.tombstones is not None:
            self.tombstones.rollback()
        if self._phase[settling.PHASE] == settling.STAGED:
            staged = (self._touched, self._staged, *self._before)
            while settling.undo(self._at.line, *staged) == kernel.MORE:
                pass
        self.commit()

    def expect(self, rows: int) -> None:
        """Let the indexes have room for so many rows from the next staging on, 0 for those that are there."""
        self._expected = rows

    def note_late(self, count: int) -> None:
        """Let a staging have met so many late changes."""
        self._late_after = self.late + count

    def remember(self, watermark: int | None, late: int) -> None:
        """Take over what another table with these rows has forgotten and counted; not while anything is staged."""
        self.watermark = self._watermark_before = watermark
        self.late = self._late_after = late

    def live_rows(self) -> tuple[Words, Words]:
        """Ids and multiplicities of all rows, ids ascending; O(rows log rows), whatever was there before."""
        ids = ids_in_use(self._header, self._slots)
        weights = self.words[ids * self.stride] >> 1
        there = weights > 0
        return (ids, weights) if there.all() else (ids[there], weights[there])

    def values_of(self, rows: Words) -> Words:
        """Words of shape (columns, n) of the given rows."""
        return values_of(self.words, self.stride, self._first, rows)

    def columns_of(self, rows: Words, columns: Sequence[int] | Words) -> Words:
        """Words of some columns of the given rows, of shape (columns, n)."""
        values = np.empty((len(columns), rows.shape[0]), np.int64)
        gather(self._at.line, np.asarray(columns, np.int64), rows if rows.flags.c_contiguous else rows.copy(), values)
        return values

    def find(self, values: Words) -> Words:
        """Ids of given rows, -1 for those that are not there; expected O(1) a row.

        Args:
            values: Words of shape (columns, n).
        """
        found = np.empty(values.shape[1], np.int64)
        find.find_rows(self._at.line, values, found)
        return self._there(found)

    def find_key(self, values: Words, key: tuple[int, ...] | None = None) -> Words:
        """Ids of the rows with given keys, -1 for those that are not there; expected O(1) a row.

        Args:
            values: Words of shape (columns of the key, n).
            key: A key of the table; None for the primary key.
        """
        found = np.empty(values.shape[1], np.int64)
        if key in (None, self.table.primary_key):
            find.find_keys(self._at.line, values, found)
        else:
            unique.find_unique(self._at.line, self.table.unique.index(key), values, found)
        return self._there(found)

    def used_ids(self) -> Words:
        """The ids of all rows, also of those that only a window's queue still names; O(rows log rows)."""
        return ids_of(self._slots)

    def used_words(self, column: int, ids: Words | None = None) -> Words:
        """Words of one column over all rows that have an id; those of tombstones are among them.

        Args:
            column: The column.
            ids: The ids from `used_ids`, for callers that ask for several columns.
        """
        named: Words = self.words[(self.used_ids() if ids is None else ids) * self.stride + self._first + column]
        if self.tombstones is None or column not in self.table.primary_key:
            return named
        return np.concatenate([named, self.tombstones.used_words(self.table.primary_key.index(column))])

    def mark_codes(self, columns: Sequence[int], ids: Words, marks: npt.NDArray[np.bool_]) -> Words:
        """Mark the codes of strings that rows with an id hold, tombstones among them.

        Args:
            columns: The columns, of types whose words are such codes.
            ids: The ids from `used_ids`.
            marks: A place for each code of the dictionary; those that no row holds stay as they are.

        Returns:
            For each column the number of different codes in it.

        Raises:
            StateError: A word that is no code.

        Cost: O(rows * columns + codes).
        """
        counts = np.zeros(len(columns), np.int64)
        for begin in range(0, len(columns), AT_ONCE):
            some, seen = columns[begin : begin + AT_ONCE], np.zeros(marks.shape[0], np.uint8)
            bits = np.left_shift(np.uint8(1), np.arange(len(some), dtype=np.uint8))
            self._mark(np.array(some), ids, bits, seen, counts[begin : begin + AT_ONCE])
            key = self.table.primary_key
            keyed = [place for place, column in enumerate(some) if column in key]
            if self.tombstones is not None and keyed:
                found = counts[begin + np.array(keyed)]
                parts = np.array([key.index(some[place]) for place in keyed])
                self.tombstones._mark(parts, self.tombstones.used_ids(), bits[keyed], seen, found)
                counts[begin + np.array(keyed)] = found
            np.logical_or(marks, seen, out=marks)
        return counts

    def _mark(self, columns: Words, ids: Words, bits: Marks, seen: Marks, counts: Words) -> None:
        for begin in range(0, ids.shape[0], _LOOKED_AT):
            some = ids[begin : begin + _LOOKED_AT]
            bad = mark_used(self._at.line, some, columns, bits, seen, counts)
            if bad >= 0 or bad < -1:
                msg = f"table {self.table.name}: a row has the code {bad}, which is not in the dictionary"
                raise StateError(msg)

    def _begin(self, weights: Words) -> None:
        """Make room for the worst case, so that the kernels never allocate; give back what is not needed."""
        self._refuse_staged()
        inserts = int(np.count_nonzero(weights > 0))
        entries = 0
        if self.table.has_window:
            self._forget_dead_entries()
            entries = self._entries + inserts
        at = self._at.buffers
        header, words = trimmed(at.header, at.words, self.stride, at.slots)
        if words is not at.words or header is not at.header:
            self.take_over(header=header, words=words)
        rows = rows_with(header, inserts)
        if rows >= k.MAX_WORDS // self.stride:
            msg = f"table {self.table.name!r} would have {rows:,} rows, more than one table can address"
            raise CapacityError(msg)
        larger = extended(header, words, self.stride, inserts, self._budget)
        if larger is not words:
            self.take_over(words=larger)  # at once: what is refused behind it leaves the room that was made
        slots = roomy(at.slots, max(int(header[kernel.R_USED]) + inserts, self._expected), self._budget)
        if slots is not at.slots:
            self.take_over(slots=slots)
        if self.table.unique:
            entries_of_all = len(self.table.unique) * max(self.rows + inserts, self._expected)
            self.take_over(unique_slots=roomy(at.unique_slots, entries_of_all, self._budget))
        self._make_room_in_window(entries)
        places = weights.shape[0] + entries
        if self.table.primary_key:
            places += int(np.count_nonzero(weights >= staging.UPSERT))
        self._budget.take(8 * kernel.TOUCHED * places, "staging")
        self._touched = np.empty((places, kernel.TOUCHED), np.int64)
        self._touched.fill(staging.UNTOUCHED)
        if self.table.window_range is None:
            self._before = (int(header[kernel.R_HEAD]), int(header[kernel.R_TAIL]))
        else:
            self._before = (int(self._queue[range_window.W_BEGIN]), 0)
        self._counted = -1
        at.phase[settling.PHASE] = settling.STAGED

    def _refuse_staged(self) -> None:
        """Refuse a staging where there is one.

        Raises:
            StateError: There is one.
        """
        if self._phase[settling.PHASE] != settling.IDLE:
            msg = f"table {self.table.name!r} has a staging that was neither committed nor rolled back"
            raise StateError(msg)

    @property
    def _staged(self) -> int:
        """Rows that the staging has touched; the kernels write them one behind the other."""
        if self._counted >= 0:
            return self._counted
        return int(np.count_nonzero(self._touched[:, 0] != staging.UNTOUCHED))

    @property
    def _entries(self) -> int:
        """Entries of the window, dead ones included; 0 without a window."""
        if self.table.window_range is not None:
            return int(self._queue[range_window.W_ENTRIES])
        return int(self._header[kernel.R_TAIL] - self._header[kernel.R_HEAD])

    def _forget_dead_entries(self) -> None:
        """Drop the dead entries of the window once they are most of it."""
        by_range = self.table.window_range is not None
        if self._entries <= 2 * (self.rows if by_range else self.total) + _DEAD_ENTRIES:
            return
        compact = range_window.compact_range if by_range else window.compact_window
        compact(self._at.line)

    def _make_room_in_window(self, entries: int) -> None:
        """Make room for so many entries; a window of which less than a sixteenth is needed shrinks."""
        if self.table.has_window:
            self.take_over(queue=roomy_queue(self.table, self._header, self._queue, entries, self._budget))

    def _result(self, events: Words) -> Staged:
        ignored = int(self._header[kernel.R_IGNORED])
        rows, weights, changes = events
        return Staged(rows, weights, changes, ignored)

    def _there(self, rows: Words) -> Words:
        """The ids of rows that have a positive multiplicity; a window's queue may still name others."""
        multiplicities = self.words[rows * self.stride] >> 1
        return np.where((rows >= 0) & (multiplicities > 0), rows, -1)

    def _named(self) -> npt.NDArray[np.bool_]:
        """Which of the ids given out are in use."""
        used = np.zeros(int(self._header[kernel.R_NEXT]), bool)
        used[ids_of(self._slots)] = True
        return used

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check_table(self)


class _Few:
    """What the staging of a few changes writes to."""

    def __init__(self) -> None:
        self.progress = _no_progress()
        self._touched = _NOTHING_TOUCHED

    def touched_by(self, changes: int) -> Words:
        """Where what so many changes touch is written."""
        if self._touched.shape[0] < changes:
            self._touched = np.zeros((1 << (changes - 1).bit_length(), kernel.TOUCHED), np.int64)
        return self._touched[:changes]


def _that_brings(status: int, change: int, values: Words, weights: Words) -> int:
    """The change to name in a conflict of an atomic set: where a row went and came again, one that brings it."""
    if status == kernel.ABSENT or weights[change] > 0:
        return change
    same = (values == values[:, [change]]).all(axis=0)
    return int(np.flatnonzero(same & (weights > 0))[0])


def _no_progress() -> Words:
    return np.zeros(PROGRESS, np.int64)
