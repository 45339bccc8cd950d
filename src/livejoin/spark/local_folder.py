"""The folders that livejoin reads and writes itself: those of a file system, and why none of an object store."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from livejoin.errors import PipelineError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # pathlib makes one / of two
_WHY = (
    "give a local or mounted folder, with mode='distributed' one that all hosts see. A batch is committed by a file "
    "that appears whole, and only where there is none of its name (exclusive creation), which is also how one of two "
    "queries stops; the paths of an object store have no such call"
)


def not_local(folder: str | Path) -> str | None:
    """Why a folder cannot be one of these; None if it can.

    >>> not_local("out"), not_local("file:///out"), not_local("gs://bucket/out") is None
    (None, None, False)
    """
    found = _SCHEME.match(str(folder))
    if found is None or found[1].lower() == "file":
        return None
    return f"{str(folder)!r} is not a local folder: {_WHY}"


def local_path(folder: str | Path, argument: str) -> Path:
    """A path of the file system; a URI of a file is one, too.

    Raises:
        PipelineError: It is a URI of something else.
    """
    if (reason := not_local(folder)) is not None:
        msg = f"{argument}={reason}"
        raise PipelineError(msg, key=argument)
    text = str(folder)
    return Path(unquote(urlsplit(text).path) if _SCHEME.match(text) else text)


def local_folder(folder: str | Path | None, argument: str) -> Path:
    """An absolute local path.

    Raises:
        PipelineError: It is missing, or a URI of something else than files.
    """
    if folder is None:
        msg = f"{argument}= is missing; give a local or mounted folder"
        raise PipelineError(msg, key=argument)
    return local_path(folder, argument).absolute()
