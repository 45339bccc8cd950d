"""PostgreSQL as shops change it while it is read: keys, columns, truncation, large values, restarts of the server.

The source is driven as Spark drives it, without Spark; what a view holds is what the query gives in the database.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.checkpoint.policy import Policy
from livejoin.errors import ChangeValueError, SchemaError, StateError, StorageError
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import connect
from livejoin.spark.postgres.source import published_tables
from postgres_follower import CellFollower, Follower
from postgres_server import PostgresServer
from strategies import seeds

_names = count()


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    return postgres.database(f"living{next(_names)}")


@pytest.fixture
def writer(place: str) -> Iterator[Any]:
    with psycopg.connect(place, autocommit=True) as connection:
        yield connection


@pytest.fixture
def follower(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Follower]:
    kind = getattr(request, "param", Follower)
    follower: Follower = kind(place, tmp_path, slot=f"living{next(_names)}")
    yield follower
    follower.stop()


in_both_modes = pytest.mark.parametrize("follower", [Follower, CellFollower], ids=["process", "cells"], indirect=True)


def check(follower: Follower, writer: Any, view: str, query: str) -> None:
    follower.drain()
    assert follower.held(view) == Counter(writer.execute(query).fetchall()), query


def test_included_columns_are_not_in_the_key(follower: Follower, writer: Any) -> None:
    writer.execute("CREATE TABLE t (id int, name text, PRIMARY KEY (id) INCLUDE (name))")
    writer.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'); CREATE PUBLICATION live FOR TABLE t")
    assert published_tables(follower.place, "live")[0].key == ("id",)
    follower.start({"v": "SELECT id, name FROM t"})
    check(follower, writer, "v", "SELECT id, name FROM t")
    writer.execute("UPDATE t SET name = 'c' WHERE id = 1; DELETE FROM t WHERE id = 2")
    check(follower, writer, "v", "SELECT id, name FROM t")


def test_a_key_that_is_not_sent_whole_is_refused(follower: Follower, writer: Any) -> None:
    writer.execute("CREATE TABLE t (id int, v int, w int GENERATED ALWAYS AS (v * 2) STORED, PRIMARY KEY (id, w))")
    writer.execute("CREATE TABLE s (id int, v int, PRIMARY KEY (id, v))")
    writer.execute("CREATE PUBLICATION live FOR TABLE t; CREATE PUBLICATION part FOR TABLE s (id)")
    for publication, column in (("live", "w"), ("part", "v")):
        with pytest.raises(SchemaError, match=f"has a key with '{column}', which the publication '{publication}'"):
            published_tables(follower.place, publication)


@in_both_modes
def test_keys_that_are_checked_at_the_end_of_a_transaction(follower: Follower, writer: Any) -> None:
    """Rows pass through keys that others have; with random transactions, composite keys and truncations."""
    writer.execute("CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b) DEFERRABLE INITIALLY DEFERRED)")
    writer.execute("ALTER TABLE t REPLICA IDENTITY FULL; CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t SELECT i, i % 3, 'v' || i FROM generate_series(1, 10) i")
    (table,) = published_tables(follower.place, "live")
    assert table.key == ("a", "b") and table.is_deferrable
    follower.start({"v": "SELECT a, b, v FROM t", "n": "SELECT b, COUNT(*) AS n FROM t GROUP BY b"})
    draw = random.Random(5)
    for round in seeds(12, 30):
        with writer.transaction():
            for _ in range(draw.randrange(1, 4)):
                key = draw.randrange(1, 12)
                writer.execute(
                    draw.choice(
                        [
                            "UPDATE t SET a = a + 1",
                            "UPDATE t SET a = a - 1, v = v || 'x'",
                            "UPDATE t SET b = 2 - b",
                            f"DELETE FROM t WHERE a = {key}",
                            f"INSERT INTO t SELECT {key}, 5, 'new' WHERE NOT EXISTS (SELECT 1 FROM t WHERE b = 5)",
                            "UPDATE t SET b = 1 WHERE b = 5",
                            "TRUNCATE t" if round % 10 == 9 else "UPDATE t SET v = v",
                            f"UPDATE t SET v = 'w{key}' WHERE a = {key}",
                        ]
                    )
                )
            conflicts = writer.execute("SELECT 1 FROM t GROUP BY a, b HAVING COUNT(*) > 1").fetchall()
            if conflicts:
                raise psycopg.Rollback
        if draw.random() < 0.5:
            check(follower, writer, "v", "SELECT a, b, v FROM t")
            check(follower, writer, "n", "SELECT b, COUNT(*) FROM t GROUP BY b")
    check(follower, writer, "v", "SELECT a, b, v FROM t")
    assert any(follower.batches)


@in_both_modes
def test_columns_that_come_while_it_runs(follower: Follower, writer: Any) -> None:
    """A change, ADD COLUMN, a change, all unread; then a start that reads the column; defaults of rows from before."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    follower.start({"v": "SELECT id, v FROM t"})
    check(follower, writer, "v", "SELECT id, v FROM t")
    follower.stop()
    writer.execute("UPDATE t SET v = 10 WHERE id = 1")
    writer.execute("ALTER TABLE t ADD COLUMN x int DEFAULT 5")
    writer.execute("UPDATE t SET x = 7, v = 20 WHERE id = 2; INSERT INTO t VALUES (4, 4)")
    writer.execute("ALTER TABLE t ALTER x SET DEFAULT 6; INSERT INTO t VALUES (5, 5)")
    views = {"v": "SELECT id, v FROM t", "w": "SELECT id, x FROM t"}
    follower.start(views)
    check(follower, writer, "v", "SELECT id, v FROM t")
    check(follower, writer, "w", "SELECT id, x FROM t")
    writer.execute(
        "ALTER TABLE t ADD COLUMN y text NOT NULL DEFAULT 'later'; UPDATE t SET v = v + 1, x = 1 WHERE id < 3"
    )
    writer.execute("ALTER TABLE t DROP COLUMN y; INSERT INTO t VALUES (6, 6, 6)")
    check(follower, writer, "w", "SELECT id, x FROM t")


