"""The engine of a stream of batches, each applied exactly once to a state that survives.

A batch goes through four steps. It is *taken*: written to the log, which fixes its content. It is *applied*: one
commit, whose deltas are those of the batch. The caller *delivers* the deltas. The batch is *done*: the log says so.
After a crash the last batch is read from the log. So the source may bring that batch again with its rows in another
order, or with other rows: the deltas stay the same.

Laws: the database is the state after all done batches and the batch that is being applied. The state on disk is a
snapshot of tables and the batches after it. Views are never written; they are loaded from the tables.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from livejoin.checkpoint.batch import Arrival, Ends, LoggedBatch
from livejoin.checkpoint.batch_delta import BatchDelta, JoinedDelta, SpilledDelta, timed
from livejoin.checkpoint.change import merged, view_changes
from livejoin.checkpoint.declaring import declare
from livejoin.checkpoint.ends import check_ends
from livejoin.checkpoint.first_load import FirstLoad, is_first_load, load_first
from livejoin.checkpoint.history import History, Recovered
from livejoin.checkpoint.initial import Initial, initial_deltas, results
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.large_batch import LargeBatch, apply_large, comes_in_pieces
from livejoin.checkpoint.letters import joined, letters_of, settle
from livejoin.checkpoint.names import are_of_cells
from livejoin.checkpoint.pace import SnapshotPace
from livejoin.checkpoint.policy import FAIL, Policy
from livejoin.checkpoint.recovery import Recovery, recovery_of
from livejoin.checkpoint.static_tables import OnStaticChange, RowsOf, changed_static
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.database import Database
from livejoin.database.commit import Commit
from livejoin.database.refreshing import apply_any
from livejoin.database.refusals import Refusal, manner_for, refused_changes, without
from livejoin.database.snapshots.tables import NO_LIMITS, Limits, check_limit, image_of_tables, size_of_tables
from livejoin.database.transactions.staging import OnConflict
from livejoin.errors import ChangeError, ExpressionError, LivejoinError, StateError, StorageError
from livejoin.state.store_folder import Place, at, place_of

logger = logging.getLogger("livejoin")


@dataclass
class Written:
    """How much an engine has written since it was opened; changed in place.

    Args:
        log: Bytes of batches.
        snapshots: About how many bytes of snapshots.
        snapshot: The batch after which the newest snapshot was begun; None for none.
    """

    log: int = 0
    snapshots: int = 0
    snapshot: int | None = None


@dataclass(eq=False)
class Engine:
    """A database and the batches that it has seen; changed in place as batches come. Made by `open_engine`.

    Args:
        database: The database.
        job: The tables and views of the database.
        history: The files of the checkpoint.
        recovered: How the state was found.
        recovery: The same as a public report; None if there was no state.
        initial: The rows of each view that no delta has told yet; they go out with the next batch.
        pace: When the next snapshot is due.
        policy: What happens to changes that cannot be applied.
        refreshed: Changes of static tables that the next batch brings beside its own.
        last_batch: The last batch that is done; None before the first.
        parts: The parts of the output up to that batch.
        pending: The next batch, if it is taken already.
        written: How much was written.
        ignored: By reason how many changes of the last applied batch had no effect, as those of absent keys.
        late: How many changes of the last applied batch were late.
        limits: Limits of the database.
        ends: How far the sources are read with the last batch; None where nobody said it.
    """

    database: Database
    job: Job
    history: History
    recovered: Recovered
    recovery: Recovery | None
    initial: dict[str, pa.Table]
    pace: SnapshotPace
    policy: Policy = FAIL
    refreshed: dict[str, pa.Table] = field(default_factory=dict)
    last_batch: int | None = None
    parts: WrittenParts = field(default_factory=WrittenParts)
    pending: LoggedBatch | None = None
    written: Written = field(default_factory=Written)
    ignored: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    limits: Limits = NO_LIMITS
    ends: Ends | None = None
    _is_first: bool = True
    _pending_bytes: int = 0  # of the batch that was taken, in the log
    _applying: float = 0.0

    @property
    def filled(self) -> list[str]:
        """The tables that have or had rows."""
        stats = self.database.stats()["tables"]
        return [name for name, table in stats.items() if table["rows"] or table["tombstones"]]

    def is_new(self, batch_id: int) -> bool:
        """Whether a batch is the next one (True) or a repetition of the last one, which is done (False).

        Raises:
            StateError: The batch is neither: the source and the engine's state do not belong together.
        """
        following = 0 if self.last_batch is None else self.last_batch + 1
        if batch_id == following:
            return True
        if batch_id == self.last_batch:
            return False
        holds = "has no state yet" if self.last_batch is None else f"holds the batches up to {self.last_batch}"
        msg = (
            f"Spark runs batch {batch_id}, and the engine in {self.history.folder} {holds}: the two halves of the "
            "checkpoint do not belong together. Restore both from the same backup, or start over with an empty "
            "checkpoint and an empty output"
        )
        raise StateError(msg)

    def check_follows(self, batch_id: int, starts: Ends, ends: Ends) -> None:
        """Check that the next batch begins where the last one ends, and ends where it does if it is taken already.

        Args:
            batch_id: The number of the batch.
            starts: How far the sources are read without the batch.
            ends: How far they are read with it.

        Raises:
            StateError: The batch does not: another query has written how far the sources are read.
        """
        taken = None if self.pending is None or self.pending.batch_id != batch_id else self.pending.ends
        for where, known, found in (("begins", self.ends, starts), ("ends", taken, ends)):
            check_ends(f"batch {batch_id} of Spark {where}", known, found, self.history.folder)

    def take(self, batch_id: int, read: Callable[[], Arrival], ends: Ends | None = None) -> LoggedBatch:
        """The next batch: from the log if it was taken before, else from the source and then written to the log.

        Args:
            batch_id: The number of the batch.
            read: Reads the batch from the source.
            ends: How far the sources are read with the batch; None if that is not to be logged.

        Raises:
            StateError: Another process owns the checkpoint now, or a row lacks a value that nobody has.
            StorageError: The disk refuses; the batch was not taken.
            ChangeFormatError: A row is no valid change, and the policy is to fail.
            ChangeValueError: A text is no value of its column, and the policy is to fail.
        """
        if self.pending is not None and self.pending.batch_id == batch_id:
            return self.pending
        arrival, letters, skipped = settle(self.database, self.job, self.policy, read())
        on_conflict: OnConflict = "ignore" if self.policy.on_conflict == "skip" else "error"
        if any(self.job.tables[name].takes_place for name in arrival.changes):
            on_conflict = "update"
        batch = LoggedBatch(
            batch_id,
            self.history.log.epoch,
            self.job.digest,
            self.database.version,
            arrival.time,
            on_conflict,
            {**arrival.changes, **self.refreshed},
            letters,
            skipped,
            ends,
        )
        self._append(batch)
        self.refreshed = {}
        return batch

    def _append(self, batch: LoggedBatch) -> None:
        size = self.history.log.append(batch)
        self.written.log += size
        self.pace.logged(size)
        self._pending_bytes = size
        self.pending = batch

    def _withdraw(self, batch_id: int) -> None:
        """Remove the taken batch from the log."""
        self.pending = None
        self.history.log.withdraw(batch_id)
        self.pace.withdrawn(self._pending_bytes)

    def apply(self, batch: LoggedBatch) -> dict[str, BatchDelta]:
        """Apply a batch: the delta of each view that it may change, and of views with rows that no delta has told yet.

        A change that the policy leaves out is also removed from the log; `pending` is the batch without it.

        Raises:
            LivejoinError: The batch cannot be applied. It is withdrawn, and nothing of it is applied.
        """
        began = time.perf_counter()
        deltas: dict[str, BatchDelta] = {view: timed(delta, batch.time) for view, delta in self.initial.items()}
        if self._is_first:  # another job may have delivered this batch, and views that say nothing now had parts of it
            nothing = {
                view: one.delta_schema.empty_table()
                for view, one in self.database.views.items()
                if one.assertion is None
            }
            deltas = {view: timed(delta, batch.time) for view, delta in nothing.items()} | deltas
        self.ignored, self.late = {}, 0
        load = self._first_load(batch)
        if load is not None:
            self.database = self.recovered.database = load.database
            self.ignored = self._why_ignored(load.ignored)
            deltas = self._before(deltas, load.deltas.items())
        elif (large := self._in_pieces(batch)) is not None:
            self.ignored = self._why_ignored(large.ignored)
            deltas = self._before(deltas, ((view, timed(one, batch.time)) for view, one in large.deltas.items()))
        elif batch.rows:
            commit = self._commit(batch)
            if commit is not None:
                left_out = {name: ignored for name, (ignored, _) in commit._left_out.items()}
                self.ignored, self.late = self._why_ignored(left_out), commit.late
                deltas = self._before(deltas, self._deltas(commit, batch.time))
        self._applying = time.perf_counter() - began
        return deltas

    def _first_load(self, batch: LoggedBatch) -> FirstLoad | None:
        """The database after a first load; None if the batch is none, or is refused so and goes the way of others."""
        if not is_first_load(self.database, batch):
            return None
        try:
            return load_first(self.database, self.job, batch, self.limits)
        except LivejoinError as error:
            logger.info("batch %d is applied as one commit, which takes more memory: %s", batch.batch_id, error)
            return None

    def _in_pieces(self, batch: LoggedBatch) -> LargeBatch | None:
        """What a large batch did in pieces; None if it is none, or is refused so and goes the way of others.

        Raises:
            StateError, StorageError: A piece is refused, and the checkpoint cannot be read; the batch is in the log.
        """
        if not comes_in_pieces(self.database, batch):
            return None
        try:
            return apply_large(self.database, batch)
        except LivejoinError as error:
            reason = str(error)
        except BaseException:
            self._read_again()
            raise
        self._read_again()
        logger.info("batch %d is applied as one commit, which takes more memory: %s", batch.batch_id, reason)
        return None

    def _read_again(self) -> None:
        """Have the database after the last done batch again, where one has a part of a batch; that one is closed."""
        self.database.close()
        self.database = self.recovered.database = Database()  # so that memory is for one of them
        self.history.snapshots.wait()
        found = self.history.recover(self.job, self.limits)
        if found.job is not None and found.job.tables != self.job.tables:
            found.database = self.history.moved(found.database, self.job, self.limits)
        declare(found.database, self.job)
        self.database = self.recovered.database = found.database

    def _before(
        self, told: Mapping[str, BatchDelta], deltas: Iterable[tuple[str, BatchDelta]]
    ) -> dict[str, BatchDelta]:
        """Deltas of views, each behind what there is to tell before."""
        return {**told, **{view: JoinedDelta((told[view], one)) if view in told else one for view, one in deltas}}

    def _why_ignored(self, left_out: Mapping[str, int]) -> dict[str, int]:
        """By reason how many changes had no effect, from their number by table."""
        found = Counter[str]()
        for name, ignored in left_out.items():
            found[self.database.tables[name].why_ignored] += ignored
        return dict(+found)

    def _deltas(self, commit: Commit, time: datetime | None) -> Iterator[tuple[str, BatchDelta]]:
        for view in commit.views:
            if self.database.views[view].assertion is not None:  # it has no rows, or the batch is refused
                continue
            if view in commit.spilled:
                yield view, SpilledDelta(commit, view, self.database.views[view].delta_schema, time)
            else:
                yield view, timed(commit[view], time)

    def _commit(self, batch: LoggedBatch) -> Commit | None:
        try:
            try:
                return apply_any(self.database, batch.changes, batch.on_conflict)
            except (ChangeError, ExpressionError):
                if self.policy.fails:
                    raise
            rest = self._without_refused(batch)
            self._withdraw(batch.batch_id)
            self._append(rest)
            return apply_any(self.database, rest.changes, rest.on_conflict) if rest.rows else None
        except LivejoinError:
            if self.pending is not None:
                with suppress(LivejoinError):  # the reason is what counts, and the next start can take it back
                    self._withdraw(batch.batch_id)
            raise

    def _without_refused(self, batch: LoggedBatch) -> LoggedBatch:
        """A batch without the changes that cannot be applied.

        Raises:
            LivejoinError: The policy is to fail, or too many changes cannot be applied.
        """
        left = self.policy.most - batch.skipped - sum(rows.num_rows for rows in batch.letters.values())

        def takes_out(refusal: Refusal) -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and self.policy.of(refusal) != "fail"

        try:
            refused = refused_changes(self.database, batch.changes, batch.on_conflict, takes_out)
        except LivejoinError as error:
            if left < 0:
                error.add_note(f"it is one of more than {self.policy.most:,} changes of this batch that are refused")
            raise
        posted = [refusal for refusal in refused if self.policy.of(refusal) == "dead_letter"]
        letters = joined(batch.letters, letters_of(batch.changes, posted))
        changes = without(batch.changes, refused)
        on_conflict = manner_for(self.database, changes, batch.on_conflict)
        skipped = batch.skipped + len(refused) - len(posted)
        return replace(batch, on_conflict=on_conflict, changes=changes, letters=letters, skipped=skipped)

    def finish(self, batch_id: int, parts: Iterable[str]) -> None:
        """Note that the deltas of a batch are delivered; now and then a snapshot begins.

        Args:
            batch_id: The batch.
            parts: The views for which the batch left a part in the output.

        Raises:
            StateError: Another process owns the checkpoint.
            StorageError: The disk refuses; the batch comes again at the next start.
        """
        parts = list(parts)
        self.history.log.finish(batch_id, {"parts": parts, "job": self.job.digest, "version": self.database.version})
        self.parts.add(batch_id, parts)
        self.last_batch = batch_id
        self.initial = {}
        self.ends = None if self.pending is None else self.pending.ends
        self.pending = None
        self._is_first = False
        self.pace.done(self._applying)
        if not self.history.snapshots.is_writing and self.pace.is_due(size_of_tables(self.database)):
            self.snapshot()

    def snapshot(self) -> None:
        """Begin a snapshot of the tables after the last batch; the engine goes on while it is written.

        Cost: O(rows log rows) time and O(rows) memory for a copy.
        """
        assert self.last_batch is not None
        extra = {"batch_id": self.last_batch, "job": self.job.plain(), "parts": self.parts.plain()}
        if self.ends is not None:
            extra["ends"] = {name: list(lines) for name, lines in self.ends.items()}
        self.history.snapshots.write(
            self.last_batch, image_of_tables(self.database, extra), then=self.history.log.forget
        )
        self.written.snapshot = self.last_batch
        self.written.snapshots += size_of_tables(self.database)
        self.pace.begun()

    def close(self) -> None:
        """Wait for the snapshot that is being written, and close the files."""
        self.history.close()


def open_engine(  # noqa: PLR0913  # the options of a run
    job: Job,
    folder: Place,
    limits: Limits = NO_LIMITS,
    *,
    initial: Initial = "difference",
    recovery_seconds: float | None = None,
    policy: Policy = FAIL,
    rows_of: RowsOf | None = None,
    on_static_change: OnStaticChange = "refresh",
    keep_versions: int = 0,
) -> Engine:
    """The engine of a checkpoint, for the same job as before or a changed one.

    Args:
        job: The tables and views to maintain from now on; `livejoin.checkpoint.change` says what may differ.
        folder: The folder of the checkpoint; made if it is missing.
        limits: Limits of the database, which are not saved.
        initial: The first delta of new and changed views: the ``difference`` to what their deltas have told so far,
            their ``whole`` result, or ``nothing``.
        recovery_seconds: How long applying the log again may take before there is another snapshot.
        policy: What happens to changes that cannot be applied.
        rows_of: Reads the rows of a static table, once a start; None leaves static tables as they are.
        on_static_change: What happens if the source of a static table has other rows than the checkpoint.
        keep_versions: For how many batches before the newest one the state can be read (`livejoin.checkpoint.states`).

    Raises:
        StateError: The checkpoint is damaged, or cannot go on as this job. The message says why, and what is left.
        StorageError: The disk refuses.
        MemoryLimitError: The state takes more than the limit.
        LivejoinError: The query of a view is not valid any more.

    Cost: O(rows) for the tables, O(changes of the log) and the loading of the views.
    """
    history = History(folder, rows_of=rows_of, behind=keep_versions)
    try:
        found = history.recover(job, limits)
        before = found.job
        told: dict[str, pa.Table] = {}
        new, changed = tuple(job.views), tuple[str, ...]()
        if before is not None:
            stats = found.database.stats()["tables"]
            rows = {name: table["rows"] + table["tombstones"] for name, table in stats.items()}
            job = merged(before, job, rows, folder.parent)
            changes = view_changes(before, job)
            new, changed = changes.new, changes.changed
            if changed and initial == "difference":
                told = results(before, found.database, changed)
            if before.tables != job.tables:
                found.database = history.moved(found.database, job, limits)
        _adopt(history, found, job)
        refreshed: dict[str, pa.Table] = {}
        if rows_of is not None:
            pending = {} if found.pending is None else found.pending.changes
            refreshed = changed_static(found.database, job, pending, rows_of, history.fresh, on_static_change)
        began = time.perf_counter()
        declare(found.database, job)
        check_limit(found.database)
        recovery = recovery_of(found, time.perf_counter() - began)
        history.remember(job)
        snapshots = history.snapshots.numbers()
        engine = Engine(
            found.database,
            job,
            history,
            found,
            recovery,
            initial_deltas(found.database, new, changed, told, initial),
            SnapshotPace(
                recovery_seconds,
                history.log.size_after(snapshots[-1] if snapshots else -1),
                batches=found.batches + (found.pending is not None),
            ),
            policy,
            refreshed,
            found.last_batch,
            found.parts,
            found.pending,
            limits=limits,
            ends=found.ends,
        )
        engine._pending_bytes = history.log.size_after(-1 if found.last_batch is None else found.last_batch)
    except BaseException:
        history.close()
        raise
    if recovery is not None:
        logger.info("the checkpoint in %s: %s", folder, recovery)
    return engine


def _adopt(history: History, found: Recovered, job: Job) -> None:
    """Let a batch that was taken for the old job belong to the new one, or read it again if columns are missing."""
    batch = found.pending
    if batch is None or batch.job == job.digest:
        return
    before = history.job(batch.job, job)
    if any(before.tables.get(name) != job.tables.get(name) for name in batch.changes):
        history.log.withdraw(batch.batch_id)
        found.pending = None


def _refuse_cells(folder: str | Path, names: Sequence[str]) -> None:
    """Refuse a checkpoint whose files are those of cells.

    Raises:
        StateError: The files are.
    """
    if are_of_cells(names):
        msg = (
            f"the checkpoint in {str(folder)!r} is of a pipeline with mode='distributed': each of its cells has a part "
            "of the rows, and no process all of them. livejoin.spark.read_view reads a view of it"
        )
        raise StateError(msg)


def read_checkpoint(folder: str | Path) -> Database:
    """The database of a checkpoint after the last done batch; nothing is written.

    Args:
        folder: The checkpoint of the stream: a folder, or the URL of a place in an object store.

    Raises:
        StateError: There is no checkpoint, it is one of cells, or it is damaged.
        StorageError: The disk refuses to read it.

    Cost: O(rows) for the tables, O(changes of the log) and the loading of the views.
    """
    place = place_of(folder) / "livejoin"
    try:
        is_there = (place / "log").is_dir()
        if not is_there and place.is_dir():
            with at(place) as files:
                _refuse_cells(folder, files.names())
    except OSError as error:
        msg = f"the checkpoint in {str(folder)!r} could not be read: {error}; try again when that is mended"
        raise StorageError(msg) from error
    if not is_there:
        msg = f"there is no checkpoint in {str(folder)!r}; give the folder that maintain() has as checkpoint="
        raise StateError(msg)
    history = History(place, is_owner=False)
    try:
        found = history.recover(Job({}, {}, {}), NO_LIMITS)
        if found.job is not None:
            declare(found.database, found.job)
    finally:
        history.close()
    return found.database
