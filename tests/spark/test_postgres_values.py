"""From a real PostgreSQL's values to a stream's, types and oddities."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.spark.arrow_columns import sql_columns
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import connect
from livejoin.spark.postgres.published import PublishedTable
from livejoin.spark.postgres.snapshot import HeldSnapshot, is_there
from livejoin.spark.postgres.source import published_tables
from livejoin.spark.postgres.stream_rows import change_rows, piece_rows, types_of
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


def first_rows(place: str, held: HeldSnapshot, tables: Sequence[PublishedTable]) -> list[Any]:
    """What the tables hold in a snapshot."""
    with connect(place) as connection:
        offset = held.next(connection, {}, tables, 1000)
        with connection.transaction():
            assert is_there(connection, offset)
            return [*piece_rows(connection, tables, offset)]


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
    tables = published_tables(place, "live")
    stream = ("values", "live", tables)
    with psycopg.connect(place, autocommit=True) as writer:
        writer.cursor().executemany(insert, ROWS[:2])
        held = HeldSnapshot.take(place, "values", tables, again=False)
        writer.execute(insert, ROWS[2])  # behind the snapshot
        assert rows_of(first_rows(place, held, tables)) == [("upsert", row) for row in EXPECTED[:2]]
        with connect(place) as connection:
            held.keep(connection, "values")
        writer.execute('DELETE FROM "T" WHERE id < 3')
        writer.cursor().executemany(insert, ROWS[:2])
        with connect(place) as connection:
            start, end = slots.confirmed(connection, "values"), slots.newest_position(connection)
            assert start is not None and end is not None
            read = rows_of(change_rows(connection, *stream, start, end))
            assert read == rows_of(change_rows(connection, *stream, start, end)), "as often as it is asked"
            gone = [("delete", (key, *[None] * 14)) for key in (1, 2)]
            assert read == [("upsert", EXPECTED[2]), *gone, *[("upsert", row) for row in EXPECTED[:2]]]
            slots.advance(connection, "values", end)
            assert rows_of(change_rows(connection, *stream, start, end)) == []
            for statement, without in (
                ("UPDATE \"T\" SET m = 'NaN', day = 'infinity' WHERE id = 3", '{"m": "=NaN"}'),
                (
                    f"UPDATE \"T\" SET day = '294276-12-31', t = '{'x' * 9000}' WHERE id = 3",
                    '{"m": "=NaN", "day": "=294276-12-31"}',
                ),
                ('UPDATE "T" SET s = 5, m = 1, day = NULL WHERE id = 3', '{"t": "unchanged"}'),
            ):
                begin = slots.newest_position(connection)
                writer.execute(statement)
                end = slots.newest_position(connection)
                assert begin is not None and end is not None
                (batch,) = change_rows(connection, *stream, begin, end)
                assert batch["_without"].to_pylist() == [without]


def test_texts_with_a_length_are_declared_so(postgres: PostgresServer) -> None:
    place = postgres.database("lengths")
    with psycopg.connect(place, autocommit=True) as writer:
        writer.execute('CREATE TABLE "T" (id int PRIMARY KEY, c char(3), d character, v varchar(4), b bpchar, t text)')
        writer.execute('CREATE PUBLICATION live FOR TABLE "T"')
        writer.execute("""INSERT INTO "T" VALUES (1, 'a', 'b', 'c', 'd  ', 'e')""")
        (table,) = published_tables(place, "live")
        declared = "`id` INT, `c` CHAR(3), `d` CHAR(1), `v` VARCHAR(4), `b` STRING, `t` STRING, PRIMARY KEY (`id`)"
        assert sql_columns("T", table.arrow_schema, table.key) == declared
        metadata = {field.name: field.metadata for field in types_of([table])["T"].dataType}
        assert {name: found for name, found in metadata.items() if found} == {
            "c": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
            "d": {"__CHAR_VARCHAR_TYPE_STRING": "char(1)"},
            "v": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(4)"},
        }
        held = HeldSnapshot.take(place, "lengths", [table], again=False)
        assert rows_of(first_rows(place, held, [table])) == [("upsert", (1, "a  ", "b", "c", "d  ", "e"))]
        held.close()
