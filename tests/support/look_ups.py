"""Look-ups in a view beside its rows: what `View.lookup` gives is what the rows have, filtered."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import pyarrow as pa

import livejoin
from oracle import assert_same_rows
from scenario import Row, canonical_row

_MOST_SETS = int(os.environ.get("LIVEJOIN_FUZZ", "4"))


def check_look_ups(view: livejoin.View, rows: pa.Table) -> int:
    """Assert that a view gives its rows by each set of columns by which it has an index.

    Args:
        view: The view.
        rows: All of its rows.

    Returns:
        How many look-ups there were.
    """
    names = [field.name for field in rows.schema if not pa.types.is_nested(field.type)]
    sets = [*((name,) for name in names), *pairwise(names), *view.keys, tuple(names)]
    access, done = view._access, 0
    columns = {name: _values(rows[name]) for name in names}
    if any(values is None for values in columns.values()):
        return 0
    lines = [canonical_row(row) for row in zip(*(rows[name].to_pylist() for name in rows.schema.names), strict=True)]
    led = 0
    for chosen in dict.fromkeys(sets):
        places = [rows.schema.names.index(name) for name in chosen]
        if led == _MOST_SETS or not set(chosen) <= set(names) or not access.leads(set(places)):
            continue
        led += 1
        for place in {rows.num_rows // 2} if rows.num_rows else ():
            values = {name: columns[name][place] for name in chosen}
            wanted = canonical_row(values.values())
            expected: Counter[Row] = Counter(row for row in lines if tuple(row[i] for i in places) == wanted)
            found = view.lookup(values)
            assert found.schema.equals(view.schema)
            assert_same_rows(found, expected, f"{view.name} by {values}")
            if chosen in view.keys:
                row = view.get(values)
                assert row is not None
                assert canonical_row(row) == next(iter(expected))
            done += 1
        some = [(columns[name] or ())[-1] for name in chosen] if rows.num_rows else []
        others: list[list[object]] = [[None] * len(chosen)]
        others += [[_next(value) for value in some]] if some else []  # which are in the tables perhaps, or nowhere
        for other in others:
            wanted = canonical_row(other)
            expected = Counter(row for row in lines if tuple(row[i] for i in places) == wanted)
            found = view.lookup(dict(zip(chosen, other, strict=True)))
            assert_same_rows(found, expected, f"{view.name} by {other} in {chosen}")
    return done


def _next(value: object) -> object:
    """Another value beside a small number; other values as they are."""
    return value + 1 if type(value) is int and abs(value) < 100 else value


def _values(column: pa.ChunkedArray) -> list[object] | None:
    """The values as Python's objects; None if there is one that Python has none for."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return None
