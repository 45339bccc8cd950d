"""Files of changes as streaming frames.

For every kind of feed the frame has the table's columns, ``_change_type`` if the feed has more than insertions, and
``_seq`` if the files have it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CORRUPT, ORIGIN, REFUSED, SEQUENCE, Table
from livejoin.schema.names import backticked
from livejoin.spark.debezium.decimals import Decimals
from livejoin.spark.debezium.rows import Written
from livejoin.spark.debezium.times import IntegerTimes
from livejoin.spark.feeds import from_envelopes, from_versions, upserts
from livejoin.spark.lines import as_texts, with_decimals, with_reasons
from livejoin.spark.paths import hadoop_pattern, streamed

Feed = Literal["append", "change-feed", "debezium", "delta", "upsert"]
ARRIVALS = "arrivals"
"""The folder below a checkpoint for files that have to be put in order first."""
_FIRST_ARRIVAL = 1_000_000_000
_OF_TEXTS = ("mode", "columnnameofcorruptrecord")


@dataclass(frozen=True)
class FileSource:
    """The files that carry the changes of a table.

    Args:
        table: The table.
        columns: Name and SQL type of the files' columns in their order, ``_seq``, ``_change_type`` and
            ``_commit_version`` among them. For Debezium envelopes the columns of the inner rows, and ``_seq`` if it
            stands beside ``op``.
        format: Spark's name of the format.
        path: A file, a folder or a pattern.
        options: Spark's options of the format.
        feed: The kind of rows in the files.
        apply_as_deletes: With the feed ``upsert``: the condition, in Spark SQL, of rows that delete their key.
        integer_times: With the feed ``debezium``: the unit of times that are integers; None where none may be.
        decimals: With the feed ``debezium``: how decimals are written; None where only what cannot be mistaken may be.
        by_name: Whether the files arrive in the order of their names; else in that of their modification times.
    """

    table: Table
    columns: tuple[tuple[str, str], ...]
    format: str
    path: Path
    options: Mapping[str, str]
    feed: Feed = "append"
    by_name: bool = False
    apply_as_deletes: str | None = None
    integer_times: IntegerTimes | None = None
    decimals: Decimals | None = None

    @property
    def place(self) -> tuple[Path, str]:
        """The longest part of the path that exists literally, and the pattern below it; empty if all of it exists.

        So an existing folder ``a[1]`` is no pattern, and one may follow below it.
        """
        path = self.path.absolute()
        there = next(place for place in (path, *path.parents) if place.exists())
        return there, "" if there == path else str(path.relative_to(there))

    def files(self) -> list[Path]:
        """The present files, in the order in which they arrive.

        Files with one modification time have no particular order, because Spark does not promise one.
        """
        there, pattern = self.place
        found = there.glob(pattern) if pattern else there.iterdir() if there.is_dir() else [there]
        visible = [file for file in sorted(found) if file.is_file() and not file.name.startswith(("_", "."))]
        return visible if self.by_name else sorted(visible, key=lambda file: file.stat().st_mtime)

    @property
    def has_no_order(self) -> bool:
        """Whether changes of one key may come in one batch with nothing that orders them, out of several files."""
        limit = next((value for key, value in self.options.items() if key.lower() == "maxfilespertrigger"), "")
        is_ordered = self.table.sequence_by is not None or SEQUENCE in dict(self.columns) or self.feed == "delta"
        is_one = self.path.is_file() or limit == "1"
        return self.table.takes_place and not (is_ordered or is_one or self.table.static)

    def batches(self) -> int:
        """How many micro-batches the present files make."""
        limit = next((value for key, value in self.options.items() if key.lower() == "maxfilespertrigger"), "")
        return -(-len(self.files()) // int(limit)) if limit.isdigit() and int(limit) else 1


def read_changes(spark: SparkSession, source: FileSource, scratch: Path | None) -> DataFrame:
    """A streaming frame over the files of a source; a batch frame for a static table.

    A line of JSON or CSV that is no row of the table, in the mode ``FAILFAST``, becomes a row with its text in
    `CORRUPT` and the file in `ORIGIN`, so that it can be left out; where one value is wrong, `REFUSED` says which. In a
    static table such a line ends the query, since its rows are no changes. A line of CSV is read to its end, also where
    views do not read all of its columns; see `livejoin.spark.lines` for DECIMAL.

    Args:
        spark: The session.
        source: The source.
        scratch: A folder below the checkpoint, for files that have to be put in order first; None where the
            checkpoint is in a store, and no files have to.

    Raises:
        PipelineError: Spark reads no stream from a folder of that name.
        SchemaError: A column has the name `CORRUPT`, `ORIGIN` or `REFUSED`.
    """
    place, pattern = source.place
    for name, _ in source.columns:
        if name.lower() in (CORRUPT, ORIGIN, REFUSED):
            msg = f"table {source.table.name!r}: column name {name!r} is reserved for what is no row of the table"
            raise SchemaError(msg)
    is_arranged = not source.table.static and (source.by_name or place.is_file())
    if is_arranged:
        assert scratch is not None, "a pipeline with a checkpoint in a store is refused when it is read"
        place, pattern = scratch / quote(source.table.name, safe=""), ""
        arrange(source.files(), place)
    written = None
    is_strict = _is_strict(source)
    texts = as_texts(source.columns, source.format, source.options) if is_strict else {}
    if source.feed == "debezium":
        sequence = "".join(f"{name} {kind}, " for name, kind in source.columns if name == SEQUENCE)
        row = ", ".join(f"`{name}`: {kind}" for name, kind in source.columns if name != SEQUENCE)
        declared = T.StructType.fromDDL(row)
        assert isinstance(declared, T.StructType)
        formats = {key.lower(): value for key, value in source.options.items()}
        written = Written(declared, source.integer_times, source.decimals, formats)
        inner = written.as_written().toDDL()
        schema = f"{sequence}op STRING, before STRUCT<{inner}>, after STRUCT<{inner}>"
    else:
        schema = ", ".join(f"{backticked(name)} {'STRING' if name in texts else kind}" for name, kind in source.columns)
    name = f"table {source.table.name!r}"
    if source.table.static:
        where = hadoop_pattern(place, pattern)
    else:
        where = streamed(place, name, pattern)
        for file in source.files():
            streamed(place / file.name, name)
    options = dict(source.options)
    if is_strict and source.format == "csv":
        options = {"columnPruning": "false"} | options
    if is_strict and not source.table.static:
        options = {key: value for key, value in options.items() if key.lower() not in _OF_TEXTS} | {
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
        }
        schema = f"{schema}, {CORRUPT} STRING"
    reader = spark.read if source.table.static else spark.readStream
    frame = reader.format(source.format).options(**options).schema(schema).load(where)
    if CORRUPT in frame.columns:
        frame = frame.withColumn(ORIGIN, _origin(source if is_arranged else None))
    frame = with_decimals(frame, texts, ends=source.table.static)
    names = [column.name for column in source.table.columns]
    match source.feed:
        case "upsert":
            changes = upserts(frame, source.table.name, source.apply_as_deletes)
        case "debezium":
            return from_envelopes(frame, names, source.table.takes_place, written=written)
        case "delta":
            changes = from_versions(frame, names, source.table.takes_place)
        case _:
            changes = frame
    return with_reasons(changes, source.columns, source.format, source.options) if CORRUPT in frame.columns else changes


def _origin(arranged: FileSource | None) -> Expression:
    """The file of a row, as a URI; for files that were copied into an order, the original file.

    Args:
        arranged: The source of copied files; None if the files are read where they are.
    """
    if arranged is None:
        return F.col("_metadata.file_path")
    folders = {file.parent for file in arranged.files()}
    folder = f"{folders.pop().absolute().as_uri()}/" if len(folders) == 1 else ""
    return F.concat(F.lit(folder), F.element_at(F.split("_metadata.file_path", "/"), -1))


def _is_strict(source: FileSource) -> bool:
    """Whether unreadable lines are errors, to be treated by ``on_bad_rows``."""
    given = {key.lower(): value for key, value in source.options.items()}
    return source.format in ("csv", "json") and given.get("mode", "").upper() == "FAILFAST"


def arrange(files: list[Path], folder: Path) -> None:
    """Copy files into a folder so that Spark takes them in the given order.

    Spark's file source goes by modification times. Files that came with ``git clone`` or ``cp`` have the times of the
    copying, often all the same. The copies get times one second apart. Files that were copied before stay as they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = sum(1 for file in folder.iterdir() if not file.name.startswith("."))
    new = [file for file in files if not (folder / file.name).exists()]
    for position, file in enumerate(new, start=known):
        draft = folder / f".{file.name}.copying"
        shutil.copyfile(file, draft)
        os.utime(draft, (_FIRST_ARRIVAL + position, _FIRST_ARRIVAL + position))
        draft.replace(folder / file.name)
