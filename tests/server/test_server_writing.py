"""What is written over HTTP is one commit, done once, or refused with a reason and nothing done."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from typing import Any

import httpx
import pyarrow as pa
import pytest

import livejoin
from livejoin.server import Server
from livejoin.server.access import Tokens, Who

LINES = {"content-type": "application/x-ndjson"}
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_each_way_to_write(client: httpx.Client, db: livejoin.Database, compression: str | None) -> None:
    assert client.post("/v1/tables/u", json={"k": 1, "w": 1}).json()["version"] == 1
    lines = b'{"k": 2, "w": 2}\n\n{"k": 3, "w": null}\n'
    assert client.post("/v1/tables/u", content=lines, headers=LINES).json()["changes"] == 2
    zipped = client.post("/v1/tables/u", content=gzip.compress(lines), headers={**LINES, "content-encoding": "gzip"})
    assert zipped.json()["changes"] == 2
    rows = pa.table({"k": [1, 9], "w": [1, 9], "_change_type": ["delete", "insert"]})
    assert client.post("/v1/tables/u", content=stream(rows, compression), headers=ARROW).json()["changes"] == 2
    with db.snapshot() as at:
        found = sorted(at["u"].to_arrow()["k"].to_pylist())
    assert found == [2, 2, 3, 3, 9]


def test_rows_that_do_not_say_what_they_are_are_inserted(client: httpx.Client, db: livejoin.Database) -> None:
    client.post("/v1/tables/u", json=[{"k": 1, "w": 1}])
    rows = [{"k": 2, "w": 2}, {"_change_type": "delete", "k": 1, "w": 1}, {"k": 3, "w": 3}]
    assert client.post("/v1/tables/u", json=rows).json()["changes"] == 3
    with db.snapshot() as at:
        assert sorted(at["u"].to_arrow()["k"].to_pylist()) == [2, 3]


def test_several_tables_are_one_commit(client: httpx.Client, db: livejoin.Database) -> None:
    body = {"t": [{"k": 1, "v": 5, "d": 1.1}], "u": [{"k": 1, "w": 7}]}
    assert client.post("/v1/commit", json=body).json()["version"] == 1
    assert db.views["pairs"].to_pylist() == [{"k": 1, "w": 7}]
    bad = client.post("/v1/commit", json={"u": [{"k": 2}], "t": [{"k": 1}]})
    assert (bad.status_code, bad.json()["error"]["kind"]) == (409, "DuplicateKeyError")
    assert db.version == 1


def test_a_number_is_done_once(client: httpx.Client, db: livejoin.Database) -> None:
    headers = {"livejoin-client": "till", "livejoin-number": "5"}
    first = client.post("/v1/tables/u", json=[{"k": 1, "w": 1}], headers=headers).json()
    again = client.post("/v1/tables/u", json=[{"k": 1, "w": 1}], headers=headers).json()
    assert again == {**first, "repeated": True}
    assert db.version == 1
    other = client.post("/v1/tables/u", json=[{"k": 1, "w": 2}], headers=headers)
    assert (other.status_code, "was another one, in version 1" in other.text) == (409, True)
    run = {"sql": "UPDATE u SET w = w + 1 WHERE k = 1"}, {**headers, "livejoin-number": "6"}
    answers = [client.post("/v1/execute", json=run[0], headers=run[1]).json() for _ in range(2)]
    assert [answer["repeated"] for answer in answers] == [False, True]
    assert db.sql("SELECT w FROM u").to_pylist() == [{"w": 2}]
    alone = client.post("/v1/tables/u", json=[{"k": 1}], headers={"livejoin-client": "till"})
    assert (alone.status_code, "stand together" in alone.text) == (400, True)


def test_a_dry_run_changes_nothing(client: httpx.Client, db: livejoin.Database) -> None:
    client.post("/v1/tables/t", json=[{"k": 1, "v": 5}])
    seen = client.post("/v1/tables/t?dry_run=1&on_conflict=update", json=[{"k": 1, "v": 6}]).json()
    images = [(row["_change_type"], row["s"]) for row in seen["deltas"]["totals"]]
    assert images == [("update_preimage", 5), ("update_postimage", 6)]
    assert (seen["version"], db.version) == (2, 1)


def test_bad_rows_go_where_the_request_says(client: httpx.Client) -> None:
    rows = [{"k": 1, "v": 1}, {"k": 2, "v": "many"}]
    refused = client.post("/v1/tables/t", json=rows)
    assert (refused.status_code, refused.json()["error"]["row"], refused.json()["error"]["table"]) == (400, 1, "t")
    done = client.post("/v1/tables/t?on_bad_rows=dead_letter", json=rows).json()
    (letter,) = done["dead_letters"]
    assert (done["changes"], done["bad_rows"], letter["row"], letter["change"]) == (1, 1, 1, rows[1])


def test_what_is_said_twice_is_refused(client: httpx.Client, db: livejoin.Database) -> None:
    """The last one counted, so that this was a commit."""
    answer = client.post("/v1/tables/t?dry_run=1&dry_run=0", json=[{"k": 1, "v": 5}])
    assert (answer.status_code, "stands twice" in answer.text, db.version) == (400, True, 0)


def test_a_dry_run_says_which_rows_would_be_left_out(client: httpx.Client, db: livejoin.Database) -> None:
    """It took no notice of ``on_bad_rows``, and refused what the commit would have taken."""
    rows = [{"k": 1, "v": 1}, {"k": 2, "v": "many"}]
    assert client.post("/v1/tables/t?dry_run=1", json=rows).status_code == 400
    skipped = client.post("/v1/tables/t?dry_run=1&on_bad_rows=skip", json=rows).json()
    assert (skipped["changes"], skipped["bad_rows"], "dead_letters" in skipped) == (1, 1, False)
    seen = client.post("/v1/tables/t?dry_run=1&on_bad_rows=dead_letter", json=rows).json()
    (letter,) = seen["dead_letters"]
    assert (seen["changes"], seen["bad_rows"], letter["row"], letter["change"]) == (1, 1, 1, rows[1])
    assert ([row["s"] for row in seen["deltas"]["totals"]], db.version) == ([1], 0)


def test_sql(client: httpx.Client) -> None:
    def run(sql: str, parameters: Any = None) -> httpx.Response:
        return client.post("/v1/execute", json={"sql": sql} | ({"parameters": parameters} if parameters else {}))

    assert run("CREATE TABLE rates (code STRING) TBLPROPERTIES ('livejoin.static' = 'true')").json()["changes"] == 0
    assert run("INSERT INTO u VALUES (?, ?)", [1, 2]).json()["changes"] == 1
    assert run("DELETE FROM u WHERE k = :k", {"k": 1}).json()["changes"] == 1
    wrong = run("SELEC")
    assert (wrong.status_code, wrong.json()["error"]["line"]) == (400, 1)
    refreshed = client.put("/v1/tables/rates", json=[{"code": "EUR"}, {"code": "CHF"}])
    assert refreshed.json()["changes"] == 2


@pytest.mark.parametrize(
    ("content", "headers", "status", "says"),
    [
        (b"[{", {"content-type": "application/json"}, 400, "no JSON"),
        (b" ", {"content-type": "application/json"}, 400, "the body is empty"),
        (b'[{"k": NaN}]', {"content-type": "application/json"}, 400, "write it as a text"),
        (b'[{"k": 1, "v": 1, "k": 2}]', {"content-type": "application/json"}, 400, "twice; give it once"),
        (b"[" * 100_000, {"content-type": "application/json"}, 400, "no JSON"),
        (b'[{"k": ' + b"9" * 5000 + b"}]", {"content-type": "application/json"}, 400, "no JSON"),
        (b"[1]", {"content-type": "application/json"}, 400, "a change is an object"),
        (b'[{"k": 1, "zz": 2}]', {"content-type": "application/json"}, 400, "zz"),
        (b'{"k": 1}\n{"k": }', LINES, 400, "line 2"),
        (b"\xff\xfe[]", {"content-type": "application/json"}, 400, "no JSON"),
        (b"k=1", {"content-type": "application/x-www-form-urlencoded"}, 415, "allowed are application/json"),
        (b"{}", {}, 415, "Content-Type is missing"),
        (b"{}", {"content-type": "text/plain"}, 415, "Content-Type is text/plain"),
        (b"zip", {**LINES, "content-encoding": "gzip"}, 400, "no gzip"),
        (gzip.compress(b'{"k": 1}', mtime=0)[:-9], {**LINES, "content-encoding": "gzip"}, 400, "ends in its middle"),
        (b"{}", {**LINES, "content-encoding": "br"}, 415, "allowed are gzip and none"),
        (b"ARROW1", ARROW, 400, "no Arrow IPC stream"),
        (b"", ARROW, 400, "no Arrow IPC stream"),
    ],
)
def test_bodies_that_are_wrong(
    client: httpx.Client, db: livejoin.Database, content: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    answer = client.post("/v1/tables/u", content=content, headers=headers)
    assert (answer.status_code, says in answer.json()["error"]["message"]) == (status, True), answer.text
    assert db.version == 0
    assert client.get("/healthz").status_code == 200


def test_base64_is_for_binary(client: httpx.Client) -> None:
    wrong = client.post("/v1/tables/t", json=[{"k": 1, "b": "?"}])
    assert (wrong.status_code, "no base64" in wrong.text) == (400, True)


def test_large_numbers_stay_exact(client: httpx.Client) -> None:
    body = json.dumps([{"k": 2**62 + 1, "d": "12345678.91"}]).replace('"12345678.91"', "12345678.91")
    assert client.post("/v1/tables/t", content=body, headers={"content-type": "application/json"}).status_code == 200
    row = client.get("/v1/tables/t/rows").json()["rows"][0]
    assert (row["k"], row["d"]) == (2**62 + 1, "12345678.91")


def test_a_violated_assertion_is_told_with_its_rows_to_those_who_may_read_it(
    client: httpx.Client, db: livejoin.Database
) -> None:
    db.create_assertion("sold_twice", "SELECT k, COUNT(*) AS n FROM u GROUP BY k HAVING COUNT(*) > 1")
    body = [{"k": 1, "w": 1}, {"k": 1, "w": 2}]
    found = client.post("/v1/tables/u", json=body)
    said = found.json()["error"]
    assert (found.status_code, said["kind"], said["assertion"]) == (409, "ViolationError", "sold_twice")
    assert (said["count"], said["rows"]) == (1, [{"k": 1, "n": 2}])
    dry = client.post("/v1/tables/u?dry_run=1", json=body).json()
    assert dry["violations"] == [{"assertion": "sold_twice", "count": 1, "rows": [{"k": 1, "n": 2}]}]
    assert client.get("/v1/views/sold_twice").json()["assertion"] == "enforced"
    assert "assertion" not in client.get("/v1/views/totals").json()
    statement = {"sql": "INSERT INTO u VALUES (1, 1), (1, 2)"}
    assert client.post("/v1/execute", json=statement).json()["error"]["kind"] == "ViolationError"
    with livejoin.connect(str(client.base_url)) as remote, pytest.raises(livejoin.ViolationError) as error:
        remote.apply("u", body)
    assert (error.value.assertion, error.value.rows) == ("sold_twice", [{"k": 1, "n": 2}])


def test_who_may_not_read_an_assertion_is_told_its_name_alone(db: livejoin.Database) -> None:
    db.create_assertion("sold_twice", "SELECT k, COUNT(*) AS n FROM u GROUP BY k HAVING COUNT(*) > 1")
    till = hashlib.sha256(b"secret").hexdigest(), Who("till", frozenset(), frozenset({"u"}), False)
    body = [{"k": 7, "w": 1}, {"k": 7, "w": 2}]
    headers = {"authorization": "Bearer secret"}
    with Server(db, port=0, access=Tokens([till])) as server, httpx.Client(base_url=server.url, headers=headers) as one:
        for path in ("/v1/tables/u", "/v1/tables/u?dry_run=1"):
            text = one.post(path, json=body).text
            assert "sold_twice" in text and '"rows"' not in text and "k = 7" not in text
        letters = one.post("/v1/tables/u?on_bad_rows=dead_letter", json=body).json()["dead_letters"]
    assert [letter["reason"] for letter in letters] == ["with it, assertion 'sold_twice' would not hold"]


def test_a_commit_that_a_server_does_not_wait_for_is_answered_and_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a large commit is under way: it goes on to its end, and who asked is told to ask again."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT)")
    began, may_end = threading.Event(), threading.Event()
    apply = db.apply

    def slow(*arguments: Any, **named: Any) -> Any:
        began.set()
        may_end.wait(30)
        return apply(*arguments, **named)

    monkeypatch.setattr(db, "apply", slow)
    server = Server(db, port=0)
    monkeypatch.setattr(server._server.config, "timeout_graceful_shutdown", 0)
    rows = json.dumps([{"k": i} for i in range(20_000)])
    found: list[httpx.Response] = []
    server.start()

    def ask() -> None:
        headers = {"content-type": "application/json"}
        found.append(httpx.post(f"{server.url}/v1/tables/t", content=rows, headers=headers, timeout=30))

    asking = threading.Thread(target=ask)
    asking.start()
    assert began.wait(30)
    threading.Timer(0.5, may_end.set).start()
    with caplog.at_level("WARNING"):
        server.stop()
    asking.join(30)
    assert found[0].status_code == 503 and "send it again with the same client and number" in found[0].text
    assert "CancelledError" not in caplog.text and "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/execute?dry_run=1", {"sql": "DELETE FROM u"}),
        ("/v1/query?fromat=csv", {"sql": "SELECT 1 AS one"}),
        ("/v1/explain?dry_run=1", {"sql": "SELECT k FROM u"}),
    ],
)
def test_an_address_that_says_more_than_is_known_does_nothing(
    client: httpx.Client, db: livejoin.Database, path: str, body: dict[str, str]
) -> None:
    """As with ``dry_run`` of SQL, which was taken silently and deleted what it should have tried to."""
    db.apply("u", [(1, 1)])
    answer = client.post(path, json=body)
    assert (answer.status_code, "is not known here" in answer.text) == (400, True)
    assert db.sql("SELECT k FROM u").num_rows == 1 and db.version == 1
