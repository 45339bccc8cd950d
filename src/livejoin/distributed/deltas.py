"""The delta of a view in a batch of all cells, put together from the files that a manifest lists."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.batch_delta import BatchDelta, timed, with_time
from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.checkpoint.instants import with_instants
from livejoin.database import Database
from livejoin.database.difference import difference, types_of
from livejoin.database.snapshots.declaration import plain_table, read_table
from livejoin.distributed.files import delta_bytes, delta_of, is_parquet, parquet_of, rows_of
from livejoin.distributed.manifest import Manifest
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.plan.stages import Staged
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Column, SqlType, Table
from livejoin.state.store_folder import Place, at

GONE = pa.array(["delete", "update_preimage"])
"""Kinds of changes that take a row away."""
LARGE = 1 << 24
"""Bytes of files from which on a delta is read one file at a time, where it can be."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FILE = "{}.views"


@dataclass(frozen=True)
class ViewFiles:
    """What is needed to read the deltas of a view from files of cells.

    Args:
        schema: The columns of its delta.
        types: The types of the view's columns, if what one cell takes back another one may bring; None if that cannot
            be, so that each file is a part of the delta by itself.
    """

    schema: pa.Schema
    types: tuple[SqlType, ...] | None

    def delta(self, folder: Place, files: Sequence[str], batch_id: int) -> pa.Table:
        """The net delta in the files of a batch.

        Args:
            folder: The folder of the files.
            files: The names of the files; all of the batch where ``types`` is not None.
            batch_id: The batch, which is its version too.

        Raises:
            StateError: A file is missing or damaged.
            StorageError: The disk refuses.

        Cost: linear in the rows.
        """
        pieces = [delta_of(folder, file) for file in files]
        if not pieces:
            return self.schema.empty_table()
        names = pieces[0].column_names  # pieces of a delta and of a whole result differ in what Arrow says of NULL
        pieces = [pa.Table.from_arrays(one.columns, names=names) for one in pieces]
        if any(map(is_parquet, files)):
            types = pa.schema([(name, self.schema.field(place).type) for place, name in enumerate(names)])
            pieces = [one.cast(types) for one in pieces]
        whole = pa.concat_tables(pieces)
        if len(pieces) > 1 and self.types is not None:
            gone = pc.is_in(whole.column(CHANGE_TYPE), GONE)
            rows = whole.drop_columns([CHANGE_TYPE])
            whole = difference(rows.filter(gone), rows.filter(pc.invert(gone)), self.types)
        versions = pa.repeat(pa.scalar(batch_id, pa.int64()), whole.num_rows)
        whole = whole.append_column(COMMIT_VERSION, versions)
        return pa.Table.from_arrays(whole.columns, names=self.schema.names).cast(self.schema)

    def plain(self) -> dict[str, Any]:
        """The same as JSON values."""
        columns = None
        if self.types is not None:
            columns = plain_table(Table("rows", tuple(Column(f"c{i}", kind) for i, kind in enumerate(self.types))))
        return {"schema": base64.b64encode(self.schema.serialize()).decode(), "columns": columns}

    @staticmethod
    def from_plain(entry: Mapping[str, Any]) -> ViewFiles:
        """What `plain` made JSON values of; raises ValueError, KeyError or TypeError."""
        columns, data = entry["columns"], base64.b64decode(entry["schema"])
        types = None if columns is None else tuple(column.type for column in read_table(columns).columns)
        return ViewFiles(pa.ipc.read_schema(pa.py_buffer(data)), types)


@dataclass(frozen=True)
class ParquetFile:
    """A part of a delta that its cell has written as Parquet.

    Args:
        folder: The folder of the file.
        file: The name of the file.
    """

    folder: Place
    file: str

    def read(self) -> bytes:
        """The content of the file.

        Raises:
            StateError: The file is missing or damaged.
            StorageError: The disk refuses.
        """
        return parquet_of(self.folder, self.file)


