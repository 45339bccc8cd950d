"""Views as tables of a real PostgreSQL: after every batch they hold what the view holds, whatever was repeated."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import livejoin
from livejoin.checkpoint.batch_delta import JoinedDelta
from livejoin.checkpoint.instants import as_instants
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.database.difference import types_of
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark.postgres import PostgresSink
from livejoin.spark.sinks import SinkView, sink_views
from postgres_server import PostgresServer

_names = count()
TYPES = (
    "k STRING, j BIGINT, b BOOLEAN, i INT, d DOUBLE, n DECIMAL(20, 3), s STRING, seen TIMESTAMP, day DATE, f FLOAT, "
    "y BINARY"
)


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    return postgres.database(f"sink{next(_names)}")


@pytest.fixture
def reader(place: str) -> Iterator[Any]:
    with psycopg.connect(place, autocommit=True) as connection:
        yield connection


def opened(
    place: str, database: livejoin.Database, last: int | None = None, run: str = "r", **more: Any
) -> PostgresSink:
    sink = PostgresSink(place, **more)
    views = {name: SinkView(view.schema, view.keys) for name, view in database.views.items()}
    sink.open(views, last, WrittenParts(), run)
    return sink


def held(reader: Any, table: str) -> list[Any]:
    return sorted(reader.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)


def rows_of(view: livejoin.View) -> list[Any]:
    return sorted((tuple(row.values()) for row in view.to_arrow().to_pylist()), key=repr)


def test_random_histories(place: str, reader: Any) -> None:
    """Composite keys with NULL, a row that there is always, groups and joins; some batches come twice."""
    draw = random.Random(7)
    database = livejoin.Database()
    database.create_table("G", "k STRING, j BIGINT, v BIGINT")
    database.create_table("P", "id BIGINT PRIMARY KEY, k STRING")
    views = {
        "sums": "SELECT k, j, SUM(v) AS total, COUNT(*) AS n FROM G GROUP BY k, j",
        "all": "SELECT COUNT(*) AS n, MAX(v) AS largest FROM G",
        "people": "SELECT P.id, P.k, s.n FROM P LEFT JOIN (SELECT k, COUNT(*) AS n FROM G GROUP BY k) s ON s.k = P.k",
        "pairs": "SELECT DISTINCT k, j FROM G",
    }
    for name, text in views.items():
        database.create_view(name, text)
    sink = opened(place, database)
    there: list[tuple[Any, ...]] = []
    people: dict[int, Any] = {}
    for batch in range(25):
        changes = []
        for _ in range(draw.randrange(1, 8)):
            if there and draw.random() < 0.4:
                changes.append((*there.pop(draw.randrange(len(there))), "delete"))
            else:
                row = (draw.choice(["a", "b", "", None]), draw.choice([1, 2, None]), draw.randrange(9))
                there.append(row)
                changes.append((*row, "insert"))
        columns = [*zip(*changes, strict=True)]
        names = ["k", "j", "v", "_change_type"]
        types = [pa.string(), pa.int64(), pa.int64(), pa.string()]
        given = {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}
        person = draw.randrange(6)
        people[person] = draw.choice(["a", "b", "c", None])
        upsert = pa.table({"id": [person], "k": pa.array([people[person]], pa.string()), "_change_type": ["upsert"]})
        commit = database.apply({"G": pa.table(given), "P": upsert}, on_conflict="update")
        deltas = {view: commit[view] for view in commit.views}
        assert sink.deliver(deltas, batch) == []
        if draw.random() < 0.3:
            sink = opened(place, database, last=batch - 1 if batch else None)
            sink.deliver(deltas, batch)
        for name, view in database.views.items():
            assert held(reader, name) == rows_of(view), (batch, name)
    assert reader.execute("SELECT run, batch FROM livejoin_batches").fetchall() == [("r", 24)]


def test_instants_have_a_zone_and_clock_times_none(place: str, reader: Any) -> None:
    """Whatever the zone of who reads; a table of an earlier version, without zones, is written as it was."""
    database = livejoin.Database()
    database.create_table("T", "k INT PRIMARY KEY, at TIMESTAMP, clock TIMESTAMP_NTZ")
    database.create_view("v", "SELECT k, at, clock FROM T")
    database.create_view("old", "SELECT k, at, clock FROM T")
    reader.execute("CREATE TABLE old (k integer PRIMARY KEY, at timestamp, clock timestamp)")
    sink = PostgresSink(place)
    sink.open(sink_views(database), None, WrittenParts(), "r")
    noon = datetime(2026, 7, 1, 12)
    commit = database.apply("T", [(1, noon, noon), (2, None, None)])
    deltas = {view: as_instants(commit[view], types_of(database, view)) for view in commit.views}
    sink.deliver(deltas, 0)
    types = reader.execute(
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'v' ORDER BY ordinal_position"
    ).fetchall()
    assert [kind for (kind,) in types] == ["integer", "timestamp with time zone", "timestamp without time zone"]
    reader.execute("SET TimeZone = 'America/New_York'")
    texts = "SELECT at::text, clock::text FROM {} WHERE k = 1"
    assert reader.execute(texts.format("v")).fetchall() == [("2026-07-01 08:00:00-04", "2026-07-01 12:00:00")]
    assert reader.execute(texts.format("old")).fetchall() == [("2026-07-01 12:00:00", "2026-07-01 12:00:00")]


def test_values_of_all_types(place: str, reader: Any) -> None:
    database = livejoin.Database()
    database.create_table("T", TYPES)
    view = database.create_view("v", "SELECT k, j, b, i, d, n, s, seen, day, f, y, COUNT(*) AS c FROM T GROUP BY ALL")
    sink = opened(place, database)
    seen, day = datetime(2024, 2, 29, 23, 59, 59, 123456), date(1969, 12, 31)
    rows = [
        (
            "",
            2**63 - 1,
            True,
            -(2**31),
            0.1,
            Decimal("-12345678901234567.891"),
            'a"b,c\n\\.',
            seen,
            day,
            0.5,
            b"\x00\xff",
        ),
        (
            "\\.",
            -(2**63),
            False,
            0,
            float("inf"),
            Decimal("0.001"),
            "",
            datetime(1, 1, 1),
            date(9999, 12, 31),
            None,
            b"",
        ),
        ("\\N", 0, None, None, 5e-324, None, "zwölf \U0001f600", None, None, float("-inf"), None),
        (None,) * 11,
    ]
    sink.deliver({"v": database.apply("T", rows)["v"]}, 0)
    assert held(reader, "v") == rows_of(view)
    gone = {**dict(zip(view.schema.names, rows[0], strict=False)), "_change_type": "delete"}
    sink.deliver({"v": database.apply("T", [gone])["v"]}, 1)
    assert held(reader, "v") == rows_of(view)
    assert len(rows_of(view)) == 3


def test_a_row_whose_key_stays_is_updated(place: str, reader: Any) -> None:
    """What refers to it stays; a table that the user made serves too, with columns of its own."""
    reader.execute("CREATE TABLE n (k bigint PRIMARY KEY, c bigint NOT NULL, seen timestamptz DEFAULT now())")
    reader.execute("CREATE TABLE notes (k bigint REFERENCES n ON DELETE CASCADE)")
    database = livejoin.Database()
    database.create_table("T", "k BIGINT")
    database.create_view("counts", "SELECT k, COUNT(*) AS c FROM T GROUP BY k HAVING k IS NOT NULL")
    sink = opened(place, database, tables={"counts": "n"})
    sink.deliver({"counts": database.apply("T", [(1,), (2,)])["counts"]}, 0)
    reader.execute("INSERT INTO notes VALUES (1), (2)")
    gone = [{"k": 1, "_change_type": "insert"}, {"k": 2, "_change_type": "delete"}]
    sink.deliver({"counts": database.apply("T", gone)["counts"]}, 1)
    assert reader.execute("SELECT k, c FROM n").fetchall() == [(1, 2)]
    assert reader.execute("SELECT k FROM notes").fetchall() == [(1,)]


def test_tables_of_odd_names(place: str, reader: Any) -> None:
    """Quotes, blanks, per cent and capitals, of the schema too; a start again finds the key."""
    schema, table = 'My "own" % schema', 'a "b" %s c'
    reader.execute('CREATE SCHEMA "My ""own"" % schema"')
    database = livejoin.Database()
    database.create_table("T", "`K %` BIGINT PRIMARY KEY, v STRING")
    database.create_view("v", "SELECT `K %`, v FROM T")
    for batch in range(2):
        sink = opened(place, database, batch - 1 if batch else None, schema=schema, tables={"v": table})
        commit = database.apply("T", [(batch, "x")])
        sink.deliver({"v": commit["v"]}, batch)
    found = reader.execute('SELECT * FROM "My ""own"" % schema"."a ""b"" %s c" ORDER BY 1').fetchall()
    assert found == [(0, "x"), (1, "x")]


def test_a_delta_of_two_versions(place: str, reader: Any) -> None:
    """What a view held before comes with the first batch."""
    database = livejoin.Database()
    database.create_table("T", "k BIGINT")
    view = database.create_view("v", "SELECT k, COUNT(*) AS n FROM T GROUP BY k")
    sink = opened(place, database)
    before = database.apply("T", [(1,), (2,), (2,)])["v"]
    gone = [{"k": k, "_change_type": kind} for k, kind in ((1, "delete"), (2, "delete"), (3, "insert"))]
    sink.deliver({"v": JoinedDelta((before, database.apply("T", gone)["v"]))}, 0)
    assert held(reader, "v") == rows_of(view) == [(2, 1), (3, 1)]


def test_deltas_are_appended(place: str, reader: Any) -> None:
    database = livejoin.Database()
    database.create_table("T", "k BIGINT")
    database.create_view("v", "SELECT k FROM T")
    sink = opened(place, database, history=["v"])
    for batch, rows in enumerate(([(1,), (1,)], [{"k": 1, "_change_type": "delete"}])):
        delta = database.apply("T", rows)["v"]
        times = pa.repeat(pa.scalar(datetime(2024, 1, 1), pa.timestamp("us", "UTC")), delta.num_rows)
        for _ in range(2):
            sink.deliver({"v": delta.append_column("_commit_timestamp", times)}, batch)
    found = reader.execute("SELECT k, _change_type, _commit_version FROM v ORDER BY 3, 2").fetchall()
    assert found == [(1, "insert", 1), (1, "insert", 1), (1, "delete", 2)]


def test_what_does_not_fit_is_refused(place: str, reader: Any) -> None:
    database = livejoin.Database()
    database.create_table("T", "k BIGINT, v BIGINT")
    database.create_view("v", "SELECT k, v FROM T")
    with pytest.raises(SchemaError, match=r"view 'v' has no key .* history = \['v'\]"):
        opened(place, database)
    database.execute("DROP VIEW v")
    database.create_view("v", "SELECT k, COUNT(*) AS n FROM T GROUP BY k")
    with pytest.raises(SchemaError, match="names 'w'; the views are v"):
        opened(place, database, tables={"w": "x"})
    reader.execute("CREATE TABLE v (k bigint PRIMARY KEY, other text NOT NULL)")
    with pytest.raises(SchemaError, match="lacks the column 'n' of type bigint, and wants a value in 'other'"):
        opened(place, database)
    reader.execute("DROP TABLE v; CREATE TABLE v (k bigint, n bigint)")
    with pytest.raises(SchemaError, match=r"no unique index on a key of view 'v', which are \(k\)"):
        opened(place, database)
    reader.execute("CREATE UNIQUE INDEX ON v (k, n); CREATE UNIQUE INDEX ON v (n) INCLUDE (k)")
    reader.execute("ALTER TABLE v ADD CONSTRAINT late UNIQUE (k) DEFERRABLE")
    with pytest.raises(SchemaError, match=r"no unique index on a key of view 'v', which are \(k\)"):
        opened(place, database)
    reader.execute("CREATE UNIQUE INDEX ON v (k) INCLUDE (n); INSERT INTO v VALUES (7, 7)")
    with pytest.raises(StateError, match=r"public\.v of .* holds rows that are not of this checkpoint"):
        opened(place, database)
    with pytest.raises(StorageError, match=r"PostgreSQL at 127\.0\.0\.1:1/x: connection .*; nothing was written"):
        opened("postgresql://nobody_here@127.0.0.1:1/x", database)


def test_other_checkpoints_and_restored_databases_are_told(place: str, reader: Any) -> None:
    database = livejoin.Database()
    database.create_table("T", "k BIGINT")
    database.create_view("v", "SELECT k, COUNT(*) AS n FROM T GROUP BY k")
    with pytest.raises(StateError, match=r"has seen the batches up to 3, and the database .* knows none of them"):
        opened(place, database, last=3)
    sink = opened(place, database)
    for batch in range(3):
        sink.deliver({"v": database.apply("T", [(batch,)])["v"]}, batch)
    opened(place, database, last=2)
    opened(place, database, last=1)
    with pytest.raises(StateError, match=r"has not seen a batch yet, and the database .* up to 2: one of them"):
        opened(place, database)
    with pytest.raises(StateError, match="holds rows that are not of this checkpoint"):
        opened(place, database, run="another")
    with pytest.raises(StateError, match=r"batch 4 comes to the database .* seen those up to 2"):
        sink.deliver({}, 4)
    sink.forget("r")
    assert reader.execute("SELECT COUNT(*) FROM v").fetchall() == [(0,)]
    opened(place, database, run="another")


def test_a_server_that_goes_away(postgres: PostgresServer) -> None:
    """In mid-batch the batch fails and nothing of it is there; between batches nobody notices."""
    place = postgres.database(f"sink{next(_names)}")
    database = livejoin.Database()
    database.create_table("T", "k BIGINT, g BIGINT")
    views = {"v": "SELECT k, COUNT(*) AS n FROM T GROUP BY k", "w": "SELECT g, COUNT(*) AS n FROM T GROUP BY g"}
    for name, text in views.items():
        database.create_view(name, text)
    sink = opened(place, database)
    commit = database.apply("T", [(k, k % 7) for k in range(1000)])
    sink.deliver({view: commit[view] for view in views}, 0)
    postgres.stop()
    postgres.start()
    commit = database.apply("T", [(k, k % 7) for k in range(500, 1500)])
    sink.deliver({view: commit[view] for view in views}, 1)

    class Dying:
        """A delta in the midst of whose rows the server crashes."""

        def __init__(self, delta: pa.Table) -> None:
            self.num_rows, self.schema, self._delta = delta.num_rows, delta.schema, delta

        def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
            for place, batch in enumerate(self._delta.to_batches(max_chunksize=5)):
                if place == 1:
                    postgres.stop()
                yield batch

    commit = database.apply("T", [(k, k % 7) for k in range(1000, 2000)])
    sink._retry_seconds = 0.3
    with pytest.raises(StorageError, match=r"the tables hold batch 2 whole or not at all\. Repair that"):
        sink.deliver({"v": commit["v"], "w": Dying(commit["w"])}, 2)
    postgres.start()
    with psycopg.connect(place) as reader:
        assert reader.execute("SELECT SUM(n) FROM v").fetchall() == [(2000,)], "nothing of the batch is there"
        again = opened(place, database, last=1)
        for _ in range(2):
            again.deliver({view: commit[view] for view in views}, 2)
        for name in views:
            assert held(reader, name) == rows_of(database.views[name])
