"""The rows of a base table as columns, without its indexes: what a snapshot keeps of it.

Law: `table_of` of `rows_of` is the same multiset in the same window, and every row has its id. Nothing of the kernels'
layouts is in it, so that a snapshot is read by every later version, and `table_of` builds each index by the kernels
that build it in a commit: whatever the numbers are, a table comes out of which all invariants hold, or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from livejoin.errors import StateError
from livejoin.kernels.memory.layout import MASK32, MAX_MULTIPLICITY
from livejoin.kernels.relation import range_window
from livejoin.kernels.relation import rows as kernel
from livejoin.schema import Table
from livejoin.state.budget import Budget
from livejoin.state.reserved import zeros
from livejoin.state.table import BaseTable, Conflict
from livejoin.state.trusted_table import TrustedTable
from livejoin.state.window_room import LEAST_QUEUE
from livejoin.words import NULL_CODE, Words

LEAST_TIME = -(1 << 63)
"""Where a window by range begins that has seen nothing."""

_LARGEST = 1 << 62  # the sum of multiplicities stays below
_PIECE = 1 << 16  # rows that one kernel call brings in
_LEAST_ROWS = 16


def _nothing() -> Words:
    return np.empty(0, np.int64)


def _no_lines() -> Words:
    return np.empty((0, 0), np.int64)


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of a table.

    Args:
        values: Words of shape (columns, n): the distinct rows, in C order.
        weights: How often each is there, at least once.
        ids: The id of each, ascending.
        arrivals: With a window by rows: for each occurrence the position of its row, the oldest first; else empty.
        begin: With a window by range: the least time that is in it.
        tombstones: With ``sequence_by``: words of shape (columns of the key and one, n), the keys that were deleted and
            the sequences of their deletions; else of shape (0, 0).
        watermark: The largest sequence of a tombstone that was dropped; None if there was none.
        late: Changes that were late.
        kept: With ``retain = "used"`` the columns that the rows have values of; None for all.
        came: Of a table that keeps no rows: how many changes came.
    """

    values: Words
    weights: Words
    ids: Words
    arrivals: Words = field(default_factory=_nothing)
    begin: int = LEAST_TIME
    tombstones: Words = field(default_factory=_no_lines)
    watermark: int | None = None
    late: int = 0
    kept: frozenset[int] | None = None
    came: int = 0


def new_table(table: Table, budget: Budget | None = None) -> BaseTable:
    """An empty table of a declaration."""
    return TrustedTable(table, budget) if table.is_trusted else BaseTable(table, budget)


def rows_of(base: BaseTable) -> TableRows:
    """The rows of a table. Cost: O(rows log rows), and a copy of them."""
    if isinstance(base, TrustedTable):
        return TableRows(np.empty((len(base.table.columns), 0), np.int64), _nothing(), _nothing(), came=base.came)
    ids, weights = base.live_rows()
    arrivals, begin = _nothing(), LEAST_TIME
    if base.table.window_rows is not None:
        head, tail = int(base._header[kernel.R_HEAD]), int(base._header[kernel.R_TAIL])
        queue = base._queue[np.arange(head, tail) & (base._queue.shape[0] - 1)]
        dead = base.words[queue * base.stride + 1]
        arrivals = np.searchsorted(ids, live_entries(queue, dead))
    elif base.table.window_range is not None:
        begin = base.begin
    tombstones = _no_lines()
    if base.tombstones is not None:
        tombstones = base.tombstones.values_of(base.tombstones.live_rows()[0])
    return TableRows(
        base.values_of(ids), weights, ids, arrivals, begin, tombstones, base.watermark, base.late, base.kept
    )


def with_dense_ids(rows: TableRows) -> TableRows:
    """The rows under new ids, for who keeps nothing that knows theirs: a table of them takes memory O(rows)."""
    return replace(rows, ids=np.arange(rows.weights.shape[0]))


def live_entries(queue: Words, dead: Words) -> Words:
    """The entries of a window's queue that are occurrences: a row's oldest entries are those of its deleted ones.

    Args:
        queue: The row of each entry, the oldest first.
        dead: For each entry how many entries of its row are dead.
    """
    order = np.argsort(queue, kind="stable")
    rows = queue[order]
    first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])) if rows.shape[0] else _nothing()
    sizes = np.diff(np.append(first, rows.shape[0]))
    rank = np.empty(rows.shape[0], np.int64)
    rank[order] = np.arange(rows.shape[0]) - np.repeat(first, sizes)
    live: Words = queue[rank >= dead]
    return live


def table_of(table: Table, rows: TableRows, budget: Budget | None = None) -> BaseTable:
    """A table with these rows.

    Args:
        table: The declaration.
        rows: The rows; their words are those of the columns' types (`livejoin.state.known_words`).
        budget: The memory of its database; None where it stands alone.

    Raises:
        StateError: The rows are not those of such a table: the arrays do not fit each other, a row or a key is there
            twice, the window does not hold.
        CapacityError: There are more rows than one table can address.

    Cost: O(rows) expected; memory O(largest id).
    """
    _check(table, rows)
    base = new_table(table, budget)
    if isinstance(base, TrustedTable):
        if rows.weights.shape[0]:
            raise _damaged(table, "it has rows, and its deletions are trusted, so that none are kept")
        base.came = rows.came
        return base
    base.kept = rows.kept
    if table.window_range is not None:
        base._queue[range_window.W_BEGIN] = rows.begin
    number = rows.weights.shape[0]
    if number:
        _give_out(base, rows.ids)
        _bring_in(base, rows)
    if base.rows != number or base.total != number:
        raise _damaged(table, "a row is there twice, or is out of the window")
    base.words[rows.ids * base.stride] = rows.weights << 1
    base._header[kernel.R_TOTAL] = rows.weights.sum()
    if table.window_rows is not None:
        base.take_over(queue=np.zeros(1 << (max(LEAST_QUEUE, rows.arrivals.shape[0]) - 1).bit_length(), np.int64))
        base._queue[: rows.arrivals.shape[0]] = rows.ids[rows.arrivals]
        base._header[kernel.R_HEAD], base._header[kernel.R_TAIL] = 0, rows.arrivals.shape[0]
    base.remember(None, rows.late)
    if table.sequence_by is not None:
        base.tombstones = table_of(table.of_tombstones, _as_rows(rows.tombstones), budget)
        base.remember(rows.watermark, rows.late)
        if (base.find_key(np.ascontiguousarray(rows.tombstones[:-1])) >= 0).any():
            raise _damaged(table, "a key has a row and a tombstone")
    return base