def test_a_column_that_came_unread_is_not_made_up(follower: Follower, writer: Any) -> None:
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    follower.start({"v": "SELECT id, v FROM t"})
    follower.drain()
    writer.execute("ALTER TABLE t ADD COLUMN x int; UPDATE t SET x = 7")
    follower.drain()
    follower.stop()
    views = {"v": "SELECT id, v FROM t", "w": "SELECT id, y FROM t"}
    with pytest.raises(
        StateError, match=r"the new column 'x' has values in rows .* were not read: .* UPDATE t SET new"
    ):
        follower.start({"v": "SELECT id, v FROM t", "x": "SELECT x FROM t"})
    writer.execute("ALTER TABLE t ADD COLUMN y int; UPDATE t SET v = 3 WHERE id = 2")
    follower.start(views)
    check(follower, writer, "w", "SELECT id, y FROM t")
    writer.execute("UPDATE t SET y = x")
    check(follower, writer, "w", "SELECT id, y FROM t")


@in_both_modes
def test_defaults_of_new_columns(follower: Follower, writer: Any) -> None:
    """Of many types, for rows that are there and for changes from before; a crash before the next snapshot."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE m (v int)")
    writer.execute("ALTER TABLE m REPLICA IDENTITY FULL; CREATE PUBLICATION live FOR TABLE t, m")
    writer.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); INSERT INTO m VALUES (1), (1), (2)")
    follower.start({"v": "SELECT id, v FROM t", "m1": "SELECT v FROM m"})
    follower.drain()
    follower.stop()
    defaults = {
        "b": "boolean DEFAULT true",
        "i": "bigint DEFAULT 9000000000",
        "n": "numeric(12, 2) DEFAULT 1.50",
        "s": "text DEFAULT 'a,\"b\" {c}'",
        "d": "date DEFAULT '2026-01-02'",
        "at": "timestamp DEFAULT '2026-01-02 03:04:05.678'",
        "tz": "timestamptz DEFAULT '2026-01-02 03:04:05+02'",
        "f": "double precision DEFAULT 0.1",
        "c": "char(3) DEFAULT 'x'",
        "nothing": "int",
    }
    writer.execute("INSERT INTO t VALUES (4, 4); DELETE FROM m WHERE v = 2; INSERT INTO m VALUES (3)")
    for name, kind in defaults.items():
        writer.execute(f"ALTER TABLE t ADD COLUMN {name} {kind}; ALTER TABLE m ADD COLUMN {name} {kind}")
    writer.execute("UPDATE t SET i = 1, s = 'other' WHERE id = 2; DELETE FROM m WHERE v = 3; INSERT INTO m VALUES (7)")
    names = ", ".join(name for name in defaults if name != "tz")
    queries = {"v": "SELECT id, v FROM t", "w": f"SELECT id, {names} FROM t", "m2": f"SELECT v, {names} FROM m"}
    for _ in range(2):
        follower.start(queries)
        for view, query in queries.items():
            check(follower, writer, view, query)
        follower.stop()
        writer.execute("UPDATE t SET v = v + 1; DELETE FROM m WHERE ctid IN (SELECT ctid FROM m LIMIT 1)")
    writer.execute("ALTER TABLE t ADD COLUMN r int DEFAULT random() * 100")
    with pytest.raises(StateError, match="the new column 'r' has values in rows that are there which were not read"):
        follower.start({**queries, "x": "SELECT r FROM t"})
    follower.start(queries)


@in_both_modes
def test_wider_types(follower: Follower, writer: Any) -> None:
    """Rows stay where a type becomes wider; values that the old type does not hold wait for the next start."""
    writer.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v smallint, n numeric(6, 2)); INSERT INTO t VALUES (1, 1, 1.25)"
    )
    writer.execute("CREATE PUBLICATION live FOR TABLE t")
    views = {"v": "SELECT id, v, n FROM t"}
    follower.start(views)
    follower.drain()
    writer.execute("INSERT INTO t VALUES (2, 2, 2)")
    writer.execute("ALTER TABLE t ALTER id TYPE bigint, ALTER v TYPE int, ALTER n TYPE numeric(20, 2)")
    writer.execute("UPDATE t SET v = 7 WHERE id = 1")
    check(follower, writer, "v", "SELECT id, v, n FROM t")
    writer.execute("INSERT INTO t VALUES (9000000000, 100000, 123456789012.25)")
    with pytest.raises(ChangeValueError, match="has the value 9000000000, which INT cannot hold"):
        follower.drain()
    follower.stop()
    follower.start({"w": "SELECT id, v, n FROM t"})
    check(follower, writer, "w", "SELECT id, v, n FROM t")


@in_both_modes
def test_columns_that_are_renamed(follower: Follower, writer: Any) -> None:
    """The stream goes on under the name of before, through changes that were sent under both."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'a')")
    writer.execute("CREATE PUBLICATION live FOR TABLE t")
    views = {"v": "SELECT id, name FROM t"}
    follower.start(views)
    follower.drain()
    writer.execute("UPDATE t SET name = 'b' WHERE id = 1")
    writer.execute("ALTER TABLE t RENAME name TO \"Full Name\"; INSERT INTO t VALUES (2, 'c')")
    with pytest.raises(StateError, match=r"the column 'name' of the stream is not there any more.* columns="):
        follower.drain()
    follower.stop()
    with pytest.raises(SchemaError, match="there is no 'full'"):
        follower.start(views, columns={"t": {"name": "full"}})
    follower.start(views, columns={"t": {"name": "Full Name"}})
    check(follower, writer, "v", 'SELECT id, "Full Name" FROM t')


