"""UUID: a string that is the text of a UUID, whatever it comes in."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError, SqlTypeError

IDS = [uuid.UUID(int=0), uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), uuid.UUID(int=2**128 - 1)]
TEXTS = [*map(str, IDS), None]
BYTES = pa.array([*(one.bytes for one in IDS), None], pa.binary(16))


@pytest.mark.parametrize(
    "given",
    [
        [(value,) for value in [*IDS, None]],
        [{"u": value} for value in TEXTS],
        [(None if value is None else value.upper(),) for value in TEXTS],
        [(None if value is None else value.replace("-", ""),) for value in TEXTS],
        pa.table({"u": BYTES}),
        pa.table({"u": pa.concat_arrays([BYTES, BYTES]).slice(4)}),
        pa.table({"u": pa.ExtensionArray.from_storage(pa.uuid(), BYTES)}),
        pa.table({"u": pa.array(TEXTS).dictionary_encode()}),
        pa.table({"u": pa.array([None if value is None else value.upper() for value in TEXTS], pa.large_string())}),
        pa.table({"u": pa.chunked_array([pa.array(TEXTS[:1]), pa.array(TEXTS[1:])])}),
    ],
)
def test_the_same_uuids_come_in_every_form(given: Any) -> None:
    db = livejoin.Database()
    db.create_table("T", "u UUID")
    view = db.create_view("v", "SELECT u FROM T")
    db.apply("T", given)
    assert view.schema.field("u").type == pa.string()
    assert sorted(map(str, view.to_arrow()["u"].to_pylist())) == sorted(map(str, TEXTS))
    db.apply("T", [{"u": value, "_change_type": "delete"} for value in [*IDS, None]])
    assert view.count() == 0


@pytest.mark.parametrize(
    "given",
    [
        [(IDS[0],), ("f81d4fae-7dec-11d0-a765-00a0c91e6bf",)],
        [(IDS[0],), ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n",)],
        [(IDS[0],), ("g81d4fae-7dec-11d0-a765-00a0c91e6bf6",)],
        [(IDS[0],), (IDS[0].bytes,)],
        [(IDS[0],), (5,)],
        pa.table({"u": [TEXTS[0], "x"]}),
        pa.table({"u": [TEXTS[0], TEXTS[1] + "\n"]}),
    ],
)
def test_what_is_none_is_refused_with_its_row(given: Any) -> None:
    db = livejoin.Database()
    db.create_table("T", "u UUID")
    with pytest.raises(ChangeValueError, match=r"of column 'u' is no UUID; allowed: uuid.UUID, 16 bytes") as caught:
        db.apply("T", given)
    assert caught.value.row == 1


@pytest.mark.parametrize("given", [pa.array([1]), pa.array([b"x"]), pa.array([b"x"], pa.binary(1))])
def test_another_arrow_type_is_refused(given: pa.Array) -> None:
    db = livejoin.Database()
    db.create_table("T", "u UUID")
    with pytest.raises(ChangeValueError, match="column 'u' is UUID, but its data has the Arrow type"):
        db.apply("T", pa.table({"u": given}))


def test_keys_and_snapshots(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (u UUID PRIMARY KEY, n INT)")
    db.create_table("S", "t UUID NOT NULL")
    joined = db.create_view("joined", "SELECT n, substring(t, 1, 8) AS head FROM T JOIN S ON T.u = S.t")
    db.apply({"T": [(IDS[1], 1)], "S": [(TEXTS[1].upper(),)]})
    assert joined.to_arrow().to_pylist() == [{"n": 1, "head": "f81d4fae"}]
    db.save(tmp_path / "saved")
    other = livejoin.Database.load(tmp_path / "saved")
    assert str(other.tables["T"].columns[0]) == "u UUID NOT NULL"
    other.apply("T", [{"u": IDS[1], "_change_type": "delete"}])
    assert other.views["joined"].count() == 0
    with pytest.raises(ChangeValueError, match="is no UUID"):
        other.apply("T", [("x", 1)])


@pytest.mark.parametrize("form", [str, lambda one: str(one).upper(), lambda one: one.hex, lambda one: one])
def test_a_uuid_is_found_in_every_form_that_it_is_written_in(form: Any) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (u UUID PRIMARY KEY, n INT); CREATE TABLE S (u UUID, w INT)")
    asked = form(IDS[1])
    if isinstance(asked, str):
        views = [
            db.create_view("equal", f"SELECT n FROM T WHERE '{asked}' = u"),
            db.create_view("among", f"SELECT n FROM T WHERE u IN ('{asked}', 'no UUID')"),
            db.create_view("inner", f"SELECT n FROM T WHERE EXISTS (SELECT 1 FROM S WHERE w = n AND T.u = '{asked}')"),
            db.create_view("joined", f"SELECT n FROM T JOIN S ON T.u = S.u AND S.u <=> '{asked}'"),
        ]
        other = db.create_view("other", f"SELECT n FROM T WHERE u <> '{asked}'")
    db.apply({"T": [(IDS[1], 1), (IDS[0], 2)], "S": [(IDS[1], 1), (IDS[0], 2)]})
    if isinstance(asked, str):
        assert [view.to_pylist() for view in views] == [[{"n": 1}]] * 4
        assert other.to_pylist() == [{"n": 2}]
    assert db.sql("SELECT n FROM T WHERE u = ?", [asked]).to_pylist() == [{"n": 1}]
    db.execute("DELETE FROM T WHERE u = ?", [asked])
    assert db.sql("SELECT n FROM T").to_pylist() == [{"n": 2}]


def test_a_view_is_looked_up_by_a_uuid() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (u UUID PRIMARY KEY, n INT); CREATE VIEW V AS SELECT u, n FROM T")
    db.apply("T", [(IDS[1], 1), (IDS[0], 2)])
    assert db.views["V"].get(IDS[1]) == (TEXTS[1], 1)
    assert db.views["V"].lookup(u=IDS[0]).to_pylist() == [{"u": TEXTS[0], "n": 2}]


def test_a_uuid_within_another_type_is_refused() -> None:
    with pytest.raises(SqlTypeError, match="ARRAY<UUID>"):
        livejoin.Database().create_table("T", "u ARRAY<UUID>")
