"""Base tables against a plain model: a list of rows by arrival; a staging that is undone leaves no trace."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from collisions import words_with_hash
from livejoin.errors import CapacityError, StateError
from livejoin.kernels.memory import layout
from livejoin.kernels.relation.rows import R_HEAD, R_NEXT, R_TAIL
from livejoin.kernels.relation.staging import AT_ONCE
from livejoin.schema import Column, SqlType, Table, TableSettings
from livejoin.state import table as table_module
from livejoin.state.table import BaseTable, Conflict, Staged
from livejoin.state.table_rows import rows_of, table_of
from livejoin.words import NULL_CODE
from strategies import IS_FUZZ, seeds

Row = tuple[int, ...]
Change = tuple[Row, int]


class Refused(Exception):
    """The model refuses a change."""


@dataclass
class Model:
    """The rows of a table in order of arrival, an occurrence each."""

    key: tuple[int, ...] = ()
    window: int | None = None
    rows: list[Row] = field(default_factory=list)
    unique: tuple[tuple[int, ...], ...] = ()

    def copy(self) -> Model:
        return Model(self.key, self.window, list(self.rows), self.unique)

    def is_sound(self, rows: list[Row]) -> bool:
        """Whether no two rows have the same key, nor the same values, none of them NULL, of a UNIQUE constraint."""
        values = [[tuple(row[c] for c in columns) for row in rows] for columns in self.unique]
        bound = [[one for one in some if NULL_CODE not in one] for some in values]
        keys = [[self.key_of(row) for row in rows]] if self.key else []
        return all(len(set(some)) == len(some) for some in (*keys, *bound))

    def key_of(self, row: Row) -> Row:
        return tuple(row[c] for c in self.key)

    def commit(self, changes: list[Change]) -> None:
        """All insertions, all deletions of the oldest equal row, the window, the key."""
        self.rows += [row for row, weight in changes if weight > 0]
        for row, weight in changes:
            if weight < 0:
                if row not in self.rows:
                    raise Refused
                self.rows.remove(row)
        if self.window is not None and len(self.rows) > self.window:
            del self.rows[: len(self.rows) - self.window]
        if not self.is_sound(self.rows):
            raise Refused

    def change(self, row: Row, weight: int) -> list[Change]:
        """One change; the events that it makes."""
        if weight < 0:
            if row not in self.rows:
                raise Refused
            self.rows.remove(row)
            return [(row, -1)]
        gone = self.rows[:1] if self.window is not None and len(self.rows) == self.window else []
        after = [*self.rows[len(gone) :], row]
        if not self.is_sound(after):
            raise Refused
        self.rows = after
        return [] if gone == [row] else [*((g, -1) for g in gone), (row, 1)]


def declare(
    columns: int, key: tuple[int, ...] = (), window: int | None = None, unique: tuple[tuple[int, ...], ...] = ()
) -> Table:
    named = tuple(Column(f"c{i}", SqlType.integer(64)) for i in range(columns))
    return Table("T", named, key, unique=unique, settings=TableSettings(window_rows=window))


def random_unique(rng: random.Random, columns: int, key: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Up to two UNIQUE constraints beside a key."""
    some = [tuple(rng.sample(range(columns), rng.randint(1, columns))) for _ in range(rng.randint(0, 2))]
    chosen = {frozenset(one): one for one in some if set(one) != set(key)}
    return tuple(chosen.values())