@in_both_modes
def test_large_values_that_stay(follower: Follower, writer: Any) -> None:
    """Random updates that leave a large value, some of which change the key, over batches of several transactions."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int, big text, other text)")
    writer.execute("ALTER TABLE t ALTER big SET STORAGE EXTERNAL, ALTER other SET STORAGE EXTERNAL")
    writer.execute("CREATE PUBLICATION live FOR TABLE t")
    big = "repeat(md5(random()::text), 100)"
    writer.execute(f"INSERT INTO t SELECT i, i, CASE WHEN i % 4 > 0 THEN {big} END, {big} FROM generate_series(1, 8) i")
    follower.start({"v": "SELECT id, v, big FROM t"})
    draw = random.Random(2)
    moves = ["UPDATE t SET id = id + 100 WHERE id = {}", "UPDATE t SET id = id - 100, v = 0 WHERE id > 100"]
    for _ in seeds(8, 25):
        for _ in range(draw.randrange(1, 6)):
            key = draw.randrange(1, 9)
            statement = draw.choice(
                [
                    *(one.format(key) for one in moves),
                    f"UPDATE t SET v = v + 1 WHERE id = {key}",
                    "UPDATE t SET v = v + 1",
                    f"UPDATE t SET big = {big} WHERE id = {key}",
                    f"UPDATE t SET big = NULL WHERE id = {key}",
                    f"UPDATE t SET other = {big} WHERE id = {key}",
                    f"DELETE FROM t WHERE id = {key}",
                    f"INSERT INTO t VALUES ({key}, 1, {big}, {big}) ON CONFLICT (id) DO NOTHING",
                ]
            )
            writer.execute(statement)
        check(follower, writer, "v", "SELECT id, v, big FROM t")


@in_both_modes
def test_large_values_under_other_keys(follower: Follower, writer: Any) -> None:
    """Of many rows at once, twice in a transaction, in turn, and of rows that were left out before."""
    writer.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v int, big text, n numeric); CREATE PUBLICATION live FOR TABLE t"
    )
    writer.execute("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    writer.execute("INSERT INTO t SELECT i, i, repeat(md5(i::text), 100) FROM generate_series(1, 8) i")
    views, query = {"v": "SELECT id, v, big, n FROM t"}, "SELECT id, v, big, n FROM t"
    follower.start(views, policy=Policy(on_bad_rows="skip"))
    follower.drain()
    writer.execute("UPDATE t SET v = v + 1; UPDATE t SET id = id + 100 WHERE id < 4; UPDATE t SET v = 0 WHERE id = 101")
    check(follower, writer, "v", query)
    writer.execute(
        "UPDATE t SET id = 0 WHERE id = 8; UPDATE t SET id = 8 WHERE id = 7; UPDATE t SET id = 7 WHERE id = 0"
    )
    check(follower, writer, "v", query)
    follower.stop()
    follower.start(views, policy=Policy(on_bad_rows="skip"))
    writer.execute("UPDATE t SET id = id + 1000; UPDATE t SET id = id - 500, v = 1; UPDATE t SET v = 2 WHERE id > 600")
    check(follower, writer, "v", query)
    writer.execute("INSERT INTO t VALUES (1, 1, repeat('abc', 1000), 'NaN'), (2, 2, repeat('def', 1000), 0)")
    follower.drain()
    writer.execute(
        "UPDATE t SET n = 1, id = 11 WHERE id = 1; UPDATE t SET v = 3 WHERE id = 11; UPDATE t SET id = 12 WHERE id = 2"
    )
    follower.drain()
    assert follower.held("v") == Counter(writer.execute(f"{query} WHERE id <> 11").fetchall())
    writer.execute("UPDATE t SET big = big || '' WHERE id = 11; UPDATE t SET id = 13 WHERE id = 11")
    check(follower, writer, "v", query)


@in_both_modes
def test_a_large_value_of_a_row_that_was_left_out(follower: Follower, writer: Any) -> None:
    """A change of it is left out too, and none makes up a value, until the row is sent whole."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, n numeric, big text); CREATE PUBLICATION live FOR TABLE t")
    writer.execute("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    follower.start({"v": "SELECT id, n, big FROM t"}, policy=Policy(on_bad_rows="skip"))
    writer.execute("INSERT INTO t VALUES (1, 'NaN', repeat('abc', 1000)), (2, 2, repeat('def', 1000))")
    follower.drain()
    writer.execute("UPDATE t SET n = n + 1 WHERE id = 2; UPDATE t SET n = 1 WHERE id = 1")
    query = "SELECT id, n, big FROM t"
    follower.drain()
    assert follower.held("v") == Counter(writer.execute(f"{query} WHERE id = 2").fetchall())
    writer.execute("UPDATE t SET big = big || '' WHERE id = 1; UPDATE t SET n = 3")
    check(follower, writer, "v", query)


@in_both_modes
def test_truncation_is_a_deletion_of_all(follower: Follower, writer: Any) -> None:
    """Of a table with a key and of one without, alone, together, and between changes of one transaction."""
    writer.execute("CREATE TABLE k (id int PRIMARY KEY, v int); CREATE TABLE m (v int)")
    writer.execute("ALTER TABLE m REPLICA IDENTITY FULL; CREATE PUBLICATION live FOR TABLE k, m")
    writer.execute("INSERT INTO k VALUES (1, 1), (2, 1); INSERT INTO m VALUES (1), (1), (2)")
    follower.start({"v": "SELECT k.id, m.v FROM k JOIN m ON k.v = m.v", "n": "SELECT COUNT(*) AS n FROM m"})
    both = "SELECT k.id, m.v FROM k JOIN m ON k.v = m.v"
    for statements in (
        "INSERT INTO k VALUES (3, 2)",
        "TRUNCATE m",
        "INSERT INTO m VALUES (1), (2), (2)",
        "INSERT INTO m VALUES (2); DELETE FROM m WHERE v = 1; TRUNCATE k, m; INSERT INTO m VALUES (5), (5); "
        "INSERT INTO k VALUES (1, 5); TRUNCATE k; INSERT INTO k VALUES (1, 5), (9, 5); DELETE FROM m WHERE v = 4",
        "TRUNCATE k, m",
    ):
        with writer.transaction():
            writer.execute(statements)
        check(follower, writer, "v", both)
        check(follower, writer, "n", "SELECT COUNT(*) FROM m")


@in_both_modes
def test_values_without_a_place(follower: Follower, writer: Any) -> None:
    """Infinity is the end of time; other values end the query, or are left out, and matter only where they are read."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, n numeric, day date, at timestamp, tz timestamptz)")
    writer.execute("CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t VALUES (1, 1.5, 'infinity', '-infinity', 'infinity'), (2, 'NaN', NULL, NULL, NULL)")
    follower.start({"d": "SELECT id, day, at, tz FROM t"})
    follower.drain()
    end = datetime(9999, 12, 31, 23, 59, 59, 999999)
    assert follower.held("d") == Counter([(1, date(9999, 12, 31), datetime(1, 1, 1), end), (2, None, None, None)])
    follower.stop()
    writer.execute("CREATE TABLE s (id int PRIMARY KEY, n numeric); CREATE PUBLICATION other FOR TABLE s")
    writer.execute("INSERT INTO s VALUES (1, 1.25), (2, 2)")
    second = type(follower)(follower.place, follower.folder / "second", "other", f"living{next(_names)}")
    views = {"n": "SELECT id, n FROM s"}
    second.start(views)
    check(second, writer, "n", "SELECT id, n FROM s")
    writer.execute("UPDATE s SET n = 0.1234567890123456789012345 WHERE id = 1; UPDATE s SET n = 3 WHERE id = 2")
    with pytest.raises(ChangeValueError, match=r"column 'n' has the value 0\.12345.* cannot hold.*on_bad_rows"):
        second.drain()
    second.stop()
    second.start(views, policy=Policy(on_bad_rows="skip"))
    second.drain()
    assert {key: float(value) for key, value in second.held("n")} == {1: 1.25, 2: 3.0}, "the others go on"
    writer.execute("UPDATE s SET n = 0.5 WHERE id = 1")
    check(second, writer, "n", "SELECT id, n FROM s")
    second.stop()
    second.start(views)
    writer.execute("UPDATE s SET n = 12345678901234567890123456789 WHERE id = 2; INSERT INTO s VALUES (3, 'infinity')")
    with pytest.raises(ChangeValueError, match="column 'n' has the value 12345678901234567890123456789, which DECIMAL"):
        second.drain()
    second.stop()
    second.start({"i": "SELECT id FROM s"})
    check(second, writer, "i", "SELECT id FROM s")
    second.stop()
    with pytest.raises(StateError, match="column 'n' was not kept of the rows that are there, because no view read it"):
        second.start(views)


def test_a_server_that_starts_again(postgres: PostgresServer, follower: Follower, writer: Any) -> None:
    """Asked while it is down, the source waits; it gives up where that takes too long."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t VALUES (1, 1)")
    follower.start({"v": "SELECT id, v FROM t"}, retry_seconds=20)
    follower.drain()
    writer.execute("INSERT INTO t SELECT i, i FROM generate_series(2, 500) i")
    postgres.stop()
    later = threading.Timer(0.5, postgres.start)
    later.start()
    follower.drain()
    later.join()
    with psycopg.connect(follower.place) as reader:
        assert follower.held("v") == Counter(reader.execute("SELECT id, v FROM t").fetchall())
    follower.stop()
    follower.start({"v": "SELECT id, v FROM t"}, retry_seconds=0.3)
    postgres.stop()
    began = time.monotonic()
    with pytest.raises(StorageError, match="the query ends; start it again"):
        follower.step()
    assert time.monotonic() - began < 5
    postgres.start()


