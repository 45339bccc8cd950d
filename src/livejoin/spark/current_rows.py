"""The rows of a view as a batch frame: what is there now, not what has changed.

Spark's tasks read the rows from the files of the checkpoint: one task the whole view of an engine on the driver, or one
task for each cell. Nothing goes through the driver, and the query, if it runs, does not notice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from pickle import loads

import pyarrow as pa
from pyspark.cloudpickle import dumps
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from livejoin.checkpoint.states import bound_view, kept_state, rows_at
from livejoin.distributed.declaration import bound_of
from livejoin.distributed.states import parts_of
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark.paths import output_place
from livejoin.state.store_folder import Place

Part = Callable[[], Iterator[pa.RecordBatch]]
Read = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def read_view(spark: SparkSession, checkpoint: str | Path, view: str, version: int | None = None) -> DataFrame:
    """The rows of a view after a commit, as a batch frame with the columns of the view.

    The frame is of one commit, whatever the query does meanwhile: that of the moment of this call, or that of
    ``version``. Actions on the frame read the files of the checkpoint, so they have to be there still: the newest ten
    batches are, or as many as ``keep_versions`` of `RunOptions` says. Call ``read_view`` again for newer rows.

    Args:
        spark: The session.
        checkpoint: The checkpoint of a pipeline in either mode, while it runs or not. The hosts of the executors must
            see the folder; of a store they need livejoin, and its credentials in their environment.
        view: The name of the view.
        version: The number of a commit, as ``_commit_version`` of deltas has it; None for the newest one.

    Raises:
        SchemaError: There is no such view, or ``version`` is no number.
        StateError: There is no checkpoint, it has no batch yet, the version is not there, or a file is damaged.
        StorageError: The disk refuses to read.
        PipelineError: ``checkpoint`` is missing, or names neither a folder nor a place in a store.

    Cost: a look at the newest files. Each action reads the tables of the view as a restart does, and makes the view
        of them, in one task or one a cell.
    """
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        msg = f"version= is {version!r:.80}; it takes the number of a commit, as _commit_version of deltas has it"
        raise SchemaError(msg)
    given = output_place(checkpoint, "checkpoint")
    folder = given / "livejoin"
    if not _is_there(folder):
        msg = f"there is no checkpoint in {str(given)!r}; give the folder that maintain() has as checkpoint="
        raise StateError(msg)
    if _is_there(folder / "log"):
        state = kept_state(folder, version)
        name, columns = bound_view(bound_of(state.job), state.job, view, given)
        parts: list[Part] = [partial(rows_at, state, name)]
    else:
        found, columns = parts_of(folder, view, version)
        parts = [part.rows for part in found]
    types = from_arrow_schema(columns, prefer_timestamp_ntz=True)
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(_read(folder, parts), types)


def _is_there(folder: Place) -> bool:
    try:
        return folder.is_dir()
    except OSError as error:
        msg = f"{folder} could not be read: {error}; try again when that is mended"
        raise StorageError(msg) from error


def _read(folder: Place, parts: Sequence[Part]) -> Read:
    """What a task does that gets the numbers of parts.

    It names nothing of this module before it has looked for it, so that a Python without livejoin can say so.
    """
    packed: bytes = dumps((folder, tuple(parts)))  # type: ignore[no-untyped-call]
    ours = sys.executable

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys  # noqa: PLC0415  # that of the worker

        try:
            from livejoin.spark.current_rows import rows_of_parts  # noqa: PLC0415
        except ImportError as error:
            msg = (
                f"Spark's workers run {sys.executable}, which cannot import livejoin ({error}). Set "
                f"spark.pyspark.python or PYSPARK_PYTHON to a Python that has it, as {ours}, before the session "
                "starts; livejoin.spark.local_session does so. Or install livejoin there"
            )
            raise RuntimeError(msg) from None
        yield from rows_of_parts(packed, numbers)

    return read


def rows_of_parts(packed: bytes, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of parts; all numbers are taken, or Spark ends the process of the task.

    Args:
        packed: The folder of the checkpoint and the parts, as `read_view` hands them to the tasks.
        numbers: The numbers of the parts that the task reads.
    """
    folder, parts = loads(packed)
    _check_seen(folder)
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from parts[number]()


def _check_seen(folder: Place) -> None:
    """Refuse a host that does not see the checkpoint."""
    if isinstance(folder, Path) and not _is_there(folder):
        msg = (
            f"this host does not see {folder}, where the rows of the view are: give the pipeline a folder for its "
            "checkpoint that all hosts of the executors see, or read it where the driver is, with a local session"
        )
        raise StorageError(msg)
