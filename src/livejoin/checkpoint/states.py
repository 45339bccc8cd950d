"""The rows of a view after a batch, read from the files of a checkpoint while its query may run.

The files are those that a restart would read: a snapshot, and the batches behind it. A reader writes nothing. A query
that runs meanwhile may remove files that are older than what it keeps; then the reader starts again with newer ones, or
says that the batch is not kept any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from livejoin.checkpoint.history import History
from livejoin.checkpoint.instants import with_instants
from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.difference import types_of
from livejoin.database.snapshots.tables import NO_LIMITS
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.sql import names_read
from livejoin.state.store_folder import Place

_NO_JOB = Job({}, {}, {})
_TRIES = 3
_PAUSE = 0.2  # seconds, in which a query that removes files has come to an end with it

Found = TypeVar("Found")


class NotKeptError(StateError):
    """A version that a checkpoint does not hold any more, or does not hold yet."""


@dataclass(frozen=True)
class KeptState:
    """A state that the files of a checkpoint still hold.

    Args:
        folder: The folder of the checkpoint's engine.
        batch: The state is the one after this batch.
        version: The number of its commit; None if an earlier version of livejoin did not note it.
        job: The tables and views of that batch.
    """

    folder: Place
    batch: int
    version: int | None
    job: Job


def kept_state(folder: Place, version: int | None) -> KeptState:
    """The state after a commit.

    Args:
        folder: The folder of the checkpoint's engine.
        version: The number of the commit, as ``_commit_version`` in deltas has it; None for the newest state.

    Raises:
        StateError: There is no batch yet, the version is not kept or does not exist, or a file is damaged.
        StorageError: The disk refuses to read.

    Cost: O(1); with a version O(batches that are kept).
    """
    with closing(History(folder, is_owner=False)) as history:

        def read() -> KeptState:
            batch = _newest(history) if version is None else _batch_of(history, version)
            return KeptState(folder, batch, _version_of(history, batch), _job_of(history, batch))

        return tried(read)


def rows_at(state: KeptState, view: str) -> Iterator[pa.RecordBatch]:
    """The rows of a view in a state.

    Args:
        state: The state.
        view: The view's name, as the job has it.

    Raises:
        StateError: The batch is not kept any more, or a file is damaged.
        StorageError: The disk refuses to read.

    Cost: O(rows of the tables), applying the batches behind the snapshot, and loading the views that this one reads.
    """
    database = _tables(state)
    for name in views_below(state.job, view):
        database.create_view(name, state.job.views[name], deltas=False, allow_product=state.job.allow_product)
    columns = columns_of(database, view)
    for batch in database.views[view].batches():
        yield as_columns(batch, columns)


def bound_view(bound: Database, job: Job, view: str, folder: Place) -> tuple[str, pa.Schema]:
    """The name of a view as its job has it, and its columns.

    Args:
        bound: A database with the tables and views of the job, which may be empty.
        job: The job.
        view: The name in any case.
        folder: The checkpoint, for the message.

    Raises:
        SchemaError: There is no such view.
    """
    names = {name.lower(): name for name in job.views}
    if not isinstance(view, str):
        msg = f"view= is {view!r:.80}; it takes the name of a view, as {', '.join(map(repr, job.views))}"
        raise SchemaError(msg)
    if view.lower() not in names:
        known = ", ".join(map(repr, job.views))
        msg = f"there is no view {view!r} in the checkpoint {folder}; its views are {known}"
        raise SchemaError(msg)
    name = names[view.lower()]
    return name, columns_of(bound, name)


def columns_of(database: Database, view: str) -> pa.Schema:
    """The columns of a view as readers get them: instants have a time zone, and texts are plain."""
    found = with_instants(database.views[view].schema, types_of(database, view)).remove_metadata()
    return pa.schema([field.with_type(_plain(field.type)) for field in found])


def as_columns(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """A batch with the names and types of columns, which are its own, by their places."""
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(batch.columns, columns, strict=True)], schema=columns
    )


def views_below(job: Job, view: str) -> list[str]:
    """A view and those that it reads at any depth, each after those that it reads."""
    names = {name.lower(): name for name in job.views}
    found, left = set[str](), [view]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [names[read] for read in names_read(job.views[name]) if read in names]
    return [name for name in job.views if name in found]


def not_kept(version: int, first: int, last: int, folder: Place, begins: int = 1) -> NotKeptError:
    """The error for a version that is not there.

    Args:
        version: The version.
        first: The first one that is there.
        last: The last one that is there.
        folder: The checkpoint.
        begins: The number of the very first commit.
    """
    if version > last:
        return NotKeptError(f"there is no version {version} in {folder} yet; the newest one is {last}")
    if version < begins:
        return NotKeptError(
            f"there never was a version {version} in {folder}: the first commit is version {begins}, and kept are "
            f"{first} to {last}. Read one of these"
        )
    return NotKeptError(
        f"version {version} is not kept in {folder} any more; kept are {first} to {last}. Read one of these, or let "
        "the pipeline keep more by keep_versions= of RunOptions"
    )


def tried(read: Callable[[], Found]) -> Found:
    """Read files that a running query may remove at any moment: where some are gone, others are there."""
    for attempt in range(_TRIES):
        try:
            return read()
        except NotKeptError:
            raise
        except (StateError, StorageError):
            if attempt == _TRIES - 1:
                raise
            time.sleep(_PAUSE)
    raise AssertionError


def gone(version: int | None, oldest: int | None, folder: Place) -> NotKeptError:
    """The error for a state that a running query has removed since somebody asked for it."""
    which = "the version of this frame" if version is None else f"version {version}"
    rest = "" if oldest is None else f"; kept are those from version {oldest} on"
    return NotKeptError(
        f"{which} is not kept in {folder} any more{rest}: the query has gone on since this frame was made. Call "
        "read_view again for the newest rows, or let the pipeline keep more by keep_versions= of RunOptions"
    )


def _tables(state: KeptState) -> Database:
    """The tables of a state, without views."""
    with closing(History(state.folder, is_owner=False)) as history:

        def read() -> Database:
            try:
                found = history.recover(_NO_JOB, NO_LIMITS, until=state.batch)
                if found.last_batch != state.batch:
                    msg = f"the log in {history.log.path} ends before batch {state.batch}; restore it from a backup"
                    raise StateError(msg)
            except (StateError, StorageError) as error:
                if (oldest := _oldest(history)) > state.batch:
                    raise gone(state.version, _version_of(history, oldest), state.folder.parent) from error
                raise
            return found.database

        return tried(read)


def _oldest(history: History) -> int:
    """The first batch whose state can be read: one with a snapshot, or the first of all."""
    batches, numbers = history.log.batches(), history.snapshots.numbers()
    return 0 if not numbers or (batches and not batches[0]) else numbers[0]


def _kept(history: History) -> tuple[list[int], list[int]]:
    """The batches with a snapshot, and the done ones whose state can be read."""
    done, oldest = history.log.done(), _oldest(history)
    return history.snapshots.numbers(), [batch for batch in done if batch >= oldest]


def _newest(history: History) -> int:
    numbers, done = _kept(history)
    if not numbers and not done:
        msg = f"the checkpoint in {history.folder.parent} has no batch yet; read it when the query has committed one"
        raise StateError(msg)
    return max([*numbers, *done])


def _batch_of(history: History, version: int) -> int:
    """The last batch whose commit is a version or an earlier one."""
    _newest(history)
    numbers, done = _kept(history)
    found_of = {batch: _version_of(history, batch) for batch in {*numbers, *done}}
    versions = {batch: known for batch, known in found_of.items() if known is not None}
    if not versions:
        msg = (
            f"an earlier version of livejoin wrote the batches in {history.folder}, and did not note their versions: "
            "read the newest rows, without version="
        )
        raise StateError(msg)
    found = max((batch for batch, known in versions.items() if known <= version), default=None)
    last = max(versions.values())
    if found is None or version > last:
        raise not_kept(version, min(versions.values()), last, history.folder.parent)
    return found


def _version_of(history: History, batch: int) -> int | None:
    """The version after a batch; None if an earlier version of livejoin did not note it."""
    if batch in history.snapshots.numbers():
        return history.snapshots.head(batch)[0]
    known = history.log.note(batch).get("version")
    return None if known is None else int(known)


def _job_of(history: History, batch: int) -> Job:
    """The job of a batch."""
    if batch in history.snapshots.numbers():
        return Job.from_plain(history.snapshots.head(batch)[1].get("job"))
    return history.job(str(history.log.note(batch).get("job")), _NO_JOB)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if pa.types.is_large_string(kind) else kind
