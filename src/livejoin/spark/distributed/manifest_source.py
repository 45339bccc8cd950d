"""The deltas of a view over spread tables as a stream: Spark's tasks read the files that manifests list.

Offsets are batch numbers, so a micro-batch holds whole batches, in their order. A batch can be read when its manifest
exists, whatever the sink does, and as long as the pipeline keeps it (``keep_deltas``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from livejoin.checkpoint.batch_delta import timed, with_time
from livejoin.distributed.deltas import ViewFiles, read_view, read_views, time_of
from livejoin.distributed.manifest import Manifest, batches_in, read_manifest
from livejoin.errors import StateError
from livejoin.spark.limited_streams import ReadLimit, SupportsTriggerAvailableNow
from livejoin.state.store_folder import Place

_ROWS = 1 << 16


@dataclass(frozen=True)
class _Part:
    """Files with rows of a delta that one task reads.

    Args:
        view: The layout of the view's files.
        files: The names of the files.
        manifest: The manifest of the batch, without the states of cells.
    """

    view: ViewFiles
    files: tuple[str, ...]
    manifest: Manifest


class ManifestReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream.

    Args:
        checkpoint: The pipeline's checkpoint: a folder, or a place in a store.
        view: The view.
        since: The first batch to read.
        types: The columns of the stream, as from `types_of_view`.
    """

    def __init__(self, checkpoint: Place, view: str, since: int, types: StructType) -> None:
        self._folder = checkpoint / "livejoin"
        self._view = view
        self._since = since
        self._types = types
        self._last: int | None = None  # where a query ends that reads what is there now

    def initialOffset(self) -> dict[str, int]:
        return {"batch": self._since - 1}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._newest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The newest committed batch.

        Raises:
            StateError: The batch is older than one that was read before, or needed batches are not kept any more.
        """
        newest = self._newest() if self._last is None else self._last
        if newest < start["batch"]:
            msg = (
                f"{self._folder} has the batches up to {newest}, and those up to {start['batch']} were read: it is of "
                "another run. Start over with an empty checkpoint of this stream"
            )
            raise StateError(msg)
        return {"batch": newest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """One partition for each file. A batch is one partition if rows of one cell may cancel those of another.

        The batches may be of several jobs: one before the view existed has no rows of it.

        Raises:
            SchemaError: The view does not exist any more.
            StateError: A batch is not kept any more, the view has other columns in it, or a file is damaged.
        """
        wanted = range(start["batch"] + 1, end["batch"] + 1)
        there = set(batches_in(self._folder))
        if gone := [batch for batch in wanted if batch not in there]:
            msg = (
                f"the deltas of batch {gone[0]} in {self._folder} are not kept any more; kept are those of batches "
                f"{min(there)} to {max(there)}: let the pipeline keep more by keep_deltas=, or start this stream over "
                f"with an empty checkpoint, from a batch that is there (since={min(there)})"
            )
            raise StateError(msg)
        manifests = [read_manifest(self._folder, batch) for batch in wanted]
        if not manifests:
            return []
        read_view(self._folder, manifests[-1].plan, self._view)
        views = {
            plan: read_views(self._folder, plan).get(self._view.lower()) for plan in {one.plan for one in manifests}
        }
        return [InputPartition(part) for one in manifests for part in self._parts(one, views[one.plan])]

    def _parts(self, manifest: Manifest, view: ViewFiles | None) -> Iterator[_Part]:
        if view is None:
            return
        if (columns := _types(view).simpleString()) != self._types.simpleString():
            msg = (
                f"in batch {manifest.batch_id} of {self._folder} view {self._view!r} has the columns {columns}, and "
                f"the stream {self._types.simpleString()}: start the stream over with an empty checkpoint, "
                "from a batch in which it has those of now (since=)"
            )
            raise StateError(msg)
        names = {name.lower(): files for name, files in manifest.deltas.items()}
        files = names.get(self._view.lower(), ())
        manifest = Manifest(manifest.batch_id, manifest.epoch, manifest.plan, manifest.time)
        if view.types is None:
            yield from (_Part(view, (file,), manifest) for file in files)
        elif files:
            yield _Part(view, files, manifest)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        part: _Part = partition.value
        delta = part.view.delta(self._folder, part.files, part.manifest.batch_id)
        yield from timed(delta, time_of(part.manifest)).to_batches(_ROWS)

    def _newest(self) -> int:
        return newest_of(self._folder)


def bounds_of(folder: Place) -> tuple[int, int]:
    """The newest and the oldest batch of a pipeline whose deltas are kept; raises as `newest_of`."""
    newest = newest_of(folder)
    return newest, min(batches_in(folder))


def newest_of(folder: Place) -> int:
    """The newest batch of a pipeline.

    Raises:
        StateError: There is no batch.
        StorageError: There is no such folder.
    """
    batches = batches_in(folder)
    if not batches:
        msg = (
            f"{folder} has no batch yet; give the folder of the checkpoint of a pipeline with mode='distributed' that "
            "has run"
        )
        raise StateError(msg)
    return batches[-1]


def types_of_view(checkpoint: Place, view: str) -> StructType:
    """The columns of a view's deltas as Spark's types.

    Raises:
        SchemaError: There is no such view.
        StateError: There is no batch yet, or a file is damaged.
        StorageError: There is no such folder.
    """
    folder = checkpoint / "livejoin"
    manifest = read_manifest(folder, newest_of(folder))
    return _types(read_view(folder, manifest.plan, view))


def _types(view: ViewFiles) -> StructType:
    """The columns of a view's deltas as Spark's types."""
    columns = with_time(view.schema)
    types: StructType = from_arrow_schema(columns.remove_metadata(), prefer_timestamp_ntz=True)
    return types
