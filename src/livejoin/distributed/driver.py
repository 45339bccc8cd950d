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

from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.policy import FAIL, Policy
from livejoin.distributed.begin import Steps, begin, first_deltas, has_to_fill
from livejoin.distributed.declaration import Plan
from livejoin.distributed.declared import Declared
from livejoin.distributed.deltas import microseconds
from livejoin.distributed.manifest import Manifest, Manifests
from livejoin.distributed.refused import refuse_too_many
from livejoin.distributed.task import Outcome, Task, delta_of
from livejoin.errors import StateError
from livejoin.plan.dispatch import TableSample


@dataclass(frozen=True)
class Arrived:
    """What had come as a batch.

    Args:
        changes: How many.
        time: The time of the batch; None where nothing came.
    """

    changes: int
    time: datetime | None


class BatchSteps(Steps, Protocol):
    """What runs in other processes, for one batch."""

    def samples(self) -> Mapping[str, TableSample]:
        """What is known of the rows that come, those of static tables that are not there yet among them."""

    def run(self, plan: Plan, task: Task) -> tuple[list[Outcome], Arrived]:
        """The changes of the batch through the stages: what the cells did, and what had come."""


@dataclass(frozen=True)
class Committed:
    """A batch that was committed.

    Args:
        manifest: What was committed.
        done: What the cells did.
        arrived: What had come.
    """

    manifest: Manifest
    done: tuple[Outcome, ...]
    arrived: Arrived

    @property
    def refused(self) -> dict[str, int]:
        """For each base table how many changes were left out."""
        return _refused(self.done)


def is_next(manifests: Manifests, batch_id: int) -> bool:
    """Whether a batch is the next one (True) or the last one, which is committed, once more (False).

    Raises:
        StateError: It is neither, so that what brings the batches and the cells do not belong together.
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
) -> Committed:
    """Commit the next batch, and let a plan begin with it, if one has to.

    Args:
        declared: The job.
        manifests: What was committed so far.
        initial: What the first batch of a plan tells of views that are new or changed.
        batch_id: The batch, which is the next one.
        steps: Runs what runs in other processes.
        policy: What becomes of changes that cannot be applied.

    Raises:
        LivejoinError: A cell could not do its part, another driver owns the checkpoint, the disk refuses; nothing is
            committed.
    """
    last = manifests.last
    task = Task(manifests.path, "", batch_id, manifests.epoch, {} if last is None else dict(last.cells))
    begun = None
    if has_to_fill(declared, last, initial):
        begun = begin(declared, task, initial, steps.samples(), steps)
        task = replace(task, held=begun.held)
    elif not declared.is_chosen:
        declared.choose(steps.samples())
    task = replace(task, plan=declared.plan.digest, policy=policy)
    done, arrived = steps.run(declared.plan, task)
    done.sort(key=lambda one: (one.stage, one.cell))
    refuse_too_many(_refused(done), policy)
    held = {**task.held, **{(one.stage, one.cell): one.held for one in done}}
    files = _files(done)
    if begun is not None:
        files = first_deltas(begun, declared, task, files)
    declared.write()
    when = microseconds(arrived.time)
    manifest = Manifest(batch_id, task.epoch, task.plan, when, held, files, _letters(done))
    manifests.commit(manifest)
    declared.begun()
    return Committed(manifest, tuple(done), arrived)


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
    schema = declared.bound.views[view].delta_schema
    found = declared.views(manifest.plan).get(view)
    if found is None or found.schema != schema:
        return schema.empty_table()
    return found.delta(manifests.path, manifest.deltas.get(view, ()), manifest.batch_id)


def read_letters(declared: Declared, manifests: Manifests, manifest: Manifest) -> dict[str, pa.Table]:
    """The changes of a committed batch that were left out, by base table, each with ``_reason``.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
    """
    names = {name.lower(): name for name in declared.job.tables}
    return {
        names.get(table, table): pa.concat_tables([delta_of(manifests.path, file) for file in files])
        for table, files in manifest.letters.items()
    }


def _refused(done: Iterable[Outcome]) -> dict[str, int]:
    """For each base table how many changes were left out."""
    found = Counter[str]()
    for one in done:
        found.update(one.refused)
    return dict(found)


def _letters(done: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    """For each base table the files with changes that were left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in done:
        for table, file in one.letters.items():
            found[table].append(file)
    return {table: tuple(files) for table, files in found.items()}


def _files(done: Iterable[Outcome]) -> dict[str, tuple[str, ...]]:
    """For each view the files with its delta."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in done:
        for view, (file, _) in one.deltas.items():
            found[view].append(file)
    return {view: tuple(files) for view, files in found.items()}
