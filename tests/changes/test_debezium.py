"""Debezium's messages as changes, from JSON and from Arrow: a table that follows them has the rows of the source."""

from __future__ import annotations

import base64
import datetime as dt
import json
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors, from_debezium

Message = dict[str, Any]
ROW = pa.struct([("id", pa.int64()), ("part", pa.string()), ("name", pa.string()), ("n", pa.int32())])
SOURCE = pa.struct([("lsn", pa.int64())])
ENVELOPE = pa.schema([("op", pa.string()), ("before", ROW), ("after", ROW), ("source", SOURCE)])


def history(rng: random.Random, count: int, bare: bool) -> tuple[list[Message | None], dict[Any, Message]]:
    """Messages of a table with the key (id, part), and its rows afterwards; ``bare`` ones have the key in before."""
    there: dict[Any, Message] = {}
    messages: list[Message | None] = []
    for lsn in range(count):
        row = {"id": rng.randrange(4), "part": rng.choice("ab"), "name": rng.choice(["x", "y", None]), "n": lsn}
        key = (row["id"], row["part"])
        source = {"lsn": lsn}
        if there and rng.random() < 0.3:
            old = there.pop(rng.choice(list(there)))
            image = {name: old[name] if name in ("id", "part") or not bare else None for name in old}
            messages += [{"op": "d", "before": image, "after": None, "source": source}, None]
        elif key in there:
            messages.append({"op": "u", "before": None if bare else there[key], "after": row, "source": source})
            there[key] = row
        elif there and not bare and rng.random() < 0.3:
            old = there.pop(rng.choice(list(there)))
            messages.append({"op": "u", "before": old, "after": row, "source": source})
            there[key] = row
        else:
            messages.append({"op": rng.choice("cr"), "before": None, "after": row, "source": source})
            there[key] = row
    return messages, there


def wrapped(message: Message | None, form: str) -> object:
    if message is None:
        return None
    match form:
        case "text":
            return json.dumps(message)
        case "bytes":
            return json.dumps({"payload": message, "schema": None}).encode()
        case "payload":
            return {"payload": message}
    return message


def as_arrow(messages: list[Message | None]) -> pa.Table:
    return pa.Table.from_pylist([message or {} for message in messages], schema=ENVELOPE)


def rows_of(db: livejoin.Database) -> list[Message]:
    return sorted(db.views["v"].to_arrow().to_pylist(), key=lambda row: (row["id"], row["part"]))


def database(**options: Any) -> livejoin.Database:
    db = livejoin.Database()
    lsn = ", lsn BIGINT" if options else ""
    db.create_table("T", f"id BIGINT, part STRING, name STRING, n INT{lsn}, PRIMARY KEY (id, part)", **options)
    db.create_view("v", "SELECT id, part, name, n FROM T")
    return db


@pytest.mark.parametrize("form", ["text", "bytes", "payload", "mapping", "arrow"])
@pytest.mark.parametrize("seed", range(8))
def test_a_table_follows_its_source(form: str, seed: int) -> None:
    """In one commit, in several, each of them twice, and in any order where the log's position orders them."""
    rng = random.Random(seed)
    messages, there = history(rng, 30, bare=seed % 2 == 0)
    expected = sorted(there.values(), key=lambda row: (row["id"], row["part"]))

    def changes(some: list[Message | None], **options: Any) -> Any:
        given = as_arrow(some) if form == "arrow" else [wrapped(message, form) for message in some]
        found = from_debezium(given, key=["id", "part"], **options)
        assert isinstance(found, pa.Table) == (form == "arrow")
        return found

    whole = database()
    whole.apply("T", changes(messages))
    assert rows_of(whole) == expected

    twice = database()
    for begin in range(0, len(messages), 7):
        for _ in range(2):
            twice.apply("T", changes(messages[begin : begin + 7]), on_conflict="update")
    assert rows_of(twice) == expected

    anyhow = database(sequence_by="lsn")
    rng.shuffle(messages)
    for begin in range(0, len(messages), 7):
        anyhow.apply("T", changes(messages[begin : begin + 7], fields={"lsn": "source.lsn"}))
    assert rows_of(anyhow) == expected


