"""Views as tables of Spark's catalogs, as those of Iceberg: a table for each view, one MERGE for each batch.

Law: a batch that comes again changes nothing (`livejoin.spark.sinks.merge`; of appended rows the number of the batch is
looked for). So each table holds its view as it was after one batch. Several views are several commits.

A table has the name of its checkpoint and the number of the last batch that changed it as properties, which are set
behind the batch. The checkpoint has that number too. A table or a checkpoint that was put back to an earlier state is
found by that at the next start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from livejoin.checkpoint.batch_delta import BatchDelta, with_time
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import PipelineError, SchemaError, StateError, StorageError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.schema.names import backticked
from livejoin.spark.failures import OF_SPARK, said
from livejoin.spark.sinks.frames import frame_of
from livejoin.spark.sinks.merge import BATCH, COUNT, appended, by_count, by_key, created, noted
from livejoin.spark.sinks.net_effect import COMES, counts, last_of_keys
from livejoin.spark.sinks.sink import SinkView, whole

_RUN, _BATCH = "livejoin-run", "livejoin-batch"
_VIEW = "{view}"
_NOTHING = -1
_REFUSED = "Error occurred during query planning"  # what EXPLAIN gives for a statement that cannot run
Manner = Literal["key", "count", "history"]


class TableSink:
    """A table of a Spark catalog for each view, changed by one MERGE for each batch; mutable.

    The catalog is one of the session, and its tables must know MERGE, as those of Iceberg do. Missing tables are made.
    A table that exists must be empty before the first batch, and have the view's columns. A delta is in memory as a
    whole while it is written.

    A view with a key becomes a table that is merged by the key. A view in ``counts`` becomes a table of its different
    rows, with ``_count``, how often each stands in the view, and ``_batch``.

    Args:
        name: The name of the table, as in SQL. With several views ``{view}`` stands for the name of each:
            ``"ice.live.{view}"``.
        history: Views whose deltas are appended as rows, with ``_change_type``, ``_commit_version``,
            ``_commit_timestamp`` and ``_batch``.
        counts: Views without a key, of which different rows are kept with their counts.
        provider: The format of tables that are made, as ``USING`` has it: ``"iceberg"``. None leaves it to the catalog.

    Raises:
        PipelineError: The name is none.
    """

    def __init__(
        self, name: str, history: Collection[str] = (), counts: Collection[str] = (), provider: str | None = None
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            msg = f"name= is {name!r:.80}; it takes the name of a table, as 'ice.live.totals', or 'ice.live.{{view}}'"
            raise PipelineError(msg, key="name")
        self._name = name
        self._asked: dict[str, Collection[str]] = {"history": frozenset(history), "counts": frozenset(counts)}
        self._provider = provider
        self._spark: SparkSession | None = None
        self._run = ""
        self._views: dict[str, SinkView] = {}
        self._begins = True

    def use(self, spark: SparkSession) -> None:
        """Take the session whose catalogs have the tables."""
        self._spark = spark

    def of(self, view: str) -> str:
        """The name of a view's table, as in SQL."""
        return self._name.replace(_VIEW, backticked(view))

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Make missing tables, and compare the others with the checkpoint.

        Raises:
            PipelineError: There are several views and one name.
            SchemaError: A view has no key, or a table has other columns or knows no MERGE.
            StateError: A table and the checkpoint do not belong together.
            StorageError: A table cannot be read or made.
        """
        if len(views) > 1 and _VIEW not in self._name:
            msg = f"name = {self._name!r} is one table, and there are {len(views)} views; let it have {_VIEW} for each"
            raise PipelineError(msg, key="name")
        for argument, named in self._asked.items():
            for view in named:
                if view not in views:
                    msg = f"{argument}= of the sink names {view!r}; the views are {', '.join(views)}"
                    raise SchemaError(msg)
        self._run, self._views, self._begins = run, dict(views), True
        are_ours = []
        for view in views:
            manner = self._manner(view)
            with _explained(self.of(view), "nothing was written"):
                is_new = self._made(view, manner)
                try:
                    self._check_merge(view, manner)
                except SchemaError:
                    if is_new:
                        self._sql(f"DROP TABLE {self.of(view)}")
                    raise
                last = max(written.batches(view), default=_NOTHING)
                are_ours.append(self._claimed(view, last, _NOTHING if last_batch is None else last_batch))
        if last_batch is not None and not any(are_ours):
            msg = (
                f"the checkpoint has seen the batches up to {last_batch}, and no table of {self._name!r} has any of "
                "them: they went elsewhere. Give the name that it had, or start over with an empty checkpoint"
            )
            raise StateError(msg)
        for view, is_ours in zip(views, are_ours, strict=True):
            if not is_ours:
                with _explained(self.of(view), "nothing was written"):
                    self._note(view, _NOTHING)

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Write a batch to the tables.

        Returns:
            The views whose tables were changed.

        Cost: that of a MERGE of the deltas, as the tables do it.

        Raises:
            StorageError: A table cannot be written; each table is as before the batch or as after it.
        """
        changed = []
        for view, delta in deltas.items():
            if not delta.num_rows:
                continue
            again = f"it holds batch {batch_id} whole or not at all. Repair that and start the query again"
            with _explained(self.of(view), again):
                self._write(view, whole(delta), batch_id)
                self._note(view, batch_id)
            changed.append(view)
        self._begins = False
        return changed

    def forget(self, run: str) -> None:
        """Empty the tables of a run, so that it can start anew.

        Raises:
            StorageError: A table cannot be emptied.
        """
        for view in self._views:
            table = self.of(view)
            with _explained(table, "nothing was deleted"):
                if self._session.catalog.tableExists(table) and self._properties(table).get(_RUN) == run:
                    self._sql(f"DELETE FROM {table}")

    def shows(self, views: Collection[str]) -> None:
        """Name the views, for `forget` before the first start."""
        self._views = {view: SinkView(pa.schema([])) for view in views}

    @property
    def _session(self) -> SparkSession:
        if self._spark is None:
            msg = "the sink has no session; livejoin.spark.maintain gives it one"
            raise PipelineError(msg)
        return self._spark

    def _sql(self, text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self._session.sql(text).collect()]

    def _manner(self, view: str) -> Manner:
        """How a view is written."""
        if view in self._asked["history"]:
            return "history"
        if view in self._asked["counts"]:
            return "count"
        if self._views[view].keys:
            return "key"
        msg = (
            f"view {view!r} has no key by which rows of a table could be merged. Let it show the keys of its tables "
            "(PRIMARY KEY), or group its rows. Or have its different rows kept with their counts: "
            f"counts = [{view!r}], or its deltas appended: history = [{view!r}]"
        )
        raise SchemaError(msg)

    def _columns(self, view: str, manner: Manner) -> pa.Schema:
        """The columns of a view's table."""
        own = self._views[view].schema.remove_metadata()
        number = pa.field(BATCH, pa.int64())
        if manner == "key":
            return own
        if manner == "count":
            return pa.schema([*own, pa.field(COUNT, pa.int64()), number])
        more = pa.schema([*own, pa.field(CHANGE_TYPE, pa.string()), pa.field(COMMIT_VERSION, pa.int64())])
        return pa.schema([*with_time(more), number])

    def _made(self, view: str, manner: Manner) -> bool:
        """Make a table if it is missing (True), or compare its columns with the view."""
        table = self.of(view)
        types = from_arrow_schema(self._columns(view, manner), prefer_timestamp_ntz=True)
        wanted = {field.name: field.dataType.simpleString() for field in types}
        if not self._session.catalog.tableExists(table):
            self._sql(created(table, wanted, self._provider))
            return True
        there = {field.name: field.dataType.simpleString() for field in self._session.table(table).schema}
        if list(there.items()) != list(wanted.items()):
            msg = (
                f"the table {table} has the columns ({_shown(there)}), and view {view!r} ({_shown(wanted)}); drop the "
                "table, and it is made, or give another name"
            )
            raise SchemaError(msg)
        return False

    def _check_merge(self, view: str, manner: Manner) -> None:
        """Refuse a table that cannot be merged into, before the first batch."""
        if manner == "history":
            return
        empty = self._columns(view, manner).empty_table()
        if manner == "key":
            empty = empty.append_column(COMES, pa.array([], pa.bool_()))
        with self._came(view, empty) as came:
            try:
                plan = self._sql(f"EXPLAIN {self._statement(view, manner, came)}")
                text = "\n".join(str(line) for (line,) in plan)
            except OF_SPARK as error:
                text = f"{_REFUSED}: {error}"
        if _REFUSED in text:
            why = said(text.partition(_REFUSED)[2].lstrip(": \n"))
            msg = (
                f"the table {self.of(view)} cannot be merged into: {why} Give a table that knows MERGE, as one of "
                "Iceberg; provider = 'iceberg' has missing ones made so, if the catalog is of that kind"
            )
            raise SchemaError(msg)

    def _claimed(self, view: str, written: int, last: int) -> bool:
        """Whether a table is one of this run; False if it is empty and nobody's."""
        table = self.of(view)
        found = self._properties(table)
        if found.get(_RUN) != self._run:
            if self._sql(f"SELECT 1 FROM {table} LIMIT 1"):
                msg = (
                    f"the table {table} holds rows that are not of this checkpoint, and view {view!r} is to be written "
                    "there; empty it, or give another name"
                )
                raise StateError(msg)
            if written == _NOTHING:
                return False
            found = {}
        batch = int(found.get(_BATCH, _NOTHING))
        if batch not in (written, last + 1):
            msg = (
                f"the checkpoint has written view {view!r} up to batch {written}, and the table {table} has those up "
                f"to {batch}: one of them was put back to an earlier state. Restore both from the same time, or start "
                "over with an empty checkpoint and without the tables"
            )
            raise StateError(msg)
        return True

    def _properties(self, table: str) -> dict[str, str]:
        return {str(name): str(value) for name, value in self._sql(f"SHOW TBLPROPERTIES {table}")}

    def _note(self, view: str, batch_id: int) -> None:
        self._sql(noted(self.of(view), {_RUN: self._run, _BATCH: batch_id}))

    def _write(self, view: str, delta: pa.Table, batch_id: int) -> None:
        manner = self._manner(view)
        columns = self._columns(view, manner)
        number = pa.repeat(pa.scalar(batch_id, pa.int64()), delta.num_rows)
        if manner == "key":
            rows = last_of_keys(delta, columns, self._views[view].keys[0])
        elif manner == "count":
            rows = counts(delta, self._views[view].schema.remove_metadata(), COUNT)
            rows = rows.append_column(BATCH, number[: rows.num_rows])
        else:
            if self._begins and self._sql(f"SELECT 1 FROM {self.of(view)} WHERE `{BATCH}` = {batch_id} LIMIT 1"):
                return
            rows = delta.append_column(BATCH, number).select(columns.names)
        with self._came(view, rows) as came:
            self._sql(self._statement(view, manner, came))

    def _statement(self, view: str, manner: Manner, came: str) -> str:
        table, own = self.of(view), self._views[view].schema.names
        if manner == "key":
            return by_key(table, came, own, self._views[view].keys[0])
        if manner == "count":
            return by_count(table, came, own)
        return appended(table, came, self._columns(view, manner).names)

    @contextmanager
    def _came(self, view: str, rows: pa.Table) -> Iterator[str]:
        """A name in the session for rows that came."""
        name = f"livejoin_{hashlib.sha256(f'{self._run} {view}'.encode()).hexdigest()[:16]}"
        frame_of(self._session, rows).createOrReplaceTempView(name)
        try:
            yield name
        finally:
            self._session.catalog.dropTempView(name)


@contextmanager
def _explained(table: str, what: str) -> Iterator[None]:
    """Turn errors of Spark inside into `StorageError`, whose text ends with what follows from it."""
    try:
        yield
    except OF_SPARK as error:
        msg = f"the table {table}: {said(str(error))}; {what}"
        raise StorageError(msg) from error


def _shown(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())
