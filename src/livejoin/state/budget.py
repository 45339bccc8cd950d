"""How much memory a database may take, and what takes it.

What holds the state registers itself here, and asks before it takes more in large pieces: an arena that doubles, room
for the rows of a table, a dictionary that grows. What a commit takes only until its end, its staging and its deltas, is
counted as it comes. Law: while the budget refuses, what is counted does not pass the limit by more than `SLACK`, and
`SMALL` for each holder; it refuses in commits and while views are made or loaded, not where something is put back as it
was. Small pieces are not refused, so that a database at its limit, or above it, can be made smaller.

Nothing is added up in advance: the sum is taken when somebody asks for more, so that what was let go is gone from it at
once. Cost: O(holders) for each growth and for each `SLACK` bytes of deltas, nothing a row.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, Protocol
from weakref import WeakSet

from livejoin.errors import MemoryLimitError

SLACK = 1 << 20
"""Bytes that pass through a commit between two looks at the sum."""

SMALL = 1 << 16
"""Bytes from which on a holder that grows is refused."""

_LARGER = "or save the database and load it with a larger memory_limit"
COMMIT = f"commit fewer changes at a time, keep fewer rows, drop views, {_LARGER}"
"""What helps who commits."""

DELETE = f"delete fewer rows at a time, drop views, {_LARGER}"
"""What helps who commits deletions alone."""

READ = (
    f"close snapshots, read or change fewer rows at a time (by WHERE, or view.batches()), read fewer columns, {_LARGER}"
)
"""What helps who reads, also the rows that a DELETE or UPDATE finds."""

_SHOWN = 4
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


class Holder(Protocol):
    """What holds memory of a database."""

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""


class Budget:
    """The memory of a database; mutable. May be asked by several threads at a time.

    Args:
        limit: Bytes; None for no limit.
        parts: The parts of the database by name, each with its bytes; asked where something is refused.
        spare: Lets go of what is there to save time alone; called before something is refused.

    Attributes:
        refuses: Whether it refuses now.
    """

    def __init__(
        self,
        limit: int | None = None,
        parts: Callable[[], Sequence[tuple[str, int]]] = tuple,
        spare: Callable[[], object] = lambda: None,
    ) -> None:
        self.limit = limit
        self._spare = spare
        self._parts = parts
        self._holders: WeakSet[Holder] = WeakSet()
        self._lock = threading.Lock()
        self.refuses = False
        self._remedy = COMMIT
        self._passing: dict[str, int] = {}
        self._unseen = 0

    def register(self, holder: Holder) -> None:
        """Count what a holder has allocated for as long as it lives."""
        with self._lock:
            self._holders.add(holder)

    def begin(self, remedy: str = COMMIT) -> None:
        """From now on refuse what would pass the limit.

        Args:
            remedy: Advice for the message: `COMMIT`, `DELETE` or `READ`.
        """
        self._passing, self._unseen, self._remedy = {}, 0, remedy
        self.refuses = self.limit is not None

    def end(self) -> None:
        """Refuse nothing any more, and count no more what passed through; may be called again."""
        self.refuses = False
        if self._passing:
            self._passing = {}

    @property
    def total(self) -> int:
        """Bytes that are counted now; O(holders)."""
        with self._lock:
            return sum(holder.nbytes for holder in self._holders) + sum(self._passing.values())

    def take(self, size: int, what: str) -> None:
        """Ask for memory that a holder is about to allocate.

        Args:
            size: Bytes; where a buffer is copied into a larger one those of the whole larger one, as both are there.
            what: The holder, for the message.

        Raises:
            MemoryLimitError: The limit would be passed.
        """
        if self.refuses and size >= SMALL and not self.has_room(size):
            self._refuse(size, self.total + size, what)

    def hold(self, size: int, what: str) -> None:
        """Count memory that a commit takes until its end.

        Args:
            size: Bytes.
            what: The purpose of the memory, for the message.

        Raises:
            MemoryLimitError: The limit is passed.
        """
        if not self.refuses:
            return
        with self._lock:
            self._passing[what] = self._passing.get(what, 0) + size
            self._unseen += size
            if self._unseen < SLACK:
                return
            self._unseen = 0
        if not self.has_room(0):
            self._refuse(size, self.total, what)

    @contextmanager
    def holding(self, size: int, what: str) -> Iterator[None]:
        """Count memory for the time of a with statement.

        Args:
            size: Bytes.
            what: The purpose of the memory, for the message.

        Raises:
            MemoryLimitError: The limit would be passed.
        """
        self.take(size, what)
        if not self.refuses:
            yield
            return
        with self._lock:
            self._passing[what] = self._passing.get(what, 0) + size
        try:
            yield
        finally:
            with self._lock:
                if what in self._passing:  # else all that passed has been forgotten
                    self._passing[what] -= size

    def release(self, size: int, what: str) -> None:
        """Count no more what `hold` has counted, because the commit has let go of it.

        Args:
            size: Bytes.
            what: The purpose of the memory, as for `hold`.
        """
        if self.refuses:
            with self._lock:
                self._passing[what] = self._passing.get(what, 0) - size

    def check(self, what: str) -> None:
        """Check whether the memory that is taken exceeds the limit.

        Args:
            what: The purpose of the memory, for the message.

        Raises:
            MemoryLimitError: The memory exceeds the limit.
        """
        if self.refuses and not self.has_room(0):
            self._refuse(0, self.total, what)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more would not pass the limit; what nobody needs goes before that is denied."""
        if self.limit is None or self.total + size <= self.limit:
            return True
        self._spare()
        gc.collect()  # the blocks of views know each other
        return self.total + size <= self.limit

    def refuse_read(self, size: int, what: str) -> NoReturn:
        """Refuse memory for rows that are read, for which there is no room.

        Args:
            size: Bytes.
            what: The rows, for the message.

        Raises:
            MemoryLimitError: The message says what takes the memory, and what helps who reads.
        """
        self._refuse(size, self.total + size, what, READ)

    def _refuse(self, size: int, total: int, what: str, remedy: str | None = None) -> NoReturn:
        named = [*self._parts(), *self._passing.items()]
        rest = self.total - sum(bytes_ for _, bytes_ in named)
        if rest > 0:
            named.append(("what is being loaded", rest))
        largest = sorted((part for part in named if part[1]), key=lambda part: -part[1])[:_SHOWN]
        listed = ", ".join(f"{name} with {shown_bytes(bytes_)}" for name, bytes_ in largest)
        msg = (
            f"memory_limit is {shown_bytes(self.limit or 0)}, and with {shown_bytes(size)} for {what} the database "
            f"would take {shown_bytes(total)}; largest are {listed or 'none'}; {remedy or self._remedy}"
        )
        raise MemoryLimitError(msg)


def shown_bytes(size: int) -> str:
    """A number of bytes for people.

    >>> shown_bytes(999), shown_bytes(1500), shown_bytes(4 * 10**9)
    ('999 bytes', '1.5 KB', '4 GB')
    """
    scaled, unit = float(size), 0
    while scaled >= 1000 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.4g} {_UNITS[unit]}"
