"""Paths of Delta tables, and errors when a table cannot be read or written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from livejoin.errors import PipelineError, StorageError
from livejoin.spark.paths import is_remote, local_path

_UNREADABLE = re.compile(r"[%\[\]\\]")  # deltalake takes them for something else, and stops the process at a bracket


def location(path: str | Path) -> str:
    """The location of a Delta table as deltalake takes it: a URI of an object store, or the path of a local folder.

    Raises:
        PipelineError: deltalake cannot express the path, or its ``~user`` has no home folder.
    """
    if is_remote(path):
        return str(path)
    place = str(local_path(path, "path").absolute())
    if (found := _UNREADABLE.search(place)) is not None:
        msg = f"the path {place!r} of a Delta table has {found[0]!r}, which deltalake misreads; give another folder"
        raise PipelineError(msg, key="path")
    return place


@contextmanager
def explained(place: str, what: str) -> Iterator[None]:
    """Turn errors of deltalake and of the system inside into `StorageError`.

    Args:
        place: The location of the table.
        what: The consequence, as the end of a sentence.
    """
    try:
        yield
    except (DeltaError, OSError) as error:
        msg = f"the Delta table {place}: {' '.join(str(error).split())}; {what}"
        raise StorageError(msg) from error


def columns_of(table: DeltaTable) -> pa.Schema:
    """The columns of a table, in Arrow's plain types."""
    return pa.schema(table.schema().to_arrow())
