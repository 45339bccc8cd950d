"""Changes that speak of rows that are there: what they come to, and what is refused where these are in cells."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.checkpoint.incoming.moved import moved
from livejoin.checkpoint.incoming.settled import settled, to_settle
from livejoin.database.base_rows import keys_of, rows_with
from livejoin.distributed.move import as_now
from livejoin.errors import StateError
from livejoin.schema import Table
from livejoin.sql import parse_columns

TABLE = parse_columns("T", "id BIGINT, v STRING, n DECIMAL(10, 2), PRIMARY KEY (id)")
LARGE = json.dumps({"v": "unchanged"})


def changes(*rows: tuple[Any, ...], table: Table = TABLE) -> pa.Table:
    """Rows of values, ``_change_type`` and ``_without``."""
    columns = [*zip(*rows, strict=True)]
    fields = [*((column.name, column.type.arrow) for column in table.columns)]
    fields += [("_change_type", pa.string()), ("_without", pa.string())]
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(fields, columns, strict=True)})


@pytest.fixture
def database() -> livejoin.Database:
    database = livejoin.Database()
    database.create_table("T", "id BIGINT PRIMARY KEY, v STRING, n DECIMAL(10, 2)")
    database.apply("T", [(1, "one", None), (2, "two", None), (3, None, None)])
    return database


def test_values_that_stay(database: livejoin.Database) -> None:
    """From the row that is there, from a change before, over several of them, under another key; NULL is a value."""
    given = changes(
        (1, None, 5, "upsert", LARGE),
        (2, "new", 5, "upsert", None),
        (2, None, 6, "upsert", LARGE),
        (1, None, None, "update_preimage", None),
        (9, None, 7, "update_postimage", LARGE),
        (9, None, 8, "upsert", LARGE),
        (3, None, 8, "upsert", LARGE),
        (1, "again", 8, "upsert", None),
        (1, None, 9, "upsert", LARGE),
        (2, None, None, "delete", LARGE),
    )
    found = settled(database, TABLE, given).changes
    assert found["v"].to_pylist() == ["one", "new", "new", None, "one", "one", None, "again", "again", None]


LOST = (
    "column 'v' of an updated row is large and was not changed, so that it was not sent, and there is no row with its"
)


@pytest.mark.parametrize(
    "before",
    [
        (7, None, None, "delete", None),
        (1, None, None, "delete", None),
        (None, None, None, "truncate", None),
        (3, None, None, "update_preimage", json.dumps({"id": "=9000000000000000000000"})),
    ],
)
def test_values_that_nobody_has(database: livejoin.Database, before: tuple[Any, ...]) -> None:
    """Of a row that went, or was left out before, or whose key has no value; what follows it is lost too."""
    key = before[0] or 1
    kind = "update_postimage" if before[3] == "update_preimage" else "upsert"
    first = (2, None, None, "update_preimage", None)  # of no pair with what comes
    given = changes(
        first, before, (key, None, 5, kind, LARGE), (key, None, 6, "upsert", LARGE), (key, "x", 7, "upsert", None)
    )
    found = settled(database, TABLE, given)
    assert [one.row for one in found.refused if LOST in one.reason] == [2, 3]
    assert found.changes["v"].to_pylist()[-1] == "x"
    assert not any(one.is_conflict for one in found.refused)


def test_truncation(database: livejoin.Database) -> None:
    """What came before the last one does not count, not even where it could not be applied."""
    before = (5, None, None, "upsert", json.dumps({"n": "=NaN"}))
    given = changes(before, (None, None, None, "truncate", None), (2, "x", None, "upsert", None))
    found = settled(database, TABLE, given)
    assert not found.refused
    database.apply("T", found.changes, on_conflict="update")
    assert database.stats()["tables"]["T"]["rows"] == 1


def test_what_is_not_kept_does_not_count(database: livejoin.Database) -> None:
    other = json.dumps({"other": "absent", "more": "gone", "one": "=infinity", "big": "unchanged"})
    given = changes((1, "x", None, "upsert", other), (2, None, None, "delete", json.dumps({"v": "absent"})))
    expected = given.drop_columns(["_without"])
    assert settled(database, TABLE, given).changes == expected == to_settle(TABLE, given).changes
    for why, says in (("absent", "before the column 'v' came"), ("gone", "the column 'v' of the stream is not there")):
        with pytest.raises(StateError, match=says):
            settled(database, TABLE, changes((1, None, None, "upsert", json.dumps({"v": why}))))


def test_what_goes_to_cells() -> None:
    """All but values without a place, and values that nobody has found; not of what was truncated behind."""
    text = json.dumps({"n": "=NaN"})
    given = changes(
        (1, None, None, "upsert", text),
        (None, None, None, "truncate", None),
        (1, None, 5, "upsert", LARGE),
        (2, None, None, "upsert", text),
        (1, None, None, "update_preimage", LARGE),
        (9, None, 7, "update_postimage", LARGE),
        (3, None, None, "delete", text),
    )
    found = to_settle(TABLE, given)
    assert [(one.row, one.is_conflict) for one in found.refused] == [(3, False), (5, False)]
    assert found.refused[0].reason.startswith("column 'n' has the value NaN, which DECIMAL(10, 2) cannot hold")
    assert found.refused[1].reason.startswith(LOST)
    assert found.changes == given.take([0, 1, 2, 4, 6])


@pytest.mark.parametrize("seed", range(12))
def test_large_values_under_other_keys(seed: int) -> None:
    """What is asked elsewhere, found there and settled there is what one database settles, refusals too."""
    dice, columns = random.Random(seed), "id DOUBLE, k STRING, v STRING, w STRING, PRIMARY KEY (id, k)"
    database, table = livejoin.Database(), parse_columns("T", columns)
    database.create_table("T", columns)
    there = [(n, k, dice.choice(["v", None]), f"w{n}{k}") for n in range(4) for k in "ab" if dice.random() < 0.7]
    database.apply("T", there)
    rows: list[tuple[Any, ...]] = []
    for number in range(30):
        key = (float(dice.randrange(5)) * dice.choice([1.0, -1.0 if dice.random() < 0.2 else 1.0]), dice.choice("ab"))
        lacks = {name: "unchanged" for name in "vw" if dice.random() < 0.5} | (
            {"x": "absent"} if number % 5 == 0 else {}
        )
        values = tuple(None if name in lacks else f"{name}{number}" for name in "vw")
        said = json.dumps(lacks) if lacks else None
        match dice.choice(["upsert", "upsert", "delete", "move", "move", "move", "bad", "alone"]):
            case "move":
                rows.append((*key, None, None, "update_preimage", None))
                other = (float(dice.randrange(5)), dice.choice("ab"))
                rows.append((*other, *values, "update_postimage", said))
            case "alone":
                rows.append((*key, *values, "update_postimage", said))
            case "bad":
                rows.append((*key, *values, dice.choice(["remove", None]), said))
            case kind:
                rows.append((*key, *values, kind, said))
    if seed % 4 == 0:
        rows.insert(dice.randrange(len(rows)), (None,) * 4 + ("truncate", None))
    given = changes(*rows, table=table)
    whole = settled(database, table, given)
    first = moved(table, given, None)
    assert first.changes == given
    asked = None if first.asks is None else rows_with(database, "T", keys_of(database, "T", first.asks))[0]
    sent = to_settle(table, moved(table, given, asked).changes)
    found = settled(database, table, sent.changes)
    kept = [row for row in range(given.num_rows) if row not in {one.row for one in sent.refused}]
    refused = {one.row: one.reason for one in sent.refused} | {kept[one.row]: one.reason for one in found.refused}
    assert refused == {one.row: one.reason for one in whole.refused}
    assert found.changes == whole.changes


def test_rows_that_move_to_cells_get_the_columns_of_now() -> None:
    table = parse_columns("T", "id BIGINT, n DECIMAL(10, 2), s STRING, x INT")
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "gone": ["a", "b"], "_change_type": ["insert", "insert"]})
    found = as_now(rows, table, {"n": "1.50", "s": "text"})
    assert found.schema.field("id").type == pa.int64()
    assert [tuple(map(str, row.values())) for row in found.to_pylist()] == [
        ("1", "1.50", "text", "None", "insert"),
        ("2", "1.50", "text", "None", "insert"),
    ]
