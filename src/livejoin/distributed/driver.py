"""What a driver does with a batch: cells do their parts in other processes, a manifest commits, deltas are read.

Law: before a batch's manifest is there nothing of it has happened, neither of the batch nor of a plan that begins with
it; behind it all of it has, and its deltas are what the files say that it lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from livejoin.checkpoint.batch import Ends
from livejoin.checkpoint.batch_delta import BatchDelta, timed, with_time
from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.instants import without_instants
from livejoin.checkpoint.policy import FAIL, OnBad, Policy
from livejoin.database.transactions.assertions import MOST_ROWS, refuse_violations, violation
from livejoin.distributed.bad_rows import Tries, without_bad
from livejoin.distributed.begin import Steps, begin, first_deltas, has_to_fill
from livejoin.distributed.declaration import Plan
from livejoin.distributed.declared import Declared
from livejoin.distributed.deltas import ViewFiles, batch_delta, delta_schema_of, microseconds, time_of
from livejoin.distributed.files import delta_of
from livejoin.distributed.manifest import Manifest, Manifests
from livejoin.distributed.refused import refuse_too_many
from livejoin.distributed.task import Outcome, Task
from livejoin.errors import ChangeFormatError, ChangeValueError, ExpressionError, StateError, ViolationError
from livejoin.plan.dispatch import TableSample

_WHOLE = (
    "mode='distributed' leaves none of the changes of this batch out for an assertion: mend the source, or take the "
    "assertion away"
)


@dataclass(frozen=True)
class Arrived:
    """What had come as a batch.

    Args:
        changes: How many.
        time: The time of the batch; None where nothing came.
    """

    changes: int
    time: datetime | None


class BatchSteps(Steps, Tries, Protocol):
    """What runs in other processes, for one batch."""

    def samples(self) -> Mapping[str, TableSample]:
        """What is known of the rows that come, those of static tables that are not there yet among them."""

    def run(self, plan: Plan, task: Task) -> tuple[list[Outcome], Arrived]:
        """The changes of the batch through the stages: what the cells did, and what had come."""

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of static tables whose rows were read for this batch, by their names in lower case."""

    @property
    def ends(self) -> Ends | None:
        """How far the sources are read with the batch; None if that is not to be noted."""


@dataclass(frozen=True)
class Committed:
    """A batch that was committed.

    Args:
        manifest: The manifest of the batch.
        done: The outcomes of the cells.
        arrived: A summary of the rows that came.
        conflicts: For each base table how many changes were left out because they conflict with other rows.
        bad: For each base table how many changes were left out because a column or an expression refused them.
    """

    manifest: Manifest
    done: tuple[Outcome, ...]
    arrived: Arrived
    conflicts: Mapping[str, int]
    bad: Mapping[str, int]

    @property
    def refused(self) -> dict[str, int]:
        """For each base table how many changes were left out."""
        return dict(Counter(self.conflicts) + Counter(self.bad))

    @property
    def applied(self) -> int:
        """How many changes were applied."""
        return self.arrived.changes - sum(self.refused.values()) - sum(self.ignored.values()) - self.late

    @property
    def ignored(self) -> dict[str, int]:
        """By reason how many had no effect, as those of absent keys."""
        return dict(sum((Counter(one.ignored) for one in self.done), Counter[str]()))

    @property
    def late(self) -> int:
        """How many have a key that has a newer one, or are late for a watermark."""
        return sum(one.late for one in self.done)

    def by(self, policy: Policy, what: OnBad) -> dict[str, int]:
        """For each base table with how many changes a policy did something."""
        found = Counter[str]()
        if policy.on_conflict == what:
            found.update(self.conflicts)
        if policy.on_bad_rows == what:
            found.update(self.bad)
        return dict(found)


def is_next(manifests: Manifests, batch_id: int) -> bool:
    """Whether a batch is the next one (True) or a repetition of the last one, which is committed (False).

    Raises:
        StateError: The batch is neither: the source and the cells do not belong together.
    """
    last = manifests.last
    if last is not None and batch_id == last.batch_id:
        return False
    if batch_id == (0 if last is None else last.batch_id + 1):
        return True
    holds = "hold nothing yet" if last is None else f"hold the batches up to {last.batch_id}"
    msg = (
        f"Spark runs batch {batch_id}, and the cells in {manifests.path} {holds}: the two halves of the "
        "checkpoint do not belong together. Restore both from the same backup, or start over with an empty "
        "checkpoint and an empty output"
    )
    raise StateError(msg)


