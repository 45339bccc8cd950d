"""Paths and URLs that users give: a folder of a file system, or a place in an object store where that can be.

A folder whose name has blanks, ``%``, ``[`` or letters beyond ASCII is the same folder for Python and for Spark: Spark
gets `hadoop_path` or `hadoop_pattern` of it, and nothing else.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from livejoin.errors import PipelineError, StateError, StorageError
from livejoin.state.objects import SCHEMES, scheme_of
from livejoin.state.store_folder import Place, place_of

WILD = frozenset("*?[{")
"""What makes a path a pattern for Spark."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # pathlib makes one / of two
_FILE = re.compile(r"file:/(?:/(?P<host>[^/]*))?(?P<path>/.*|[^/].*)", re.IGNORECASE | re.DOTALL)
_MAGIC = re.compile(r"([\\\[\]{}*?])")
_WHOLE = "give the whole path"
_WHY = (
    "give a local or mounted folder, with mode='distributed' one that all hosts see, as files are made there by "
    "exclusive creation, and renamed. In an object store may be dead_letters, and the "
    "checkpoint and the path of a pipeline without mode='distributed'"
)


def is_remote(path: str | Path) -> bool:
    """Whether a path is a URI of anything but files.

    >>> is_remote("s3://bucket/t"), is_remote("file:///t"), is_remote("t")
    (True, False, False)
    """
    found = _SCHEME.match(str(path))
    return found is not None and found[1].lower() != "file"


def not_local(folder: str | Path) -> str | None:
    """Why a folder cannot be used; None if it can.

    >>> not_local("out"), not_local("file:///out"), not_local("gs://bucket/out") is None
    (None, None, False)
    """
    if is_remote(folder):
        return f"{str(folder)!r} is not a local folder: {_WHY}"
    if not _SCHEME.match(str(folder)):
        return None if _expanded(folder) else f"{str(folder)!r} begins with a home folder that there is not; {_WHOLE}"
    host = (_FILE.fullmatch(str(folder)) or {"host": None})["host"]
    if host and host.lower() != "localhost":
        return f"{str(folder)!r} names the host {host!r}; a file: URI of a local folder has three slashes, file:///..."
    return None


def local_path(folder: str | Path, argument: str) -> Path:
    """A path of the file system; also a ``file:`` URI, and ``~`` for a home folder.

    >>> local_path("file:///a%20b#c", "path").as_posix(), local_path("/a%20b", "path").as_posix()
    ('/a b#c', '/a%20b')

    Raises:
        PipelineError: The path is a URI of anything but files, or of a user without a home folder.
    """
    if (reason := not_local(folder)) is not None:
        msg = f"{argument}={reason}"
        raise PipelineError(msg, key=argument)
    text = str(folder)
    if _SCHEME.match(text):
        found = _FILE.fullmatch(text)
        return Path("/" + unquote(found["path"] if found else "").lstrip("/"))
    path = _expanded(text)
    assert path is not None, "else it is not local"
    return path


def path_of(uri: str) -> str:
    """The path of a file that Spark names by a URI; other URIs stay as they are.

    >>> path_of("file:///data/a%20b.csv"), path_of("s3://bucket/a%20b.csv"), path_of("1.csv")
    ('/data/a b.csv', 's3://bucket/a%20b.csv', '1.csv')
    """
    found = _FILE.fullmatch(uri)
    return uri if found is None else "/" + unquote(found["path"]).lstrip("/")


def _expanded(folder: str | Path) -> Path | None:
    """A path with ``~`` expanded; None if the home folder is not known."""
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        return None


def output_place(given: str | Path | None, argument: str) -> Place:
    """What may be a folder or be in a store: an absolute path, or a place below a URL.

    Raises:
        PipelineError: The argument is missing, is a URI of neither, or names no place in a bucket.
        StorageError: The environment does not say what the store needs.
        ImportError: obstore is not installed.
    """
    if not isinstance(given, str) or scheme_of(given) not in SCHEMES:
        return local_folder(given, argument)
    try:
        return place_of(given)
    except StateError as error:
        raise PipelineError(str(error), key=argument) from error


def local_folder(folder: str | Path | None, argument: str) -> Path:
    """An absolute local path.

    Raises:
        PipelineError: The argument is missing, or a URI of anything but files.
    """
    if folder is None:
        msg = f"{argument}= is missing; give a local or mounted folder"
        raise PipelineError(msg, key=argument)
    return local_path(folder, argument).absolute()


def made(folder: Path, what: str) -> Path:
    """A folder that exists and can be written to; it is made if it is missing.

    Args:
        folder: The folder.
        what: The data to be written there, for the message.

    Raises:
        StorageError: The system refuses.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(folder, os.W_OK | os.X_OK) else "it may not be written to"
    except FileExistsError:
        reason = "it is a file"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason is not None:
        msg = f"the folder {str(folder)!r} for {what} cannot be used: {reason}; give another one, or repair that"
        raise StorageError(msg)
    return folder


def hadoop_path(path: Place) -> str:
    """A path for calls of Spark that take one file or folder: Hadoop decodes nothing in it. A URL stays as it is.

    >>> hadoop_path(Path("/data/a b%20"))
    'file:/data/a b%20'
    """
    return f"file:{path.absolute()}" if isinstance(path, Path) else str(path)


def hadoop_pattern(path: Place, below: str = "") -> str:
    """A path for calls of Spark that take a pattern, as ``load`` does.

    Args:
        path: A file or a folder, which is matched literally.
        below: A pattern of files below the folder.

    >>> hadoop_pattern(Path("/data[1]"), "*.csv")
    'file:/data\\\\[1\\\\]/*.csv'
    """
    escaped = _MAGIC.sub(r"\\\1", hadoop_path(path))
    return f"{escaped}/{below}" if below else escaped


def streamed(path: Place, what: str, below: str = "") -> str:
    """`hadoop_pattern` for a stream of files.

    Raises:
        PipelineError: The path has a character of patterns. Spark 4 then counts the rows of several files several
            times, also if the character is escaped.

    >>> streamed(Path("/data"), "table 'T'", "*.csv")
    'file:/data/*.csv'
    """
    shown = str(path.absolute() if isinstance(path, Path) else path)
    if (found := _MAGIC.search(shown)) is not None:
        msg = (
            f"{what} would be streamed from {shown!r}, and Spark reads files twice that have "
            f"{found[0]!r} in their path; let it have none of {{}}[]*?\\"
        )
        raise PipelineError(msg)
    return hadoop_pattern(path, below)
