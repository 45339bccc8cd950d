"""What somebody tries who should not: OWASP's API Security Top 10 (2023), pages of other sites, and broken input."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pytest
import websockets

import livejoin
from livejoin.errors import SchemaError, StorageError
from livejoin.server import Limits, Server, access, read_tokens, run
from livejoin.server.access import new_token

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    made = {
        "reader": new_token("reader", ["totals", "t"], [], admin=False),
        "writer": new_token("writer", ["t"], ["t"], admin=False),
        "blind": new_token("blind", [], ["u"], admin=False),
        "admin": new_token("admin", [], [], admin=True),
    }
    (tmp_path / "tokens.toml").write_text("\n".join(entry for _, entry in made.values()))
    return {name: token for name, (token, _) in made.items()}


@pytest.fixture
def guarded(db: livejoin.Database, tokens: dict[str, str], tmp_path: Path) -> Iterator[Server]:
    assert tokens
    db.apply({"t": [(1, 10, None, None, "secret", None, None)], "u": [(1, 99)]})
    with Server(db, port=0, access=read_tokens(tmp_path / "tokens.toml")) as found:
        yield found


def as_(server: Server, token: str | None) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=30, headers={"authorization": f"Bearer {token}"} if token else {})


# API2: broken authentication.


@pytest.mark.parametrize(
    ("header", "said"), [(None, "a token is needed.*the request has none"), ("Bearer x", "does not know this token")]
)
def test_no_token_and_an_unknown_one_are_two_cases(guarded: Server, header: str | None, said: str) -> None:
    headers = {} if header is None else {"authorization": header}
    answer = httpx.get(f"{guarded.url}/v1/views", headers=headers)
    assert answer.status_code == 401
    assert re.search(said, answer.json()["error"]["message"])


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic x", "Bearer " + "x" * 50_000])
def test_nobody_comes_in_without_a_token(guarded: Server, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    with httpx.Client(base_url=guarded.url, headers=headers) as client:
        for path in (
            "/",
            "/v1/views",
            "/v1/views/totals/rows",
            "/v1/views/totals/changes",
            "/metrics",
            "/openapi.json",
        ):
            answer = client.get(path)
            assert answer.status_code in (400, 401), path
        assert client.post("/v1/execute", json={"sql": "DROP TABLE t"}).status_code in (400, 401)


def test_a_token_differs_by_one_letter(guarded: Server, tokens: dict[str, str]) -> None:
    token = tokens["reader"]
    for place in range(len(token)):
        other = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        assert guarded.app.state.service.access.who(other) is None
    assert guarded.app.state.service.access.who(token).name == "reader"


def test_all_tokens_are_compared(tokens: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_tokens(tmp_path / "tokens.toml")
    compared = []
    was = access.hmac.compare_digest
    monkeypatch.setattr(access.hmac, "compare_digest", lambda a, b: compared.append(1) or was(a, b))
    found.who(tokens["reader"])  # the first one of the file
    found.who("wrong")
    assert len(compared) == 8


def test_no_token_is_in_the_file_or_in_an_error(tokens: dict[str, str], tmp_path: Path) -> None:
    text = (tmp_path / "tokens.toml").read_text()
    assert not any(token in text for token in tokens.values())
    (tmp_path / "bad.toml").write_text('[[tokens]]\nname = "a"\nsha256 = "my-secret-token"\n')
    with pytest.raises(SchemaError, match=r"tokens\.0\.sha256") as error:
        read_tokens(tmp_path / "bad.toml")
    assert "my-secret" not in str(error.value)


# API1, API3, API5: what a token may not see or do.


def test_a_token_sees_what_it_may_read(guarded: Server, tokens: dict[str, str]) -> None:
    with as_(guarded, tokens["reader"]) as client:
        assert [view["name"] for view in client.get("/v1/views").json()["views"]] == ["totals"]
        assert [table["name"] for table in client.get("/v1/tables").json()["tables"]] == ["t"]
        assert list(client.get("/").json()["views"]) == ["totals"]
        below = ("", "/rows", "/explain", "/changes")
        paths = [*(f"/v1/views/pairs{one}" for one in below), "/v1/views/PAIRS/count", "/v1/views/%70airs/rows"]
        for path in [*paths, "/v1/tables/u", "/v1/tables/u/rows"]:
            answer = client.get(path)
            assert answer.status_code == 404, path
            assert "pairs" not in answer.text.replace(path, "").replace("'pairs'", "").replace("'PAIRS'", "")
        assert client.get("/metrics").status_code == 403
    with as_(guarded, tokens["blind"]) as client:
        assert client.get("/v1/tables/u").status_code == 200
        assert client.get("/v1/tables/u/rows").status_code == 403
        assert client.post("/v1/tables/u?dry_run=1", json=[{"k": 1, "w": 5}]).json()["deltas"] == {}


_THEFTS = (
    "SELECT * FROM u",
    "SELECT * FROM pairs",
    "SELECT t.k FROM t JOIN u ON t.k = u.k",
    "SELECT k FROM t WHERE k IN (SELECT k FROM u)",
    "WITH u AS (SELECT 1 AS k) SELECT * FROM t WHERE EXISTS (SELECT 1 FROM pairs)",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT getenv('PATH')",
    "COPY t TO '/tmp/stolen.csv'",
    "ATTACH '/tmp/x.db'",
    "INSTALL httpfs",
    "PRAGMA database_list",
    "SELECT 1; DROP TABLE t",
    "CREATE TABLE z (k BIGINT)",
    "DELETE FROM t",
)


def test_sql_sees_what_the_token_may_read(guarded: Server, tokens: dict[str, str]) -> None:
    with as_(guarded, tokens["reader"]) as client:
        for sql in _THEFTS:
            answer = client.post("/v1/query", json={"sql": sql})
            assert answer.status_code == 400, sql
            assert "99" not in answer.text
            assert "root:" not in answer.text
        assert client.get("/v1/tables/t/rows").json()["rows"]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE t",
        "CREATE VIEW z AS SELECT * FROM u",
        "ALTER TABLE t ADD COLUMN z INT",
        "INSERT INTO u VALUES (1, 1)",
        "INSERT INTO t (k, v) SELECT k, w FROM u",
        "UPDATE t SET v = (SELECT MAX(w) FROM u)",
        "UPDATE t SET v = (SELECT MAX(w) FROM u) WHERE EXISTS (WITH u AS (SELECT 1) SELECT * FROM u)",
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET v = u.w",
        "BEGIN; INSERT INTO t (k) VALUES (7); DELETE FROM u; COMMIT",
        "REFRESH TABLE t",
    ],
)
def test_statements_change_what_the_token_may_change(guarded: Server, tokens: dict[str, str], sql: str) -> None:
    with as_(guarded, tokens["writer"]) as client, as_(guarded, tokens["admin"]) as admin:
        before = admin.get("/v1/tables/t/rows").json()
        answer = client.post("/v1/execute", json={"sql": sql})
        assert answer.status_code in (400, 403, 404), answer.text
        assert admin.get("/v1/tables/t/rows").json() == before
        assert client.post("/v1/execute", json={"sql": "UPDATE t SET v = v + 1 WHERE k = 1"}).status_code == 200
        assert client.post("/v1/commit", json={"t": [{"k": 5}], "u": [{"k": 5}]}).status_code == 404
        assert client.put("/v1/tables/u", json=[]).status_code == 404


# Pages of other sites: they can let a browser ask this machine.


def test_pages_of_other_sites_are_refused(server: Server, db: livejoin.Database) -> None:
    with httpx.Client(base_url=server.url) as client:
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"host": "evil.example"},
            {"host": f"evil.example:{server.url.rpartition(':')[2]}", "origin": "http://evil.example"},
        ):
            assert client.get("/v1/views", headers=headers).status_code == 403
            assert client.post("/v1/tables/u", json=[{"k": 1}], headers=headers).status_code == 403
        own = client.get("/v1/views", headers={"origin": server.url})
        assert own.status_code == 200
        assert "access-control-allow-origin" not in own.headers
        assert "default-src 'none'" in own.headers["content-security-policy"]
        assert own.headers["x-content-type-options"] == "nosniff"
    assert db.version == 0

    async def by_socket() -> None:
        url = server.url.replace("http", "ws") + "/v1/views/totals/changes"
        with pytest.raises(websockets.InvalidStatus):
            await websockets.connect(url, origin="https://evil.example")  # type: ignore[arg-type]

    asyncio.run(by_socket())


def test_listed_sites_may_ask(db: livejoin.Database) -> None:
    site = "https://shop.example"
    with Server(db, port=0, origins=[site]) as server, httpx.Client(base_url=server.url) as client:
        asked = {
            "origin": site,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        }
        flight = client.options("/v1/tables/u", headers=asked)
        assert (flight.status_code, flight.headers["access-control-allow-origin"]) == (200, site)
        assert client.get("/v1/views", headers={"origin": site}).headers["access-control-allow-origin"] == site
        assert client.get("/v1/views", headers={"origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", ""])
def test_without_tokens_nobody_else_comes_in(db: livejoin.Database, host: str) -> None:
    with pytest.raises(SchemaError, match="there are no tokens"):
        Server(db, host=host, port=0)


# API4: what takes too much.


def test_bodies_that_are_too_large(db: livejoin.Database) -> None:
    with (
        Server(db, port=0, limits=Limits(body=10_000, rows=100)) as server,
        httpx.Client(base_url=server.url) as client,
    ):

        def post(content: bytes, **headers: str) -> int:
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post("/v1/tables/u", content=content, headers=headers).status_code

        lines = "application/x-ndjson"
        assert post(b" " * 10_001, content_type=lines) == 413
        bomb = gzip.compress(b" " * 50_000_000)
        assert (len(bomb) < 60_000, post(gzip.compress(bomb)[:9_000], content_type=lines, content_encoding="gzip")) == (
            True,
            413,
        )
        assert post(gzip.compress(b" " * 5_000_000), content_type=lines, content_encoding="gzip") == 413
        assert post(b'{"k":1}\n' * 101, content_type=lines) == 413
        zeros = pa.table({"k": np.zeros(1_000_000, np.int64)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(zeros)
        data = sink.getvalue().to_pybytes()
        assert len(data) < 10_000
        assert post(data, **{"content_type": ARROW["content-type"]}) == 400
        assert db.version == 0
        assert client.get("/healthz").status_code == 200


def test_damaged_arrow_never_kills_the_server(server: Server, db: livejoin.Database) -> None:
    draws = random.Random(3)
    rows = pa.table({"k": pa.array(range(50), pa.int64()), "w": pa.array(range(50), pa.int64())})
    streams = []
    for compression in (None, "lz4"):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(rows)
        streams.append(sink.getvalue().to_pybytes())
    with httpx.Client(base_url=server.url, timeout=30) as client:
        for _ in range(150):
            data = bytearray(draws.choice(streams))
            for _ in range(draws.randrange(1, 4)):
                data[draws.randrange(len(data))] = draws.randrange(256)
            answer = client.post(
                "/v1/tables/u", content=bytes(data[: draws.randrange(8, len(data) + 1)]), headers=ARROW
            )
            assert answer.status_code in (200, 400, 413), answer.text
        assert client.get("/healthz").status_code == 200
    db._check()


def test_requests_that_come_slowly_end(db: livejoin.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run._Protocol, "head_seconds", 0.3)
    with Server(db, port=0, limits=Limits(read_seconds=0.3)) as server:
        port = int(server.url.rpartition(":")[2])
        heads = b"POST /v1/tables/u HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for sent in (b"", b"GET /v1/vi", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(sent)
                assert connection.recv(1000) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(heads + b"Content-Length: 50\r\n\r\n[")
            assert b" 408 " in connection.recv(10_000)
        assert httpx.get(f"{server.url}/healthz").status_code == 200


# API8: what is said of the server.


def test_an_error_of_ours_is_not_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        msg = "/secret/path"
        raise RuntimeError(msg)

    monkeypatch.setattr(server.app.state.service, "view", fail)
    answer = httpx.get(f"{server.url}/v1/views/totals/rows")
    assert (answer.status_code, answer.json()["error"]["kind"]) == (500, "ServerError")
    assert "secret" not in answer.text
    assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/../etc/passwd", "/livejoin.js/../../app.py", "/%2e%2e/app.py", "/static/app.py"])
def test_files_are_not_served(server: Server, path: str) -> None:
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        found = b"".join(iter(lambda: connection.recv(10_000), b""))
    assert b" 404 " in found


# The file of tokens.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "tokens"),
        ("tokens = 1", "tokens"),
        ("x", "no TOML"),
        (f'[[tokens]]\nname = "a"\nsha256 = "{"0" * 64}"\nreads = ["t"]', "reads"),
        (f'[[tokens]]\nname = "a"\nsha256 = "{"0" * 64}"\n' * 2, "two of the name 'a'"),
    ],
)
def test_files_of_tokens_that_are_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(SchemaError, match=says):
        read_tokens(path)
    with pytest.raises(StorageError, match="cannot be read"):
        read_tokens(tmp_path / "none.toml")


def test_names_in_tokens_are_texts(tmp_path: Path) -> None:
    odd = 'a"\\\n\x7fé'
    _, entry = new_token(odd, [odd], ["*"], admin=False)
    path = tmp_path / "tokens.toml"
    path.write_text(entry)
    ((_, who),) = read_tokens(path)._known
    assert (who.name, who.may_read(odd), who.may_write("anything"), who.is_admin) == (odd, True, True, False)


def test_limits_are_sizes() -> None:
    assert Limits(body="64KB").body == 64_000  # type: ignore[arg-type]
    assert json.loads(Limits().model_dump_json())["rows"] == 1_000_000
