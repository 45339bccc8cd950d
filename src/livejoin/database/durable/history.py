"""The history of a view in a folder: where the newest deltas of the view lie, so that who comes back can go on.

The deltas themselves are in the records of the log, and in a file of the snapshot for those whose segments it took
over. They are read when somebody resumes. Law: the pieces of a history are all that happened to the view since its
`base`, in order. Law: what the log says, applied to a history, makes of it the same in every process.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.durable import deltas
from livejoin.errors import LivejoinError, StorageError
from livejoin.handlers import raised_by_handler
from livejoin.schema import SqlType

if TYPE_CHECKING:
    from livejoin.database.view import View
    from livejoin.dataflow.deltas.view_delta import ViewDelta

_TOLD = struct.Struct("<HIQQ")  # bytes of the name, checksum of the delta, rows, bytes of the delta

VERSION, FIRST, ROWS, SIZE, CHECKSUM = range(5)
"""The lines of `Run.index`."""

INDEX_LINES = 5

Index: TypeAlias = npt.NDArray[np.int64]


class Held(Protocol):
    """A file that can be read for as long as somebody has this object; as `livejoin.state.files.HeldFile`."""

    @property
    def name(self) -> str:
        """The name, for messages."""

    def read(self, at: int, size: int) -> bytearray:
        """Some bytes; in any thread.

        Raises:
            OSError: The system refuses.
            ValueError: The file ends before.
        """


@dataclass(frozen=True, slots=True)
class Told:
    """The delta of a view as a record has it.

    Args:
        view: The view's name in lower case.
        rows: How many rows it has.
        data: The delta; empty where it has more rows than the history keeps.
        checksum: The checksum of the data.
        at: Where the data begin, within the body of a record that was read.
    """

    view: str
    rows: int
    data: bytes | memoryview
    checksum: int
    at: int = 0

    @property
    def head(self) -> bytes:
        """What stands before the data."""
        name = self.view.encode()
        return _TOLD.pack(len(name), self.checksum, self.rows, len(self.data)) + name


@dataclass(frozen=True, slots=True)
class Piece:
    """What a version did to a view.

    Args:
        version: The version.
        first: The version before it; a replay makes several at once.
        rows: How many rows its delta has.
        size: The bytes of the delta; 0 where the delta was too large to be kept.
        checksum: The checksum of these bytes.
        file: The file that has them.
        at: Where in it.
    """

    version: int
    first: int
    rows: int
    size: int
    checksum: int
    file: Held
    at: int

    def read(self) -> bytearray:
        """The bytes of the delta.

        Raises:
            StorageError: The bytes cannot be read, or are not those that were written.
        """
        try:
            data = self.file.read(self.at, self.size)
        except (OSError, ValueError) as error:
            if raised_by_handler(error):
                raise
            raise StorageError(self._lost(str(error))) from error
        if zlib.crc32(data) != self.checksum:
            raise StorageError(self._lost("the bytes are not those that were written"))
        return data

    def _lost(self, why: str) -> str:
        return (
            f"the delta of version {self.version} cannot be read from {self.file.name}: {why}; follow without since=, "
            "which begins with all rows"
        )


@dataclass(frozen=True, eq=False)
class Run:
    """The pieces of a history that a snapshot has, one behind the other in a file.

    Args:
        version: The version of the snapshot: later pieces are in the log.
        index: Of each piece the version, the one before, the rows, the bytes and the checksum.
        file: The file.

    Raises:
        ValueError: The index is none.
    """

    version: int
    index: Index
    file: Held

    def __post_init__(self) -> None:
        index = self.index
        if index.shape[0] != INDEX_LINES or (index[ROWS:] < 0).any() or (index[FIRST] >= index[VERSION]).any():
            msg = "the index of a history is none"
            raise ValueError(msg)
        if (np.diff(index[VERSION]) <= 0).any() or (index.shape[1] and int(index[VERSION, -1]) > self.version):
            msg = "the versions of a history are in no order"
            raise ValueError(msg)
        ends = np.zeros(self.index.shape[1] + 1, np.int64)
        np.cumsum(self.index[SIZE], out=ends[1:])
        rows = np.zeros_like(ends)
        np.cumsum(self.index[ROWS], out=rows[1:])
        object.__setattr__(self, "_ends", ends)
        object.__setattr__(self, "rows", rows)

    _ends: Index = field(init=False, repr=False)
    rows: Index = field(init=False, repr=False)
    """How many rows the pieces before each have, and at the end all."""

    def __len__(self) -> int:
        return int(self.index.shape[1])

    def piece(self, number: int) -> Piece:
        """A piece."""
        version, first, rows, size, checksum = self.index[:, number].tolist()
        return Piece(version, first, rows, size, checksum, self.file, int(self._ends[number]))


class History:
    """Where the newest deltas of a view lie; mutable.

    Args:
        limit: How many rows of deltas are kept at most.
        base: The version from which on all deltas are there.
        run: The oldest pieces, which a snapshot has; None without any.
    """

    def __init__(self, limit: int, base: int, run: Run | None = None) -> None:
        self.limit = limit
        self.base = base
        self._run = run
        self._begin = 0  # the first piece of the run that is kept
        self._recent: deque[tuple[Piece, int]] = deque()  # each with the rows of all up to it
        if run is not None:
            self._begin = int(np.searchsorted(run.index[VERSION], base, side="right"))

    @property
    def rows(self) -> int:
        """How many rows of deltas are kept."""
        run, recent = self._run, self._recent
        rows = recent[-1][1] - recent[0][1] + recent[0][0].rows if recent else 0
        return rows + (0 if run is None else int(run.rows[-1] - run.rows[self._begin]))

    @property
    def version(self) -> int:
        """The last version that changed the view, as far as it is known."""
        if self._recent:
            return self._recent[-1][0].version
        run = self._run
        return self.base if run is None or self._begin == len(run) else int(run.index[VERSION, -1])

    def with_limit(self, limit: int) -> History:
        """The same with another limit; nothing of this one changes."""
        found = History(limit, self.base, self._run)
        found._recent = self._recent.copy()
        found._shorten()
        return found

    def note(self, piece: Piece) -> None:
        """Add a piece; once more changes nothing. Cost: O(1), and O(pieces) that are dropped."""
        if piece.version > self.version:
            before = self._recent[-1][1] if self._recent else 0
            self._recent.append((piece, before + piece.rows))
        self._shorten()

    def restart(self, version: int) -> None:
        """Forget what was before a version; may be cut off and called again."""
        self.base = max(self.base, version)  # before it goes
        while self._recent and self._recent[0][0].version <= version:
            self._recent.popleft()
        if self._run is not None:
            self._begin = int(np.searchsorted(self._run.index[VERSION], version, side="right"))

    def _shorten(self) -> None:
        over = self.rows - self.limit
        if over <= 0:
            return
        run = self._run
        if run is not None and self._begin < len(run):
            kept = int(np.searchsorted(run.rows, run.rows[self._begin] + over))
            self.restart(int(run.index[VERSION, min(kept, len(run)) - 1]))
        while self.rows > self.limit:
            self.restart(self._recent[0][0].version)

    def rebase(self, run: Run) -> None:
        """Take the pieces of a snapshot in the place of those that were in segments of the log.

        Args:
            run: The pieces that the snapshot has. Law: these are all pieces of this history up to the version of the
                snapshot, and maybe older ones.
        """
        while self._recent and self._recent[0][0].version <= run.version:
            self._recent.popleft()
        self._run = run
        self._begin = int(np.searchsorted(run.index[VERSION], self.base, side="right"))

    def since(self, version: int) -> list[Piece] | None:
        """What happened since a version; None if that is not known any more. Cost: O(what it gives).

        The first piece may begin before the version, which is in the middle of a replay then.
        """
        if version < self.base:
            return None
        found = list[Piece]()
        for piece, _ in reversed(self._recent):
            if piece.version <= version:
                break
            found.append(piece)
        found.reverse()
        if self._run is not None and len(found) == len(self._recent):
            begin = max(self._begin, int(np.searchsorted(self._run.index[VERSION], version, side="right")))
            found[:0] = [self._run.piece(number) for number in range(begin, len(self._run))]
        return found

    def __iter__(self) -> Iterator[Piece]:
        return iter(self.since(self.base) or ())


class StoredDelta:
    """A delta of a history, read from the disk each time.

    Args:
        piece: The piece.
        types: The types of the view's columns.
        schema: The schema of the view's deltas.
    """

    def __init__(self, piece: Piece, types: Sequence[SqlType], schema: pa.Schema) -> None:
        self._piece = piece
        self._types = types
        self._schema = schema

    @property
    def num_rows(self) -> int:
        return self._piece.rows

    @property
    def is_in_files(self) -> bool:
        return True

    def table(self) -> pa.Table:
        data = self._piece.read()
        try:
            return deltas.read(data, self._types, self._schema)
        except (ValueError, LookupError, struct.error, LivejoinError) as error:
            raise StorageError(self._piece._lost(str(error))) from error

    def batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        yield from self.table().to_batches(max_chunksize=max_rows)


def told(histories: Mapping[str, History], views: Mapping[str, View], found: Mapping[str, ViewDelta]) -> list[Told]:
    """The deltas that are to be written, of views with a history.

    Args:
        histories: The histories, by the views' names in lower case.
        views: The views.
        found: The deltas of a commit, by the views' names.

    Raises:
        ExpressionError: As for reading them.

    Cost: O(values of these deltas); a delta of more rows than its history keeps is not read.
    """
    written: list[Told] = []
    for name, history in histories.items():
        view = views[name]
        delta = found.get(view.name)
        if delta is not None and delta.num_rows:
            data = b""
            if delta.num_rows <= history.limit:
                with view._naming:
                    table = delta.table()
                    data = deltas.written(table, view.shape.types[: table.num_columns - 2])
            written.append(Told(name, delta.num_rows, data, zlib.crc32(data)))
    return written


def read_told(reader: deltas.Reader) -> list[Told]:
    """The deltas at the end of a record's body.

    Raises:
        ValueError, struct.error: There is something else.
    """
    found = []
    while not reader.is_at_end:
        length, checksum, rows, size = reader.fields(_TOLD)
        name = bytes(reader.raw(length)).decode()
        at = reader.at
        found.append(Told(name, rows, reader.raw(size), checksum, at))
    return found
