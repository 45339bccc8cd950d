"""Snapshots on disk: a folder with one subfolder a snapshot and a file that names the current one.

The file ``CURRENT`` is replaced in one step after the new subfolder is complete, so that a crash at any time leaves
either the old snapshot or the new one. It holds the checksum of the manifest, which holds that of every array: a file
that is not what was written is noticed before anything of it is used, because kernels trust their state.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from livejoin.errors import StateError
from livejoin.schema import Column, ForeignKey, SqlType, Table, WindowRange
from livejoin.search.algorithm import Algorithm
from livejoin.words import Words

FORMAT = 3
_CURRENT = "CURRENT"
_MANIFEST = "manifest.json"
_SNAPSHOT = re.compile(r"v\d{12,}-[0-9a-f]{8}")  # nothing else in the folder is ours to remove


@dataclass(frozen=True, eq=False)
class ViewImage:
    """What is kept of a view.

    Args:
        name: Its name.
        sql: Its query.
        deltas: Whether it keeps deltas.
        algorithm: What maintains its joins.
        statistics: The statistics that its plan was chosen by, as JSON values: the same ones give the same plan.
        adaptive: Whether it may move to another plan; its running figures begin anew.
    """

    name: str
    sql: str
    deltas: bool
    algorithm: Algorithm
    statistics: Sequence[Mapping[str, Any]]
    adaptive: bool


@dataclass(frozen=True, eq=False)
class BlockImage:
    """What is kept of a block.

    Args:
        digest: What it maintains.
        layout: How its state is laid out.
        statistics: The statistics that its join's plan was chosen by, as JSON values.
        arrays: Its state.
    """

    digest: str
    layout: str
    statistics: Sequence[Mapping[str, Any]]
    arrays: Mapping[str, Words]


@dataclass(frozen=True, eq=False)
class Image:
    """Everything that a database keeps.

    Args:
        version: Its version.
        extra: The user's JSON values.
        codec: Arrays of the codec.
        tables: Declaration and arrays of each table.
        views: The views, each after those that it reads.
        blocks: The blocks that maintain them.
    """

    version: int
    extra: Mapping[str, Any]
    codec: Mapping[str, npt.NDArray[Any]]
    tables: Sequence[tuple[Table, Mapping[str, Words]]]
    views: Sequence[ViewImage]
    blocks: Sequence[BlockImage]


def write(folder: Path, image: Image) -> None:
    """Write a snapshot and make it the current one; older ones are removed.

    Raises:
        StateError: The user's values are not JSON; nothing was written.
    """
    try:
        json.dumps(image.extra)
    except (TypeError, ValueError) as error:
        msg = f"the extra values {image.extra!r:.200} cannot be kept: {error}; allowed are JSON values"
        raise StateError(msg) from error
    folder.mkdir(parents=True, exist_ok=True)
    name = f"v{image.version:012d}-{uuid.uuid4().hex[:8]}"
    target = folder / name
    target.mkdir()
    manifest = {
        "format": FORMAT,
        "version": image.version,
        "extra": image.extra,
        "codec": _write_arrays(target, "codec", image.codec),
        "tables": [
            {"declaration": _declaration(table), "arrays": _write_arrays(target, f"table{i}", arrays)}
            for i, (table, arrays) in enumerate(image.tables)
        ],
        "views": [
            {
                "name": view.name,
                "sql": view.sql,
                "deltas": view.deltas,
                "algorithm": view.algorithm,
                "statistics": view.statistics,
                "adaptive": view.adaptive,
            }
            for view in image.views
        ],
        "blocks": [
            {
                "digest": block.digest,
                "layout": block.layout,
                "statistics": block.statistics,
                "arrays": _write_arrays(target, f"block{i}", block.arrays),
            }
            for i, block in enumerate(image.blocks)
        ],
    }
    text = json.dumps(manifest, indent=1).encode()
    _write_bytes(target / _MANIFEST, text)
    _write_bytes(target / _CURRENT, f"{name} {zlib.crc32(text)}".encode())
    _sync(target)
    _sync(folder)
    (target / _CURRENT).replace(folder / _CURRENT)
    _sync(folder)
    for other in folder.iterdir():
        if _SNAPSHOT.fullmatch(other.name) and other.name != name:
            shutil.rmtree(other, ignore_errors=True)


def read(folder: Path) -> Image:
    """Read the current snapshot.

    Raises:
        StateError: There is none, it is damaged, or another version of livejoin wrote it.
    """
    if not (folder / _CURRENT).is_file():
        msg = f"there is no snapshot in {str(folder)!r}; Database.save writes one"
        raise StateError(msg)
    try:
        name, checksum = (folder / _CURRENT).read_text().split()
        source = folder / name
        text = (source / _MANIFEST).read_bytes()
        if zlib.crc32(text) != int(checksum):
            msg = f"{_MANIFEST} is not what was written"
            raise ValueError(msg)
        manifest = json.loads(text)
        if manifest["format"] == FORMAT:
            return Image(
                version=manifest["version"],
                extra=manifest["extra"],
                codec=_read_arrays(source, "codec", manifest["codec"]),
                tables=[
                    (_table(entry["declaration"]), _read_arrays(source, f"table{i}", entry["arrays"]))
                    for i, entry in enumerate(manifest["tables"])
                ],
                views=[
                    ViewImage(
                        view["name"],
                        view["sql"],
                        view["deltas"],
                        view["algorithm"],
                        view["statistics"],
                        view["adaptive"],
                    )
                    for view in manifest["views"]
                ],
                blocks=[
                    BlockImage(
                        block["digest"],
                        block["layout"],
                        block["statistics"],
                        _read_arrays(source, f"block{i}", block["arrays"]),
                    )
                    for i, block in enumerate(manifest["blocks"])
                ],
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"the snapshot in {str(folder)!r} is damaged: {error}; load another one or build the state anew"
        raise StateError(msg) from error
    msg = f"the snapshot in {str(folder)!r} has format {manifest['format']}; this version of livejoin reads {FORMAT}"
    raise StateError(msg)


def _declaration(table: Table) -> dict[str, Any]:
    columns = [{"name": c.name, "type": asdict(c.type), "nullable": c.nullable} for c in table.columns]
    return {
        "name": table.name,
        "columns": columns,
        "key": table.primary_key,
        "window_rows": table.window_rows,
        "foreign_keys": [asdict(key) for key in table.foreign_keys],
        "static": table.static,
        "window_range": None if table.window_range is None else asdict(table.window_range),
    }


def _table(declaration: dict[str, Any]) -> Table:
    columns = tuple(Column(c["name"], SqlType(**c["type"]), c["nullable"]) for c in declaration["columns"])
    foreign = tuple(
        ForeignKey(tuple(key["columns"]), key["table"], tuple(key["references"])) for key in declaration["foreign_keys"]
    )
    key, window_rows = tuple(declaration["key"]), declaration["window_rows"]
    window_range = declaration.get("window_range")
    return Table(
        declaration["name"],
        columns,
        key,
        window_rows,
        foreign,
        declaration["static"],
        None if window_range is None else WindowRange(**window_range),
    )


def _write_arrays(target: Path, part: str, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """Write each array to a file of its own, but an empty one to none; what the manifest says of them."""
    entries = {}
    for key, array in arrays.items():
        entries[key] = {"type": array.dtype.str, "shape": array.shape, "crc32": zlib.crc32(array.data)}
        if array.size:
            _write_bytes(target / _file(part, key), array.data)
    return entries


def _read_arrays(source: Path, part: str, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays that the manifest names.

    Raises:
        OSError, ValueError: A file is not there or is not what was written.
    """
    arrays = {}
    for key, entry in entries.items():
        path = source / _file(part, key)
        array = np.empty(entry["shape"], np.dtype(entry["type"]))
        if array.size:
            array = np.fromfile(path, array.dtype)
            if array.nbytes != path.stat().st_size or zlib.crc32(array.data) != entry["crc32"]:
                msg = f"{path.name} is not what was written"
                raise ValueError(msg)
        arrays[key] = array.reshape(entry["shape"])
    return arrays


def _file(part: str, key: str) -> str:
    return f"{part}.{key}.bin"


def _write_bytes(path: Path, data: bytes | memoryview) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
