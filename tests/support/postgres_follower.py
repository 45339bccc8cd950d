"""A stream from PostgreSQL without Spark: the source as Spark drives it, and what takes what comes.

`Follower` is an engine in one process, `CellFollower` cells.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine, open_engine
from livejoin.checkpoint.job import Job, job_of
from livejoin.checkpoint.policy import Policy
from livejoin.distributed import Declared, Manifests
from livejoin.distributed.driver import commit, read_delta
from livejoin.schema import CHANGE_TYPE, SEQUENCE, WITHOUT
from livejoin.spark.arrow_columns import sql_columns
from livejoin.spark.limited_streams import ReadAllAvailable, ReadMaxRows
from livejoin.spark.postgres.published import PublishedTable
from livejoin.spark.postgres.source import Place, PostgresReader, published_tables
from livejoin.spark.postgres.stream_rows import earlier_of
from livejoin.spark.streams.frames import without_zones
from livejoin.spark.streams.stream_part import NUMBERS
from livejoin.sql import parse_columns
from oracle import signed_multiset, without_zeros


class Follower:
    """Views over the tables of a publication; each `start` is a new query on the same checkpoint; mutable."""

    def __init__(self, place: str, folder: Path, publication: str = "live", slot: str = "slot") -> None:
        self.place, self.folder, self.publication, self.slot = place, folder, publication, slot
        self.offset: dict[str, Any] = {"at": "nothing"}
        self.batches: list[int] = []  # changes of each
        self.engine: Engine | None = None

    def start(
        self,
        views: Mapping[str, str],
        tables: Sequence[str] | Mapping[str, str] | None = None,
        columns: Mapping[str, Mapping[str, str]] | None = None,
        max_changes: int | None = None,
        policy: Policy | None = None,
        retry_seconds: float = 5,
    ) -> None:
        found = published_tables(self.place, self.publication, tables, columns)
        options = {
            "url": self.place,
            "publication": self.publication,
            "slot": self.slot,
            "tables": json.dumps([table.plain() for table in found]),
            "retry_seconds": str(retry_seconds),
        }
        if max_changes is not None:
            options["max_changes"] = str(max_changes)
        self.tables = found
        self.options = options
        self.reader = PostgresReader(Place(options))
        declared = {
            one.name: parse_columns(one.name, sql_columns(one.name, one.arrow_schema, one.key)) for one in found
        }
        last = self.offset.get(NUMBERS, {})
        earlier = {
            one.name: {c: t for c, t in earlier_of(one).items() if one.numbers[c] > last.get(one.name, 0)}
            for one in found
        }
        job = job_of(declared, views, set(), earlier=earlier)
        self._open(job, policy or Policy())
        self.limit = ReadAllAvailable() if max_changes is None else ReadMaxRows(max_changes)

    def step(self) -> bool:
        """One batch, if there is something."""
        end = self.reader.latestOffset(self.offset, self.limit)
        end = json.loads(json.dumps(end))
        if end == self.offset:
            return False
        self.run(self.offset, end)
        self.offset = end
        self.reader.commit(end)
        return True

    def _open(self, job: Job, policy: Policy) -> None:
        self.engine = open_engine(job, self.folder, policy=policy)

    def run(self, start: dict[str, Any], end: dict[str, Any]) -> None:
        engine = self.engine
        batch_id = 0 if engine.last_batch is None else engine.last_batch + 1
        batch = engine.take(batch_id, lambda: self._read(start, end))
        self.batches.append(batch.rows)
        engine.apply(batch)
        engine.finish(batch_id, [])

    def drain(self) -> None:
        self.reader.prepareForTriggerAvailableNow()
        while self.step():
            pass

    def stop(self) -> None:
        if self.is_running:
            if self.reader._held is not None:
                self.reader._held.close()
            self._close()

    @property
    def is_running(self) -> bool:
        return self.engine is not None

    def _close(self) -> None:
        self.engine.close()
        self.engine = None

    def held(self, view: str) -> Counter[Any]:
        return Counter(tuple(row.values()) for row in self.engine.database.views[view].to_arrow().to_pylist())

    def _read(self, start: dict[str, Any], end: dict[str, Any]) -> Arrival:
        (partition,) = self.reader.partitions(start, end)
        return self._arrival([*self.reader.read(partition)])

    @property
    def job(self) -> Job:
        return self.engine.job

    def _arrival(self, batches: Sequence[pa.RecordBatch]) -> Arrival:
        if not batches:
            return Arrival({}, None)
        rows = pa.Table.from_batches(batches)
        changes = {}
        for table in self.tables:
            changes |= self._of(table, rows)
        return Arrival(changes, datetime(2026, 1, 1, tzinfo=UTC))

    def _of(self, table: PublishedTable, rows: pa.Table) -> dict[str, pa.Table]:
        rows = rows.filter(pc.is_valid(rows[table.name]))
        if not rows.num_rows:
            return {}
        rows = rows.sort_by(SEQUENCE) if len(set(rows[SEQUENCE].to_pylist())) > 1 else rows
        plain = pa.Table.from_struct_array(rows[table.name].combine_chunks())
        plain = plain.select([column.name for column in self.job.tables[table.name].columns])
        plain = without_zones(plain)
        for name in (CHANGE_TYPE, WITHOUT):
            plain = plain.append_column(name, rows[name])
        return {table.name: plain}


class CellFollower(Follower):
    """The same in cells, which die now and then; a view is what its deltas add up to."""

    CELLS = 3

    def __init__(self, place: str, folder: Path, publication: str = "live", slot: str = "slot") -> None:
        super().__init__(place, folder, publication, slot)
        self.manifests: Manifests | None = None
        self.told: dict[str, Counter[Any]] = {}
        self._dice = Random(3)

    def _open(self, job: Job, policy: Policy) -> None:
        self.policy = policy
        self.memories: Memories = {}
        self.manifests = Manifests(self.folder)
        self.declared = Declared(self.folder, job, self.CELLS, last=self.manifests.last)

    @property
    def is_running(self) -> bool:
        return self.manifests is not None

    def _close(self) -> None:
        self.manifests.close()
        self.manifests = None

    @property
    def job(self) -> Job:
        return self.declared.job

    def run(self, start: dict[str, Any], end: dict[str, Any]) -> None:
        arrival = self._read(start, end)
        last = self.manifests.last
        number = 0 if last is None else last.batch_id + 1
        steps = LocalSteps(self._dice, self.memories, arrival.changes, tables=list(self.job.tables.values()))
        done = commit(self.declared, self.manifests, "difference", number, steps, self.policy)
        self.batches.append(arrival.rows)
        for view in self.job.views:
            delta = read_delta(self.declared, self.manifests, done.manifest, view)
            delta = without_zones(delta.drop_columns(["_commit_version"]))
            self.told.setdefault(view, Counter()).update(signed_multiset(delta))
        self.manifests.finish(number, [])
        if self._dice.random() < 0.3:
            self.memories.clear()

    def held(self, view: str) -> Counter[Any]:
        return without_zeros(self.told.get(view, Counter()))