def test_a_connection_that_breaks_in_the_middle_of_a_batch(follower: Follower, writer: Any) -> None:
    """What was handed on is not handed on again; a batch that is read again is the same, whatever came meanwhile."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE PUBLICATION live FOR TABLE t")
    follower.start({"v": "SELECT id, v FROM t"})
    follower.drain()
    writer.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 120000) i")
    follower.reader.prepareForTriggerAvailableNow()
    end = follower.reader.latestOffset(follower.offset, follower.limit)
    (partition,) = follower.reader.partitions(follower.offset, end)
    reading = follower.reader.read(partition)
    batches = [next(reading)]
    writer.execute("ALTER TABLE t ADD COLUMN w int DEFAULT 3; UPDATE t SET v = 0, w = 1 WHERE id < 10")
    writer.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'livejoin'")
    batches += reading
    rows = pa.Table.from_batches(batches)
    assert rows["_seq"].equals(pa.chunked_array([range(120000)]))
    assert rows == pa.Table.from_batches(follower.reader.read(partition))


def test_the_first_rows_come_in_pieces(follower: Follower, writer: Any) -> None:
    """Of one snapshot, whatever changes meanwhile; partitions, filters, empty tables; exact sizes."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE e (id int PRIMARY KEY)")
    writer.execute("CREATE TABLE p (id int, v int, PRIMARY KEY (id, v)) PARTITION BY LIST (v)")
    writer.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p DEFAULT")
    writer.execute("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) i")
    writer.execute("INSERT INTO p SELECT i, i % 3 FROM generate_series(1, 300) i; DELETE FROM t WHERE id % 7 = 0")
    writer.execute(
        "CREATE PUBLICATION live FOR TABLE t WHERE (id < 900), e, p WITH (publish_via_partition_root = true)"
    )
    queries = {"t": "SELECT id, v FROM t WHERE id < 900", "p": "SELECT id, v FROM p", "e": "SELECT id FROM e"}
    views = {f"of_{name}": query.removesuffix(" WHERE id < 900") for name, query in queries.items()}
    follower.start(views, max_changes=100)
    follower.reader.prepareForTriggerAvailableNow()
    for step in range(4):
        assert follower.step()
        writer.execute(f"UPDATE t SET v = v + 1 WHERE id < 800; INSERT INTO e VALUES ({step})")
        writer.execute(f"UPDATE p SET v = v + 1 WHERE id < 50; DELETE FROM p WHERE id = 60 + {step}")
    while follower.step():
        pass
    rows = 899 - 128 + 300
    assert [size for size in follower.batches if size] == [100] * (rows // 100) + [rows % 100]
    for view, query in queries.items():
        check(follower, writer, f"of_{view}", query)


def test_tables_that_inherit_are_tables_of_their_own(follower: Follower, writer: Any) -> None:
    """Also partitions, where the publication does not send them by their root."""
    writer.execute("CREATE TABLE parent (id int PRIMARY KEY, v int)")
    writer.execute("CREATE TABLE child (w int, PRIMARY KEY (id)) INHERITS (parent)")
    writer.execute("CREATE TABLE p (id int, v int, PRIMARY KEY (id, v)) PARTITION BY LIST (v)")
    writer.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p DEFAULT")
    writer.execute("INSERT INTO parent VALUES (1, 1); INSERT INTO child VALUES (2, 2, 2); INSERT INTO p VALUES (1, 1)")
    writer.execute("CREATE PUBLICATION live FOR TABLE parent, p")
    queries = {"a": "SELECT id, v FROM parent", "b": "SELECT id, w FROM child"}
    queries |= {"c": "SELECT id FROM p1", "d": "SELECT v FROM p2"}
    follower.start(queries)
    for statement in ("SELECT 1", "UPDATE parent SET v = v + 1", "UPDATE p SET v = 3 - v; INSERT INTO p VALUES (5, 1)"):
        writer.execute(statement)
        check(follower, writer, "a", "SELECT id, v FROM ONLY parent")
        for view in "bcd":
            check(follower, writer, view, queries[view])


@pytest.mark.parametrize(
    ("follower", "crash"),
    [
        *((Follower, crash) for crash in ("planned", "applied", "server", "end")),
        (CellFollower, "planned"),
        *(pytest.param(CellFollower, crash, marks=pytest.mark.torture) for crash in ("applied", "server", "end")),
    ],
    indirect=["follower"],
)
def test_a_snapshot_that_is_cut_off_begins_anew(
    postgres: PostgresServer, follower: Follower, writer: Any, crash: str
) -> None:
    """A process or a server that dies between pieces: rows that changed meanwhile are right, none is there twice."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE m (v int)")
    writer.execute("ALTER TABLE m REPLICA IDENTITY FULL; CREATE PUBLICATION live FOR TABLE t, m")
    writer.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 50) i; INSERT INTO m SELECT i % 3 FROM t, t s(i)")
    queries = {"v": "SELECT id, v FROM t", "w": "SELECT v FROM m"}
    follower.start(queries, max_changes=200)
    for _ in range(200 if crash == "end" else 3):
        if follower.offset.get("ends"):
            break
        follower.step()
    planned = follower.reader.latestOffset(follower.offset, follower.limit) if crash == "planned" else None
    follower.stop()
    if crash == "server":
        postgres.stop()
        postgres.start()
        writer = psycopg.connect(follower.place, autocommit=True)
    writer.execute("DELETE FROM t WHERE id < 10; UPDATE t SET v = 0 WHERE id < 20; DELETE FROM m WHERE v = 1")
    follower.start(queries, max_changes=200)
    if planned is not None:  # Spark runs it again, and its snapshot is gone
        follower.run(follower.offset, planned)
        follower.offset = planned
    for view, query in queries.items():
        check(follower, writer, view, query)
    writer.execute("INSERT INTO t VALUES (1000, 1)")
    check(follower, writer, "v", queries["v"])
    left = writer.execute("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").fetchone()
    assert left == (1,)


@in_both_modes
def test_columns_that_are_dropped(follower: Follower, writer: Any) -> None:
    """Unread ones do not matter; read ones end the query until no view reads them; equal rows become one."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int, x int, y int); CREATE TABLE m (v int, x int)")
    writer.execute("ALTER TABLE m REPLICA IDENTITY FULL; CREATE PUBLICATION live FOR TABLE t, m")
    writer.execute("INSERT INTO t SELECT i, i, i, i FROM generate_series(1, 5) i")
    writer.execute("INSERT INTO m VALUES (1, 1), (1, 2), (1, 2), (2, NULL)")
    views = {"v": "SELECT id, v FROM t", "w": "SELECT v FROM m"}
    follower.start({**views, "x": "SELECT id, x FROM t"})
    follower.drain()
    writer.execute("ALTER TABLE t DROP COLUMN y; UPDATE t SET v = 7 WHERE id = 1")
    check(follower, writer, "x", "SELECT id, x FROM t")
    writer.execute("UPDATE t SET v = 8 WHERE id = 2; DELETE FROM m WHERE x = 1; ALTER TABLE t DROP COLUMN x")
    writer.execute("UPDATE t SET v = 9 WHERE id = 3; ALTER TABLE m DROP COLUMN x; DELETE FROM m WHERE v = 2")
    with pytest.raises(StateError, match=r"the column 'x' of the stream is not there any more.* it was dropped, start"):
        follower.drain()
    follower.stop()
    follower.start(views)
    for _ in range(2):
        check(follower, writer, "v", "SELECT id, v FROM t")
        check(follower, writer, "w", "SELECT v FROM m")
        writer.execute("DELETE FROM m WHERE ctid IN (SELECT ctid FROM m LIMIT 1); UPDATE t SET id = id + 10")


