"""The files of an output, in a folder or in an object store: they appear complete, or not at all.

Every function raises OSError where the system or the store refuses.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from livejoin.state.objects import again
from livejoin.state.store_folder import Place, StorePath


def names_in(folder: Place, begin: str) -> list[str]:
    """The names in a folder that begin so, in order; none where it is not there."""
    if isinstance(folder, StorePath):
        return sorted(one.key for one in again(lambda: folder.files.listed(begin)) if "/" not in one.key)
    with suppress(FileNotFoundError):
        return sorted(file.name for file in folder.iterdir() if file.name.startswith(begin))
    return []


def content(file: Place) -> bytes:
    """The content of a file; raises FileNotFoundError if there is none."""
    return file.read_bytes()


def readable(file: Place) -> Path | pa.BufferReader:
    """A file as Arrow reads it: what is in a store is read whole."""
    return file if isinstance(file, Path) else pa.BufferReader(file.read_bytes())


def end_of(file: Place, count: int) -> tuple[int, bytes]:
    """The size of a file, and its last bytes; raises FileNotFoundError if there is none."""
    if isinstance(file, StorePath):
        sizes = {one.key: one.size for one in again(lambda: file.parent.files.listed(file.name))}
        if file.name not in sizes:
            raise FileNotFoundError(str(file))
        size = sizes[file.name]
        if not count:
            return size, b""
        return size, again(lambda: file.objects.read(file.below, max(size - count, 0), min(size, count)))
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - count, 0))
        return size, stream.read()


def remove(file: Place) -> None:
    """Remove a file, which may not be there."""
    if isinstance(file, StorePath):
        file.remove()
    else:
        file.unlink(missing_ok=True)


def put_whole(target: Place, write: Callable[[BinaryIO], object]) -> None:
    """Let a file appear complete, in place of an old one, so that it survives a loss of power.

    Args:
        target: The file.
        write: Writes it; in a folder, a draft beside it has the name of the file behind a point.

    Raises:
        OSError: The system refuses; no draft is left.
    """
    if isinstance(target, StorePath):
        _put_object(target, write)
        return
    draft = target.with_name(f".{target.name}.writing")
    try:
        with draft.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _put_object(target: StorePath, write: Callable[[BinaryIO], object]) -> None:
    stream = io.BytesIO()
    write(stream)
    target.write_bytes(stream.getbuffer())


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
