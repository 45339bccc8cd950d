"""``coerce="json"``: values as JSON, texts and people write them become those of their columns, or are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.changes.coerce import _without_exponent
from livejoin.changes.convert import convert
from livejoin.errors import ChangeValueError
from livejoin.sql import parse_columns
from strategies import FUZZ

HOUR = dt.timezone(dt.timedelta(hours=1))


def taken(
    type: str, *values: Any, arrow: pa.DataType | None = None, objects: bool = False, coerce: Any = "json"
) -> Any:
    """The values that a column makes of some, given as an Arrow column or as objects."""
    table = parse_columns("t", f"c {type}")
    column: Any = values if objects else pa.chunked_array([pa.array(values)])
    return convert(column, table.columns[0], table, False, coerce=coerce).to_pylist()


def refused(type: str, value: Any, **form: Any) -> str:
    with pytest.raises(ChangeValueError) as refusal:
        taken(type, None, value, **form)
    assert refusal.value.row == 1
    return refusal.value.message


TAKEN: list[tuple[str, Any, Any]] = [
    ("DECIMAL(5, 2)", 1.1, Decimal("1.10")),
    ("DECIMAL(5, 2)", "1.1", Decimal("1.10")),
    ("DECIMAL(5, 2)", "-.5", Decimal("-0.50")),
    ("DECIMAL(5, 2)", "+00000000000000000000000000000000000000000007.", Decimal("7.00")),
    ("DECIMAL(5, 2)", "1." + "0" * 60, Decimal("1.00")),
    ("DECIMAL(5, 2)", "1.25e2", Decimal("125.00")),
    ("DECIMAL(5, 2)", "0e-999999999999999999999", Decimal("0.00")),
    ("DECIMAL(38, 38)", "1e-38", Decimal("1e-38")),
    ("DECIMAL(38, 0)", "9" * 38, Decimal("9" * 38)),
    ("DECIMAL(38, 18)", 1e-7, Decimal("1e-7")),
    ("DECIMAL(38, 0)", 1e22, Decimal(10**22)),
    ("DECIMAL(5, 2)", np.float32(1.1), Decimal("1.10")),
    ("DECIMAL(5, 2)", np.int64(3), Decimal("3.00")),
    ("DOUBLE", Decimal("0.1"), 0.1),
    ("DOUBLE", "0.1", 0.1),
    ("DOUBLE", "1e-400", 0.0),
    ("DOUBLE", 2**53 + 1, float(2**53)),
    ("DOUBLE", "-Infinity", float("-inf")),
    ("FLOAT", "0.1", float(np.float32(0.1))),
    ("FLOAT", Decimal("0.1"), float(np.float32(0.1))),
    ("FLOAT", 0.1, float(np.float32(0.1))),
    ("FLOAT", 2**24 + 1, float(2**24)),
    ("BIGINT", "12", 12),
    ("BIGINT", "+0012", 12),
    ("BIGINT", str(-(2**63) + 1), -(2**63) + 1),
    ("BIGINT", 12.0, 12),
    ("BIGINT", Decimal("12.00"), 12),
    ("DATE", "2024-02-29", dt.date(2024, 2, 29)),
    ("DATE", "2024-01-31T00:00:00.000Z", dt.date(2024, 1, 31)),
    ("DATE", dt.datetime(2024, 1, 31), dt.date(2024, 1, 31)),
    ("DATE", dt.datetime(2024, 1, 31, 1, tzinfo=HOUR), dt.date(2024, 1, 31)),
    ("TIMESTAMP", "2024-01-31", dt.datetime(2024, 1, 31)),
    ("TIMESTAMP", "2024-01-31 12:30", dt.datetime(2024, 1, 31, 12, 30)),
    ("TIMESTAMP", "2024-01-31T12:30:15.5", dt.datetime(2024, 1, 31, 12, 30, 15, 500000)),
    ("TIMESTAMP", "2024-01-31T12:30:15.123456000Z", dt.datetime(2024, 1, 31, 12, 30, 15, 123456)),
    ("TIMESTAMP", "2024-01-31T12:30:15+01:00", dt.datetime(2024, 1, 31, 11, 30, 15)),
    ("TIMESTAMP", "2024-01-31T12:30-0530", dt.datetime(2024, 1, 31, 18)),
    ("TIMESTAMP", dt.date(2024, 1, 31), dt.datetime(2024, 1, 31)),
    ("TIMESTAMP_NTZ", "2024-01-31T12:30:15", dt.datetime(2024, 1, 31, 12, 30, 15)),
    ("TIMESTAMP_NTZ", "2024-01-31T12:30:15+01:00", dt.datetime(2024, 1, 31, 11, 30, 15)),
    ("BOOLEAN", "True", True),
    ("UUID", "F81D4FAE7DEC11D0A76500A0C91E6BF6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
]


@pytest.mark.parametrize("objects", [False, True], ids=["arrow", "objects"])
@pytest.mark.parametrize(("type", "value", "expected"), TAKEN)
def test_what_is_taken(type: str, value: Any, expected: Any, objects: bool) -> None:
    assert taken(type, value, None, objects=objects) == [expected, None]


REFUSED: list[tuple[str, Any]] = [
    *(("DECIMAL(5, 2)", value) for value in (1.105, "1.105", "1000", "1" * 60, "1e-999999999", "1e999999999999999")),
    *(("DECIMAL(5, 2)", value) for value in ("", " 1", ".", "nan", "1_0", "\u0661", "1\n", "0x1", float("nan"), 1e300)),
    ("DECIMAL(38, 0)", "1e-39"),
    ("DECIMAL(38, 38)", "1"),
    ("DECIMAL(5, 2)", True),
    *(("DOUBLE", value) for value in ("1e400", "", "one", "1,5", True)),
    *(("FLOAT", value) for value in ("1e39", 1e39, Decimal(10) ** 39, True)),
    *(("INT", value) for value in ("12.0", "1e2", "", " 12", "2147483648", "9" * 50, 12.5, 1e20, float("inf"), True)),
    *(("INT", value) for value in (float("nan"), Decimal("1.5"))),
    *(("DATE", value) for value in ("2024-02-30", "20240131", "0000-01-01", "2024-01-31T01:00", "2024-01-31T00:00+01")),
    *(("DATE", value) for value in (dt.datetime(2024, 1, 31, 1), dt.datetime(2024, 1, 31, tzinfo=HOUR), 5)),
    *(("TIMESTAMP", value) for value in ("now", "", "2024-01-31T24:00:00", "2024-01-31T12:30:60", "2024-01-31Z", 5)),
    *(("TIMESTAMP", value) for value in ("2024-01-31T12:30:15.1234567", "2024-01-31T12:30:15+25:00", "2024-01-31T12")),
    *(("TIMESTAMP", value) for value in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-02:00", True)),
    *(("BOOLEAN", value) for value in ("yes", "", 1, 0.0)),
    *(("STRING", value) for value in (1, 1.5, True, b"x")),
    ("BINARY", "x"),
]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_texts_of_each_arrow_type(kind: pa.DataType) -> None:
    for type, value, expected in [*TAKEN, ("STRING", "x", "x"), ("CHAR(2)", "x", "x ")]:
        if isinstance(value, str):
            table = parse_columns("t", f"c {type}")
            column = pa.chunked_array([pa.array([value, None]).cast(kind)])
            assert convert(column, table.columns[0], table, False, coerce="json").to_pylist() == [expected, None]
    with pytest.raises(ChangeValueError, match=r"row 1 .*'x'"):
        table = parse_columns("t", "c DATE")
        convert(pa.chunked_array([pa.array([None, "x"]).cast(kind)]), table.columns[0], table, False, coerce="json")


@pytest.mark.parametrize("objects", [False, True], ids=["arrow", "objects"])
@pytest.mark.parametrize(("type", "value"), REFUSED)
def test_what_is_refused(type: str, value: Any, objects: bool) -> None:
    """With the row, the column, and what is allowed."""
    message = refused(type, value, objects=objects)
    assert "'c'" in message and "allowed: " in message and type in message


@pytest.mark.parametrize("value", [10**400, Decimal("1e400"), Decimal("sNaN"), "\ud800", np.longdouble(1)])
def test_objects_that_arrow_does_not_have(value: Any) -> None:
    for type in ("DOUBLE", "INT", "DECIMAL(5, 2)"):
        assert refused(type, value, objects=True).startswith(f"value {value!r}"[:80])


def test_what_is_refused_says_what_is_allowed() -> None:
    assert refused("DECIMAL(5, 2)", 1.105) == (
        "value 1.105 of column 'c' does not fit DECIMAL(5, 2); allowed: decimals and whole numbers with 3 digits "
        "before and 2 behind the point, also as floats and texts"
    )


@pytest.mark.parametrize(
    ("type", "value"), [("DECIMAL(5, 2)", 1.1), ("DOUBLE", Decimal("0.1")), ("INT", "12"), ("DATE", "2024-01-31")]
)
def test_strict_takes_none_of_it(type: str, value: Any) -> None:
    refused(type, value, coerce="strict")
    refused(type, value, coerce="strict", objects=True)


def test_columns_that_come_in_pieces_and_encoded() -> None:
    table = parse_columns("t", "c DECIMAL(5, 2)")
    pieces = pa.chunked_array([pa.array(["1", None]), pa.array([], pa.string()), pa.array(["2.5e0", "3"])])
    assert convert(pieces, table.columns[0], table, False, coerce="json").to_pylist() == [1, None, Decimal("2.50"), 3]
    encoded = pa.chunked_array([pa.array(["1", "2", "1"]).dictionary_encode()])
    assert convert(encoded, table.columns[0], table, False, coerce="json").to_pylist() == [1, 2, 1]
    pieces = pa.chunked_array([pa.array(["1", None]), pa.array(["2.5e0", "1e-3"])])
    with pytest.raises(ChangeValueError, match="'1e-3'") as refusal:
        convert(pieces, table.columns[0], table, False, coerce="json")
    assert refusal.value.row == 3


def test_parts_of_payload() -> None:
    assert taken("ARRAY<DECIMAL(5, 2)>", [1.1, "2.20", None], objects=True) == [
        [Decimal("1.10"), Decimal("2.20"), None]
    ]
    assert taken("STRUCT<a: DATE>", {"a": "2024-01-31"}) == [{"a": dt.date(2024, 1, 31)}]
    assert taken("MAP<STRING, DOUBLE>", {"a": "0.5"}, objects=True) == [[("a", 0.5)]]


NUMBERS = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,5}(\.[0-9]{0,5})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.floats().map(repr),
    st.decimals().map(str),
    st.text("0123456789.eE+-", max_size=9),
)


@FUZZ
@given(texts=st.lists(NUMBERS, min_size=1, max_size=5), scale=st.integers(0, 10), digits=st.integers(0, 28))
def test_texts_of_decimals_against_fractions(texts: list[str], scale: int, digits: int) -> None:
    """Exact, or refused; one that is not is named. The same from objects, and from floats as from texts."""
    precision = max(scale + digits, 1)
    limit = 10 ** (precision - scale)

    def exact(text: str) -> Fraction | None:
        try:
            value = Decimal(text)
        except ArithmeticError:
            return None
        if not value.is_finite() or abs(value.adjusted()) > 400:
            return Fraction(0) if value.is_finite() and not value else None
        number = Fraction(value)
        return number if abs(number) < limit and (number * 10**scale).denominator == 1 else None

    expected = [exact(text) for text in texts]
    for objects in (False, True):
        try:
            found = taken(f"DECIMAL({precision}, {scale})", *texts, objects=objects)
        except ChangeValueError as error:
            assert expected[error.row] is None
        else:
            assert [Fraction(value) for value in found] == expected


@FUZZ
@given(
    values=st.lists(st.floats(), min_size=1, max_size=5)
    | st.lists(st.integers(-(10**16), 10**16).map(lambda n: n / 10**4), min_size=1, max_size=5),
    scale=st.integers(0, 30),
    digits=st.sampled_from([8, 15, 16, 38]),
)
def test_floats_for_decimals_are_their_shortest_texts(values: list[float], scale: int, digits: int) -> None:
    def outcome(*given: Any, objects: bool) -> Any:
        try:
            return taken(f"DECIMAL({max(digits, scale)}, {scale})", *given, None, objects=objects)
        except ChangeValueError as error:
            return error.row

    texts = outcome(*map(repr, values), objects=True)
    assert outcome(*values, objects=True) == texts
    assert outcome(*values, objects=False) == texts


@FUZZ
@given(value=st.datetimes(), separator=st.sampled_from("T "), minutes=st.none() | st.integers(-14 * 60, 14 * 60))
def test_texts_of_times_against_python(value: dt.datetime, separator: str, minutes: int | None) -> None:
    zone = None if minutes is None else dt.timezone(dt.timedelta(minutes=minutes))
    text = value.replace(tzinfo=zone).isoformat(separator)
    try:
        expected = dt.datetime.fromisoformat(text)
        expected = expected if zone is None else expected.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError:
        refused("TIMESTAMP", text)
        return
    assert taken("TIMESTAMP", text) == taken("TIMESTAMP", text, objects=True) == [expected]


def test_numbers_beyond_any_decimal_have_too_many_digits() -> None:
    for text in ("1e39", "1e-39", "-1e999999999999999999999"):
        assert len(_without_exponent(text)) > 38
