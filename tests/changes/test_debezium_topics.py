"""Debezium's messages of several tables in one call, as PostgreSQL's and MySQL's connectors write them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors, from_debezium, from_debezium_topics

ABSENT = "__debezium_unavailable_value"


@pytest.fixture
def db() -> Iterator[livejoin.Database]:
    with livejoin.Database() as db:
        db.execute(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, total DECIMAL(10, 2), placed TIMESTAMP)"
        )
        db.execute("CREATE TABLE Customers (id BIGINT PRIMARY KEY, name STRING, born DATE, photo BINARY, note STRING)")
        yield db


def b64(unscaled: int) -> str:
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def postgres(table: str, op: str, before: Any, after: Any, lsn: int = 34_500_896) -> dict[str, Any]:
    """A message without schema, with all fields that the connector writes."""
    source = {
        "version": "3.0.8.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": 1_700_000_000_123,
        "snapshot": "false",
        "db": "shop",
        "sequence": f'["{lsn - 8}","{lsn}"]',
        "ts_us": 1_700_000_000_123_456,
        "ts_ns": 1_700_000_000_123_456_000,
        "schema": "public",
        "table": table,
        "txId": 764,
        "lsn": lsn,
        "xmin": None,
    }
    times = {"ts_ms": 1_700_000_000_500, "ts_us": 1_700_000_000_500_500, "ts_ns": 1_700_000_000_500_500_000}
    return {"before": before, "after": after, "source": source, "transaction": None, "op": op, **times}


ORDER = {"id": 1, "customer": 7, "total": b64(12_345), "placed": 1_700_000_000_123_456}
CUSTOMER = {"id": 7, "name": "Ada", "born": -1, "photo": base64.b64encode(b"\x00\xff").decode(), "note": "long"}
PLACED = dt.datetime(2023, 11, 14, 22, 13, 20, 123456)


def rows(db: livejoin.Database, table: str) -> list[dict[str, Any]]:
    return db.sql(f"SELECT * FROM {table} ORDER BY id").to_pylist()


@pytest.mark.parametrize("form", ["text", "pair", "record", "methods", "wrapped"])
def test_several_tables_in_one_commit(db: livejoin.Database, form: str) -> None:
    """Without schemas: the tables' columns say what days, microseconds, bytes and decimals are."""

    def given(table: str, message: Any) -> Any:
        topic, text = f"shop.public.{table}", json.dumps(message) if message else None
        match form:
            case "pair":
                return topic, text
            case "record":
                return SimpleNamespace(topic=topic, value=text and text.encode(), offset=3)
            case "methods":
                return SimpleNamespace(topic=lambda: topic, value=lambda: text and text.encode())
            case "wrapped":
                return {"schema": None, "payload": message}
        return text

    messages = [
        given("customers", postgres("customers", "r", None, CUSTOMER)),
        given("orders", postgres("orders", "c", None, ORDER)),
        given("orders", postgres("orders", "c", None, {**ORDER, "id": 2})),
        given("orders", postgres("orders", "u", None, {**ORDER, "total": b64(-5)})),
        given("orders", postgres("orders", "d", {"id": 2, "customer": None, "total": None, "placed": None}, None)),
        given("orders", None),
    ]
    changes = from_debezium_topics(messages, db.tables, integer_times="microseconds", decimals="base64")
    assert (list(changes), changes.skipped, changes.new_columns, changes.bad_rows) == (
        ["Customers", "orders"],
        1,
        {},
        0,
    )
    assert db.apply(changes).version == 1
    placed = db.sql("SELECT placed FROM orders").to_pylist()[0]["placed"]
    assert placed.replace(tzinfo=None) == PLACED
    assert db.sql("SELECT id, customer, total FROM orders").to_pylist() == [
        {"id": 1, "customer": 7, "total": Decimal("-0.05")}
    ]
    assert rows(db, "customers") == [
        {"id": 7, "name": "Ada", "born": dt.date(1969, 12, 31), "photo": b"\x00\xff", "note": "long"}
    ]


@pytest.mark.parametrize(
    ("written", "decimals", "expected"),
    [
        ("1234.50", "text", "1234.50"),
        ("1234", "text", "1234.00"),
        ("-0.5", None, "-0.50"),  # no base64
        (b64(123_450), "base64", "1234.50"),
        ({"scale": 1, "value": b64(12_345)}, None, "1234.50"),
        (1234.5, "base64", "1234.50"),  # decimal.handling.mode=double
        (12, None, "12.00"),
    ],
)
def test_decimals(db: livejoin.Database, written: Any, decimals: Any, expected: str) -> None:
    message = postgres("orders", "c", None, {**ORDER, "total": written})
    db.apply(from_debezium_topics([message], db.tables, decimals=decimals, integer_times="microseconds"))
    assert db.sql("SELECT total FROM orders").to_pylist() == [{"total": Decimal(expected)}]


