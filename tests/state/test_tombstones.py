"""Tables with `sequence_by` against a model: what is late, which deleted keys are remembered, what is forgotten."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from livejoin.errors import StateError
from livejoin.kernels.relation.staging import AT_ONCE, FORGET_BY_KEY, INSERT, UPSERT
from livejoin.schema import Column, SqlType, Table, TableSettings
from livejoin.state.table import BaseTable, Conflict
from livejoin.state.table_rows import rows_of, table_of
from livejoin.state.tombstones import stage_in_sequence
from strategies import seeds

Row = tuple[int, ...]
KEY, SEQUENCE = (0, 2), 1
LARGEST = (1 << 63) - 1


class Refused(Exception):
    """The model refuses a change."""


@dataclass
class Model:
    """Rows and tombstones by key."""

    rows: dict[Row, Row] = field(default_factory=dict)
    dead: dict[Row, int] = field(default_factory=dict)
    watermark: int | None = None
    late: int = 0

    def copy(self) -> Model:
        return Model(dict(self.rows), dict(self.dead), self.watermark, self.late)

    def change(self, row: Row, kind: int) -> None:
        key, sequence = tuple(row[c] for c in KEY), row[SEQUENCE]
        if key in self.rows:
            late = sequence < self.rows[key][SEQUENCE]
        elif key in self.dead:
            late = sequence < self.dead[key]
        else:
            late = self.watermark is not None and sequence <= self.watermark
        self.late += late
        if late:
            return
        if kind == INSERT and key in self.rows:
            raise Refused
        self.rows.pop(key, None)
        self.dead.pop(key, None)
        if kind > 0:
            self.rows[key] = row
        else:
            self.dead[key] = sequence

    def forget(self, bound: int) -> list[int]:
        """Drop what is beyond the bound; the sequences that stay. Of equal ones any may stay."""
        by_age = sorted(self.dead.values())
        excess = len(by_age) - bound
        if excess <= 0:
            return by_age
        dropped = by_age[: excess + bound // 4]
        self.watermark = max(dropped[-1], dropped[-1] if self.watermark is None else self.watermark)
        return by_age[len(dropped) :]


def declare(bound: int) -> Table:
    columns = tuple(Column(f"c{i}", SqlType.integer(64)) for i in range(4))
    return Table("T", columns, KEY, settings=TableSettings(sequence_by=f"c{SEQUENCE}", tombstones=bound))


def tombstones(base: BaseTable) -> dict[Row, int]:
    assert base.tombstones is not None
    graves = base.tombstones.values_of(base.tombstones.live_rows()[0])
    return {tuple(grave[:-1]): grave[-1] for grave in graves.T.tolist()}


def content(base: BaseTable) -> dict[Row, Row]:
    rows = map(tuple, base.values_of(base.live_rows()[0]).T.tolist())
    return {tuple(row[c] for c in KEY): row for row in rows}


def image(base: BaseTable) -> tuple[object, ...]:
    return content(base), tombstones(base), base.watermark, base.late


def run(seed: int, steps: int, most: int) -> None:
    """Random stagings, each followed at random by `commit` or `rollback`, or refused; and tables made of their rows."""
    rng = random.Random(seed)
    bound = rng.choice([0, 1, 3, 8, 100])
    model, base = Model(), BaseTable(declare(bound))
    now = 0
    for _ in range(steps):
        now += rng.randint(0, 2)
        changes: list[tuple[Row, int]] = []
        for _ in range(rng.randint(0, most)):
            sequence = rng.choice([now, now + 1, now - 1, now - 4, now + rng.randint(0, 3)])
            row = (rng.randrange(4), sequence, rng.randrange(2), rng.randrange(3))
            changes.append((row, rng.choice([UPSERT, UPSERT, FORGET_BY_KEY, FORGET_BY_KEY, INSERT])))
        after, done = model.copy(), 0
        try:
            for change in changes:
                after.change(*change)
                done += 1
        except Refused:
            after = model
        in_order = rng.random() < 0.5
        values = np.array([row for row, _ in changes], np.int64).reshape(-1, 4).T.copy()
        kinds = np.array([kind for _, kind in changes], np.int64)
        before = image(base)
        try:
            method = base.stage_in_order if in_order else base.stage_changes
            staged = stage_in_sequence(base, values, kinds, partial(method, ignore=False))
        except Conflict as conflict:
            assert after is model
            assert conflict.change == done
            assert image(base) == before
            continue
        assert after is not model or not changes
        assert staged.late == after.late - model.late
        for change, weight in zip(staged.changes.tolist(), staged.weights.tolist(), strict=True):
            assert weight < 0 or changes[change][1] > 0
        if rng.random() < 0.3:
            base.rollback()
            assert image(base) == before
        else:
            base.commit()
            stay = after.forget(bound)
            assert sorted(tombstones(base).values()) == stay
            assert tombstones(base).items() <= after.dead.items()
            assert (content(base), base.watermark, base.late) == (after.rows, after.watermark, after.late)
            after.dead = tombstones(base)
            model = after
        base._check()
        if rng.random() < 0.1:
            kept = image(base)
            base = table_of(base.table, rows_of(base))
            base._check()
            assert image(base) == kept


@pytest.mark.parametrize("seed", seeds(30, 80))
def test_random_changes_in_sequence(seed: int) -> None:
    run(seed, steps=30, most=9)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(100, 106))
def test_random_changes_in_sequence_without_the_compiler(seed: int) -> None:
    run(seed, steps=10, most=6)


def apply(base: BaseTable, *changes: tuple[Row, int]) -> int:
    """Stage and commit; how many were late."""
    values = np.array([row for row, _ in changes], np.int64).T.copy()
    kinds = np.array([kind for _, kind in changes], np.int64)
    staged = stage_in_sequence(base, values, kinds, partial(base.stage_in_order, ignore=False))
    base.commit()
    base._check()
    return staged.late


@pytest.mark.parametrize("edge", [LARGEST, -(1 << 63)])
def test_the_ends_of_the_numbers(edge: int) -> None:
    """A watermark at the largest number closes the table to new keys, and the least number is late after the least."""
    base = BaseTable(declare(0))
    assert apply(base, ((1, edge, 1, 0), UPSERT), ((2, edge, 2, 0), FORGET_BY_KEY)) == 0
    assert base.watermark == edge
    assert apply(base, ((1, edge, 1, 5), UPSERT), ((3, edge, 3, 0), UPSERT), ((2, edge, 2, 0), UPSERT)) == 2
    assert content(base) == {(1, 1): (1, edge, 1, 5)}
    assert apply(base, ((3, edge + 1 if edge < 0 else edge, 3, 0), UPSERT)) == (0 if edge < 0 else 1)


def test_rows_that_are_not_those_of_such_a_table() -> None:
    """Tombstones of another shape, beyond the bound, twice, or of a key that has a row."""
    base = BaseTable(declare(2))
    apply(base, ((1, 1, 1, 1), UPSERT), ((2, 2, 2, 2), FORGET_BY_KEY))
    rows = rows_of(base)
    for wrong in ([[2], [2]], [[5, 6, 7]] * 3, [[2, 2], [2, 2], [3, 4]], [[1], [1], [7]]):
        with pytest.raises(StateError, match="not sound"):
            table_of(base.table, type(rows)(rows.values, rows.weights, rows.ids, tombstones=np.array(wrong)))
    plain = Table("T", base.table.columns, KEY)
    with pytest.raises(StateError, match="tombstones"):
        table_of(plain, rows)


def test_many_changes_are_judged_in_pieces() -> None:
    """More changes than a kernel judges in a call: keys that come again in another piece, late ones among them."""
    many = AT_ONCE + 11
    base = BaseTable(declare(2 * many))
    ids = np.arange(many)
    values = np.array([np.tile(ids, 2), np.repeat([5, 4], many), np.zeros(2 * many, np.int64), np.tile(ids, 2)])
    kinds = np.repeat([UPSERT, FORGET_BY_KEY], many)
    staged = stage_in_sequence(base, values, kinds, partial(base.stage_changes, ignore=False))
    base.commit()
    assert (staged.late, base.rows, tombstones(base)) == (many, many, {})
    values[1] += 2
    stages = partial(base.stage_in_order, ignore=False)
    assert stage_in_sequence(base, values[:, ::-1].copy(), kinds[::-1].copy(), stages).late == 0
    base.commit()
    assert (base.rows, len(tombstones(base))) == (many, 0)
    assert stage_in_sequence(base, values[:, many:] + np.array([[0], [1], [0], [0]]), kinds[many:], stages).late == 0
    base.commit()
    base._check()
    assert (base.rows, len(tombstones(base))) == (0, many)
