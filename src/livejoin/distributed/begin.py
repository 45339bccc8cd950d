"""How a plan begins: what its cells hold before its first batch, and what that batch tells of views that are new.

The rows are those of the plan before, and those of static tables. The views load them, and what they hold is told with
the first batch, as an embedded engine does (`livejoin.checkpoint.initial`): a new view all of it, another query in the
place of one the difference to what was told so far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.initial import Initial, refuse_other_columns
from livejoin.database.difference import difference, types_of
from livejoin.database.snapshots.carried import Marks
from livejoin.distributed.declaration import Plan
from livejoin.distributed.declared import Declared
from livejoin.distributed.deltas import GONE
from livejoin.distributed.files import delta_of, write_delta
from livejoin.distributed.manifest import Held, Manifest
from livejoin.distributed.move import Source, Surveyed, samples_of
from livejoin.distributed.task import Fill, Outcome, Task
from livejoin.plan.dispatch import TableSample, sampled
from livejoin.schema import CHANGE_TYPE


class Steps(Protocol):
    """What runs in the processes of the cells."""

    def survey(self, source: Source, task: Task, views: Sequence[str]) -> list[Surveyed]:
        """`livejoin.distributed.move.survey` of each cell of a plan."""

    def fill(self, source: Source | None, plan: Plan, task: Task) -> list[Outcome]:
        """The rows of each cell (`livejoin.distributed.move.rows_of_cell`), and of static tables, through the stages.

        Args:
            source: The plan before, whose rows are moved; None if there was none.
            plan: The plan that begins.
            task: The batch that fills the cells.
        """


@dataclass(frozen=True)
class Begun:
    """The state of the cells of a plan before its first batch.

    Args:
        held: The state of each cell of each stage.
        now: For each view that gets a first delta, the files with its result.
        before: For each view that gets a difference, the files with its result by the plan before.
    """

    held: Mapping[tuple[int, int], Held]
    now: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[str]]


def has_to_fill(declared: Declared, last: Manifest | None, initial: Initial) -> bool:
    """Whether cells have to hold something before the next batch."""
    is_silent = last is None and initial == "nothing"
    return declared.before is not None or bool(declared.unfilled) or is_silent


def begin(
    declared: Declared,
    task: Task,
    initial: Initial,
    samples: Mapping[str, TableSample],
    steps: Steps,
) -> Begun:
    """Let a plan begin; nothing of it counts before a manifest lists what it wrote.

    Args:
        declared: The job, with the choice where rows go.
        task: The first batch of the plan, with the state of the cells of the plan before.
        initial: The first delta of views: difference, whole or nothing.
        samples: Statistics of the rows that come, static ones included, by names of base tables.
        steps: Runs the steps of other processes.

    Raises:
        LivejoinError: A cell failed.

    Cost: O(rows), read twice as often as for a restart, and the loading of the views.
    """
    before = declared.before
    source = None if before is None else Source(before.plan, task.held, declared.kept, declared.job.earlier)
    told = before.changes.changed if before is not None and initial == "difference" else ()
    found = [] if source is None else steps.survey(source, task, told)
    moved = samples_of(found, declared.kept)
    declared.choose(_together(moved, {name.lower(): sample for name, sample in samples.items()}))
    plan = declared.plan
    marks: dict[str, Marks] = {}
    for one in found:
        for name, mark in one.marks.items():
            marks[name] = mark | marks[name] if name in marks else mark
    fill = Fill(marks, _first_told(declared, initial))
    done = steps.fill(source, plan, replace(task, plan=plan.digest, held={}, fill=fill))
    return Begun(
        {(one.stage, one.cell): one.held for one in done},
        _files({view: file for view, (file, _) in one.deltas.items()} for one in done),
        _files(one.results for one in found),
    )


def check_columns(declared: Declared, initial: Initial) -> None:
    """Refuse to tell the difference of a view whose columns are others than before.

    Raises:
        StateError: There is one.
    """
    before = declared.before
    if before is not None and initial == "difference":
        for name in before.changes.changed:
            refuse_other_columns(name, before.bound.views[name].schema, declared.bound.views[name].schema)


def first_deltas(
    begun: Begun, declared: Declared, task: Task, deltas: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The deltas of the first batch, with the first deltas of new and changed views.

    Args:
        begun: The state of the cells before.
        declared: The job.
        task: The batch.
        deltas: For each view the files with its delta.

    Cost: O(rows of the results that are told), on the driver.
    """
    found = {view: tuple(files) for view, files in deltas.items()}
    for view in {*begun.now, *begun.before}:
        schema = declared.bound.views[view].schema
        whole = tuple(begun.now.get(view, ()))
        changes = [delta_of(task.folder, file) for file in found.get(view, ())]
        is_gone = [pc.is_in(one.column(CHANGE_TYPE), GONE) for one in changes]
        gone = [one.filter(gone) for one, gone in zip(changes, is_gone, strict=True)]
        gone += [delta_of(task.folder, file) for file in begun.before.get(view, ())]
        if not any(one.num_rows for one in gone):
            found[view] = (*whole, *found.get(view, ()))
            continue
        come = [delta_of(task.folder, file) for file in whole]
        come += [one.filter(pc.invert(gone)) for one, gone in zip(changes, is_gone, strict=True)]
        net = difference(_rows(gone, schema), _rows(come, schema), types_of(declared.bound, view))
        net = net.rename_columns([*schema.names, CHANGE_TYPE])
        found[view] = (write_delta(task, 0, 0, view, net),) if net.num_rows else ()
    return found


def _first_told(declared: Declared, initial: Initial) -> frozenset[str]:
    """The views of which the first batch tells what they hold before it; assertions always, of which it is nothing."""
    return _first_shown(declared, initial).union(view.name for view in declared.asserted)


def _first_shown(declared: Declared, initial: Initial) -> frozenset[str]:
    if initial == "nothing":
        return frozenset()
    if declared.before is None:
        return frozenset(declared.job.views)
    return frozenset((*declared.before.changes.new, *declared.before.changes.changed))


def _together(moved: Mapping[str, TableSample], come: Mapping[str, TableSample]) -> dict[str, TableSample]:
    """Samples of rows that are there and of rows that come."""
    found = {**moved, **come}
    for name in moved.keys() & come.keys():
        rows = pa.concat_tables([moved[name].rows, come[name].rows.cast(moved[name].rows.schema)])
        found[name] = sampled(moved[name].table, rows, total=moved[name].total + come[name].total)
    return found


def _files(found: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    files = defaultdict(list)
    for one in found:
        for view, file in one.items():
            files[view].append(file)
    return dict(files)


def _rows(pieces: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The columns of a view's result of some pieces."""
    plain = [pa.Table.from_arrays(one.columns[: len(schema)], names=schema.names).cast(schema) for one in pieces]
    return pa.concat_tables(plain) if plain else schema.empty_table()
