"""Arrow columns in every encoding: what is sound is read, what is not is refused with its row."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livejoin.changes import read_changes, read_file, source
from livejoin.changes.encoding import plain
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import Column, SqlType, Table

TEXT, BIGINT, TINYINT = SqlType("string"), SqlType.integer(64), SqlType.integer(8)
CITY = b"M\xfcnchen, an der Isar"  # latin-1, and too long for a view to hold inside
BINARY = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


@pytest.fixture(params=["few", "many"], autouse=True)
def rows_for_which_one_look_is_enough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the rows were so many that each column is looked at by itself."""
    if request.param == "many":
        monkeypatch.setattr(source, "_FEW", -1)


def table(type: SqlType = TEXT) -> Table:
    return Table("Cities", (Column("name", type),))


def latin1(kind: pa.DataType, before: int = 0) -> pa.Array:
    return pa.array([*[b"Bern"] * before, CITY, b"Genf", None], BINARY[kind]).view(kind)


def in_dictionary(kind: pa.DataType) -> pa.Array:
    """The bad one is the first entry and the last row but one."""
    return pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1], pa.int8()), latin1(kind))


def in_runs(kind: pa.DataType) -> pa.Array:
    """Rows 2 to 4 are bad, and row 0 of what is kept is row 1."""
    children = [pa.array([2, 5, 6], pa.int32()), latin1(kind, 1).slice(0, 3)]
    return pa.Array.from_buffers(pa.run_end_encoded(pa.int32(), kind), 6, [None], children=children).slice(1)


LAYOUTS: list[tuple[str, Callable[[pa.DataType], pa.Array | pa.ChunkedArray], int]] = [
    ("plain", lambda kind: latin1(kind, 3), 3),
    ("sliced", lambda kind: latin1(kind, 3).slice(2), 1),
    ("chunked", lambda kind: pa.chunked_array([latin1(kind).slice(1), latin1(kind, 3).slice(1)]), 4),
    ("dictionary", in_dictionary, 2),
    ("runs", in_runs, 1),
]


@pytest.mark.parametrize("kind", list(BINARY), ids=str)
@pytest.mark.parametrize(("layout", "make", "row"), LAYOUTS, ids=[name for name, _, _ in LAYOUTS])
def test_text_that_is_not_utf8(
    kind: pa.DataType, layout: str, make: Callable[[pa.DataType], pa.Array | pa.ChunkedArray], row: int
) -> None:
    with pytest.raises(ChangeValueError, match=r"value b'M\\xfcnchen.*column 'name' is not UTF-8") as caught:
        read_changes(table(), pa.table({"name": make(kind)}))
    assert (caught.value.table, caught.value.row) == ("Cities", row)


