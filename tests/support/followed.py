"""One who follows a view of a server and keeps a copy, as a client does."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import Any

import httpx


def frozen(row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """A row of JSON that a set can hold, equal where the rows are."""
    return tuple((name, json.dumps(value)) for name, value in sorted(row.items()) if name != "_change_type")


class Followed:
    """A copy of a view, kept by server-sent events; asserts that they follow each other.

    Args:
        url: The server.
        view: The view.
        shape: The shape of the messages.
        token: The token.
    """

    def __init__(self, url: str, view: str, shape: str = "changes", token: str | None = None) -> None:
        self._url = f"{url}/v1/views/{view}/changes?shape={shape}"
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self.rows: Counter[tuple[tuple[str, str], ...]] = Counter()
        self.by_key: dict[tuple[tuple[str, str], ...], Any] = {}
        self.id: str | None = None
        self.version = -1
        self.resets = 0
        self.messages = 0
        self.ended: str | None = None

    def follow(
        self, until: int | None = None, messages: int | None = None, pause: float = 0.0, patience: float = 30.0
    ) -> None:
        """Follow until a version is known, or so many messages have come, or none for a time; begins where it was."""
        try:
            self._follow(until, messages, pause, patience)
        except httpx.ReadTimeout:
            assert patience < 30, "nothing has come"

    def _follow(self, until: int | None, messages: int | None, pause: float, patience: float) -> None:
        headers = self._headers | ({"last-event-id": self.id} if self.id else {})
        read = 0
        with (
            httpx.Client(timeout=patience, verify=False) as client,
            client.stream("GET", self._url, headers=headers) as response,
        ):
            assert response.status_code == 200, response.read()
            if until is not None and self.version >= until:
                return
            event = name = ""
            for line in response.iter_lines():
                if line.startswith("id: "):
                    event = line[4:]
                elif line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    if name == "end":
                        self.ended = json.loads(line[6:])["message"]
                        return
                    self._take(json.loads(line[6:]))
                    self.id = event
                    read += 1
                    time.sleep(pause)
                    if (until is not None and self.version >= until) or read == messages:
                        return

    def _take(self, message: dict[str, Any]) -> None:
        self.messages += 1
        if message["reset"]:
            self.resets += 1
            self.rows.clear()
            self.by_key.clear()
        else:
            assert message["version"] > self.version
        for row in message.get("changes", ()):
            if row["_change_type"] in ("insert", "update_postimage"):
                self.rows[frozen(row)] += 1
            else:
                assert self.rows[frozen(row)] > 0, "a row goes that is not there"
                self.rows[frozen(row)] -= 1
        for row in message.get("gone", ()):
            del self.by_key[frozen(row)]
        for row in message.get("puts", ()):
            self.by_key[frozen({name: row[name] for name in ("k",)})] = frozen(row)
        self.version = message["version"]


def together(*calls: Any) -> None:
    """Run calls in threads; raises what one of them raises."""
    errors: list[BaseException] = []

    def run(call: Any) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
