"""The name of a checkpoint, by which a sink tells its batches from those of another checkpoint."""

from __future__ import annotations

import os
from contextlib import suppress
from uuid import uuid4

from livejoin.errors import StorageError
from livejoin.state.store_folder import Place, StoreFolder, StorePath

NAME_FILE = "name"


def run_name(checkpoint: Place) -> str:
    """The stored name of a checkpoint; a new one is drawn if it has none.

    The caller holds the lock of the checkpoint.

    Raises:
        StorageError: The disk refuses.
    """
    if isinstance(checkpoint, StorePath):
        return _in_store(checkpoint)
    file = checkpoint / NAME_FILE
    draft = checkpoint / f".{NAME_FILE}.writing"
    try:
        if file.exists():
            return file.read_text(encoding="ascii").strip()
        name = uuid4().hex
        checkpoint.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="ascii") as stream:
            stream.write(name)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError as error:
        msg = f"the checkpoint's name could not be read from or written to {file}: {error}; repair that and go on"
        raise StorageError(msg) from error
    return name


def _in_store(checkpoint: StorePath) -> str:
    folder = StoreFolder(checkpoint.files)
    try:
        with suppress(FileExistsError):
            if NAME_FILE not in folder.names():
                folder.publish(NAME_FILE, uuid4().hex.encode())
        return folder.read(NAME_FILE).decode("ascii")
    except (OSError, ValueError) as error:
        msg = f"the checkpoint's name could not be read from or written to {checkpoint / NAME_FILE}: {error}"
        raise StorageError(msg) from error
