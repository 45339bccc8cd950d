"""A way to a server that speaks HTTP, on which requests and answers are lost, late, doubled or refused.

One proxy is one process as the server sees it: `kill` lets nothing more through, and what was under way arrives or not.
"""

from __future__ import annotations

import http.client
import random
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = {
    "dropped before": "the connection ends, and the server has heard nothing",
    "torn": "the server gets a part of the request, and the connection ends",
    "dropped behind": "the server has done it, and the connection ends without an answer",
    "cut answer": "the server has done it, and the connection ends within the answer",
    "delayed": "the server gets it some milliseconds later",
    "late": "the connection ends, and the server gets it later: behind other requests, or when the process is gone",
    "twice": "the server gets it twice; the answer is that to the second one",
    "refused": "the answer is 409, 412, 500 or 503, and the server has heard nothing",
    "done and refused": "the answer is 409, 412, 500 or 503, and the server has done it",
    "killed before": "the process ends before it is sent",
    "killed behind": "the process ends when the server has done it",
}
_CODES = {409: "OperationAborted", 412: "PreconditionFailed", 500: "InternalError", 503: "SlowDown"}
_DELAY = 0.03
_HOPS = ("connection", "transfer-encoding", "keep-alive", "content-length")


@dataclass(frozen=True)
class _Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class _Answered:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on, or fails to; in any thread.

    Args:
        port: The port of the server, on this machine.
        draw: Draws the faults.
        chance: How often there is one; may be changed.

    Attributes:
        url: Where it listens.
        happened: How many faults there were, by kind.
        is_dead: Whether the process has ended.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, draw: random.Random, chance: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.chance = chance
        self.happened = Counter[str]()
        self.is_dead = False
        self._port = port
        self._draw = draw
        self._late: list[_Asked] = []
        self._turn = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Nothing: connections that end are the point."""

    def close(self) -> None:
        """Listen no more."""
        self.shutdown()
        self.server_close()

    def drawn(self) -> tuple[str | None, int, bool]:
        """What happens to the next request, the code of an answer that refuses, and whether late ones arrive before."""
        with self._turn:
            hit = self._draw.random() < self.chance
            kind = self._draw.choice(list(FAULTS)) if hit and not self.is_dead else None
            code = self._draw.choice(list(_CODES))
            if kind is not None:
                self.happened[kind] += 1
            return kind, code, self._draw.random() < 0.5

    def hold(self, asked: _Asked) -> None:
        """Keep a request for later."""
        with self._turn:
            self._late.append(asked)

    def land(self) -> None:
        """Let the requests arrive that are under way."""
        with self._turn:
            late, self._late = self._late, []
        for one in late:
            with suppress(OSError, http.client.HTTPException):
                if self.passed(one).status >= 400:
                    self.happened["late and refused"] += 1

    def passed(self, asked: _Asked) -> _Answered:
        """What the server answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(asked.method, asked.path, asked.body or None, asked.headers)
            answer = connection.getresponse()
            return _Answered(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def tear(self, asked: _Asked) -> None:
        """Give the server the first half of a request."""
        head = f"{asked.method} {asked.path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in asked.headers.items())
        whole = head.encode() + (b"\r\n" + asked.body if asked.body else b"")
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=30) as server:
            server.sendall(whole[: len(whole) - max(len(asked.body) // 2, 1)])


class _Passing(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = _Asked(self.command, self.path, dict(self.headers.items()), body)
        proxy = self.server
        kind, code, arrives = proxy.drawn()
        if arrives:
            proxy.land()
        if proxy.is_dead:
            return self._end()
        match kind:
            case "dropped before":
                return self._end()
            case "torn":
                proxy.tear(asked)
                return self._end()
            case "late":
                proxy.hold(asked)
                return self._end()
            case "refused":
                return self._refuse(code)
            case "killed before":
                proxy.is_dead = True
                return self._end()
            case "delayed":
                time.sleep(_DELAY)
            case "twice":
                self._passed(asked)
        answer = self._passed(asked)
        match kind:
            case "dropped behind":
                return self._end()
            case "done and refused":
                return self._refuse(code)
            case "killed behind":
                proxy.is_dead = True
                return self._end()
            case "cut answer":
                self._say(answer, cut=True)
                return self._end()
        return self._say(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _any  # as http.server calls them

    def _passed(self, asked: _Asked) -> _Answered:
        try:
            return self.server.passed(asked)
        except (OSError, http.client.HTTPException):
            return _Answered(502, [], b"")

    def _end(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    def _refuse(self, code: int) -> None:
        self._say(_Answered(code, [], f"<Error><Code>{_CODES[code]}</Code></Error>".encode()))

    def _say(self, answer: _Answered, cut: bool = False) -> None:
        self.send_response_only(answer.status)
        size = str(len(answer.body))
        for name, value in answer.headers:
            if name.lower() not in _HOPS:
                self.send_header(name, value)
            elif name.lower() == "content-length" and self.command == "HEAD":
                size = value
        self.send_header("Content-Length", size)
        if cut and not answer.body:  # the end of the head is missing
            self.wfile.write(b"".join(self._headers_buffer))
            self._headers_buffer.clear()
            return
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