def test_bytes_that_no_row_has_do_not_count() -> None:
    sound = latin1(pa.string()).slice(1)
    assert read_changes(table(), pa.table({"name": sound})).rows["name"].to_pylist() == ["Genf", None]
    under_null = pa.Array.from_buffers(
        pa.string(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xe9")]
    )
    assert read_changes(table(), pa.table({"name": under_null})).rows["name"].to_pylist() == [None]


def test_what_is_sure_to_be_ascii() -> None:
    plain_text = pa.array(["Bern", "", "Genf"])
    assert source._is_ascii(plain_text)
    some = pa.array([CITY, b"Genf"]).view(pa.string())
    assert source._is_ascii(some.slice(1))
    assert not source._is_ascii(some)
    for other in (["Zürich"], ["Bern", None], [], ["a" * 9 + "\u20ac"]):
        assert not source._is_ascii(pa.array(other, pa.string()))
    assert not source._is_ascii(pa.array(["Bern"], pa.large_string()))
    assert read_changes(table(), pa.table({"name": ["Zürich", "Bern"]})).rows["name"].to_pylist() == ["Zürich", "Bern"]


def test_a_parquet_file_of_latin1(tmp_path) -> None:
    pq.write_table(pa.table({"name": latin1(pa.string(), 7)}), tmp_path / "cities.parquet")
    with pytest.raises(ChangeValueError, match=r"row 7 .*not UTF-8"):
        read_changes(table(), read_file(tmp_path / "cities.parquet", table()))


def test_the_change_type_is_checked_as_well() -> None:
    data = pa.table({"name": ["x"] * 3, "_change_type": latin1(pa.string())})
    with pytest.raises(ChangeFormatError, match=r"row 0 .*column '_change_type' is not UTF-8"):
        read_changes(table(), data)


def behind_its_back(kind: pa.DataType, length: int, buffer: np.ndarray, data: bytes, at: int, value: int) -> pa.Table:
    """An array whose offsets were good when it was made: pyarrow looks at them then."""
    array = pa.Array.from_buffers(kind, length, [None, pa.py_buffer(buffer), pa.py_buffer(data)])
    made = pa.table({"name": array})
    buffer[at] = value
    return made


BROKEN = [
    ("descending", lambda: behind_its_back(pa.string(), 3, np.array([0, 1, 2, 3], np.int32), b"abc", 1, 3), 1),
    ("negative", lambda: behind_its_back(pa.string(), 3, np.array([0, 1, 2, 3], np.int32), b"abc", 0, -9), 0),
    ("beyond", lambda: behind_its_back(pa.large_string(), 2, np.array([0, 1, 3]), b"abc", 1, 2**60), 0),
    (
        "index",
        lambda: pa.table(
            {"name": pa.DictionaryArray.from_arrays(pa.array([0, 0, 7], pa.int8()), pa.array(["a"]), safe=False)}
        ),
        2,
    ),
]


@pytest.mark.parametrize(("make", "row"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_buffers_that_make_no_array(make: Callable[[], pa.Table], row: int) -> None:
    with pytest.raises(ChangeFormatError, match=r"column 'name' .* its buffers do not make such an array") as caught:
        read_changes(table(), make())
    assert (caught.value.table, caught.value.row) == ("Cities", row)


def test_a_view_into_no_buffer() -> None:
    view = np.frombuffer(bytes([13, 0, 0, 0]) + b"abcd" + bytes(8), np.uint8).copy()
    array = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(view), pa.py_buffer(b"abcdefghijklm")])
    made = pa.table({"name": array})
    assert read_changes(table(), made).rows["name"].to_pylist() == ["abcdefghijklm"]
    view[8] = 5
    with pytest.raises(ChangeFormatError, match=r"row 0 .*its buffers do not make such an array"):
        read_changes(table(), made)


def test_a_decimal_of_too_many_digits() -> None:
    wide = pa.Array.from_buffers(pa.decimal128(3, 1), 1, [None, pa.py_buffer((10**20).to_bytes(16, "little"))])
    with pytest.raises(ChangeFormatError, match=r"row 0 .*does not fit in precision"):
        read_changes(table(SqlType.decimal(3, 1)), pa.table({"name": wide}))


class Stream:
    """Data that is there behind the C interface only."""

    def __init__(self, made: pa.Table) -> None:
        self.made = made

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.made.__arrow_c_stream__(requested_schema)


def test_empty_chunks_in_the_middle() -> None:
    """pyarrow 26 fails to join them: "buffer slice would exceed buffer length"."""
    values = pa.array([1, None, 3], pa.int16())
    column = pa.chunked_array([values.slice(0, 2), values.slice(2, 0), values.slice(2)])
    found = read_changes(table(BIGINT), Stream(pa.table({"name": column}))).rows
    assert found["name"].to_pylist() == [1, None, 3]
    same = read_changes(table(SqlType.integer(16)), Stream(pa.table({"name": column}))).rows
    assert same["name"].to_pylist() == [1, None, 3]


RUNS = pa.array([2, 3, 7], pa.int16())


@pytest.mark.parametrize(
    ("type", "column", "expected"),
    [
        (TEXT, pa.RunEndEncodedArray.from_arrays(RUNS, ["x", None, "y"]), ["x", "x", None, *"yyyy"]),
        (TEXT, pa.RunEndEncodedArray.from_arrays(RUNS, pa.array(["x", None, "y"], pa.string_view())).slice(1, 3), None),
        (TEXT, pa.RunEndEncodedArray.from_arrays(RUNS, pa.array(["x", None, "x"]).dictionary_encode()), None),
        (BIGINT, pa.RunEndEncodedArray.from_arrays(RUNS, pa.array([1, None, 2], pa.int8())).slice(2), [None, *[2] * 4]),
        (BIGINT, pa.RunEndEncodedArray.from_arrays(RUNS, pa.nulls(3)), [None] * 7),
        (TEXT, pa.array(["x", None, "x"]).dictionary_encode().cast(pa.dictionary(pa.uint64(), pa.string())), None),
        (TEXT, pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["x", None])), [None, "x", None]),
    ],
)
def test_runs_and_dictionaries(type: SqlType, column: pa.Array, expected: list[object] | None) -> None:
    found = read_changes(table(type), pa.table({"name": column})).rows["name"].to_pylist()
    assert found == (column.to_pylist() if expected is None else expected)