def test_a_schema_says_what_else_would_have_to_be_declared(db: livejoin.Database) -> None:
    """``decimal.handling.mode=string`` with a schema is a text: the table makes a number of it."""
    columns = [
        {"type": "int64", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "total"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1, "field": "placed"},
    ]
    sides = [{"type": "struct", "fields": columns, "optional": True, "field": side} for side in ("before", "after")]
    schema = {"type": "struct", "fields": sides, "optional": False, "name": "shop.public.orders.Envelope"}
    payload = postgres("orders", "c", None, {"id": 1, "total": "1234", "placed": 1_700_000_000_123})
    db.apply(from_debezium_topics([json.dumps({"schema": schema, "payload": payload})], db.tables))
    found = db.sql("SELECT total, placed FROM orders").to_pylist()[0]
    assert (found["total"], found["placed"].replace(tzinfo=None)) == (Decimal(1234), PLACED.replace(microsecond=123000))


def test_bytes_with_a_schema_are_bytes() -> None:
    fields = [{"type": "int64", "field": "id"}, {"type": "bytes", "optional": True, "field": "photo"}]
    message = {"schema": {"type": "struct", "fields": fields}, "payload": {"id": 1, "photo": "AP8=", "__op": "c"}}
    assert from_debezium([message]) == [{"id": 1, "photo": b"\x00\xff", "_change_type": "insert"}]


def test_flat_rows_of_several_tables(db: livejoin.Database) -> None:
    """ExtractNewRecordState with ``add.fields=op,table``; keys in another spelling, as some databases have them."""
    flat = {"ID": 7, "NAME": "Ada", "BORN": 1, "PHOTO": None, "NOTE": None, "__op": "c", "__table": "CUSTOMERS"}
    gone = {"id": 7, "__deleted": "true", "__op": "d", "__table": "customers"}
    other = {"id": 3, "customer": None, "total": "1.5", "placed": None, "__op": "r", "__source_table": "orders"}
    changes = from_debezium_topics([flat, json.dumps(other)], db.tables)
    db.apply(changes)
    assert rows(db, "customers")[0]["name"] == "Ada"
    assert rows(db, "orders")[0]["total"] == Decimal("1.50")
    db.apply(from_debezium_topics([gone], db.tables))
    assert rows(db, "customers") == []


def test_columns_that_the_source_has_and_the_table_does_not(db: livejoin.Database) -> None:
    """They are told; the table may be changed, or they are ignored; rows from before lack them and stay right."""
    old = postgres("orders", "c", None, ORDER)
    new = postgres("orders", "c", None, {**ORDER, "id": 2, "channel": "web"})
    changes = from_debezium_topics([old, new], db.tables, integer_times="microseconds", decimals="base64")
    assert changes.new_columns == {"orders": ("channel",)}
    with pytest.raises(errors.LivejoinError, match="channel"):
        db.apply(changes)
    db.apply(changes, extra_columns="ignore")
    assert [row["id"] for row in rows(db, "orders")] == [1, 2]
    db.execute("ALTER TABLE orders ADD COLUMN channel STRING DEFAULT 'shop'")
    again = from_debezium_topics([old, new], db.tables, integer_times="microseconds", decimals="base64")
    assert again.new_columns == {}
    db.apply(again)
    assert [row["channel"] for row in rows(db, "orders")] == ["shop", "web"]


def test_values_that_were_not_sent_stay(db: livejoin.Database) -> None:
    """Large values of PostgreSQL that an update does not change come as a placeholder, in base64 for bytes."""
    db.apply(from_debezium_topics([postgres("customers", "c", None, CUSTOMER)], db.tables))
    hidden = {**CUSTOMER, "name": "Eve", "note": ABSENT, "photo": base64.b64encode(ABSENT.encode()).decode()}
    update = postgres("customers", "u", None, hidden)
    db.apply(from_debezium_topics([update], db.tables))
    assert rows(db, "customers") == [
        {"id": 7, "name": "Eve", "born": dt.date(1969, 12, 31), "photo": b"\x00\xff", "note": "long"}
    ]
    assert from_debezium([update], key="id")[0].keys() == {"id", "name", "born", "_change_type"}
    with pytest.raises(errors.ChangeFormatError, match="'photo' was not sent"):
        from_debezium([postgres("customers", "u", CUSTOMER, hidden)])
    moved = from_debezium([postgres("customers", "u", CUSTOMER, {**hidden, "id": 8})], key="id")
    assert [(one["id"], one.get("note")) for one in moved] == [(7, None), (8, "long")]
    with pytest.raises(errors.ChangeFormatError, match="'photo' was not sent"):
        from_debezium([postgres("customers", "u", {"id": 7}, {**hidden, "id": 8})], key="id")
    table = pa.table({"op": ["u"], "before": [{"id": 1, "t": "x"}], "after": [{"id": 1, "t": ABSENT}]})
    with pytest.raises(errors.ChangeFormatError, match="'t' was not sent"):
        from_debezium(table, key="id")


