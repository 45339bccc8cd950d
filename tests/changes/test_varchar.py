"""VARCHAR(n): strings of at most n characters, whatever they come in; the declaration is kept by a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError

FITTING = ["", "abc", "äöü", None, "😀"]


def forms(values: list[Any]) -> list[Any]:
    column = pa.array(values, pa.string())
    return [
        [(1, value) for value in values],
        [{"k": 1, "s": value} for value in values],
        pa.table({"k": [1] * len(values), "s": column}),
        pa.table({"k": [1] * len(values), "s": column.dictionary_encode()}),
        pa.table({"k": [1] * len(values), "s": column.cast(pa.large_string())}),
    ]


@pytest.mark.parametrize("form", range(5))
def test_strings_that_are_too_long_are_refused(form: int) -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, s VARCHAR(3)")
    view = db.create_view("v", "SELECT s, length(s) AS n FROM T")
    db.apply("T", forms(FITTING)[form])
    assert sorted(map(str, view.to_arrow()["s"].to_pylist())) == sorted(map(str, FITTING))
    with pytest.raises(ChangeValueError) as caught:
        db.apply("T", forms(["ab", None, "äöüß", "abcde"])[form])
    assert caught.value.row == 2
    assert "'äöüß' of column 's' has 4 characters; VARCHAR(3) takes at most 3" in str(caught.value)
    assert view.count() == len(FITTING)


def test_changes_by_key_are_looked_at_too() -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT PRIMARY KEY, s VARCHAR(2)")
    db.apply("T", [{"k": 1, "s": "ab", "_change_type": "upsert"}])
    with pytest.raises(ChangeValueError, match="takes at most 2"):
        db.apply("T", [{"k": 1, "s": "abc", "_change_type": "upsert"}])
    db.apply("T", [{"k": 1, "_change_type": "delete"}])


def test_a_snapshot_keeps_the_length(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (k BIGINT, s VARCHAR(3) NOT NULL)")
    db.apply("T", [(1, "abc")])
    db.save(tmp_path / "saved")
    other = livejoin.Database.load(tmp_path / "saved")
    assert str(other.tables["T"].columns[1]) == "s VARCHAR(3) NOT NULL"
    with pytest.raises(ChangeValueError, match="takes at most 3"):
        other.apply("T", [(1, "abcd")])