def test_the_newest_position_at_the_end_of_a_page(place: str, writer: Any) -> None:
    """The log is read to its end where that is the end of a page, behind which nothing comes."""
    with connect(place) as connection:

        def filled(size: int) -> int | None:
            writer.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', %s))", (size,))
            return slots.newest_position(connection)

        for _ in range(20):
            before, behind = filled(0), filled(400)
            assert before is not None and behind is not None
            left = -behind % 8192
            position = filled(left - (behind - before - 400)) if left > 1000 else None
            if position is not None and position % 8192 in (24, 40):
                return
    pytest.fail("no position was the end of a page")


def test_keys_of_many_kinds(follower: Follower, writer: Any) -> None:
    """Of an index that is the replica identity, with quoted names, enums and domains, beside a table so called."""
    shop, plain = '"My Shop"."T ""1 x"', '"T ""1 x"'
    writer.execute("CREATE SCHEMA \"My Shop\"; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN code AS text")
    writer.execute(f'CREATE TABLE {shop} ("K a" mood NOT NULL, "k,b" code NOT NULL, id int PRIMARY KEY, "V" text)')
    writer.execute(f'CREATE UNIQUE INDEX other ON {shop} ("k,b", "K a") INCLUDE ("V")')
    writer.execute(f"ALTER TABLE {shop} REPLICA IDENTITY USING INDEX other; CREATE TABLE {plain} (id int PRIMARY KEY)")
    writer.execute(f"CREATE PUBLICATION live FOR TABLE {shop}, {plain}")
    writer.execute(f"INSERT INTO {shop} VALUES ('sad', 'a', 1, 'x'), ('ok', 'a', 2, 'y')")
    names = {"shop": 'My Shop.T "1 x', "plain": 'public.T "1 x'}
    follower.start({"v": "SELECT `K a`, `k,b`, id, `V` FROM shop", "p": "SELECT id FROM plain"}, tables=names)
    assert follower.tables[0].key == ("K a", "k,b")
    query = f'SELECT "K a"::text, "k,b"::text, id, "V" FROM {shop}'
    check(follower, writer, "v", query)
    with writer.transaction():
        writer.execute(f"UPDATE {shop} SET \"k,b\" = 'b' WHERE id = 1; UPDATE {shop} SET id = id + 10")
        writer.execute(f"DELETE FROM {shop} WHERE \"K a\" = 'ok'; INSERT INTO {plain} VALUES (1)")
    check(follower, writer, "v", query)
    check(follower, writer, "p", f"SELECT id FROM {plain}")


