"""Rows in the order of a partition, as Python has them and as deltas: for tests of ranks and running aggregates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec

Row = tuple[Any, ...]


def sort(chosen: list[Row], key: SortKey) -> list[Row]:
    """Rows by one key, in which Python's order is kept."""
    nulls = [row for row in chosen if row[key.column] is None]
    others = sorted((row for row in chosen if row[key.column] is not None), key=lambda row: row[key.column])
    others = sorted(others, key=lambda row: row[key.column], reverse=key.descending)
    return [*nulls, *others] if key.nulls_first else [*others, *nulls]


def content(rows: Rows, weights: Any) -> Counter[Row]:
    columns = [rows.arrow(i).to_pylist() for i in range(len(rows.types))]
    found: Counter[Row] = Counter()
    for i in range(rows.length):
        found[tuple(column[i] for column in columns)] += int(weights[i])
    return found


def delta_of(codec: Codec, types: Sequence[SqlType], changes: list[tuple[Row, int, int]]) -> Delta:
    """A delta of rows, each with its weight and its version."""
    columns = [pa.array([row[i] for row, _, _ in changes], kind.arrow) for i, kind in enumerate(tuple(types))]
    weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (1, 2))
    return Delta(Rows(codec, tuple(types), columns, len(changes)), weights, versions)