def matrix(changes: list[Change], columns: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.array([row for row, _ in changes], np.int64).reshape(len(changes), columns).T.copy()
    return values, np.array([weight for _, weight in changes], np.int64)


def content(base: BaseTable) -> Counter[Row]:
    rows, weights = base.live_rows()
    return Counter({tuple(v): int(w) for v, w in zip(base.values_of(rows).T.tolist(), weights.tolist(), strict=True)})


def queue(base: BaseTable) -> list[Row]:
    """The window's live occurrences, oldest first: what dead entries stand for is skipped."""
    head, tail = int(base._header[R_HEAD]), int(base._header[R_TAIL])
    ids = base._queue[np.arange(head, tail) & (base._queue.shape[0] - 1)].tolist()
    words = base.words.reshape(-1, base.stride)
    dead = Counter({row: int(words[row, 1]) for row in set(ids)})
    live = []
    for row in ids:
        if dead[row]:
            dead[row] -= 1
        else:
            live.append(tuple(words[row, 2:].tolist()))
    return live


def image(base: BaseTable) -> tuple[Any, ...]:
    """Everything about a table that a failed commit must not change. Rows keep their ids."""
    rows, weights = base.live_rows()
    arrival = queue(base) if base.table.window_rows else None
    return dict(zip(rows.tolist(), weights.tolist(), strict=True)), content(base), arrival, base.rows, base.total


def events(base: BaseTable, staged: Staged) -> list[Change]:
    values = base.values_of(staged.rows).T.tolist()
    return [(tuple(v), w) for v, w in zip(values, staged.weights.tolist(), strict=True)]


def assert_equals(base: BaseTable, model: Model) -> None:
    base._check()
    assert content(base) == Counter(model.rows)
    assert base.total == len(model.rows)
    assert base.rows == len(set(model.rows))
    if model.window is not None:
        assert queue(base) == model.rows
    assert_found(base, model)


def assert_found(base: BaseTable, model: Model) -> None:
    """Rows are found by their values and by their key, and others are not."""
    ids, _ = base.live_rows()
    named = {tuple(values): row for row, values in zip(ids.tolist(), base.values_of(ids).T.tolist(), strict=True)}
    asked = [*named, *(tuple(value + 1 for value in row) for row in named)]
    if not asked:
        return
    values, _ = matrix([(row, 1) for row in asked], len(base.table.columns))
    assert base.find(values).tolist() == [named.get(row, -1) for row in asked]
    if model.key:
        by_key = {model.key_of(row): number for row, number in named.items()}
        keys = np.ascontiguousarray(values[list(model.key)])
        assert base.find_key(keys).tolist() == [by_key.get(model.key_of(row), -1) for row in asked]


def random_changes(rng: random.Random, model: Model, columns: int, domain: int, count: int) -> list[Change]:
    changes: list[Change] = []
    for _ in range(count):
        row = tuple(rng.randrange(domain) for _ in range(columns))
        if rng.random() < 0.2:
            row = tuple(NULL_CODE if c not in model.key and rng.random() < 0.5 else v for c, v in enumerate(row))
        if model.rows and rng.random() < 0.45:
            changes.append((rng.choice(model.rows), -1))
        else:
            changes.append((row, 1 if rng.random() < 0.9 else -1))
    return changes


def run(seed: int, steps: int, most: int) -> None:
    """Random stagings, each followed at random by `commit` or `rollback`, or refused."""
    rng = random.Random(seed)
    columns = rng.randint(1, 3)
    key = tuple(sorted(rng.sample(range(columns), rng.randint(1, columns)))) if rng.random() < 0.5 else ()
    window = rng.randint(1, 6) if rng.random() < 0.5 else None
    domain = rng.randint(2, 4)
    unique = random_unique(rng, columns, key) if rng.random() < 0.5 else ()
    model, base = Model(key, window, [], unique), BaseTable(declare(columns, key, window, unique))
    for _ in range(steps):
        changes = random_changes(rng, model, columns, domain, rng.randint(0, most))
        after, expected = model.copy(), []
        by_change = rng.random() < 0.5
        try:
            if by_change:
                for row, weight in changes:
                    expected += after.change(row, weight)
            else:
                after.commit(changes)
        except Refused:
            after = model
            expected = None
        before = image(base)
        apply = base.stage_changes if by_change else base.stage_commit
        try:
            staged = apply(*matrix(changes, columns), False)
        except Conflict as conflict:
            assert expected is None, changes
            assert 0 <= conflict.change < len(changes)
            assert conflict.absent == (changes[conflict.change][1] < 0)
            assert image(base) == before
        else:
            assert expected is not None, changes
            assert staged.ignored == 0
            found = events(base, staged)
            if by_change:
                assert found == expected
            else:
                assert [w > 0 for _, w in found] == sorted(w > 0 for _, w in found), "deletions first"
                net = Counter(after.rows)
                net.subtract(Counter(model.rows))
                assert dict(found) == {row: weight for row, weight in net.items() if weight}
                assert len(found) == len(dict(found))
            for row, weight, change in zip(found, staged.weights, staged.changes.tolist(), strict=True):
                assert change >= 0 or (weight < 0 and window is not None)
                if not by_change and change >= 0:
                    assert changes[change][0] == row[0]
            if rng.random() < 0.4:
                base.rollback()
                assert image(base) == before
            else:
                base.commit()
                model = after
        assert_equals(base, model)


@pytest.mark.parametrize("seed", seeds(40, 120))
def test_random_stagings(seed: int) -> None:
    run(seed, steps=40, most=8)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(200, 212))
