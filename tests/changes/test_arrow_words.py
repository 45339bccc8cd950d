"""Arrow data taken as it lies, against the general way."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.changes.arrow_words import arrow_words
from livejoin.changes.batch import read_changes
from livejoin.changes.intake import Intake
from livejoin.errors import ChangeError, ChangeFormatError, ChangeValueError
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
        {"a": pa.array([1, 2, 3, 4, 5], pa.uint32())},
        {"c": pa.array([1, 2, 3, 4, 1 << 31])},
        {"c": pa.array([1, None, 3, 4, -(1 << 31) - 1])},
        {"t": pa.array([1_000, 2_000, 3_000, None, 1_001], pa.timestamp("ns"))},
        {"b": pa.array([1, 2, 3, 4, 5])},
        {"a": pa.array([1, 2, 3, 4, NULL_CODE])},
        {"a": pa.array([1, 2, 3, None, NULL_CODE])},
        {"more": pa.array([1] * 5)},
        {"_seq": pa.array(range(5))},
    ],
    ids=[
        "another type",
        "a large number",
        "a small number",
        "nanoseconds",
        "integers as doubles",
        "the word of NULL",
        "the word of NULL beside a NULL",
        "an unknown column",
        "a sequence",
    ],
)
def test_what_is_to_be_converted_or_refused_is_left_to_the_general_way(other: dict[str, pa.Array]) -> None:
    assert arrow_words(TABLE, frame(**other)) is None


def test_what_is_refused_stays_refused() -> None:
    with pytest.raises(ChangeValueError, match="reserves"):
        Codec().encode(frame(a=pa.array([1, 2, 3, 4, NULL_CODE])).select(TABLE.names), TABLE)


def test_the_words_are_a_copy() -> None:
    numbers = np.array(ROWS["a"])
    found = arrow_words(TABLE, frame(a=pa.array(numbers)))
    assert found is not None
    numbers[:] = 0
    assert found.words[0].tolist() == ROWS["a"]


MIXED = Table(
    "M",
    (
        Column("key", SqlType.integer(64), nullable=False),
        Column("small", SqlType.integer(16)),
        Column("least", SqlType.integer(8)),
        Column("half", SqlType.integer(32)),
        Column("whole", SqlType.integer(64)),
        Column("is_so", SqlType("boolean")),
        Column("real", SqlType.real()),
        Column("double", SqlType("double")),
        Column("price", SqlType.decimal(10, 2)),
        Column("wide", SqlType.decimal(38, 4)),
        Column("day", SqlType("date")),
        Column("at", SqlType("timestamp")),
        Column("lasts", SqlType("interval")),
        Column("name", SqlType("string")),
        Column("bytes", SqlType("binary")),
    ),
    primary_key=(0,),
)
_TIME = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
_VALUES: dict[str, Callable[[Random], object]] = {
    "key": lambda random: random.choice([0, -1, WIDE_BASE, (1 << 63) - 1, -(1 << 63)]),
    "small": lambda random: random.randrange(-(1 << 15), 1 << 15),
    "least": lambda random: random.choice([-128, -1, 0, 127]),
    "half": lambda random: random.choice([-(1 << 31), -1, 0, (1 << 31) - 1]),
    "whole": lambda random: random.choice([0, -1, NULL_CODE + 1, NULL_CODE - 1, -(1 << 63)]),
    "is_so": lambda random: random.random() < 0.5,
    "real": lambda random: random.choice([0.0, -0.0, math.nan, -math.inf, 1.5, 2.0**-149]),
    "double": lambda random: random.choice([0.0, -0.0, math.nan, math.inf, 0.1, -5e-324]),
    "price": lambda random: Decimal(random.choice([0, -1, 10**10 - 1, 1 - 10**10, 25])).scaleb(-2),
    "wide": lambda random: Decimal(random.choice([0, -1, 10**18 - 1, 1 - 10**18])).scaleb(-4),
    "day": lambda random: dt.date(1970, 1, 1) + dt.timedelta(random.randrange(-40_000, 40_000)),
    "at": lambda random: _TIME + dt.timedelta(microseconds=random.randrange(3)),
    "lasts": lambda random: dt.timedelta(microseconds=random.randrange(-3, 3)),
    "name": lambda random: random.choice(["", "a", "a longer name than others", "\0", "12345678", "é", "😀 and more"]),
    "bytes": lambda random: random.choice([b"", b"\xff", b"a\0b"]),
}


ALIKE = {
    "key": [pa.int64()],
    "small": [pa.int64(), pa.int32()],
    "least": [pa.int64(), pa.int16()],
    "half": [pa.int64(), pa.int32()],
    "double": [pa.float64()],
    "at": [pa.timestamp("us", "Asia/Kolkata"), pa.timestamp("ns"), pa.timestamp("ns", "America/Lima")],
    "price": [pa.decimal128(38, 2), pa.decimal128(12, 2)],
    "wide": [pa.decimal128(22, 4)],
    "name": [pa.large_string(), pa.string_view()],
    "bytes": [pa.large_binary(), pa.binary_view()],
}
"""Other Arrow types that a column's values come in."""


