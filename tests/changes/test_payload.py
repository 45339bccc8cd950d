"""Arrays, structs, maps and variants come in and go out as they are, whatever they come in."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.changes.convert import convert
from livejoin.changes.payload_bytes import decode_payload, encode_payload
from livejoin.errors import ChangeValueError, StateError
from livejoin.schema import Column, SqlType, Table
from livejoin.sql.scalars.result_types import column_type
from livejoin.sql.tables.declare import parse_columns
from random_payload import canonical, random_type, random_value


def converted(values: Any, kind: SqlType) -> pa.Array:
    column = Column("c", kind)
    return convert(values, column, Table("T", (column,)), required=False)


@pytest.mark.parametrize("seed", range(120))
def test_random_values_come_back_and_are_equal_iff_their_bytes_are(seed: int) -> None:
    chosen = random.Random(seed)
    kind = random_type(chosen)
    values = [random_value(chosen, kind) for _ in range(chosen.choice([0, 1, 30]))]
    found = converted(tuple(values), kind)
    found.validate(full=True)
    assert found.type == kind.arrow
    texts = [canonical(value, kind) for value in values]
    assert [canonical(value, kind) for value in found.to_pylist()] == texts
    given = pa.array(values, kind.arrow)
    doubled = pa.chunked_array([given.slice(0, len(values) // 2), given.slice(len(values) // 2)])
    for other in (given, pa.concat_arrays([given, given]).slice(len(values)), doubled):
        chunked = other if isinstance(other, pa.ChunkedArray) else pa.chunked_array([other])
        assert [canonical(value, kind) for value in converted(chunked, kind).to_pylist()] == texts
    data, bounds = encode_payload(found, kind)
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    decoded = decode_payload(data, bounds, valid, kind)
    decoded.validate(full=True)
    assert [canonical(value, kind) for value in decoded.to_pylist()] == texts
    runs = [data[begin:end].tobytes() for begin, end in pairwise(bounds.tolist())]
    for one, run in zip(texts, runs, strict=True):
        for other, other_run in zip(texts, runs, strict=True):
            assert (one == other) == (run == other_run)


@pytest.mark.parametrize("seed", range(60))
def test_types_have_a_text_and_an_arrow_type_that_say_them(seed: int) -> None:
    kind = random_type(random.Random(seed))
    (column,) = parse_columns("T", f"c {kind}").columns
    assert column.type == kind
    assert column_type(kind.arrow) == kind


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_are_none(seed: int) -> None:
    """Cut off, lengthened or with other lengths, they are refused, or are those of another value."""
    chosen = random.Random(seed)
    kind = random_type(chosen)
    values = converted(tuple(random_value(chosen, kind, 0.0) for _ in range(5)), kind)
    data, bounds = encode_payload(values, kind)
    for _ in range(40):
        damaged, ends = data.copy(), bounds.copy()
        if chosen.random() < 0.5 and damaged.size:
            damaged[chosen.randrange(damaged.size)] = chosen.randrange(256)
        else:
            ends[chosen.randrange(1, 5)] = chosen.randint(int(ends[0]), int(ends[-1]))
            ends.sort()
        try:
            found = decode_payload(damaged, ends, np.ones(5, np.bool_), kind)
        except StateError:
            continue
        assert len(found) == 5


FORMS: list[tuple[str, Any, Any]] = [
    ("ARRAY<INT>", pa.array([[1, 2], None], pa.large_list(pa.int64())), [[1, 2], None]),
    ("ARRAY<INT>", pa.array([[1, 2], [3, None]], pa.list_(pa.int8(), 2)), [[1, 2], [3, None]]),
    ("ARRAY<INT>", pa.array([None, None], pa.null()), [None, None]),
    ("ARRAY<INT>", ((1, 2), [True and 3]), [[1, 2], [3]]),
    ("STRUCT<a: INT, b: STRING>", pa.array([{"B": "x", "A": 1}]), [{"a": 1, "b": "x"}]),
    ("STRUCT<a: INT, b: STRING>", ((1, "x"), {"B": "y", "a": None}), [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]),
    ("MAP<STRING, INT>", ({"b": 1, "a": 2}, [("c", None)], {}), [[("a", 2), ("b", 1)], [("c", None)], []]),
    ("ARRAY<DECIMAL(5, 2)>", pa.array([[Decimal("1.5")]]), [[Decimal("1.50")]]),
    ("ARRAY<STRING>", pa.array([["x", "y", "x"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), [["x", "y", "x"]]),
    ("VARIANT", ({"metadata": b"m", "value": b"v"}, None), [{"value": b"v", "metadata": b"m"}, None]),
]


@pytest.mark.parametrize(("declared", "given", "expected"), FORMS)
def test_all_forms_come_in(declared: str, given: Any, expected: Any) -> None:
    db = livejoin.Database()
    db.create_table("T", f"n INT, c {declared}")
    view = db.create_view("v", "SELECT n, c FROM T")
    numbers = range(len(expected))
    if isinstance(given, pa.Array):
        db.apply("T", pa.table({"n": list(numbers), "c": given}))
    else:
        db.apply("T", list(zip(numbers, given, strict=True)))
    found = sorted(view.to_arrow().to_pylist(), key=lambda row: row["n"])
    assert [row["c"] for row in found] == expected


REFUSED: list[tuple[str, Any, str]] = [
    ("ARRAY<INT>", ([1], ["x"]), "column 'c.element' does not fit INT"),
    ("ARRAY<INT>", ([1], [1.5]), "value 1.5 .float. of column 'c.element'"),
    ("ARRAY<INT>", ([1], "12"), "does not fit ARRAY<INT>: '12' is none; allowed are lists"),
    ("ARRAY<INT>", pa.array([[1], [2**40]]), "value 1099511627776 of column 'c.element' overflows INT"),
    ("ARRAY<ARRAY<INT>>", ([[1]], [[1], [2, "x"]]), "column 'c.element.element'"),
    ("STRUCT<a: INT>", ({"a": 1}, {"b": 1}), "allowed are dicts with the fields a"),
    ("STRUCT<a: INT>", ({"a": 1}, {"a": 1, "b": 1}), "allowed are dicts with the fields a"),
    ("STRUCT<a: INT>", ({"a": 1}, (1, 2)), "allowed are dicts with the fields a"),
    ("MAP<STRING, INT>", ({}, [("a", 1), ("b", 2), ("a", 1)]), "the key 'a' is there twice"),
    ("MAP<DOUBLE, INT>", ({}, [(0.0, 1), (-0.0, 2)]), "the key 0.0 is there twice"),
    ("MAP<STRING, INT>", ({}, {None: 1}), "NULL in column 'c.key'"),
    ("MAP<STRING, INT>", ({}, [("a",)]), "allowed are dicts and lists of pairs"),
    ("VARIANT", (None, {"value": None, "metadata": b""}), "its value is NULL"),
    ("VARIANT", (None, "x"), "allowed are dicts with the fields value, metadata"),
]


@pytest.mark.parametrize(("declared", "given", "message"), REFUSED)
def test_what_does_not_fit_is_refused_with_its_row_and_part(declared: str, given: Any, message: str) -> None:
    db = livejoin.Database()
    db.create_table("T", f"n INT, c {declared}")
    view = db.create_view("v", "SELECT n, c FROM T")
    data: Any = list(zip((0, 1), given, strict=True))
    if isinstance(given, pa.Array):
        data = pa.table({"n": [0, 1], "c": given})
    with pytest.raises(ChangeValueError, match=message) as caught:
        db.apply("T", data)
    assert caught.value.row == 1
    assert view.count() == 0


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("ARRAY<INT>", pa.array([{"a": 1}])),
        ("STRUCT<a: INT>", pa.array([[1]])),
        ("STRUCT<a: INT>", pa.array([{"a": 1, "b": 2}])),
        ("STRUCT<a: INT>", pa.array([{"b": 2}])),
        ("MAP<STRING, INT>", pa.array([{"a": 1}])),
        ("VARIANT", pa.array(["{}"])),
    ],
)
def test_another_arrow_type_is_refused(declared: str, given: pa.Array) -> None:
    db = livejoin.Database()
    db.create_table("T", f"c {declared}")
    with pytest.raises(ChangeValueError, match=r"column 'c' is .*, but its data has the Arrow type .*; allowed: "):
        db.apply("T", pa.table({"c": given}))