def _as_rows(tombstones: Words) -> TableRows:
    """Tombstones as the rows of a table."""
    number = tombstones.shape[1]
    return TableRows(np.ascontiguousarray(tombstones), np.ones(number, np.int64), np.arange(number))


def _check(table: Table, rows: TableRows) -> None:
    """Check all but what the indexes find out."""
    number = rows.weights.shape[0]
    shapes = (rows.values.shape, rows.weights.shape, rows.ids.shape, rows.arrivals.ndim)
    if shapes != ((len(table.columns), number), (number,), (number,), 1):
        raise _damaged(table, "its arrays do not fit each other")
    if number and (rows.weights.min() < 1 or rows.weights.max() > MAX_MULTIPLICITY):
        raise _damaged(
            table, f"multiplicities are not positive, or above {MAX_MULTIPLICITY:,}, the most that joins count"
        )
    if float(rows.weights.sum(dtype=np.float64)) >= _LARGEST:
        raise _damaged(table, "the sum of the multiplicities is beyond 62 bits")
    if number and (rows.ids[0] < 0 or rows.ids[-1] > MASK32 - 1 or (rows.ids[1:] <= rows.ids[:-1]).any()):
        raise _damaged(table, "ids are not ascending")
    if table.primary_key and (rows.weights != 1).any():
        raise _damaged(table, "a row with a primary key is there twice")
    for columns in table.unique:
        is_bound = (rows.values[list(columns)] != NULL_CODE).all(axis=0)
        if (rows.weights[is_bound] != 1).any():
            raise _damaged(table, "a row with the values of a UNIQUE constraint is there twice")
    if rows.kept is not None:
        needed = frozenset(column for column in range(len(table.columns)) if table.needs(column))
        dropped = [column for column in range(len(table.columns)) if column not in rows.kept]
        if table.retain == "all" or not needed <= rows.kept or (rows.values[dropped] != NULL_CODE).any():
            raise _damaged(table, "the columns that it keeps are not those of its declaration")
    if table.sequence_by is None:
        sound = not rows.tombstones.size and rows.watermark is None
    else:
        sound = rows.tombstones.shape[0] == len(table.primary_key) + 1 and rows.tombstones.shape[1] <= table.tombstones
    if not sound:
        raise _damaged(table, "its tombstones are not those of its declaration")
    if table.window_rows is not None:
        occurrences = rows.arrivals
        if occurrences.shape[0] > table.window_rows or not _are_positions(occurrences, number):
            raise _damaged(table, "the window has more rows than it keeps, or names rows that are not there")
        if not np.array_equal(np.bincount(occurrences, minlength=number), rows.weights):
            raise _damaged(table, "the window and the multiplicities differ")
    elif rows.arrivals.shape[0]:
        raise _damaged(table, "there are arrivals, and it has no window by rows")
    if table.window_range is not None and number:
        times = rows.values[table.window_range.column]
        if times.min() < rows.begin:
            raise _damaged(table, "a row is out of the window")


def _are_positions(places: Words, number: int) -> bool:
    return not places.shape[0] or bool(places.min() >= 0 and places.max() < number)


def _give_out(base: BaseTable, ids: Words) -> None:
    """Let the free ids of an empty table be all up to the largest of these, which are given out first, in order."""
    issued = int(ids[-1]) + 1
    if issued == ids.shape[0]:  # as an empty table gives them out
        base.take_over(words=zeros(max(issued, _LEAST_ROWS) * base.stride))
        return
    unused = np.setdiff1d(np.arange(issued), ids, assume_unique=True) if issued > ids.shape[0] else _nothing()
    free = np.concatenate([ids, unused])
    base.take_over(words=zeros(max(issued, _LEAST_ROWS) * base.stride))
    base.words[free * base.stride + 1] = np.append(free[1:] + 1, 0)
    base._header[kernel.R_FREE] = free[0] + 1
    base._header[kernel.R_NEXT] = issued
    base._header[kernel.R_NEXT_LOOK] = 1  # the free ids are in order until one is given back


def _bring_in(base: BaseTable, rows: TableRows) -> None:
    """Insert each row once, in the order of the ids."""
    number = rows.weights.shape[0]
    ones = np.ones(min(number, _PIECE), np.int64)
    base.expect(number)
    try:
        for begin in range(0, number, _PIECE):
            piece = np.ascontiguousarray(rows.values[:, begin : begin + _PIECE])
            base.stage_commit(piece, ones[: piece.shape[1]], ignore=False)
            base.commit()
    except Conflict:
        what = "two rows have the same primary key, or the same values of a UNIQUE constraint"
        raise _damaged(base.table, what) from None
    finally:
        base.expect(0)


def _damaged(table: Table, what: str) -> StateError:
    return StateError(f"the rows of table {table.name!r} are not sound: {what}; they are damaged or from elsewhere")
