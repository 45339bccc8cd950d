"""Changes from every kind of source: what is read, and what each refusal says."""

from __future__ import annotations

import datetime as dt
from collections import UserDict
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livejoin.changes import read_changes
from livejoin.errors import CapacityError, ChangeFormatError, ChangeValueError
from livejoin.schema import Column, SqlType, Table

BIGINT = SqlType.integer(64)
TINYINT = SqlType.integer(8)
BOOLEAN = SqlType("boolean")
DOUBLE = SqlType("double")
DATE = SqlType("date")
TIMESTAMP = SqlType("timestamp")
TEXT = SqlType("string")
MONEY = SqlType.decimal(10, 2)

G = Table("G", (Column("src", BIGINT), Column("dst", BIGINT)))
USERS = Table("users", (Column("id", BIGINT), Column("Name", TEXT)), primary_key=(0,))


def one(type: SqlType, nullable: bool = True) -> Table:
    return Table("T", (Column("a", type, nullable),))


def read_one(type: SqlType, values: pa.Array | pa.ChunkedArray | list) -> list:
    """One column read from Arrow data, or from tuples where a list is given."""
    data = [(value,) for value in values] if isinstance(values, list) else pa.table({"a": values})
    rows = read_changes(one(type), data).rows
    assert rows.schema == one(type).arrow
    rows.validate(full=True)
    return rows.column(0).to_pylist()


# --- sources -------------------------------------------------------------------------------------------------------

FRAME = {"src": [1, 2, 3], "dst": [10, 20, None], "_change_type": ["insert", "delete", "update_postimage"]}
ARROW = pa.table(FRAME)


class OnlyTheArrayInterface:
    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return ARROW.to_batches()[0].__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        lambda: ARROW,
        lambda: ARROW.to_batches()[0],
        ARROW.to_reader,
        ARROW.to_struct_array,
        OnlyTheArrayInterface,
        lambda: pd.DataFrame(FRAME),
        lambda: pd.DataFrame(FRAME, index=[7, 5, 6]),
        lambda: pd.DataFrame(FRAME).astype({"dst": "Int64", "_change_type": "category"}),
        lambda: pl.DataFrame(FRAME),
        lambda: pl.DataFrame(FRAME).with_columns(pl.col("_change_type").cast(pl.Categorical)),
        lambda: duckdb.sql("SELECT * FROM ARROW"),
        ARROW.to_pylist,
        lambda: iter(ARROW.to_pylist()),
        lambda: pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(0, 0), ARROW.slice(1)]),
        lambda: pa.concat_tables([ARROW, ARROW]).slice(3),
    ],
)
def test_every_source_gives_the_same_batch(source):
    batch = read_changes(G, source())
    assert batch.table is G
    assert batch.rows.schema == G.arrow
    assert batch.rows.to_pylist() == [{"src": 1, "dst": 10}, {"src": 2, "dst": 20}, {"src": 3, "dst": None}]
    assert all(column.num_chunks == 1 for column in batch.rows.columns)
    assert batch.weights.tolist() == [1, -1, 1]
    assert batch.weights.dtype == np.int64
    assert batch.sequence is None


def test_tuples_are_insertions_by_position():
    batch = read_changes(USERS, [(1, "a"), [2, None], (3, "c")])
    assert batch.rows.to_pydict() == {"id": [1, 2, 3], "Name": ["a", None, "c"]}
    assert batch.weights.tolist() == [1, 1, 1]


def test_names_match_without_regard_to_case_and_order():
    expected = {"id": [1, 2], "Name": ["x", "y"]}
    assert read_changes(USERS, pa.table({"NAME": ["x", "y"], "Id": [1, 2]})).rows.to_pydict() == expected
    dicts = [{"NAME": "x", "Id": 1}, {"id": 2, "name": "y"}]
    assert read_changes(USERS, dicts).rows.to_pydict() == expected


@pytest.mark.parametrize("empty", [[], (), iter(()), ARROW.slice(0, 0), pa.schema(ARROW.schema).empty_table()])
def test_no_changes(empty):
    batch = read_changes(G, empty)
    assert batch.rows.num_rows == 0
    assert batch.rows.schema == G.arrow
    assert batch.weights.tolist() == []


def test_an_empty_list_has_an_empty_sequence():
    assert read_changes(G, [], needs_sequence=True).sequence.tolist() == []


