"""``create_table`` from classes and Arrow schemas: the columns that SQL declares, and refusals that name the field."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict, Union

import numpy as np
import pyarrow as pa
import pydantic
import pytest

import livejoin
from livejoin.errors import SchemaError, SqlError
from livejoin.schema.models import declared_columns
from livejoin.sql import parse_columns

Cents = NewType("Cents", int)


class Level(enum.StrEnum):
    LOW = "low"


class Number(enum.IntEnum):
    ONE = 1


class Bare(enum.Enum):
    ONE = 1


@dataclass
class Place:
    x: float
    y: float | None


@dataclass
class Everything:
    id: int
    flag: bool
    ratio: float
    name: str
    raw: bytes
    day: dt.date
    at: dt.datetime
    took: dt.timedelta
    price: Decimal
    exact: Annotated[Decimal, "DECIMAL(10, 2)"]
    key: uuid.UUID
    maybe: int | None
    perhaps: Optional[str]  # noqa: UP045
    other: Union[dt.date, None]  # noqa: UP007
    small: Annotated[int | None, "SMALLINT"]
    level: Level
    number: Number
    one_of: Literal["a", "b"]
    cents: Cents
    many: list[int]
    several: Sequence[str | None]
    tuples: tuple[float, ...]
    by_name: dict[str, float]
    mapped: Mapping[str, int]
    place: Place
    of_numpy: np.float32
    counted: ClassVar[int] = 0
    later: int = field(default=0, kw_only=True)


COLUMNS = """id BIGINT NOT NULL, flag BOOLEAN NOT NULL, ratio DOUBLE NOT NULL, name STRING NOT NULL, raw BINARY
NOT NULL, day DATE NOT NULL, at TIMESTAMP NOT NULL, took INTERVAL DAY TO SECOND NOT NULL, price DECIMAL(38, 18)
NOT NULL, exact DECIMAL(10, 2) NOT NULL, key UUID NOT NULL, maybe BIGINT, perhaps STRING, other DATE, small SMALLINT,
level STRING NOT NULL, number BIGINT NOT NULL, one_of STRING NOT NULL, cents BIGINT NOT NULL,
many ARRAY<BIGINT> NOT NULL,
several ARRAY<STRING> NOT NULL, tuples ARRAY<DOUBLE> NOT NULL, by_name MAP<STRING, DOUBLE> NOT NULL,
mapped MAP<STRING, BIGINT> NOT NULL, place STRUCT<x: DOUBLE, y: DOUBLE> NOT NULL, of_numpy FLOAT NOT NULL,
later BIGINT NOT NULL"""


def columns(model: Any, key: Any = None) -> Any:
    return parse_columns("t", declared_columns("t", model, key))


def test_each_annotation() -> None:
    assert columns(Everything, "id") == parse_columns("t", f"{COLUMNS}, PRIMARY KEY (id)")


class Tuple(NamedTuple):
    a: int
    b: str | None


class Typed(TypedDict):
    a: int
    b: NotRequired[str]


class Base(TypedDict):
    a: int


class Partial(Base, total=False):
    b: str


class Model(pydantic.BaseModel):
    a: int
    b: str | None = None


@pytest.mark.parametrize("model", [Tuple, Typed, Partial, Model])
def test_each_kind_of_class(model: Any) -> None:
    assert columns(model, ["A"]) == parse_columns("t", "a BIGINT NOT NULL, b STRING, PRIMARY KEY (a)")
    assert columns(model) == parse_columns("t", "a BIGINT NOT NULL, b STRING")


def test_digits_of_pydantic() -> None:
    class Priced(pydantic.BaseModel):
        a: Decimal = pydantic.Field(max_digits=10, decimal_places=2)
        b: Annotated[Decimal, pydantic.Field(max_digits=9, decimal_places=3)] | None = None
        c: pydantic.condecimal(decimal_places=4)  # type: ignore[valid-type]
        d: Annotated[Decimal, "DECIMAL(4, 1)"]

    found = "a DECIMAL(10, 2) NOT NULL, b DECIMAL(9, 3), c DECIMAL(38, 4) NOT NULL, d DECIMAL(4, 1) NOT NULL"
    assert columns(Priced) == parse_columns("t", found)


def test_arrow_schemas() -> None:
    """What a table has of an Arrow schema takes all values of it; that of a table gives the table again."""
    table = parse_columns(
        "t", f"{COLUMNS}, v VARIANT, m INTERVAL YEAR TO MONTH, s STRUCT<`a b`: INT, c: ARRAY<MAP<STRING, INT>>>"
    )
    again = columns(table.arrow)
    as_text = [str(column).replace("key UUID", "key STRING") for column in table.columns]
    assert [str(column) for column in again.columns] == as_text
    kinds = {
        "a": pa.uint8(),
        "b": pa.uint32(),
        "c": pa.uint64(),
        "d": pa.dictionary(pa.int8(), pa.string()),
        "e": pa.uuid(),
    }
    kinds |= {
        "f": pa.timestamp("ns", "Europe/Paris"),
        "g": pa.decimal256(30, 3),
        "h": pa.large_list(pa.int8()),
        "i": pa.binary(4),
    }
    expected = (
        "a SMALLINT, b BIGINT, c DECIMAL(20, 0), d STRING, e UUID, f TIMESTAMP, g DECIMAL(30, 3), h ARRAY<TINYINT>, "
        "i BINARY"
    )
    assert columns(pa.schema(kinds.items())) == parse_columns("t", expected)
    assert columns(
        pa.schema([pa.field("a", pa.int64(), False), pa.field("b", pa.string())]), ("b", "a")
    ).primary_key == (1, 0)


@pytest.mark.parametrize(
    "kind",
    [pa.time32("s"), pa.decimal256(76, 0), pa.decimal128(5, -2), pa.null(), pa.list_(pa.time64("us")), pa.struct([])],
)
def test_arrow_types_that_no_column_has(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="field 'a' has the Arrow type"):
        columns(pa.schema({"a": kind}.items()))


@pytest.mark.parametrize(
    "annotation",
    [Any, object, int | str, complex, dt.time, list, dict, set[int], Bare, Literal["a", 1], None, "int", 5],
)
def test_annotations_that_no_column_has(annotation: Any) -> None:
    model = type("Odd", (), {"__annotations__": {"a": annotation}})
    if annotation in ("int",):
        assert columns(dataclass(model)).columns[0].declared == "BIGINT"
        return
    with pytest.raises(SchemaError, match="table 't'"):
        columns(dataclass(model))


@pytest.mark.parametrize("model", [None, 5, int, dict, [("a", int)], Everything.__init__, b"a INT"])
def test_what_is_no_model(model: Any) -> None:
    with pytest.raises(SchemaError, match="allowed is a text such as 'src BIGINT, dst BIGINT', a dict such as"):
        columns(model)


def test_annotations_that_name_nothing() -> None:
    @dataclass
    class Lost:
        a: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(SchemaError, match="'Nowhere'"):
        columns(Lost)


@pytest.mark.parametrize("key", ["z", ["a", "z"], 5, [], [1], ""])
def test_keys_that_are_none(key: Any) -> None:
    with pytest.raises(SchemaError, match=r"key (names|is)"):
        columns(Tuple, key)


def test_odd_names_and_empty_classes() -> None:
    odd = pa.schema([("a b", pa.int8()), ("`", pa.int8()), ("select", pa.int8())])
    assert columns(odd, "`").names == ("a b", "`", "select")

    @dataclass
    class Empty:
        pass

    for model in (Empty, pa.schema([])):
        with pytest.raises((SchemaError, SqlError)):
            columns(model)
    with pytest.raises(SqlError):
        columns(dataclass(type("Odd", (), {"__annotations__": {"a": Annotated[int, "no type"]}})))


def test_a_table_of_models_from_declaration_to_reading() -> None:
    db = livejoin.Database()
    db.create_table("places", Model, key="a")
    db.create_table("texts", "a BIGINT, b STRING", key="a")
    view = db.create_view("v", "SELECT p.a, t.b FROM places p JOIN texts t ON p.a = t.a")
    db.apply({"places": [Model(a=1), Model(a=2, b="x")], "texts": [Tuple(1, "y"), Tuple(2, None)]})
    db.apply("places", [Model(a=1, b="z")], on_conflict="update")
    assert sorted(row["a"] for row in view.to_arrow().to_pylist()) == [1, 2]
    assert db.tables["texts"].primary_key == (0,)
    with pytest.raises(SqlError):
        db.create_table("twice", "a BIGINT PRIMARY KEY", key="a")


def test_a_dict_of_names_and_types() -> None:
    db = livejoin.Database()
    db.create_table("G", {"src": "BIGINT NOT NULL", "dst": int | None, "price": "DECIMAL(10, 2)", "day": pa.date32()})
    db.create_table("P", {"id": "BIGINT", "the name": str}, key="id")
    assert [column.name for column in db.tables["G"].columns] == ["src", "dst", "price", "day"]
    assert [str(column.type) for column in db.tables["G"].columns] == ["BIGINT", "BIGINT", "DECIMAL(10, 2)", "DATE"]
    assert [column.nullable for column in db.tables["G"].columns] == [False, True, True, True]
    assert db.tables["P"].primary_key == (0,) and not db.tables["P"].columns[1].nullable
    with pytest.raises(SchemaError, match=r"table 'x': field 'a'"):
        db.create_table("x", {"a": object})
    with pytest.raises(SchemaError, match="a column is named 5; allowed is a text"):
        db.create_table("x", {5: "INT"})  # type: ignore[dict-item]
    with pytest.raises(SqlError, match="NOPE"):
        db.create_table("x", {"a": "NOPE"})
    with pytest.raises(SchemaError, match=r"a dict such as \{'src': 'BIGINT', 'dst': 'BIGINT'\}"):
        db.create_table("x", 5)  # type: ignore[arg-type]
