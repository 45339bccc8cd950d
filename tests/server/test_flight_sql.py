"""A server of Flight SQL, asked by the driver of ADBC: what comes is what the database has."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import pyarrow as pa
import pyarrow.flight as fl
import pytest

import livejoin
from livejoin.errors import SchemaError, StorageError
from livejoin.server import Limits, Who, queries
from livejoin.server.access import Tokens
from livejoin.server.flight import FlightServer
from livejoin.server.flight.protobuf import pack, write

SQL = "arrow.flight.protocol.sql."


@pytest.fixture(scope="module")
def shared() -> Iterator[FlightServer]:
    """A server with a process for queries that is warm, of a database that tests clear."""
    with FlightServer(livejoin.Database(), limits=Limits(rows=5_000, body=1_000_000, queries=1)) as found:
        yield found


@pytest.fixture
def db(shared: FlightServer) -> livejoin.Database:
    """A table, one that references it, and a view."""
    found = shared.db
    for name in list(found.views):
        found.drop_view(name)
    while found.tables:
        for name in list(found.tables):
            if not any(key.refers_to(name) for one in found.tables.values() for key in one.foreign_keys):
                found.drop_table(name)
    found.execute("""
        CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, s STRING);
        CREATE TABLE u (k BIGINT, w INT, FOREIGN KEY (k) REFERENCES t);
        CREATE VIEW totals AS SELECT s, SUM(v) AS v FROM t GROUP BY s
    """)
    return found


@pytest.fixture
def server(shared: FlightServer, db: livejoin.Database) -> FlightServer:
    """The server, with the database as `db` left it."""
    del db
    return shared


@pytest.fixture
def connection(server: FlightServer) -> Iterator[Any]:
    """A connection of ADBC."""
    with adbc.connect(server.location, autocommit=True) as found:
        yield found


@pytest.fixture
def cursor(connection: Any) -> Iterator[Any]:
    """A cursor of ADBC."""
    with connection.cursor() as found:
        yield found


def rows(cursor: Any, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    """What a statement gives, sorted."""
    cursor.execute(sql, parameters)
    return sorted(cursor.fetchall())


def test_statements(cursor: Any, db: livejoin.Database, server: FlightServer) -> None:
    version = db.version
    assert rows(cursor, "INSERT INTO t VALUES (1, 10, 'a'), (2, -5, 'b')") == [(version + 1, 2)]
    assert rows(cursor, "SELECT * FROM totals") == [("a", 10), ("b", -5)]
    assert rows(cursor, "select * from TOTALS limit 1;") in ([("a", 10)], [("b", -5)])
    assert rows(cursor, "SELECT s, v + 1 AS w FROM totals WHERE v > 0") == [("a", 11)]
    rows(cursor, "CREATE VIEW large AS SELECT k FROM t WHERE v > 5")
    assert rows(cursor, "/* all */ SELECT k FROM large -- done") == [(1,)]
    rows(cursor, "BEGIN; UPDATE t SET v = 20 WHERE k = 2; INSERT INTO u VALUES (2, 1); COMMIT")
    rows(cursor, "DELETE FROM t WHERE k = 1")
    assert rows(cursor, "SELECT * FROM large") == [(2,)]
    cursor.execute("SELECT s, v FROM t")
    table = cursor.fetch_arrow_table()
    assert table.equals(db.sql("SELECT s, v FROM t"))
    assert cursor.adbc_execute_schema("SELECT s, v FROM t") == table.schema
    assert db.version == version + 3
    with fl.connect(server.location) as client:
        command = pack(SQL + "CommandStatementQuery", write({1: "DELETE FROM t"}))
        said = client.get_schema(fl.FlightDescriptor.for_command(command)).schema
    assert said.names == ["version", "changes"]
    assert rows(cursor, "SELECT * FROM large") == [(2,)]  # nothing was deleted
    rows(cursor, "DROP VIEW large")
    assert "large" not in db.views


def test_values(cursor: Any, db: livejoin.Database) -> None:
    before = db.version
    cursor.executemany("INSERT INTO t VALUES (?, ?, ?);", [(i, i * i, f"it's {i}; --") for i in range(20)])
    assert db.version == before + 1  # one commit
    assert rows(cursor, "SELECT k FROM t WHERE v > ? AND s <> ?", (300, "it's 19; --")) == [(18,)]
    cursor.executemany("UPDATE t SET v = v + ? WHERE k = ?", [(5, 1), (7, 1)])
    assert rows(cursor, "SELECT v FROM t WHERE k = ?", (1,)) == [(13,)]  # each reads what the one before left
    assert rows(cursor, "INSERT INTO t VALUES (?, ?, ?)", (99, None, "x"))[0][1] == 1
    assert rows(cursor, "SELECT k FROM t WHERE v IS NULL") == [(99,)]
    cursor.execute("SELECT k FROM t WHERE k = :key", pa.table({"key": [99]}))
    assert cursor.fetchall() == [(99,)]
    assert cursor.adbc_prepare("SELECT k FROM t WHERE k = ? OR v = ?").names == ["1", "2"]
    with pytest.raises(adbc.ProgrammingError, match="has 1,001 rows of values; allowed are 1,000"):
        cursor.executemany("INSERT INTO t VALUES (?, 0, '')", [(i,) for i in range(5_000, 6_001)])
    with pytest.raises(adbc.ProgrammingError, match="2 rows of values are given; a query takes one"):
        cursor.execute("SELECT k FROM t WHERE k > ?", pa.table({"a": [1, 2]}))
    with pytest.raises(adbc.ProgrammingError, match="1 values are given, and there are more places"):
        cursor.execute("SELECT k FROM t WHERE k > ? AND k < ?", (1,))
    with pytest.raises(adbc.ProgrammingError, match="the first 1 of 2 rows of values stand"):
        cursor.executemany("INSERT INTO t SELECT k + ?, v, s FROM t WHERE k = 0", [(1000,), (1000,)])
    assert rows(cursor, "SELECT k FROM t WHERE k >= 1000") == [(1000,)]


def test_ingest(cursor: Any, db: livejoin.Database) -> None:
    table = pa.table({"k": [1, 2, 1], "w": pa.array([5, None, 7], pa.int32())})
    assert cursor.adbc_ingest("u", table, mode="append") == 3
    assert db.sql("SELECT k, w FROM u").num_rows == 3
    going = table.slice(1, 1).append_column("_change_type", pa.array(["delete"]))
    assert cursor.adbc_ingest("u", going, mode="append") == 1
    assert rows(cursor, "SELECT * FROM u") == [(1, 5), (1, 7)]
    assert cursor.adbc_ingest("made", table, mode="create") == 3
    assert cursor.adbc_ingest("made", table.to_reader(max_chunksize=1), mode="create_append") == 3
    assert db.sql("SELECT k FROM made").num_rows == 6
    for name, mode, said in [
        ("made", "create", "there is a table 'made' already"),
        ("made", "replace", "cannot be replaced, as it is not static"),
        ("absent", "append", "there is no table 'absent'"),
        ("totals", "append", "is a view, which takes no rows"),
    ]:
        with pytest.raises(adbc.Error, match=said):
            cursor.adbc_ingest(name, table, mode=mode)
    with pytest.raises(adbc.Error, match="2 rows with the primary key"):
        cursor.adbc_ingest("t", pa.table({"k": [1, 1], "v": [1, 2], "s": ["a", "b"]}), mode="append")
    assert db.sql("SELECT * FROM t").num_rows == 0
    with pytest.raises(adbc.Error, match="NULL"):
        cursor.adbc_ingest(
            "fresh", pa.table([[None]], schema=pa.schema([pa.field("a", pa.int64(), False)])), mode="create"
        )
    assert "fresh" not in db.tables
    db.execute("CREATE TABLE rates (c STRING, r INT) TBLPROPERTIES ('livejoin.static' = 'true')")
    for rate in (1, 2):
        cursor.adbc_ingest("rates", pa.table({"c": ["EUR"], "r": pa.array([rate], pa.int32())}), mode="replace")
    assert rows(cursor, "SELECT * FROM rates") == [("EUR", 2)]


def test_rows_of_a_client_that_goes_are_not_half_there(
    cursor: Any, db: livejoin.Database, server: FlightServer
) -> None:
    """A stream that breaks off looks to the server as one that has ended."""
    schema = pa.schema([("k", pa.int64()), ("w", pa.int32())])

    def breaking() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1], [2]], schema=schema)
        yield pa.record_batch([[3], [4]], schema=schema)
        raise ValueError("the client fails")

    for _ in range(20):
        with pytest.raises(adbc.Error, match="the client fails"):
            cursor.adbc_ingest("u", pa.RecordBatchReader.from_batches(schema, breaking()), mode="append")
    killed = """if True:
        import os, sys, pyarrow as pa, pyarrow.flight as fl
        batch = pa.record_batch({"k": [1], "w": pa.array([1], pa.int32())})
        descriptor = fl.FlightDescriptor.for_command(bytes.fromhex(sys.argv[2]))
        writer, _ = fl.connect(sys.argv[1]).do_put(descriptor, batch.schema)
        writer.write_batch(batch)
        os.kill(os.getpid(), 9)
    """
    command = pack(SQL + "CommandStatementIngest", write({2: "u"}))
    subprocess.run([sys.executable, "-c", killed, server.location, command.hex()], check=False)
    time.sleep(0.2)
    assert db.sql("SELECT k FROM u").num_rows == 0
    assert cursor.adbc_ingest("u", pa.table({"k": [1], "w": pa.array([1], pa.int32())}), mode="append") == 1


def test_messages_are_not_too_large(cursor: Any, db: livejoin.Database) -> None:
    db.execute("CREATE TABLE wide (k BIGINT, s STRING)")
    text = ["x" * 30_000 + str(k) for k in range(1_000)] + ["y" * 9_000_000]
    db.apply("wide", pa.table({"k": range(1_001), "s": text}))
    cursor.execute("SELECT * FROM wide")
    sizes = [batch.nbytes for batch in cursor.fetch_record_batch()]
    assert sum(sizes) > 39_000_000
    assert sorted(sizes)[-1] < 9_100_000
    assert sorted(sizes)[-2] <= 4_000_000
    assert rows(cursor, "SELECT * FROM wide LIMIT 0") == []


def test_catalog(connection: Any, cursor: Any, db: livejoin.Database) -> None:
    assert connection.adbc_get_info()["vendor_name"] == "livejoin"
    assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
    found = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    listed = found[0]["catalog_db_schemas"][0]["db_schema_tables"]
    assert [(one["table_name"], one["table_type"]) for one in listed] == [
        ("t", "TABLE"),
        ("u", "TABLE"),
        ("totals", "VIEW"),
    ]
    assert [one["column_name"] for one in listed[0]["table_columns"]] == ["k", "v", "s"]
    some = connection.adbc_get_objects(depth="tables", table_name_filter="TO%", table_types_filter=["VIEW"]).read_all()
    assert [one["table_name"] for one in some.to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"]] == ["totals"]
    assert connection.adbc_get_table_schema("t") == db.tables["t"].arrow
    assert connection.adbc_get_table_schema("totals") == db.views["totals"].schema
    with pytest.raises(adbc.Error, match="No table found"):
        connection.adbc_get_table_schema("absent")


def asked(client: fl.FlightClient, command: str, fields: dict[int, Any], options: Any = None) -> pa.Table:
    """What a command of Flight SQL gives."""
    descriptor = fl.FlightDescriptor.for_command(pack(SQL + command, write(fields)))
    info = client.get_flight_info(descriptor, options)
    found = client.do_get(info.endpoints[0].ticket, options).read_all()
    assert info.schema == found.schema == client.get_schema(descriptor, options).schema
    return found


def test_keys_and_paths(server: FlightServer, db: livejoin.Database) -> None:
    db.execute("INSERT INTO t VALUES (1, 2, 'a')")
    with fl.connect(server.location) as client:
        primary = asked(client, "CommandGetPrimaryKeys", {3: "T"}).to_pylist()
        assert [(one["table_name"], one["column_name"], one["key_sequence"]) for one in primary] == [("t", "k", 1)]
        for command, fields in [
            ("CommandGetImportedKeys", {3: "u"}),
            ("CommandGetExportedKeys", {3: "t"}),
            ("CommandGetCrossReference", {3: "t", 6: "u"}),
        ]:
            (key,) = asked(client, command, fields).to_pylist()
            assert (key["pk_table_name"], key["pk_column_name"]) == ("t", "k")
            assert (key["fk_table_name"], key["fk_column_name"]) == ("u", "k")
        assert asked(client, "CommandGetImportedKeys", {3: "t"}).num_rows == 0
        assert asked(client, "CommandGetCatalogs", {}).to_pylist() == [{"catalog_name": ""}]
        assert asked(client, "CommandGetDbSchemas", {1: "other"}).num_rows == 0
        assert asked(client, "CommandGetSqlInfo", {1: [0, 8, 9999]}).to_pylist() == [
            {"info_name": 0, "value": "livejoin"},
            {"info_name": 8, "value": 0},
        ]
        assert [one.descriptor.path for one in client.list_flights()] == [[b"t"], [b"u"], [b"totals"]]
        info = client.get_flight_info(fl.FlightDescriptor.for_path("totals"))
        assert client.do_get(info.endpoints[0].ticket).read_all().to_pylist() == [{"s": "a", "v": 2}]


def test_errors_are_told_and_nothing_else_is(cursor: Any, server: FlightServer) -> None:
    with pytest.raises(adbc.ProgrammingError) as caught:
        cursor.execute("SELECT nope FROM t")
    assert "no column 'nope' is in scope here" in str(caught.value)
    assert "UnknownNameError" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert ".py" not in str(caught.value)
    for sql, said in [
        ("SELECT * FROM absent", "there is no view or table 'absent'"),
        ("SELECT k FROM absent", "absent"),
        (" ", "has no statement"),
        ("SHOW TABLES", "SHOW is not supported"),
        ("SELECT 1 AS a; DROP TABLE t", "found 2 statements"),
        ("SELECT 1 / k AS a FROM (VALUES (0)) AS x(k)", "zero"),
    ]:
        with pytest.raises(adbc.Error, match=said):
            rows(cursor, sql)
    with fl.connect(server.location) as client:
        for name in ("BeginTransaction", "EndTransaction"):
            with pytest.raises(pa.ArrowNotImplementedError, match="each statement is a commit of its own"):
                list(client.do_action(fl.Action(name, b"")))
        with pytest.raises(pa.ArrowNotImplementedError, match="is not known here"):
            asked(client, "CommandStatementSubstraitPlan", {})
        with pytest.raises(pa.ArrowNotImplementedError, match="no transactions"):
            asked(client, "CommandStatementQuery", {1: "SELECT 1", 2: b"x"})
        assert sorted(one.type for one in client.list_actions()) == [
            "ClosePreparedStatement",
            "CreatePreparedStatement",
        ]


def test_limits(cursor: Any, db: livejoin.Database) -> None:
    for begin in (0, 3_000):
        keys = list(range(begin, begin + 3_000))
        db.apply("t", pa.table({"k": keys, "v": keys, "s": ["a"] * 3_000}))
    for sql in ("SELECT * FROM t", "SELECT k FROM t"):
        with pytest.raises(adbc.Error, match=r"6,000 rows"):
            rows(cursor, sql)
    assert len(rows(cursor, "SELECT * FROM t LIMIT 5000")) == 5_000
    with pytest.raises(adbc.Error, match="more than 5,000 rows"):
        cursor.adbc_ingest("u", pa.table({"k": [1] * 5_001, "w": pa.array([1] * 5_001, pa.int32())}), mode="append")
    with pytest.raises(adbc.Error, match="more than the 1,000,000 bytes"):
        cursor.adbc_ingest("x", pa.table({"s": ["x" * 600_000] * 2}), mode="create")
    with pytest.raises(adbc.Error, match="more than the 1,000,000 bytes"):
        cursor.execute(f"SELECT '{'x' * 1_000_000}' AS x")


SLOW = "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.v < b.v JOIN t c ON b.v < c.v JOIN t d ON c.v < d.v"


def test_a_query_that_nobody_waits_for_ends(db: livejoin.Database, server: FlightServer) -> None:
    keys = list(range(3_000))
    db.apply("t", pa.table({"k": keys, "v": keys, "s": ["a"] * 3_000}))
    with fl.connect(server.location) as client:
        descriptor = fl.FlightDescriptor.for_command(pack(SQL + "CommandStatementQuery", write({1: SLOW})))
        ticket = client.get_flight_info(descriptor).endpoints[0].ticket
        with pytest.raises(fl.FlightTimedOutError):
            client.do_get(ticket, fl.FlightCallOptions(timeout=0.3)).read_all()
        # SLOW has the one place for queries, and may take ten seconds; who waits for five is refused.
        assert asked(client, "CommandStatementQuery", {1: "SELECT MAX(k) AS k FROM t"}).to_pylist() == [{"k": 2_999}]


def test_readers_beside_a_writer(server: FlightServer, db: livejoin.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a query reads is one version: a row of `t` and its double in `u` come in one commit."""
    monkeypatch.setattr(queries, "_WAIT", 120.0)  # a machine that is busy takes its time
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            with adbc.connect(server.location, autocommit=True) as connection, connection.cursor() as cursor:
                while not done.is_set():
                    cursor.execute("SELECT (SELECT COUNT(*) FROM t) AS a, (SELECT COUNT(*) FROM u) AS b, 1 AS one")
                    ((a, b, _),) = cursor.fetchall()
                    assert a == b
                    ((s, v),) = rows(cursor, "SELECT * FROM totals") or [("a", 0)]
                    assert (s, v % 7) == ("a", 0)
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for k in range(60):
        db.apply({"t": [(k, 7, "a")], "u": [(k, 1)]})
        time.sleep(0.01)
    done.set()
    for one in readers:
        one.join()
    assert not failed
    assert rows_of(server, "SELECT * FROM totals") == [("a", 420)]