def test_a_column_that_is_not_read_may_hold_anything() -> None:
    rows = pa.table({"name": ["Bern", "Genf", None], "_commit_timestamp": latin1(pa.string())})
    assert read_changes(table(), rows).rows["name"].to_pylist() == ["Bern", "Genf", None]


def test_values_that_fit_are_not_copied() -> None:
    column = pa.chunked_array([pa.array(["a", "b"])])
    kept = plain(column, Column("name", TEXT), table())
    assert kept.chunk(0).buffers()[2].address == column.chunk(0).buffers()[2].address


# --- columns that say nothing of their type, and HUGEINT -------------------------------------------------------------


@pytest.mark.parametrize("type", [TEXT, BIGINT, SqlType("date"), SqlType("boolean"), SqlType.decimal(5, 2)], ids=str)
def test_columns_without_values_fit_any_type(type: SqlType) -> None:
    for empty in (
        pd.DataFrame({"name": np.array([], float)}),
        pd.DataFrame({"name": [], "_change_type": []}),
        pa.table({"name": pa.array([], pa.float32())}),
        pa.table({"name": pa.array([], pa.list_(pa.int8()))}),
    ):
        assert read_changes(table(type), empty).rows.schema == table(type).arrow
    for nothing in (np.nan, None, pd.NaT):
        assert read_changes(table(type), pd.DataFrame({"name": [nothing] * 2})).rows["name"].to_pylist() == [None] * 2
    with pytest.raises(ChangeValueError, match="its data has the Arrow type list"):
        read_changes(table(type), pa.table({"name": pa.nulls(1, pa.list_(pa.int8()))}))


def test_duckdbs_hugeint() -> None:
    found = duckdb.sql("SELECT unnest([1, NULL, -9223372036854775808, 9223372036854775807])::HUGEINT AS name")
    expected = [1, None, -(2**63), 2**63 - 1]
    assert read_changes(table(BIGINT), found.to_arrow_table()).rows["name"].to_pylist() == expected
    total = duckdb.sql("SELECT sum(i)::HUGEINT AS name FROM range(10) t(i)")
    assert read_changes(table(TINYINT), total.to_arrow_table()).rows["name"].to_pylist() == [45]
    for type, low in ((BIGINT, 2**63), (TINYINT, 128), (TINYINT, -129), (BIGINT, 10**37)):
        large = duckdb.sql(f"SELECT unnest([1, {low}])::HUGEINT AS name").to_arrow_table()
        with pytest.raises(ChangeValueError, match=rf"row 1 .*value Decimal\('{low}'\) of column 'name' does not fit"):
            read_changes(table(type), large)
