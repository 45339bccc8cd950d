"""The contents of a database: declarations, rows, dictionaries, views and the blocks that maintain the views."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.catalog import Catalog
from livejoin.database.asked_plans import AskedPlans
from livejoin.database.commit_times import CommitTimes
from livejoin.database.declared.checks import Checks, bound_check
from livejoin.database.declared.defaults import check_defaults
from livejoin.database.declared.generated import Generated, bound_column
from livejoin.database.durable.bodies import (
    CREATE_TABLE,
    CREATE_VIEW,
    DROP_TABLE,
    DROP_VIEWS,
    HISTORY,
    declared_table,
    plain,
)
from livejoin.database.durable.history import History
from livejoin.database.durable.log import Log, Placed
from livejoin.database.lineage.causes import Given
from livejoin.database.shown_views import ShownViews
from livejoin.database.slow_commits import SlowestCommits
from livejoin.database.snapshots.declaration import plain_view
from livejoin.database.tally import Tally
from livejoin.database.transactions.assertions import refuse_violated
from livejoin.database.transactions.backfill import NOTHING, offering, plain_rows, refuse_unread
from livejoin.database.transactions.commit_plan import CommitPlan
from livejoin.database.transactions.compaction import Passed, Replacement, Seen, install
from livejoin.database.transactions.guard import Guard, open_guard
from livejoin.database.transactions.journal import Journal, Letter, deliver, settle
from livejoin.database.transactions.requests import Requests
from livejoin.database.transactions.trusted import forget_lost
from livejoin.database.versions.images import Images
from livejoin.database.versions.links import Links
from livejoin.database.view import View, ViewOptions
from livejoin.dataflow.graph import Choices, Graph
from livejoin.dataflow.measured import observed_shares
from livejoin.dataflow.observe import observe_tables
from livejoin.errors import SchemaError, StateError
from livejoin.families.cells.workers import Workers
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.query.conjunctive import MOST_ATOMS
from livejoin.schema import Table
from livejoin.search.statistics import Statistics, given
from livejoin.sql import bind_query
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.scratch import Scratch
from livejoin.state.table import BaseTable
from livejoin.state.table_rows import new_table
from livejoin.words import Words

GivenStatistics: TypeAlias = Statistics | Mapping[str, Mapping[str, Any]]
"""Statistics, or what `livejoin.search.statistics.given` makes them of."""


def refuse_large_joins(query: Query) -> None:
    """Refuse a join of more tables than a word has bits, less two.

    Raises:
        SchemaError: The query has such a join.
    """
    for join in query.joins:
        if len(join.atoms) > MOST_ATOMS:
            msg = f"the query joins {len(join.atoms)} tables; allowed are {MOST_ATOMS}"
            raise SchemaError(msg)


@dataclass
class Contents:
    """Everything that a database holds; mutable.

    Args:
        workers: The threads that maintain the views.
        memory_limit: The most bytes that the database may take; None for no limit.
        catalog: The declarations of the tables.
        tables: The rows of the tables, by name in lower case.
        views: The views, by name in lower case.
        version: The version of the last commit.
        scratch: The folder for large deltas; None if all deltas stay in memory.

    Attributes:
        budget: The memory that is in use, and its limit.
        codec: The dictionaries of strings and wide decimals.
        graph: The blocks that maintain the views.
        journal: The commit that is under way, or that was cut off.
        letters: Deltas that subscribers have not been called with yet.
        tally: Counts of all commits so far.
        slowest: The slowest of them.
        times: How long the last of them took.
        links: The versions that somebody reads or follows, with what came after them.
        images: The rows of such versions.
        is_telling: Whether subscribers are being called.
        seen: The changes since the dictionaries were last looked through for garbage.
        pause: Values that may pass before tables and blocks are looked at again for what can be given back.
        is_compacting: Whether what takes the place of something is being built from what is there.
        replacement: The tables and dictionaries that take the place of these, and are not there yet.
        guard: Lets one call run at a time, and first what an earlier one left undone.
        extra: The user's JSON values, kept with a snapshot.
        offsets: Up to where each source was read, as the commits said.
        requests: The requests of clients that were done.
        checks: The conditions of tables, by the tables' names in lower case, as they were used last.
        generated: The generated columns of tables, likewise.
        histories: Of views with a history in a folder, where it lies; by name in lower case.
        sealed_at: How many rows tables with ``keep = "open"`` had behind the last time that they freed some.
        heard: The least watermarks of tables, by name in lower case, as other parts of these tables have them.
        log: The log that makes changes stay; None if nothing does.
        is_closed: Whether it takes no call any more.
        plans: The plans of commits, by the names of the tables that they change.
        asked: The plans of queries that were asked once.
        last: The changes of the last commit, for who asks why it changed what it did.
    """

    workers: Workers
    memory_limit: int | None = None
    catalog: Catalog = field(default_factory=Catalog)
    tables: dict[str, BaseTable] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    version: int = 0
    scratch: Scratch | None = None

    def __post_init__(self) -> None:
        self.links = Links()
        self.budget = Budget(self.memory_limit, self._parts, self.links.spare)
        self.budget.register(self.links)
        self.codec = Codec(self.budget)
        self.graph = Graph(self.tables, self.codec, self.workers, self.scratch)
        self.journal: Journal | None = None
        self.letters: deque[Letter] = deque()
        self.tally = Tally()
        self.slowest = SlowestCommits()
        self.times = CommitTimes()
        self.images = Images(self)
        self._shown = ShownViews(self.views)
        self.plans: dict[tuple[str, ...], CommitPlan] = {}
        self.asked = AskedPlans()
        self.is_telling = False
        self.is_compacting = False
        self.seen = Seen()
        self.pause = 0
        self.replacement: Replacement | None = None
        self._is_tidy = True
        self.extra: dict[str, Any] = {}
        self.offsets: dict[str, Any] = {}
        self.requests = Requests()
        self.checks: dict[str, Checks] = {}
        self.generated: dict[str, Generated] = {}
        self.histories: dict[str, History] = {}
        self.sealed_at: dict[str, int] = {}
        self.heard: dict[str, int] = {}
        self.log: Log | None = None
        self.is_closed = False
        self.last: Given | None = None
        self.guard = Guard(self._settle, self._is_busy, self._is_due)

    @property
    def shown(self) -> ShownViews:
        """The views, prepared for commits."""
        if self._shown.views is not self.views:
            self._shown = ShownViews(self.views)
        return self._shown

    def attach(self, log: Log) -> None:
        """Let what stands from now on be written to a log."""
        self.log = self.guard.log = log

    def keep_history(self, name: str, rows: int) -> None:
        """Keep the newest deltas of a view in the folder.

        Args:
            name: The view's name in lower case.
            rows: How many rows of them at most; 0 keeps none.

        Raises:
            StorageError: The setting could not be written; nothing has changed.
        """
        assert self.log is not None
        known = self.histories.get(name)
        if rows == (0 if known is None else known.limit):
            return
        others = {one: history for one, history in self.histories.items() if one != name}
        if rows:
            others[name] = History(rows, self.version) if known is None else known.with_limit(rows)
        body = plain({"view": self.views[name].name, "rows": rows})
        self.log.append(HISTORY, self.version, body, lambda: self.histories is others)
        self.histories = others
        self.log.settle()

    def note_told(self, placed: Placed) -> None:
        """Let histories know where the deltas of a version lie; once more changes nothing."""
        for name, piece in placed:
            self.histories[name].note(piece)
        if self.log is not None and self.log.folded is not None:
            for name, run in self.log.folded.items():
                if name in self.histories:
                    self.histories[name].rebase(run)
            self.log.folded = None

    def _is_busy(self) -> bool:
        """Whether a call was cut off and left something unfinished."""
        return self.is_compacting or not (self.journal is None and self.replacement is None and self._is_tidy)

    def _is_due(self) -> bool:
        """Whether `_settle` has something to do, or another thread is telling; asked without the lock."""
        return bool(self.letters) or self.is_telling or bool(self.links.news) or self._is_busy() or self.budget.refuses

    def _settle(self) -> None:
        """Bring to its end what a call was cut off in.

        Raises:
            StateError, StorageError: The database is closed, or its log has failed.
        """
        self.is_telling = self.is_compacting = False
        if self.log is not None:
            self.log.refuse()
            if self.journal is None:
                self.log.settle()
        elif self.is_closed:
            msg = "the database is closed"
            raise StateError(msg)
        is_whole = self.journal is None and self.replacement is None and self._is_tidy
        if self.links.news and self.journal is None:
            self.wake()
        if is_whole and not self.letters and not self.budget.refuses:
            return
        self.budget.end()
        if self.journal is not None:
            settle(self)
        install(self)
        self._tidy()
        if self.letters:
            deliver(self)

    def wake(self) -> None:
        """Wake those who wait for versions that are there, and may be told."""
        self.links.wake(None if self.log is None else self.log.told)

    def _parts(self) -> list[tuple[str, int]]:
        """The tables, the dictionaries and the states of blocks, with the bytes that each has allocated."""
        parts = [(f"table {base.table.name!r}", base.nbytes) for base in self.tables.values()]
        dead = [base.tombstones for base in self.tables.values() if base.tombstones is not None]
        parts += [(f"tombstones of table {one.table.name!r}", one.nbytes) for one in dead]
        parts.append(("the dictionaries of strings and wide decimals", self.codec.nbytes))
        for number, node in enumerate(self.graph.nodes, 1):
            views = ", ".join(map(repr, node.views()))
            parts.append((f"block #{number} ({node.plan.kind}) of {views or 'no view'}", node.nbytes))
        parts.append(("the rows of versions that somebody reads or follows", self.links.nbytes))
        return parts

    def add_table(self, table: Table) -> None:
        """Add an empty table.

        Raises:
            SchemaError: The name is taken, or the declaration cannot stand beside the others.
        """
        if table.name.lower() in self.views:
            msg = f"the name {table.name!r} is taken by a view"
            raise SchemaError(msg)
        check_defaults(table)
        for check in table.checks:
            bound_check(table, check)
        for place in table.generated:
            bound_column(table, place)
        base = new_table(table, self.budget)
        self._is_tidy = False
        try:
            self.catalog.add(table)
            name = table.name.lower()
            if self.log is not None:
                body = declared_table(self.log.declare(name), table)
                self.log.append(CREATE_TABLE, self.version, body, lambda: name in self.tables)
            self.tables[name] = base
        finally:
            self._tidy()

    def drop_table(self, table: Table) -> None:
        """Forget a table that nothing uses.

        Raises:
            SchemaError: The foreign key of another table refers to the table.
        """
        base = self.tables[table.name.lower()]
        values = (1 + base.coded) * base.rows
        self._is_tidy = False
        try:
            self.catalog.refuse_referenced(table.name)
            if self.log is not None:
                body = plain({"number": self.log.number(table.name)})
                self.log.append(DROP_TABLE, self.version, body, lambda: table.name not in self.catalog)
            self.catalog.remove(table.name)
            self.links.end(table.name.lower(), f"table {table.name!r} was dropped")
            self.seen.note(Passed(values, values))
        finally:
            self._tidy()

    def rows_of(self, base: BaseTable, ids: Words) -> pa.Table:
        """Rows of a base table by their ids, as Arrow."""
        words = base.values_of(np.ascontiguousarray(ids))
        columns = base.table.columns
        arrays = [self.codec.decode(line, column.type) for line, column in zip(words, columns, strict=True)]
        return pa.Table.from_arrays(arrays, schema=base.table.arrow)

    def checks_of(self, table: Table) -> Checks:
        """The conditions of a table, over the dictionaries as they are."""
        name = table.name.lower()
        found = self.checks.get(name)
        if found is None or found.table is not table or found.codec is not self.codec:
            found = self.checks[name] = Checks.of(table, self.codec)
        return found

    def generated_of(self, table: Table) -> Generated:
        """The generated columns of a table, over the dictionaries as they are."""
        name = table.name.lower()
        found = self.generated.get(name)
        if found is None or found.table is not table or found.codec is not self.codec:
            found = self.generated[name] = Generated.of(table, self.codec)
        return found

    def declared(self, name: str) -> Table:
        """The declaration of a table.

        Raises:
            SchemaError: There is no such table, or the name is that of a view.
        """
        if name.lower() in self.views:
            msg = f"{name!r} is a view, whose rows are those of its query; name a table"
            raise SchemaError(msg)
        return self.catalog[name]

    def refuse_taken(self, name: str) -> None:
        """Refuse a name that a table or a view has.

        Raises:
            SchemaError: The name is taken.
        """
        if name.lower() in self.views or name in self.catalog:
            msg = f"the name {name!r} is taken by a {'view' if name.lower() in self.views else 'table'}"
            raise SchemaError(msg)

    def bind(self, sql: str, allow_product: bool = False) -> Query:
        """The query of a text over the tables and the views; as `livejoin.sql.bind_query`."""
        return bind_query(sql, self.catalog, self.queries, allow_product)

    def known(
        self,
        query: Query,
        statistics: GivenStatistics | None = None,
        limit: int | None = None,
    ) -> Statistics:
        """Statistics of a query's tables: the given ones, and what the rows say.

        That are sizes, distinct keys, and the shares that fit conditions.
        """
        known = statistics if isinstance(statistics, Statistics) else given(self.catalog, statistics or {})
        filled = {name: base for name, base in self.tables.items() if base.rows}
        observed = observe_tables(filled, query.joins, query.counted)
        observed = observed.over(observed_shares(query.joins, filled, self.codec))
        return Statistics(preprocessing_limit=limit).over(known.over(observed))

    @property
    def queries(self) -> dict[str, Query]:
        """The queries of the views, by name in lower case."""
        return {name: view._query for name, view in self.views.items()}

    def add_view(
        self,
        name: str,
        query: Query,
        options: ViewOptions,
        load: bool = True,
        backfill: Mapping[str, pa.Table] = NOTHING,
    ) -> View:
        """Plan a view and add the blocks that it needs; after an error nothing of the view is there.

        Args:
            name: The view's name, which is free.
            query: The view's query.
            options: How the view is maintained.
            load: Whether the view's blocks are loaded; if not, the caller brings their states.
            backfill: The rows of tables that keep none, as `rows_given` of
                `livejoin.database.transactions.backfill` gives them.
        """
        plan = plan_query(query, options.statistics, options.deltas, options.algorithm, self.workers.threads)
        self.start_changing()
        try:
            self.budget.begin()
            with offering(self, backfill):
                node = self.graph.add(plan, Choices(options.algorithm, options.adaptive, options.statistics, name))
                self.graph.show(node, name, options.deltas, options.statistics.preprocessing_limit)
                view = View(name, query, options, node, self.graph, open_guard(), self.tally, self.images)
                if load:
                    _ = node.block
                refuse_unread(view, backfill)
            if load:
                refuse_violated(view, "mend what is there, or create it with WARN, which shows the rows")
            view._guard = self.guard
            if self.log is not None:
                body = plain(plain_view(view.image) | plain_rows(backfill))
                self.log.append(CREATE_VIEW, self.version, body, lambda: name.lower() in self.views)
            self.views = {**self.views, name.lower(): view}
        finally:
            self.end_changing()
        return view

    def drop_views(self, names: Collection[str]) -> None:
        """Forget views, all views that read them, and the blocks that no other view needs.

        Args:
            names: The views' names in lower case.
        """
        dropped = [self.views[name] for name in names]
        self._is_tidy = False
        try:
            if self.log is not None:
                body = plain({"views": sorted(names)})
                self.log.append(DROP_VIEWS, self.version, body, lambda: self.views.keys().isdisjoint(names))
            self.views = {name: view for name, view in self.views.items() if name not in names}
            for view in dropped:
                view._subscribers.clear()
                self.links.end(view.name.lower(), f"view {view.name!r} was dropped")
        finally:
            self._tidy()

    def start_changing(self) -> None:
        """Note that the graph may differ from what the views need, so that a cut-off call is tidied up."""
        self._is_tidy = False

    def end_changing(self) -> None:
        """Put a replacement in its place, if there is one, and make the graph what the views need."""
        self.budget.end()
        install(self)
        self._tidy()

    def _tidy(self) -> None:
        """Drop blocks that no view needs and tables that are not declared."""
        if self.log is not None and self.journal is None:
            self.log.settle()
        if not self._is_tidy:
            for table in [one for one in self.catalog if one.name.lower() not in self.tables]:
                self.catalog.remove(table.name)
            for name in [name for name in self.tables if name not in self.catalog]:
                del self.tables[name]
            self.links.end_gone({*self.views, *self.tables})
            for name in [name for name in self.histories if name not in self.views]:
                del self.histories[name]
            for name in [name for name in self.tally.analyses if name not in self.views]:
                del self.tally.analyses[name]
            self.graph.keep((view.name, view._node, view.deltas) for view in self.views.values())
            forget_lost(self)
            self._is_tidy = True

    def readers(self, view: str) -> list[str]:
        """The names of the views that read a view, directly or through other views."""
        read, found = {view.lower()}, []
        for name, one in self.views.items():  # a view comes after those that it reads
            if not read.isdisjoint(reads.lower() for reads in one._query.reads):
                read.add(name)
                found.append(one.name)
        return found
