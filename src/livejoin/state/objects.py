"""Object stores: what is asked of one, and S3, Google Cloud Storage and Azure by obstore.

A store has objects by key. The one step that decides between two who try is `Objects.create`: it makes an object that
is not there, or fails. Everything else may be repeated. What a store answers may be lost on the way, so that who
creates does not know whether it happened: `create_once` reads back what is there.

Law: of all who call `create_once` with a key at most one is told True, however often answers are lost or repeated.

Messages of errors say nothing of credentials: of what a store answers only the first line is kept, without what
stands behind a question mark in an address.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from livejoin.errors import StateError, StorageError
from livejoin.handlers import raised_by_handler

Data: TypeAlias = bytes | bytearray | memoryview

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
PATIENCE = 60.0
"""Seconds for which a store that does not answer is asked again."""

MARK_BYTES = 64
"""The first bytes of an object tell who made it: objects that `create_once` makes differ there."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WHOSE = "; livejoin asks with the credentials of its own environment, and not with Spark's settings"
_NOT_ALLOWED = re.compile(r"status code: 40[13]\b|<Code>(?:ExpiredToken|InvalidToken|TokenRefreshRequired)</Code>")
_HOSTS_WITH_CREDENTIALS = ("169.254.169.254", "metadata.google.internal")  # whom a client asks that knows no other way
_PROBE_SECONDS = 10.0
_RACES, _RACERS = 3, 4  # of a probe
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 2.0
_LONGEST = 300  # characters of what a store says that are shown


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as a list of a store has it.

    Args:
        key: The key, from the prefix of the store on.
        size: The bytes.
    """

    key: str
    size: int


class NoBucketError(PermissionError):
    """There is no such bucket: asking again would not help."""


class Objects(Protocol):
    """The objects below a prefix of a store; in any thread. Every method raises OSError where the store refuses."""

    @property
    def name(self) -> str:
        """The URL, for messages."""

    def create(self, key: str, data: Data) -> None:
        """Make an object in one request.

        Raises:
            FileExistsError: There is one with the key; or the store had the request twice.
        """

    def put(self, key: str, data: Data) -> None:
        """Make an object, in the place of one that may be there; large ones in several requests."""

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        """The content of an object, or some bytes of it, which are fewer where it ends before.

        Raises:
            FileNotFoundError: There is none.
        """

    def listed(self, under: str) -> list[Listed]:
        """The objects whose keys begin so, in order."""

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects, some of which may not be there."""


def create_once(objects: Objects, key: str, data: Data, patience: float | None = None) -> bool:
    """Make an object that is not there; on any error what is there is read back.

    Args:
        objects: The store.
        key: The key.
        data: The content, which begins with `MARK_BYTES` bytes that nobody else writes.
        patience: Seconds for which it is tried; None for `PATIENCE`.

    Returns:
        Whether the object that is there now is this one.

    Raises:
        OSError: The store does not say; the object may be there, now or later.
    """
    until = time.monotonic() + (PATIENCE if patience is None else patience)
    mark = bytes(memoryview(data)[:MARK_BYTES])
    for pause in _pauses():
        try:
            objects.create(key, data)
        except OSError as error:
            if raised_by_handler(error):
                raise
            failure = error
        else:
            return True
        try:
            return objects.read(key, 0, MARK_BYTES) == mark
        except FileNotFoundError:  # it did not happen, and is tried again
            pass
        except OSError as error:
            if raised_by_handler(error):
                raise
            failure = error
        if isinstance(failure, PermissionError) or time.monotonic() > until:
            raise failure
        time.sleep(pause)
    raise AssertionError


def check_creates_once(objects: Objects) -> None:
    """Create an object twice, and some by several threads at once, to see that the store refuses all but one.

    A store that looks whether an object is there, and then writes it, creates it twice in a race; s3s-fs 0.14 does so
    in 12 of 20 races of two.

    Raises:
        StateError: The store does not refuse.
        OSError: The store refuses altogether.
    """
    keys = [f"probe/{uuid.uuid4().hex}" for _ in range(1 + _RACES)]
    create_once(objects, keys[0], b"first".ljust(MARK_BYTES), _PROBE_SECONDS)
    try:
        created = 1 + create_once(objects, keys[0], b"second".ljust(MARK_BYTES), _PROBE_SECONDS)
        why = "does not know If-None-Match"
        for key in keys[1:] if created == 1 else ():
            with ThreadPoolExecutor(_RACERS) as pool:
                marks = [b"%*d" % (MARK_BYTES, number) for number in range(_RACERS)]
                told = pool.map(lambda mark: create_once(objects, key, mark, _PROBE_SECONDS), marks)  # noqa: B023
                created = max(created, sum(told))
            why = "looks whether an object is there, and writes it then, so that two may do so at once"
        if created > 1:
            msg = (
                f"the store of {objects.name!r} created one object twice, so that two processes could write one "
                f"log: it {why}. Use one that creates an object once, as S3, Google Cloud Storage and Azure do, or a "
                "folder"
            )
            raise StateError(msg)
    finally:
        objects.remove(keys)


