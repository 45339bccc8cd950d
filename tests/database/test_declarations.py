"""Foreign keys and static tables in a database: what is refused, what is kept over a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

import livejoin
from livejoin.database.transactions.staging import OnConflict
from livejoin.errors import ChangeError, SchemaError
from livejoin.schema import ForeignKey


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("nation", "id BIGINT PRIMARY KEY, name STRING", static=True)
    db.execute("CREATE TABLE person (id BIGINT PRIMARY KEY, nation BIGINT REFERENCES nation(id), boss INT)")
    db.create_table("part", "a INT, b STRING, PRIMARY KEY (b, a)")
    db.execute("CREATE TABLE sale (x STRING, y INT, p INT, FOREIGN KEY (y, x) REFERENCES part (a, b))")
    db.apply({"nation": [(1, "FR"), (2, "DE")], "person": [(1, 1, None)]})
    return db


VIEW = "SELECT person.id, nation.name FROM person JOIN nation ON person.nation = nation.id"


def test_a_static_table_is_filled_and_changed_before_a_view_uses_it() -> None:
    db = database()
    db.apply(
        "nation", [{"id": 2, "name": "DE", "_change_type": "delete"}, {"id": 3, "name": "IT", "_change_type": "insert"}]
    )
    view = db.create_view("v", VIEW)
    assert view.to_arrow().to_pylist() == [{"id": 1, "name": "FR"}]


@pytest.mark.parametrize("conflict", ["error", "ignore"])
def test_a_static_table_that_a_view_uses_does_not_change(
    conflict: OnConflict,
) -> None:
    db = database()
    view = db.create_view("v", VIEW)
    rows = [{"id": 4, "name": "ES", "_change_type": "insert"}]
    for change in (rows, [{"id": 1, "name": "FR", "_change_type": "delete"}]):
        with pytest.raises(ChangeError, match="table 'nation': the table is static and used by 'v'"):
            db.apply({"person": [(2, 1, None)], "nation": change}, on_conflict=conflict)
    with pytest.raises(ChangeError, match="static"):
        db.replay({"nation": [{**rows[0], "_seq": 1}]}, on_conflict=conflict)
    assert view.to_arrow().to_pylist() == [{"id": 1, "name": "FR"}]
    assert db.version == 1


def test_other_tables_change_beside_a_static_one() -> None:
    db = database()
    view = db.create_view("v", VIEW)
    db.apply({"person": [(2, 2, 1)], "nation": []})
    assert sorted(row["name"] for row in view.to_arrow().to_pylist()) == ["DE", "FR"]


def test_without_its_views_a_static_table_changes_again() -> None:
    db = database()
    db.create_view("v", VIEW)
    db.create_view("w", "SELECT id FROM person")
    db.drop_view("v")
    db.apply("nation", [(4, "ES")])
    assert db.tables["nation"].static


def test_a_static_table_with_a_window_is_refused() -> None:
    with pytest.raises(SchemaError, match="leave one of the two out"):
        livejoin.Database().create_table("T", "a INT", window_rows=3, static=True)
    with pytest.raises(SchemaError, match="static is 1; allowed are True and False"):
        livejoin.Database().create_table("T", "a INT", static=1)  # type: ignore[arg-type]


def test_a_foreign_key_is_not_enforced() -> None:
    db = database()
    view = db.create_view("v", VIEW)
    db.apply("person", [(7, 77, None), (8, None, None)])
    assert view.to_arrow().to_pylist() == [{"id": 1, "name": "FR"}]


def test_a_referenced_table_is_not_dropped() -> None:
    db = database()
    with pytest.raises(SchemaError, match="table 'nation' is referenced by a foreign key of 'person'; drop"):
        db.drop_table("NATION")
    assert "nation" in db.tables
    db.apply("nation", [(5, "PT")])
    db.execute("DROP TABLE person")
    db.drop_table("nation")
    assert "nation" not in db.tables


def test_keys_and_static_survive_a_snapshot(tmp_path: Path) -> None:
    db = database()
    db.create_view("v", VIEW)
    db.save(tmp_path)
    loaded = livejoin.Database.load(tmp_path)
    assert dict(loaded.tables) == dict(db.tables)
    assert loaded.tables["person"].foreign_keys == (ForeignKey((1,), "nation", ("id",)),)
    assert loaded.tables["sale"].foreign_keys == (ForeignKey((1, 0), "part", ("a", "b")),)
    with pytest.raises(ChangeError, match="static"):
        loaded.apply("nation", [(5, "PT")])
    with pytest.raises(SchemaError, match="referenced"):
        loaded.drop_table("part")
    loaded._check()
