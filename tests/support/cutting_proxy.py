"""A way to a server on which connections break."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class CuttingProxy:
    """Passes bytes on, and breaks connections when it is told to, or behind some bytes.

    Attributes:
        url: Where it listens.
    """

    def __init__(self, port: int) -> None:
        self._next: deque[int] = deque()
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                with self._lock:
                    self._open |= {near, far}
                limit = self._next.popleft() if self._next else None
                threading.Thread(target=self._pass, args=(near, far, None), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, limit), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if left is None or left > 0:
                    sink.sendall(data[:left])
                if left is not None and (left := left - len(data)) <= 0:
                    break
        self._end({source, sink})

    def cut_behind(self, size: int) -> None:
        """Break the next connection when so many bytes came back."""
        self._next.append(size)

    def cut(self) -> None:
        """Break all connections."""
        with self._lock:
            found = set(self._open)
        self._end(found)

    def _end(self, some: set[socket.socket]) -> None:
        with self._lock:
            self._open -= some
        for one in some:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        """Listen no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()


@contextmanager
def cutting_proxy(port: int) -> Iterator[CuttingProxy]:
    """A proxy before the port of a server."""
    proxy = CuttingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
