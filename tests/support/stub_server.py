"""The protocol of the server over one dictionary, with connections that break where a test says.

The table `T` has the columns `id` (its key) and `name`, and the view `V` has its rows. What the real server does with
SQL and types is none of this.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa

MODULE = Path(__file__).parents[2] / "src" / "livejoin" / "server" / "static" / "livejoin.js"
Fault = Literal["drop", "lose", "half", "busy", "gateway", "other"]
"""Not read; done without an answer; half an answer; come again; a proxy's answer; an answer of something else."""

COLUMNS = [{"name": "id", "type": "BIGINT", "nullable": False}, {"name": "name", "type": "STRING", "nullable": True}]
_ERROR = {"kind": "DuplicateKeyError", "message": "table 'T', row 0: id 1 is there", "table": "T", "row": 0}


class Stub:
    """The state of the server; all of it is changed under `lock`.

    Attributes:
        rows: The names by ids.
        faults: What happens to the next requests that are no stream, one each.
        cuts: After how many bytes the next streams break, one each.
        asked: Requests by method and path.
        seen: The headers of the last request.
        token: What must be said; None for nothing.
        key: The key of the view; None for none.
        files: What else it serves: the type and the bytes by the name.
    """

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.rows: dict[int, str | None] = {}
        self.version = 0
        self.epoch = "e1"
        self.history: list[list[dict[str, Any]]] = []
        self.forgotten = 0
        self.answers: dict[tuple[str, str], dict[str, Any]] = {}
        self.faults: deque[Fault] = deque()
        self.cuts: deque[int] = deque()
        self.asked: Counter[str] = Counter()
        self.seen: dict[str, str] = {}
        self.token: str | None = None
        self.key: list[str] | None = ["id"]
        self.ended: str | None = None
        self.is_there = True
        self.files: dict[str, tuple[str, bytes]] = {}

    def commit(self, changes: list[dict[str, Any]]) -> bool:
        """Apply changes as one version; false if one is a second row with its key."""
        with self.lock:
            before = dict(self.rows)
            for one in changes:
                kind = one.get("_change_type", "insert")
                if kind == "insert" and one["id"] in self.rows:
                    self.rows = before
                    return False
                if kind == "delete":
                    self.rows.pop(one["id"], None)
                else:
                    self.rows[one["id"]] = one["name"]
            gone = [(k, v) for k, v in before.items() if k not in self.rows or self.rows[k] != v]
            come = [(k, v) for k, v in self.rows.items() if k not in before or before[k] != v]
            self.version += 1
            self.history.append([*_told(gone, "delete"), *_told(come, "insert")])
            self.lock.notify_all()
        return True

    def forget(self) -> None:
        """Know nothing of what was: who comes back begins anew."""
        with self.lock:
            self.forgotten = self.version

    def end(self, why: str, is_there: bool) -> None:
        """End all streams."""
        with self.lock:
            self.ended, self.is_there = why, is_there
            self.lock.notify_all()

    def message(self, since: str | None) -> dict[str, Any] | None:
        """What one is told next who knows the message of an id; None if nothing is new."""
        epoch, _, text = (since or "").rpartition("-")
        known = int(text) if epoch == self.epoch else -1
        name = f"{self.epoch}-{self.version}"
        if known < self.forgotten or known > self.version or since is None:
            return {"id": name, "version": self.version, "reset": True, "changes": _told(self.rows.items(), "insert")}
        if known == self.version:
            return None
        net: Counter[tuple[int, str | None]] = Counter()
        for change in (change for one in self.history[known:] for change in one):
            net[change["id"], change["name"]] += 1 if change["_change_type"] == "insert" else -1
        gone = _told((one for one, n in net.items() if n < 0), "delete")
        come = _told((one for one, n in net.items() if n > 0), "insert")
        return {"id": name, "version": self.version, "reset": False, "changes": [*gone, *come]}


def _told(pairs: Any, kind: str) -> list[dict[str, Any]]:
    return [{"_change_type": kind, "id": one, "name": name} for one, name in pairs]


