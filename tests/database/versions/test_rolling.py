"""Rows of another version by deltas, against a multiset in Python."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.database.versions import rolling
from livejoin.database.versions.rolling import insertions, netted, rolled
from livejoin.dataflow.deltas.arrow_delta import delta_schema
from livejoin.schema import SqlType
from oracle import assert_same_rows, multiset, signed_multiset
from strategies import FUZZ

COLUMNS: dict[str, tuple[SqlType, list[Any]]] = {
    "n": (SqlType.integer(64), [None, 0, 1, -(2**63) + 1]),
    "x": (SqlType("double"), [None, 0.0, math.nan, 1.5, -math.inf]),
    "s": (SqlType("string"), [None, "", "a", "ä"]),
    "d": (SqlType.decimal(38, 2), [None, Decimal("0.00"), Decimal("12345678901234567890.12")]),
    "m": (SqlType("months"), [None, pa.MonthDayNano([1, 0, 0]), pa.MonthDayNano([0, 0, 0])]),
    "b": (SqlType("boolean"), [None, False, True]),
    "l": (SqlType.array(SqlType.integer(32)), [None, [], [None], [1, 2]]),
}


History = tuple[list[str], list[list[tuple[int, tuple[Any, ...]]]]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Columns, and commits of signed rows of which none takes a row that is not there."""
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4, unique=True))
    row = st.tuples(*(st.sampled_from(COLUMNS[name][1]) for name in names))
    there: list[tuple[Any, ...]] = []
    commits = []
    for _ in range(draw(st.integers(1, 5))):
        commit = []
        for _ in range(draw(st.integers(0, 12))):
            if there and draw(st.booleans()):
                commit.append((-1, there.pop(draw(st.integers(0, len(there) - 1)))))
            else:
                there.append(draw(row))
                commit.append((1, there[-1]))
        commits.append(commit)
    return names, commits


def table(names: list[str], rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema([pa.field(name, COLUMNS[name][0].arrow) for name in names])
    return pa.Table.from_arrays(
        [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(schema)], schema=schema
    )


def delta(names: list[str], version: int, commit: list[tuple[int, tuple[Any, ...]]]) -> pa.Table:
    found = insertions(table(names, [row for _, row in commit]), version, delta_schema(table(names, []).schema))
    kinds = pa.array(["insert" if sign > 0 else "delete" for sign, _ in commit], pa.string())
    return found.set_column(len(names), found.schema.field(len(names)), kinds)


@FUZZ
@given(histories(), st.integers(1, 8), st.sampled_from([0, rolling._FEW]), st.sampled_from([0, 1, rolling._EACH]))
def test_rows_roll_to_every_version_and_back(history: History, chunk: int, few: int, each: int) -> None:
    """From any version to any other one, in however small chunks, also where one row stands there many times.

    Whether one column is looked at for the rows that go or all, and value by value or for all values at once.
    """
    with patch.multiple(rolling, _FEW=few, _EACH=each, CHUNK=chunk):
        _check_all_ways(history, chunk)


def _check_all_ways(history: History, chunk: int) -> None:
    names, commits = history
    types = [COLUMNS[name][0] for name in names]
    states = [table(names, [])]
    deltas = [delta(names, number + 1, commit) for number, commit in enumerate(commits)]
    for number, one in enumerate(deltas):
        total = multiset(states[number]) + Counter()
        total.update(signed_multiset(one))
        there = [row for row, count in total.items() for _ in range(count)]
        assert all(count >= 0 for count in total.values())
        rolled_on = rolled(states[number], [one], types)
        assert_same_rows(multiset(rolled_on), Counter(there), f"version {number + 1}")
        states.append(rolled_on)
    states = [pa.Table.from_batches(one.to_batches(max_chunksize=chunk), one.schema) for one in states]
    for first in range(len(states)):
        for last in range(first, len(states)):
            assert_same_rows(rolled(states[first], deltas[first:last], types), states[last], f"{first} to {last}")
            back = rolled(states[last], deltas[first:last], types, back=True)
            assert_same_rows(back, states[first], f"{last} back to {first}")
            if first < last and any(one.num_rows for one in deltas[first:last]):
                net = netted([one for one in deltas[first:last] if one.num_rows], types)
                expected = signed_multiset(pa.concat_tables(deltas[first:last]))
                assert_same_rows(signed_multiset(net), expected, f"net of {first} to {last}")
                assert net.num_rows == sum(map(abs, expected.values()))


def test_what_is_not_there_cannot_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "_FEW", 1)
    rows = table(["n", "s"], [(1, "a"), (1, "a"), (0, "ä")])
    types = [COLUMNS[name][0] for name in ("n", "s")]
    once = delta(["n", "s"], 1, [(-1, (1, "a"))] * 2)
    assert rolled(rows, [once], types).to_pylist() == [{"n": 0, "s": "ä"}]
    with pytest.raises(ValueError, match="1 rows go that are not there"):
        rolled(rows, [once, delta(["n", "s"], 2, [(-1, (1, "a"))])], types)


def test_a_chunk_that_loses_no_row_is_shared() -> None:
    rows = pa.concat_tables([table(["n"], [(n,) for n in range(25 * part, 25 * part + 25)]) for part in range(4)])
    found = rolled(rows, [delta(["n"], 1, [(-1, (30,))])], [COLUMNS["n"][0]])
    shared = [there.buffers()[1].address for there in found["n"].chunks]
    assert [one.buffers()[1].address in shared for one in rows["n"].chunks] == [True, False, True, True]


def test_chunks_stay_few_where_rows_come_one_by_one() -> None:
    rows, types = table(["n"], [(n,) for n in range(10)]), [COLUMNS["n"][0]]
    for number in range(100):
        changed = [(-1, (number,)), (1, (number + 10,))]
        rows = rolled(rows, [delta(["n"], number + 1, changed)], types)
        assert rows["n"].num_chunks <= 2
    assert sorted(rows["n"].to_pylist()) == list(range(100, 110))
