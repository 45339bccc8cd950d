"""Changes by key of a base table against a plain model, with windows: in order one by one, and what is left of all."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from livejoin.kernels.relation.staging import (
    AT_ONCE,
    DELETE,
    DELETE_BY_KEY,
    FORGET_BY_KEY,
    INSERT,
    UPSERT,
)
from livejoin.schema import Column, SqlType, Table, TableSettings
from livejoin.state.table import BaseTable, Conflict
from livejoin.words import NULL_CODE
from strategies import seeds

Row = tuple[int, ...]
WIDTH = 3  # columns; the last one is the time of a window by range


class Refused(Exception):
    """The model refuses a change."""


@dataclass
class Model:
    """The rows of a table with a key, in order of arrival."""

    key: tuple[int, ...]
    window: int | None = None
    reach: int | None = None
    rows: list[Row] = field(default_factory=list)
    begin: int = -(1 << 63)
    unique: tuple[int, ...] = ()  # columns that are UNIQUE each

    def copy(self) -> Model:
        return Model(self.key, self.window, self.reach, list(self.rows), self.begin, self.unique)

    def refuse_equal(self, rows: list[Row]) -> None:
        for column in self.unique:
            values = [row[column] for row in rows if row[column] != NULL_CODE]
            if len(set(values)) < len(values):
                raise Refused

    def key_of(self, row: Row) -> Row:
        return tuple(row[c] for c in self.key)

    def change(self, row: Row, kind: int) -> tuple[Counter[Row], bool]:
        """One change; its events, and whether it was skipped as too late."""
        before = Counter(self.rows)
        skipped = self._change(row, kind)
        found = Counter(self.rows)
        found.subtract(before)
        return Counter({one: weight for one, weight in found.items() if weight}), skipped

    def _change(self, row: Row, kind: int) -> bool:
        holders = [one for one in self.rows if self.key_of(one) == self.key_of(row)]
        if kind == DELETE:
            if row not in self.rows:
                raise Refused
            self.rows.remove(row)
        elif kind < 0:
            if not holders and kind == DELETE_BY_KEY:
                raise Refused
            self.rows = [one for one in self.rows if one not in holders]
        elif kind == UPSERT and holders == [row]:
            return False
        else:
            if row[-1] < self.begin:
                return True
            if kind == UPSERT:
                self.rows = [one for one in self.rows if one not in holders]
            return self._insert(row)
        return False

    def _insert(self, row: Row) -> bool:
        left = self.rows
        begin = self.begin
        if self.window is not None and len(left) == self.window:
            left = left[1:]
        if self.reach is not None:
            begin = max(begin, row[-1] - self.reach + 1)
            left = [one for one in left if one[-1] >= begin]
        if self.key_of(row) in map(self.key_of, left):
            raise Refused
        self.rows, self.begin = [*left, row], begin
        return False


def declare(key: tuple[int, ...], window: int | None, reach: int | None, unique: tuple[int, ...] = ()) -> Table:
    columns = tuple(Column(f"c{i}", SqlType.integer(64)) for i in range(WIDTH))
    by_range = None if reach is None else (f"c{WIDTH - 1}", reach)
    settings = TableSettings(window_rows=window, window_range=by_range)
    return Table("T", columns, key, unique=tuple((one,) for one in unique), settings=settings)


def content(base: BaseTable) -> Counter[Row]:
    rows, weights = base.live_rows()
    return Counter(dict(zip(map(tuple, base.values_of(rows).T.tolist()), weights.tolist(), strict=True)))


def random_changes(rng: random.Random, model: Model, count: int) -> list[tuple[Row, int]]:
    ahead, changes = model.copy(), []
    for _ in range(count):
        row = (rng.randrange(4), rng.randrange(3), rng.randrange(3) + len(model.rows) // 2)
        if model.unique:
            row = (rng.randrange(9), rng.randrange(9), row[2])
            row = tuple(NULL_CODE if c in model.unique and rng.random() < 0.2 else value for c, value in enumerate(row))
        if ahead.rows and rng.random() < 0.4:
            old = rng.choice(ahead.rows)
            row = tuple(old[i] if i in model.key or rng.random() < 0.5 else value for i, value in enumerate(row))
        kind = rng.choice([UPSERT, UPSERT, UPSERT, DELETE_BY_KEY, INSERT, FORGET_BY_KEY, DELETE])
        try:
            ahead.change(row, kind)
        except Refused:
            if rng.random() < 0.98:
                continue
        changes.append((row, kind))
    return changes


def run(seed: int, steps: int, most: int) -> None:
    """Random stagings, each followed at random by `commit` or `rollback`, or refused."""
    rng = random.Random(seed)
    key = ((0,), (0, 1), (1,))[seed % 3]
    window, reach = ((None, None), (rng.randint(1, 4), None), (None, rng.randint(1, 3)))[seed // 3 % 3]
    unique = tuple(c for c in range(WIDTH - 1) if (c,) != key) if seed % 2 else ()
    model = Model(key, window, reach, unique=unique)
    base = BaseTable(declare(key, window, reach, unique))
    for _ in range(steps):
        changes = random_changes(rng, model, rng.randint(1, most))
        in_order = rng.random() < 0.5
        after, expected, late = model.copy(), [], 0
        taken, ends = False, list[Row]()
        try:
            for row, kind in changes:
                found, skipped = after.change(row, kind)
                if not in_order:
                    after.refuse_equal(after.rows)
                expected.append(found)
                late += skipped
            taken, ends = True, after.rows
            after.refuse_equal(after.rows)
            taken = False
        except Refused:
            after = model
        refused = len(expected) < len(changes) or taken
        values = np.array([row for row, _ in changes], np.int64).reshape(-1, WIDTH).T.copy()
        kinds = np.array([kind for _, kind in changes], np.int64)
        before = content(base)
        try:
            staged = (base.stage_in_order if in_order else base.stage_changes)(values, kinds, False)
        except Conflict as conflict:
            assert refused
            if taken:
                assert conflict.unique is not None
                value = changes[conflict.change][0][unique[conflict.unique]]
                assert [row[unique[conflict.unique]] for row in ends].count(value) > 1
            else:
                assert conflict.change == len(expected)
            assert conflict.absent == (changes[conflict.change][1] < 0)
            assert content(base) == before
            base._check()
            continue
        assert not refused
        assert staged.ignored == late
        rows = list(map(tuple, base.values_of(staged.rows).T.tolist()))
        weights, named = staged.weights.tolist(), staged.changes.tolist()
        if in_order:
            net = Counter(after.rows)
            net.subtract(model.rows)
            assert dict(zip(rows, weights, strict=True)) == {row: weight for row, weight in net.items() if weight}
            assert weights == sorted(weights)
            for row, weight, change in zip(rows, weights, named, strict=True):
                if weight > 0:
                    assert changes[change][0] == row, "what comes names the change that brings it"
                    assert changes[change][1] > 0
        else:
            each: list[Counter[Row]] = [Counter() for _ in changes]
            for row, weight, change in zip(rows, weights, named, strict=True):
                each[change][row] += weight
            assert [{r: w for r, w in one.items() if w} for one in each] == expected
        if rng.random() < 0.4:
            base.rollback()
            assert content(base) == before
        else:
            base.commit()
            model = after
        base._check()
        assert content(base) == Counter(model.rows)


@pytest.mark.parametrize("seed", seeds(30, 90))
def test_random_changes_by_key(seed: int) -> None:
    run(seed, steps=30, most=9)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(100, 109))
def test_random_changes_by_key_without_the_compiler(seed: int) -> None:
    run(seed, steps=10, most=7)


def test_conflicts_by_key_are_skipped_and_counted() -> None:
    base = BaseTable(declare((0,), None, None))
    rows = [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1)]
    base.stage_changes(np.array(rows).T.copy(), np.ones(4, np.int64), False)
    base.commit()
    changes = [(1, 9, 9), (7, 0, 0), (8, 0, 0), (2, 9, 9), (3, 0, 0)]
    kinds = np.array([INSERT, DELETE_BY_KEY, FORGET_BY_KEY, UPSERT, DELETE_BY_KEY])
    staged = base.stage_in_order(np.array(changes).T.copy(), kinds, True)
    assert staged.ignored == 2
    base.commit()
    assert content(base) == Counter([(1, 1, 1), (2, 9, 9), (4, 1, 1)])


def test_skipped_changes_by_key_take_no_row_out() -> None:
    """An upsert whose value another row has is skipped as a whole, and the row of its key stays."""
    base = BaseTable(declare((0,), None, None, (1,)))
    base.stage_changes(np.array([(1, 1, 1), (2, 2, 2)]).T.copy(), np.ones(2, np.int64), False)
    base.commit()
    changes = [(1, 2, 9), (2, 3, 9), (1, 2, 8), (3, 2, 7), (4, NULL_CODE, 7), (5, NULL_CODE, 7)]
    staged = base.stage_in_order(np.array(changes).T.copy(), np.full(6, UPSERT), True)
    assert staged.ignored == 2
    base.commit()
    base._check()
    assert content(base) == Counter([(1, 2, 8), (2, 3, 9), (4, NULL_CODE, 7), (5, NULL_CODE, 7)])


@pytest.mark.nojit
def test_values_may_change_their_rows_within_a_staging() -> None:
    """Two rows change places: in order that is done at the end, one by one the first change is a conflict."""
    base = BaseTable(declare((0,), None, None, (1,)))
    base.stage_changes(np.array([(1, 1, 1), (2, 2, 2)]).T.copy(), np.ones(2, np.int64), False)
    base.commit()
    swapped = np.array([(1, 2, 1), (2, 1, 2)]).T.copy()
    with pytest.raises(Conflict) as caught:
        base.stage_changes(swapped, np.full(2, UPSERT), False)
    assert (caught.value.change, caught.value.unique) == (0, 0)
    base._check()
    base.stage_in_order(swapped, np.full(2, UPSERT), False)
    base.commit()
    base._check()
    assert content(base) == Counter([(1, 2, 1), (2, 1, 2)])


def test_one_key_that_changes_often_costs_no_more_than_many_that_change_once() -> None:
    """The rows that a key had within a staging do not stand in each other's way: one by one, and as an atomic set."""
    many, base = 50_000, BaseTable(declare((0,), None, None))
    versions = np.array([np.zeros(many, np.int64), np.arange(many), np.zeros(many, np.int64)])
    base.stage_changes(versions[:, :1].copy(), np.array([INSERT]), False)
    base.commit()
    looked = 0
    for apply in (base.stage_changes, base.stage_in_order):
        apply(versions, np.full(many, UPSERT), False)
        looked = max(looked, _longest_cluster(base._slots))
        base.rollback()
        base._check()
    old_and_new = np.concatenate([versions[:, 1:], versions[:, :-1]], axis=1)
    base.stage_commit(old_and_new, np.repeat([INSERT, DELETE], many - 1), False)
    looked = max(looked, _longest_cluster(base._slots))
    base.commit()
    base._check()
    assert content(base) == Counter([(0, many - 1, 0)])
    assert looked < 200, "places that a look-up reads at most"


def _longest_cluster(slots: np.ndarray) -> int:
    """The most places of an index that follow one another without a free one."""
    free = np.flatnonzero(slots[1:] == 0)
    return int(np.diff(free).max())


def test_many_keys_are_replaced_in_pieces() -> None:
    """More changes than a kernel stages in a call, each key twice: taken back as a whole, then done."""
    base = BaseTable(declare((0,), None, None))
    many = AT_ONCE + 7
    ids = np.arange(many)
    base.stage_changes(np.array([ids, ids % 5, ids]), np.ones(many, np.int64), False)
    base.commit()
    twice = np.concatenate([ids[::-1], ids])
    values = np.array([twice, twice % 7, np.repeat([-1, -2], many)])
    kinds = np.full(2 * many, UPSERT)
    for end in (base.rollback, base.commit):
        staged = base.stage_in_order(values, kinds, False)
        assert staged.weights.tolist() == [-1] * many + [1] * many
        assert (base.values_of(staged.rows[many:])[2] == -2).all()
        end()
        base._check()
    assert content(base) == Counter(zip(ids.tolist(), (ids % 7).tolist(), [-2] * many, strict=True))
