"""Bad changes: a clear error of the tree in `errors.py`, and the state afterwards equals the state before."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from guarded import Guarded, person
from livejoin import errors
from scenario import Change


@pytest.fixture(scope="module")
def guarded() -> Guarded:
    """One for all tests, as none changes it."""
    return Guarded()


CHANGE = errors.ChangeFormatError
VALUE = errors.ChangeValueError
BAD_DATA = [
    # table, data, error, parts of the message
    pytest.param("G", [(1,)], CHANGE, ["G"], id="too few values"),
    pytest.param("G", [(1, 2, 3)], CHANGE, ["G"], id="too many values"),
    pytest.param("G", [(1, 2), (1, 2, 3)], CHANGE, ["G", "row 1"], id="one tuple is too long"),
    pytest.param("G", [{"src": 1}], CHANGE, ["G", "dst"], id="a key is missing"),
    pytest.param("G", [{"src": 1, "dst": 2}, {"src": 1}], CHANGE, ["G", "dst", "row 1"], id="one dict lacks a key"),
    pytest.param("G", [{"src": 1, "dst": 2, "w": 3}], CHANGE, ["G", "w"], id="an unknown key"),
    pytest.param("G", pa.table({"src": [1]}), CHANGE, ["G", "dst"], id="a column is missing"),
    pytest.param("G", pa.table({"src": [1], "dst": [2], "w": [3]}), CHANGE, ["G", "w"], id="an unknown column"),
    pytest.param("G", 42, CHANGE, ["G", "int"], id="not data at all"),
    pytest.param("G", "text", CHANGE, ["G", "str"], id="a text is not data"),
    pytest.param("G", [1, 2], CHANGE, ["G"], id="numbers are not rows"),
    pytest.param(
        "G",
        [{"src": 1, "dst": 2, "_change_type": "upsert"}],
        CHANGE,
        ["G", "upsert", "_change_type", "update_preimage"],
        id="an unknown change type",
    ),
    pytest.param(
        "G", [{"src": 1, "dst": 2, "_change_type": None}], CHANGE, ["G", "_change_type"], id="a NULL change type"
    ),
    pytest.param(
        "G", [{"src": 1, "dst": 2, "_change_type": "INSERT"}], CHANGE, ["_change_type", "INSERT"], id="case matters"
    ),
    pytest.param(
        "G", pa.table({"src": [1], "dst": [2], "_change_type": [1]}), CHANGE, ["_change_type"], id="an integer as type"
    ),
    pytest.param("G", pa.table({"src": ["1"], "dst": [2]}), VALUE, ["G", "src"], id="a string for a BIGINT"),
    pytest.param("G", [("x", 2)], VALUE, ["G", "src", "x", "row 0"], id="a str for a BIGINT"),
    pytest.param("G", [(1, 2), (1.5, 2)], VALUE, ["G", "src", "1.5", "row 1"], id="a fraction for a BIGINT"),
    pytest.param("G", [(True, 2)], VALUE, ["G", "src", "row 0"], id="a bool for a BIGINT"),
    pytest.param("G", [(1, 2), (2**63, 2)], VALUE, ["src", str(2**63), "row 1", str(2**63 - 1)], id="above BIGINT"),
    pytest.param("G", pa.table({"src": [1], "dst": pa.array([2**63], pa.uint64())}), VALUE, ["dst"], id="uint64"),
    pytest.param("P", [person(2**31)], VALUE, ["P", "id", str(2**31), "row 0"], id="above INT"),
    pytest.param("P", [person(tiny=128)], VALUE, ["P", "tiny", "128", "127"], id="above TINYINT"),
    pytest.param("P", [person(price=Decimal("1.005"))], VALUE, ["price", "1.005"], id="too many decimals"),
    pytest.param("P", [person(price=Decimal("10000000"))], VALUE, ["price", "10000000"], id="too many digits"),
    pytest.param("P", [person(born="yesterday")], VALUE, ["born", "yesterday"], id="a str for a DATE"),
    pytest.param("P", [person(yes=1)], VALUE, ["yes"], id="an int for a BOOLEAN"),
    pytest.param("P", [person(name=5)], VALUE, ["name"], id="an int for a STRING"),
    pytest.param("P", [person(ratio="1")], VALUE, ["ratio"], id="a str for a DOUBLE"),
    pytest.param("P", [person(ratio=2**53 + 1)], VALUE, ["ratio"], id="an int that DOUBLE cannot hold"),
    pytest.param("P", [person(at=5)], VALUE, ["at"], id="an int for a TIMESTAMP"),
    pytest.param("P", [person(id=None)], VALUE, ["P", "id", "NULL", "row 0"], id="NULL in the primary key"),
    pytest.param("P", [person(8), person(name=None)], VALUE, ["name", "NULL", "row 1"], id="NULL in a NOT NULL column"),
    pytest.param("P", [person(1)], errors.DuplicateKeyError, ["P", "id", "1"], id="a key that is taken"),
    pytest.param("P", [person(8), person(8)], errors.DuplicateKeyError, ["P", "8"], id="a key twice"),
    pytest.param(
        "P", [person(8), person(8, "9")], errors.DuplicateKeyError, ["P", "8"], id="a key twice with different rows"
    ),
    pytest.param(
        "P",
        [person(1, "1", Decimal("9.99")) | {"_change_type": "update_postimage"}],
        errors.DuplicateKeyError,
        ["P", "1"],
        id="half an update",
    ),
    pytest.param(
        "G",
        [{"src": 7, "dst": 7, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G", "7", "row 0"],
        id="an absent row",
    ),
    pytest.param(
        "G",
        [{"src": 1, "dst": 2, "_change_type": "delete"}] * 2,
        errors.AbsentRowError,
        ["G", "src = 1, dst = 2"],
        id="deleted more often than it is there",
    ),
    pytest.param(
        "G",
        [{"src": 1, "dst": 5, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G"],
        id="absent although both values are known",
    ),
    pytest.param(
        "G",
        [{"src": None, "dst": None, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G"],
        id="an absent row of NULLs",
    ),
    pytest.param(
        "P",
        [person(1, "1") | {"_change_type": "update_preimage"}, person(1, "2") | {"_change_type": "update_postimage"}],
        errors.AbsentRowError,
        ["P"],
        id="a preimage with another price",
    ),
]


@pytest.mark.parametrize(("table", "data", "error", "parts"), BAD_DATA)
def test_bad_changes(guarded: Guarded, table: str, data: Any, error: type[Exception], parts: list[str]) -> None:
    caught = guarded.refuses(lambda db: db.apply(table, data), error, *parts)
    assert isinstance(caught, errors.ChangeError)


@pytest.mark.parametrize(("table", "data", "error", "parts"), BAD_DATA)
def test_bad_changes_amid_good_ones(
    guarded: Guarded, table: str, data: Any, error: type[Exception], parts: list[str]
) -> None:
    """The same in a commit of which the other table's changes are good, whichever comes first."""
    other = {"G": [(5, 1), (1, 5)]} if table == "P" else {"P": [person(77), person(78)]}
    guarded.refuses(lambda db: db.apply(other | {table: data}), error, *parts)
    guarded.refuses(lambda db: db.apply({table: data} | other), error, *parts)