def again(ask: Callable[[], Any], patience: float | None = None) -> Any:
    """What a store answers to what may be asked again, as reading and listing.

    Raises:
        FileNotFoundError, PermissionError: At once.
        OSError: The store does not answer.
    """
    until = time.monotonic() + (PATIENCE if patience is None else patience)
    for pause in _pauses():
        try:
            return ask()
        except (FileNotFoundError, PermissionError):
            raise
        except OSError as error:
            if raised_by_handler(error) or time.monotonic() > until:
                raise
        time.sleep(pause)
    raise AssertionError


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, _LAST_PAUSE)


def scheme_of(text: str) -> str | None:
    """The scheme of a text that is a URL, in lower case; None of any other text."""
    found = _URL.match(text)
    return None if found is None else found[1].lower()


def path_or_url(text: str) -> Path | str:
    """What a text names: the path of a folder, or the URL of a place in a store.

    Raises:
        StateError: The text is a URL, and of no store, or has credentials or options in it.
    """
    return Path(text) if scheme_of(text) is None else check_url(text)


def check_url(url: str) -> str:
    """The URL of a place in a store, without a slash at its end.

    Raises:
        StateError: The URL is none, or has credentials or options in it.
    """
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.scheme.lower() not in SCHEMES:
        msg = (
            f"{shown!r} is of no store that livejoin knows: allowed are s3://bucket/prefix, gs://bucket/prefix and "
            "abfss://container@account.dfs.core.windows.net/prefix, or the path of a folder"
        )
        raise StateError(msg)
    is_azure = parts.scheme.lower() in ("abfs", "abfss")
    if parts.query or parts.fragment or parts.password or (parts.username and not is_azure):
        msg = (
            f"the URL of {shown!r} has more than a bucket and a prefix in it; credentials and options of a store come "
            "from the environment, as AWS_ACCESS_KEY_ID, AWS_REGION and AWS_ENDPOINT_URL do"
        )
        raise StateError(msg)
    if not parts.hostname:
        msg = f"{shown!r} names no bucket; write {parts.scheme}://bucket/prefix"
        raise StateError(msg)
    if ":" in parts.netloc.rpartition("@")[2]:
        msg = (
            f"the URL of {shown!r} has a port, and a bucket has none; the address of the store comes from the "
            "environment, as AWS_ENDPOINT_URL=http://localhost:9000"
        )
        raise StateError(msg)
    if not parts.path.strip("/"):
        msg = f"{shown!r} names no place in a bucket; give a prefix that nothing else uses, as {shown.rstrip('/')}/shop"
        raise StateError(msg)
    if "%" in parts.path:
        msg = (
            f"{shown!r} has a % in it, which some programs decode and others do not; write the characters themselves, "
            "as a blank, or take another prefix"
        )
        raise StateError(msg)
    if "//" in parts.path.rstrip("/"):
        better = f"{parts.scheme}://{parts.netloc}{re.sub('/+', '/', parts.path.rstrip('/'))}"
        msg = f"the prefix of {shown!r} has two slashes in a row; write {better}"
        raise StateError(msg)
    return url.rstrip("/")


def open_objects(url: str) -> Objects:
    """The objects below a URL, with the credentials of the environment.

    Raises:
        StateError: The URL is none of a store.
        StorageError: The environment does not say what the store needs.
        ImportError: obstore is not installed.
    """
    return ObstoreObjects(check_url(url))