def mixed(random: Random, rows: int, nulls: float) -> pa.Table:
    """Random rows of all kinds, in chunks, of which some begin in the midst of an array."""
    pieces = []
    for size in (rows, random.randrange(3), rows // 3):
        arrays = []
        for column in MIXED.columns:
            values: list[object] = [_VALUES[column.name](random) for _ in range(size + 3)]
            if column.nullable:
                values = [None if random.random() < nulls else value for value in values]
            kind = column.type.arrow
            if rows % 4 and column.name in ALIKE:
                kind = ALIKE[column.name][rows % 4 % len(ALIKE[column.name])]
            arrays.append(pa.array(values, kind).slice(random.randrange(3), size))
        pieces.append(pa.table(arrays, MIXED.names))
    return pa.concat_tables(pieces[: random.randrange(1, 4)])


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(12))
def test_words_of_all_kinds_are_those_of_the_general_way(seed: int) -> None:
    random = Random(seed)
    data = mixed(random, random.randrange(1, 400), random.choice([0.0, 0.1, 1.0]))
    names = [*MIXED.names]
    random.shuffle(names)
    found = arrow_words(MIXED, data.select(names))
    assert found is not None
    general = read_changes(MIXED, data.append_column("_extra", data["key"]), intake=Intake(extra_columns="ignore"))
    assert general.words is None and general.rows.num_rows == data.num_rows
    codec = Codec()
    expected = codec.encode(general.rows, MIXED)
    batch = read_changes(MIXED, data.select(names))
    assert batch.words is not None and batch.texts
    codec.encode_texts(batch.text_columns(), batch.words)
    assert batch.words.tolist() == expected.tolist()
    assert batch.rows.schema == general.rows.schema
    assert batch.rows.equals(general.rows) or any(math.isnan(x or 0.0) for x in data["double"].to_pylist())
    assert batch.has_null == (expected[1:] == NULL_CODE).any()


def test_change_types_in_chunks_of_which_one_is_empty() -> None:
    """pyarrow 26 fails to join empty chunks that come over the C interface with an offset."""
    whole = frame(_change_type=["insert", "delete", "insert", "delete", "insert"]).to_batches()[0]
    pieces = [whole.slice(0, 2), whole.slice(2, 0), whole.slice(2)]
    data = pa.table(pa.RecordBatchReader.from_stream(pa.Table.from_batches(pieces)))
    batch = read_changes(TABLE, data)
    assert batch.words is not None
    assert batch.weights.tolist() == [1, -1, 1, -1, 1]
    assert words_by_the_codec(batch.rows) == words_by_the_codec(data) == batch.words.tolist()


def test_a_record_batch_is_read_as_a_table_is() -> None:
    batch = read_changes(TABLE, frame().to_batches()[0])
    assert batch.words is not None
    assert batch.words.tolist() == words_by_the_codec(frame())


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("key", pa.array([1, None]), "NULL in column 'key'"),
        ("price", pa.array([Decimal(1), Decimal("123456789.01")], pa.decimal128(11, 2)), "'price'"),
        ("name", pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()), "UTF-8|valid"),
    ],
)
def test_values_that_are_refused_otherwise_are_refused_here(name: str, values: pa.Array, message: str) -> None:
    data = mixed(Random(1), 4, 0.0).slice(0, 2)
    data = data.set_column(data.column_names.index(name), name, values)
    assert arrow_words(MIXED, data) is None
    with pytest.raises(ChangeError, match=message):
        read_changes(MIXED, data)


def test_decimals_and_strings_that_lie_wrong_are_refused() -> None:
    """Arrow's own arrays may say more than their types allow: it does not look at their values unless it is asked."""
    data = mixed(Random(2), 3, 0.0).slice(0, 2)
    large = pa.array([1, 10**11], pa.decimal128(38, 2)).buffers()
    too_large = pa.Array.from_buffers(pa.decimal128(10, 2), 2, large)
    backwards = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 5, 3], np.int32)), pa.py_buffer(b"abcdef")]
    )
    for name, values in (("price", too_large), ("name", backwards)):
        wrong = data.set_column(data.column_names.index(name), name, values)
        assert arrow_words(MIXED, wrong) is None
        with pytest.raises(ChangeError):
            read_changes(MIXED, wrong)


def test_strings_of_a_database_come_as_they_were(tmp_path: Path) -> None:
    """The words go into tables, logs and views as those that were read in the general way."""
    random = Random(3)
    with livejoin.open(tmp_path / "db") as db:
        db.create_table("m", ", ".join(f"{c.name} {c.declared}" for c in MIXED.columns if c.name != "key"))
        view = db.create_view("v", "SELECT name, bytes, price, is_so, COUNT(*) AS n FROM m GROUP BY ALL")
        rows = pa.concat_tables([mixed(random, 60, 0.2) for _ in range(3)]).drop_columns(["key"])
        db.apply("m", rows)
        db.apply("m", rows.slice(0, 20).append_column("_change_type", pa.array(["delete"] * 20)))
        expected = Counter(zip(*(rows.slice(20)[name].to_pylist() for name in view.schema.names[:-1]), strict=True))
        found = Counter({tuple(row.values())[:-1]: row["n"] for row in view.to_arrow().to_pylist()})
        assert found == expected
    with livejoin.open(tmp_path / "db") as db:
        again = db.views["v"].to_arrow().to_pylist()
        assert Counter({tuple(row.values())[:-1]: row["n"] for row in again}) == expected
