"""What holds of a base table between two commits; for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from livejoin.kernels.memory import layout as k
from livejoin.kernels.relation import range_window, unique
from livejoin.kernels.relation import rows as kernel
from livejoin.words import NULL_CODE, Words

if TYPE_CHECKING:
    from livejoin.state.table import BaseTable


def check_table(base: BaseTable) -> None:
    """Assert all invariants of a table.

    Every id given out is used or free, the hash index names the used ones, contents are distinct, counts are right, the
    index of the keys names each row that is there, and the window's entries are occurrences or rows, live or dead.
    """
    issued = int(base._header[kernel.R_NEXT])
    matrix = base.words.reshape(-1, base.stride)[:issued]
    used = base._named()
    assert int(used.sum()) == int(base._header[kernel.R_USED]), "rows in the hash index"
    mult = matrix[:, 0] >> 1
    assert not (matrix[used, 0] & 1).any(), "no row is marked between commits"
    assert int((mult[used] > 0).sum()) == base.rows, "distinct rows"
    assert int(mult[used].sum()) == base.total, "total multiplicity"
    assert (mult[used] >= 0).all(), "multiplicities"
    content = [tuple(r) for r in matrix[used, base._first :].tolist()]
    assert len(set(content)) == len(content), "every row has one id"
    free, at = set(), int(base._header[kernel.R_FREE])
    while at:
        assert at - 1 not in free and not used[at - 1], "the free list names unused ids, each once"
        free.add(at - 1)
        at = int(matrix[at - 1, 1])
    assert len(free) + int(used.sum()) == issued, "every id is used or free"
    if base.table.window_rows:
        _check_queue(base, matrix, mult, used)
    elif base.table.window_range:
        _check_heap(base, matrix, mult, used)
    else:
        assert (mult[used] > 0).all(), "rows that are gone have no id"
    _check_keys(base, matrix, used & (mult > 0))
    if base.tombstones is not None:
        _check_tombstones(base, base.tombstones)


def _check_keys(base: BaseTable, matrix: Words, there: npt.NDArray[np.bool_]) -> None:
    entries = base._slots[1:][base._slots[1:] != 0]
    others = int(base._header[kernel.R_OTHERS])
    if base.table.primary_key:
        assert int((entries >> 32 & 1).sum()) == others, "rows that do not hold their key"
        holders = (entries[entries >> 32 & 1 == 0] & k.MASK32) - 1
        assert set(np.flatnonzero(there)) <= set(holders.tolist()), "each row that is there holds its key"
        keys = [tuple(r) for r in matrix[holders][:, base._at.buffers.key[1:]].tolist()]
        assert len(set(keys)) == len(keys), "keys are unique"
        rows = np.flatnonzero(there)
        assert (base.find_key(base.values_of(rows)[list(base.table.primary_key)].copy()) == rows).all(), "by the key"
    else:
        assert others == 0, "without a key every row stands by itself"
    expected = []
    for one, columns in enumerate(base.table.unique):
        values = matrix[there][:, [base._first + c for c in columns]]
        bound = (values != NULL_CODE).all(axis=1)
        assert len({tuple(r) for r in values[bound].tolist()}) == int(bound.sum()), "values are unique"
        assert (matrix[there][bound, 0] >> 1 == 1).all(), "and are there once"
        expected += [(one, int(row)) for row in np.flatnonzero(there)[bound]]
    found = base._unique_slots[1:][base._unique_slots[1:] != 0] if base.table.unique else np.empty(0, np.int64)
    numbers = (found >> 32 & (unique.MOST - 1)).tolist()
    named = zip(numbers, ((found & k.MASK32) - 1).tolist(), strict=True)
    assert sorted(named) == sorted(expected), "each row has its entries of UNIQUE constraints"


def _check_tombstones(base: BaseTable, dead: BaseTable) -> None:
    dead._check()
    graves = dead.values_of(dead.live_rows()[0])
    assert graves.shape[1] <= base.table.tombstones, "the bound holds"
    assert (base.find_key(np.ascontiguousarray(graves[:-1])) < 0).all(), "a key has a row or a tombstone"


def _check_queue(base: BaseTable, matrix: Words, mult: Words, used: npt.NDArray[np.bool_]) -> None:
    head, tail = int(base._header[kernel.R_HEAD]), int(base._header[kernel.R_TAIL])
    entries = base._queue[np.arange(head, tail) & (base._queue.shape[0] - 1)]
    counts = np.bincount(entries, minlength=matrix.shape[0])
    assert (counts[used] == mult[used] + matrix[used, 1]).all(), "queue entries are live or dead occurrences"
    assert base.table.window_rows is not None and base.total <= base.table.window_rows, "the window holds"


def _check_heap(base: BaseTable, matrix: Words, mult: Words, used: npt.NDArray[np.bool_]) -> None:
    assert base.table.window_range is not None
    size = int(base._queue[range_window.W_ENTRIES])
    heap = base._queue[range_window.W_HEAP : range_window.W_HEAP + 2 * size].reshape(-1, 2)
    times, rows = heap[:, 0], heap[:, 1]
    assert (times[1:] >= times[np.arange(size - 1) // 2]).all(), "no entry is older than the one above it"
    assert sorted(rows.tolist()) == np.flatnonzero(used).tolist(), "every row has one entry"
    assert (matrix[used, 1] == 1).all(), "and knows it"
    assert (matrix[rows, base._first + base.table.window_range.column] == times).all(), "entries have their rows' times"
    live = mult[rows] > 0
    assert (times[live] >= base._queue[range_window.W_BEGIN]).all(), "rows that are there are in the window"
