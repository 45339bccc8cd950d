"""The widget of a live cell. Importing this needs anywidget: ``pip install 'livejoin[notebook]'``.

A thread reads the first rows when a commit has changed the view, at most ten times a second, and less often where
reading takes long. So commits wait for no page, and what a page shows is never older than that. It runs while a page
shows the cell: the page says when it comes and goes. In marimo it is a thread of marimo's, which ends with its cell.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from livejoin.database.live.first_rows import FirstRows
from livejoin.errors import LivejoinError

_HERE = Path(__file__).parent
_PAUSE = 0.1  # seconds between two updates at least
_SHARE = 4  # times as long as reading took


class LiveView(anywidget.AnyWidget):
    """The first rows of a view, kept live; made by `livejoin.View.live`.

    Args:
        first: Reads the rows.

    Attributes:
        shown: The rows that the page shows, and ``state`` (``live``, ``over``), ``said`` (why it is over), and
            ``commits``, how many commits the last update has.
    """

    _esm = _HERE / "live.js"
    _css = _HERE / "live.css"
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self, first: FirstRows) -> None:
        super().__init__(shown={**first.read(), "state": "live", "said": "", "commits": 0})
        first.rest()
        self._first = first
        self._pages = 0
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.on_msg(_heard)
        self._begin()

    def close(self) -> None:
        """End it; the rows that the cell shows stay as they are. Once more changes nothing."""
        self._end()
        super().close()

    def _begin(self) -> None:
        """Follow the view, if nobody does."""
        with self._changing:
            if self._thread is not None and self._thread.is_alive() and not self._stop.is_set():
                return
            self._stop, self._first = threading.Event(), self._first.another()
            arguments = (weakref.ref(self), self._first, self._stop)
            self._thread = _kind_of_thread()(target=_follow, args=arguments, daemon=True)
            self._thread.start()

    def _end(self) -> None:
        with self._changing:
            self._stop.set()
            self._first.wake()

    def _pages_changed(self, by: int) -> None:
        """A page shows the cell now, or shows it no longer."""
        self._pages = max(0, self._pages + by)
        if not self._pages:
            self._end()
        elif by > 0 and self.shown.get("state") == "live":
            self._begin()


def _heard(cell: LiveView, content: Any, _buffers: object) -> None:
    """A message of a page."""
    kind = content.get("page") if isinstance(content, dict) else None
    if kind in ("came", "went"):
        cell._pages_changed(1 if kind == "came" else -1)


def _follow(known: weakref.ref[LiveView], first: FirstRows, stop: threading.Event) -> None:
    """Tell the cell of each version, until it is closed or gone, or the view is."""
    try:
        commits = 1  # what came before it began is read first
        while commits and not stop.is_set():
            began = time.monotonic()
            told = {**first.read(), "state": "live", "said": "", "commits": commits}
            cell = known()
            if cell is None or stop.is_set():
                return
            if told["version"] != cell.shown["version"]:
                cell.shown = told
            del cell
            if not stop.wait(max(_PAUSE, _SHARE * (time.monotonic() - began))):
                commits = first.wait(stop)
        why = "the database was closed"
    except LivejoinError as error:
        why = str(error)
    finally:
        first.rest()
    cell = known()
    if cell is not None and not stop.is_set():
        cell.shown = {**cell.shown, "state": "over", "said": why, "commits": 0}


def _kind_of_thread() -> Any:
    """marimo tells pages of what its own threads say alone."""
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return marimo.Thread
    return threading.Thread
