"""The embedded engine behind a stream: declared once, saved with each batch, found again after a failure.

The engine and the number of the last batch that it holds are saved together, atomically, so that the two never
disagree. The law: the saved engine is the state after exactly the batches ``0 .. last_batch``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from livejoin.catalog import Catalog
from livejoin.database import Database
from livejoin.database.snapshots.snapshot import is_there
from livejoin.errors import StateError
from livejoin.schema import TOMBSTONES, Table
from livejoin.spark.written_parts import WrittenParts
from livejoin.sql import bind_views

logger = logging.getLogger("livejoin")


@dataclass(frozen=True)
class Declaration:
    """What an engine is made of.

    Args:
        tables: The columns of each table, as in CREATE TABLE.
        windows: The rows that each windowed table keeps.
        views: The SQL text of each view, which may read those before it.
        sequences: The column that orders the changes of each key, of the tables that have one.
        tombstones: How many deleted keys these remember, where it is not the usual number.
    """

    tables: Mapping[str, str]
    windows: Mapping[str, int]
    views: Mapping[str, str]
    sequences: Mapping[str, str] = field(default_factory=dict)
    tombstones: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(
        tables: Mapping[str, Table], columns: Mapping[str, tuple[str, ...]], views: Mapping[str, str]
    ) -> Declaration:
        """The declaration of tables of which only some columns are kept."""
        kept = {
            name: ", ".join(
                [
                    *(f"`{column}` {table.columns[table.position(column)].type}" for column in columns[name]),
                    *([f"PRIMARY KEY ({_named(table, table.primary_key)})"] if table.primary_key else []),
                    *(f"UNIQUE ({_named(table, unique)})" for unique in table.unique),
                ]
            )
            for name, table in tables.items()
        }
        windows = {name: table.window_rows for name, table in tables.items() if table.window_rows is not None}
        sequences = {
            name: table.columns[table.sequence_by].name
            for name, table in tables.items()
            if table.sequence_by is not None
        }
        bounds = {name: tables[name].tombstones for name in sequences if tables[name].tombstones != TOMBSTONES}
        return Declaration(kept, windows, dict(views), sequences, bounds)


@dataclass
class Engine:
    """A database and the last batch that it holds; changed in place as batches come.

    Args:
        database: The database.
        declaration: What it is made of.
        folder: Where it is saved.
        last_batch: The last batch that it holds; None before the first one.
        parts: The parts of the output up to that batch.
    """

    database: Database
    declaration: Declaration
    folder: Path
    last_batch: int | None
    parts: WrittenParts = field(default_factory=WrittenParts)

    @staticmethod
    def open(
        declaration: Declaration,
        folder: Path,
        memory_limit: int | None = None,
        spill: str | Path | None = None,
        spill_over: str | int | None = None,
        allow_product: bool = False,
    ) -> Engine:
        """The engine saved in a folder, or a new one if there is none.

        Args:
            declaration: What it is made of.
            folder: Where it is saved.
            memory_limit: The most bytes that it may take; not part of what is saved.
            spill: Where deltas are written that take too much memory, as for `Database`; not part of it either.
            spill_over: How much is too much, as for `Database`.
            allow_product: As for `Database.create_view`, for all views of a new engine.

        Raises:
            StateError: The saved engine is made of something else; the message says of what.
            MemoryLimitError: The saved engine takes more than the limit.
            SchemaError: ``spill`` is no path, or ``spill_over`` no size.
            StorageError: No file can be made in ``spill``.
            LivejoinError: A declaration of a new engine does not stand.
        """
        if is_there(folder):
            database = Database.load(folder, memory_limit=memory_limit, spill=spill, spill_over=spill_over)
            saved = database.extra
            _check_same(declaration, saved, folder)
            last = int(saved["batch_id"])
            parts = WrittenParts(since=last + 1)
            if "parts" in saved:
                parts = WrittenParts.from_plain(saved["parts"])
            else:
                logger.warning(
                    "the checkpoint in %s is of a version that did not note which parts of the output it wrote: "
                    "whether those of the batches up to %d are there is not checked",
                    *(folder.parent, last),
                )
            return Engine(database, declaration, folder, last, parts)
        database = Database(memory_limit=memory_limit, spill=spill, spill_over=spill_over)
        for name, columns in declaration.tables.items():
            database.create_table(
                name,
                columns,
                window_rows=declaration.windows.get(name),
                sequence_by=declaration.sequences.get(name),
                tombstones=declaration.tombstones.get(name),
            )
        for name, sql in declaration.views.items():
            database.create_view(name, sql, allow_product=allow_product)
        return Engine(database, declaration, folder, None)

    def save(self, batch_id: int, parts: Iterable[str]) -> None:
        """Save the state as that after a batch.

        Args:
            batch_id: The batch.
            parts: The views of which it left a part in the output.

        Raises:
            StorageError: The disk refuses; the state of before is still there.

        Cost: linear in the state.
        """
        self.parts.add(batch_id, parts)
        self.database.save(self.folder, {"batch_id": batch_id, "parts": self.parts.plain(), **asdict(self.declaration)})
        self.last_batch = batch_id

    def is_new(self, batch_id: int) -> bool:
        """Whether a batch is the next one (True) or the last one once more (False).

        Raises:
            StateError: It is neither, so that Spark's checkpoint and the engine's state do not belong together.
        """
        following = 0 if self.last_batch is None else self.last_batch + 1
        if batch_id == following:
            return True
        if batch_id == self.last_batch:
            return False
        holds = "has no state yet" if self.last_batch is None else f"holds the batches up to {self.last_batch}"
        msg = (
            f"Spark runs batch {batch_id}, and the engine in {self.folder} {holds}: the two halves of the checkpoint "
            "do not belong together. Restore both from the same backup, or start over with an empty checkpoint "
            "and an empty output"
        )
        raise StateError(msg)


def sent_columns(
    tables: Mapping[str, Table],
    views: Mapping[str, str],
    append_only: AbstractSet[str],
    allow_product: bool = False,
) -> dict[str, tuple[str, ...]]:
    """The columns of each table that the engine gets.

    A deletion and a window must find *the* row, which only all of its columns tell; so only tables whose rows stay for
    ever, or are found by their key, are cut to the columns that some view uses (the first one if none does), and those
    of the key, of UNIQUE and ``sequence_by``. So are tables with ``retain = "used"``, whose rows are equal if what is
    kept of them is.

    Args:
        tables: The declarations.
        views: The SQL text of each view, which may read those before it.
        append_only: Tables without deletions and without a window.
        allow_product: As of `livejoin.sql.bind_query`.

    Raises:
        SqlError: A view does not bind.
        SchemaError: A view has the name of a table or of another view.
    """
    catalog = Catalog()
    for table in tables.values():
        catalog.add(table)
    used: dict[str, set[int]] = {table.name: set() for table in tables.values()}
    for query in bind_views(views, catalog, allow_product).values():
        for name, columns in query.used_columns().items():
            used[name] |= columns
    for name, table in tables.items():
        every = range(len(table.columns))
        used[table.name].update(column for unique in table.unique for column in unique)
        used[table.name].update(column for column in every if table.identifies(column))
        found_by_key = bool(table.primary_key) and not table.has_window
        if not found_by_key and name not in append_only and table.retain == "all":
            used[table.name].update(every)
    return {
        name: tuple(table.columns[position].name for position in sorted(used[table.name] or {0}))
        for name, table in tables.items()
    }


def _named(table: Table, columns: Iterable[int]) -> str:
    return ", ".join(f"`{table.columns[column].name}`" for column in columns)


def _check_same(declaration: Declaration, saved: Mapping[str, Any], folder: Path) -> None:
    """Compare with the saved declaration."""
    differences = []
    for part, now in asdict(declaration).items():
        before = dict(saved.get(part) or {})
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                kind = part.removesuffix("s")
                differences.append(f"{kind} {name!r} was {_shown(before.get(name))} and is now {_shown(now.get(name))}")
    if differences:
        msg = (
            f"the checkpoint in {folder.parent} belongs to another job: {'; '.join(differences)}. "
            "Give the declarations of before, or another checkpoint and output folder"
        )
        raise StateError(msg)


def _shown(text: object) -> str:
    return "absent" if text is None else repr(text)
