"""The deltas of a view that a pipeline writes as Parquet, as a stream for further steps of Spark.

Offsets are numbers of the pipeline's batches, so a micro-batch holds whole batches, in their order. A part of the
output appears complete, and a batch that the pipeline runs again replaces it by the same rows. The newest batch counts
when all of its parts exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from livejoin.aside import Later
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark.limited_streams import ReadLimit, SupportsTriggerAvailableNow
from livejoin.spark.paths import output_place
from livejoin.spark.sinks.output_files import names_in, readable
from livejoin.spark.sinks.part_names import missing_parts, parts_in
from livejoin.spark.sinks.ranges import range_of, ranges_in
from livejoin.spark.sinks.retention import removed_up_to
from livejoin.state.store_folder import Place, place_of

if TYPE_CHECKING:
    from livejoin.spark.distributed import manifest_source
else:  # for deltas of cells alone: it takes Spark's workers two seconds
    manifest_source = Later("livejoin.spark.distributed.manifest_source")

FORMAT = "livejoin"
_ROWS = 1 << 16
_TASKS = 64  # of Spark for what is read at once: a task takes longer to start than a small file to read
_TRIES = 3


def read_deltas(
    spark: SparkSession, folder: str | Path, view: str | None = None, since: int | None = None
) -> DataFrame:
    """The deltas of a view as a stream: its columns, ``_change_type``, ``_commit_version`` and ``_commit_timestamp``.

    Args:
        spark: The session; PySpark 4.2 or newer.
        folder: The view's folder in the Parquet output of a pipeline, ``<path>/<view>``, or its URL in a store; or,
            with ``view``, the checkpoint of a pipeline with ``mode="distributed"``, likewise. At least one batch must
            exist, as it tells the columns.
        view: A view whose deltas Spark's tasks read from the files of the cells, as soon as a batch is committed. The
            pipeline keeps them for ``keep_deltas`` batches.
        since: The first batch to read, by its number: that of Spark, from 0, as the names of files have it. It must be
            one that is kept (``keep_output``; of cells ``keep_deltas``). None is the very first one, or, of a stream
            that goes on from its checkpoint, the one where it stands.

    Raises:
        SchemaError: There is no such view, or ``since`` is no number of a batch.
        StateError: There is no batch yet, ``since`` is not kept any more or later than the next batch, or a file is
            damaged.
        StorageError: There is no part, or one cannot be read.
        PipelineError: The folder is neither one of a file system nor a place in a store.
    """
    if since is not None and (not isinstance(since, int) or isinstance(since, bool) or since < 0):
        msg = f"since= is {since!r:.80}; it takes the number of a batch, 0 or more, as the names of files have it"
        raise SchemaError(msg)
    if view is not None and not isinstance(view, str):
        msg = f"view= is {view!r:.80}; it takes the name of a view, or None for a folder of Parquet"
        raise SchemaError(msg)
    spark.dataSource.register(WrittenDeltas)
    # Spark would start a process of its own to ask for the schema.
    reader = spark.readStream.format(FORMAT)
    path = output_place(folder, "folder")
    if since is not None:
        _check_there(path, view, since)
    first = str(since or 0)
    if view is None:
        return reader.schema(_types(path)).options(since=first).load(str(path))
    options = {"view": view, "since": first}
    return reader.schema(manifest_source.types_of_view(path, view)).options(**options).load(str(path))


@dataclass(frozen=True)
class Part:
    """Rows that one task reads: a file of a batch, or some batches of a range.

    Args:
        folder: The view's folder.
        batches: The batches, of which there are several if they are in the file of a range.
        number: The number of the file among those of the batch; None for all rows of the batches.
        name: The name of the file; empty if the rows are in the file of a range.
        newest: The name of a file of the newest batch, whose columns are those of the stream.
    """

    folder: str
    batches: tuple[int, ...]
    number: int | None = None
    name: str = ""
    newest: str = ""

    @contextmanager
    def opened(self) -> Iterator[tuple[pq.ParquetFile, list[int]]]:
        """The file, and the row groups that are wanted. A file that went since it was listed may be in a range now."""
        folder = place_of(self.folder)
        for attempt in range(_TRIES):
            try:
                file, found = folder / self.name, None
                if not self.name or self.name not in names_in(folder, self.name):
                    found = range_of(ranges_in(folder), self.batches[0])
                    file = file if found is None else found.file(folder)
                with pq.ParquetFile(readable(file), page_checksum_verification=True) as rows:
                    every = list(range(rows.num_row_groups))
                    wanted = every
                    if found is not None:
                        wanted = [group for batch in self.batches for group in found.groups_of(batch, self.number)]
                    yield rows, wanted
                    return
            except FileNotFoundError:  # as the file of a range that gets its name
                if attempt == _TRIES - 1:
                    raise


class WrittenDeltas(DataSource):
    """Spark's entry to the source; its path is the view's folder, or with the option ``view`` the checkpoint."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        path, view = place_of(self.options["path"]), self.options.get("view")
        return _types(path) if view is None else manifest_source.types_of_view(path, view)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        path, view = place_of(self.options["path"]), self.options.get("view")
        if view is None:
            return WrittenDeltasReader(path, int(self.options.get("since", "0")))
        return manifest_source.ManifestReader(path, view, int(self.options.get("since", "0")), schema)


class WrittenDeltasReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream.

    Args:
        folder: The view's folder.
        since: The first batch to read.
    """

    def __init__(self, folder: Place, since: int = 0) -> None:
        self._folder = folder
        self._since = since
        self._last: int | None = None  # where a query ends that reads what is there now

    def initialOffset(self) -> dict[str, int]:
        return {"batch": self._since - 1}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = _newest(self._folder)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The newest batch with a part.

        Raises:
            StateError: The batch is older than one that was read before: the output is that of another run.
        """
        newest = _newest(self._folder) if self._last is None else self._last
        if newest < start["batch"]:
            msg = (
                f"{self._folder} has the parts of batches up to {newest}, and those up to {start['batch']} were read: "
                "the output is of another run. Start over with an empty checkpoint of this stream"
            )
            raise StateError(msg)
        return {"batch": newest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The files for Spark's tasks, of which there are 64 at most; of a file of many batches the wanted ones.

        Raises:
            StateError: Files of wanted batches have been removed.
        """
        own, ranges = parts_in(self._folder), ranges_in(self._folder)  # in this order: what goes then is in a range
        within = {batch: one for one in ranges for batch in one.groups}
        wanted = [batch for batch in sorted({*own, *within}) if start["batch"] < batch <= end["batch"]]
        if (removed := removed_up_to(self._folder)) > start["batch"]:  # behind the list of what is there
            raise _gone(self._folder, start["batch"] + 1, removed)
        folder, parts = str(self._folder), []
        newest = own[max(own)][0] if own else ""
        for one, batches in groupby(wanted, within.get):
            if one is None:
                files = [(batch, *named) for batch in batches for named in enumerate(own[batch])]
                parts += [Part(folder, (batch,), number, name, newest) for batch, number, name in files]
            else:
                parts.append(Part(folder, tuple(batches), newest=newest))
        each = max(1, -(-len(parts) // _TASKS))
        return [InputPartition(tuple(parts[begin : begin + each])) for begin in range(0, len(parts), each)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some parts."""
        for part in partition.value:
            yield from self._rows(part)

    def _rows(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        folder = place_of(part.folder)
        try:
            schema = _schema(folder, part.newest)
            with part.opened() as (rows, groups):
                for batch in rows.iter_batches(_ROWS, groups):
                    yield batch.cast(schema)
        except (OSError, pa.ArrowException) as error:
            removed = removed_up_to(folder)
            if removed >= part.batches[0]:
                raise _gone(folder, part.batches[0], removed) from error
            what = folder / part.name if part.name else f"batch {part.batches[0]} in {folder}"
            msg = f"{what} cannot be read: {error}; start the query again when that is repaired"
            raise StorageError(msg) from error


def _check_there(path: Place, view: str | None, since: int) -> None:
    """Refuse a batch to begin with that is not kept any more, or not there yet."""
    if view is not None:
        newest, oldest = manifest_source.bounds_of(path / "livejoin")
    else:
        newest, oldest = _newest(path), removed_up_to(path) + 1
    if since > newest + 1:
        msg = f"since={since} is a batch that there is not yet: the newest one in {path} is {newest}"
        raise StateError(msg)
    if since < oldest:
        keep = "keep_output" if view is None else "keep_deltas"
        msg = (
            f"the deltas of batch {since} (since=) are not kept any more: in {path} are those of {oldest} to {newest}. "
            f"Give since={oldest} and begin with the rows of livejoin.spark.read_view, or let the pipeline keep more "
            f"({keep}). A stream that goes on from its checkpoint needs no since="
        )
        raise StateError(msg)


def _gone(folder: Place, first: int, removed: int) -> StateError:
    """The error for deltas that the pipeline has removed before they were read."""
    msg = (
        f"the deltas from batch {first} on are to be read, and {folder} has not kept those up to batch {removed}: let "
        f"the pipeline keep more (keep_output), or start this stream over with an empty checkpoint and "
        f"since={removed + 1}; livejoin.spark.read_view has the rows that are there now"
    )
    return StateError(msg)


def _schema(folder: Place, name: str = "") -> pa.Schema:
    """The columns of the newest part, without Arrow's metadata; the folder is looked through if that part is not there.

    Args:
        folder: The view's folder.
        name: The name of a file of it; empty if it is to be found.
    """
    try:
        if not name or name not in names_in(folder, name):
            newest = _newest(folder)
            name = parts_in(folder, newest)[newest][0]
        found = pq.read_schema(readable(folder / name))
    except (OSError, pa.ArrowException) as error:
        msg = f"{folder} has no part whose columns can be read: {error}"
        raise StorageError(msg) from error
    plain = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in found]
    return pa.schema([pa.field(field.name, kind) for field, kind in zip(found, plain, strict=True)])


def _types(folder: Place) -> StructType:
    """The columns of the newest part as Spark's types."""
    types: StructType = from_arrow_schema(_schema(folder), prefer_timestamp_ntz=True)
    return types


def _newest(folder: Place) -> int:
    """The newest batch all of whose parts exist."""
    there = parts_in(folder)
    newest = max((batch for batch, files in there.items() if not missing_parts(batch, files)), default=None)
    if newest is None:
        msg = (
            f"{folder} has no part of a view's deltas yet; give the folder <path>/<view> of the Parquet output of a "
            "pipeline that has run"
        )
        raise StorageError(msg)
    return newest
