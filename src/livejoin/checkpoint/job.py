"""The job of a checkpoint: its tables and views, as values that can be compared and stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from livejoin.catalog import Catalog, catalog_of, tables_beside
from livejoin.database.snapshots.declaration import plain_table, read_table, value
from livejoin.errors import StateError
from livejoin.schema import Table
from livejoin.sql import bind_views, in_order, violations_of


@dataclass(frozen=True)
class Job:
    """Tables and views.

    Args:
        tables: Each table by name, with the columns that are kept.
        views: The SQL text of each view, which may read earlier ones.
        offered: Each table with all columns of its source, also those that are not kept.
        allow_product: As for `livejoin.Database.create_view`, for all views.
        earlier: For a table and a column the value in rows from before the column came, as a text that Arrow casts.
            Without an entry for the table the value is NULL; without one for the column nobody knows it.
        assertions: The condition of each assertion by name.
    """

    tables: Mapping[str, Table]
    views: Mapping[str, str]
    offered: Mapping[str, Table]
    allow_product: bool = False
    earlier: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    assertions: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The names of the kept columns of each table."""
        return {name: tuple(column.name for column in table.columns) for name, table in self.tables.items()}

    @property
    def tables_beside(self) -> dict[str, Table]:
        """The tables of the watermarks of the tables, by name."""
        return {beside.name: beside for table in self.tables.values() for beside in tables_beside(table)}

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each view; ``*`` stands for all columns that the sources of its tables have."""
        bound = bind_views(self.views, catalog_of(self.offered.values()), self.allow_product)
        return {name: bound[name.lower()].schema for name in self.views}

    def plain(self) -> dict[str, Any]:
        """The job as JSON values."""
        return {
            "tables": {name: plain_table(table) for name, table in self.tables.items()},
            "views": dict(self.views),
            "offered": {name: plain_table(table) for name, table in self.offered.items()},
            "allow_product": self.allow_product,
            **({"earlier": {name: dict(texts) for name, texts in self.earlier.items()}} if self.earlier else {}),
            **({"assertions": dict(self.assertions)} if self.assertions else {}),
        }

    @staticmethod
    def from_plain(entry: object) -> Job:
        """The job from the JSON values of `plain`.

        Raises:
            StateError: The values are not those of a job.
        """
        try:
            return Job(
                {name: read_table(table) for name, table in value(entry, "tables", dict).items()},
                {name: str(sql) for name, sql in value(entry, "views", dict).items()},
                {name: read_table(table) for name, table in value(entry, "offered", dict).items()},
                value(entry, "allow_product", bool),
                {name: dict(texts) for name, texts in dict(entry).get("earlier", {}).items()},  # type: ignore[call-overload]
                {name: str(text) for name, text in dict(entry).get("assertions", {}).items()},  # type: ignore[call-overload]
            )
        except (ValueError, KeyError, TypeError) as error:
            msg = f"the declarations of the checkpoint are damaged: {error}"
            raise StateError(msg) from error

    @property
    def digest(self) -> str:
        """A fingerprint: equal for equal jobs."""
        text = json.dumps(self.plain(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def job_of(
    tables: Mapping[str, Table],
    views: Mapping[str, str],
    append_only: AbstractSet[str],
    keep_all: bool = False,
    allow_product: bool = False,
    earlier: Mapping[str, Mapping[str, str | None]] | None = None,
    assertions: Mapping[str, str] | None = None,
) -> Job:
    """The job of declarations: tables are cut to the columns that have to be kept.

    A deletion and a window must find *the* row, and only all of its columns identify it. So a table is cut only if its
    rows stay for ever or are found by a key. It keeps the columns that some view uses (the first one if none does) and
    those of its keys and ``sequence_by``. A table with ``retain = "used"`` is cut too: rows are equal there if their
    kept columns are.

    Args:
        tables: The declarations, with all columns of their sources.
        views: The SQL text of each view, which may read others.
        append_only: Tables without deletions and without a window, declared so or not.
        keep_all: Whether all columns are kept.
        allow_product: As for `livejoin.sql.bind_query`.
        earlier: The values of columns in rows from before they came, as in `Job`.
        assertions: The condition of each assertion by name; the tables keep the columns that they use, too.

    Raises:
        SqlError: The query of a view is not valid.
        SchemaError: A view has the name of a table or of another view.
    """
    views = in_order(views)
    catalog = catalog_of(tables.values())
    used: dict[str, set[int]] = {table.name: set() for table in tables.values()}
    asserted = {name: violations_of(text) for name, text in (assertions or {}).items()}
    for query in bind_views({**views, **asserted}, catalog, allow_product).values():
        for name, columns in query.used_columns().items():
            if name in used:  # else it is the table of a watermark
                used[name] |= columns
    kept = {}
    for name, table in tables.items():
        every = range(len(table.columns))
        found_by_key = bool(table.primary_key) and not table.has_window
        if keep_all or (not found_by_key and name not in append_only and table.retain == "all"):
            kept[name] = restricted(table, every)
            continue
        needed = used[table.name] | {column for column in every if table.needs(column)}
        needed |= _referred(catalog, table)
        kept[name] = restricted(table, sorted(needed or {0}))
    return Job(kept, dict(views), dict(tables), allow_product, dict(earlier or {}), dict(assertions or {}))


def _referred(catalog: Catalog, table: Table) -> set[int]:
    """The columns of a table that foreign keys which are enforced need: its own, and those that refer to it."""
    own = {column for key in table.foreign_keys if key.enforced for column in key.columns}
    for other in catalog:
        for key in other.foreign_keys:
            if key.enforced and key.refers_to(table.name):
                own |= set(key.targets(table))
    return own


def restricted(table: Table, columns: Sequence[int]) -> Table:
    """A table with some of its columns, in the given order, and without ``retain``.

    Foreign keys of which a column is left out are dropped.

    Args:
        table: The table.
        columns: Positions, which include those of the keys, ``sequence_by`` and the window.
    """
    place = {column: position for position, column in enumerate(columns)}

    def moved(positions: Iterable[int]) -> tuple[int, ...]:
        return tuple(place[position] for position in positions)

    return replace(
        table,
        columns=tuple(table.columns[column] for column in columns),
        primary_key=moved(table.primary_key),
        foreign_keys=tuple(
            replace(key, columns=moved(key.columns)) for key in table.foreign_keys if place.keys() >= set(key.columns)
        ),
        unique=tuple(map(moved, table.unique)),
        settings=replace(table.settings, retain="all"),
    )
