"""The first rows of a view for a page: what it shows of one version, and whether there is a later one.

Law: what is read is of one version. Law: nothing is missed: who reads, and waits from what it has read, is woken by the
next commit that changes the view. Nothing is kept but the link of the version that was read last.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from livejoin.database.notebook import texts_of
from livejoin.database.transactions.guard import alone

if TYPE_CHECKING:
    from livejoin.database.transactions.guard import Guard
    from livejoin.database.versions.images import Images
    from livejoin.database.versions.links import Link
    from livejoin.database.view import View

_LOOK = 1.0  # seconds after which who waits looks whether the database is still open
_LONGEST_TEXT = 200  # letters of a cell


class FirstRows:
    """Reads the first rows of a view, and waits for the next version; used by one thread at a time.

    Args:
        view: The view.
        rows: How many rows are read at most.
        images: Knows the versions of the view.
        guard: Lets one call of the database run at a time.
    """

    def __init__(self, view: View, rows: int, images: Images, guard: Guard) -> None:
        self._view = view
        self._rows = rows
        self._images = images
        self._guard = guard
        self._link: Link | None = None

    def read(self) -> dict[str, Any]:
        """What a page shows, as JSON: columns, rows as texts (None is NULL), places of the key, version and total.

        ``version`` is that of the database, ``total`` is None where counting would cost more than a look.

        Raises:
            LivejoinError: As for `View.to_arrow`.

        Cost: O(rows); with ORDER BY without LIMIT all rows are sorted.
        """
        table, version, total = self._read()
        names = table.column_names
        key = next((key for key in self._view.keys if key), ())
        cells = [[_short(text) for text in texts_of(column)] for column in table.columns]
        return {
            "name": self._view.name,
            "columns": [{"name": field.name, "right": _is_number(field.type)} for field in table.schema],
            "rows": [list(row) for row in zip(*cells, strict=True)],
            "key": [names.index(name) for name in key],
            "version": version,
            "total": total,
        }

    @alone
    def _read(self) -> tuple[pa.Table, int, int | None]:
        view, images = self._view, self._images
        _ = view._kept
        images.make_told()
        self._link = images.link(view.name.lower())
        first = next(view.batches(self._rows), None)
        table = view.schema.empty_table() if first is None else pa.Table.from_batches([first])
        return table, images.version, view.count() if view.deltas else None

    def wait(self, stop: threading.Event) -> int:
        """Wait for a version that is later than what was read last, or for the end.

        Args:
            stop: Set, with `wake`, by who ends it.

        Returns:
            How many commits have changed the view since then; 0 if it is to stop, or the database is closed.

        Raises:
            StorageError: The log has failed, so that no version comes any more.
        """
        while not stop.is_set() and self._images.is_open():
            link = self._link
            if link is None or link.ended:
                return 1  # reading says why
            event = threading.Event()
            link.waiters.append(event.set)
            try:
                if self._later(link) == 0 and not link.ended and not stop.is_set():
                    event.wait(_LOOK)
            finally:
                with suppress(ValueError):
                    link.waiters.remove(event.set)
            if found := self._later(link):
                return found
        return 0

    def another(self) -> FirstRows:
        """One for another thread."""
        return FirstRows(self._view, self._rows, self._images, self._guard)

    def rest(self) -> None:
        """Hold no version any more, so that commits keep nothing for it."""
        self._link = None

    def wake(self) -> None:
        """Wake who waits."""
        link = self._link
        for waiter in [] if link is None else list(link.waiters):
            waiter()

    def _later(self, link: Link) -> int:
        found = 0
        while link.step is not None and self._images.is_told(link.step.link):
            found, link = found + 1, link.step.link
        return found


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))
