"""Where a stream of files reads: the paths that were given to ``spark.readStream``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame

from livejoin.spark.paths import WILD, is_remote, path_of

_OF_FILES = "StreamingRelation"


def files_of(frame: DataFrame) -> Iterator[tuple[Path, str]]:
    """The folder of each stream of files below a frame, and the pattern of the files in it; empty for all of them.

    Paths of object stores are none.
    """
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() != _OF_FILES:
            continue
        given = leaf.dataSource().options().get("path")
        if given.isEmpty() or is_remote(str(given.get())):
            continue
        path = Path(path_of(str(given.get()))).absolute()
        literal = next((place for place in (path, *path.parents) if not WILD & set(str(place))), path)
        yield literal, "" if literal == path else str(path.relative_to(literal))
