"""Snapshots on disk: a folder with one subfolder a snapshot and a file that names the current one.

The file ``CURRENT`` is replaced in one step after the new subfolder is complete: a failure or a crash at any time
leaves either the old snapshot or the new one. The file holds the checksum of the manifest, and the manifest holds that
of every array. Damage is noticed before anything is used.

Checksums find damage and not intent: whoever forges a snapshot writes its checksums too. So `read` checks every value
that it gives, except the states of blocks, which it leaves out unless the caller trusts the folder. Nothing outside of
the folder is read.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import re
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from livejoin.database.durable.history import INDEX_LINES, Held, History, Run
from livejoin.database.snapshots import format_3
from livejoin.database.snapshots.build import build
from livejoin.database.snapshots.declaration import (
    ViewImage,
    number,
    plain_table,
    plain_view,
    read_positions,
    read_statistics,
    read_table,
    read_view,
    value,
)
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.handlers import raised_by_handler
from livejoin.schema import Table
from livejoin.search.statistics import Statistics
from livejoin.state.files import Folder
from livejoin.state.table_rows import LEAST_TIME, TableRows
from livejoin.words import Words

logger = logging.getLogger("livejoin")

FORMAT = 6
_WITH_HISTORIES = 7
_LAST_VERSION = 1 << 62
_CURRENT = "CURRENT"
_MANIFEST = "manifest.json"
_SNAPSHOT = re.compile(r"v\d{12,}-[0-9a-f]{8}")  # nothing else in the folder is ours to read or to remove
_POINTER = re.compile(rb"(v\d{12,20}-[0-9a-f]{8}) (\d{1,10})\n?")
_ROWS = ("values", "weights", "ids", "arrivals")
_PARTS = (*_ROWS, "tombstones")
_CODEC: dict[str, type[np.generic]] = {"heap": np.uint8, "starts": np.int64, "lengths": np.int32}

_UNSOUND = (  # what a snapshot that is not one leads to
    *(ValueError, KeyError, TypeError, ArithmeticError, RecursionError, LivejoinError),
    *(FileNotFoundError, NotADirectoryError, IsADirectoryError),
)

Arrays = Mapping[str, npt.NDArray[Any]]


class Source(Protocol):
    """The data of a snapshot, to be read; as `livejoin.state.files.Folder`."""

    def read(self, name: str, *, exactly: int | None = None) -> bytes | bytearray:
        """The content of a file, which must have a size."""

    def held(self, name: str) -> Held:
        """A file that is read later."""


class Target(Protocol):
    """The data of a snapshot, to be written; as `livejoin.state.files.Folder`."""

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a new file."""

    def write_pieces(self, name: str, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write a new file of pieces."""


Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class BlockImage:
    """The saved part of a block.

    Args:
        digest: Names the operator that the block maintains.
        layout: How the state is laid out.
        statistics: The statistics that its join's plan was chosen by.
        arrays: The state; None if the block is to be loaded from the relations below it.
        kept: Of a block over rows that no table keeps: its groups, as `livejoin.state.kept.Kept.arrays`.
    """

    digest: str
    layout: str
    statistics: Statistics
    arrays: Mapping[str, Words] | None
    kept: Mapping[str, Words] | None = None


@dataclass(frozen=True, eq=False)
class Image:
    """Everything that a database keeps.

    Args:
        version: The version of the database.
        extra: The user's JSON values.
        codec: Arrays of the codec.
        tables: Declaration and rows of each table; a writer asks for one table after the other.
        views: The views, each after those that it reads.
        blocks: The blocks that maintain them.
        beside: JSON values that a folder keeps with its log (`livejoin.database.durable`); none elsewhere.
        histories: The histories of views, by name in lower case; none elsewhere either.
    """

    version: int
    extra: Mapping[str, Any]
    codec: Arrays
    tables: Iterable[tuple[Table, TableRows]]
    views: Sequence[ViewImage]
    blocks: Sequence[BlockImage]
    beside: Mapping[str, Any] = field(default_factory=dict)
    histories: Mapping[str, History] = field(default_factory=dict)


def write(path: Path, image: Image) -> None:
    """Write a snapshot and make it the current one. Other snapshots, also unfinished ones, are removed.

    Raises:
        StateError: The user's values are not JSON; nothing was written.
        StorageError: The system refused. What was written is removed, and the old snapshot stays the current one,
            unless the message says that the new one is.
    """
    try:
        json.dumps(image.extra)
    except (TypeError, ValueError) as error:
        msg = f"the extra values {image.extra!r:.200} cannot be kept: {error}; allowed are JSON values"
        raise StateError(msg) from error
    name = f"v{image.version:012d}-{uuid.uuid4().hex[:8]}"
    try:
        with Folder.made(path) as folder:
            _remove_others(folder)
            try:
                _write(folder, name, image)
            except BaseException:
                with suppress(OSError):
                    _remove_others(folder)
                raise
            with suppress(OSError):  # the next one removes them
                _remove_others(folder)
    except OSError as error:
        if raised_by_handler(error):
            raise
        now = "the snapshot of before, if there was one, is still there"
        if _is_current(path, name):
            now = "the new one is in its place, but may not survive a loss of power"
        msg = f"the snapshot could not be written to {str(path)!r}: {error}; {now}. Make room or repair, and save again"
        raise StorageError(msg) from error


def _write(folder: Folder, name: str, image: Image) -> None:
    folder.make(name)
    with folder.inner(name) as target:
        text = manifest_text(target, image)
        target.write(_MANIFEST, text)
        target.write(_CURRENT, f"{name} {zlib.crc32(text)}".encode())
        target.sync()
        folder.sync()
        folder.replace(target, _CURRENT)
    folder.sync()


def manifest_text(target: Target, image: Image) -> bytes:
    """Write the data of a snapshot, and give the manifest, which names them.

    Raises:
        OSError: The system refuses.
    """
    manifest = {
        "format": _WITH_HISTORIES if image.histories else FORMAT,
        "build": build(),
        "version": image.version,
        "extra": image.extra,
        **({"beside": image.beside} if image.beside else {}),
        "codec": _write_arrays(target, "codec", image.codec),
        "tables": [
            {
                "declaration": plain_table(table),
                "begin": rows.begin,
                "watermark": rows.watermark,
                "late": rows.late,
                "kept": None if rows.kept is None else sorted(rows.kept),
                **({"came": rows.came} if rows.came else {}),
                "arrays": _write_arrays(target, f"table{i}", {part: getattr(rows, part) for part in _PARTS}),
            }
            for i, (table, rows) in enumerate(image.tables)
        ],
        "views": [plain_view(view) for view in image.views],
        "blocks": [
            {
                "digest": block.digest,
                "layout": block.layout,
                "statistics": block.statistics.plain(),
                "arrays": _write_arrays(target, f"block{i}", block.arrays or {}),
                **({} if block.kept is None else {"kept": _write_arrays(target, f"groups{i}", block.kept)}),
            }
            for i, block in enumerate(image.blocks)
        ],
        **({"histories": _write_histories(target, image.histories)} if image.histories else {}),
    }
    return json.dumps(manifest, indent=1).encode()


def _remove_others(folder: Folder) -> None:
    """Remove the snapshots that ``CURRENT`` does not name; none if ``CURRENT`` is damaged or names none that exists."""
    names = folder.names()
    kept = None
    if _CURRENT in names:
        try:
            kept = _pointer(folder)[0]
        except ValueError:
            return
        if kept not in names:
            return
    others = [name for name in names if _SNAPSHOT.fullmatch(name) and name != kept]
    if others:
        folder.sync()  # the one that is kept must be found after a loss of power too
    for name in others:
        folder.remove(name)


def _is_current(path: Path, name: str) -> bool:
    with suppress(OSError, ValueError), Folder.at(path) as folder:
        return _pointer(folder)[0] == name
    return False


def _pointer(folder: Folder) -> tuple[str, int]:
    """The name of the current snapshot and the checksum of its manifest.

    Raises:
        OSError, ValueError: ``CURRENT`` cannot be read.
    """
    text = folder.read(_CURRENT, at_most=100)
    found = _POINTER.fullmatch(text)
    if found is None:
        msg = f"{_CURRENT} is {bytes(text)!r:.80}, which names no snapshot"
        raise ValueError(msg)
    return found[1].decode(), int(found[2])


def is_there(path: Path) -> bool:
    """Whether a folder has a snapshot, whole or damaged.

    Raises:
        StorageError: The system refuses to say.
    """
    try:
        with Folder.at(path) as folder:
            return _CURRENT in folder.names()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        if raised_by_handler(error):
            raise
        raise _refused(path, error) from error


def read(path: Path, trusted: bool) -> Image:
    """Read the current snapshot.

    Args:
        path: The folder of the snapshot.
        trusted: Whether to read the states of blocks, which are checked against damage and not against intent.

    Raises:
        StateError: There is no snapshot, it is damaged, or another version of livejoin wrote it.
        StorageError: The system refused to read a file.
    """
    return _read(
        path, lambda source, manifest: image_of_manifest(source, manifest, trusted and _is_same_build(path, manifest))
    )


def head(path: Path) -> tuple[int, dict[str, Any]]:
    """The version and the user's JSON values of the current snapshot, without its rows; raises as `read`."""
    return _read(path, lambda _, manifest: head_of(manifest))


def head_of(manifest: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The version and the user's JSON values that a manifest has."""
    return number(manifest, "version", most=_LAST_VERSION), dict(value(manifest, "extra", dict))


def _is_same_build(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether this version of livejoin saved it."""
    same = manifest.get("build") == build()
    if not same:
        logger.info("another version of livejoin saved %s: its views are loaded from its tables", path)
    return same


def _no_snapshot(path: Path) -> str:
    """The message for a folder without a snapshot."""
    if not path.exists():
        return f"there is no folder {str(path)!r}; Database.save makes one, and Database.load reads it"
    return f"there is no snapshot in {str(path)!r}; Database.save writes one"


def _read(path: Path, content: Callable[[Source, dict[str, Any]], Content]) -> Content:
    """What a function makes of the folder and the manifest of the current snapshot; raises as `read`."""
    if not is_there(path):
        raise StateError(_no_snapshot(path))
    return read_from(path, lambda: _opened(path), content)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Source, bytes | bytearray, int]]:
    """The folder of the current snapshot, its manifest, and the checksum that this must have."""
    with Folder.at(path) as folder:
        name, checksum = _pointer(folder)
        with folder.inner(name) as source:
            yield source, source.read(_MANIFEST), checksum


def read_from(
    path: Path | str,
    opened: Callable[[], AbstractContextManager[tuple[Source, bytes | bytearray, int]]],
    content: Callable[[Source, dict[str, Any]], Content],
) -> Content:
    """What a function makes of the data and the manifest of a snapshot.

    Args:
        path: The place of the snapshot, for messages.
        opened: Opens the data, and gives them with the manifest and the checksum that this must have.
        content: The function.

    Raises:
        StateError, StorageError: As `read`.
    """
    try:
        with opened() as (source, text, checksum):
            if zlib.crc32(text) != checksum:
                msg = f"{_MANIFEST} is not what was written"
                raise ValueError(msg)
            manifest = json.loads(text)
            found = value(manifest, "format", int)
            if found in _TABLES:
                return content(source, manifest)
    except _UNSOUND as error:
        msg = f"the snapshot in {str(path)!r} is damaged: {error}; load another one or build the state anew"
        raise StateError(msg) from error
    except OSError as error:
        if raised_by_handler(error):
            raise
        raise _refused(path, error) from error
    known = ", ".join(map(str, _TABLES))
    msg = f"the snapshot in {str(path)!r} has format {found}; this version of livejoin reads {known}"
    raise StateError(msg)


def _refused(path: Path | str, error: OSError) -> LivejoinError:
    if error.errno == errno.ELOOP:  # what O_NOFOLLOW says of a link
        msg = f"the snapshot in {str(path)!r} has a link in the place of a file: {error}; links are not followed"
        return StateError(msg)
    msg = f"the snapshot in {str(path)!r} could not be read: {error}; it may be sound, try again when that is mended"
    return StorageError(msg)


def image_of_manifest(source: Source, manifest: dict[str, Any], with_states: bool) -> Image:
    """What a snapshot holds; with the states of blocks or without."""
    rows_of = _TABLES[manifest["format"]]
    tables = []
    for i, entry in enumerate(value(manifest, "tables", list)):
        table = read_table(value(entry, "declaration", dict))
        tables.append((table, rows_of(source, i, table, entry)))
    by_name = {table.name.lower(): table for table, _ in tables}
    return Image(
        version=number(manifest, "version", most=_LAST_VERSION),
        extra=value(manifest, "extra", dict),
        codec={
            key: _read_array(source, f"codec.{key}", entry, _CODEC[key.rpartition(".")[2]], 1)
            for key, entry in value(manifest, "codec", dict).items()
        },
        tables=tables,
        views=[read_view(entry, by_name) for entry in value(manifest, "views", list)],
        blocks=[
            BlockImage(
                value(entry, "digest", str),
                value(entry, "layout", str),
                read_statistics(entry["statistics"], by_name),
                _state(source, i, entry) if with_states else None,
                _kept_groups(source, i, entry),
            )
            for i, entry in enumerate(value(manifest, "blocks", list))
        ],
        beside=value(manifest, "beside", dict) if "beside" in manifest else {},
        histories={name: History(limit, base, run) for name, limit, base, run in _histories(source, manifest)},
    )


def _kept_groups(source: Source, place: int, entry: dict[str, Any]) -> Mapping[str, Words] | None:
    """The groups of a block over rows that no table keeps; None of other blocks."""
    if "kept" not in entry:
        return None
    arrays, dimensions = value(entry, "kept", dict), {"values": 2, "beside": 1}
    return {
        part: _read_array(source, f"groups{place}.{part}", arrays[part], np.int64, of_part)
        for part, of_part in dimensions.items()
    }


def _rows(source: Source, place: int, table: Table, entry: dict[str, Any]) -> TableRows:
    arrays = value(entry, "arrays", dict)
    watermark = None if value(entry, "watermark", object) is None else number(entry, "watermark", least=LEAST_TIME)
    return replace(
        _rows_of_format_4(source, place, table, entry),
        tombstones=_read_array(source, f"table{place}.tombstones", arrays["tombstones"], np.int64, 2),
        watermark=watermark,
        late=number(entry, "late"),
        kept=None if entry.get("kept") is None else frozenset(read_positions(entry["kept"], table.columns)),
        came=number(entry, "came") if "came" in entry else 0,
    )


def _rows_of_format_4(source: Source, place: int, table: Table, entry: dict[str, Any]) -> TableRows:
    """Rows without tombstones: no table had ``sequence_by``."""
    arrays = value(entry, "arrays", dict)
    values, weights, ids, arrivals = (
        _read_array(source, f"table{place}.{part}", arrays[part], np.int64, 2 if part == "values" else 1)
        for part in _ROWS
    )
    return TableRows(values, weights, ids, arrivals, number(entry, "begin", least=LEAST_TIME))


def _rows_of_format_3(source: Source, place: int, table: Table, entry: dict[str, Any]) -> TableRows:
    arrays = value(entry, "arrays", dict)
    return format_3.rows_of(
        table,
        {part: _read_array(source, f"table{place}.{part}", arrays[part], np.int64, 1) for part in format_3.ARRAYS},
    )


_TABLES: Mapping[int, Callable[[Source, int, Table, dict[str, Any]], TableRows]] = {
    3: _rows_of_format_3,
    4: _rows_of_format_4,
    5: _rows,
    FORMAT: _rows,
    _WITH_HISTORIES: _rows,
}
"""The formats that are read, and how each keeps the rows of a table."""


def _state(source: Source, place: int, entry: object) -> dict[str, Words]:
    return {
        key: _read_array(source, f"block{place}.{key}", array, np.int64, 1)
        for key, array in value(entry, "arrays", dict).items()
    }


def _write_histories(target: Target, histories: Mapping[str, History]) -> list[dict[str, Any]]:
    """Write the deltas of each history to a file of its own, piece by piece; gives the entries of the manifest."""
    entries = []
    for i, (name, history) in enumerate(histories.items()):
        lines = list[tuple[int, ...]]()
        target.write_pieces(f"history{i}.deltas.bin", _read_pieces(history, lines))
        index = np.ascontiguousarray(np.array(lines, np.int64).reshape(-1, INDEX_LINES).T)
        arrays = _write_arrays(target, f"history{i}", {"index": index})
        entries.append({"view": name, "rows": history.limit, "base": history.base, "arrays": arrays})
    return entries


def _read_pieces(history: History, lines: list[tuple[int, ...]]) -> Iterator[bytes | bytearray]:
    """The bytes of the pieces of a history, and the lines of its index."""
    for piece in history:
        yield piece.read()
        lines.append((piece.version, piece.first, piece.rows, piece.size, piece.checksum))


def _histories(source: Source, manifest: dict[str, Any]) -> Iterator[tuple[str, int, int, Run]]:
    """Of each history the view's name, the limit, the base and the pieces, which are not read."""
    version = number(manifest, "version", most=_LAST_VERSION)
    for i, entry in enumerate(value(manifest, "histories", list) if "histories" in manifest else ()):
        index = _read_array(source, f"history{i}.index", value(entry, "arrays", dict)["index"], np.int64, 2)
        run = Run(version, index, source.held(f"history{i}.deltas.bin"))
        yield value(entry, "view", str), number(entry, "rows", 1), number(entry, "base"), run


def read_histories(path: Path) -> dict[str, Run]:
    """The pieces of the histories that the current snapshot has, by the views' names in lower case.

    Raises:
        StateError, StorageError: As for `read`.

    Cost: O(pieces); the deltas are not read.
    """
    return _read(path, histories_of)


def histories_of(source: Source, manifest: dict[str, Any]) -> dict[str, Run]:
    """The pieces of the histories that a manifest names, by the views' names in lower case."""
    return {name: run for name, _, _, run in _histories(source, manifest)}


def _write_arrays(target: Target, part: str, arrays: Arrays) -> dict[str, dict[str, Any]]:
    """Write each array that is not empty to a file of its own; gives the entries of the manifest."""
    entries = {}
    for key, array in arrays.items():
        entries[key] = {"type": array.dtype.str, "shape": array.shape, "crc32": zlib.crc32(array.data)}
        if array.size:
            target.write(f"{part}.{key}.bin", array.data)
    return entries


def _read_array(source: Source, name: str, entry: object, kind: type[np.generic], dimensions: int) -> npt.NDArray[Any]:
    """An array that the manifest names.

    Raises:
        OSError, ValueError, KeyError: The file is missing or is not the one that was written.
    """
    shape = value(entry, "shape", list)
    size = math.prod(number({"shape": length}, "shape") for length in shape)
    if len(shape) != dimensions or value(entry, "type", str) != np.dtype(kind).str:
        msg = f"{name} is no array of {np.dtype(kind)} with {dimensions} dimensions"
        raise ValueError(msg)
    if not size:
        return np.empty(shape, kind)
    data = source.read(f"{name}.bin", exactly=size * np.dtype(kind).itemsize)
    if zlib.crc32(data) != value(entry, "crc32", int):
        msg = f"{name}.bin is not what was written"
        raise ValueError(msg)
    return np.frombuffer(data, kind).reshape(shape)
