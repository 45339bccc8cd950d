"""Rows that are objects with named fields, and arrays of records, give what dicts of their fields give."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pydantic
import pytest

from livejoin.changes import Intake, read_changes
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.sql import parse_columns

TABLE = parse_columns("t", "id BIGINT NOT NULL, name STRING, price DECIMAL(5, 2)")


@dataclass
class Order:
    id: int
    name: str | None
    price: Decimal | None = None


@dataclass(slots=True)
class Other:
    price: Decimal
    ID: int
    name: str


class Line(NamedTuple):
    price: Decimal | None
    name: str
    id: int


class Model(pydantic.BaseModel):
    id: int
    name: str | None = None
    price: Decimal | None = None


class Open(Model, extra="allow"):
    pass


class StandIn:
    """What makes a class a model of pydantic for us."""

    model_fields: ClassVar[dict[str, Any]] = {"id": None, "name": None, "price": None}

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def model_dump(self) -> dict[str, Any]:
        return self.__dict__


class Name(Enum):
    A = "a"


def read(data: Any, intake: Intake | None = None, table: Any = TABLE) -> list[Any]:
    found = read_changes(table, data) if intake is None else read_changes(table, data, intake=intake)
    return [tuple(row.values()) for row in found.rows.to_pylist()]


PRICE = Decimal("1.50")


@pytest.mark.parametrize(
    "row",
    [
        Order(1, "x", PRICE),
        Other(PRICE, 1, "x"),
        Line(PRICE, "x", 1),
        *(model(id=1, name="x", price=PRICE) for model in (Model, Open, StandIn)),
    ],
    ids=lambda row: type(row).__name__,
)
def test_objects_by_the_names_of_their_fields(row: Any) -> None:
    assert read([row, row]) == read(iter([row, row])) == [(1, "x", PRICE)] * 2


def test_a_default_is_given_and_a_dumped_model_may_leave_it_out() -> None:
    keyed = parse_columns("k", "id BIGINT PRIMARY KEY, name STRING, price DECIMAL(5, 2)")
    model = Model(id=1, name="x")
    assert read([model]) == [(1, "x", None)]
    assert read_changes(keyed, [model], by_key="always").given is None
    given = read_changes(keyed, [model.model_dump(exclude_unset=True)], by_key="always").given
    assert given is not None and given[:, 0].tolist() == [True, True, False]


def test_classes_that_have_other_fields() -> None:
    assert read([Order(1, "x"), Model(id=2), StandIn(id=3, name=None, price=None)]) == [
        (1, "x", None),
        (2, None, None),
        (3, None, None),
    ]
    with pytest.raises(ChangeFormatError, match="unknown column 'age'"):
        read([Open(id=1, age=2)])
    assert read([Open(id=1, age=2), Model(id=2)], Intake(extra_columns="ignore")) == [(1, None, None), (2, None, None)]
    three = namedtuple("three", "x y z")
    with pytest.raises(
        ChangeFormatError, match="missing columns 'id', 'name', 'price'; found are columns 'x', 'y', 'z'"
    ):
        read([three(1, "x", PRICE)])


@pytest.mark.parametrize(
    "rows", [[Order(1, "x"), (1, "x", None)], [Order(1, "x"), 5], [5], [{"id": 1}, Order(1, "x")], [Order]]
)
def test_rows_that_are_mixed_with_others(rows: list[Any]) -> None:
    with pytest.raises(ChangeFormatError, match=f"row {len(rows) - 1} .* is of type .*allowed are Arrow data"):
        read(rows)


def test_an_enumeration_is_the_text_that_it_is() -> None:
    class Text(StrEnum):
        A = "a"

    assert read([Order(1, Text.A)]) == [(1, "a", None)]
    with pytest.raises(ChangeValueError, match=r"row 0 .*Name\.A"):
        read([Order(1, Name.A)])  # type: ignore[arg-type]


def test_what_an_object_raises_is_told() -> None:
    class Bad(StandIn):
        @property
        def name(self) -> str:
            msg = "no name"
            raise RuntimeError(msg)

        @name.setter
        def name(self, value: Any) -> None:
            pass

    with pytest.raises(ChangeFormatError, match="cannot be read: RuntimeError: no name"):
        read([Bad(id=1, price=None)])


def test_parts_of_payload() -> None:
    table = parse_columns(
        "p", "id BIGINT, o STRUCT<id: BIGINT, name: STRING, price: DECIMAL(5, 2)>, l ARRAY<STRUCT<id: BIGINT>>"
    )

    @dataclass
    class Id:
        id: int

    found = read([{"id": 1, "o": Line(PRICE, "x", 7), "l": [Id(1), {"ID": 2}, (3,)]}], table=table)
    assert found == [(1, {"id": 7, "name": "x", "price": PRICE}, [{"id": 1}, {"id": 2}, {"id": 3}])]
    with pytest.raises(ChangeValueError, match=r"row 0 .*dicts with the fields id, name, price, objects with these"):
        read([{"id": 1, "o": Id(1), "l": None}], table=table)


KINDS = parse_columns(
    "k",
    "i INT, f DOUBLE, s STRING, b BOOLEAN, d DATE, t TIMESTAMP, v INTERVAL DAY TO SECOND, y BINARY, l ARRAY<INT>, "
    "o DECIMAL(5, 2)",
)
RECORD = [
    ("i", ">i4"),
    ("f", "f4"),
    ("s", "U3"),
    ("b", "?"),
    ("d", "M8[D]"),
    ("t", "M8[ms]"),
    ("v", "m8[D]"),
    ("y", "S2"),
    ("l", "i4", (2,)),
    ("o", "O"),
]
VALUES = (1, 0.5, "é", True, "2024-02-29", "2024-01-31T12:30", 2, b"\xff", [1, 2], Decimal("1.5"))
READ = (
    1,
    0.5,
    "é",
    True,
    dt.date(2024, 2, 29),
    dt.datetime(2024, 1, 31, 12, 30),
    dt.timedelta(2),
    b"\xff",
    [1, 2],
    Decimal("1.50"),
)


def test_arrays_of_records() -> None:
    records = np.array([VALUES, (2, 1.5, "", False, "NaT", "NaT", 0, b"", [3, 4], None)], RECORD)
    second = (2, 1.5, "", False, None, None, dt.timedelta(0), b"", [3, 4], None)
    assert read(records, table=KINDS) == read(records.view(np.recarray), table=KINDS) == [READ, second]
    assert read(np.array([VALUES] * 4, RECORD)[::3], table=KINDS) == [READ, READ]
    assert read(records[:0], table=KINDS) == []


def test_masked_records() -> None:
    records = np.ma.array(np.array([VALUES, VALUES], RECORD), mask=[tuple([True] * 10), tuple([False] * 10)])
    assert read(records, table=KINDS) == [(None,) * 10, READ]


@pytest.mark.parametrize(
    ("unit", "expected"), [("Y", dt.date(2024, 1, 1)), ("M", dt.date(2024, 5, 1)), ("W", dt.date(2024, 5, 2))]
)
def test_dates_of_other_units(unit: str, expected: dt.date) -> None:
    table = parse_columns("t", "d DATE")
    assert read(np.array([("2024-05-07",)], [("d", f"M8[{unit}]")]), table=table) == [(expected,)]


def test_times_of_other_units_and_of_nanoseconds() -> None:
    table = parse_columns("t", "d TIMESTAMP")
    for unit in ("h", "m", "s", "us", "ns"):
        assert read(np.array([("2024-05-07T12",)], [("d", f"M8[{unit}]")]), table=table) == [
            (dt.datetime(2024, 5, 7, 12),)
        ]
    with pytest.raises(ChangeValueError, match=r"row 0 .*whole microseconds"):
        read(np.array([("2024-05-07T12:00:00.000000001",)], [("d", "M8[ns]")]), table=table)


@pytest.mark.parametrize("kind", ["c16", "g", "M8[ps]", "V3"])
def test_fields_that_no_column_takes(kind: str) -> None:
    table = parse_columns("t", "d DOUBLE")
    with pytest.raises((ChangeFormatError, ChangeValueError), match="'t'"):
        read(np.zeros(2, [("d", kind)]), table=table)


def test_records_are_rows_of_one_dimension() -> None:
    with pytest.raises(ChangeFormatError, match="2 dimensions"):
        read(np.zeros((2, 2), [("id", "i8")]))
    with pytest.raises(ChangeFormatError, match="0 dimensions"):
        read(np.zeros((), [("id", "i8")]))