@in_both_modes
def test_random_lives(follower: Follower, writer: Any) -> None:
    """All that may happen to two tables, in random order, with starts in between and small batches."""
    writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int, big text); CREATE TABLE m (v int, w text)")
    writer.execute("ALTER TABLE t ALTER big SET STORAGE EXTERNAL; ALTER TABLE m REPLICA IDENTITY FULL")
    writer.execute("CREATE PUBLICATION live FOR TABLE t, m")
    writer.execute("INSERT INTO t SELECT i, i, repeat(md5(i::text), 80) FROM generate_series(1, 30) i")
    writer.execute("INSERT INTO m SELECT i % 4, 'w' FROM generate_series(1, 20) i")
    queries = {"a": "SELECT id, v, big FROM t", "b": "SELECT v, w FROM m"}
    draw = random.Random(11)
    follower.start(queries, max_changes=7)
    added = 0
    for _ in range(60):
        key = draw.randrange(1, 40)
        statement = draw.choice(
            [
                "UPDATE t SET v = v + 1 WHERE id % 3 = 0",
                f"UPDATE t SET id = id + 50, v = 1 WHERE id = {key} AND {key + 50} NOT IN (SELECT id FROM t)",
                f"UPDATE t SET big = repeat(md5(random()::text), 80) WHERE id = {key}",
                f"INSERT INTO t VALUES ({key}, 0, 'small') ON CONFLICT (id) DO UPDATE SET v = 0",
                f"DELETE FROM t WHERE id = {key}",
                f"INSERT INTO m VALUES ({key % 5}, 'x'), ({key % 5}, 'x')",
                f"UPDATE m SET v = v + 1 WHERE v = {key % 5}",
                f"DELETE FROM m WHERE v = {key % 5}",
                draw.choice(["TRUNCATE t", "TRUNCATE m", "TRUNCATE t, m", "INSERT INTO m VALUES (NULL, NULL)"]),
                f"ALTER TABLE {draw.choice('tm')} ADD COLUMN c{added} int DEFAULT {added}",
                "START",
                "STEP",
            ]
        )
        added += "ADD COLUMN" in statement
        if statement == "START":
            follower.stop()
            if draw.random() < 0.5 and follower.offset["at"] not in ("nothing", "snapshot"):
                name = f"n{added}_{draw.randrange(10**6)}"
                (found,) = [one for one in published_tables(follower.place, "live") if one.name == "t"]
                seen = follower.offset["columns"]["t"]
                new = [column.name for column in found.columns if column.number > seen]
                if new:
                    queries[name] = f"SELECT id, {new[-1]} FROM t"
            follower.start(queries, max_changes=draw.choice([3, 7, None]))
        elif statement == "STEP":
            follower.step()
        else:
            writer.execute(statement)
    for view, query in queries.items():
        check(follower, writer, view, query)
