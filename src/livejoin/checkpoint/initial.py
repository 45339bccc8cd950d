"""The first delta of a new or changed view, so that the deltas in the output add up to the view's result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import pyarrow as pa

from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.difference import difference, types_of
from livejoin.database.snapshots.tables import image_of_tables, of_image
from livejoin.errors import StateError
from livejoin.schema import CHANGE_TYPE

Initial = Literal["difference", "whole", "nothing"]


def results(job: Job, tables: Database, views: Iterable[str]) -> dict[str, pa.Table]:
    """The results of some views of a job over tables that stay as they are.

    Cost: O(rows) for a copy of the tables, the loading of all views of the job, and the results.
    """
    copy = of_image(image_of_tables(tables, {}))
    for name, sql in job.views.items():
        copy.create_view(name, sql, deltas=False, allow_product=job.allow_product)
    return {name: copy.views[name].to_arrow() for name in views}


def initial_deltas(
    database: Database,
    new: Iterable[str],
    changed: Iterable[str],
    told: Mapping[str, pa.Table],
    initial: Initial,
) -> dict[str, pa.Table]:
    """The delta from the result that deltas have told so far to the present result, in the layout of deltas.

    Its version is that of the database; the next commit has a later one.

    Args:
        database: The database with the views.
        new: Views without any delta so far.
        changed: Views whose deltas have told another result.
        told: The results that the deltas of changed views have told.
        initial: Whether to tell the difference, the whole result or nothing.

    Returns:
        A delta for each view that has something to tell.

    Raises:
        StateError: A view has other columns than before, so that there is no difference.
    """
    if initial == "nothing":
        return {}
    found = {}
    for name in new:
        found[name] = _inserted(database, name, database.views[name].to_arrow())
    for name in changed:
        result = database.views[name].to_arrow()
        if initial == "difference":
            refuse_other_columns(name, told[name].schema, result.schema)
            result = difference(told[name], result, types_of(database, name))
            found[name] = marked(database, name, result.drop_columns([CHANGE_TYPE]), result[CHANGE_TYPE])
        else:
            found[name] = _inserted(database, name, result)
    return {name: delta for name, delta in found.items() if delta.num_rows}


def _inserted(database: Database, view: str, rows: pa.Table) -> pa.Table:
    return marked(database, view, rows, pa.repeat(pa.scalar("insert"), rows.num_rows))


def marked(database: Database, view: str, rows: pa.Table, kinds: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Rows as a delta of a view."""
    schema = database.views[view].delta_schema
    versions = pa.repeat(pa.scalar(database.version, pa.int64()), rows.num_rows)
    columns = [*rows.columns, kinds, versions]
    return pa.Table.from_arrays(columns, names=schema.names).cast(schema)


def refuse_other_columns(view: str, before: pa.Schema, now: pa.Schema) -> None:
    if before.names != now.names or before.types != now.types:
        msg = (
            f"view {view!r} has other columns than before: was ({_shown(before)}), is now ({_shown(now)}); give it "
            "another name, or say what its first delta is: initial='whole' for all of its rows as insertions, "
            "initial='nothing' for later changes alone"
        )
        raise StateError(msg)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in schema)
