"""Rows of a table that somebody made up: a table of which all invariants hold, or an error."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from livejoin.errors import StateError
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.state.known_words import check_words
from livejoin.state.table_rows import TableRows, rows_of, table_of
from livejoin.words import NULL_CODE, WIDE_BASE, Words

PLAIN = Table("T", (Column("a", SqlType.integer(64)), Column("b", SqlType.integer(64))))
KEYED = replace(PLAIN, primary_key=(0,))
LAST = PLAIN.having(window_rows=3)
RECENT = PLAIN.having(window_range=("a", 10))


def words(*items: int) -> Words:
    return np.array(items, np.int64)


ROWS = TableRows(np.array([[5, 6], [1, 1]], np.int64), words(1, 2), words(0, 4))
MANY = TableRows(np.tile(np.arange(1 << 16), (2, 1)), np.full(1 << 16, 1 << 46), np.arange(1 << 16))
SOUND = [
    (PLAIN, ROWS),
    (PLAIN, replace(ROWS, weights=words(1, 1 << 46))),
    (KEYED, replace(ROWS, weights=words(1, 1))),
    (LAST, replace(ROWS, arrivals=words(1, 0, 1))),
    (RECENT, replace(ROWS, begin=-3)),
]


@pytest.mark.nojit
@pytest.mark.parametrize(("table", "rows"), SOUND)
def test_sound_rows_make_a_table(table: Table, rows: TableRows) -> None:
    base = table_of(table, rows)
    base._check()
    again = rows_of(base)
    for part in ("values", "weights", "ids", "arrivals"):
        assert np.array_equal(getattr(again, part), getattr(rows, part))
    assert again.begin == rows.begin


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        (PLAIN, replace(ROWS, values=np.zeros((3, 2), np.int64)), "do not fit each other"),
        (PLAIN, replace(ROWS, weights=words(1)), "do not fit each other"),
        (PLAIN, replace(ROWS, weights=words(0, 1)), "multiplicities are not positive"),
        (PLAIN, replace(ROWS, weights=words(1, (1 << 46) + 1)), "the most that joins count"),
        (PLAIN, MANY, "beyond 62 bits"),
        (PLAIN, replace(ROWS, ids=words(4, 0)), "ids are not ascending"),
        (PLAIN, replace(ROWS, ids=words(-1, 0)), "ids are not ascending"),
        (PLAIN, replace(ROWS, values=np.full((2, 2), 7)), "a row is there twice"),
        (PLAIN, replace(ROWS, arrivals=words(0)), "it has no window by rows"),
        (KEYED, ROWS, "a row with a primary key is there twice"),
        (KEYED, replace(ROWS, weights=words(1, 1), values=np.array([[5, 5], [1, 2]])), "the same primary key"),
        (LAST, replace(ROWS, arrivals=words(0, 0, 1)), "the window and the multiplicities differ"),
        (LAST, replace(ROWS, arrivals=words(0, 1, 2)), "rows that are not there"),
        (LAST, replace(ROWS, arrivals=words(0, -1, 1)), "rows that are not there"),
        (LAST, replace(ROWS, weights=words(2, 2), arrivals=words(0, 1, 0, 1)), "more rows than it keeps"),
        (RECENT, replace(ROWS, begin=6), "out of the window"),
        (RECENT, replace(ROWS, values=np.array([[5, 50], [1, 1]])), "out of the window"),
    ],
)
def test_rows_that_are_not_sound_are_refused(table: Table, rows: TableRows, message: str) -> None:
    with pytest.raises(StateError, match=message):
        table_of(table, rows)


def test_more_rows_than_one_kernel_call_brings_in() -> None:
    """Ids with gaps, which later rows take."""
    number = 150_000
    ids = np.flatnonzero(np.random.default_rng(1).random(2 * number) < 0.5)[:number]
    rows = TableRows(np.array([np.arange(number), np.arange(number) % 7]), np.ones(number, np.int64), ids)
    base = table_of(PLAIN, rows)
    assert np.array_equal(base.live_rows()[0], ids)
    assert np.array_equal(base.find(rows.values), ids)
    base.stage_commit(np.array([[-1, -2], [0, 0]]), words(1, 1), ignore=False)
    base.commit()
    assert base.rows == number + 2
    assert set(base.live_rows()[0]) - set(ids) <= set(range(int(ids[-1]))), "free ids are used"
    base._check()


KINDS = [
    *(SqlType(kind) for kind in ("boolean", "double", "date", "timestamp", "string")),
    *(SqlType.integer(bits) for bits in (8, 16, 32, 64)),
    *(SqlType.decimal(digits, 2) for digits in (4, 18, 20, 38)),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_words_of_values_are_known_and_others_are_not(kind: SqlType) -> None:
    """Whatever passes is decoded to a value of the type, and encoded to the same word."""
    codec = Codec()
    known = Table("T", (Column("a", SqlType("string")), Column("b", SqlType.decimal(38, 2))))
    wide = pa.array([Decimal(10) ** 30, -(Decimal(10) ** 17), Decimal(10) ** 16, None], pa.decimal128(38, 2))
    given = codec.encode(pa.table([pa.array(["x", "", "ü", None]), wide], names=["a", "b"]), known)
    rng = random.Random(3)
    odd = [0, 1, -1, 2, 127, 128, -128, -129, 1 << 31, -(1 << 31) - 1, WIDE_BASE, WIDE_BASE + 3, NULL_CODE, -(1 << 63)]
    odd += [10**4, 10**18, -(10**18), 10**18 - 1, 0x7FF8000000000000, 0x7FF0000000000001, *given.ravel().tolist()]
    odd += [rng.getrandbits(64) - (1 << 63) for _ in range(50)]
    table = Table("T", (Column("a", kind),))
    passed = 0
    for word in odd:
        try:
            check_words(codec, table, words(word)[np.newaxis])
        except StateError as error:
            assert "column 'a'" in str(error)
            continue
        value = codec.decode(words(word), kind)
        value.validate(full=True)
        assert codec.encode(pa.table([value], names=["a"]), table)[0, 0] == word
        passed += 1
    assert passed >= 3
    assert passed < len(odd) or kind.kind in ("timestamp", "integer")


def test_null_is_refused_where_the_column_refuses_it() -> None:
    table = Table("T", (Column("a", SqlType("string"), nullable=False),))
    with pytest.raises(StateError, match="row 0: the word"):
        check_words(Codec(), table, words(NULL_CODE)[np.newaxis])
