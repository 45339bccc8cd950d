"""From the cells of one plan to those of another: another job, another number of cells, other places of rows.

The rows of the base tables are taken where the cells of the plan before have them (`livejoin.plan.stages.homes`), and
go through the stages of the plan of now as a batch does, into cells that hold nothing; these write snapshots. It is
part of the batch that comes next: that one's manifest lists the files of the new cells, so that before it nothing of
the move has happened, and behind it all of it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from livejoin.database import Database
from livejoin.database.of_stage import show
from livejoin.database.snapshots.carried import Marks, carried
from livejoin.distributed.cells import held_tables
from livejoin.distributed.declaration import Plan
from livejoin.distributed.exchange import first_of
from livejoin.distributed.files import write_delta
from livejoin.distributed.manifest import Held
from livejoin.distributed.parts import CellPart, Outbox
from livejoin.distributed.task import Task
from livejoin.plan.dispatch import sampled
from livejoin.plan.dispatch.sample import SAMPLE, TableSample
from livejoin.plan.stages import Staged
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.state.store_folder import Place

LEAST_SAMPLE = 1 << 6
"""Rows of a table that a cell gives to a sample at least, if it has them."""


@dataclass(frozen=True)
class Source:
    """What the cells of a plan hold, which does not change any more.

    Args:
        plan: The plan.
        held: The state of each cell of each stage.
        tables: The base tables whose rows go on, as they are declared now, by their names in lower case.
        earlier: For a table, by its name, the text of what new columns are in these rows; NULL where nothing is said.
    """

    plan: Plan
    held: Mapping[tuple[int, int], Held]
    tables: Mapping[str, Table]
    earlier: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Surveyed:
    """What a cell found.

    Args:
        samples: For each base table some of the rows whose home it is, as they are declared now.
        rows: How many these are drawn from.
        marks: The marks of these tables: what they know beside their rows.
        results: For each view that was asked for the files with what the cell has of its result.
    """

    samples: Mapping[str, pa.Table] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, Marks] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)


def survey(source: Source, task: Task, views: Iterable[str], cell: int) -> Surveyed:
    """Look at a cell before its rows move.

    Args:
        source: The state of the cells that is moved.
        task: The batch in which it is; names of files come from it.
        views: The views of the plan before whose results are asked for.
        cell: The cell.

    Raises:
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
        LivejoinError: A view does not stand.

    Cost: O(rows that the cell holds), and the loading of these views.
    """
    samples, rows, marks = dict[str, pa.Table](), dict[str, int](), dict[str, Marks]()
    results = {}
    most = max(SAMPLE // source.plan.cells, LEAST_SAMPLE)
    staged = source.plan.staged
    asked = {view: staged.views[view] for view in views}
    for stage, database in _databases(source, task.folder, cell):
        for name, changes, mark in rows_at_home(staged, source.tables, stage, cell, database, source.earlier):
            there = sampled(source.tables[name], changes, most=most)
            samples[name] = pa.concat_tables([*([samples[name]] if name in samples else []), there.rows])
            rows[name] = rows.get(name, 0) + changes.num_rows
            marks[name] = marks.get(name, Marks()) | mark
        shown = tuple(one for one in staged.stages[stage].shown if one.relation in asked.values())
        show(database, replace(staged.stages[stage], shown=shown), cell == 0)
        for view, relation in asked.items():
            if relation in database.views:
                results[view] = write_delta(task, stage, cell, view, database.views[relation].to_arrow())
    return Surveyed(samples, rows, marks, results)


def rows_of_cell(source: Source, now: Plan, task: Task, cell: int) -> list[CellPart]:
    """The rows whose home a cell of the plan before is, to the cells of the plan of now.

    Args:
        source: The state of the cells that is moved.
        now: The plan of now.
        task: The batch in which it is.
        cell: The cell.

    Cost: O(rows that the cell holds).
    """
    outbox = Outbox(now, f"{cell:08d}")
    for stage, database in _databases(source, task.folder, cell):
        for name, changes, _ in rows_at_home(source.plan.staged, source.tables, stage, cell, database, source.earlier):
            outbox.send(name, changes)
    return outbox.left(task.folder, task.batch_id)


def samples_of(found: Iterable[Surveyed], tables: Mapping[str, Table]) -> dict[str, TableSample]:
    """Samples of the base tables from what the cells found; of some that have many rows none is over-represented.

    Args:
        found: The findings of the cells.
        tables: The declarations of now, by names in lower case.
    """
    found = list(found)
    samples = {}
    for name, table in tables.items():
        total = sum(one.rows.get(name, 0) for one in found)
        if not total:
            continue
        whole = sum(one.samples[name].num_rows for one in found if name in one.samples)
        parts = []
        for one in found:
            if name in one.samples:
                rows = one.samples[name]
                even = max(1, whole * one.rows[name] // total)
                parts.append(sampled(table, rows, most=even).rows)
        samples[name] = sampled(table, pa.concat_tables(parts), total=total)
    return samples


def _databases(source: Source, folder: Place, cell: int) -> Iterator[tuple[int, Database]]:
    """The tables of a cell, stage by stage."""
    for stage, plan in enumerate(source.plan.staged.stages):
        held = source.held.get((stage, cell))
        if held is not None:
            yield stage, held_tables(folder, plan, held, source.plan.limits)


def rows_at_home(
    staged: Staged,
    tables: Mapping[str, Table],
    stage: int,
    cell: int,
    database: Database,
    earlier: Mapping[str, Mapping[str, str | None]] | None = None,
) -> Iterator[tuple[str, pa.Table, Marks]]:
    """The rows whose home a cell is, in one stage, with the columns that their table has now.

    Args:
        staged: The stages.
        tables: The base tables, as they are declared now, by their names in lower case.
        stage: The stage.
        cell: The cell.
        database: The cell's tables in the stage.
        earlier: The columns in the rows that their table did not have then, by table; NULL without.

    Cost: O(rows log rows) of its tables, and for the rows of a join that of sending them.
    """
    for name, table in tables.items():
        for home in staged.homes.get(name, ()):
            if home.stage == stage:
                changes, marks = carried(database, home.table)
                yield name, as_now(first_of(changes, home, cell), table, (earlier or {}).get(table.name, {})), marks


def as_now(changes: pa.Table, table: Table, earlier: Mapping[str, str | None]) -> pa.Table:
    """Changes with the columns that their table has now."""
    columns = {}
    for column in table.columns:
        kind = column.type.arrow
        if column.name in changes.column_names:
            columns[column.name] = changes.column(column.name).cast(kind)
        else:
            columns[column.name] = pa.repeat(pa.scalar(earlier.get(column.name), pa.string()), changes.num_rows).cast(
                kind
            )
    return pa.table({**columns, CHANGE_TYPE: changes.column(CHANGE_TYPE)})