def test_random_stagings_without_the_compiler(seed: int) -> None:
    run(seed, steps=12, most=6)


@pytest.mark.parametrize("by_change", [True, False])
@pytest.mark.parametrize("key", [(), (0,)])
@pytest.mark.parametrize("window", [None, 700])
def test_growth_from_the_smallest_size(key: tuple[int, ...], window: int | None, by_change: bool) -> None:
    """Thousands of rows at a time come, are undone, come again and leave: every buffer grows, in both outcomes."""
    base = BaseTable(declare(2, key, window))
    model = Model((), window)
    rng = random.Random(5)
    fresh = 0
    for size in (1, 7, 100, 900, 2500, 3, 1500):
        gone = rng.sample(model.rows, len(model.rows) // 3)
        added = [(fresh + i, i % 5) for i in range(size)]
        fresh += size
        changes = [(row, -1) for row in gone] + [(row, 1) for row in added]
        apply = base.stage_changes if by_change else base.stage_commit
        before = image(base)
        apply(*matrix(changes, 2), False)
        base.rollback()
        base._check()
        assert image(base) == before
        apply(*matrix(changes, 2), False)
        base.commit()
        gone_once = set(gone)
        model.rows = [row for row in model.rows if row not in gone_once] + added
        if window is not None:
            model.rows = model.rows[-window:]
        assert_equals(base, model)
    base.stage_commit(*matrix([(row, -1) for row in model.rows], 2), False)
    base.commit()
    assert base.total == base.rows == 0
    base._check()


@pytest.mark.parametrize(
    ("by_change", "key", "window"), [(False, (), None), (True, (0,), None), (False, (), AT_ONCE + 9)]
)
def test_a_staging_in_many_pieces(key: tuple[int, ...], window: int | None, by_change: bool) -> None:
    """More changes than a kernel stages in a call: as if it were one, and taken back where the last one is refused."""
    base = BaseTable(declare(2, key, window))
    apply = base.stage_changes if by_change else base.stage_commit
    many = (1 if window is None and not IS_FUZZ else 2) * AT_ONCE + 5
    old = [(i, i % 3) for i in range(many)]
    apply(*matrix([(row, 1) for row in old], 2), False)
    base.commit()
    kept = old if window is None else old[-window:]
    gone = set(kept[::3])
    new = [(many + i, i % 5) for i in range(many)]
    before = image(base)
    refused = [*((row, -1) for row in gone), *((row, 1) for row in new), ((-1, -1), -1)]
    with pytest.raises(Conflict):
        apply(*matrix(refused, 2), False)
    assert image(base) == before
    staged = apply(*matrix(refused[:-1], 2), False)
    after = [row for row in kept if row not in gone] + new
    after = after if window is None else after[-window:]
    net = Counter(kept)
    for row, weight in events(base, staged):
        net[row] += weight
    assert +net == Counter(after)
    base.commit()
    assert content(base) == Counter(after)
    base._check()


@pytest.mark.parametrize(("key", "window"), [((), None), ((0,), None), ((), 100_000)])
@pytest.mark.parametrize("order", ["first", "last", "mixed"])
def test_rows_that_left_cost_nothing(key: tuple[int, ...], window: int | None, order: str) -> None:
    """100,000 rows come and all but ten leave: what is kept is the size of ten rows, whose ids stay as they were.

    Where the rows that stay are not the first ones their words must stay too, and the index alone shrinks.
    """
    base = BaseTable(declare(2, key, window))
    fresh = base.nbytes
    values = np.array([np.arange(100_000), np.arange(100_000) % 7])
    base.stage_commit(values, np.ones(100_000, np.int64), False)
    base.commit()
    stays = np.zeros(100_000, bool)
    stays[{"first": slice(10), "last": slice(-10, None), "mixed": slice(0, None, 10_000)}[order]] = True
    kept, gone = values[:, stays].copy(), values[:, ~stays].copy()
    ids = base.find(kept)
    for begin in range(0, gone.shape[1], 9_999):
        part = np.ascontiguousarray(gone[:, begin : begin + 9_999])
        base.stage_commit(part, np.full(part.shape[1], -1), False)
        base.commit()
    for _ in range(3):  # what left is given back when the next staging begins
        base.stage_commit(kept[:, :1].copy(), np.array([-1]), False)
        base.rollback()
    base._check()
    assert base.find(kept).tolist() == ids.tolist()
    assert base.live_rows()[0].tolist() == sorted(ids.tolist())
    assert base._slots.nbytes + base._unique_slots.nbytes <= 2 * fresh
    if window is None:
        assert base.words.shape[0] <= (2 * int(ids.max()) + 32) * base.stride
        assert int(base._header[R_NEXT]) == int(ids.max()) + 1
    dead = 0 if window is None else 1100  # entries of the window that it may remember
    assert order != "first" or base.nbytes <= 8 * fresh + 2 * dead * base.stride * 8
    more = np.array([np.arange(200_000, 200_040), np.zeros(40, np.int64)])
    base.stage_commit(more, np.ones(40, np.int64), False)
    base.commit()
    base._check()
    assert content(base) == Counter(map(tuple, [*kept.T.tolist(), *more.T.tolist()]))
    assert window or sorted(base.find(more).tolist()) == sorted(set(range(100_000)) - set(ids.tolist()))[:40]


@pytest.mark.parametrize("seed", range(6))
def test_rows_come_and_go_in_waves(seed: int) -> None:
    """Tables that grow and shrink again and again hold what their model does, in bounded memory."""
    rng = random.Random(seed)
    base, there = BaseTable(declare(1)), set[int]()
    for wave in range(12):
        target = rng.choice([0, 3, 40, 900]) if wave % 2 else rng.choice([20, 400, 3000])
        while len(there) != target:
            size = rng.randint(1, 1 + abs(target - len(there)))
            size = min(size, abs(target - len(there)))
            if len(there) < target:
                rows, weight = rng.sample(sorted(set(range(5000)) - there), size), 1
            else:
                rows, weight = rng.sample(sorted(there), size), -1
            known = sorted(there)
            ids = base.find(np.array([known], np.int64))
            base.stage_commit(np.array([rows], np.int64), np.full(size, weight), False)
            if rng.random() < 0.2:
                base.rollback()
            else:
                base.commit()
                there ^= set(rows)
            still = [i for i, row in zip(ids.tolist(), known, strict=True) if row in there]
            assert base.find(np.array([[row for row in known if row in there]], np.int64)).tolist() == still
            base._check()
        assert set(content(base)) == {(row,) for row in there}


def test_an_id_is_free_only_after_the_commit() -> None:
    """A delta still reads the rows that its commit deletes."""
    base = BaseTable(declare(1))
    base.stage_commit(*matrix([((7,), 1)], 1), False)
    base.commit()
    staged = base.stage_changes(*matrix([((7,), -1), ((8,), 1), ((9,), 1)], 1), False)
    assert events(base, staged) == [((7,), -1), ((8,), 1), ((9,), 1)]
    assert len(set(staged.rows.tolist())) == 3
    base.commit()
    issued = int(base._header[R_NEXT])
    again = base.stage_commit(*matrix([((10,), 1)], 1), False)
    base.commit()
    assert again.rows.tolist() == [staged.rows[0]]
    assert int(base._header[R_NEXT]) == issued
    base._check()


@pytest.mark.nojit
def test_a_row_that_comes_back_in_one_staging_keeps_its_id() -> None:
    base = BaseTable(declare(1))
    staged = base.stage_changes(*matrix([((7,), 1), ((7,), -1), ((7,), 1), ((7,), 1)], 1), False)
    assert len(set(staged.rows.tolist())) == 1
    assert staged.weights.tolist() == [1, -1, 1, 1]
    base.commit()
    assert content(base) == {(7,): 2}


@pytest.mark.nojit
@pytest.mark.parametrize("by_change", [True, False])
def test_conflicts_are_skipped_and_counted(by_change: bool) -> None:
    base = BaseTable(declare(2, key=(0,)))
    apply = base.stage_changes if by_change else base.stage_commit
    apply(*matrix([((1, 10), 1), ((2, 20), 1)], 2), True)
    base.commit()
    changes = [((3, 30), -1), ((1, 11), 1), ((1, 10), 1), ((4, 40), 1), ((4, 41), 1), ((2, 20), -1), ((2, 20), -1)]
    staged = apply(*matrix(changes, 2), True)
    assert staged.ignored == 5
    assert sorted(events(base, staged)) == [((2, 20), -1), ((4, 40), 1)]
    base.rollback()
    assert content(base) == {(1, 10): 1, (2, 20): 1}
    base._check()
    assert apply(*matrix(changes, 2), True).ignored == 5
    base.commit()
    assert content(base) == {(1, 10): 1, (4, 40): 1}
    base._check()


@pytest.mark.parametrize("seed", seeds(15, 40))
def test_changes_that_are_ignored_are_as_if_they_were_not_there(seed: int) -> None:
    """One after the other, with keys and windows together."""
    rng = random.Random(seed)
    window = rng.choice([None, 1, 3, 5])
    key = rng.choice([(), (0,), (0, 1)])
    base, model = BaseTable(declare(2, key, window)), Model(key, window)
    for _ in range(20):
        changes = random_changes(rng, model, 2, 3, rng.randint(0, 8))
        after, ignored, expected = model.copy(), 0, []
        for row, weight in changes:
            try:
                expected += after.change(row, weight)
            except Refused:
                ignored += 1
        before = image(base)
        staged = base.stage_changes(*matrix(changes, 2), True)
        assert staged.ignored == ignored
        assert events(base, staged) == expected
        if rng.random() < 0.4:
            base.rollback()
            assert image(base) == before
        else:
            base.commit()
            model = after
        assert_equals(base, model)


@pytest.mark.nojit
def test_dead_entries_are_forgotten_and_the_order_of_arrival_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are deleted before they are old leave entries; compacting them changes nothing but the queue."""
    monkeypatch.setattr(table_module, "_DEAD_ENTRIES", 4)
    base, model = BaseTable(declare(1, window=6)), Model((), 6)
    rng = random.Random(3)
    longest = 0
    for _ in range(60):
        changes = [((rng.randrange(4),), 1) for _ in range(2)]
        if len(model.rows) > 3:
            changes += [(row, -1) for row in rng.sample(model.rows, 2)]
        base.stage_commit(*matrix(changes, 1), False)
        base.commit()
        model.commit(changes)
        assert_equals(base, model)
        longest = max(longest, int(base._header[R_TAIL] - base._header[R_HEAD]))
    assert longest <= 2 * 6 + 4 + 2
    assert int(base._header[R_NEXT]) <= 12


@pytest.mark.nojit
def test_a_refused_commit_after_compacting_leaves_the_table_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "_DEAD_ENTRIES", 0)
    base, model = BaseTable(declare(1, window=5)), Model((), 5)
    for changes in ([((i,), 1) for i in range(5)], [((i,), -1) for i in range(1, 5)], [((9,), 1), ((0,), 1)]):
        base.stage_commit(*matrix(changes, 1), False)
        base.commit()
        model.commit(changes)
    with pytest.raises(Conflict):
        base.stage_commit(*matrix([((5,), 1), ((6,), -1)], 1), False)
    assert_equals(base, model)


@pytest.mark.nojit
@pytest.mark.parametrize("key", [(), (0,)])
def test_rows_whose_hashes_collide(key: tuple[int, ...]) -> None:
    """Equal hashes, all bits set: the home is the last slot of the index and the cluster wraps around."""
    base, model = BaseTable(declare(1, key)), Model(key)
    words = words_with_hash(0xFFFFFFFF, 5)
    for changes in (
        [((w,), 1) for w in words],
        [((words[1],), -1), ((words[3],), -1)],
        [((words[3],), 1), ((words[0],), -1)],
        [((w,), -1) for w in (words[2], words[4], words[3])],
    ):
        base.stage_commit(*matrix(changes, 1), False)
        base.rollback()
        assert_equals(base, model)
        base.stage_commit(*matrix(changes, 1), False)
        base.commit()
        model.commit(changes)
        assert_equals(base, model)
        hashes = base._slots[1:][base._slots[1:] != 0] >> 32
        assert set((hashes & layout.MASK32).tolist()) <= {0xFFFFFFFE if key else 0xFFFFFFFF}


def test_a_second_staging_needs_the_end_of_the_first() -> None:
    base = BaseTable(declare(1))
    base.stage_commit(*matrix([((1,), 1)], 1), False)
    with pytest.raises(StateError, match="neither committed nor rolled back"):
        base.stage_commit(*matrix([((2,), 1)], 1), False)
    base.rollback()
    assert base.total == 0
    base.rollback()
    base._check()


def test_a_table_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_WORDS", 64)
    base = BaseTable(declare(2))
    with pytest.raises(CapacityError, match="'T' would have 100 rows"):
        base.stage_commit(*matrix([((i, i), 1) for i in range(100)], 2), False)
    base.rollback()
    base._check()
    base.stage_commit(*matrix([((i, i), 1) for i in range(10)], 2), False)
    base.commit()
    assert base.total == 10


@pytest.mark.nojit
@pytest.mark.parametrize("window", [None, 3])
def test_a_table_from_its_rows_goes_on(window: int | None) -> None:
    base, model = BaseTable(declare(2, (0,), window)), Model((0,), window)
    rng = random.Random(9)
    for _ in range(10):
        changes = random_changes(rng, model, 2, 3, 3)
        after = model.copy()
        try:
            after.commit(changes)
        except Refused:
            with pytest.raises(Conflict):
                base.stage_commit(*matrix(changes, 2), False)
        else:
            base.stage_commit(*matrix(changes, 2), False)
            base.commit()
            model = after
        ids = base.live_rows()[0]
        base = table_of(base.table, rows_of(base))
        assert np.array_equal(base.live_rows()[0], ids)
        assert_equals(base, model)


def test_used_words_name_rows_that_only_the_window_remembers() -> None:
    """Their dictionary entries must stay: the row may come back under the same id."""
    base = BaseTable(declare(1, window=3))
    base.stage_commit(*matrix([((5,), 1), ((6,), 1)], 1), False)
    base.commit()
    base.stage_commit(*matrix([((5,), -1)], 1), False)
    base.commit()
    assert content(base) == {(6,): 1}
    assert sorted(base.used_words(0).tolist()) == [5, 6]
