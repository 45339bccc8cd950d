"""Tables of a real PostgreSQL as a stream: what a view holds is what a query there gives, after every batch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deltas import sum_of, versions_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.errors import SchemaError, StateError
from livejoin.pipeline.model import PostgresServer as PostgresSettings
from livejoin.pipeline.model import ServerTable
from livejoin.pipeline.places import server_of
from livejoin.spark.postgres import PostgresSink, read_postgres, table_sizes
from livejoin.spark.postgres.slot import number, text
from maintaining import maintain
from postgres_server import PostgresServer
from strategies import seeds

pytestmark = pytest.mark.spark

_names = count()


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    return postgres.database(f"source{next(_names)}")


@pytest.fixture
def writer(place: str) -> Iterator[Any]:
    with psycopg.connect(place, autocommit=True) as connection:
        yield connection


VIEWS = {
    "spent": "SELECT c.name, SUM(o.amount) AS total, COUNT(*) AS n FROM customers c JOIN orders o ON o.customer = c.id "
    "GROUP BY c.name",
    "by_note": "SELECT v AS note, COUNT(*) AS n FROM notes GROUP BY v",
}


def tables(writer: Any) -> None:
    writer.execute(
        """
        CREATE TABLE customers (id bigint PRIMARY KEY, name text);
        CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint, amount numeric(12, 2) NOT NULL);
        CREATE TABLE notes (v text);
        ALTER TABLE notes REPLICA IDENTITY FULL;
        CREATE PUBLICATION live FOR TABLE customers, orders, notes;
        """
    )


@pytest.fixture
def run(spark: SparkSession, place: str, tmp_path: Path) -> Callable[..., None]:
    """Takes what is there and ends; each call is a new start of the query."""

    def once(views: Any = VIEWS, **more: Any) -> None:
        reading = {"tables": more.pop("tables", None), "retry_seconds": more.pop("retry_seconds", 60)}
        parts = read_postgres(spark, place, "live", f"slot_{tmp_path.name}", **reading)
        given = {"path": tmp_path / "out", "checkpoint": tmp_path / "ckpt", "trigger": {"availableNow": True}, **more}
        query = maintain(spark, views, parts, **given)
        assert query.awaitTermination(60)

    return once


def held(writer: Any, out: Path) -> None:
    for view, query in VIEWS.items():
        recomputed = Counter(writer.execute(query).fetchall())
        assert sum_of(out / view) == recomputed, view


def test_how_much_the_first_batches_bring(writer: Any, place: str) -> None:
    tables(writer)
    writer.execute("CREATE TABLE parts (id bigint PRIMARY KEY) PARTITION BY RANGE (id)")
    for at in range(2):
        writer.execute(f"CREATE TABLE parts{at} PARTITION OF parts FOR VALUES FROM ({at * 500}) TO ({at * 500 + 500})")
    writer.execute("ALTER PUBLICATION live ADD TABLE parts")
    writer.execute("ALTER PUBLICATION live SET (publish_via_partition_root = true)")
    writer.execute("INSERT INTO parts SELECT n FROM generate_series(0, 899) n")
    writer.execute("INSERT INTO orders SELECT n, 1, 5 FROM generate_series(1, 3000) n")
    writer.execute("ANALYZE parts0; ANALYZE parts1; ANALYZE customers; ANALYZE orders")
    found = table_sizes(place, "live")
    assert {name: rows for name, (rows, _) in found.items() if name != "customers"} == {
        "orders": 3000,
        "parts": 900,
        "notes": None,
    }
    assert found["orders"][1] > 3000 * 20
    server = PostgresSettings(kind="postgres", url=place, publication="live", slot="s")
    asked = {name: ServerTable(server="x") for name in ("orders", "notes")}
    assert server_of(server, asked).first_rows() == "orders (about 3,000 rows), notes (0.0 MB)"


def test_snapshot_first_then_every_change(writer: Any, run: Callable[..., None], tmp_path: Path) -> None:
    tables(writer)
    writer.execute("INSERT INTO customers VALUES (1, 'ann'), (2, NULL), (3, ''), (4, 'a\nb,\"c\"')")
    writer.execute("INSERT INTO orders SELECT i, 1 + i % 5, i * 0.01 FROM generate_series(1, 1000) i")
    writer.execute("INSERT INTO notes VALUES ('x'), ('x'), (NULL), ('')")
    run()
    held(writer, tmp_path / "out")
    draw = random.Random(3)
    for _ in seeds(1, 2):
        for _ in range(40):
            with writer.transaction():
                for _ in range(draw.randrange(1, 4)):
                    key = draw.randrange(1, 1100)
                    statement = draw.choice(
                        [
                            f"UPDATE orders SET amount = amount + 1 WHERE id = {key}",
                            f"DELETE FROM orders WHERE id = {key}",
                            f"INSERT INTO orders VALUES ({key}, 1, 3) ON CONFLICT (id) DO UPDATE SET customer = 2",
                            f"UPDATE customers SET name = 'n{key}' WHERE id = {1 + key % 4}",
                            f"UPDATE orders SET id = id + 5000 WHERE id = {key}",
                            "INSERT INTO notes VALUES ('x'), ('y')",
                            "UPDATE notes SET v = NULL WHERE ctid IN (SELECT ctid FROM notes LIMIT 1)",
                            "DELETE FROM notes WHERE ctid IN (SELECT ctid FROM notes LIMIT 1)",
                        ]
                    )
                    writer.execute(statement)
                if draw.random() < 0.2:
                    raise psycopg.Rollback
        run()
        held(writer, tmp_path / "out")


def test_a_batch_holds_whole_transactions(
    spark: SparkSession, place: str, writer: Any, run: Callable[..., None], tmp_path: Path
) -> None:
    """Two tables that every transaction changes alike are alike behind every commit."""
    writer.execute(
        "CREATE TABLE l (id bigint PRIMARY KEY, v bigint); CREATE TABLE r (id bigint PRIMARY KEY, v bigint); "
        "INSERT INTO l VALUES (1, 0); INSERT INTO r VALUES (1, 0); CREATE PUBLICATION live FOR TABLE l, r"
    )
    views = {"differing": "SELECT l.v AS a, r.v AS b FROM l JOIN r USING (id) WHERE l.v <> r.v", "v": "SELECT v FROM l"}
    parts = read_postgres(spark, place, "live", "whole")
    query = maintain(
        spark,
        views,
        parts,
        path=tmp_path / "out",
        checkpoint=tmp_path / "ckpt",
        trigger={"processingTime": "0 seconds"},
    )
    try:
        for step in range(120):
            with writer.transaction():
                writer.execute("UPDATE l SET v = v + 1")
                writer.execute("UPDATE r SET v = v + 1")
            if step % 20 == 19:
                query.processAllAvailable()
        query.processAllAvailable()  # Spark may have asked for the newest offset before the last transactions
    finally:
        query.stop()
    assert sum_of(tmp_path / "out" / "v") == Counter([(120,)])
    assert len(versions_of(tmp_path / "out" / "v")) >= 4, "there were several batches"
    assert not list((tmp_path / "out" / "differing").iterdir())


@pytest.mark.torture
def test_a_limit_on_a_batch_leaves_transactions_whole(
    spark: SparkSession, place: str, writer: Any, tmp_path: Path
) -> None:
    """Each batch is as many transactions as have at most 10 changes; one with more is a batch alone."""
    writer.execute("CREATE TABLE t (id bigint PRIMARY KEY, v bigint); CREATE PUBLICATION live FOR TABLE t")
    writer.execute("INSERT INTO t SELECT i, 0 FROM generate_series(1, 30) i")
    taken: list[int] = []

    def run(limit: int) -> list[int]:
        taken.clear()
        parts = read_postgres(spark, place, "live", "limited", max_changes=limit)
        more: Any = {"path": tmp_path / "out", "checkpoint": tmp_path / "ckpt", "trigger": {"availableNow": True}}
        views = {"v": "SELECT id, v FROM t"}
        more["on_batch"] = lambda report: taken.append(report.changes)
        assert maintain(spark, views, parts, **more).awaitTermination(60)
        assert sum_of(tmp_path / "out" / "v") == Counter(writer.execute("SELECT id, v FROM t").fetchall())
        return [count for count in taken if count]

    assert run(10) == [10, 10, 10], "what the table holds comes in pieces"
    sizes = [4, 3, 3, 1, 25, 2, 9, 10, 1]
    for version, size in enumerate(sizes, start=1):
        writer.execute(f"CREATE TABLE IF NOT EXISTS other{version} (x int)")  # messages that are no changes
        writer.execute("UPDATE t SET v = %s WHERE id <= %s", (version, size))
    assert run(10) == [10, 1, 25, 2, 9, 10, 1]
    for _ in range(12):
        writer.execute("UPDATE t SET v = v + 1 WHERE id = 1")
    assert run(5) == [5, 5, 2]
    with pytest.raises(SchemaError, match="max_changes=0 limits a batch; give 1 or more"):
        run(0)


@pytest.mark.torture
def test_from_postgres_to_postgres(
    postgres: PostgresServer, place: str, writer: Any, run: Callable[..., None], tmp_path: Path
) -> None:
    """Through a crash of the server behind the first batch, which Spark has not noted yet."""
    tables(writer)
    writer.execute("INSERT INTO customers VALUES (1, 'ann'); INSERT INTO orders VALUES (1, 1, 5), (2, 1, 7)")
    view = {"spent": VIEWS["spent"]}
    named = {"customers": "customers", "orders": "public.orders"}
    with pytest.raises(StreamingQueryException, match="start it again when that is repaired, and it goes on"):
        stopping: Any = {"on_batch": lambda _: postgres.stop(), "retry_seconds": 0.5}
        run(view, sink=PostgresSink(place), tables=named, **stopping)
    postgres.start()
    with psycopg.connect(place, autocommit=True) as again:
        assert again.execute("SELECT * FROM spent").fetchall() == [("ann", 12, 2)]
        again.execute("UPDATE orders SET amount = 6 WHERE id = 1")
        run(view, sink=PostgresSink(place), tables=["customers", "orders"])
        assert again.execute("SELECT * FROM spent").fetchall() == [("ann", 13, 2)]
        again.execute("DELETE FROM orders WHERE id = 1")
        run(view, sink=PostgresSink(place), tables=["customers", "orders"])
        assert again.execute("SELECT * FROM spent").fetchall() == [("ann", 7, 1)]
        slots = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE database = current_database()"
        ((held,),) = again.execute(slots).fetchall()
        assert text(number(held)) == held


@pytest.mark.torture
def test_what_cannot_go_on_says_why(
    spark: SparkSession, place: str, writer: Any, run: Callable[..., None], tmp_path: Path
) -> None:
    with pytest.raises(SchemaError, match="there is no publication 'live'"):
        run()
    tables(writer)
    with pytest.raises(SchemaError, match=r"table 'other' is not in it; it has public\.customers"):
        run(tables=["other"])
    writer.execute(f"SELECT pg_create_logical_replication_slot('slot_{tmp_path.name}', 'pgoutput')")
    with pytest.raises(StreamingQueryException, match="is there already, and this checkpoint has not begun"):
        run()
    writer.execute(f"SELECT pg_drop_replication_slot('slot_{tmp_path.name}')")
    names = {"names": "SELECT id, name FROM customers"}
    run(names, tables=["customers"])
    with pytest.raises(StateError, match="table 'orders' is new, and comes with the stream of 'customers', which"):
        run(tables=["customers", "orders", "notes"])
    writer.execute("INSERT INTO customers VALUES (1, 'ann')")
    run(names, tables=["customers"])
    writer.execute("TRUNCATE customers; INSERT INTO customers VALUES (2, 'bob')")
    run(names, tables=["customers"])
    assert sum_of(tmp_path / "out" / "names") == Counter([(2, "bob")])
    writer.execute(f"SELECT pg_drop_replication_slot('slot_{tmp_path.name}')")
    with pytest.raises(StreamingQueryException, match=r"is not there, and the checkpoint needs those from .* are lost"):
        run(names, tables=["customers"])


@pytest.mark.torture  # in cells without Spark each is tested too
def test_what_a_shop_does_meanwhile_in_cells(
    spark: SparkSession, place: str, writer: Any, run: Callable[..., None], tmp_path: Path
) -> None:
    """Through Spark: TRUNCATE, large values that stay, other keys, no place; a first snapshot that is cut off."""
    tables(writer)
    writer.execute(
        "ALTER TABLE customers ADD COLUMN about text, ADD COLUMN worth numeric; "
        "ALTER TABLE customers ALTER about SET STORAGE EXTERNAL"
    )
    writer.execute(
        "INSERT INTO customers SELECT i, 'n' || i % 2, repeat(md5(i::text), 100), i FROM generate_series(1, 9) i"
    )
    writer.execute("INSERT INTO orders SELECT i, 1 + i % 5, i FROM generate_series(1, 50) i")
    writer.execute("INSERT INTO notes SELECT i % 3 FROM generate_series(1, 40) i")
    about = "SELECT id, name, about, worth FROM customers"
    views = {**VIEWS, "about": about}
    in_cells: Any = {"mode": "distributed", "cells": 2}
    parts = read_postgres(spark, place, "live", f"slot_{tmp_path.name}", max_changes=30)

    def stop(report: Any) -> None:
        if report.batch_id == 1:
            raise KeyError

    query = maintain(
        spark, views, parts, path=tmp_path / "out", checkpoint=tmp_path / "ckpt", on_batch=stop, **in_cells
    )
    with pytest.raises(StreamingQueryException):
        query.awaitTermination(300)
    writer.execute(
        "DELETE FROM orders WHERE id < 20; UPDATE notes SET v = 7 WHERE v = '1'; DELETE FROM customers WHERE id = 9"
    )
    run(views, **in_cells)
    held(writer, tmp_path / "out")
    writer.execute("UPDATE customers SET name = 'new' WHERE id < 4; INSERT INTO notes VALUES (1), (1)")
    writer.execute("UPDATE customers SET id = 103 WHERE id = 3; UPDATE customers SET name = 'moved' WHERE id = 103")
    writer.execute(
        "TRUNCATE notes; INSERT INTO notes VALUES (2), (2); TRUNCATE orders; INSERT INTO orders VALUES (1, 2, 3)"
    )
    writer.execute("UPDATE customers SET worth = 'NaN' WHERE id = 1; UPDATE customers SET worth = 7 WHERE id = 2")
    with pytest.raises(StreamingQueryException, match=r"ChangeValueError: .*column .worth. has the value NaN"):
        run(views, **in_cells)
    letters: list[Any] = []
    bad: Any = {"on_bad_rows": "dead_letter", "dead_letters": lambda *said: letters.append(said)}
    run(views, **in_cells, **bad)
    ((row, table, _, reason),) = letters
    assert (row["id"], table) == (1, "customers") and "cannot hold" in reason
    held(writer, tmp_path / "out")
    known = about.replace("worth", "CASE id WHEN 1 THEN 1 ELSE worth END")
    assert sum_of(tmp_path / "out" / "about") == Counter(writer.execute(known).fetchall())
    writer.execute("UPDATE customers SET id = id + 200 WHERE id > 1; UPDATE customers SET id = 3 WHERE id = 303")
    run(views, **in_cells)
    assert sum_of(tmp_path / "out" / "about") == Counter(writer.execute(known).fetchall())
    assert not list((tmp_path / "ckpt" / "livejoin").glob("*.parts"))


@pytest.mark.torture
def test_what_a_shop_does_meanwhile(
    spark: SparkSession, place: str, writer: Any, run: Callable[..., None], tmp_path: Path
) -> None:
    """Through Spark: ADD COLUMN while it runs, a large value that stays, TRUNCATE, a default, a column read past."""
    tables(writer)
    writer.execute(
        "ALTER TABLE customers ADD COLUMN about text; ALTER TABLE customers ALTER about SET STORAGE EXTERNAL"
    )
    writer.execute(
        "INSERT INTO customers SELECT i, 'n' || i % 2, repeat(md5(i::text), 100) FROM generate_series(1, 9) i"
    )
    writer.execute(
        "INSERT INTO orders SELECT i, 1 + i % 5, i FROM generate_series(1, 50) i; INSERT INTO notes VALUES (7)"
    )
    about = "SELECT id, name, about FROM customers"
    views = {**VIEWS, "about": about}
    parts = read_postgres(spark, place, "live", f"slot_{tmp_path.name}", max_changes=20)
    query = maintain(spark, views, parts, path=tmp_path / "out", checkpoint=tmp_path / "ckpt")
    statements = (
        "ALTER TABLE orders ADD COLUMN paid boolean DEFAULT false; UPDATE orders SET paid = true WHERE id < 5",
        "UPDATE customers SET name = 'new' WHERE id < 4; UPDATE customers SET id = 100 WHERE id = 1",
        "INSERT INTO notes VALUES (1), (1); TRUNCATE notes; INSERT INTO notes VALUES (2)",
        "DELETE FROM orders WHERE id % 7 = 0; ALTER TABLE customers ADD COLUMN more int; TRUNCATE orders CASCADE",
        "INSERT INTO orders VALUES (1, 2, 3), (2, 2, 4), (3, 3, 5)",
    )
    try:
        for statement in statements:
            writer.execute(statement)
            query.processAllAvailable()
    finally:
        query.stop()
    with pytest.raises(StateError, match="the new column 'paid' has values in rows that are there which were not read"):
        run({**views, "paid": "SELECT id, paid FROM orders"})
    run(views)
    held(writer, tmp_path / "out")
    assert sum_of(tmp_path / "out" / "about") == Counter(writer.execute(about).fetchall())
    writer.execute("ALTER TABLE orders ADD COLUMN sent int DEFAULT 4; UPDATE orders SET sent = 5 WHERE id = 2")
    sent = "SELECT id, sent FROM orders"
    run({**views, "sent": sent})
    assert sum_of(tmp_path / "out" / "sent") == Counter(writer.execute(sent).fetchall())
