"""Checks of what a view tells without being enumerated, against its rows as DuckDB has them.

`check_reading` holds for every view at any time: ``at`` over all positions is the result in the order of its batches,
``multiplicity`` and ``in`` are right for rows that are there and for rows that are not, and a sample is made of rows of
the result. Where a view cannot tell a multiplicity, it must say so for all rows alike;
one that is sorted when it is read knows no positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ReadError
from oracle import assert_same_rows, multiset
from scenario import Row, canonical_row
from strategies import IS_FUZZ

_ROWS = 25 if IS_FUZZ else 8  # positions and rows of a view that are asked for one by one; `make fuzz` asks for more
_SAMPLE = 40


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a table as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def positions(random: Random, total: int) -> Sequence[int]:
    """Positions to be asked for: all of them if they are few."""
    return range(total) if total <= _ROWS else random.sample(range(total), _ROWS)


def check_reading(view: livejoin.View, expected: pa.Table, random: Random) -> bool:
    """Assert that a view can be read without enumeration; whether it tells multiplicities.

    Args:
        view: The view.
        expected: Its result, recomputed.
        random: Chooses the rows that are asked for.
    """
    rows = rows_of(view.to_arrow())
    right = multiset(expected)
    assert_same_rows(multiset(rows), right, view.name)
    assert view.count() == len(rows)
    if view._query.order:
        with pytest.raises(ReadError, match="has ORDER BY without LIMIT"):
            view.at(0)
    for i in () if view._query.order else positions(random, len(rows)):
        assert canonical_row(view.at(i)) == canonical_row(rows[i]), (view.name, i)
        assert canonical_row(view.at(i - len(rows))) == canonical_row(rows[i]), (view.name, i - len(rows))
    for beyond in () if view._query.order else (len(rows), -len(rows) - 1):
        with pytest.raises(ReadError, match=f"the result has {len(rows):,} rows"):
            view.at(beyond)
    _check_sample(view, right, random)
    return _check_multiplicities(view, rows, right, random)


def _check_sample(view: livejoin.View, right: Counter[Row], random: Random) -> None:
    seed = random.randrange(1 << 30)
    if not right:
        with pytest.raises(ReadError, match="the result is empty"):
            view.sample(1, seed=seed)
        assert view.sample(0).num_rows == 0
        return
    drawn = view.sample(_SAMPLE, seed=seed)
    assert drawn.schema.equals(view.schema)
    assert drawn.num_rows == _SAMPLE
    assert set(multiset(drawn)) <= set(right)
    assert rows_of(drawn) == rows_of(view.sample(_SAMPLE, seed=seed)) or "NaN" in str(multiset(drawn))


def _check_multiplicities(view: livejoin.View, rows: list[Row], right: Counter[Row], random: Random) -> bool:
    asked = [rows[i] for i in positions(random, len(rows))]
    others = [recombined(random, rows) for _ in range(_ROWS // 2)] if rows else [(None,) * len(view.schema)]
    wanted: list[tuple[Row, int]] = [(row, right[canonical_row(row)]) for row in asked + others]
    try:
        view.multiplicity(wanted[0][0])
    except ReadError:
        for row, _ in wanted:
            with pytest.raises(ReadError):
                view.multiplicity(row)
        return False
    for row, times in wanted:
        found = view.multiplicity(row)
        assert found == times, (view.name, row, found, times)
        named: dict[str, Any] = dict(zip(view.schema.names, row, strict=True))
        assert (named in view) == (times > 0)
    return True


def recombined(random: Random, rows: list[Row]) -> Row:
    """A row with every value from some row of a result, which may be in the result or not, now and then with NULL."""
    return tuple(None if random.random() < 0.1 else random.choice(rows)[i] for i in range(len(rows[0])))
