"""A base table with a window by range against a list, with rollbacks and compaction of its heap."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from livejoin.kernels.relation.range_window import W_ENTRIES
from livejoin.schema import Column, SqlType, Table, TableSettings
from livejoin.state.table import BaseTable, Conflict
from livejoin.state.table_rows import rows_of, table_of
from strategies import seeds

Row = tuple[int, ...]


def declare(width: int, keyed: bool = False) -> BaseTable:
    columns = tuple(Column(name, SqlType.integer(64)) for name in "at")
    return BaseTable(Table("T", columns, (0,) if keyed else (), settings=TableSettings(window_range=("t", width))))


def content(base: BaseTable) -> Counter[Row]:
    rows, weights = base.live_rows()
    return Counter({tuple(v): int(w) for v, w in zip(base.values_of(rows).T.tolist(), weights.tolist(), strict=True)})


def stage(base: BaseTable, changes: list[tuple[Row, int]], by_change: bool, ignore: bool = False) -> Counter[Row]:
    """Stage changes; the sum of the events, each row's multiplicity never below zero on the way."""
    values = np.array([row for row, _ in changes], np.int64).reshape(len(changes), 2).T.copy()
    weights = np.array([weight for _, weight in changes], np.int64)
    total = content(base)
    staged = (base.stage_changes if by_change else base.stage_commit)(values, weights, ignore)
    for row, weight in zip(base.values_of(staged.rows).T.tolist(), staged.weights.tolist(), strict=True):
        total[tuple(row)] += weight
        assert total[tuple(row)] >= 0
    return +total


@pytest.mark.parametrize("seed", seeds(15, 40))
@pytest.mark.parametrize("by_change", [False, True])
def test_random_stagings(seed: int, by_change: bool) -> None:
    rng = random.Random(seed)
    width = rng.randint(1, 12)
    base = declare(width)
    model: list[Row] = []
    newest: int | None = None
    clock = 0
    for _ in range(30):
        clock += rng.randrange(4)
        changes: list[tuple[Row, int]] = []
        after, seen, late = list(model), newest, 0
        for _ in range(rng.randrange(12)):
            if by_change and seen is not None:
                after = [row for row in after if row[1] > seen - width]
            if after and rng.random() < 0.35:
                gone = rng.choice(after if by_change else model or after)
                if gone in after:
                    after.remove(gone)
                    changes.append((gone, -1))
                continue
            row = (rng.randrange(3), clock - rng.randrange(2 * width))
            bound = seen if by_change else newest
            is_late = bound is not None and row[1] <= bound - width
            late += is_late
            if not (is_late and by_change):
                after.append(row)
            changes.append((row, 1))
            seen = row[1] if seen is None else max(seen, row[1])
        after = [row for row in after if seen is None or row[1] > seen - width]
        before = content(base)
        total = stage(base, changes, by_change)
        assert base._header[7] == late
        if rng.random() < 0.3:
            base.rollback()
            assert content(base) == before
        else:
            base.commit()
            assert total == Counter(after) == content(base)
            model, newest = after, seen
        if rng.random() < 0.3:
            ids = base.live_rows()[0]
            base = table_of(base.table, rows_of(base))
            assert np.array_equal(base.live_rows()[0], ids)
        base._check()


@pytest.mark.parametrize("by_change", [False, True])
def test_a_second_row_with_a_key(by_change: bool) -> None:
    base = declare(10, keyed=True)
    stage(base, [((1, 0), 1), ((2, 5), 1)], by_change)
    base.commit()
    with pytest.raises(Conflict):
        stage(base, [((1, 9), 1)], by_change)
    base._check()
    stage(base, [((1, 10), 1)], by_change)
    base.commit()
    base._check()
    assert content(base) == {(1, 10): 1, (2, 5): 1}


def test_an_ignored_row_does_not_move_the_window() -> None:
    """By change: (2, 13) would be a second row with a key that stays, so the row of time 0 stays too."""
    base = declare(10, keyed=True)
    stage(base, [((1, 0), 1), ((2, 5), 1)], True)
    base.commit()
    stage(base, [((2, 13), 1)], True, ignore=True)
    base.commit()
    base._check()
    assert content(base) == {(1, 0): 1, (2, 5): 1}


def test_deleted_rows_leave_the_heap() -> None:
    """Rows that never expire but are deleted: the heap stays linear in the rows that are there."""
    base = declare(1 << 40)
    for first in range(0, 30_000, 500):
        stage(base, [((0, t), 1) for t in range(first, first + 500)], False)
        base.commit()
        stage(base, [((0, t), -1) for t in range(first, first + 500)], False)
        base.commit()
    assert base._queue[W_ENTRIES] <= 2048
    assert base.total == 0
    base._check()


def test_rows_that_come_back_use_their_old_entry() -> None:
    base = declare(100)
    for weight in (1, -1, 1, -1, 1, 1):
        stage(base, [((5, 5), weight)], False)
        base.commit()
        base._check()
    assert base._queue[W_ENTRIES] == 1
    assert content(base) == {(5, 5): 2}
