"""The files of a checkpoint, and reading its state from them.

``log`` holds the batches, ``snapshots`` the tables after two of them, ``jobs`` the declarations of every job that
brought batches (each named by its fingerprint), and ``static`` the rows of static tables. The state is the newest
snapshot and the batches after it. A missing or damaged file is an error that names the file and says what is left; it
never gives another state.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from livejoin.checkpoint.batch import Ends, LoggedBatch, decoded, encoded, ends_of
from livejoin.checkpoint.change import moved
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.log import Log
from livejoin.checkpoint.snapshots import Snapshots
from livejoin.checkpoint.static_tables import RowsOf
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.database import Database
from livejoin.database.refreshing import apply_any
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.tables import Limits, database_of, empty, image_of_tables, load_tables, of_image
from livejoin.database.transactions.pieces import apply_in_pieces, fit_pieces
from livejoin.errors import LivejoinError, MemoryLimitError, StateError, StorageError
from livejoin.schema import Table
from livejoin.state.store_folder import Place, at, made

logger = logging.getLogger("livejoin")

_OVER = "restore the whole checkpoint and the output from one backup, or start over with both of them empty"


@dataclass
class Recovered:
    """The state of a checkpoint as it was found; the holder may change the database.

    Args:
        database: The tables after the last done batch, without views.
        job: The job of that batch; None if there was no batch yet.
        last_batch: The number of that batch; None if there was none.
        parts: The parts of the output up to that batch.
        pending: The batch after it, which was taken and is not done; None if there is none.
        batches: How many batches were applied again.
        changes: How many changes these batches have.
        seconds: How long the recovery took.
        ends: How far the sources are read with the last batch; None where nobody said it.
    """

    database: Database
    job: Job | None
    last_batch: int | None
    parts: WrittenParts
    pending: LoggedBatch | None = None
    batches: int = 0
    changes: int = 0
    seconds: float = 0.0
    ends: Ends | None = None


class History:
    """The files of a checkpoint, opened to be written by one process, or to be read only; mutable.

    Args:
        folder: The checkpoint's folder; made if it is missing and this process writes.
        is_owner: Whether this process writes.
        rows_of: Reads the rows of a static table that is new, with the columns that are kept; None if no table can be
            new.
        behind: As for `livejoin.checkpoint.snapshots.Snapshots`.

    Attributes:
        fresh: The static tables that were new and were read from their sources.

    Raises:
        StateError: Another process opened the checkpoint at the same moment.
        StorageError: The disk refuses.
    """

    def __init__(self, folder: Place, is_owner: bool = True, rows_of: RowsOf | None = None, behind: int = 0) -> None:
        self.folder = folder
        self._rows_of = rows_of
        self._is_owner = is_owner
        self.fresh = set[str]()
        self.log = Log(folder / "log", is_owner)
        self.snapshots = Snapshots(folder / "snapshots", behind)

    def close(self) -> None:
        """Wait for the snapshot that is being written, and close the files."""
        self.snapshots.wait()
        self.log.close()

    def remember(self, job: Job) -> None:
        """Store the declarations of a job whose batches come from now on.

        Raises:
            StorageError: The disk refuses.
        """
        name = f"{job.digest}.json"
        try:
            with made(self._jobs) as folder:
                if name not in folder.names():
                    with suppress(FileExistsError):
                        folder.publish(name, json.dumps(job.plain(), indent=1).encode())
        except OSError as error:
            msg = f"the declarations could not be written to {self._jobs}: {error}; repair that and start again"
            raise StorageError(msg) from error

    def recover(self, now: Job, limits: Limits, until: int | None = None) -> Recovered:
        """Read the state of the checkpoint; for a new checkpoint the empty tables of the present job.

        Args:
            now: The present job.
            limits: The limits of the database.
            until: The done batch after which the state is read; None for the last one.

        Raises:
            StateError: A file is missing or damaged.
            StorageError: The disk refuses to read.
            MemoryLimitError: The state takes more than is allowed.

        Cost: O(rows of the tables), and applying the batches after the snapshot.
        """
        started = time.perf_counter()
        if self._is_owner:
            self._take_over(now)
        numbers, batches, done = self.snapshots.numbers(), self.log.batches(), set(self.log.done())
        if until is not None:
            numbers = [number for number in numbers if number <= until]
            batches = [number for number in batches if number <= until]
        found = self._start(numbers, batches, limits)
        behind = [number for number in batches if found.last_batch is None or number > found.last_batch]
        self._check_gaps(found.last_batch, behind, done)
        for number in behind:
            batch = self._batch(number, number == behind[-1], number in done)
            if number not in done:
                found.pending = batch
                break
            note = self.log.note(number)
            self._replay(found, batch, str(note.get("job")), now, limits)
            found.parts.add(number, map(str, note.get("parts", ())))
        if found.job is None:
            found.database = self._begun(now, limits, self._rows_of if found.pending is None else None)
        if self._is_owner:
            self.snapshots.remove_unfinished()
        found.seconds = time.perf_counter() - started
        return found

    def _begun(self, job: Job, limits: Limits, rows_of: RowsOf | None) -> Database:
        """The tables of a job before its first batch: empty, except for static ones."""
        database = of_image(empty(job.tables.values()), limits)
        self._fill(database, job.tables.values(), job, rows_of)
        return database

    def moved(self, database: Database, job: Job, limits: Limits) -> Database:
        """Convert the tables for another job by `livejoin.checkpoint.change.moved`, and fill new static tables."""
        return self._moved(database, job, limits, self._rows_of)

    def _moved(self, database: Database, job: Job, limits: Limits, rows_of: RowsOf | None) -> Database:
        before = set(database.tables)
        database = moved(database, job, limits)
        self._fill(database, [table for name, table in job.tables.items() if name not in before], job, rows_of)
        return database

    def _fill(self, database: Database, tables: Iterable[Table], job: Job, rows_of: RowsOf | None) -> None:
        """Insert the rows of static tables in one commit. The rows are stored beside the log, which has no such batch.

        Args:
            database: The database with the tables; changed.
            tables: Some of the static tables.
            job: The job that the tables came with.
            rows_of: Reads the rows of a new table. None if batches of this job exist, so that the rows must be stored
                already.

        Raises:
            StateError: The stored rows are missing or damaged.
        """
        rows = {table.name: self._static(table, job, rows_of) for table in tables if table.static}
        if rows:
            database.apply(dict(rows))

    def _static(self, table: Table, job: Job, rows_of: RowsOf | None) -> pa.Table:
        """The stored rows of a static table from when it came with a job; a table may go and come again."""
        folder, before = self.folder / "static", f"{quote(table.name, safe='')}.batch"
        name = f"{quote(table.name, safe='')}-{job.digest}.batch"
        try:
            with made(folder) if rows_of is not None else at(folder) as static:
                there = static.names()
                if name not in there and before in there:  # of a version that had one file a table
                    found = decoded(static.read(before)).changes[table.name]
                    if list(table.names) == found.column_names:
                        return found
                if name not in there and rows_of is not None:
                    whole = LoggedBatch(0, self.log.epoch, "", 0, None, "error", {table.name: rows_of(table)})
                    static.publish(name, encoded(whole))
                    self.fresh.add(table.name)
                return decoded(static.read(name)).changes[table.name]
        except (ValueError, KeyError, TypeError, FileNotFoundError, NotADirectoryError) as error:
            msg = (
                f"{folder / name}, the rows of a static table, is missing or damaged: {error}; put it back, or {_OVER}"
            )
            raise StateError(msg) from error
        except OSError as error:
            msg = f"{folder / name} could not be read or written: {error}; repair that and start again"
            raise StorageError(msg) from error

    @property
    def _jobs(self) -> Place:
        return self.folder / "jobs"

    def _start(self, numbers: Sequence[int], batches: Sequence[int], limits: Limits) -> Recovered:
        """The state of the newest snapshot, or an empty one."""
        if not numbers:
            return Recovered(Database(), None, None, WrittenParts())
        newest = numbers[-1]
        path = self.snapshots.of(newest)
        try:
            database = database_of(self.snapshots.image(newest), limits)
            extra = database.extra
            job = Job.from_plain(extra.get("job"))
            if extra.get("batch_id") != newest or {**job.tables, **job.tables_beside} != dict(database.tables):
                msg = f"the snapshot in {path} is not the one behind batch {newest}"
                raise StateError(msg)
            parts = WrittenParts.from_plain(extra["parts"])
            ends = ends_of(extra)
        except (StateError, ValueError, KeyError, TypeError) as error:
            older = numbers[-2] if len(numbers) > 1 else -1
            way = f"nothing else is left of what it holds: {_OVER}"
            if set(range(older + 1, newest + 1)) <= set(batches):
                left = f"the snapshot behind batch {older} and all batches" if older >= 0 else "all batches"
                way = f"{left} from {older + 1} on are there: move {path} away, and the next start goes on from them"
            msg = f"the newest snapshot of the checkpoint is not sound: {error}; {way}"
            raise StateError(msg) from error
        return Recovered(database, job, newest, parts, ends=ends)

    def _check_gaps(self, last: int | None, behind: Sequence[int], done: Collection[int]) -> None:
        """Check that batches follow the snapshot without a gap, and that all but the last one are done."""
        for expected, number in enumerate(behind, 0 if last is None else last + 1):
            if number != expected:
                before = "has no snapshot" if last is None else f"has a snapshot behind batch {last}"
                msg = (
                    f"the checkpoint in {self.folder} {before} and lacks log/{expected:08d}.batch, which the batches "
                    f"from {number} on come behind; put the file back, or {_OVER}"
                )
                raise StateError(msg)
            if number not in done and number != behind[-1]:
                msg = (
                    f"the checkpoint in {self.folder} lacks log/{number:08d}.done, and there are later batches; put "
                    f"the file back, or {_OVER}"
                )
                raise StateError(msg)

    def _batch(self, number: int, is_last: bool, is_done: bool) -> LoggedBatch:
        try:
            return self.log.read(number)
        except StateError as error:
            if is_last and not is_done:
                way = "its deltas have not all been delivered: remove the file, and the batch comes again"
            else:
                way = f"the changes of batch {number} are nowhere else: {_OVER}"
            msg = f"{error}; {way}"
            raise StateError(msg) from error

    def _replay(self, found: Recovered, batch: LoggedBatch, digest: str, now: Job, limits: Limits) -> None:
        """Apply a batch to the tables. It is done for the job of the fingerprint, and may be taken for another.

        In that case its version may be that before static tables came with the job, since their rows are one commit.
        """
        versions = {found.database.version}
        if found.job is None or found.job.digest != digest:
            job = self.job(digest, now)
            if found.job is None:
                found.database = self._begun(job, limits, None)
            elif found.job.tables != job.tables:
                found.database = self._moved(found.database, job, limits, None)
            found.job = job
        database = found.database
        versions.add(database.version)
        try:
            if batch.version not in versions:
                msg = f"batch {batch.batch_id} was brought to version {batch.version}, and here is {database.version}"
                raise StateError(msg)
            if batch.rows:
                if all(fit_pieces(database.tables[name], rows) for name, rows in batch.changes.items()):
                    apply_in_pieces(database, batch.changes, batch.on_conflict)
                else:
                    apply_any(database, batch.changes, batch.on_conflict)
        except MemoryLimitError:
            raise
        except LivejoinError as error:
            msg = f"the log of the checkpoint in {self.folder} and its tables do not fit together: {error}; {_OVER}"
            raise StateError(msg) from error
        found.last_batch = batch.batch_id
        found.ends = batch.ends
        found.batches += 1
        found.changes += batch.rows

    def job(self, digest: str, now: Job) -> Job:
        """The job with a fingerprint."""
        if digest == now.digest:
            return now
        path = self._jobs / f"{digest}.json"
        try:
            with at(self._jobs) as folder:
                job = Job.from_plain(json.loads(bytes(folder.read(path.name))))
            if job.digest != digest:
                msg = "it does not say what it said"
                raise ValueError(msg)
        except (ValueError, FileNotFoundError, NotADirectoryError, LivejoinError) as error:
            what = f"{path}, the declarations of batches in the log, is missing or damaged"
            msg = f"{what}: {error}; put it back, or {_OVER}"
            raise StateError(msg) from error
        except OSError as error:
            msg = f"{path} could not be read: {error}; repair that and start again"
            raise StorageError(msg) from error
        return job

    def _take_over(self, now: Job) -> None:
        """Convert an old checkpoint, which is a snapshot in the folder itself, to one with a log."""
        if not isinstance(self.folder, Path) or not snapshot.is_there(self.folder):
            return
        if not self.snapshots.numbers():
            database = load_tables(self.folder, Limits())
            extra = database.extra
            try:
                views = {str(name): str(sql) for name, sql in extra["views"].items()}
                last = int(extra["batch_id"])
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                msg = f"the snapshot in {self.folder} is of no stream: {error!r}; give another checkpoint"
                raise StateError(msg) from error
            tables = dict(database.tables)
            # What else the changes came with was not kept, and not noted either: it counts as known and not kept.
            offered = {name: now.offered.get(name, table) for name, table in tables.items()}
            parts = extra["parts"] if "parts" in extra else WrittenParts(since=last + 1).plain()
            if "parts" not in extra:
                logger.warning(
                    "the checkpoint in %s is of a version that did not note which parts of the output it wrote: "
                    "whether those of the batches up to %d are there is not checked",
                    *(self.folder.parent, last),
                )
            job = Job(tables, views, offered)
            note = {"batch_id": last, "job": job.plain(), "parts": parts}
            self.snapshots.write_now(last, image_of_tables(database, note))
            logger.info("the checkpoint in %s has a log from now on", self.folder)
        (self.folder / "CURRENT").unlink()
        for left in self.folder.glob("v[0-9]*-*"):
            shutil.rmtree(left, ignore_errors=True)
