"""What the tests ask of Parquet deltas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = tuple[Any, ...]


def sum_of(folder: Path, of: Callable[[Row], Row] = tuple) -> Counter[Row]:
    """The multiset that all deltas in a folder add up to, of each row what is asked; a negative count stays in."""
    total: Counter[Row] = Counter()
    for file in sorted(folder.glob("*.parquet")):
        rows = [tuple(row.values()) for row in pq.read_table(file).to_pylist()]
        add(total, [(*of(row[:-3]), *row[-3:]) for row in rows])
    return Counter({row: count for row, count in total.items() if count})


def add(total: Counter[Row], delta: list[Row]) -> None:
    """Add rows of a Parquet delta, whose last columns are the change type, the version and the time."""
    for *values, kind, _version, _time in delta:
        total[tuple(values)] += 1 if kind in ("insert", "update_postimage") else -1


def versions_of(folder: Path) -> list[list[int]]:
    """The commit versions in each file, in the order of the files."""
    return [
        sorted(set(pq.read_table(file)["_commit_version"].to_pylist())) for file in sorted(folder.glob("*.parquet"))
    ]
