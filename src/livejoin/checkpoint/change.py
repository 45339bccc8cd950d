"""From the job of a checkpoint to the job that is asked for now.

Allowed changes: a view may come, go, or get another query. A table may come or go. A column may come; existing rows
have NULL in it, or the value that the source says they have. A column that the source has no more may go. VARCHAR(n)
may become longer, an integer or a DECIMAL wider. A static table may get columns that were not kept, since its source is
read at every start. Formatting of SQL text is no change.

Every other difference is refused, and all reasons are named at once. If the table has no rows, it is declared anew
instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from livejoin.catalog import tables_beside
from livejoin.checkpoint.job import Job, restricted
from livejoin.database import Database
from livejoin.database.base_rows import word_of
from livejoin.database.snapshots.tables import Limits, empty_rows, image_of_tables, of_image, with_columns
from livejoin.errors import StateError
from livejoin.schema import Column, Table
from livejoin.sql import names_read, normal_text
from livejoin.state.store_folder import Place


@dataclass(frozen=True)
class ViewChanges:
    """Which views are new, changed or dropped.

    Args:
        new: The views that were not there before.
        changed: The views whose result may differ, because their text differs or that of a view that they read.
        dropped: The views that are not there any more.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def view_changes(before: Job, now: Job) -> ViewChanges:
    """Compare the views of two jobs. Cost: all views are bound twice."""
    changed: list[str] = []
    other = {name.lower() for name in now.views.keys() - before.views.keys()}  # names of other relations than before
    were, are = before.schemas, now.schemas
    for name, sql in now.views.items():
        if name not in before.views:
            continue
        same_text = normal_text(before.views[name]) == normal_text(sql)
        if not same_text or were[name] != are[name] or not other.isdisjoint(names_read(sql)):
            other.add(name.lower())
            changed.append(name)
    return ViewChanges(
        tuple(name for name in now.views if name not in before.views),
        tuple(changed),
        tuple(name for name in before.views if name not in now.views),
    )


def merged(before: Job, now: Job, rows: Mapping[str, int], folder: Place) -> Job:
    """The job to go on with: the new job, whose tables keep the columns that they have.

    Args:
        before: The job of the checkpoint.
        now: The job that is asked for.
        rows: How many rows each table of the checkpoint has, remembered deletions included.
        folder: The checkpoint, for messages.

    Raises:
        StateError: The checkpoint cannot go on as this job; the message has all reasons.
    """
    tables, reasons, earlier = {}, list[str](), dict[str, dict[str, str | None]]()
    for name, table in now.tables.items():
        old = before.tables.get(name)
        if old is None or not rows[name]:
            tables[name] = table
            continue
        known = now.earlier.get(name)
        found = list(_reasons(old, before.offered[name], table, now.offered[name], known))
        reasons += found
        if not found:
            present = {column.name for column in now.offered[name].columns}
            if known is not None:  # what a stream cannot bring any more has to have a way out
                present &= {column.name for column in table.columns}
            kept = [column.name for column in old.columns if column.name in present]
            more = [column.name for column in table.columns if column.name not in kept]
            offered = now.offered[name]
            tables[name] = restricted(offered, [offered.position(column) for column in (*kept, *more)])
            texts: dict[str, str | None] = {
                column: text for column in more if (text := (known or {}).get(column)) is not None
            }
            earlier |= {name: texts} if texts else {}
    if reasons:
        msg = (
            f"the checkpoint in {folder} belongs to another job: {'; '.join(reasons)}. Give the declarations of "
            "before, or start over with an empty checkpoint and an empty output"
        )
        raise StateError(msg)
    return replace(now, tables=tables, earlier=earlier)


def moved(database: Database, now: Job, limits: Limits) -> Database:
    """A database with the tables of a job and their rows from another database; without views.

    Args:
        database: The database with the old tables.
        now: The job, as `merged` gave it.
        limits: The limits of the new database.

    Cost: O(rows).
    """
    filled = {
        name: [
            word_of(database, column, now.earlier.get(name, {}).get(column.name))
            for column in now.tables[name].columns
            if column.name not in {one.name for one in table.columns}
        ]
        for name, table in database.tables.items()
        if name in now.tables
    }
    beside = _watermarks(database, now)
    image = image_of_tables(database, {})
    there = {table.name: (table, rows) for table, rows in image.tables}
    tables = []
    for name, table in now.tables.items():
        found = there.get(name)
        if found is None or not (found[1].weights.size or found[1].tombstones.size):
            tables.append((table, empty_rows(table)))
        else:
            tables.append((table, with_columns(*found, table, filled[name])))
    tables += [
        (table, there[name][1] if name in beside else empty_rows(table)) for name, table in now.tables_beside.items()
    ]
    return of_image(replace(image, tables=tables), limits)


