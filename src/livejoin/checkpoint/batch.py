"""A batch on disk: the changes of some tables that become one commit, with everything needed to apply them again.

The bytes are a mark, the length of the header, the header as JSON, the changes of each table as a stream of Arrow's IPC
format compressed by LZ4, and the checksum of all that.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, get_args

import pyarrow as pa

from livejoin.database.snapshots.declaration import number, value
from livejoin.database.transactions.staging import OnConflict

FORMAT = 1
REASON = "_reason"
_MARK = b"livejoin"
_SIZES = struct.Struct("<I")
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Ends: TypeAlias = Mapping[str, Sequence[str]]
"""How far the sources of each table are read, in the order of these, as their own texts say it."""


@dataclass(frozen=True)
class Arrival:
    """The changes that arrive as one batch.

    Args:
        changes: The changes by table.
        time: The time of the batch, in UTC.
    """

    changes: Mapping[str, pa.Table]
    time: datetime | None

    @property
    def rows(self) -> int:
        """Number of changes in all tables."""
        return sum(rows.num_rows for rows in self.changes.values())


@dataclass(frozen=True, eq=False)
class LoggedBatch:
    """A batch as the log stores it.

    Args:
        batch_id: The number of the batch.
        epoch: The number of the process that brought the batch; see `livejoin.checkpoint.log.Log`.
        job: The fingerprint of the declarations that the batch was taken for.
        version: The database's version before the batch.
        time: The time of the batch in deltas, in UTC; None if the batch has no rows.
        on_conflict: How conflicts of its changes are treated.
        changes: The changes by table.
        letters: Changes that could not be applied, by table, with the reason of each in the column ``_reason``.
        skipped: How many other changes were left out.
        ends: How far the sources are read with this batch; None where nobody said it.
    """

    batch_id: int
    epoch: int
    job: str
    version: int
    time: datetime | None
    on_conflict: OnConflict = "error"
    changes: Mapping[str, pa.Table] = field(default_factory=dict)
    letters: Mapping[str, pa.Table] = field(default_factory=dict)
    skipped: int = 0
    ends: Ends | None = None

    @property
    def rows(self) -> int:
        """Number of changes in all tables."""
        return sum(rows.num_rows for rows in self.changes.values())


def encoded(batch: LoggedBatch) -> bytes:
    """The bytes of a batch. Cost: linear in its changes."""
    return b"".join(pieces_of(batch))


def pieces_of(batch: LoggedBatch) -> list[bytes | memoryview]:
    """The bytes of a batch in pieces, one behind the other, which takes the memory of the batch once."""
    parts = [("tables", *one) for one in batch.changes.items()] + [("letters", *one) for one in batch.letters.items()]
    bodies = [_stream(rows) for _, _, rows in parts]
    header = {
        "format": FORMAT,
        "batch": batch.batch_id,
        "epoch": batch.epoch,
        "job": batch.job,
        "version": batch.version,
        "time": None if batch.time is None else (batch.time - _EPOCH) // _MICROSECOND,
        "on_conflict": batch.on_conflict,
        "skipped": batch.skipped,
        **({} if batch.ends is None else {"ends": {name: list(lines) for name, lines in batch.ends.items()}}),
        "parts": [
            {"kind": kind, "name": name, "bytes": body.size}
            for (kind, name, _), body in zip(parts, bodies, strict=True)
        ],
    }
    text = json.dumps(header).encode()
    pieces: list[bytes | memoryview] = [_MARK + _SIZES.pack(len(text)) + text]
    pieces += [memoryview(body) for body in bodies]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return [*pieces, _SIZES.pack(checksum)]


def length_of(data: memoryview) -> int:
    """The length in bytes of the batch that the data begins with.

    Raises:
        ValueError, KeyError, TypeError: The data does not begin as a batch does.
    """
    begin = len(_MARK) + _SIZES.size
    if len(data) < begin + _SIZES.size or data[: len(_MARK)] != _MARK:
        msg = f"its {len(data):,} bytes do not begin as a batch does"
        raise ValueError(msg)
    (length,) = _SIZES.unpack(data[len(_MARK) : begin])
    header = json.loads(bytes(data[begin : begin + length]))
    return int(begin + length + sum(number(part, "bytes") for part in value(header, "parts", list)) + _SIZES.size)


def decoded(data: bytes | bytearray) -> LoggedBatch:
    """Read a batch from its bytes; everything is checked.

    Raises:
        ValueError, KeyError, TypeError: The bytes are damaged; the message says how.
    """
    view = memoryview(data)
    least = len(_MARK) + 2 * _SIZES.size
    if len(data) < least or view[: len(_MARK)] != _MARK:
        msg = f"its {len(data):,} bytes do not begin as a batch does"
        raise ValueError(msg)
    if zlib.crc32(view[: -_SIZES.size]) != _SIZES.unpack(view[-_SIZES.size :])[0]:
        msg = f"the checksum of its {len(data):,} bytes is not the one that was written"
        raise ValueError(msg)
    (length,) = _SIZES.unpack(view[len(_MARK) : len(_MARK) + _SIZES.size])
    begin = len(_MARK) + _SIZES.size
    header = json.loads(bytes(view[begin : begin + length]))
    if value(header, "format", int) != FORMAT:
        msg = f"it has the format {header['format']}, and this version of livejoin reads {FORMAT}"
        raise ValueError(msg)
    begin += length
    parts: dict[str, dict[str, pa.Table]] = {"tables": {}, "letters": {}}
    for entry in value(header, "parts", list):
        end = begin + number(entry, "bytes")
        parts[value(entry, "kind", str)][value(entry, "name", str)] = _table(view[begin:end])
        begin = end
    return LoggedBatch(
        number(header, "batch"),
        number(header, "epoch"),
        value(header, "job", str),
        number(header, "version"),
        _time(header),
        _on_conflict(header),
        parts["tables"],
        parts["letters"],
        number(header, "skipped"),
        ends_of(header),
    )


def ends_of(plain: Mapping[str, Any]) -> Ends | None:
    """How far the sources are read, as a batch or a snapshot says it; None if it does not.

    Raises:
        ValueError, KeyError, TypeError: The text says something else.
    """
    if plain.get("ends") is None:
        return None
    return {str(name): tuple(map(str, lines)) for name, lines in value(plain, "ends", dict).items()}


def _stream(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def _table(view: memoryview) -> pa.Table:
    try:
        with pa.ipc.open_stream(pa.py_buffer(view)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        msg = f"its changes are not in Arrow's format: {error}"
        raise ValueError(msg) from error
    return table


def _time(header: Mapping[str, Any]) -> datetime | None:
    if header["time"] is None:
        return None
    return _EPOCH + value(header, "time", int) * _MICROSECOND


def _on_conflict(header: Mapping[str, Any]) -> OnConflict:
    written = header["on_conflict"]
    for known in get_args(OnConflict):
        if written == known:
            found: OnConflict = known
            return found
    msg = f"on_conflict is {written!r:.80}"
    raise ValueError(msg)