def rows_of(server: FlightServer, sql: str, **options: Any) -> list[tuple[Any, ...]]:
    """What a statement gives by a connection of its own."""
    with adbc.connect(server.location, autocommit=True, **options) as connection, connection.cursor() as cursor:
        return rows(cursor, sql)


def test_malformed_calls(server: FlightServer, db: livejoin.Database) -> None:
    """Whatever comes is answered by an error that says what is wrong, and the server goes on."""
    chance = random.Random(11)
    whole = [
        pack(SQL + name, write(fields))
        for name, fields in [
            ("CommandStatementQuery", {1: "SELECT * FROM totals"}),
            ("CommandPreparedStatementQuery", {1: write({1: "SELECT * FROM t", 2: b"ARROW1"})}),
            ("CommandGetTables", {2: "%", 3: "t%", 4: ["TABLE"], 5: True}),
            ("CommandGetSqlInfo", {1: [0, 1, 8]}),
            ("TicketStatementQuery", {1: write({1: write({1: "SELECT * FROM u"})})}),
            ("CommandStatementIngest", {1: write({1: 1, 2: 2}), 2: "u"}),
        ]
    ]
    allowed = (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError)
    refused = 0
    with fl.connect(server.location) as client:
        for turn in range(400):
            data = bytearray(whole[turn % len(whole)])
            for _ in range(chance.randint(0, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            command = bytes(data[: chance.choice((len(data), chance.randint(0, len(data))))])
            try:
                match turn % 4:
                    case 0:
                        client.do_get(fl.Ticket(command)).read_all()
                    case 1:
                        client.get_flight_info(fl.FlightDescriptor.for_command(command))
                    case 2:
                        list(client.do_action(fl.Action("CreatePreparedStatement", command)))
                    case _:
                        writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), pa.schema([]))
                        writer.done_writing()
                        reader.read()
                        writer.close()
            except allowed:
                refused += 1
        assert refused > 200
        assert asked(client, "CommandStatementQuery", {1: "SELECT * FROM u"}).num_rows == 0
    assert set(db.tables) == {"t", "u"}