class ObstoreObjects:
    """S3, Google Cloud Storage or Azure; as `Objects`.

    Args:
        url: The bucket, and a prefix in it.
    """

    def __init__(self, url: str) -> None:
        try:
            import obstore  # noqa: PLC0415  # an extra, which takes a moment to load
            import obstore.exceptions  # noqa: PLC0415
            import obstore.store  # noqa: PLC0415
        except ImportError:
            msg = f"{url!r} is in an object store, which needs obstore: pip install 'livejoin[cloud]'"
            raise ImportError(msg) from None
        self.name = url
        self._ask = obstore
        self._errors = obstore.exceptions
        try:
            self._store: Any = obstore.store.from_url(
                url,
                client_options={"connect_timeout": "5s", "timeout": "120s", "allow_http": _allows_http()},
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
            )
        except BaseException as error:
            if not (isinstance(error, (obstore.exceptions.BaseError, ValueError)) or _is_panic(error)):
                raise
            msg = (
                f"{url!r} cannot be opened: {_said(error)}; look at the URL, and at what the environment says of the "
                "store, as AWS_ENDPOINT_URL with http:// or https:// in front"
            )
            raise StorageError(msg) from None

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """What obstore raises as OSError, without credentials."""
        try:
            yield
        except FileNotFoundError as error:
            if _has_no_bucket(error):
                raise NoBucketError(_said(error)) from None
            raise FileNotFoundError(_said(error)) from None
        except (self._errors.AlreadyExistsError, self._errors.PreconditionError) as error:
            raise FileExistsError(_said(error)) from None
        except (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError) as error:
            raise PermissionError(_said(error) + _WHOSE) from None
        except (self._errors.BaseError, OSError) as error:
            if raised_by_handler(error):
                raise
            if _has_no_bucket(error):
                raise NoBucketError(_said(error)) from None
            if _NOT_ALLOWED.search(str(error)):  # obstore does not say so of a list, nor where S3 answers 400
                raise PermissionError(_said(error) + _WHOSE) from None
            raise OSError(_said(error)) from None
        except BaseException as error:
            if not _is_panic(error):
                raise
            raise OSError(f"{_said(error)}; look at what the environment says of the store") from None

    def create(self, key: str, data: Data) -> None:
        with self._asked():
            self._ask.put(self._store, key, data, mode="create", use_multipart=False)

    def put(self, key: str, data: Data) -> None:
        with self._asked():
            self._ask.put(self._store, key, data)

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        with self._asked():
            if size is None:
                return bytes(self._ask.get(self._store, key).bytes())[begin:]
            if not size:  # which a store does not understand
                self._ask.head(self._store, key)
                return b""
            return bytes(self._ask.get_range(self._store, key, start=begin, length=size))

    def listed(self, under: str) -> list[Listed]:
        folder = under.rpartition("/")[0] or None  # a store lists whole folders
        with self._asked():
            found = [Listed(one["path"], one["size"]) for some in self._ask.list(self._store, folder) for one in some]
        return sorted((one for one in found if one.key.startswith(under)), key=lambda one: one.key)

    def remove(self, keys: Sequence[str]) -> None:
        for begin in range(0, len(keys), 1000):
            some = list(keys[begin : begin + 1000])
            try:
                with self._asked():
                    self._ask.delete(self._store, some)
            except FileNotFoundError:  # so Google says; it is not said which of the others are gone
                for key in some:
                    with suppress(FileNotFoundError), self._asked():
                        self._ask.delete(self._store, key)


def _allows_http() -> bool:
    """Whether the environment allows addresses without TLS, which obstore asks it for only without other options."""
    return any(os.environ.get(f"{of}_ALLOW_HTTP", "").lower() in ("true", "1") for of in ("AWS", "GOOGLE", "AZURE"))


def _has_no_bucket(error: BaseException) -> bool:
    return any(word in str(error) for word in ("NoSuchBucket", "ContainerNotFound", "bucket does not exist"))


def _is_panic(error: BaseException) -> bool:
    """Whether an error is one that Rust did not expect, as of an address that is none; it is no Exception."""
    return type(error).__name__ == "PanicException"


def _said(error: BaseException) -> str:
    """What an error says, in a line, with the store's own word, without options of addresses and names in them.

    >>> _said(OSError("404 Not Found: <?xml?><Error><Code>NoSuchBucket</Code> of http://me:secret@host/x?key=1"))
    '404 Not Found (NoSuchBucket)'
    >>> _said(OSError("Error performing PUT http://169.254.169.254/latest/api/token"))[:50]
    'no credentials of the store are in the environment'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    first, is_cut, _ = lines[0].partition("<")
    code = re.search(r"<Code>([A-Za-z0-9]+)</Code>", str(error)) if is_cut else None
    plain = re.sub(r"://[^/\s]*@", "://", re.sub(r"\?\S*", "", first)).rstrip(": ")
    said = plain[:_LONGEST] + (f" ({code[1]})" if code else "")
    if any(host in said for host in _HOSTS_WITH_CREDENTIALS):
        return f"no credentials of the store are in the environment, and this machine gives none ({said})"
    return said