def test_the_sequence_is_read_and_the_commit_columns_are_ignored():
    data = {"_SEQ": pa.array([5, 3], pa.int32()), "src": [1, 2], "dst": [1, 2], "_commit_version": ["x", None]}
    batch = read_changes(G, pa.table(data | {"_commit_timestamp": [None, None]}), needs_sequence=True)
    assert batch.sequence.tolist() == [5, 3]
    assert batch.sequence.dtype == np.int64
    dicts = [{"src": 1, "dst": 1, "_seq": 9, "_commit_version": object()}]
    assert read_changes(G, dicts).sequence.tolist() == [9]


@pytest.mark.parametrize(
    "type", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_change_types_of_every_string_type(type):
    kinds = ["insert", "delete", "update_preimage", "update_postimage", "insert"]
    data = pa.table({"src": range(5), "dst": range(5), "_change_type": pa.array(kinds).cast(type)})
    assert read_changes(G, data).weights.tolist() == [1, -1, -1, 1, 1]


def test_values_that_fit_are_not_copied():
    column = pa.array([1, 2, 3])
    rows = read_changes(one(BIGINT), pa.table({"a": column})).rows
    assert rows.column(0).chunk(0).buffers()[1].address == column.buffers()[1].address


class Failing:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise KeyError("k")


class Keyless(UserDict):
    def __getitem__(self, key: str) -> object:
        raise LookupError(key)


def failing_rows():
    yield (1, 2)
    raise OSError("gone")


class Nameless(int):
    def __repr__(self) -> str:
        raise RuntimeError("no name")


# --- malformed data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "row", "message"),
    [
        (pa.table({"src": [1]}), -1, r"missing column 'dst'; found is column 'src'"),
        (
            pa.table({"src": [1], "dst": [1], "x": [1], "y": [2]}),
            -1,
            r"unknown columns 'x', 'y'; the table has src, dst",
        ),
        (pa.table([[1], [1], [1]], names=["src", "dst", "SRC"]), -1, r"column 'SRC' is there twice"),
        (pd.DataFrame([[1, 2]], columns=["src", "src"]), -1, r"Duplicate column names"),
        (pa.array([1, 2]), -1, r"do not convert to an Arrow table"),
        (pl.Series([1]), -1, r"polars.*Series, do not convert"),
        ({"src": [1], "dst": [1]}, -1, r"of type dict; allowed are Arrow data"),
        ("rows", -1, r"of type str"),
        (None, -1, r"of type NoneType"),
        (7, -1, r"of type int"),
        ([(1, 2), (1,)], 1, r"the tuple has 1 values; the table has 2 columns: src, dst"),
        ([(1, 2, "insert")], 0, r"the tuple has 3 values"),
        ([1, 2], 0, r"the row is of type int; allowed"),
        ([(1, 2), {"src": 1, "dst": 2}], 1, r"of type dict, the first of type tuple"),
        ([{"src": 1, "dst": 2}, (1, 2)], 1, r"of type tuple, the first of type dict"),
        ([{"src": 1, "dst": 2}, {"src": 1}], 1, r"the keys 'src'; the first row has 'src', 'dst'"),
        ([{"src": 1, "dst": 2}, {"src": 1, "SRC": 1, "dst": 2}], 1, r"has the keys 'src', 'SRC', 'dst'"),
        ([{"src": 1, "dst": 2, "_change_type": "delete"}, {"src": 1, "dst": 2}], 1, r"same keys"),
        ([{"src": 1}], -1, r"missing column 'dst'"),
        ([{"src": 1, "dst": 2, "z": 3}], -1, r"unknown column 'z'"),
        ([{"src": 1, 5: 2}], 0, r"keys of a dict are column names; found 'src', 5"),
        (
            [{"src": 1, "dst": 2, "_change_type": "upsert"}],
            0,
            r"is 'upsert', and the table has no PRIMARY KEY",
        ),
        (pa.table({"src": [1, 2], "dst": [1, 2], "_change_type": ["insert", None]}), 1, r"_change_type is NULL"),
        (pa.table({"src": [1], "dst": [2], "_change_type": pa.nulls(1)}), 0, r"_change_type is NULL"),
        (pa.table({"src": [1], "dst": [2], "_change_type": ["INSERT"]}), 0, r"_change_type is 'INSERT'"),
        (Failing(), -1, r"of type test_changes.Failing, cannot be read: KeyError: 'k'"),
        (failing_rows(), -1, r"of type generator, cannot be read: OSError: gone"),
        ([UserDict(src=1, dst=2), Keyless(src=1, dst=2)], -1, r"of type list, cannot be read: LookupError"),
    ],
)
def test_malformed_data(data, row, message):
    with pytest.raises(ChangeFormatError, match=message) as caught:
        read_changes(G, data)
    assert (caught.value.table, caught.value.row) == ("G", row)
    assert str(caught.value).startswith("table 'G'")