def upserted(message: dict[str, Any]) -> dict[str, Any]:
    """A message in the other shape."""
    puts = [{"id": one["id"], "name": one["name"]} for one in message["changes"] if one["_change_type"] == "insert"]
    come = {one["id"] for one in puts}
    gone = [{"id": one["id"]} for one in message["changes"] if one["_change_type"] == "delete"]
    rest = {name: message[name] for name in ("id", "version", "reset")} | ({"key": ["id"]} if message["reset"] else {})
    return {**rest, "puts": puts, "gone": [one for one in gone if one["id"] not in come]}


class _Cut(Exception):
    """The connection is to break here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: Stub

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        stub, path = self.stub, urlsplit(self.path)
        parts = [unquote(one) for one in path.path.strip("/").split("/")]
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with stub.lock:
            stub.asked[f"{self.command} /{'/'.join(parts)}"] += 1
            stub.seen = {name.lower(): value for name, value in self.headers.items()}
            is_stream = parts[-1] == "changes"
            is_free = parts[0] in stub.files or parts[0] == "livejoin.js"
            fault = stub.faults.popleft() if stub.faults and not is_stream and not is_free else None
        self.close_connection = False
        if stub.token is not None and self.headers.get("authorization") != f"Bearer {stub.token}" and not is_free:
            self._say(401, {"error": {"kind": "RequestError", "message": "a token is needed"}})
        elif fault == "drop":
            self.close_connection = True
        elif fault == "busy":
            self._say(503, {"error": {"kind": "RequestError", "message": "busy"}}, {"Retry-After": "0"})
        elif fault == "gateway":
            self._send(502, b"<html>bad gateway</html>", "text/html")
        elif fault == "other":
            self._send(200, b"<html>hello</html>", "text/html")
        elif is_stream:
            self._stream(parts, query)
        else:
            status, found, kind = self._answer(parts, query, body)
            if fault == "lose":
                self.close_connection = True
            else:
                self._send(status, found, kind, cut=fault == "half")

    def _answer(self, parts: list[str], query: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
        stub = self.stub
        match self.command, *parts:
            case "GET", "livejoin.js":
                return 200, MODULE.read_bytes(), "text/javascript"
            case "GET", name if name in stub.files:
                kind, found = stub.files[name]
                return 200, found, kind
            case "GET", "v1", "tables":
                table = {"name": "T", "columns": COLUMNS, "key": ["id"]}
                return _json(200, {"version": stub.version, "tables": [table]})
            case "GET", "v1", "views":
                return _json(200, {"version": stub.version, "views": [self._view()]})
            case "GET", "v1", "views", "V" if stub.is_there:
                return _json(200, {"version": stub.version, **self._view()})
            case ("GET", "v1", _, "V" | "T", "rows") | ("POST", "v1", "query"):
                if query.get("format") == "arrow":
                    return 200, _arrow(stub.message(None) or {}, {}), "application/vnd.apache.arrow.stream"
                rows = [{"id": one, "name": name} for one, name in stub.rows.items()]
                return _json(200, {"version": stub.version, "columns": COLUMNS, "rows": rows})
            case ("POST", "v1", "tables", "T") | ("POST", "v1", "commit"):
                return self._write(parts, body)
            case "POST", "v1", "execute":
                stub.commit([{"id": 1000 + stub.version, "name": json.loads(body)["sql"]}])
                return _json(200, {"version": stub.version, "changes": 1})
        return _json(404, {"error": {"kind": "AbsentNameError", "message": "there is no such thing"}})

    def _view(self) -> dict[str, Any]:
        return {"name": "V", "columns": COLUMNS, "key": self.stub.key, "sql": "SELECT id, name FROM T"}

    def _write(self, parts: list[str], body: bytes) -> tuple[int, bytes, str]:
        stub, request = self.stub, (self.headers["livejoin-client"], self.headers["livejoin-number"])
        if self.headers["content-type"] == "application/json":
            said = json.loads(body)
            changes = said if parts[-1] == "T" else said["T"]
        else:
            changes = pa.ipc.open_stream(body).read_all().to_pylist()
        with stub.lock:
            if request in stub.answers:
                return _json(200, {**stub.answers[request], "repeated": True})
            if not stub.commit(changes):
                return _json(409, {"error": _ERROR})
            found = {"version": stub.version, "changes": len(changes), "ignored": 0, "late": 0, "repeated": False}
            if None not in request:
                stub.answers[request] = found
        return _json(200, found)

    def _say(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", headers)

    def _send(
        self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Livejoin-Version", str(self.stub.version))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def _stream(self, parts: list[str], query: dict[str, str]) -> None:
        stub, self.close_connection = self.stub, True
        with stub.lock:
            cut = stub.cuts.popleft() if stub.cuts else None
            if not stub.is_there or parts[2] != "V":
                self._say(404, {"error": {"kind": "AbsentNameError", "message": "there is no such view"}})
                return
            if stub.key is None and query.get("shape") == "upsert":
                self._say(409, {"error": {"kind": "ReadError", "message": "no key of view 'V' is known"}})
                return
        is_socket = "sec-websocket-key" in self.headers
        since = query.get("since", self.headers.get("last-event-id"))
        if is_socket:
            both = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101)
            accepted = base64.b64encode(hashlib.sha1(both.encode()).digest()).decode()
            for name, value in (
                ("Upgrade", "websocket"),
                ("Connection", "Upgrade"),
                ("Sec-WebSocket-Accept", accepted),
            ):
                self.send_header(name, value)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                with stub.lock:
                    while (message := stub.message(since)) is None and stub.ended is None:
                        stub.lock.wait(10)
                    if stub.ended is not None and message is None:
                        said = json.dumps({"message": stub.ended}).encode()
                        end = b"event: end\ndata: " + said + b"\n\n"
                        self._put(_frame(8, struct.pack("!H", 1000) + stub.ended.encode()) if is_socket else end, None)
                        break
                assert message is not None
                since = message["id"]
                self._put(_framed(message) if is_socket else _event(message, query.get("shape", "changes")), cut)
                cut = None
            if not is_socket:
                self.wfile.write(b"0\r\n\r\n")
        except (_Cut, OSError):
            pass

    def _put(self, data: bytes, cut: int | None) -> None:
        """Send in small pieces, and break where the test says."""
        sent, is_socket = data[:cut], "sec-websocket-key" in self.headers
        for begin in range(0, len(sent), 50):
            piece = sent[begin : begin + 50]
            self.wfile.write(piece if is_socket else b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        if cut is not None:
            raise _Cut


def _json(status: int, value: Any) -> tuple[int, bytes, str]:
    return status, json.dumps(value).encode(), "application/json"


def _event(message: dict[str, Any], shape: str) -> bytes:
    data = json.dumps(message if shape == "changes" else upserted(message)).encode()
    return b": ping\n\nid: " + message["id"].encode() + b"\nevent: change\ndata: " + data + b"\n\n"


def _arrow(message: dict[str, Any], said: dict[str, str]) -> bytes:
    changes = message.get("changes", [])
    columns = {"id": pa.array([one["id"] for one in changes], pa.int64()), "name": [one["name"] for one in changes]}
    if said:
        columns["_change_type"] = [one["_change_type"] for one in changes]
    table = pa.table({k: pa.array(v, pa.int64() if k == "id" else pa.string()) for k, v in columns.items()})
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata(said or None)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _framed(message: dict[str, Any]) -> bytes:
    """A message in three frames, with a ping between them."""
    said = {"id": message["id"], "version": str(message["version"]), "reset": str(message["reset"]).lower()}
    data = _arrow(message, said)
    middle = len(data) // 2
    return (
        _frame(2, data[:10], False) + _frame(9, b"ping") + _frame(0, data[10:middle], False) + _frame(0, data[middle:])
    )


def _frame(kind: int, data: bytes, is_last: bool = True) -> bytes:
    size = len(data)
    said = (
        bytes([size])
        if size < 126
        else b"\x7e" + struct.pack("!H", size)
        if size < 1 << 16
        else b"\x7f" + struct.pack("!Q", size)
    )
    return bytes([(0x80 if is_last else 0) | kind]) + said + data


@contextmanager
def stubbed() -> Iterator[tuple[Stub, str]]:
    """A stub that answers, and its URL."""
    stub = Stub()
    handler = type("Handler", (_Handler,), {"stub": stub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stub, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        stub.end("the server ends", True)
        server.shutdown()
        server.server_close()
        thread.join()
