"""Python objects that are read the quick way have the words that the other way gives, or are left to it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.changes import read_changes
from livejoin.changes.convert import convert
from livejoin.changes.plain import PlainColumn, plain_column
from livejoin.errors import ChangeValueError, LivejoinError
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE
from strategies import FUZZ


class Half(int):
    """An integer to Python, and of another class."""


TYPES = [
    *(SqlType.integer(bits) for bits in (8, 16, 32, 64)),
    *(SqlType(kind) for kind in ("boolean", "double", "date", "timestamp", "string")),
    SqlType.decimal(10, 2),
]
INTEGERS = st.sampled_from([0, 1, -1, 127, 128, -129, 2**15, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, NULL_CODE])
DOUBLES = st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, -math.inf, 5e-324, 1e308])
TIMES = st.sampled_from(
    [dt.datetime(1, 1, 1), dt.datetime(2026, 2, 28, 1, 2, 3, 4), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]
)
OTHERS: list[st.SearchStrategy[Any]] = [
    st.booleans(),
    st.sampled_from([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
    st.just(dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
    st.sampled_from(["", "x", "ä€😀", "\ud800", "a\0b"]),
    st.sampled_from([Decimal("1.25"), Decimal("1.255"), Half(7), np.int64(7), np.float64(1.5), object()]),
]
VALUES = [INTEGERS, DOUBLES, TIMES, *OTHERS]


@FUZZ
@given(st.sampled_from(TYPES), st.data())
def test_the_quick_way_reads_what_the_other_one_reads(type_: SqlType, data: st.DataObject) -> None:
    """Columns of one class mostly, with NULL, with a stranger now and then."""
    kind = data.draw(st.sampled_from(VALUES))
    values = data.draw(st.lists(st.one_of(kind, st.none()), min_size=1, max_size=4))
    values += data.draw(st.lists(st.one_of(VALUES), max_size=1))
    column = Column("c", type_)
    table = Table("T", (column,))
    plain = plain_column(tuple(values), type_)
    if plain is None:
        return
    assert plain.has_null == (None in values)
    codec = Codec()
    words = codec.encode_columns([convert(tuple(values), column, table, required=False)], len(values), table)
    assert np.array_equal(codec.encode_columns([plain], len(values), table), words)


@FUZZ
@given(st.lists(st.sampled_from((8, 16, 32, 64)), min_size=1, max_size=3), st.data())
def test_rows_of_integers_are_words_or_have_the_error_of_the_other_way(sizes: list[int], data: st.DataObject) -> None:
    """Numbers that fit, that just do not, booleans and NULLs: as their columns one by one."""
    columns = tuple(Column(f"c{place}", SqlType.integer(bits)) for place, bits in enumerate(sizes))
    table, values = Table("T", columns), st.one_of(INTEGERS, st.just(True), st.none(), st.just(1.0))
    few = st.one_of(st.sampled_from([0, 1, -1, 127, -128]), values)
    rows = data.draw(st.lists(st.tuples(*[few] * len(sizes)), min_size=1, max_size=3))
    try:
        arrays = [
            convert(tuple(line), one, table, required=False)
            for line, one in zip(zip(*rows, strict=True), columns, strict=True)
        ]
        expected = Codec().encode_columns(arrays, len(rows), table)
    except ChangeValueError as error:
        with pytest.raises(ChangeValueError) as refused:
            Codec().encode(read_changes(table, rows).rows, table)
        assert refused.value.row == error.row
        return
    batch = read_changes(table, rows)
    words = Codec().encode_columns(batch.columns, len(rows), table) if batch.words is None else batch.words
    assert np.array_equal(words, expected)
    assert words.dtype == np.int64
    assert batch.rows.to_pylist() == [dict(zip(table.names, row, strict=True)) for row in rows]


def test_each_type_but_decimals_has_a_quick_way() -> None:
    sample = {"boolean": True, "integer": 1, "double": 1.5, "date": dt.date(2026, 1, 1), "string": "x"}
    sample["timestamp"] = dt.datetime(2026, 1, 1)
    read = [plain_column((sample.get(type_.kind, Decimal(1)), None), type_) for type_ in TYPES]
    assert [column is not None for column in read] == [True] * (len(TYPES) - 1) + [False]


def test_null_where_it_is_refused() -> None:
    table = Table("T", (Column("a", SqlType.integer(64), nullable=False), Column("s", SqlType("string"))))
    with pytest.raises(ChangeValueError, match="NULL in column 'a'") as refused:
        read_changes(table, [(1, None), (None, "x")])
    assert refused.value.row == 1


def test_the_rows_of_a_batch_are_what_was_given() -> None:
    table = Table("T", (Column("a", SqlType.integer(32)), Column("s", SqlType("string"))))
    batch = read_changes(table, [(1, None), (2, "x")])
    assert all(isinstance(column, PlainColumn) for column in batch.columns)
    assert batch.rows.to_pylist() == [{"a": 1, "s": None}, {"a": 2, "s": "x"}]
    assert batch.rows.schema == pa.schema([("a", pa.int32()), ("s", pa.string())])
    assert batch.length == 2


PAIRS = Table("P", (Column("a", SqlType.integer(64)), Column("b", SqlType.integer(64))))
WHOLE = st.sampled_from([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)])
ODD = st.sampled_from([True, None, 1.0, "1", Half(7), np.int64(7), 2**63, NULL_CODE])


def outcome(table: Table, data: object) -> object:
    """What reading gives, or how it fails."""
    try:
        batch = read_changes(table, data)
    except LivejoinError as error:
        return type(error), str(error)
    return batch.rows.to_pylist(), batch.weights.tolist(), batch.replaces is None, batch.sequence


@FUZZ
@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=4), st.data())
def test_rows_of_whole_numbers_are_read_at_once_as_one_by_one(rows: list[Any], data: st.DataObject) -> None:
    """What is no list is read column by column; a stranger, or a row of another length, now and then."""
    given_rows: list[Any] = [list(row) if data.draw(st.booleans()) else row for row in rows]
    stranger = data.draw(st.sampled_from(["none", "none", "value", "short", "long"]))
    if stranger != "none":
        rest = {"value": (data.draw(ODD),), "short": (), "long": (1, 2)}[stranger]
        given_rows[data.draw(st.integers(0, len(rows) - 1))] = (5, *rest)
    assert outcome(PAIRS, given_rows) == outcome(PAIRS, iter(given_rows))
    keyed = dataclasses.replace(PAIRS, primary_key=(0,))
    assert outcome(keyed, given_rows) == outcome(keyed, iter(given_rows))


def test_rows_of_whole_numbers_have_words_at_once() -> None:
    batch = read_changes(PAIRS, [(1, 2), [3, -(2**63)], (5, 6)])
    assert batch.words is not None and batch.words.tolist() == [[1, 3, 5], [2, -(2**63), 6]]
    assert read_changes(PAIRS, [(1, None)]).words is None
    assert read_changes(PAIRS.having(retain="used"), [(1, 2)]).words is None