def test_a_missing_sequence():
    with pytest.raises(ChangeFormatError, match="missing column '_seq'"):
        read_changes(G, [(1, 2)], needs_sequence=True)
    with pytest.raises(ChangeFormatError, match=r"row 1 .*NULL in column '_seq'"):
        read_changes(G, pa.table({"src": [1, 1], "dst": [1, 1], "_seq": [4, None]}))


# --- NULLs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [[(1, "a"), (None, "b")], pa.table({"id": [1, None], "name": ["a", "b"]})])
def test_null_in_a_key(data):
    with pytest.raises(ChangeValueError, match=r"table 'users', row 1 .*NULL in column 'id'") as caught:
        read_changes(USERS, data)
    assert (caught.value.table, caught.value.row) == ("users", 1)


def test_null_in_a_not_null_column():
    with pytest.raises(ChangeValueError, match=r"NULL in column 'a'.*BIGINT"):
        read_changes(one(BIGINT, nullable=False), pa.table({"a": pa.nulls(2)}))
    assert read_changes(one(BIGINT, nullable=False), [(1,)]).rows.num_rows == 1


@pytest.mark.parametrize("type", [BOOLEAN, TINYINT, BIGINT, DOUBLE, MONEY, DATE, TIMESTAMP, TEXT])
def test_null_is_a_value_of_every_type(type):
    assert read_one(type, [None, None]) == [None, None]
    assert read_one(type, pa.nulls(2)) == [None, None]


# --- conversion ----------------------------------------------------------------------------------------------------

TWO = Decimal("2.00")
MIDNIGHT = dt.datetime(2024, 5, 6)
ODD_ZONE = dt.timezone(dt.timedelta(seconds=1, microseconds=5))
DAY = dt.date(2024, 5, 6)


@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        (BOOLEAN, pa.array([True, None]), [True, None]),
        (TINYINT, pa.array([127, -128, None], pa.int64()), [127, -128, None]),
        (TINYINT, pa.array([127], pa.uint64()), [127]),
        (BIGINT, pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
        (BIGINT, pa.array([1.0, None, -(2.0**53)]), [1, None, -(2**53)]),
        (BIGINT, pa.array(np.array([3], np.float16)), [3]),
        (BIGINT, pa.array([5, 6, 5]).dictionary_encode(), [5, 6, 5]),
        (BIGINT, pa.array([Decimal("1.00"), None]), [1, None]),
        (BIGINT, pa.array([Decimal(2**63 - 1)], pa.decimal256(60, 4)), [2**63 - 1]),
        (DOUBLE, pa.array([1.5, None], pa.float32()), [1.5, None]),
        (DOUBLE, pa.array([2**53, -(2**53)]), [2.0**53, -(2.0**53)]),
        (MONEY, pa.array([2, None], pa.int8()), [TWO, None]),
        (MONEY, pa.array([Decimal("2.000")], pa.decimal128(30, 3)), [TWO]),
        (MONEY, pa.array([Decimal("2")], pa.decimal256(60, 1)), [TWO]),
        (MONEY, pa.array([Decimal("2.0")], pa.decimal64(10, 1)), [TWO]),
        (DATE, pa.array([DAY], pa.date64()), [DAY]),
        (TIMESTAMP, pa.array([MIDNIGHT], pa.timestamp("s")), [MIDNIGHT]),
        (TIMESTAMP, pa.array([MIDNIGHT], pa.timestamp("ns")), [MIDNIGHT]),
        (TIMESTAMP, pa.array([MIDNIGHT], pa.timestamp("us", tz="Europe/Zurich")), [MIDNIGHT]),
        (TEXT, pa.array(["é", None, ""], pa.large_string()), ["é", None, ""]),
        (TEXT, pa.array(["é", None, ""], pa.string_view()), ["é", None, ""]),
        (TEXT, pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (TEXT, pa.array(["x", "y"], pa.large_string()).dictionary_encode().slice(1), ["y"]),
    ],
)
def test_arrow_values_that_convert(type, values, expected):
    assert read_one(type, values) == expected
    chunked = pa.chunked_array([values.slice(0, 1), values.slice(1)])
    assert read_one(type, chunked) == expected