def commit(
    declared: Declared,
    manifests: Manifests,
    initial: Initial,
    batch_id: int,
    steps: BatchSteps,
    policy: Policy = FAIL,
    recovery_seconds: float | None = None,
    as_parquet: bool = False,
) -> Committed:
    """Commit the next batch, and let a plan begin with it, if one has to.

    Args:
        declared: The job.
        manifests: The committed batches.
        initial: The first delta of views that are new or changed, in the first batch of a plan.
        batch_id: The batch, which is the next one.
        steps: Runs the steps of other processes.
        policy: The policy for changes that cannot be applied.
        recovery_seconds: As for `Task`.
        as_parquet: Whether the sink takes parts of deltas as Parquet.

    Raises:
        LivejoinError: A cell failed, another driver owns the checkpoint, or the disk refuses; nothing is committed
            (but see `Manifests.commit`).
    """
    last = manifests.last
    held = {} if last is None else dict(last.cells)
    task = Task(manifests.path, "", batch_id, manifests.epoch, held, marks=declared.marks(last))
    begun = None
    if has_to_fill(declared, last, initial):
        begun = begin(declared, task, initial, steps.samples(), steps)
        task = replace(task, held=begun.held)
    elif not declared.is_chosen:
        declared.choose(steps.samples())
    refreshed = frozenset(table.name.lower() for table in declared.refreshed)
    task = replace(
        task, plan=declared.plan.digest, policy=policy, recovery_seconds=recovery_seconds, refreshed=refreshed
    )
    if as_parquet:
        views = declared.views(task.plan).items()
        task = replace(task, parquet={name: with_time(one.schema) for name, one in views if one.types is None})
    bad, letters = dict[str, int](), dict[str, list[str]]()
    try:
        done, arrived = steps.run(declared.plan, task)
    except (ChangeFormatError, ChangeValueError, ExpressionError):
        if policy.on_bad_rows == "fail":
            raise
        found = without_bad(steps, declared.plan, task)
        done, arrived, bad = found.done, Arrived(found.changes, found.time), dict(found.refused)
        letters = {name: [file] for name, file in found.letters.items()}
    done.sort(key=lambda one: (one.stage, one.cell))
    names = {name.lower(): name for name in declared.job.tables}
    conflicts, late = Counter[str](), Counter[str]()
    for one in done:
        conflicts.update({names[table]: number for table, number in one.refused.items()})
        late.update({names[table]: number for table, number in one.bad.items()})
        for table, file in one.letters.items():
            letters.setdefault(names[table], []).append(file)
    bad = dict(late + Counter(bad))
    refuse_too_many(dict(conflicts + Counter(bad)), policy)
    held = {**task.held, **{(one.stage, one.cell): one.held for one in done}}
    files = _files(done)
    if begun is not None:
        files = first_deltas(begun, declared, task, files)
    _refuse_violations(declared, task, files)
    declared.write()
    when = microseconds(arrived.time)
    static = {table.name.lower() for table in declared.held_static}
    digests = {name: text for name, text in ({} if last is None else last.static).items() if name in static}
    manifest = Manifest(
        batch_id,
        task.epoch,
        task.plan,
        when,
        held,
        files,
        {table: tuple(those) for table, those in letters.items()},
        {**digests, **steps.digests},
        _newest(task.marks, done),
        steps.ends,
    )
    manifests.commit(manifest)
    declared.begun()
    return Committed(manifest, tuple(done), arrived, conflicts, bad)


def _newest(marks: Mapping[str, int], done: Iterable[Outcome]) -> dict[str, int]:
    """The watermarks of tables after a batch, of those before it and those of the cells."""
    found = dict(marks)
    for one in done:
        for name, time in one.marks.items():
            found[name] = max(time, found.get(name, time))
    return found


def _refuse_violations(declared: Declared, task: Task, files: dict[str, tuple[str, ...]]) -> None:
    """Refuse a batch after which assertions would not hold; what their deltas are is forgotten.

    Raises:
        ViolationError: There is such an assertion.
        StateError, StorageError: A file could not be read.
    """
    found = []
    for view in declared.asserted:
        written = files.pop(view.name, ())
        if written:
            delta = declared.views(task.plan)[view.name].delta(task.folder, written, task.batch_id)
            if delta.num_rows:
                rows = delta.select(range(len(view.schema)))
                found.append(violation(view, delta.num_rows, rows.slice(0, MOST_ROWS), "nothing of the batch stands"))
    try:
        refuse_violations(found)
    except ViolationError as error:
        error.add_note(_WHOLE)
        raise


def read_delta(declared: Declared, manifests: Manifests, manifest: Manifest, view: str) -> pa.Table:
    """The delta of a view in a batch that is committed, of all cells.

    The batch may be of the plan before: then the view may be new, and has none, or one with other columns, of which
    nothing is told.

    Args:
        declared: The job.
        manifests: Where the files are.
        manifest: The batch.
        view: A view of the job.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
    """
    files = _files_of(declared, manifest, view)
    if files is None:
        return delta_schema_of(declared.bound, view).empty_table()
    return files.delta(manifests.path, manifest.deltas.get(view, ()), manifest.batch_id)


def delta_for_sink(declared: Declared, manifests: Manifests, manifest: Manifest, view: str) -> BatchDelta:
    """As `read_delta`, with the time of the batch, and as `livejoin.distributed.deltas.batch_delta`."""
    files = _files_of(declared, manifest, view)
    if files is None:
        nothing: BatchDelta = timed(delta_schema_of(declared.bound, view).empty_table(), time_of(manifest))
        return nothing
    return batch_delta(manifests.path, manifest, view, files)


def read_letters(declared: Declared, manifests: Manifests, manifest: Manifest) -> dict[str, pa.Table]:
    """The changes of a committed batch that were left out, by base table, each with ``_reason``.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
    """
    names = {name.lower(): name for name in declared.job.tables}
    return {
        names.get(table.lower(), table): pa.concat_tables(
            [delta_of(manifests.path, file) for file in files], promote_options="default"
        )
        for table, files in manifest.letters.items()
    }


def _files_of(declared: Declared, manifest: Manifest, view: str) -> ViewFiles | None:
    """How the delta of a view is read from the files of a batch; None if the batch has none of a view like this."""
    found = declared.views(manifest.plan).get(view)
    schema = delta_schema_of(declared.bound, view)
    if found is None or without_instants(found.schema) != without_instants(schema):
        return None
    return replace(found, schema=schema)


def _files(done: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    """For each view the files with its delta."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in done:
        for view, (file, _) in one.deltas.items():
            found[view].append(file)
    return {view: tuple(files) for view, files in found.items()}