@dataclass(frozen=True)
class FilesDelta:
    """The delta of a view in a batch, read from one file at a time; as `livejoin.checkpoint.batch_delta` has it.

    Args:
        view: The layout of the files; each is a part of the delta by itself.
        folder: The folder of the files.
        files: The names of the files.
        batch_id: The batch.
        time: The time of the batch; None if it has none.
    """

    view: ViewFiles
    folder: Place
    files: tuple[str, ...]
    batch_id: int
    time: datetime | None

    @cached_property
    def num_rows(self) -> int:
        return sum(rows_of(self.folder, file) for file in self.files)

    @property
    def pieces(self) -> tuple[BatchDelta | ParquetFile, ...]:
        """The files of cells that are Parquet, and the rows of all others together."""
        found: list[BatchDelta | ParquetFile] = [
            ParquetFile(self.folder, file) for file in self.files if is_parquet(file)
        ]
        others = tuple(file for file in self.files if not is_parquet(file))
        return tuple([*found, replace(self, files=others)] if others else found)

    @property
    def schema(self) -> pa.Schema:
        return with_time(self.view.schema)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        for file in self.files:
            part = self.view.delta(self.folder, (file,), self.batch_id)
            yield from timed(part, self.time).to_batches(max_chunksize)


def batch_delta(folder: Place, manifest: Manifest, name: str, view: ViewFiles) -> BatchDelta:
    """The delta of a view in a batch that is committed, for a sink: a large one is read from one file at a time.

    That cannot be where what one cell takes back another one may bring: such a delta is read whole.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.

    Cost: linear in the rows; memory for them, or for those of one file, which are read once more for their number.
    """
    files, time = manifest.deltas.get(name, ()), time_of(manifest)
    if view.types is None and (any(map(is_parquet, files)) or (len(files) > 1 and _are_large(files))):
        return FilesDelta(view, folder, files, manifest.batch_id, time)
    found: BatchDelta = timed(view.delta(folder, files, manifest.batch_id), time)
    return found


def views_of(bound: Database, staged: Staged) -> dict[str, ViewFiles]:
    """What is needed to read the deltas of the views of a job.

    Args:
        bound: A database with the tables and the views of the job.
        staged: The stages of its views.
    """
    return {
        name: ViewFiles(delta_schema_of(bound, name), types_of(bound, name) if name in staged.scattered else None)
        for name in bound.views
    }


def delta_schema_of(bound: Database, view: str) -> pa.Schema:
    """The columns of a view's deltas."""
    return with_instants(bound.views[view].delta_schema, types_of(bound, view))


def write_views(folder: Place, digest: str, views: Mapping[str, ViewFiles]) -> None:
    """Write down for readers what they need of the views of a plan, unless it is there.

    Raises:
        StorageError: The disk refuses.
    """
    entry = {name: one.plain() for name, one in views.items()}
    try:
        with at(folder) as opened, suppress(FileExistsError):
            opened.publish(_FILE.format(digest), with_checksum(entry))
    except OSError as error:
        msg = f"{folder / _FILE.format(digest)} could not be written: {error}"
        raise StorageError(msg) from error


def read_views(folder: Place, digest: str) -> dict[str, ViewFiles]:
    """What is needed to read the deltas of the views in batches of a plan, by the views' names in lower case.

    Raises:
        StateError: A file of `write_views` is missing or damaged.
        StorageError: The disk refuses.
    """
    file = folder / _FILE.format(digest)
    try:
        with at(folder) as opened:
            entry = checked(opened.read(file.name))
        return {name.lower(): ViewFiles.from_plain(one) for name, one in entry.items()}
    except FileNotFoundError as error:
        msg = f"{file} is missing, which says what the deltas of views are: restore it from a backup"
        raise StateError(msg) from error
    except OSError as error:
        msg = f"{file} could not be read: {error}"
        raise StorageError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file} is damaged: {error}; restore it from a backup"
        raise StateError(msg) from error


def read_view(folder: Place, digest: str, view: str) -> ViewFiles:
    """What is needed to read the deltas of a view in batches of a plan.

    Raises:
        SchemaError: There is no such view.
        StateError: A file of `write_views` is missing or damaged.
        StorageError: The disk refuses.
    """
    views = read_views(folder, digest)
    if view.lower() not in views:
        msg = f"there is no view {view!r} in {folder.parent}; known views: {', '.join(map(repr, views)) or 'none'}"
        raise SchemaError(msg)
    return views[view.lower()]


def _are_large(files: Sequence[str]) -> bool:
    """Whether files together are large; those of earlier versions, whose names do not say it, count as large."""
    sizes = [delta_bytes(file) for file in files]
    return sum(LARGE + 1 if size is None else size for size in sizes) > LARGE


def time_of(manifest: Manifest) -> datetime | None:
    """The time of a batch; None if it has none."""
    return None if manifest.time is None else _EPOCH + manifest.time * _MICROSECOND


def microseconds(time: datetime | None) -> int | None:
    """A time as a manifest has it."""
    return None if time is None else (time - _EPOCH) // _MICROSECOND
