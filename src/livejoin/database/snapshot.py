"""Snapshots on disk: a folder with one subfolder a snapshot and a file that names the current one.

The file ``CURRENT`` is replaced in one step after the new subfolder is complete, so that a crash at any time leaves
either the old snapshot or the new one.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from livejoin.errors import StateError
from livejoin.schema import Column, SqlType, Table

Words = npt.NDArray[np.int64]

FORMAT = 1
_CURRENT = "CURRENT"
_MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Image:
    """Everything that a database keeps.

    Args:
        version: Its version.
        extra: The user's JSON values.
        codec: Arrays of the codec.
        tables: Declaration and arrays of each table.
        views: Name, SQL, whether it keeps deltas, digest of the plan and arena of each view.
    """

    version: int
    extra: Mapping[str, Any]
    codec: Mapping[str, npt.NDArray[Any]]
    tables: Sequence[tuple[Table, Mapping[str, Words]]]
    views: Sequence[tuple[str, str, bool, str, Words]]


def write(folder: Path, image: Image) -> None:
    """Write a snapshot and make it the current one; older ones are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"v{image.version:012d}-{uuid.uuid4().hex[:8]}"
    target = folder / name
    target.mkdir()
    manifest: dict[str, Any] = {"format": FORMAT, "version": image.version, "extra": dict(image.extra)}
    manifest["codec"] = sorted(image.codec)
    for key, array in image.codec.items():
        _write_array(target / f"codec.{key}.npy", array)
    manifest["tables"] = []
    for i, (table, arrays) in enumerate(image.tables):
        manifest["tables"].append({"declaration": _declaration(table), "arrays": sorted(arrays)})
        for key, array in arrays.items():
            _write_array(target / f"table{i}.{key}.npy", array)
    manifest["views"] = []
    for i, (view, sql, deltas, digest, words) in enumerate(image.views):
        manifest["views"].append({"name": view, "sql": sql, "deltas": deltas, "plan": digest})
        _write_array(target / f"view{i}.npy", words)
    _write_text(target / _MANIFEST, json.dumps(manifest, indent=1))
    _sync(target)
    _write_text(folder / f".{name}", name)
    (folder / f".{name}").replace(folder / _CURRENT)
    _sync(folder)
    for other in folder.iterdir():
        if other.is_dir() and other.name != name:
            shutil.rmtree(other, ignore_errors=True)


def read(folder: Path) -> Image:
    """Read the current snapshot.

    Raises:
        StateError: There is none, it is damaged, or another version of livejoin wrote it.
    """
    if not (folder / _CURRENT).is_file():
        msg = f"there is no snapshot in {str(folder)!r}; Database.save writes one"
        raise StateError(msg)
    source = folder / (folder / _CURRENT).read_text().strip()
    try:
        manifest = json.loads((source / _MANIFEST).read_text())
        if manifest["format"] != FORMAT:
            msg = f"the snapshot in {str(folder)!r} has format {manifest['format']}; this version reads {FORMAT}"
            raise StateError(msg)
        return Image(
            version=manifest["version"],
            extra=manifest["extra"],
            codec={key: np.load(source / f"codec.{key}.npy") for key in manifest["codec"]},
            tables=[
                (
                    _table(entry["declaration"]),
                    {key: np.load(source / f"table{i}.{key}.npy") for key in entry["arrays"]},
                )
                for i, entry in enumerate(manifest["tables"])
            ],
            views=[
                (entry["name"], entry["sql"], entry["deltas"], entry["plan"], np.load(source / f"view{i}.npy"))
                for i, entry in enumerate(manifest["views"])
            ],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"the snapshot in {str(folder)!r} is damaged: {error}"
        raise StateError(msg) from error


def _declaration(table: Table) -> dict[str, Any]:
    columns = [{"name": c.name, "type": asdict(c.type), "nullable": c.nullable} for c in table.columns]
    return {"name": table.name, "columns": columns, "key": table.primary_key, "window_rows": table.window_rows}


def _table(declaration: dict[str, Any]) -> Table:
    columns = tuple(Column(c["name"], SqlType(**c["type"]), c["nullable"]) for c in declaration["columns"])
    return Table(declaration["name"], columns, tuple(declaration["key"]), declaration["window_rows"])


def _write_array(path: Path, array: npt.NDArray[Any]) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def _write_text(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
