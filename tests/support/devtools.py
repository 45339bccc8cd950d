"""A browser without a screen, driven by Chromium's DevTools protocol over its WebSocket."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]


class Page:
    """A page of a browser; mutable.

    Args:
        socket: The connection to the browser.
        session: The session of the page.

    Attributes:
        told: What the page wrote to its console as errors or warnings, and what the browser refused.
    """

    def __init__(self, socket: ClientConnection, session: str) -> None:
        self._socket = socket
        self._session = session
        self._number = 0
        self.told: list[str] = []

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; what it gives."""
        self._number += 1
        told = {"id": self._number, "sessionId": self._session, "method": method, "params": parameters}
        self._socket.send(json.dumps(told))
        while True:
            found = json.loads(self._socket.recv(timeout=30))
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self._note(found)

    def _note(self, event: dict[str, Any]) -> None:
        kind, given = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.told.append(str(given["exceptionDetails"].get("exception", {}).get("description", given)))
        elif kind == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.told.append(given["entry"]["text"] + " " + given["entry"].get("url", ""))
        elif kind == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.told.append(str([one.get("value", one.get("description")) for one in given["args"]]))

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, awaited."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 20.0) -> Any:
        """The value of an expression, once it is true."""
        end = time.monotonic() + seconds
        while True:
            found = self.run(script)
            if found:
                return found
            assert time.monotonic() < end, f"{script} stays {found!r}; the page: {self.text()[:2000]}; {self.told}"
            time.sleep(0.05)

    def text(self) -> str:
        """All that the page shows."""
        return str(self.run("document.body.innerText"))

    def open(self, url: str) -> None:
        """Go to an address, and wait until the page is there."""
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def press(self, key: str, code: str = "", **more: Any) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38}
        more |= {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, **more)

    def type(self, text: str) -> None:
        """Write a text where the focus is."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int, scheme: str = "light", motion: str = "no-preference") -> None:
        """Have a size, a colour scheme, and a wish for motion."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """Write what is seen to a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """A page of a browser of its own, which ends with it.

    Args:
        folder: A folder for what the browser keeps.
    """
    assert BROWSER is not None
    command = [BROWSER, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            found = None
            while found is None:
                line = process.stderr.readline() if process.stderr else ""
                assert line, "the browser did not start"
                found = re.search(r"DevTools listening on (\S+)", line)
            with connect(found[1], max_size=None, compression=None) as socket:
                target = _ask(socket, "Target.createTarget", url="about:blank")["targetId"]
                session = _ask(socket, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
                page = Page(socket, session)
                for domain in ("Page", "Runtime", "Log"):
                    page.call(f"{domain}.enable")
                yield page
        finally:
            process.kill()


def _ask(socket: ClientConnection, method: str, **parameters: Any) -> Any:
    socket.send(json.dumps({"id": 0, "method": method, "params": parameters}))
    while (found := json.loads(socket.recv(timeout=30))).get("id") != 0 or "result" not in found:
        assert "error" not in found, found
    return found["result"]
