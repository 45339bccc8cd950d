"""The log: what stands is appended in the order of versions, and one sync makes durable all that was appended.

A record is written before what it says stands in memory, so that a disk that is full refuses a commit and nothing else.
Until it is known whether it stands, it is *pending*: a call that is cut off, by Ctrl-C at the worst moment, leaves it
so, and `settle` keeps it, or cuts it off the file, by whether memory has what it says. All of that happens under the
lock of the database.

To be durable is waited for without that lock. Whoever comes first syncs all that is written by then; who waited
meanwhile finds it done, and learns it at once: it waits for the end of that sync, and not for its turn to ask, which
the next sync would take. A sync that failed is never tried again, as the system may have dropped what it could not
write: from then on the database refuses every call, and opening the folder again finds what the disk has.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from livejoin.database.durable import bodies
from livejoin.database.durable.frames import FRAME_BYTES, framed
from livejoin.database.durable.history import Held, Piece, Run, Told
from livejoin.database.transactions.staging import Granularity, OnConflict, TableInput
from livejoin.errors import StateError, StorageError
from livejoin.handlers import raised_by_handler
from livejoin.state.codec import Codec

Sync = Literal["commit", "batch", "off"]
"""When what is written is synchronised with the disk: before a call returns, every so often, or at the end."""

Placed: TypeAlias = Sequence[tuple[str, Piece]]
"""Where the deltas of a record lie, each with the name of its view in lower case."""

SEGMENT_BYTES = 64 << 20
SEGMENT_RECORDS = 20_000
_OFF_BYTES = 8 << 20
"""With ``off``: so many bytes are synchronised beside the commits, as a commit that begins a segment waits for all."""
_NAME_DIGITS = 12
_PATIENCE = 0.05  # seconds after which one who waits looks itself: a sync that was cut off wakes nobody


class Grown(Protocol):
    """A segment that is written; as `livejoin.state.files.GrownFile`. Every method raises OSError if it cannot."""

    def write(self, data: bytes | bytearray, at: int) -> None:
        """Write bytes at a place."""

    def cut(self, size: int) -> None:
        """Let it end at a place."""

    def sync(self, upto: int | None = None) -> None:
        """Make durable what was written, up to a place at least; none behind it need be."""

    def is_deleted(self) -> bool:
        """Whether what is written to it goes when it is closed."""

    def close(self) -> None:
        """Close it."""


class Segments(Protocol):
    """Where the segments of a log are; as `livejoin.state.files.Folder`. Every method raises OSError if it cannot."""

    @property
    def tears(self) -> bool:
        """Whether a crash may leave a part of what was written at last."""

    def names(self) -> list[str]:
        """The names of the segments, and of what else is there."""

    def read(self, name: str) -> bytearray:
        """The content of a segment.

        Raises:
            ValueError: The segment is not what was written, or none.
        """

    def begun(self, name: str) -> Grown:
        """A new segment, in the place of one that a failure left unfinished."""

    def grown(self, name: str) -> Grown:
        """The last segment, to be gone on with."""

    def held(self, name: str) -> Held:
        """A segment, to be read of."""

    def sync(self) -> None:
        """Make durable what was made and removed."""

    def close(self) -> None:
        """Close it."""


class TakenOverError(OSError):
    """Another process has opened the database since."""


@dataclass(frozen=True)
class Pace:
    """How soon what is written is durable.

    Args:
        sync: When it is synchronised.
        seconds: With ``batch``: how long it waits at most.
        bytes: With ``batch``: how many bytes wait at most.
    """

    sync: Sync = "commit"
    seconds: float = 0.1
    bytes: int = 1 << 20


@dataclass(frozen=True, eq=False)
class _Pending:
    """A record of which it is not known yet whether it stands."""

    end: int
    stands: Callable[[], bool]


@dataclass
class Segment:
    """A segment that is being written; mutable.

    Args:
        file: The open file.
        number: The number of the segment.
        end: Where its last record ends.
        before: The value of `Log.written` where the segment begins.
        records: The number of records, about.
    """

    file: Grown
    number: int
    end: int
    before: int = 0
    records: int = 0


@dataclass
class Account:
    """What a log has said so far; mutable.

    Args:
        identity: Which log it is.
        numbers: The number of each table that was declared, by its name in lower case.
        next_number: The number of the next table.
        records: Records behind the last snapshot.
        bytes: The bytes of the complete segments behind the last snapshot.
        epoch: Another one since versions were cut off whose numbers are used again; empty if none were.
    """

    identity: str
    numbers: dict[str, int]
    next_number: int = 0
    records: int = 0
    bytes: int = 0
    epoch: str = ""


def segment_name(number: int) -> str:
    """The name of a segment's file."""
    return f"{number:0{_NAME_DIGITS}d}.log"


