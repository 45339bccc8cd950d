"""Hashes of values: equal for equal values of a type however they come, the same in every process and version."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from livejoin.plan.dispatch import cells_of
from livejoin.plan.dispatch.hashing import value_hashes
from livejoin.schema import SqlType
from livejoin.words import NULL_CODE

pytestmark = pytest.mark.nojit

BIGINT, STRING = SqlType.integer(64), SqlType("string")
TEXTS = ["", "a", "é", "abcdefgh", "a string of more than eight bytes", None, "a"]
WIDE = Decimal(10) ** 30


def hashes(values: pa.Array | pa.ChunkedArray, type: SqlType) -> list[int]:
    found, valid = value_hashes(values, type)
    nulls = values.is_null().to_pylist()
    assert nulls == ([False] * len(values) if valid is None else (~valid).tolist())
    return found.tolist()


def test_they_never_change() -> None:
    """Rows were sent by them before, perhaps by another version."""
    texts = ["", "a", "abcdefgh", "a string of more than eight bytes"]
    decimals = pa.array([Decimal("1.50"), WIDE, -WIDE], pa.decimal128(38, 2))
    found = [
        *hashes(pa.array([0, 1, -1, None]), BIGINT),  # the first is the first number of SplitMix64 from seed 0
        *hashes(pa.array(texts), STRING),
        *hashes(decimals, SqlType.decimal(38, 2)),
        *hashes(pa.array([1.5, -0.0]), SqlType("double")),
    ]
    assert [f"{value:016x}" for value in found] == [
        *("e220a8397b1dcdaf", "910a2dec89025cc1", "e4d971771b652c20", "a98dce27449ad4d2"),
        *("c016a07db5ae56c6", "14e92893b995e16f", "3b723cf0689abdc3", "84b9cfca60f0914c"),
        *("f8c632ff416764a8", "77db4b2689f47513", "d4698d9adc9238de"),
        *("d6dab18e1392608a", "e220a8397b1dcdaf"),
    ]
    columns = [pa.array([1, 2, None]), pa.array(["a", "b", None])]
    assert cells_of(columns, [BIGINT, STRING], 3, 1_000).tolist() == [121, 431, 395]


def test_integers_of_all_widths_and_days_are_hashed_as_words() -> None:
    wanted = hashes(pa.array([5, -1, None, 100]), BIGINT)
    for bits in (8, 16, 32):
        assert hashes(pa.array([5, -1, None, 100], f"int{bits}"), SqlType.integer(bits)) == wanted
    assert wanted[2] == hashes(pa.array([NULL_CODE]), BIGINT)[0]
    assert len(set(wanted)) == 4


def test_text_is_hashed_as_its_bytes_in_any_layout() -> None:
    plain = pa.array(TEXTS)
    wanted = hashes(plain, STRING)
    assert wanted[1] == wanted[6]
    assert len(set(wanted)) == 6
    assert hashes(plain.cast(pa.binary()), SqlType("binary")) == wanted
    assert hashes(plain.cast(pa.large_string()), STRING) == wanted
    assert hashes(plain.dictionary_encode(), STRING) == wanted
    assert hashes(pa.array(["x", *TEXTS, "y"]).slice(1, 7), STRING) == wanted
    assert hashes(pa.array(["x", *TEXTS]).dictionary_encode().slice(1, 7), STRING) == wanted
    assert hashes(pa.chunked_array([plain[:3], plain[:0], plain[3:]]), STRING) == wanted
    assert hashes(pa.chunked_array([], pa.string()), STRING) == []


def test_decimals_of_one_scale_are_hashed_alike_and_wide_ones_by_all_their_digits() -> None:
    values = [Decimal("1.50"), Decimal("-3.25"), None, Decimal("0.00")]
    narrow = hashes(pa.array(values, pa.decimal128(5, 2)), SqlType.decimal(5, 2))
    wide = hashes(pa.array([*values, WIDE, -WIDE, Decimal(10**30 + 1)], pa.decimal128(38, 2)), SqlType.decimal(38, 2))
    assert wide[:4] == narrow
    assert len(set(wide)) == 7


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_have_one_zero_and_one_nan(bits: int) -> None:
    kind = SqlType.real() if bits == 32 else SqlType("double")
    other = np.array([0x7FC00001 if bits == 32 else 0x7FF8000000000001], f"int{bits}").view(f"float{bits}")
    values = np.concatenate([np.array([0.0, -0.0, np.nan, 1.5], f"float{bits}"), other])
    found = hashes(pa.array(values, from_pandas=False), kind)
    assert found[0] == found[1]
    assert found[2] == found[4]
    assert len(set(found)) == 3


def test_other_types_have_hashes() -> None:
    for kind, values in (
        ("boolean", pa.array([True, False])),
        ("date", pa.array([0, 1], pa.date32())),
        ("timestamp", pa.array([0, 1], pa.timestamp("us"))),
        ("interval", pa.array([0, 1], pa.duration("us"))),
        ("months", pa.array([(0, 0, 0), (13, 0, 0)], pa.month_day_nano_interval())),
    ):
        assert len(set(hashes(values, SqlType(kind)))) == 2  # type: ignore[arg-type]


def test_rows_to_cells_by_all_their_values() -> None:
    one, other = pa.array([1, 1, 2, None, None] * 40), pa.array(["a", "a", "a", "b", "b"] * 40)
    found = cells_of([one, other], [BIGINT, STRING], 200, 7)
    assert (found[0::5] == found[1::5]).all()
    assert (found[3::5] == found[4::5]).all()
    many = cells_of([pa.array(range(7_000))], [BIGINT], 7_000, 7)
    counts = np.bincount(many, minlength=7)
    assert counts.min() > 850
    assert counts.max() < 1150
    assert cells_of([], [], 3, 7).tolist() == [0, 0, 0]
    assert (found == cells_of([one.dictionary_encode(), other], [BIGINT, STRING], 200, 7)).all()
    swapped = cells_of([pa.array([1, 2]), pa.array([2, 1])], [BIGINT, BIGINT], 2, 1 << 30)
    assert swapped[0] != swapped[1]
