"""The client against a stub of the server: what it sends, and what it does when connections break."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import livejoin
from cutting_proxy import cutting_proxy
from livejoin.client import Client, connect
from livejoin.client.events import Event, EventReader
from livejoin.client.rows import json_body
from livejoin.errors import (
    AbsentNameError,
    ChangeFormatError,
    DuplicateKeyError,
    ReadError,
    SchemaError,
    ServerError,
    UnreachableError,
)
from stub_server import Stub, stubbed

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Stub, Client]]:
    monkeypatch.setattr("livejoin.client.patience._FIRST", 0.005)
    with stubbed() as (stub, url), livejoin.connect(url, patience=5.0, timeout=5.0) as client:
        yield stub, client


def test_what_there_is(served: tuple[Stub, Client]) -> None:
    stub, client = served
    assert client.views()["V"].key == ("id",)
    assert [(one.name, one.type, one.nullable) for one in client.tables()["T"].columns] == [
        ("id", "BIGINT", False),
        ("name", "STRING", True),
    ]
    done = client.apply("T", [{"id": 1, "name": "a"}])
    assert (done.version, done.changes, done.repeated) == (1, 1, False)
    rows = client.rows("V")
    assert rows.to_pylist() == [{"id": 1, "name": "a"}] == client.query("SELECT * FROM V").to_pylist()
    assert rows.schema.metadata == {b"version": b"1"}
    assert client.execute("INSERT INTO T VALUES (2, 'b')").version == 2
    assert stub.asked["POST /v1/tables/T"] == 1


def test_rows_of_every_kind(served: tuple[Stub, Client]) -> None:
    stub, client = served
    client.apply("T", pa.table({"id": [1], "name": ["a"]}))
    client.apply("T", pl.DataFrame({"id": [2], "name": ["b"]}))
    client.apply("T", pa.record_batch({"id": [3], "name": ["c"]}))
    client.apply({"T": pa.table({"id": [4], "name": ["d"]}), "U": []})
    client.apply("T", ({"id": one, "name": None} for one in (5, 6)))
    assert stub.rows == {1: "a", 2: "b", 3: "c", 4: "d", 5: None, 6: None}
    for wrong in ([(1, "a")], {"id": 1}, "abc", 7, [{"id": object()}], None):
        with pytest.raises(ChangeFormatError):
            client.apply("T", wrong)
    with pytest.raises(ChangeFormatError):
        client.apply({})
    assert stub.version == 5


def test_values_as_json() -> None:
    given = [
        *(Decimal("1.50"), date(2024, 2, 29), datetime(2024, 1, 1, 12, tzinfo=UTC), b"\xff\x00"),
        *(
            float("nan"),
            float("-inf"),
            np.int64(7),
            np.float32("inf"),
            2**63,
            (1, {"a": float("inf")}),
            None,
            True,
            "\u00e9",
        ),
    ]
    assert json_body(given).decode() == (
        '["1.50","2024-02-29","2024-01-01T12:00:00+00:00","/wA=","NaN","-Infinity",7,"Infinity",9223372036854775808,'
        '[1,{"a":"Infinity"}],null,true,"é"]'
    )


@pytest.mark.parametrize(
    "faults", [["drop"], ["lose"], ["half"], ["busy"], ["gateway"], ["lose", "busy", "half", "drop"]]
)
def test_a_commit_is_done_once(served: tuple[Stub, Client], faults: list[Any]) -> None:
    stub, client = served
    client.apply("T", [{"id": 1, "name": "a"}])
    stub.faults.extend(faults)
    done = client.apply("T", [{"id": 2, "name": "b"}])
    assert done.version == stub.version == 2
    assert done.repeated == ("lose" in faults or "half" in faults)
    assert stub.rows == {1: "a", 2: "b"}


@pytest.mark.parametrize("left", range(0, 260, 20))
def test_answers_that_are_cut_off_anywhere(left: int) -> None:
    """Also within the head, where what came looks whole: it is asked again, and nothing is done twice."""
    with stubbed() as (stub, url), cutting_proxy(urlsplit(url).port or 0) as proxy, connect(proxy.url) as client:
        proxy.cut_behind(left)
        assert client.apply("T", [{"id": 1, "name": "a"}]).version == 1
        proxy.cut_behind(left)
        with connect(proxy.url) as other:
            assert list(other.views()) == ["V"]
        for shape in ("changes", "arrow"):
            proxy.cut_behind(left)
            with client.changes("V", shape=shape) as told:
                assert (update := next(told)).reset
                assert len(update.changes) == 1
        assert stub.version == 1


def test_a_request_of_ones_own_number(served: tuple[Stub, Client]) -> None:
    _, client = served
    first = client.apply("T", [{"id": 1, "name": "a"}], request=("till-3", 17))
    again = client.apply("T", [{"id": 1, "name": "a"}], request=("till-3", 17))
    assert (first.version, first.repeated, again.version, again.repeated) == (1, False, 1, True)


def test_what_may_not_be_repeated_is_not(served: tuple[Stub, Client]) -> None:
    stub, client = served
    client.views()
    for fault in ("lose", "half"):
        stub.faults.append(fault)  # type: ignore[arg-type]
        with pytest.raises(UnreachableError, match="nobody knows whether the request was done"):
            client.execute("x")
    stub.faults.append("gateway")
    with pytest.raises(ServerError) as caught:
        client.execute("x")
    assert caught.value.status == 502
    stub.faults.extend(["busy", "busy"])
    client.execute("x")
    assert stub.asked["POST /v1/execute"] == 6
    assert stub.version == 3


def test_errors_are_those_of_the_server(served: tuple[Stub, Client]) -> None:
    stub, client = served
    client.apply("T", [{"id": 1, "name": "a"}])
    with pytest.raises(DuplicateKeyError) as caught:
        client.apply("T", [{"id": 1, "name": "b"}])
    assert (caught.value.table, caught.value.row) == ("T", 0)
    assert str(caught.value) == "table 'T', row 0: id 1 is there"
    with pytest.raises(AbsentNameError, match="no such thing"):
        client.rows("nowhere/else")
    stub.faults.append("other")
    with pytest.raises(ServerError, match="is it one of livejoin"):
        client.views()
    stub.faults.append("other")
    with pytest.raises(ServerError, match="something else than Arrow"):
        client.rows("V")


def test_tokens(served: tuple[Stub, Client]) -> None:
    stub, client = served
    stub.token = "secret"
    with pytest.raises(ServerError) as caught:
        client.views()
    assert caught.value.status == 401
    with pytest.raises(ServerError):
        next(client.changes("V"))
    with connect(str(client).split("'")[1], "secret") as other:
        assert list(other.views()) == ["V"]
        assert next(other.changes("V", shape="arrow")).reset


@pytest.mark.parametrize(
    "url", ["ftp://x", "localhost:8000", "http://", "http://me:pw@host", "http://h:x", "http://h?a=b", 7]
)
def test_what_is_no_address(url: Any) -> None:
    with pytest.raises(SchemaError):
        connect(url)
    with pytest.raises(SchemaError):
        connect("http://localhost", "a\nb")
    with pytest.raises(SchemaError):
        connect("http://localhost", timeout=0)


def test_no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = connect(f"http://127.0.0.1:{free.getsockname()[1]}", patience=0.5)
        began = time.monotonic()
        for call in (client.views, lambda: client.execute("x"), lambda: next(client.changes("V"))):
            with pytest.raises(UnreachableError, match="gave no answer"):
                call()
        assert time.monotonic() - began > 0.3


def test_a_server_that_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2, patience=0)
        with pytest.raises(UnreachableError, match="TimeoutError"):
            client.views()


def test_a_connection_that_was_idle_too_long(served: tuple[Stub, Client]) -> None:
    stub, client = served
    client.views()
    stub.faults.append("drop")  # the connection ends; the request is sent again over a new one at once
    assert list(connect_views(client)) == ["V"]
    assert stub.asked["GET /v1/views"] == 3


def connect_views(client: Client) -> Any:
    return client.views()


def test_a_closed_client(served: tuple[Stub, Client]) -> None:
    _, client = served
    told = client.changes("V")
    next(told)
    threading.Timer(0.1, client.close).start()
    assert list(told) == []  # a loop that waits ends
    with pytest.raises(ReadError, match="closed"):
        client.views()


@pytest.mark.parametrize("shape", ["changes", "upsert", "arrow"])
def test_a_loop_that_another_thread_closes(served: tuple[Stub, Client], shape: Any) -> None:
    _, client = served
    told = client.changes("V", shape=shape)
    assert next(told).reset
    threading.Timer(0.1, told.close).start()
    assert list(told) == []


@pytest.mark.parametrize("shape", ["changes", "upsert", "arrow"])
def test_neither_gap_nor_double(served: tuple[Stub, Client], shape: Any) -> None:
    """Random commits while streams break anywhere, and while the server forgets what was: the copy is the view."""
    stub, client = served
    draw = random.Random(shape)
    copy: dict[int, str | None] = {}
    versions, resets = [], 0
    with client.changes("V", shape=shape) as told:
        for step in range(60):
            changes = [
                {
                    "id": draw.randrange(8),
                    "name": draw.choice(["a", "b", None]),
                    "_change_type": draw.choice(["upsert", "delete"]),
                }
                for _ in range(draw.randrange(1, 4))
            ]
            stub.commit(changes)
            if step % 3 == 0:
                stub.cuts.extend(draw.randrange(300) for _ in range(2))
                told._drop()  # the connection breaks
            if step % 10 == 0:
                stub.forget()
            while not versions or versions[-1] < stub.version:
                update = next(told)
                versions.append(update.version)
                resets += update.reset
                follow(copy, update)
            assert copy == stub.rows
    assert all(one < other for one, other in pairwise(versions))
    assert 1 < resets <= 7
    assert client.changes("V", since=f"e1-{stub.version}").since == f"e1-{stub.version}"


def follow(copy: dict[int, str | None], update: Any) -> None:
    """Do to a copy what a message says; a change that does not fit to it is a gap or a double."""
    if update.reset:
        copy.clear()
    if hasattr(update, "puts"):
        for one in update.gone:
            del copy[one["id"]]
        copy.update({one["id"]: one["name"] for one in update.puts})
        return
    rows = update.changes if isinstance(update.changes, list) else update.changes.to_pylist()
    for one in rows:
        if one["_change_type"] == "delete":
            assert copy.pop(one["id"]) == one["name"]
    for one in rows:
        if one["_change_type"] == "insert":
            assert one["id"] not in copy
            copy[one["id"]] = one["name"]


@pytest.mark.parametrize("shape", ["changes", "arrow"])
def test_a_view_that_is_gone(served: tuple[Stub, Client], shape: Any) -> None:
    stub, client = served
    told = client.changes("V", shape=shape)
    next(told)
    stub.end("view 'V' was dropped", is_there=False)
    with pytest.raises(ReadError, match="view 'V' was dropped"):
        next(told)
    assert list(told) == []
    with pytest.raises(AbsentNameError, match="no such"):
        next(client.changes("V", shape=shape))


@pytest.mark.parametrize("shape", ["changes", "arrow"])
def test_a_view_that_is_made_anew(served: tuple[Stub, Client], shape: Any) -> None:
    """What was told before the end is void, even at the same version."""
    stub, client = served
    told = client.changes("V", shape=shape)
    assert next(told).version == 0
    stub.end("view 'V' was dropped", is_there=True)
    stub.cuts.append(0)  # the first attempt fails

    def again() -> None:
        stub.ended = None

    threading.Timer(0.2, again).start()
    update = next(told)
    assert (update.version, update.reset) == (0, True)


def test_events_however_they_are_cut() -> None:
    text = (
        "\ufeffid: 1\r\nevent: change\rdata: a\ndata:b\r\n\r\n: ping\n\ndata\n\nid\nid: 2\0\nretry: 5\ndata:  é\n\n"
        "event: x\n\ndata: cut"
    )
    data = text.encode()
    whole = EventReader().feed(data)
    assert whole == [Event("change", "a\nb", "1"), Event("message", "", "1"), Event("message", " é", "")]
    for size in (1, 2, 3, 7):
        reader = EventReader()
        pieces = [data[begin : begin + size] for begin in range(0, len(data), size)]
        assert [event for piece in pieces for event in reader.feed(piece)] == whole