def test_an_unknown_table(guarded: Guarded) -> None:
    guarded.refuses(lambda db: db.apply("H", [(1, 2)]), errors.SchemaError, "H", "G", "P")
    guarded.refuses(lambda db: db.apply({"G": [(8, 8)], "H": [(1, 2)]}), errors.SchemaError, "H", "G")


def test_a_table_twice(guarded: Guarded) -> None:
    guarded.refuses(lambda db: db.apply({"G": [(8, 8)], "g": [(9, 9)]}), errors.ChangeFormatError, "g", "twice")


def test_an_unknown_way_to_treat_conflicts(guarded: Guarded) -> None:
    with pytest.raises((errors.ChangeError, ValueError), match=r"error.*ignore"):
        guarded.db.apply("G", [(8, 8)], on_conflict="skip")
    guarded.unchanged()


def test_ignored_conflicts_are_counted() -> None:
    guarded = Guarded()
    data = {
        "G": [
            {"src": 7, "dst": 7, "_change_type": "delete"},
            {"src": 1, "dst": 2, "_change_type": "delete"},
            {"src": 1, "dst": 2, "_change_type": "delete"},
            {"src": 9, "dst": 9, "_change_type": "insert"},
        ],
        "P": [person(1, "77"), person(60, "60")],
    }
    commit = guarded.db.apply(data, on_conflict="ignore")
    assert commit.ignored == 3
    assert commit.changes == 3
    guarded.seen.clear()
    good = [Change("G", "delete", (1, 2)), Change("G", "insert", (9, 9))]
    guarded.oracle.apply([*good, Change("P", "insert", tuple(person(60, "60").values()))])
    guarded.unchanged()


def test_times_with_a_zone_are_taken_as_utc() -> None:
    """Spark's `toArrow` gives every TIMESTAMP a zone: the instant counts."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (at TIMESTAMP)")
    view = db.create_view("all", "SELECT at FROM T")
    instant = datetime(2024, 5, 1, 12, tzinfo=UTC)
    db.apply("T", pa.table({"at": pa.array([instant], pa.timestamp("us", "Europe/Berlin"))}))
    assert view.to_arrow().to_pylist() == [{"at": datetime(2024, 5, 1, 12)}]


def test_the_one_reserved_bigint_is_refused(guarded: Guarded) -> None:
    """One 64-bit pattern stands for NULL inside; the value with these bits is refused and never mistaken."""
    guarded.refuses(lambda db: db.apply("G", [(0x7FF94E554C4C0001, 1)]), errors.ChangeValueError, "reserve")
