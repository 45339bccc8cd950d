"""The first load: a large batch into empty tables fills these piece by piece, and then the views are loaded from them.

One commit through the views holds the words of all changes, what each block does with them, and the deltas, beside the
state. Here a piece of the changes is in memory beside the state, and the deltas are read from the views.

Law: database and deltas are those of one commit. As the tables were empty, the delta of a view is its result, minus the
few rows that it had before. Whatever is refused is left to such a commit, which knows the row and the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import pyarrow as pa

from livejoin.checkpoint.batch import LoggedBatch
from livejoin.checkpoint.batch_delta import TIMESTAMP_TYPE, BatchDelta, timed, with_time
from livejoin.checkpoint.declaring import declare
from livejoin.checkpoint.initial import marked
from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.difference import difference, types_of
from livejoin.database.snapshots.tables import Limits, image_of_tables, of_image
from livejoin.database.transactions.pieces import apply_in_pieces, fit_pieces
from livejoin.database.view import View
from livejoin.schema import CHANGE_TYPE

LEAST = 1 << 16
"""Changes from which on it is worth it: fewer take some MB."""

_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class FirstLoad:
    """The database after a first load.

    Args:
        database: The database.
        deltas: The delta of each view that is no assertion; a view that says nothing has an empty one.
        ignored: How many changes of each table, by its name in lower case, had no effect.
    """

    database: Database
    deltas: dict[str, BatchDelta]
    ignored: Counter[str]


@dataclass(frozen=True)
class WholeResult:
    """The result of a view as the rows that came, read when it is asked for; as `BatchDelta`.

    It can be read until the next commit.

    Args:
        view: The view.
        version: The version of the database.
        time: The time of the batch.
    """

    view: View
    version: int
    time: datetime | None

    @cached_property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.view.batches(_AT_ONCE))

    @property
    def schema(self) -> pa.Schema:
        return with_time(self.view.delta_schema)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for batch in self.view.batches(max_chunksize):
            rows = batch.num_rows
            beside = (
                pa.repeat(pa.scalar("insert", schema.field(-3).type), rows),
                pa.repeat(pa.scalar(self.version, schema.field(-2).type), rows),
                pa.repeat(pa.scalar(self.time, TIMESTAMP_TYPE), rows),
            )
            yield pa.RecordBatch.from_arrays([*batch.columns, *beside], names=schema.names).cast(schema)


def is_first_load(database: Database, batch: LoggedBatch) -> bool:
    """Whether a batch is a large one that begins a database: no table has rows but static ones, and fewer than come.

    Cost: O(changes) where they say what they are, else O(tables).
    """
    if batch.rows < LEAST:
        return False
    held = 0
    for name, stats in database.stats()["tables"].items():
        found = stats["rows"] + stats["tombstones"]
        if found and not database.tables[name].static:
            return False
        held += found
    return held < batch.rows and all(fit_pieces(database.tables[name], rows) for name, rows in batch.changes.items())


def load_first(before: Database, job: Job, batch: LoggedBatch, limits: Limits) -> FirstLoad:
    """Apply a batch that `is_first_load`; the database before it stays as it is.

    Args:
        before: The database.
        job: The tables and views of the database.
        batch: The batch.
        limits: Limits of the new database.

    Raises:
        LivejoinError: The batch cannot be applied so.

    Cost: O(rows) for the tables, the loading of the views, and their results, which are read once here.
    """
    database = of_image(image_of_tables(before, {}), limits)
    ignored = apply_in_pieces(database, batch.changes, batch.on_conflict)
    declare(database, job)
    deltas: dict[str, BatchDelta] = {}
    for name, view in database.views.items():
        if view.assertion is not None:
            continue
        told = before.views[name].to_arrow()
        if not told.num_rows:
            deltas[name] = whole = WholeResult(view, database.version, batch.time)
            _ = whole.num_rows  # an output that has no value on some row is an error now, not when it is delivered
            continue
        net = difference(told, view.to_arrow(), types_of(database, name))
        deltas[name] = timed(marked(database, name, net.drop_columns([CHANGE_TYPE]), net[CHANGE_TYPE]), batch.time)
    return FirstLoad(database, deltas, ignored)
