"""Files that appear complete, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def put_whole(target: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let a file appear complete, in place of an old one, so that it survives a loss of power.

    Args:
        target: The file.
        write: Writes it; beside it, a draft has the name of the file behind a point.

    Raises:
        OSError: The system refuses; no draft is left.
    """
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


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
