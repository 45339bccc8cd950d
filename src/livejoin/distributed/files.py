"""The files that steps of a batch leave for others: logs of cells, and deltas; those count that a manifest lists.

The part of a delta that a cell leaves is as Arrow, or, where it is large and goes to Parquet files, what such a file
has: then the driver hands it on as it is. Its name says how many rows it has, and the checksum of its bytes; that of
others how many bytes they have.

A file is written under a name that no other attempt has, begins with the number of its batch, and is one object where
the folder is one of a store. So an attempt that comes late, or twice, writes what nobody reads.
"""

from __future__ import annotations

import re
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.checkpoint import parquet
from livejoin.checkpoint.batch import LoggedBatch, decoded, encoded, length_of
from livejoin.checkpoint.batch_delta import TIMESTAMP, timed
from livejoin.database import Database
from livejoin.database.snapshots import packed, snapshot
from livejoin.database.snapshots.tables import Limits, database_of, image_of_tables, load_tables
from livejoin.distributed.task import Task
from livejoin.errors import StateError, StorageError
from livejoin.schema import COMMIT_VERSION
from livejoin.state.store_folder import Place, at

LARGE = 1 << 22
"""Bytes in memory of a part of a delta from which on it is written as Parquet by its cell: smaller ones take the driver
some milliseconds, and are one file of the output together."""
_PARQUET = re.compile(r".*\.(?P<rows>\d+)\.(?P<crc>[0-9a-f]{8})\.parquet")
_DELTA = re.compile(r".*\.(?P<bytes>\d+)\.delta")


def write_part(task: Task, stage: int, cell: int, view: str, delta: pa.Table) -> str:
    """As `write_delta`, in the form that a part of this size is wanted in."""
    schema = task.parquet.get(view)
    if schema is None or delta.nbytes < LARGE:
        return write_delta(task, stage, cell, view, delta)
    versions = pa.repeat(pa.scalar(task.batch_id, pa.int64()), delta.num_rows)
    whole = timed(delta.append_column(COMMIT_VERSION, versions), task.time)
    sink = pa.BufferOutputStream()
    parquet.write(pa.Table.from_arrays(whole.columns, names=schema.names).cast(schema), sink)
    data = sink.getvalue()
    name = f"{task.batch_id:08d}-{stage}-{cell}-{uuid.uuid4().hex}.{delta.num_rows}.{zlib.crc32(data):08x}.parquet"
    write_file(task.folder, name, data)
    return name


def write_delta(task: Task, stage: int, cell: int, view: str, delta: pa.Table) -> str:
    """Write a part of a view's delta, or of its result; the file that has it.

    Raises:
        StorageError: The disk refuses.
    """
    written = encoded(LoggedBatch(task.batch_id, task.epoch, task.plan, task.batch_id, None, changes={view: delta}))
    file = f"{task.batch_id:08d}-{stage}-{cell}-{uuid.uuid4().hex}.{len(written)}.delta"
    write_file(task.folder, file, written)
    return file


def delta_of(folder: Place, file: str) -> pa.Table:
    """The delta in a file, of whichever form.

    Raises:
        StateError: The file is missing or damaged.
        StorageError: The disk refuses.
    """
    if not is_parquet(file):
        (batch,) = batches_of(folder, file)
        (found,) = batch.changes.values()
        return found
    return pq.read_table(pa.BufferReader(parquet_of(folder, file))).drop_columns([COMMIT_VERSION, TIMESTAMP])


def is_parquet(file: str) -> bool:
    """Whether a delta is there as Parquet."""
    return _PARQUET.fullmatch(file) is not None


def parquet_of(folder: Place, file: str) -> bytes:
    """The bytes of a delta that is there as Parquet; errors as `delta_of`."""
    data = bytes_of(folder, file)
    named = _PARQUET.fullmatch(file)
    if named is None or zlib.crc32(data) != int(named["crc"], 16):
        raise damaged(folder / file, ValueError("its checksum is wrong"))
    return data


def delta_bytes(file: str) -> int | None:
    """The bytes of a delta that is not there as Parquet; None if an earlier version of livejoin has written it."""
    named = _DELTA.fullmatch(file)
    return None if named is None else int(named["bytes"])


def rows_of(folder: Place, file: str) -> int:
    """The rows of a delta; errors as `delta_of`. Cost: O(1) if it is there as Parquet, else that of reading it."""
    named = _PARQUET.fullmatch(file)
    return delta_of(folder, file).num_rows if named is None else int(named["rows"])


def write_tables(folder: Place, name: str, database: Database) -> None:
    """Write a snapshot of a cell's tables: a folder, or one object.

    Raises:
        StorageError: The disk refuses.
    """
    image = image_of_tables(database, {})
    if isinstance(folder, Path):
        snapshot.write(folder / name, image)
    else:
        _write(folder, name, packed.pieces_of(image))


def read_tables(folder: Place, name: str, limits: Limits) -> Database:
    """The tables of a snapshot that `write_tables` has written.

    Raises:
        StateError: The snapshot is missing or damaged.
        StorageError: The disk refuses.
        MemoryLimitError: The tables take more than the limit.
    """
    if isinstance(folder, Path):
        return load_tables(folder / name, limits)
    return database_of(packed.image_of(str(folder / name), bytes_of(folder, name)), limits)


def write_file(folder: Place, name: str, data: bytes | memoryview | pa.Buffer) -> int:
    """Write a file, which nobody else writes; its bytes.

    Raises:
        StorageError: The disk refuses.
    """
    view = memoryview(data)
    _write(folder, name, (view,))
    return view.nbytes


def _write(folder: Place, name: str, pieces: Sequence[bytes | memoryview]) -> None:
    """Write a file of pieces; errors as `write_file`."""
    try:
        with at(folder) as opened:
            opened.write_pieces(name, pieces)
    except OSError as error:
        msg = f"{folder / name} could not be written: {error}"
        raise StorageError(msg) from error


def bytes_of(folder: Place, name: str, size: int | None = None) -> bytes:
    """The content of a file, whose size is known if a manifest says it: one cut behind a batch is whole batches too.

    Raises:
        StateError: The file is missing, or has another size.
        StorageError: The disk refuses.
    """
    try:
        with at(folder) as opened:
            return bytes(opened.read(name, exactly=size))
    except FileNotFoundError as error:
        msg = f"{folder / name} is missing, which the newest manifest lists: restore it from a backup, or start over"
        raise StateError(msg) from error
    except ValueError as error:
        raise damaged(folder / name, error) from error
    except OSError as error:
        msg = f"{folder / name} could not be read: {error}"
        raise StorageError(msg) from error


def batches_of(folder: Place, name: str, size: int | None = None) -> list[LoggedBatch]:
    """The batches in a file, one behind the other, and one at least; errors as `bytes_of`, or it is damaged."""
    data = memoryview(bytes_of(folder, name, size))
    found = list[LoggedBatch]()
    try:
        while data or not found:
            length = length_of(data)
            found.append(decoded(bytes(data[:length])))
            data = data[length:]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(folder / name, error) from error
    return found


def damaged(file: Place, error: Exception) -> StateError:
    """The error for a file that is not what was written."""
    return StateError(f"{file} is damaged: {error}; restore it from a backup, or start over with an empty checkpoint")