@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        (BOOLEAN, [True, np.True_, None], [True, True, None]),
        (TINYINT, [-128, np.int64(5), None], [-128, 5, None]),
        (DOUBLE, [1.5, 2, None, np.float32(0.5), np.int8(3)], [1.5, 2.0, None, 0.5, 3.0]),
        (MONEY, [2, Decimal("2.000"), Decimal("2"), None], [TWO, TWO, TWO, None]),
        (DATE, [DAY, None], [DAY, None]),
        (TIMESTAMP, [MIDNIGHT, None], [MIDNIGHT, None]),
        (TIMESTAMP, [MIDNIGHT.replace(hour=2, tzinfo=ZoneInfo("Europe/Zurich")), MIDNIGHT], [MIDNIGHT, MIDNIGHT]),
        (TIMESTAMP, [pd.Timestamp(MIDNIGHT)], [MIDNIGHT]),
        (TIMESTAMP, [MIDNIGHT.replace(tzinfo=ODD_ZONE)], [MIDNIGHT - ODD_ZONE.utcoffset(None)]),
        (TEXT, ["é", "", None], ["é", "", None]),
    ],
)
def test_python_values_that_convert(type, values, expected):
    assert read_one(type, values) == expected


def test_pandas_nan_is_null():
    assert read_changes(G, pd.DataFrame({"src": [1, 2], "dst": [np.nan, 4]})).rows["dst"].to_pylist() == [None, 4]


MISFITS = [
    (
        TINYINT,
        pa.array([1, 128], pa.int64()),
        1,
        r"value 128 .*overflows TINYINT; allowed: whole numbers from -128 to 127",
    ),
    (TINYINT, pa.array([1, None, 300.0]), 2, r"value 300.0 .*does not fit TINYINT"),
    (BIGINT, pa.array([0, 2**63], pa.uint64()), 1, r"value 9223372036854775808 .*overflows BIGINT"),
    (BIGINT, pa.array([1.0, 1.5]), 1, r"value 1.5"),
    (BIGINT, pa.array([1.0, 2.0**53 + 2]), 1, r"value 9007199254740994.0"),
    (BIGINT, pa.array([1.0, np.nan], from_pandas=False), 1, r"value nan"),
    (BIGINT, pa.array([-np.inf]), 0, r"value -inf"),
    (BIGINT, pa.array([None, "x"]), 1, r"Arrow type string \(first value: 'x'\); allowed: whole numbers"),
    (BIGINT, pa.array([None], pa.string()), -1, r"column 'a' is BIGINT, but its data has the Arrow type string;"),
    (BIGINT, pa.array([True]), 0, r"Arrow type bool"),
    (BIGINT, pa.array([Decimal("1.0"), Decimal("1.5")]), 1, r"value Decimal\('1.5'\)"),
    (BOOLEAN, pa.array([1]), 0, r"Arrow type int64"),
    (DOUBLE, pa.array([1, 2**53 + 1]), 1, r"value 9007199254740993"),
    (DOUBLE, pa.array([Decimal(1)]), 0, r"Arrow type decimal"),
    (MONEY, pa.array([Decimal("1.000"), Decimal("1.005")]), 1, r"value Decimal\('1.005'\) .*DECIMAL\(10, 2\)"),
    (MONEY, pa.array([1, 10**8]), 1, r"value 100000000 .*8 digits before and 2 behind the point"),
    (MONEY, pa.array([1.5]), 0, r"Arrow type double"),
    (SqlType.decimal(38, 38), pa.array([0, 7]), 1, r"value 7 "),
    (DATE, pa.array([0, 86_400_001]).view(pa.date64()), 1, r"value datetime.date\(1970, 1, 2\).*without a time"),
    (DATE, pa.array([MIDNIGHT]), 0, r"Arrow type timestamp"),
    (TIMESTAMP, pa.array([1000, 1001], pa.timestamp("ns")), 1, r"whole microseconds"),
    (TIMESTAMP, pa.array([0, 2**62], pa.timestamp("s")), 1, r"value 4611686018427387904 \(timestamp\[s\]\)"),
    (TIMESTAMP, pa.array([DAY]), 0, r"Arrow type date32"),
    (TEXT, pa.array([b"x"]), 0, r"Arrow type binary"),
    (TEXT, pa.array([1]), 0, r"Arrow type int64"),
    (TINYINT, [1, None, -129], 2, r"value -129 of column 'a' overflows TINYINT"),
    (BIGINT, [2**70], 0, r"value 1180591620717411303424 of column 'a' overflows BIGINT"),
    (BIGINT, [1, 1.0], 1, r"value 1.0 \(float\)"),
    (BIGINT, [1, True], 1, r"value True \(bool\)"),
    (BIGINT, [1, "7"], 1, r"value '7' \(str\) of column 'a' does not fit BIGINT"),
    (BOOLEAN, [True, 1], 1, r"value 1 \(int\)"),
    (DOUBLE, [False], 0, r"value False \(bool\)"),
    (DOUBLE, [1, 2**53 + 1], 1, r"value 9007199254740993 "),
    (DOUBLE, [1, np.uint64(2**64 - 1)], 1, r"value np.uint64\(18446744073709551615\)"),
    (DOUBLE, [np.longdouble("1.0000000000000000001")], 0, r"\(longdouble\) of column 'a' does not fit DOUBLE"),
    (MONEY, [1, 1.5], 1, r"value 1.5 \(float\)"),
    (MONEY, [1, Decimal("1.234")], 1, r"Decimal\('1.234'\)"),
    (MONEY, [Decimal(1), 10**8], 1, r"value 100000000 "),
    (MONEY, [Decimal("NaN")], 0, r"NaN"),
    (DATE, [DAY, MIDNIGHT], 1, r"\(datetime\)"),
    (TIMESTAMP, [DAY], 0, r"\(date\)"),
    (TIMESTAMP, [MIDNIGHT, pd.Timestamp(2**60 + 1)], 1, r"whole microseconds"),
    (TIMESTAMP, [MIDNIGHT, pd.NaT], 1, r"value NaT"),
    (TEXT, ["a", "\ud800"], 1, r"UTF-8"),
    (TEXT, ["a", b"b"], 1, r"value b'b' \(bytes\)"),
    (TEXT, [7], 0, r"value 7 \(int\)"),
    (BIGINT, ["x" * 500], 0, r"x{70}\.\.\. \(str\)"),
    (TINYINT, [1, Nameless(300)], 1, r"value <Nameless> of column 'a'"),
    (TIMESTAMP, [dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))], 0, r"does not fit TIMESTAMP"),
]


