"""Words and values: round trips, equality, retention and snapshots."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livejoin.errors import ChangeValueError, StateError
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.words import CANONICAL_NAN, NULL_CODE, WIDE_BASE
from strategies import EXAMPLES

pytestmark = pytest.mark.nojit

TEXT = SqlType("string")
WIDE = SqlType.decimal(38, 2)
NARROW = SqlType.decimal(18, 2)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda unscaled: Decimal(f"{unscaled}E-{scale}"))


VALUES = {
    SqlType("boolean"): st.booleans(),
    SqlType.integer(8): st.integers(-(2**7), 2**7 - 1),
    SqlType.integer(16): st.integers(-(2**15), 2**15 - 1),
    SqlType.integer(32): st.integers(-(2**31), 2**31 - 1),
    SqlType.integer(64): st.integers(-(2**63), 2**63 - 1).filter(lambda value: value != NULL_CODE),
    SqlType("double"): st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf]),
    SqlType.decimal(5, 0): decimals(5, 0),
    NARROW: decimals(18, 2),
    WIDE: decimals(38, 2) | decimals(18, 2) | decimals(4, 2),
    SqlType.decimal(38, 38): decimals(38, 38),
    SqlType("date"): st.dates(),
    SqlType("timestamp"): st.datetimes(),
    TEXT: st.text(max_size=12) | st.sampled_from(["", "é", "日本語", "a\x00", "a"]),
}
columns = st.sampled_from(list(VALUES)).flatmap(
    lambda type: st.tuples(st.just(type), st.lists(st.none() | VALUES[type], max_size=20))
)


def same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return left == right


def encode(codec: Codec, type: SqlType, values: list | pa.Array | pa.ChunkedArray) -> np.ndarray:
    column = pa.array(values, type.arrow) if isinstance(values, list) else values
    table = Table("T", (Column("a", type),))
    return codec.encode(pa.table({"a": column}), table)[0]


@settings(deadline=None, max_examples=max(50, EXAMPLES))
@given(columns)
def test_round_trip(column):
    type, values = column
    codec = Codec()
    array = codec.decode(encode(codec, type, values), type)
    array.validate(full=True)
    assert array.type == type.arrow
    back = array.to_pylist()
    assert len(back) == len(values)
    assert all(same(a, b) for a, b in zip(back, values, strict=True))
    assert array.null_count == sum(value is None for value in values)
    codec._check()


@settings(deadline=None, max_examples=max(50, EXAMPLES))
@given(columns)
def test_words_are_equal_iff_values_are(column):
    type, values = column
    words = encode(Codec(), type, values)
    for a, left in zip(words, values, strict=True):
        for b, right in zip(words, values, strict=True):
            assert (a == b) == same(left, right)


@settings(deadline=None, max_examples=60)
@given(columns, st.integers(0, 5), st.integers(0, 5), st.integers(0, 20))
def test_slices_and_chunks(column, front, back, cut):
    type, values = column
    whole = pa.array(values[:front] + values + values[:back], type.arrow)
    middle = whole.slice(len(values[:front]), len(values))
    chunked = pa.chunked_array([middle.slice(0, cut), middle.slice(len(values)), middle.slice(cut)], type.arrow)
    codec = Codec()
    expected = encode(codec, type, values)
    assert encode(codec, type, middle).tolist() == expected.tolist()
    assert encode(codec, type, chunked).tolist() == expected.tolist()


def test_the_words_of_each_type():
    def words(type: SqlType, *values: object) -> list[int]:
        return encode(Codec(), type, list(values)).tolist()

    assert words(SqlType("boolean"), True, False, None) == [1, 0, NULL_CODE]
    assert words(SqlType.integer(8), -128, None, 127) == [-128, NULL_CODE, 127]
    assert words(SqlType.integer(64), -(2**63), 2**63 - 1) == [-(2**63), 2**63 - 1]
    assert words(SqlType("double"), 0.0, -0.0, math.nan, None) == [0, 0, CANONICAL_NAN, NULL_CODE]
    assert words(SqlType("date"), dt.date(1970, 1, 2), dt.date(1969, 12, 31)) == [1, -1]
    assert words(SqlType("timestamp"), dt.datetime(1970, 1, 1, 0, 0, 1)) == [1_000_000]
    assert words(NARROW, Decimal("-1.25"), None) == [-125, NULL_CODE]
    assert words(WIDE, Decimal("-1.25"), Decimal("1e16"), Decimal("-1e16"), None) == [
        -125,
        WIDE_BASE,
        WIDE_BASE + 1,
        NULL_CODE,
    ]
    assert words(TEXT, "b", "", None, "b") == [0, 1, NULL_CODE, 0]


def test_every_nan_has_one_word():
    patterns = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000123, NULL_CODE], np.uint64)
    array = pa.array(patterns.view(np.float64), from_pandas=False)
    assert encode(Codec(), SqlType("double"), array).tolist() == [CANONICAL_NAN] * 4


def test_garbage_under_nulls_does_not_matter():
    validity = pa.py_buffer(np.packbits([True, False], bitorder="little"))
    values = pa.py_buffer(np.array([5, NULL_CODE]))
    array = pa.Array.from_buffers(pa.int64(), 2, [validity, values])
    assert encode(Codec(), SqlType.integer(64), array).tolist() == [5, NULL_CODE]
    huge = pa.py_buffer(np.array([5, 0, 7, 2**62]))
    codec = Codec()
    encode(codec, WIDE, pa.Array.from_buffers(WIDE.arrow, 2, [validity, huge]))
    assert codec.entries == 0


def test_strings_are_shared_by_columns_and_tables():
    codec = Codec()
    pair = Table("P", (Column("a", TEXT), Column("b", TEXT)))
    words = codec.encode(pa.table({"a": ["x", "y"], "b": ["y", "z"]}), pair)
    assert words.shape == (2, 2) and words.flags.c_contiguous
    assert words[0, 1] == words[1, 0]
    assert encode(codec, TEXT, ["z"])[0] == words[1, 1]
    assert codec.entries == 3


def test_decimals_of_one_scale_have_equal_words_whatever_their_precision():
    codec = Codec()
    value = [Decimal("12.34"), Decimal("-9999999999999999.99")]
    assert encode(codec, NARROW, value).tolist() == encode(codec, WIDE, value).tolist()
    beyond = [Decimal("10000000000000000.00")]
    assert encode(codec, SqlType.decimal(20, 2), beyond).tolist() == encode(codec, WIDE, beyond).tolist()
    assert codec.entries == 1


@pytest.mark.parametrize("type", [SqlType.integer(64), SqlType("timestamp")])
def test_the_reserved_value_is_refused(type):
    array = pa.chunked_array([pa.array([1, None]), pa.array([NULL_CODE])]).cast(type.arrow)
    with pytest.raises(ChangeValueError, match=r"table 'T', row 2 .*column 'a'.*reserves") as caught:
        encode(Codec(), type, array)
    assert (caught.value.table, caught.value.row) == ("T", 2)


@settings(max_examples=50)
@given(st.lists(st.text(max_size=4)), st.lists(st.none() | st.text(max_size=4)))
def test_known_values_are_looked_up_and_not_added(stored, asked):
    codec = Codec()
    words = codec.encode(pa.table({"a": pa.array(stored, pa.string())}), Table("T", (Column("a", TEXT),)))[0]
    codes = dict(zip(stored, words.tolist(), strict=True)) | {None: NULL_CODE}
    found = codec.known().encode_column(pa.chunked_array([pa.array(asked, pa.string())]), Column("a", TEXT))
    assert [codes.get(value, -1) for value in asked] == found.tolist()
    assert codec.entries == len(set(stored))
    codec._check()


def test_known_decimals_have_words_of_their_own():
    codec = Codec()
    values = [Decimal(10**20), Decimal(5), Decimal(10**21)]
    kept = codec.encode_column(pa.chunked_array([pa.array(values[:2], WIDE.arrow)]), Column("a", WIDE))
    asked = codec.known().encode_column(pa.chunked_array([pa.array(values, WIDE.arrow)]), Column("a", WIDE))
    assert asked.tolist() == [*kept.tolist(), WIDE_BASE - 1]
    assert codec.entries == 1


def test_eight_byte_values_are_decoded_without_a_copy():
    words = np.arange(10)
    for type in (SqlType.integer(64), SqlType("double"), SqlType("timestamp")):
        array = Codec().decode(words, type)
        assert array.buffers()[1].address == words.ctypes.data
        assert array.buffers()[0] is None
    assert Codec().decode(words[::2], SqlType.integer(64)).to_pylist() == [0, 2, 4, 6, 8]


def test_unknown_codes_are_refused():
    codec = Codec()
    encode(codec, TEXT, ["x"])
    for type, word in ((TEXT, 1), (TEXT, -1), (WIDE, WIDE_BASE)):
        with pytest.raises(StateError, match="not in the dictionary"):
            codec.decode(np.array([word]), type)


texts = st.lists(st.text(st.sampled_from("abé"), max_size=3), max_size=15)
numbers = st.lists(st.integers(-3, 3).map(lambda i: Decimal(i) * 10**20), max_size=8)


@settings(deadline=None, max_examples=60)
@given(texts, numbers, texts, st.randoms(use_true_random=False))
def test_retain_and_snapshot(first, wide, second, random):
    codec = Codec()
    strings, decimal_words = encode(codec, TEXT, first), encode(codec, WIDE, wide)
    kept = [i for i in range(len(first)) if random.random() < 0.5]
    codec.retain(np.append(strings[kept], NULL_CODE), np.append(decimal_words, [NULL_CODE, 17, -4]))
    codec._check()
    assert codec.entries == len({first[i] for i in kept}) + len(set(wide) - {0})
    assert codec.decode(strings[kept], TEXT).to_pylist() == [first[i] for i in kept]

    restored = Codec.from_arrays({name: array.copy() for name, array in codec.arrays().items()})
    restored._check()
    assert restored.decode(decimal_words, WIDE).to_pylist() == wide
    words = encode(codec, TEXT, second)
    assert encode(restored, TEXT, second).tolist() == words.tolist()
    assert codec.decode(words, TEXT).to_pylist() == second
    assert codec.decode(strings[kept], TEXT).to_pylist() == [first[i] for i in kept]
    assert restored.entries == codec.entries
    assert restored.live_bytes == codec.live_bytes <= codec.nbytes


def test_foreign_snapshots_are_refused():
    codec = Codec()
    encode(codec, TEXT, ["x"])
    arrays = codec.arrays()
    with pytest.raises(StateError, match=r"'other\.heap'"):
        Codec.from_arrays(arrays | {"other.heap": arrays["strings.heap"]})
    with pytest.raises(StateError, match="lacks the array"):
        Codec.from_arrays({name: array for name, array in arrays.items() if name != "decimals.heap"})
    heap = np.frombuffer(b"\xff", np.uint8)
    of_bytes = Codec.from_arrays(arrays | {"strings.heap": heap})
    assert of_bytes.has_bytes(np.array([0])).all() and not of_bytes.has_strings(np.array([0])).any()
    narrow = {
        "decimals.heap": np.array([7, 0]).view(np.uint8),
        "decimals.starts": np.array([0]),
        "decimals.lengths": np.array([16], np.int32),
    }
    with pytest.raises(StateError, match="need no dictionary"):
        Codec.from_arrays(arrays | narrow)
    swapped = {name: arrays[name.replace("decimals", "strings")] for name in arrays}
    with pytest.raises(StateError, match="16 bytes"):
        Codec.from_arrays(swapped)