def _watermarks(database: Database, now: Job) -> set[str]:
    """The tables of watermarks that go on: those of tables whose watermark is of the same column as before."""
    before, found = database.tables, set[str]()
    for name, table in now.tables.items():
        if name in before and goes_on(before[name], table):
            found |= {beside.name for beside in tables_beside(table) if beside.name in before}
    return found


def goes_on(before: Table, now: Table) -> bool:
    """Whether the watermark of a table goes on with its declaration of now: it is of the same column."""
    was, column = before.settings.watermark, now.settings.watermark
    return was is not None and column is not None and was[0] == column[0]


def _reasons(
    old: Table, offered: Table, now: Table, offers: Table, earlier: Mapping[str, str | None] | None
) -> Iterable[str]:
    """Why the rows of a table do not fit another declaration; empty if they do."""
    named = f"table {old.name!r}"
    known = {column.name: column for column in old.columns}
    were = {column.name for column in offered.columns}
    for column in offers.columns:
        before = known.get(column.name)
        if before is not None and before.declared != column.declared and not _is_wider(before, column):
            yield f"{named}: column {column.name!r} was {before.declared} and is now {column.declared}"
    present = {column.name for column in offers.columns}
    for name in known.keys() - present if earlier is None or old.has_window else ():
        yield (
            f"{named}: column {name!r} was there, the rows have it, and the changes come without it now; give it as "
            "NULL if need be"
        )
    for column in now.columns:
        if column.name in known:
            continue
        if old.static and now.static and column.nullable:
            continue  # its source is read at this start, and brings the values
        if column.name in were:
            yield (
                f"{named}: column {column.name!r} was not kept of the rows that are there, because no view read it; "
                'keep = "all" from the beginning keeps every column'
            )
        elif earlier is not None and column.name not in earlier:
            yield (
                f"{named}: the new column {column.name!r} has values in rows that are there which were not read: it "
                "came while the stream was read without it, or its default was computed. Let no view read it; to have "
                "its values, stop the query, add another column without a default, start it with views that read that "
                "one, and copy: UPDATE t SET new = old"
            )
        elif not column.nullable:
            yield f"{named}: the new column {column.name!r} is NOT NULL, and the rows that are there have no value"
    if old.static and not now.static:
        yield f"{named} was static and is now a stream, which would bring its rows once more; give it another name"
    watched = _watched(old, now)
    were_said, are_said = (*_properties(old), watched[0]), (*_properties(now), watched[1])
    for what, was, is_now in zip(_PROPERTIES, were_said, are_said, strict=True):
        if was != is_now:
            yield f"{named}: {what} was {_shown(was)} and is now {_shown(is_now)}"


def _is_wider(before: Column, now: Column) -> bool:
    """Whether all values of a column are also values of its new type, stored in the same way.

    Texts of VARCHAR(n) that may be longer, or of any length; larger integers; DECIMALs of the same scale. Versions up
    to 2026-11-24 knew TIMESTAMP_NTZ as TIMESTAMP, whose words are the same.
    """
    was, is_now = before.type, now.type
    if was.kind == is_now.kind == "timestamp":
        return before.nullable == now.nullable and not was.is_local
    if was.kind == is_now.kind == "integer":
        return was.bits <= is_now.bits
    if was.kind == is_now.kind == "decimal":
        return was.scale == is_now.scale and was.precision <= is_now.precision
    plain = all(one.type.kind == "string" and not (one.is_char or one.is_uuid) for one in (before, now))
    return plain and before.length > 0 and (now.length == 0 or now.length > before.length)


_PROPERTIES = (
    "the key",
    "UNIQUE",
    "window_rows",
    "window_range",
    "sequence_by",
    "tombstones",
    "the column of watermark",
)


def _watched(old: Table, now: Table) -> tuple[object, object]:
    """The columns of two watermarks where they must be equal: one may come or go, and the delay may be another."""
    was, is_now = old.settings.watermark, now.settings.watermark
    return (None, None) if was is None or is_now is None else (was[0], is_now[0])


def _properties(table: Table) -> tuple[object, ...]:
    """The properties of a table, beside its columns, that its rows depend on; columns are named."""
    names = [column.name for column in table.columns]
    said = table.settings
    return (
        [names[column] for column in table.primary_key],
        sorted(sorted(names[column] for column in unique) for unique in table.unique),
        said.window_rows,
        said.window_range,
        said.sequence_by,
        None if said.sequence_by is None else table.tombstones,
    )


def _shown(value: object) -> str:
    return "absent" if value is None or value == [] else repr(value)
