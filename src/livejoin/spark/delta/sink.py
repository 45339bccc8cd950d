"""Views as Delta tables: one table for each view, one commit for each batch.

Law: the commit of a batch carries the batch's number as that of an application's transaction (``txn`` in Delta's
protocol). A batch whose number the table has is not written again. So each table holds its view as it was after one
batch. Several views are several commits.

A view with a key becomes a table that is merged by the key. For a view without a key, and for those in ``history``, the
rows of the deltas are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from livejoin.checkpoint.batch_delta import TIMESTAMP, TIMESTAMP_TYPE, BatchDelta
from livejoin.checkpoint.instants import without_instants
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import SchemaError, StateError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.delta.table import columns_of, explained, location
from livejoin.spark.paths import local_path
from livejoin.spark.sinks.net_effect import COMES, last_of_keys, quoted
from livejoin.spark.sinks.sink import SinkView, whole

_HISTORY = (
    pa.field(CHANGE_TYPE, pa.string()),
    pa.field(COMMIT_VERSION, pa.int64()),
    pa.field(TIMESTAMP, TIMESTAMP_TYPE),
)
_FEED = {"delta.enableChangeDataFeed": "true"}


class DeltaSink:
    """A Delta table for each view, changed in one commit for each batch; mutable.

    Missing tables are made, with a change data feed. A table that exists must be empty before the first batch, and have
    the view's columns. A delta is in memory as a whole while it is written.

    Args:
        folder: The parent folder; ``<folder>/<view>`` is the table of a view.
        history: Views whose deltas are appended as rows, with ``_change_type``, ``_commit_version`` and
            ``_commit_timestamp``.

    Raises:
        PipelineError: The folder is not on a file system, or deltalake misreads its path.
    """

    def __init__(self, folder: str | Path, history: Collection[str] = ()) -> None:
        self._folder = Path(location(local_path(folder, "folder")))
        self._history = frozenset(history)
        self._run = ""
        self._views: dict[str, SinkView] = {}
        self._columns: dict[str, pa.Schema] = {}

    @property
    def folder(self) -> Path:
        """The parent folder."""
        return self._folder

    def of(self, view: str) -> Path:
        """The folder of a view's table."""
        return self._folder / view

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Make missing tables, and compare the others with the checkpoint.

        Raises:
            SchemaError: A view has no key, or a table has other columns.
            StateError: A table and the checkpoint do not belong together.
            StorageError: A table cannot be read or made.
        """
        for view in self._history:
            if view not in views:
                msg = f"history= of the Delta sink names {view!r}; the views are {', '.join(views)}"
                raise SchemaError(msg)
        self._run = run
        self._views = dict(views)
        for view, shape in views.items():
            if not shape.keys and view not in self._history:
                msg = (
                    f"view {view!r} has no key by which rows of a Delta table could be merged. Let it show the keys of "
                    "its tables (PRIMARY KEY), or group its rows (SELECT a, b, COUNT(*) AS n ... GROUP BY a, b), or "
                    f"have its deltas appended: history = [{view!r}]"
                )
                raise SchemaError(msg)
            with explained(location(self.of(view)), "nothing was written"):
                self._open(view, last_batch)

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Write a batch to the tables; nothing if a table has the batch already.

        Cost: linear in the deltas, and in the files that hold rows of their keys.

        Raises:
            StorageError: A table cannot be written; each table is as before the batch or as after it.
        """
        for view, delta in deltas.items():
            if not delta.num_rows:
                continue
            said = f"it holds batch {batch_id} whole or not at all. Repair that and start the query again"
            with explained(str(self.of(view)), said):
                table = DeltaTable(str(self.of(view)))
                told = table.transaction_version(self._run)
                if told is None or told < batch_id:
                    self._write(table, view, whole(delta), batch_id)
        return []

    def forget(self, run: str) -> None:
        """Empty the tables that a run has written, so that it can start anew."""
        for place in sorted(self._folder.iterdir()) if self._folder.is_dir() else []:
            if not DeltaTable.is_deltatable(str(place)):
                continue
            with explained(str(place), "nothing was deleted"):
                table = DeltaTable(str(place))
                if table.transaction_version(run) is not None:
                    table.delete()

    def _open(self, view: str, last_batch: int | None) -> None:
        place = str(self.of(view))
        columns = self._wanted(view)
        if not DeltaTable.is_deltatable(place):
            self.of(view).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(place, schema=columns, configuration=_FEED)
        table = DeltaTable(place)
        there = columns_of(table)
        if there.names != columns.names or without_instants(there).types != without_instants(columns).types:
            msg = (
                f"the Delta table {place} has the columns ({_shown(there)}), and view {view!r} ({_shown(columns)}); "
                "move it away"
            )
            raise SchemaError(msg)
        self._columns[view] = there  # as versions up to 2026-11-24 made it, instants have no zone
        told = table.transaction_version(self._run)
        if told is None and table.to_pyarrow_dataset().count_rows():
            msg = (
                f"the Delta table {place} holds rows that are not of this checkpoint, and view {view!r} is to be "
                "written there; delete them, or move it away"
            )
            raise StateError(msg)
        last = -1 if last_batch is None else last_batch
        if told is not None and told > last + 1:
            holds = "has not seen a batch yet" if last_batch is None else f"has seen the batches up to {last_batch}"
            msg = (
                f"the checkpoint {holds}, and the Delta table {place} those up to {told}: one of them was put back to "
                "an earlier state. Restore both from the same time, or start over with an empty checkpoint and empty "
                "tables"
            )
            raise StateError(msg)

    def _wanted(self, view: str) -> pa.Schema:
        own = [pa.field(field.name, _plain(field.type)) for field in self._views[view].schema]
        return pa.schema([*own, *(_HISTORY if view in self._history else ())])

    def _write(self, table: DeltaTable, view: str, delta: pa.Table, batch_id: int) -> None:
        done = CommitProperties(app_transactions=[Transaction(self._run, batch_id)])
        columns = self._columns[view]
        if view in self._history:
            write_deltalake(table, delta.select(columns.names).cast(columns), mode="append", commit_properties=done)
            return
        key = self._views[view].keys[0]
        names = [quoted(name) for name in columns.names]
        same = " AND ".join(f"(held.{quoted(n)} IS NOT DISTINCT FROM came.{quoted(n)})" for n in key) or "1 = 1"
        values = {name: f"came.{name}" for name in names}
        merge = table.merge(
            last_of_keys(delta, columns, key), same, source_alias="came", target_alias="held", commit_properties=done
        )
        merge = merge.when_matched_delete(f"NOT came.{COMES}").when_matched_update(values)
        merge.when_not_matched_insert(values, f"came.{COMES}").execute()


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column as Delta tables support it."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return pa.string() if pa.types.is_large_string(kind) else kind


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
