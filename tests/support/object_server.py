"""An object store in memory behind HTTP, which speaks as much of S3 and of Google Cloud Storage as livejoin asks for.

It stands for neither: signatures are not checked, there are no uploads in parts, and what it refuses is what is
refused here. It lets obstore, the client of both, be part of a test without a server that has to be installed.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

BUCKET = "bucket"
USER, SECRET = "somebody", "a-secret-of-mine"
ENDED = "a-token-of-yesterday"
"""A token of a session that is over."""
PAGE = 50
"""How many objects a page of a list has; a store has 1,000."""


class ObjectServer(ThreadingHTTPServer):
    """The store, and what was asked of it.

    Attributes:
        there: The objects by key.
        asked: How many requests there were, by what they ask.
        bytes_in: The bytes of the objects that it was sent.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.there: MutableMapping[str, bytes] = {}
        self.asked = Counter[str]()
        self.bytes_in = 0
        self.turn = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Nothing: clients go away in the middle."""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Listen no more."""
        self.shutdown()
        self.server_close()


def environment_of_s3(endpoint: str) -> dict[str, str]:
    """What says to obstore that S3 is there."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


def environment_of_google(endpoint: str) -> dict[str, str]:
    """What says to obstore that Google Cloud Storage is there."""
    account = {"gcs_base_url": endpoint, "disable_oauth": True}
    account |= {"client_email": "", "private_key": "", "private_key_id": ""}
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "GOOGLE_ALLOW_HTTP": "true"}


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A store, while somebody needs it."""
    server = ObjectServer()
    try:
        yield server
    finally:
        server.close()


class _Answer(BaseHTTPRequestHandler):
    server: ObjectServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _any(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        asked = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:  # whoever sent it is gone; a store keeps whole objects alone
            self.close_connection = True
            return None
        signed = self.headers.get("Authorization", "")
        if "Credential=" in signed and f"Credential={USER}/" not in signed:
            return self._refuse(403, "InvalidAccessKeyId")
        if self.headers.get("x-amz-security-token") == ENDED:
            return self._refuse(400, "ExpiredToken", f"<Token-0>{ENDED}</Token-0>")
        if bucket != BUCKET:
            return self._refuse(404, "NoSuchBucket")
        with self.server.turn:
            match self.command:
                case "PUT" if key and not asked:
                    return self._put(key, body)
                case "GET" | "HEAD" if key:
                    return self._get(key)
                case "GET":
                    return self._list(asked)
                case "DELETE" if key:
                    self.server.asked["remove"] += 1
                    was = self.server.there.pop(key, None)
                    return self._say(204) if was is not None else self._refuse(404, "NoSuchKey")
                case "POST" if "delete" in asked:
                    self.server.asked["remove"] += 1
                    found = re.findall(r"<Key>(.*?)</Key>", body.decode())
                    for one in found:
                        self.server.there.pop(unescape(one, {"&quot;": '"', "&apos;": "'"}), None)
                    gone = "".join(f"<Deleted><Key>{one}</Key></Deleted>" for one in found)
                    return self._say(200, f"<DeleteResult>{gone}</DeleteResult>".encode())
        return self._refuse(501, "NotImplemented")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any  # as http.server calls them

    def _put(self, key: str, body: bytes) -> None:
        is_new = self.headers.get("If-None-Match") == "*" or self.headers.get("x-goog-if-generation-match") == "0"
        self.server.asked["create" if is_new else "put"] += 1
        self.server.bytes_in += len(body)
        if is_new and key in self.server.there:
            return self._refuse(412, "PreconditionFailed")
        self.server.there[key] = body
        return self._say(200, b"", _about(body))

    def _get(self, key: str) -> None:
        self.server.asked["read"] += 1
        if key not in self.server.there:
            return self._refuse(404, "NoSuchKey")
        whole = self.server.there[key]
        if (found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))) is None:
            return self._say(200, whole, _about(whole))
        begin, last = int(found[1]), min(int(found[2]), len(whole) - 1)
        if begin >= len(whole):
            return self._refuse(416, "InvalidRange")
        place = {"Content-Range": f"bytes {begin}-{last}/{len(whole)}"}
        return self._say(206, whole[begin : last + 1], _about(whole) | place)

    def _list(self, asked: Mapping[str, str]) -> None:
        self.server.asked["list"] += 1
        after = asked.get("continuation-token", "")
        keys = [key for key in sorted(self.server.there) if key.startswith(asked.get("prefix", "")) and key > after]
        shown, rest = keys[:PAGE], keys[PAGE:]
        listed = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-29T12:00:00.000Z</LastModified>"
            f"<ETag>x</ETag><Size>{len(self.server.there[key])}</Size></Contents>"
            for key in shown
        )
        more = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if rest else ""
        return self._say(200, f"<ListBucketResult>{listed}{more}</ListBucketResult>".encode())

    def _refuse(self, status: int, code: str, more: str = "") -> None:
        self._say(status, f"<?xml version='1.0'?><Error><Code>{code}</Code>{more}</Error>".encode())

    def _say(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _about(body: bytes) -> dict[str, str]:
    etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
    return {"ETag": f'"{etag}"', "Last-Modified": "Sun, 29 Nov 2026 12:00:00 GMT"}