@pytest.mark.parametrize("form", ["text", "arrow"])
@pytest.mark.parametrize("seed", range(4))
def test_whole_rows_without_a_key(form: str, seed: int) -> None:
    messages, there = history(random.Random(seed), 25, bare=False)
    db = livejoin.Database()
    db.create_table("T", "id BIGINT, part STRING, name STRING, n INT")
    db.create_view("v", "SELECT * FROM T")
    for begin in range(0, len(messages), 6):
        some = messages[begin : begin + 6]
        db.apply("T", from_debezium(as_arrow(some) if form == "arrow" else [wrapped(m, form) for m in some]))
    assert rows_of(db) == sorted(there.values(), key=lambda row: (row["id"], row["part"]))


def test_values_are_what_the_schema_says() -> None:
    """Days, milliseconds, microseconds, nanoseconds, zoned texts and the bytes of decimals, as Debezium writes them."""
    kinds = {
        "day": "io.debezium.time.Date",
        "ms": "io.debezium.time.Timestamp",
        "us": "io.debezium.time.MicroTimestamp",
        "ns": "io.debezium.time.NanoTimestamp",
        "zoned": "io.debezium.time.ZonedTimestamp",
        "amount": "org.apache.kafka.connect.data.Decimal",
    }
    fields: list[Message] = [{"field": "id", "type": "int64"}]
    fields += [{"field": name, "type": "int64", "name": kind} for name, kind in kinds.items()]
    fields[-1]["parameters"] = {"scale": "2", "connect.decimal.precision": "38"}
    schema = {"type": "struct", "fields": [{"field": side, "fields": fields} for side in ("before", "after")]}
    digits = -(10**37) - 1
    row = {
        "id": 1,
        "day": -1,
        "ms": 1_700_000_000_123,
        "us": 1_700_000_000_123_456,
        "ns": 1_700_000_000_123_456_000,
        "zoned": "2023-11-14T23:13:20.123456+01:00",
        "amount": base64.b64encode(digits.to_bytes(16, "big", signed=True)).decode(),
    }
    message = {"schema": schema, "payload": {"op": "c", "before": None, "after": row}}
    db = livejoin.Database()
    columns = ", ".join(f"{name} TIMESTAMP" for name in ("ms", "us", "ns", "zoned"))
    db.create_table("T", f"id BIGINT PRIMARY KEY, day DATE, {columns}, amount DECIMAL(38, 2)")
    db.create_view("v", "SELECT * FROM T")
    db.apply("T", from_debezium([json.dumps(message)], key="id"))
    at = dt.datetime(2023, 11, 14, 22, 13, 20, 123456)
    assert db.views["v"].to_arrow().to_pylist() == [
        {
            "id": 1,
            "day": dt.date(1969, 12, 31),
            "ms": at.replace(microsecond=123000),
            "us": at,
            "ns": at,
            "zoned": at,
            "amount": Decimal(f"{digits}E-2"),
        }
    ]
    for wrong in ({"ns": 1}, {"amount": "?"}, {"day": 10**12}, {"zoned": "soon"}, {"ms": "x"}):
        message["payload"]["after"] = row | wrong
        with pytest.raises(errors.ChangeFormatError, match=f"row 0 .*{next(iter(wrong))}.* schema"):
            from_debezium([message], key="id")


