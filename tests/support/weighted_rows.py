"""Histories of multiplicities for operators over deltas: rows of random types, changes in versions, and deltas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from livejoin.dataflow.batches import Delta, Rows
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from scenario import ColumnType, Row, canonical_row
from strategies import TYPES

SQL_TYPES = {
    "BOOLEAN": SqlType("boolean"),
    "TINYINT": SqlType.integer(8),
    "SMALLINT": SqlType.integer(16),
    "INT": SqlType.integer(32),
    "BIGINT": SqlType.integer(64),
    "FLOAT": SqlType.real(),
    "DOUBLE": SqlType("double"),
    "DECIMAL(9, 2)": SqlType.decimal(9, 2),
    "DECIMAL(30, 4)": SqlType.decimal(30, 4),
    "DATE": SqlType("date"),
    "TIMESTAMP": SqlType("timestamp"),
    "STRING": SqlType("string"),
    "BINARY": SqlType("binary"),
}


@dataclass(frozen=True)
class Weighted:
    """A change of a row's multiplicity on one side."""

    version: int
    side: int
    row: Row
    weight: int


@dataclass(frozen=True)
class History:
    """Batches of changes; multiplicities are not negative at the end of every version."""

    columns: tuple[ColumnType, ...]
    batches: tuple[tuple[Weighted, ...], ...]

    @property
    def types(self) -> tuple[SqlType, ...]:
        return tuple(SQL_TYPES[column.sql] for column in self.columns)


@st.composite
def histories(draw: st.DrawFn, sides: int, fewest_columns: int = 0, most: int = 3) -> History:
    """Few rows whose multiplicities go up, down and to 0, in versions in which they may pass below 0."""
    columns = tuple(draw(st.lists(st.sampled_from(TYPES), min_size=fewest_columns, max_size=3)))
    one_row = st.tuples(*(st.sampled_from([*column.values, None]) for column in columns))
    pool = draw(st.lists(one_row, min_size=1, max_size=10, unique_by=canonical_row))
    order = draw(st.randoms(use_true_random=False))
    counts: Counter[tuple[int, int]] = Counter()
    version = 0
    batches = []
    targets = st.tuples(st.integers(0, sides - 1), st.integers(0, len(pool) - 1), st.integers(0, most), st.booleans())
    for batch in draw(st.lists(st.lists(st.lists(targets, max_size=6), max_size=4), max_size=4)):
        steps: list[Weighted] = []
        for goals in batch:
            version += order.randint(1, 3)
            changes: list[Weighted] = []
            for side, index, target, detour in goals:
                gained = target - counts[side, index]
                counts[side, index] = target
                parts = [gained + 2, -1, -1] if detour else [gained]
                changes += [Weighted(version, side, pool[index], part) for part in parts]
            order.shuffle(changes)
            steps += changes
        batches.append(tuple(steps))
    return History(columns, tuple(batches))


def delta_of(codec: Codec, types: Sequence[SqlType], changes: Sequence[Weighted], coded: bool = False) -> Delta:
    """A delta of changes; its columns are Arrow or codes."""
    columns = [pa.array([c.row[i] for c in changes], type.arrow) for i, type in enumerate(types)]
    rows = Rows(codec, types, columns, len(changes))
    if coded:
        rows = Rows(codec, types, [rows.codes(i) for i in range(len(types))], len(changes))
    weights = np.array([c.weight for c in changes], np.int64)
    return Delta(rows, weights, np.array([c.version for c in changes], np.int64))


def values(rows: Rows) -> list[Row]:
    """The rows as canonical tuples."""
    if not rows.types:
        return [()] * rows.length
    return [
        canonical_row(row) for row in zip(*(rows.arrow(i).to_pylist() for i in range(len(rows.types))), strict=True)
    ]


def by_version(delta: Delta) -> dict[int, Counter[Row]]:
    """The changes of each version; fails if they are not net or not in order."""
    assert np.all(np.diff(delta.versions) >= 0), "versions ascend"
    assert delta.rows.length == delta.weights.shape[0] == delta.versions.shape[0]
    changes: dict[int, Counter[Row]] = {}
    for row, weight, version in zip(values(delta.rows), delta.weights.tolist(), delta.versions.tolist(), strict=True):
        of_version = changes.setdefault(version, Counter())
        assert weight != 0 and row not in of_version, "a version names a row once"
        of_version[row] = weight
    return changes


def content(batches: Iterable[tuple[Rows, Any]]) -> Iterator[tuple[Row, int]]:
    """What a scan gives, in its order."""
    for rows, weights in batches:
        assert rows.length == weights.shape[0] > 0
        yield from zip(values(rows), weights.tolist(), strict=True)
