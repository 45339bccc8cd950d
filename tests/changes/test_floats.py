"""FLOAT: numbers of binary32 and of nothing else, whatever they come in."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError, SqlTypeError
from livejoin.query.binary32 import nearest_float
from livejoin.state.evaluate.conversions import float_text

TENTH = 0.10000000149011612


def database() -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database()
    db.create_table("T", "f FLOAT")
    return db, db.create_view("v", "SELECT f FROM T")


@pytest.mark.parametrize(
    "given",
    [
        [(TENTH,), (1.5,), (None,), (float("inf"),)],
        [(0.1,), (1.5,), (None,), (float("inf"),)],
        [{"f": np.float32(0.1)}, {"f": np.float64(1.5)}, {"f": None}, {"f": math.inf}],
        pa.table({"f": pa.array([0.1, 1.5, None, math.inf], pa.float32())}),
        pa.table({"f": [TENTH, 1.5, None, math.inf]}),
        pa.table({"f": pa.array([0.1, 1.5, None, math.inf], pa.float32()).dictionary_encode()}),
    ],
)
def test_the_same_floats_come_in_every_form(given: Any) -> None:
    db, view = database()
    db.apply("T", given)
    assert view.schema.field("f").type == pa.float32()
    assert sorted(map(str, view.to_arrow()["f"].to_pylist())) == sorted(map(str, [TENTH, 1.5, None, math.inf]))


def test_integers_that_are_floats_come_in() -> None:
    db, view = database()
    db.apply("T", pa.table({"f": [16777216, None]}))
    db.apply("T", [(2**24,), (np.int32(3),), (1.0,)])
    assert sorted(view.to_arrow()["f"].drop_null().to_pylist()) == [1.0, 3.0, 16777216.0, 16777216.0]


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (pa.table({"f": [1.5, 0.1]}), 1),
        (pa.table({"f": [1, 16777217]}), 1),
        (pa.table({"f": [1e300]}), 0),
        ([(1.0,), (16777217,)], 1),
        ([(None,), (2.0,), (1e39,)], 2),
        ([(1,), (10**400,)], 1),
        ([("1.5",)], 0),
        ([(Decimal("1.5"),)], 0),
        ([(True,)], 0),
    ],
)
def test_what_is_no_float_is_refused(given: Any, row: int) -> None:
    db, view = database()
    with pytest.raises(ChangeValueError, match="FLOAT") as caught:
        db.apply("T", given)
    assert caught.value.row == row
    assert view.count() == 0


def test_a_deletion_finds_the_row_that_the_same_number_made(tmp_path: Path) -> None:
    db, view = database()
    db.apply("T", [(0.1,), (-0.0,), (math.nan,), (0.1,)])
    db.save(tmp_path / "saved")
    for one in (db, livejoin.Database.load(tmp_path / "saved")):
        one.apply("T", [{"f": value, "_change_type": "delete"} for value in (0.1, 0.0, -math.nan)])
        assert one.views["v"].to_arrow().to_pylist() == [{"f": TENTH}]
    assert view.count() == 1


def test_sums_are_doubles_and_extremes_floats() -> None:
    db = livejoin.Database()
    db.create_table("T", "f FLOAT, g REAL")
    view = db.create_view("v", "SELECT SUM(f) AS s, AVG(f) AS a, MIN(f) AS m, MAX(f + g) AS x, MODE(f) AS o FROM T")
    assert [str(type) for type in view.schema.types] == ["double", "double", "float", "float", "float"]
    db.apply("T", [(0.1, 0.2), (0.7, 0.2)])
    (row,) = view.to_arrow().to_pylist()
    assert row["s"] == TENTH + float(np.float32(0.7))
    assert row["x"] == float(np.float32(0.7) + np.float32(0.2))


def test_a_float_is_joined_with_a_double_by_its_value() -> None:
    db = livejoin.Database()
    db.create_table("A", "f FLOAT")
    db.create_table("B", "d DOUBLE, p DECIMAL(5, 2), i BIGINT")
    by_double = db.create_view("by_double", "SELECT f, d FROM A JOIN B ON A.f = B.d")
    by_decimal = db.create_view("by_decimal", "SELECT f, p FROM A JOIN B ON A.f = B.p")
    by_integer = db.create_view("by_integer", "SELECT f, i FROM A JOIN B ON A.f = B.i")
    db.apply("A", [(0.1,), (1.5,), (16777216.0,)])
    db.apply("B", [(0.1, Decimal("0.10"), 16777217), (TENTH, Decimal("1.50"), 16777216)])
    assert by_double.to_arrow().to_pylist() == [{"f": TENTH, "d": TENTH}]
    assert by_decimal.to_arrow().to_pylist() == [{"f": 1.5, "p": Decimal("1.50")}]
    assert by_integer.to_arrow().to_pylist() == [{"f": 16777216.0, "i": 16777216}]


def test_a_literal_beyond_all_floats_is_refused() -> None:
    db, _ = database()
    with pytest.raises(SqlTypeError, match="out of the range of FLOAT"):
        db.create_view("w", "SELECT f FROM T WHERE f < 1e39F")


def test_the_nearest_float_is_found_for_exact_numbers() -> None:
    """Against the definition: no other float is nearer, and of two as near the even one is taken."""
    chosen = random.Random("nearest")
    for _ in range(2000):
        word = np.uint32(chosen.getrandbits(31))
        below = np.array([word]).view(np.float32)[0]
        if not below < np.finfo(np.float32).max:
            continue
        above = np.nextafter(below, np.float32(np.inf))
        low, high = Fraction(float(below)), Fraction(float(above))
        middle, offset = (low + high) / 2, (high - low) / 10 ** chosen.randrange(1, 30)
        even = below if word % 2 == 0 else above
        assert nearest_float(middle - offset) == float(below)
        assert nearest_float(middle + offset) == float(above)
        assert nearest_float(middle) == float(even)
        assert nearest_float(-middle - offset) == -float(above)
        assert np.float32(float_text(float(below))) == below
    largest = Fraction(float(np.finfo(np.float32).max))
    beyond = (largest + 2**128) / 2
    assert nearest_float(beyond - 1) == float(largest)
    assert nearest_float(beyond) == math.inf
    assert nearest_float(-beyond) == -math.inf
    assert nearest_float(Fraction(10) ** 400) == math.inf
    assert nearest_float(Decimal("1e999")) == math.inf