def entry(token: str, name: str, reads: str = "", writes: str = "", is_admin: bool = False) -> tuple[str, Who]:
    """A token and whose it is."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return digest, Who(name, frozenset(reads.split()), frozenset(writes.split()), is_admin)


def test_tokens() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (k BIGINT); CREATE TABLE secret (k BIGINT); CREATE VIEW n AS SELECT COUNT(*) AS n FROM t"
    )
    db.execute("INSERT INTO secret VALUES (7)")
    access = Tokens([entry("reader", "r", "n"), entry("writer", "w", "n t", "t"), entry("admin", "a", is_admin=True)])
    with FlightServer(db, access=access) as server:

        def run(token: str, sql: str) -> list[tuple[Any, ...]]:
            return rows_of(server, sql, db_kwargs={"adbc.flight.sql.authorization_header": f"Bearer {token}"})

        assert run("reader", "SELECT * FROM n") == [(0,)]
        assert run("writer", "INSERT INTO t VALUES (1)")[0][1] == 1
        assert run("reader", "SELECT n + 1 AS m FROM n") == [(2,)]
        assert run("admin", "SELECT * FROM secret") == [(7,)]
        assert any(line.startswith("verdict") for (line,) in run("reader", "EXPLAIN n"))
        assert any("actual" in line for (line,) in run("admin", "EXPLAIN ANALYZE n"))
        run("admin", "CREATE VIEW m AS SELECT k FROM t")
        for token, sql, said in [
            ("wrong", "SELECT * FROM n", "does not know this token"),
            ("reader", "SELECT * FROM secret", "there is no view or table 'secret' that you may use; there are n"),
            ("reader", "SELECT k FROM secret", "secret"),
            ("reader", "EXPLAIN SELECT k FROM secret", "secret"),
            ("reader", "EXPLAIN ANALYZE n", "needs a token with admin = true"),
            ("writer", "WITH x AS (SELECT k FROM secret) SELECT k FROM x", "secret"),
            ("reader", "INSERT INTO t VALUES (1)", "there is no table 't' that you may use"),
            ("writer", "INSERT INTO t SELECT k FROM secret", "which the token 'w' may not"),
            ("writer", "BEGIN; INSERT INTO t VALUES (1); DELETE FROM secret; COMMIT", "no table 'secret'"),
            ("writer", "DROP VIEW m", "needs a token with admin = true"),
            ("writer", "CREATE VIEW leak AS SELECT k FROM secret", "needs a token with admin = true"),
        ]:
            with pytest.raises(adbc.Error, match=said):
                run(token, sql)
        with pytest.raises(adbc.Error, match="a token is needed"):
            rows_of(server, "SELECT * FROM n")
        assert rows_of(server, "SELECT * FROM n", db_kwargs={"username": "any", "password": "reader"}) == [(1,)]
        with pytest.raises(adbc.Error, match="does not know this token"):
            rows_of(server, "SELECT * FROM n", db_kwargs={"username": "any", "password": "wrong"})
        with fl.connect(server.location) as client:
            options = fl.FlightCallOptions(headers=[(b"authorization", b"Bearer writer")])
            assert asked(client, "CommandGetTables", {}, options)["table_name"].to_pylist() == ["t", "n"]
            assert [one.descriptor.path for one in client.list_flights(options=options)] == [[b"t"], [b"n"]]
            assert asked(client, "CommandGetPrimaryKeys", {3: "secret"}, options).num_rows == 0
            ticket = fl.Ticket(
                pack(SQL + "TicketStatementQuery", write({1: write({1: write({1: "SELECT * FROM secret"})})}))
            )
            with pytest.raises(pa.ArrowKeyError, match="there is no view or table 'secret'"):
                client.do_get(ticket, options)
        writer = {"adbc.flight.sql.authorization_header": "Bearer writer"}
        with (
            adbc.connect(server.location, autocommit=True, db_kwargs=writer) as connection,
            connection.cursor() as cursor,
        ):
            assert cursor.adbc_ingest("t", pa.table({"k": [5]}), mode="append") == 1
            for name, mode, said in [
                ("secret", "append", "there is no table 'secret' that you may use"),
                ("new", "create", "creating a table needs a token with admin"),
            ]:
                with pytest.raises(adbc.Error, match=said):
                    cursor.adbc_ingest(name, pa.table({"k": [5]}), mode=mode)
    assert db.sql("SELECT k FROM secret").to_pylist() == [{"k": 7}]


def test_a_client_goes_on_with_a_server_that_was_started_anew(tmp_path: Path) -> None:
    with livejoin.open(tmp_path / "db") as db, FlightServer(db) as server:
        db.execute("CREATE TABLE t (k BIGINT)")
        port = server.location.rpartition(":")[2]
        with fl.connect(server.location) as client:
            descriptor = fl.FlightDescriptor.for_command(
                pack(SQL + "CommandStatementQuery", write({1: "SELECT * FROM t"}))
            )
            ticket = client.get_flight_info(descriptor).endpoints[0].ticket
        assert rows_of(server, "INSERT INTO t VALUES (1), (2)") == [(1, 2)]
        with pytest.raises(StorageError, match="cannot listen at"):
            FlightServer(db, server.location)
    with livejoin.open(tmp_path / "db") as db, FlightServer(db, f"grpc://127.0.0.1:{port}") as server:
        assert rows_of(server, "SELECT * FROM t") == [(1,), (2,)]
        with fl.connect(server.location) as client:
            assert sorted(client.do_get(ticket).read_all()["k"].to_pylist()) == [1, 2]


def test_a_certificate(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *name, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    db = livejoin.Database()
    access = Tokens([entry("boss", "a", is_admin=True)])
    with FlightServer(db, "grpc+tls://localhost:0", access=access, certificate=(certificate, key)) as server:
        options = {
            "adbc.flight.sql.client_option.tls_root_certs": certificate.read_text(),
            "adbc.flight.sql.authorization_header": "Bearer boss",
        }
        assert rows_of(server, "CREATE TABLE t (k BIGINT)", db_kwargs=options) == [(0, 0)]
        with pytest.raises(adbc.Error, match="failed to verify certificate"):
            rows_of(server, "SELECT * FROM t", db_kwargs={"adbc.flight.sql.authorization_header": "Bearer boss"})
    assert "t" in db.tables


def test_too_many_calls() -> None:
    with FlightServer(livejoin.Database(), limits=Limits(requests=1)) as server, fl.connect(server.location) as client:
        schema = pa.schema([("k", pa.int64())])
        command = fl.FlightDescriptor.for_command(
            pack(SQL + "CommandStatementIngest", write({1: write({1: 1}), 2: "t"}))
        )
        writer, reader = client.do_put(command, schema)
        writer.write_batch(pa.record_batch([[1]], schema=schema))  # the call is under way
        with pytest.raises(fl.FlightUnavailableError, match="1 calls are being answered"):
            for _ in range(100):
                asked(client, "CommandGetCatalogs", {})
        writer.done_writing()
        assert reader.read().to_pybytes() == write({1: 1})
        writer.close()
        assert asked(client, "CommandGetCatalogs", {}).num_rows == 1


def test_where_it_may_listen() -> None:
    db = livejoin.Database()
    for location, said in [
        ("grpc://0.0.0.0:0", "there are no tokens"),
        ("grpc://[::]:0", "there are no tokens"),
        ("http://127.0.0.1:0", "allowed are addresses as"),
        ("grpc://127.0.0.1", "allowed are addresses as"),
        ("grpc://127.0.0.1:x", "allowed are addresses as"),
        ("grpc+tls://127.0.0.1:0", "a certificate stand together"),
    ]:
        with pytest.raises(SchemaError, match=said):
            FlightServer(db, location)
    with pytest.raises(StorageError, match="the certificate cannot be read"):
        FlightServer(db, "grpc+tls://127.0.0.1:0", certificate=("absent.pem", "absent.key"))
