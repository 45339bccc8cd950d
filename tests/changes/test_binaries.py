"""BINARY: any bytes, whatever they come in, beside the strings of the same bytes in one dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError, ExpressionError, SqlTypeError

VALUES = [b"", b"\x00", b"abc", b"\xff\xfe", None, "ä".encode()]


def database(columns: str = "b BINARY") -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database()
    db.create_table("T", columns)
    return db, db.create_view("v", "SELECT * FROM T")


@pytest.mark.parametrize(
    "given",
    [
        [(value,) for value in VALUES],
        [(None if value is None else bytearray(value),) for value in VALUES],
        [{"b": value} for value in VALUES],
        pa.table({"b": pa.array(VALUES, pa.binary())}),
        pa.table({"b": pa.array(VALUES, pa.large_binary())}),
        pa.table({"b": pa.array(VALUES, pa.binary()).dictionary_encode()}),
        pa.table({"b": pa.chunked_array([pa.array(VALUES[:2], pa.binary()), pa.array(VALUES[2:], pa.binary())])}),
    ],
)
def test_the_same_bytes_come_in_every_form(given: Any) -> None:
    db, view = database()
    db.apply("T", given)
    assert view.schema.field("b").type == pa.binary()
    assert sorted(view.to_arrow()["b"].to_pylist(), key=repr) == sorted(VALUES, key=repr)
    db.apply("T", [{"b": value, "_change_type": "delete"} for value in VALUES])
    assert view.count() == 0


def test_bytes_of_one_length_come_in() -> None:
    db, view = database()
    db.apply("T", pa.table({"b": pa.array([b"abc", b"xyz"], pa.binary(3))}))
    assert sorted(view.to_arrow()["b"].to_pylist()) == [b"abc", b"xyz"]


@pytest.mark.parametrize("given", [[("a",)], [(1,)], pa.table({"b": ["a"]}), pa.table({"b": [[1]]})])
def test_what_is_no_bytes_is_refused(given: Any) -> None:
    db, view = database()
    with pytest.raises(ChangeValueError, match=r"column 'b'.*BINARY"):
        db.apply("T", given)
    assert view.count() == 0


def test_keys_joins_groups_and_order_go_by_the_bytes(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.create_table("T", "b BINARY, n INT")
    db.create_table("K", "b BINARY PRIMARY KEY, s STRING UNIQUE")
    db.create_view("joined", "SELECT K.s, n FROM T JOIN K ON T.b = K.b")
    db.create_view("by_text", "SELECT n FROM T JOIN K ON T.b = K.s")
    db.create_view("grouped", "SELECT b, COUNT(*) AS c, MIN(hex(b)) AS h FROM T GROUP BY b")
    db.create_view("first", "SELECT b FROM T ORDER BY b DESC NULLS LAST LIMIT 2")
    db.create_view("least", "SELECT MIN(b) AS least, MAX(b) AS greatest FROM T")
    db.apply(
        {"K": [(b"\xff", "x"), (b"", "\x00")], "T": [(b"\xff", 1), (b"", 2), (b"\x00", 3), (None, 4), (b"\xff", 5)]}
    )
    db.save(tmp_path / "saved")
    for one in (db, livejoin.Database.load(tmp_path / "saved")):
        found = {name: view.to_arrow().to_pylist() for name, view in one.views.items()}
        assert sorted(found["joined"], key=str) == [{"s": "\x00", "n": 2}, {"s": "x", "n": 1}, {"s": "x", "n": 5}]
        assert found["by_text"] == [{"n": 3}]
        assert {(row["b"], row["c"], row["h"]) for row in found["grouped"]} == {
            *((b"\xff", 2, "FF"), (b"", 1, ""), (b"\x00", 1, "00"), (None, 1, None))
        }
        assert found["first"] == [{"b": b"\xff"}, {"b": b"\xff"}]
        assert found["least"] == [{"least": b"", "greatest": b"\xff"}]
        one.apply("T", [{"b": b"\xff", "n": 1, "_change_type": "delete"}])
        assert one.views["first"].to_arrow().to_pylist() == [{"b": b"\xff"}, {"b": b"\x00"}]
        with pytest.raises(livejoin.DuplicateKeyError):
            one.apply("K", [(b"\xff", "y")])


def test_combinations_of_bytes_are_counted() -> None:
    db, _ = database("b BINARY, c BINARY")
    view = db.create_view("w", "SELECT COUNT(DISTINCT b, c) AS n FROM T")
    db.apply("T", [(b"\xff", b""), (b"\xff", b""), (b"", b"\xff"), (b"\xff", None), (b"FF", b"")])
    assert view.to_arrow().to_pylist() == [{"n": 3}]


def test_bytes_that_are_no_text_have_none() -> None:
    db, _ = database()
    view = db.create_view("w", "SELECT CAST(b AS STRING) AS s FROM T")
    with pytest.raises(ExpressionError, match="malformed for STRING; use try_cast"):
        db.apply("T", [(b"\xff",)])
    assert view.count() == 0
    tried = db.create_view("tried", "SELECT TRY_CAST(b AS STRING) AS s FROM T WHERE b > X'00'")
    db.drop_view("w")
    db.apply("T", [(b"\xff",), (b"a",), (b"\x00",)])
    assert sorted(map(str, tried.to_arrow()["s"].to_pylist())) == ["None", "a"]


@pytest.mark.parametrize(
    "sql", ["b + 1", "SUM(b)", "AVG(b)", "CAST(b AS INT)", "CAST(1 AS BINARY)", "b = 1", "year(b)"]
)
def test_what_bytes_do_not_take_is_refused(sql: str) -> None:
    db, _ = database()
    with pytest.raises(SqlTypeError, match="BINARY"):
        db.create_view("w", f"SELECT {sql} AS x FROM T")