def test_what_is_bad_is_left_out_and_told(db: livejoin.Database) -> None:
    good = postgres("orders", "c", None, {**ORDER, "total": "1.5", "placed": None})
    given: list[Any] = [
        good,
        "{",
        postgres("orders", "t", None, None),
        postgres("payments", "c", None, {"id": 1}),
        ("heartbeat.shop", {"ts_ms": 1, "op": "c", "after": {}}),
        postgres("orders", "c", None, {**ORDER, "total": "1234", "placed": None}),
        postgres("orders", "c", None, {**ORDER, "total": "1.5"}),
        postgres("orders", "c", None, {"customer": 1}),
        {"id": 1, "__op": "c"},
        postgres("customers", "d", None, None),
    ]
    found = from_debezium_topics(
        given, db.tables, topics={"heartbeat.shop": None}, decimals=None, on_bad_rows="dead_letter"
    )
    assert (list(found), found.bad_rows, found.skipped) == (["orders"], 8, 1)
    assert [(letter.row, letter.table) for letter in found.dead_letters] == [
        (1, None),
        (2, "orders"),
        (3, None),
        (5, "orders"),
        (6, "orders"),
        (7, "orders"),
        (8, None),
        (9, "Customers"),
    ]
    assert all(letter.message is given[letter.row] for letter in found.dead_letters)
    words = ["no JSON", "truncates", "'payments'.*the tables are", "decimals=", "integer_times=", "no 'id'", "__table"]
    for letter, text in zip(found.dead_letters, words, strict=False):
        with pytest.raises(errors.ChangeFormatError, match=text):
            from_debezium_topics([letter.message], db.tables)
    assert from_debezium_topics(given, db.tables, topics={"heartbeat.shop": None}, on_bad_rows="skip").bad_rows == 8
    commit = db.apply(found, on_bad_rows="dead_letter")
    assert (commit.bad_rows, len(rows(db, "orders"))) == (0, 1)


def test_topics_of_other_names(db: livejoin.Database) -> None:
    message = postgres("orders_2024", "c", None, {**ORDER, "total": None, "placed": None})
    for given in (message, ("shop.public.orders_2024", message)):
        assert list(from_debezium_topics([given], db.tables, topics={"orders_2024": "Orders"})) == ["orders"]
    named = from_debezium_topics([("a.b", message)], db.tables, topics={"a.b": "orders", "b": "customers"})
    assert list(named) == ["orders"]
    with pytest.raises(errors.SchemaError, match="the tables are orders, Customers"):
        from_debezium_topics([], db.tables, topics={"x": "y"})


def test_fields_of_the_envelope(db: livejoin.Database) -> None:
    db.create_table("late", "id BIGINT PRIMARY KEY, n INT, lsn BIGINT", sequence_by="lsn")
    given = [postgres("late", "u", None, {"id": 1, "n": lsn}, lsn) for lsn in (3, 2, 5, 4)]
    given.append(postgres("orders", "c", None, {**ORDER, "total": None, "placed": None}))
    db.apply(from_debezium_topics(given, db.tables, fields={"lsn": "source.lsn"}))
    assert rows(db, "late") == [{"id": 1, "n": 5, "lsn": 5}]


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        (7, {}, "allowed is a list"),
        ("{}", {}, "allowed is a list"),
        ((1 // 0 for _ in range(1)), {}, "ZeroDivisionError"),
        ([], {"decimals": "precise"}, "decimals is 'precise'; allowed"),
        ([], {"integer_times": "seconds"}, "integer_times is"),
        ([], {"on_bad_rows": "ignore"}, "on_bad_rows is"),
    ],
)
def test_what_is_refused(db: livejoin.Database, given: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.LivejoinError, match=text):
        from_debezium_topics(given, db.tables, **options)