@pytest.mark.parametrize(("type", "values", "row", "message"), MISFITS)
def test_values_outside_of_the_type(type, values, row, message):
    with pytest.raises(ChangeValueError, match=message) as caught:
        read_one(type, values)
    assert (caught.value.table, caught.value.row) == ("T", row)
    assert "column 'a'" in str(caught.value)


def test_the_row_counts_over_chunks():
    chunks = pa.chunked_array([[1, 2], [], [3, 400], [500]], pa.int64())
    with pytest.raises(ChangeValueError, match=r"row 3 .*value 400"):
        read_changes(one(TINYINT), pa.table({"a": chunks}))


def test_strings_beyond_two_gigabytes_are_refused():
    offsets = np.array([0, 2**30, 2**31 + 1])
    data = np.zeros(2**31 + 1, np.uint8)  # never touched, so never in memory
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    with pytest.raises(CapacityError, match="more than 2 GiB"):
        read_changes(one(TEXT), pa.table({"a": pa.Array.from_buffers(pa.large_string(), 2, buffers)}))


# --- properties ----------------------------------------------------------------------------------------------------

scaled = st.tuples(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-300, 300), st.integers(0, 38)).map(
    lambda pair: Decimal((pair[0] < 0, tuple(map(int, str(abs(pair[0])))), -pair[1]))
)
targets = st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))


def fits(value: Decimal | int, precision: int, scale: int) -> bool:
    _, digits, exponent = Decimal(value).as_tuple()
    unscaled, remainder = divmod(int("".join(map(str, digits))) * 10 ** (38 + exponent), 10 ** (38 - scale))
    return remainder == 0 and unscaled < 10**precision


@settings(deadline=None, max_examples=300)
@given(scaled | st.integers(-(2**63), 2**64 - 1), targets, st.booleans())
def test_decimals_are_exact_or_refused(value, target, from_list):
    if from_list:
        data = [value]
    elif isinstance(value, int):
        data = pa.array([value], pa.int64() if value < 2**63 else pa.uint64())
    else:
        digits = max(len(value.as_tuple().digits), -value.as_tuple().exponent)
        data = pa.array([value], pa.decimal128(digits, -value.as_tuple().exponent))
    try:
        result = read_one(SqlType.decimal(*target), data)
    except ChangeValueError:
        assert not fits(value, *target)
    else:
        assert fits(value, *target)
        assert result == [value]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.none() | st.integers(-300, 300), max_size=20), st.sampled_from([pa.int16(), pa.int64(), pa.float64()])
)
def test_the_first_misfit_is_named(values, type):
    bad = [i for i, value in enumerate(values) if value is not None and not -128 <= value <= 127]
    try:
        assert read_one(TINYINT, pa.array(values, type)) == values
        assert not bad
    except ChangeValueError as error:
        assert error.row == bad[0]
