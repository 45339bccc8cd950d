"""A folder as an object store: what Python asks by `FolderObjects`, and Spark by Hadoop's overloaded scheme of views.

So both halves of a pipeline see one store without a server and without the jars of one.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from livejoin.state import store_folder
from livejoin.state.objects import Data, Listed, open_objects
from object_server import environment_of_s3, object_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "bucket"
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_STREAMING = "org.apache.spark.sql.execution.streaming"
_BY_FILE_SYSTEM = "FileSystemBasedCheckpointFileManager"
_IMPLEMENTATION = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


class FolderObjects:
    """The objects below a URL, which are the files of a folder; as `livejoin.state.objects.Objects`.

    Args:
        root: The folder of the bucket.
        url: The URL.
    """

    def __init__(self, root: Path, url: str) -> None:
        self.name = url
        self._folder = root / url.split("://", 1)[1].partition("/")[2]

    def _draft(self, data: Data) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder.parent / f".{uuid.uuid4().hex}"
        draft.write_bytes(data)
        return draft

    def _of(self, key: str) -> Path:
        file = self._folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def create(self, key: str, data: Data) -> None:
        draft = self._draft(data)
        try:
            os.link(draft, self._of(key))
        finally:
            draft.unlink()

    def put(self, key: str, data: Data) -> None:
        self._draft(data).replace(self._of(key))

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        try:
            return (self._folder / key).read_bytes()[begin : None if size is None else begin + size]
        except (NotADirectoryError, IsADirectoryError) as error:
            raise FileNotFoundError(key) from error

    def listed(self, under: str) -> list[Listed]:
        found = []
        for file in self._folder.rglob("*"):
            key = file.relative_to(self._folder).as_posix()
            with suppress(FileNotFoundError):  # a draft of Spark
                if key.startswith(under) and file.is_file():
                    found.append(Listed(key, file.stat().st_size))
        return sorted(found, key=lambda one: one.key)

    def remove(self, keys: Sequence[str]) -> None:
        for key in keys:
            (self._folder / key).unlink(missing_ok=True)


class FolderContent(MutableMapping[str, bytes]):
    """The files of a folder by their paths in it, as `object_server.ObjectServer.there`.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._objects = FolderObjects(root, f"s3://{BUCKET}/")

    def __getitem__(self, key: str) -> bytes:
        try:
            return self._objects.read(key)
        except FileNotFoundError as error:
            raise KeyError(key) from error

    def __setitem__(self, key: str, data: bytes) -> None:
        self._objects.put(key, data)

    def __delitem__(self, key: str) -> None:
        self._objects.remove([key])

    def __iter__(self) -> Iterator[str]:
        return iter([one.key for one in self._objects.listed("")])

    def __len__(self) -> int:
        return len(self._objects.listed(""))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (self._root / key).is_file()


@contextmanager
def served_store_in(root: Path, spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """As `store_in`, for processes of Spark's tasks and of cells too: they ask by obstore, as the environment says."""
    with store_in(root, spark) as named, object_server() as server:
        server.there = FolderContent(root)
        environment = environment_of_s3(server.url)
        store_folder._opened.cache_clear()
        with (
            mock.patch.object(store_folder, "open_objects", open_objects),
            mock.patch.dict(os.environ, environment),
            mock.patch.dict(spark.sparkContext.environment, environment),
        ):
            yield named


@contextmanager
def store_in(root: Path, spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """Let ``s3a://`` be a folder, for this process and for Spark; gives the URL of a place.

    Tasks of Spark that are processes of their own see it as the folder that it is.
    """
    mounted = f"fs.viewfs.mounttable.{BUCKET}.linkFallback"
    settings = {
        "fs.s3a.impl": _IMPLEMENTATION,
        "fs.s3a.impl.disable.cache": "true",
        "fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        mounted: root.as_uri(),
    }
    assert spark.sparkContext._jsc is not None
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for key, value in settings.items():
        hadoop.set(key, value)
    package = _STREAMING if spark.version.startswith("4.0.") else f"{_STREAMING}.checkpointing"
    spark.conf.set(
        _MANAGER, f"{package}.{_BY_FILE_SYSTEM}"
    )  # the one of Hadoop's file contexts knows no overloaded schemes
    store_folder._opened.cache_clear()
    try:
        with mock.patch.object(store_folder, "open_objects", lambda url: FolderObjects(root, url)):
            yield lambda place: f"s3a://{BUCKET}/{place}"
    finally:
        store_folder._opened.cache_clear()
        spark.conf.unset(_MANAGER)
        for key in settings:
            hadoop.unset(key)