GOOD: Message = {"op": "c", "before": None, "after": {"id": 1, "part": "a", "name": None, "n": 1}}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({**GOOD, "op": "t"}, "'t', which truncates"),
        ({**GOOD, "op": "m"}, "'m', which is no change"),
        ({**GOOD, "op": None}, "op of a Debezium envelope is None"),
        ({**GOOD, "after": None}, "'c' and no row after"),
        ({**GOOD, "op": "d"}, "'d' and no row before"),
    ],
)
def test_messages_that_cannot_be(message: Message, text: str) -> None:
    for given in ([GOOD, message], as_arrow([GOOD, message])):
        with pytest.raises(errors.ChangeFormatError, match=f"row 1 .*{text}"):
            from_debezium(given, key="id")
    with pytest.raises(errors.ChangeFormatError, match="'u' and no row before"):
        from_debezium([{**GOOD, "op": "u"}])
    with pytest.raises(errors.ChangeFormatError, match="'u' and no row before"):
        from_debezium(as_arrow([{**GOOD, "op": "u"}]))


@pytest.mark.parametrize(
    ("messages", "options", "text"),
    [
        (["{"], {}, "no JSON"),
        ([{"id": 1}], {}, "no envelope"),
        ([7], {}, "no envelope"),
        ([{**GOOD, "after": 7}], {}, "allowed are the columns of a row"),
        ([GOOD], {"key": "nr"}, "no 'nr', which is in the key"),
        (as_arrow([GOOD]), {"key": "nr"}, "no 'nr', which is in the key"),
        (as_arrow([GOOD]), {"fields": {"x": "where.lsn"}}, "no 'where'"),
        (as_arrow([GOOD]), {"fields": {"x": "source.at"}}, "nothing at 'source.at'"),
        (pa.table({"op": ["c"], "after": [1]}), {}, "op, and the structs before and after"),
        (json.dumps(GOOD), {}, "of type str; allowed are"),
        ((1 // 0 for _ in range(1)), {}, "of type generator, cannot be read: ZeroDivisionError"),
        (as_arrow([GOOD]).set_column(0, "op", pa.array([1])), {}, "of type pyarrow.*, cannot be read"),
        (7, {}, "of type int; allowed are"),
    ],
)
def test_what_is_no_message(messages: object, options: Message, text: str) -> None:
    with pytest.raises(errors.ChangeFormatError, match=text):
        from_debezium(messages, **options)


@pytest.mark.parametrize("form", ["plain", "text", "bytes"])
@pytest.mark.parametrize("has_op", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_flat_rows_leave_what_envelopes_leave(form: str, has_op: bool, seed: int) -> None:
    """As ExtractNewRecordState writes them, with ``__op`` or with ``__deleted`` alone; a column may be called op."""
    messages, there = history(random.Random(seed), 60, bare=True)
    flat: list[Message | None] = []
    for message in messages:
        if message is None:
            flat.append(None)
            continue
        image = {**(message["after"] or message["before"]), "op": "x"}
        said = {"__op": message["op"]} if has_op else {}
        flat.append({**image, **said, "__deleted": str(message["op"] == "d").lower(), "__source_ts_ms": 5})
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT, part STRING, name STRING, n INT, op STRING, PRIMARY KEY (id, part))")
    changes = from_debezium([wrapped(one, form) for one in flat], key=("id", "part"))
    assert all(not name.startswith("__") for change in changes for name in change)
    db.apply("T", changes)
    assert sorted(db.sql("SELECT id, part, name, n FROM T").to_pylist(), key=str) == sorted(there.values(), key=str)


def test_flat_rows_have_the_types_of_their_schema() -> None:
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "d", "type": "int32", "name": "io.debezium.time.Date"},
        {"field": "v", "type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
    ]
    value = base64.b64encode((-1234).to_bytes(2, "big", signed=True)).decode()
    row = {"id": 1, "d": 19782, "v": {"scale": 3, "value": value}, "__op": "c"}
    found = from_debezium([{"schema": {"type": "struct", "fields": fields}, "payload": row}])
    kept = {"id": 1, "d": dt.date(2024, 2, 29), "v": Decimal("-1.234"), "_change_type": "insert"}
    assert found == [kept]
    broken = {"schema": {"fields": fields}, "payload": {**row, "v": {"value": value}}}
    with pytest.raises(errors.ChangeFormatError, match=r"'v' of after is .* not what the schema of the message says"):
        from_debezium([broken])
