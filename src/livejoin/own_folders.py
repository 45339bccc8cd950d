"""The two folders that livejoin writes to without being told: one for caches, one for temporary files.

Compiled kernels in the cache are executed, and so is what comes out of sockets in the temporary folder. Everybody can
write beside the temporary folder, so it is used only if it belongs to the user alone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_WRITE_OF_OTHERS = 0o022
_ALL_OF_OTHERS = 0o077


def cache_folder() -> Path | None:
    """``livejoin`` in the user's folder for caches, made if it is not there; None if there is no such place.

    ``XDG_CACHE_HOME`` if set, else ``~/.cache``. A user without a home folder, as in many containers, has none.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(home) if home else Path.home() / ".cache") / "livejoin"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: neither HOME nor an entry in the list of users says where home is
        return None
    return folder if os.access(folder, os.W_OK) else None


def temporary_folder() -> Path | None:
    """The folder for temporary files, ``livejoin-`` and the user's number; None if others can write to it."""
    folder = Path(tempfile.gettempdir()) / f"livejoin-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & _WRITE_OF_OTHERS:
        return None
    if found.st_mode & _ALL_OF_OTHERS:  # as versions before made it; sockets in it would be open to everybody
        folder.chmod(0o700)
    return folder
