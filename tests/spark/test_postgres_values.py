"""From a real PostgreSQL's values to a stream's, types and oddities."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.spark.arrow_columns import sql_columns
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import connect
from livejoin.spark.postgres.source import Place, _changes, _snapshot, _types, published_tables
from postgres_server import PostgresServer

COLUMNS = {
    "id": "bigint PRIMARY KEY",
    "b": "boolean",
    "s": "smallint",
    "i": "integer",
    "r": "real",
    "d": "double precision",
    "n": "numeric(20, 3)",
    "m": "numeric",
    "t": "text",
    "y": "bytea",
    "day": "date",
    "at": "timestamp",
    "tz": "timestamptz",
    "u": "uuid",
    "a": "integer[]",
}
ROWS: list[tuple[Any, ...]] = [
    (1, True, -1, 2**31 - 1, 0.1, 0.1, "1.5", "2.25", 'a,"b"\n\\', b"\x00\xff", "0001-01-01", "2024-02-29 12:00:00.1",
     "2024-01-01 01:00:00+01", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", [1, None]),
    (2, False, 0, 0, float("inf"), float("-inf"), "-12345678901234567.891", "0", "", b"", "9999-12-31",
     "0001-01-01", None, None, []),
    (3, *[None] * 14),
]  # fmt: skip
EXPECTED = [
    (1, True, -1, 2**31 - 1, pytest.approx(0.1), 0.1, Decimal("1.500"), Decimal("2.25"), 'a,"b"\n\\', b"\x00\xff",
     date(1, 1, 1), datetime(2024, 2, 29, 12, 0, 0, 100000), datetime(2024, 1, 1),
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{1,NULL}"),
    (2, False, 0, 0, float("inf"), float("-inf"), Decimal("-12345678901234567.891"),
     Decimal(0), "", b"", date(9999, 12, 31), datetime(1, 1, 1), None, None, "{}"),
    (3, *[None] * 14),
]  # fmt: skip


def rows_of(batches: Any) -> list[tuple[str, tuple[Any, ...]]]:
    found = []
    for batch in batches:
        for row in batch.to_pylist():
            values = tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row["T"].values())
            found.append((row["_change_type"], values))
    return found


@pytest.fixture
def place(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    place = postgres.database(request.node.name)
    with psycopg.connect(place, autocommit=True) as writer:
        writer.execute(f'CREATE TABLE "T" ({", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())})')
        writer.execute('ALTER TABLE "T" ALTER t SET STORAGE EXTERNAL')
        writer.execute('CREATE PUBLICATION live FOR TABLE "T"')
    return place


def test_values_of_a_snapshot_and_of_changes(place: str) -> None:
    insert = f'INSERT INTO "T" VALUES ({", ".join(["%s"] * len(COLUMNS))})'
    options = {"url": place, "publication": "live", "slot": "values", "tables": '{"T": "public.T"}'}
    with psycopg.connect(place, autocommit=True) as writer:
        writer.cursor().executemany(insert, ROWS[:2])
        with slots.created(place, "values") as reader:
            writer.execute(insert, ROWS[2])  # behind the snapshot
            assert rows_of(_snapshot(reader, published_tables(place, "live"))) == [
                ("upsert", row) for row in EXPECTED[:2]
            ]
        writer.execute('DELETE FROM "T" WHERE id < 3')
        writer.cursor().executemany(insert, ROWS[:2])
        with connect(place) as connection:
            start, end = slots.confirmed(connection, "values"), slots.newest_position(connection)
            assert start is not None and end is not None
            read = rows_of(_changes(connection, Place(options), start, end))
            assert read == rows_of(_changes(connection, Place(options), start, end)), "as often as it is asked"
            gone = [("delete", (key, *[None] * 14)) for key in (1, 2)]
            assert read == [("upsert", EXPECTED[2]), *gone, *[("upsert", row) for row in EXPECTED[:2]]]
            slots.advance(connection, "values", end)
            assert rows_of(_changes(connection, Place(options), start, end)) == []
            for statement, error, says in (
                ("UPDATE \"T\" SET day = 'infinity' WHERE id = 3", ChangeValueError, "column 'day' has a value that"),
                (f"UPDATE \"T\" SET day = NULL, t = '{'x' * 9000}' WHERE id = 3", None, ""),
                ('UPDATE "T" SET s = 5 WHERE id = 3', ChangeFormatError, "column 't' of an updated row is large"),
            ):
                begin = slots.newest_position(connection)
                writer.execute(statement)
                end = slots.newest_position(connection)
                assert begin is not None and end is not None
                if error is None:
                    assert len(rows_of(_changes(connection, Place(options), begin, end))) == 1
                    continue
                with pytest.raises(error, match=says):
                    rows_of(_changes(connection, Place(options), begin, end))


def test_texts_with_a_length_are_declared_so(postgres: PostgresServer) -> None:
    place = postgres.database("lengths")
    with psycopg.connect(place, autocommit=True) as writer:
        writer.execute('CREATE TABLE "T" (id int PRIMARY KEY, c char(3), d character, v varchar(4), b bpchar, t text)')
        writer.execute('CREATE PUBLICATION live FOR TABLE "T"')
        writer.execute("""INSERT INTO "T" VALUES (1, 'a', 'b', 'c', 'd  ', 'e')""")
        (table,) = published_tables(place, "live")
        declared = "`id` INT, `c` CHAR(3), `d` CHAR(1), `v` VARCHAR(4), `b` STRING, `t` STRING, PRIMARY KEY (`id`)"
        assert sql_columns("T", table.arrow_schema, table.key) == declared
        metadata = {field.name: field.metadata for field in _types([table])["T"].dataType}
        assert {name: found for name, found in metadata.items() if found} == {
            "c": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
            "d": {"__CHAR_VARCHAR_TYPE_STRING": "char(1)"},
            "v": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(4)"},
        }
        with slots.created(place, "lengths") as reader:
            assert rows_of(_snapshot(reader, [table])) == [("upsert", (1, "a  ", "b", "c", "d  ", "e"))]
