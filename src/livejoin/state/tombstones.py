"""Tables whose changes of each key are ordered by a column: late changes are skipped, and deleted keys remembered.

Law: of all changes of a key that it was ever given, the table holds what the one with the largest sequence says, of
equal ones the last: a row with that sequence, or a *tombstone*, the key and the sequence of its deletion. So the order
in which changes come does not matter, as long as tombstones are not dropped. There is a bound of them; beyond it those
with the least sequences are dropped, and the largest of these stays as the *watermark*: a change of a key that has
neither row nor tombstone is late at or below it, because it may be older than a deletion that is forgotten.

Tombstones are the rows of a table of their own, `BaseTable.tombstones`, which is staged, committed and taken back with
the table that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from livejoin.kernels.relation.sequences import judge
from livejoin.kernels.relation.staging import AT_ONCE
from livejoin.state.slots import empty_slots
from livejoin.state.table import BaseTable, Conflict, Staged
from livejoin.words import Words

_LEAST = -(1 << 63)


def stage_in_sequence(base: BaseTable, values: Words, kinds: Words, apply: Callable[[Words, Words], Staged]) -> Staged:
    """Stage the changes by key that are not late, and what they do to the tombstones.

    Args:
        base: The table, which has ``sequence_by``.
        values: Words of shape (columns, n), in the order in which the changes apply.
        kinds: The kind of each change, as `livejoin.kernels.relation.staging` names it.
        apply: Stages changes of the table, given their words and kinds.

    Returns:
        What was staged, with the number of late changes.

    Raises:
        Conflict, MemoryLimitError: As for `BaseTable.stage_changes`.

    Cost: O(1) expected a change; where the bound is passed, a sort of the tombstones for a quarter of the bound.
    """
    keys, sequence = _told(base, values)
    last, late = _judged(base, keys, sequence)
    kept = np.flatnonzero(~late)
    try:
        staged = apply(values, kinds) if not late.any() else apply(values.take(kept, axis=1), kinds[kept])
    except Conflict as conflict:
        conflict.change = int(kept[conflict.change])
        raise
    first = np.flatnonzero(last >= 0)
    gone = kinds[last[first]] < 0
    graves = np.concatenate([keys[:, first[gone]], sequence[np.newaxis, last[first[gone]]]])
    try:
        _bury(base, keys[:, first], graves)
    except BaseException:
        base.rollback()
        raise
    count = int(np.count_nonzero(late))
    base.note_late(count)
    changes = np.where(staged.changes >= 0, kept[staged.changes], -1) if count else staged.changes
    return replace(staged, changes=changes, late=count)


def late_changes(base: BaseTable, values: Words) -> npt.NDArray[np.bool_]:
    """Which changes by key are late, of those that `stage_in_sequence` would be given. Cost: O(1) expected a change."""
    return _judged(base, *_told(base, values))[1]


def _told(base: BaseTable, values: Words) -> tuple[Words, Words]:
    """The keys of changes, and their sequence."""
    assert base.table.sequence_by is not None
    keys = np.ascontiguousarray(values[list(base.table.primary_key)])
    return keys, np.ascontiguousarray(values[base.table.sequence_by])


def _judged(base: BaseTable, keys: Words, sequence: Words) -> tuple[Words, npt.NDArray[np.bool_]]:
    """At the first change of each key the last one that is not late, see `judge`; and which changes are late."""
    count = sequence.shape[0]
    floors, shut = _known(base, keys)
    last, late = np.empty(count, np.int64), np.empty(count, np.int64)
    slots = empty_slots(max(2 * count, 16).bit_length())
    begin = 0
    while begin < count:
        begin = judge(keys, sequence, floors, shut, slots, last, late, begin)
    return last, late == 1


def _known(base: BaseTable, keys: Words) -> tuple[Words, Words]:
    """The sequence of what is known of each key, and whether a change with just this sequence is late too."""
    dead = base.tombstones
    assert dead is not None and base.table.sequence_by is not None
    pieces = [np.ascontiguousarray(keys[:, at : at + AT_ONCE]) for at in range(0, max(keys.shape[1], 1), AT_ONCE)]
    rows, graves = (np.concatenate([table.find_key(piece) for piece in pieces]) for table in (base, dead))
    floors = np.full(rows.shape, _LEAST if base.watermark is None else base.watermark)
    shut = np.full(rows.shape, base.watermark is not None, np.int64)
    for found, table, column in ((graves, dead, keys.shape[0]), (rows, base, base.table.sequence_by)):
        there = found >= 0
        floors[there] = table.words[found[there] * table.stride + table.value_offset(column)]
        shut[there] = 0
    return floors, shut


def _bury(base: BaseTable, keys: Words, graves: Words) -> None:
    """Stage the tombstones of changed keys in the place of those that they had; drop what is beyond the bound.

    Args:
        base: The table.
        keys: The keys that changed, each once.
        graves: The tombstones of those that are gone.
    """
    dead = base.tombstones
    assert dead is not None
    found = dead.find_key(np.ascontiguousarray(keys)) if dead.rows else np.empty(0, np.int64)
    found = found[found >= 0]
    bound = base.table.tombstones
    excess = dead.rows - found.shape[0] + graves.shape[1] - bound
    if excess > 0:
        ids, _ = dead.live_rows()
        stays = np.setdiff1d(ids, found, assume_unique=True)
        every = np.concatenate([dead.values_of(stays)[-1], graves[-1]])
        order = np.argsort(every, kind="stable")[: excess + bound // 4]
        base.watermark = max(int(every[order[-1]]), _LEAST if base.watermark is None else base.watermark)
        found = np.concatenate([found, stays[order[order < stays.shape[0]]]])
        graves = np.delete(graves, order[order >= stays.shape[0]] - stays.shape[0], axis=1)
    if found.shape[0] or graves.shape[1]:
        left = dead.values_of(found)
        weights = np.repeat([-1, 1], [left.shape[1], graves.shape[1]])
        dead.stage_commit(np.ascontiguousarray(np.concatenate([left, graves], axis=1)), weights, ignore=False)