def number_of(name: str) -> int | None:
    """The number of the segment that a file is; None if it is none."""
    stem, dot, suffix = name.partition(".")
    return int(stem) if len(stem) == _NAME_DIGITS and stem.isdigit() and (dot, suffix) == (".", "log") else None


def start_segment(folder: Segments, identity: str, number: int) -> Segment:
    """A new segment, in the place of one that a failure left unfinished.

    Raises:
        OSError: The system refuses.
    """
    name = segment_name(number)
    file = folder.begun(name)
    try:
        first = framed(bodies.SEGMENT, 0, 0, bodies.plain({"log": identity, "segment": number}))
        file.write(first, 0)
        file.sync()
        folder.sync()
    except BaseException:
        file.close()
        raise
    return Segment(file, number, len(first))


class Log:
    """The log of an open database; mutable.

    Args:
        path: The folder of the database, for messages.
        folder: The folder of the segments, which the log closes.
        segment: The last segment, which it closes, and of which all is durable.
        account: The tables and records that the log has so far.
        pace: How soon what is written is durable.

    Attributes:
        segment_bytes: The size from which on another segment begins.
        segment_records: The number of records from which on one does.
        on_segment: Called without the lock of the database when a segment is complete and another one has begun.
        on_close: Called when the log is closed.
        folded: The histories of a snapshot that has taken over segments, until they are taken from here.
    """

    def __init__(
        self,
        path: Path | str,
        folder: Segments,
        segment: Segment,
        account: Account,
        pace: Pace,
    ) -> None:
        self.path = path
        self.account = account
        self.pace = pace
        self.on_segment: Callable[[], object] = lambda: None
        self.on_close: Callable[[], object] = lambda: None
        self.folded: Mapping[str, Run] | None = None
        self.segment_bytes = SEGMENT_BYTES
        self.segment_records = SEGMENT_RECORDS
        self._folder = folder
        self._segment = segment
        self._synced = segment.end
        self._syncing = threading.Lock()
        self._under_way = threading.Event()  # the last sync that began; set where it has ended
        self._under_way.set()
        self._pending: _Pending | None = None
        self._fresh: int | None = None  # where what the call under way appended ends
        self._waiting: dict[int, int] = {}  # by thread: what a call of it is not told to be durable yet
        self._layouts: dict[str, bodies.Layout] = {}
        self._readable: tuple[int, Held] | None = None
        self._process = os.getpid()
        self.has_told = False  # whether a call was refused because the log cannot go on
        self._failure: str | None = None
        self._failed_by: OSError | None = None
        self._flusher: _Flusher | None = None
        self._flush_bytes = pace.bytes if pace.sync == "batch" else _OFF_BYTES
        if pace.sync != "commit":
            self._flusher = _Flusher(self, pace.seconds if pace.sync == "batch" else None)

    # What may be asked at any time.

    @property
    def written(self) -> int:
        """Where the log ends, in bytes since it was opened."""
        segment = self._segment
        return segment.before + segment.end

    @property
    def segment(self) -> int:
        """The number of the segment that is being written."""
        return self._segment.number

    @property
    def segment_end(self) -> int:
        """The bytes of the segment that is being written."""
        return self._segment.end

    @property
    def told(self) -> int:
        """Up to where subscribers may hear of what stands: what is durable, or where nobody waits for it all."""
        return self._synced if self.pace.sync == "commit" else self.written

    @property
    def is_closed(self) -> bool:
        """Whether the log takes nothing any more."""
        return self._is_closed

    @property
    def has_failed(self) -> bool:
        """Whether the disk refused to make it durable."""
        return self._failed_by is not None

    def refuse(self) -> None:
        """Refuse a call where the log cannot go on.

        Raises:
            StorageError: The disk has failed.
            StateError: The log was closed, or is another process's, from which this one was forked.
        """
        if self._failure is not None:
            if self._flusher is None or threading.current_thread() is not self._flusher.thread:
                self.has_told = True
            if self._failed_by is None or isinstance(self._failed_by, TakenOverError):
                raise StateError(self._failure) from self._failed_by
            raise StorageError(self._failure) from self._failed_by
        if os.getpid() != self._process:
            msg = (
                f"the database in {str(self.path)!r} was opened by the process that this one was forked from, which "
                "goes on writing to it; open databases behind the fork"
            )
            raise StateError(msg)

    # Under the lock of the database.

    def commit(
        self,
        inputs: Sequence[TableInput],
        codec: Codec,
        versions: tuple[int, int],
        manner: tuple[Granularity, OnConflict],
        notes: Mapping[str, Any],
        stands: Callable[[], bool],
        told: Sequence[Told] = (),
    ) -> Placed:
        """Append a commit; as `livejoin.database.durable.bodies.commit_body`, and raises as `append`.

        Args:
            stands: Whether it stands, which is known when `settle` asks.
            told: The deltas of views with a history.

        Returns:
            Where these lie.
        """
        body = bodies.commit_body(inputs, self._layout, codec, versions, manner, notes)
        first, count = versions
        if told:
            return self.append_told(bodies.COMMIT, (first, count), body, told, stands)
        self.append(bodies.COMMIT, first + count - 1, body, stands)
        return ()

    def append_told(
        self,
        kind: int,
        versions: tuple[int, int],
        body: Sequence[bytes | memoryview],
        told: Sequence[Told],
        stands: Callable[[], bool],
    ) -> Placed:
        """As `append`, of a record with deltas behind its body.

        Args:
            kind: The kind.
            versions: The first of its versions, and how many it is.
            body: The content of the record before the deltas.
            told: The deltas of views with a history.
            stands: As for `append`.

        Returns:
            Where these lie.
        """
        first, count = versions
        version = first + count - 1
        self.append(kind, version, [*body, *chain.from_iterable((one.head, one.data) for one in told)], stands)
        at = self._segment.end + FRAME_BYTES + sum(len(piece) for piece in body)
        file, found = self._held(), []
        for one in told:
            at += len(one.head)
            size = len(one.data)
            found.append((one.view, Piece(version, first - 1, one.rows, size, one.checksum, file, at)))
            at += size
        return found

    def _held(self) -> Held:
        """The segment that is being written, to be read."""
        number = self._segment.number
        if self._readable is None or self._readable[0] != number:
            try:
                self._readable = number, self._folder.held(segment_name(number))
            except OSError as error:
                if raised_by_handler(error):
                    raise
                msg = f"the log of the database in {str(self.path)!r} could not be read: {error}; nothing was changed"
                raise StorageError(msg) from error
        return self._readable[1]

    def _layout(self, given: TableInput) -> bodies.Layout:
        """How the rows of a table are written."""
        name, kept = given.table.name, given.base.kept
        found = self._layouts.get(name)
        if found is None or found.table is not given.table or found.all_kept != kept:
            found = self._layouts[name] = bodies.Layout.of(given.table, self.number(name), kept)
        return found

    def number(self, table: str) -> int:
        """The number of a table."""
        return self.account.numbers[table.lower()]

    def declare(self, table: str) -> int:
        """The number of a table that is about to be declared."""
        number = self.account.next_number
        self.account.next_number += 1
        self.account.numbers[table.lower()] = number
        return number

    def append(self, kind: int, version: int, body: Sequence[bytes | memoryview], stands: Callable[[], bool]) -> None:
        """Write a record at the end; it is pending.

        Args:
            kind: The kind, as `livejoin.database.durable.bodies` names it.
            version: The version of the database behind the record.
            body: The content of the record.
            stands: Whether what it says stands, which is known when `settle` asks.

        Raises:
            StorageError: The system refused; when the log is settled, the file is as it was.
        """
        assert self._pending is None
        try:
            if self._segment.end >= self.segment_bytes or self._segment.records >= self.segment_records:
                self._begin_segment()
            segment = self._segment
            if segment.file.is_deleted():
                raise StorageError(self._deleted("nothing was changed"))
            data = framed(kind, version, max(0, self._synced - segment.before), body)
            self._pending = _Pending(segment.end + len(data), stands)
            segment.file.write(data, segment.end)
        except OSError as error:
            if raised_by_handler(error):
                raise
            if not self._folder.tears:  # of a store it is not known whether the segment has begun
                self._fail(error)
                self.refuse()
            msg = (
                f"the log of the database in {str(self.path)!r} could not be written: {error}; nothing was changed. "
                "Make room there or repair it, and try again"
            )
            raise StorageError(msg) from error

    def settle(self) -> None:
        """Keep the record that is pending if what it says stands, else cut it off; may be cut off and called again."""
        pending = self._pending
        if pending is None:
            return
        if pending.stands():
            self._fresh = self._segment.before + pending.end
            if self._segment.end != pending.end:
                self.account.records += 1
                self._segment.records += 1
                self._segment.end = pending.end
            if self._flusher is not None and self.written - self._synced >= self._flush_bytes:
                self._flusher.wake()
        else:
            try:
                self._segment.file.cut(self._segment.end)
            except OSError as error:
                if raised_by_handler(error):
                    raise
                self._fail(error)
        self._pending = None

    def due(self) -> int | None:
        """What the call that ends now has to wait for, or an earlier one of its thread that was cut off; or None."""
        thread = threading.get_ident()
        if self._fresh is None:
            return self._waiting.get(thread) if self._waiting else None
        self._waiting[thread] = found = self._fresh
        self._fresh = None
        return found

    # Without it.

    def wait(self, due: int) -> None:
        """Return when what was written up to a place is as durable as was asked for.

        Raises:
            StorageError: The system refused to synchronise it, now or earlier.
        """
        if self.pace.sync == "commit":
            self.sync(due)
        self._waiting.pop(threading.get_ident(), None)
        if self._has_new_segment:
            self._has_new_segment = False
            threading.Thread(target=self.on_segment, name="livejoin-snapshot", daemon=True).start()

    def sync(self, upto: int | None = None) -> None:
        """Make durable what was written up to a place, or all of it, with what others have written by now.

        Raises:
            StorageError: The system refused, now or earlier.
        """
        while upto is not None and self._synced < upto:
            under_way = self._under_way
            if under_way.is_set() or not self._syncing.locked():
                break
            under_way.wait(_PATIENCE)
        if upto is not None and self._synced >= upto:
            return
        with self._syncing:
            goal = self.written
            if self._synced >= (goal if upto is None else upto):
                return
            self.refuse()
            ended = self._under_way = threading.Event()
            try:
                self._segment.file.sync(goal - self._segment.before)
                is_deleted = self._segment.file.is_deleted()
                self._synced = goal
            except OSError as error:
                if raised_by_handler(error):
                    raise
                self._fail(error)
                self.refuse()
            finally:
                ended.set()
        if is_deleted:
            raise StorageError(self._deleted("what was committed stands in memory alone"))

    def _deleted(self, what: str) -> str:
        return (
            f"the log of the database in {str(self.path)!r} was deleted while it was open, so that nothing can be made "
            f"durable: {what}. Save what is in memory elsewhere, by db.save(folder), before you close it"
        )

    def close(self) -> None:
        """Make all durable, and close the files; once more changes nothing.

        Raises:
            StorageError: The system refused; the files are closed all the same.
        """
        if self._process != os.getpid() or self._is_closed:
            return
        if self._flusher is not None:
            self._flusher.stop()
        try:
            if self._failure is None:
                self.sync()
                if self._segment.file.is_deleted():
                    msg = (
                        f"the log of the database in {str(self.path)!r} was deleted while it was open: the database is "
                        "closed, and what it had is in no file"
                    )
                    raise StorageError(msg)
        finally:
            with self._syncing, ExitStack() as closing:  # each of them, also where one is cut off
                closing.callback(self.on_close)
                closing.callback(self._folder.close)
                closing.callback(self._segment.file.close)
                self._is_closed = True
                if self._failure is None:
                    self._failure = f"the database in {str(self.path)!r} is closed; livejoin.open opens it again"

    _is_closed = False
    _has_new_segment = False

    def _begin_segment(self) -> None:
        """Complete the last segment, and begin another one.

        Raises:
            OSError: The system refuses.
        """
        self.sync()
        before = self._segment
        segment = start_segment(self._folder, self.account.identity, before.number + 1)
        segment.before = before.before + before.end - segment.end  # its own first record counts for nothing
        with self._syncing:
            self._segment = segment
        self.account.bytes += before.end
        self._has_new_segment = True
        before.file.close()

    def _fail(self, error: OSError) -> None:
        self._failed_by = error
        if isinstance(error, TakenOverError):
            self._failure = (
                f"another process has opened the database in {str(self.path)!r} since, and this one has it no more: "
                "what was told to be durable is there, and the commit of this call is not. Close it, and open it "
                "again when the other one has closed it"
            )
            return
        there, place = ("on the disk", "folder") if self._folder.tears else ("in the store", "database")
        self._failure = (
            f"the log of the database in {str(self.path)!r} could not be made durable: {error}; the database refuses "
            f"every call from now on. What was told to be durable is {there}: repair it, and open the {place} again"
        )


class _Flusher:
    """A thread that synchronises what is written when it is woken, and every so often if that is said; mutable."""

    def __init__(self, log: Log, seconds: float | None) -> None:
        self._log = log
        self._seconds = seconds
        self._wake = threading.Event()
        self._ends = False
        self.thread = threading.Thread(target=self._run, name="livejoin-sync", daemon=True)
        self.thread.start()

    def wake(self) -> None:
        """Let it synchronise now."""
        self._wake.set()

    def stop(self) -> None:
        """Let it end."""
        self._ends = True
        self._wake.set()

    def _run(self) -> None:
        while not self._ends:
            self._wake.wait(self._seconds)
            self._wake.clear()
            try:
                self._log.sync()
            except (StorageError, StateError):  # the next call says so
                return
