"""A stream of batches into an engine, its deltas summed up as a reader of the output would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine, open_engine
from livejoin.checkpoint.job import Job, job_of
from livejoin.schema import TableSettings
from livejoin.sql import parse_columns
from livejoin.state.store_folder import Place

TIME = datetime(2026, 11, 22, 12, tzinfo=UTC)
Rows = Iterable[Sequence[Any]]


def job(tables: Mapping[str, str], views: Mapping[str, str], keep_all: bool = False, **options: Any) -> Job:
    """A job of tables as they are written in CREATE TABLE, all of whose rows stay unless they have a key."""
    declared = {
        name: parse_columns(name, columns, TableSettings(**options.get(name, {}))) for name, columns in tables.items()
    }
    stay = {name for name, columns in tables.items() if "KEY" not in columns and name not in options}
    return job_of(declared, views, stay, keep_all)


class Stream:
    """Where batches come from, and what a reader makes of the output.

    Args:
        folder: The checkpoint.
    """

    def __init__(self, folder: Place) -> None:
        self.folder = folder
        self.output: dict[str, dict[int, Counter[Any]]] = {}
        self.engine: Engine | None = None

    def open(self, job: Job, **options: Any) -> Engine:
        """Start, or start again."""
        self.stop()
        self.engine = open_engine(job, self.folder, **options)
        return self.engine

    def stop(self) -> None:
        """End without a word to anybody, as a process that dies does; but for the descriptors."""
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def take(self, batch_id: int, changes: Mapping[str, Rows]) -> Any:
        assert self.engine is not None
        arrival = Arrival({name: arrow(self.engine, name, rows) for name, rows in changes.items()}, TIME)
        return self.engine.take(batch_id, lambda: arrival)

    def deliver(self, batch_id: int, batch: Any) -> None:
        """Apply a batch and write its deltas, in the place of those that it had."""
        assert self.engine is not None
        for view, delta in self.engine.apply(batch).items():
            total: Counter[Any] = Counter()
            for piece in delta.to_batches(1000):
                for row in piece.to_pylist():
                    kind = row.pop("_change_type")
                    del row["_commit_version"], row["_commit_timestamp"]
                    total[tuple(row.values())] += -1 if kind in ("delete", "update_preimage") else 1
            self.output.setdefault(view, {})[batch_id] = total
            if not delta.num_rows:
                del self.output[view][batch_id]

    def run(self, batch_id: int, changes: Mapping[str, Rows]) -> None:
        """A whole batch."""
        assert self.engine is not None
        if self.engine.is_new(batch_id):
            self.deliver(batch_id, self.take(batch_id, changes))
            self.engine.finish(batch_id, self.output)

    def sum(self, view: str) -> Counter[Any]:
        """The sum of a view's deltas."""
        total: Counter[Any] = Counter()
        for part in self.output.get(view, {}).values():
            total.update(part)
        return Counter({row: times for row, times in total.items() if times})

    def held(self, view: str) -> Counter[Any]:
        """The result that the engine has."""
        assert self.engine is not None
        return Counter(tuple(row.values()) for row in self.engine.database.views[view].to_arrow().to_pylist())


def arrow(engine: Engine, table: str, rows: Rows) -> pa.Table:
    """Rows as changes: the columns that are kept, and ``_change_type`` if a row has one value more."""
    columns = engine.job.tables[table].columns
    listed = [tuple(row) for row in rows]
    names = [column.name for column in columns]
    if listed and len(listed[0]) > len(columns):
        names.append("_change_type")
    types = [column.type.arrow for column in columns] + [pa.string()]
    return pa.table(
        [pa.array(values, type) for values, type in zip(zip(*listed, strict=True), types, strict=False)], names=names
    )
