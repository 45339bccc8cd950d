"""Rows in the order of a partition, as Python has them and as deltas: for tests of ranks and running aggregates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.reading.asked_rows import AskedRows
from livejoin.dataflow.reading.store_access import PartitionAccess
from livejoin.dataflow.stores.ranked import RankedStore
from livejoin.dataflow.stores.running import RunningStore
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


def check_partitions(
    store: RankedStore | RunningStore,
    codec: Codec,
    types: Sequence[SqlType],
    values: Sequence[Sequence[Any]],
    whole: Counter[Row],
) -> None:
    """Each partition is found by its values, also one that is not there, and has the rows that a scan has of it.

    Args:
        store: The rows.
        codec: Their codec.
        types: The types of the columns.
        values: All values that the columns may have.
        whole: What a scan gives.
    """
    access, partition = PartitionAccess(store), list(store.partition)
    assert access.leads(set(range(len(store.types)))) == bool(partition)
    if not partition:
        return
    assert access.leads(set(partition)) and not access.leads(set(partition[1:]))
    asked = list(product(*(values[column] for column in partition)))
    asked.append(tuple("nowhere" if types[column].kind == "string" else None for column in partition))
    kinds = [types[column] for column in partition]
    given = [pa.array(column, kind.arrow) for column, kind in zip(zip(*asked, strict=True), kinds, strict=True)]
    rows, times, places = access.rows_with(partition, AskedRows(codec.known(), kinds, given, len(asked)))
    first = np.array([asked.index(asked[place]) == place for place in places.tolist()], bool)
    at = np.flatnonzero(first)
    assert content(rows.take(at), times[at]) == whole
    for place in set(places.tolist()):
        at = np.flatnonzero(places == place)
        shown = [rows.take(at).arrow(column).to_pylist() for column in partition]
        assert all(row == asked[place] for row in zip(*shown, strict=True))
