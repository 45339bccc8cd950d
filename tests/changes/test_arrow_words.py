"""Arrow data taken as it lies, against the general way."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest

from livejoin.changes.arrow_words import arrow_words
from livejoin.changes.batch import read_changes
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, WIDE_BASE

TABLE = Table(
    "T",
    (
        Column("a", SqlType.integer(64)),
        Column("b", SqlType("double")),
        Column("c", SqlType.integer(32)),
        Column("d", SqlType("date")),
        Column("t", SqlType("timestamp")),
    ),
)
ROWS = {
    "a": [1, -5, NULL_CODE + 1, -(1 << 63), WIDE_BASE],
    "b": [0.0, -0.0, math.nan, -math.inf, 1.5],
    "c": [-1, 2, -(1 << 31), (1 << 31) - 1, 0],
    "d": [dt.date(1969, 12, 31), dt.date(2026, 11, 28), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1)],
    "t": [dt.datetime(1969, 12, 31, 23), dt.datetime(2026, 1, 1), *[dt.datetime(1970, 1, 1, 0, 0, 0, 1)] * 3],
}


def frame(**other: object) -> pa.Table:
    """The rows as Arrow, with other columns in place of some, or behind them."""
    return pa.table({**{c.name: pa.array(ROWS[c.name], c.type.arrow) for c in TABLE.columns}, **other})


def words_by_the_codec(data: pa.Table) -> list[list[int]]:
    """The words of the general way."""
    found: list[list[int]] = Codec().encode(data.select(TABLE.names), TABLE).tolist()
    return found


@pytest.mark.parametrize(
    "data",
    [
        frame(),
        frame().select(["t", "b", "d", "a", "c"]),
        frame().slice(1, 3),
        pa.table(frame().to_batches()[0].slice(2)),
        frame(b=pa.array(ROWS["b"], from_pandas=False)),
    ],
    ids=["whole", "another order", "a slice", "a slice of a batch", "NaN from Python"],
)
def test_words_are_those_of_the_general_way(data: pa.Table) -> None:
    found = arrow_words(TABLE, data)
    assert found is not None
    assert found.words.tolist() == words_by_the_codec(data)
    assert words_by_the_codec(read_changes(TABLE, data).rows) == words_by_the_codec(data)


def test_change_types_are_read_beside_them() -> None:
    kinds = ["insert", "delete", "update_preimage", "update_postimage", "insert"]
    batch = read_changes(TABLE, frame(_change_type=kinds))
    assert batch.words is not None
    assert batch.weights.tolist() == [1, -1, -1, 1, 1]
    with pytest.raises(ChangeFormatError, match="row 2"):
        read_changes(TABLE, frame(_change_type=["insert", "insert", "inserted", "insert", "insert"]))


@pytest.mark.parametrize(
    "other",
    [
        {"a": pa.array([1, None, 3, 4, 5])},
        {"a": pa.array([1, 2, 3, 4, 5], pa.int32())},
        {"a": pa.array([1, 2, 3, 4, NULL_CODE])},
        {"b": pa.array([1.0, None, 3, 4, 5])},
        {"more": pa.array([1] * 5)},
        {"_seq": pa.array(range(5))},
    ],
    ids=["a NULL", "another type", "the word of NULL", "a NULL among doubles", "an unknown column", "a sequence"],
)
def test_what_is_to_be_converted_or_refused_is_left_to_the_general_way(other: dict[str, pa.Array]) -> None:
    assert arrow_words(TABLE, frame(**other)) is None


def test_what_is_refused_stays_refused() -> None:
    with pytest.raises(ChangeValueError, match="reserves"):
        Codec().encode(frame(a=pa.array([1, 2, 3, 4, NULL_CODE])).select(TABLE.names), TABLE)
    pieces = pa.concat_tables([frame(), frame()])
    assert arrow_words(TABLE, pieces) is None
    assert arrow_words(TABLE, frame().slice(0, 0)) is None


def test_the_words_are_a_copy() -> None:
    numbers = np.array(ROWS["a"])
    found = arrow_words(TABLE, frame(a=pa.array(numbers)))
    assert found is not None
    numbers[:] = 0
    assert found.words[0].tolist() == ROWS["a"]
