"""The database: tables, views, and commits that move all of them from one version to the next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.changes import ChangeBatch, read_changes
from livejoin.database import snapshot
from livejoin.database.commit import Commit
from livejoin.database.names import ByName
from livejoin.database.observe import observe_tables
from livejoin.database.staging import Granularity, TableInput, events_for, ranks_by_sequence, refuse_static, stage
from livejoin.database.view import View
from livejoin.dataflow.workers import Workers
from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.kernels.warm import ready
from livejoin.plan import Explanation, Statistics, describe_query
from livejoin.plan.algorithm import Algorithm, check_algorithm
from livejoin.plan.operators import digest
from livejoin.plan.query_plan import plan_query
from livejoin.plan.statistics import given
from livejoin.query import ConjunctiveQuery
from livejoin.schema import Catalog, Table
from livejoin.sql import (
    CreateTable,
    CreateView,
    DropTable,
    DropView,
    bind_query,
    parse_columns,
    parse_statement,
)
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable, Staged

Words = npt.NDArray[np.int64]
OnConflict = Literal["error", "ignore"]

GivenStatistics: TypeAlias = Statistics | Mapping[str, Mapping[str, Any]]
"""Statistics, or what `livejoin.plan.statistics.given` makes them of."""

_MAX_ATOMS = 62
_MAX_THREADS = 1024
_MIN_GARBAGE = 4096


class Database:
    """Tables and live views in this process.

    A commit is an atomic set of changes: every view shows the state after a whole commit, and a commit that fails
    changes nothing. The order of changes inside a commit does not matter, except that rows enter a window in the order
    given. Not safe for use from several threads at a time.

    Args:
        threads: With more than one, every join is split into so many cells by the values of one variable, each
            maintained by a thread: the same answers and deltas, faster for large commits and results. What the split
            does not share out is kept in every cell; `explain` names it. Joins that cannot be split, such as those of
            aggregates without groups, stay whole; `explain` says so too.

    Raises:
        SchemaError: ``threads`` is not a positive integer.

    >>> db = Database()
    >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    >>> view = db.create_view("hop2", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
    >>> commit = db.apply("G", [(1, 2), (2, 3)])
    >>> commit["hop2"].to_pylist()
    [{'a': 1, 'b': 2, 'c': 3, '_change_type': 'insert', '_commit_version': 1}]
    """

    def __init__(self, *, threads: int = 1) -> None:
        if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= _MAX_THREADS:
            msg = f"threads is {threads!r}; allowed are 1 to {_MAX_THREADS}, best no more than there are cores"
            raise SchemaError(msg)
        ready(cells=threads > 1)
        self._workers = Workers(threads)
        self._catalog = Catalog()
        self._codec = Codec()
        self._tables: dict[str, BaseTable] = {}
        self._views: dict[str, View] = {}
        self._kept_entries = 0
        self.version = 0
        self.extra: dict[str, Any] = {}

    @property
    def threads(self) -> int:
        """Threads that maintain the views."""
        return self._workers.threads

    @property
    def tables(self) -> Mapping[str, Table]:
        """Declarations of the tables by name."""
        return ByName((table.name, table) for table in self._catalog)

    @property
    def views(self) -> Mapping[str, View]:
        """The views by name."""
        return ByName((view.name, view) for view in self._views.values())

    def execute(self, sql: str) -> None:
        """Run ``CREATE TABLE``, ``CREATE VIEW name AS SELECT ...``, ``DROP TABLE`` or ``DROP VIEW``.

        Raises:
            SqlError: The statement is not one of these or is wrong, with its position.
            SchemaError: A name is taken, or not there.
        """
        match parse_statement(sql):
            case CreateTable(table, if_not_exists):
                if not (if_not_exists and table.name in self._catalog):
                    self._add_table(table)
            case CreateView(name, query, if_not_exists):
                if not (if_not_exists and name.lower() in self._views):
                    self.create_view(name, query)
            case DropTable(name, if_exists):
                if not (if_exists and name not in self._catalog):
                    self.drop_table(name)
            case DropView(name, if_exists):
                if not (if_exists and name.lower() not in self._views):
                    self.drop_view(name)

    def create_table(
        self,
        name: str,
        columns: str,
        *,
        window_rows: int | None = None,
        window_range: tuple[str, dt.timedelta | int] | None = None,
        static: bool = False,
    ) -> None:
        """Declare a table.

        Args:
            name: Its name.
            columns: Its columns as in SQL, for example ``"src BIGINT, dst BIGINT"``; also NOT NULL, PRIMARY KEY and
                FOREIGN KEY, which promises something to the planner and is not checked.
            window_rows: Keep this many rows; the oldest leave as new ones come, in the commit that brings these.
            window_range: A column of times and a range, as ``("ts", timedelta(hours=1))``; for a DATE whole days, for
                an integer an ``int``. Keep the rows whose time is ``> newest - range``, where *newest* is the newest
                time that was ever inserted, also if its row was deleted since; rows leave in the commit that brings a
                newer one. Rows that come too late are skipped and counted in the commit's ``ignored``; NULL is refused.
            static: The table is filled before a view uses it, and does not change from then on.

        Raises:
            SqlError: The columns do not parse.
            SchemaError: The name is taken, or the declaration cannot stand, for example because a foreign key
                references what is not the primary key of a table that is there.
        """
        self._add_table(parse_columns(name, columns, window_rows, static, window_range))

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        algorithm: Algorithm = "auto",
        adaptive: bool = False,
    ) -> View:
        """Maintain a query from now on; over filled tables it is loaded first, in O(base rows).

        Args:
            name: Its name.
            sql: The query, Spark SQL.
            deltas: Whether commits say what changed; without, the state is smaller and commits are cheaper.
            statistics: What is known of the tables, for the choice of the join tree: `livejoin.plan.Statistics`, or
                plain values for `livejoin.plan.statistics.given`, as ``{"G": {"changes": 10, "rows": 1000}}``. Sizes
                and distinct keys that are not given are those of the rows that are there.
            algorithm: What maintains the joins: ``crown``, ``dyn`` (Dynamic Yannakakis), ``change-propagation``
                (materialised binary joins), or ``auto`` for the planner's choice. All give the same answers;
                `View.stats` shows what they cost.
            adaptive: Whether the view may move to another join tree between two commits, when the changes of the tables
                have come to be others than its tree was chosen for and the move, linear in the base rows, pays. Over
                empty tables the tree is so chosen from the first changes. Deltas stay as they are; ``stats()["moves"]``
                and a line of the logger ``livejoin`` tell of it.

        Raises:
            SqlError: The query is wrong or outside of what is maintained, with the position.
            SchemaError: The name is taken, or there is no such algorithm.
            ExpressionError: A predicate fails on rows that are there.
        """
        check_algorithm(algorithm)
        if not name:
            msg = "a view needs a name"
            raise SchemaError(msg)
        if name.lower() in self._views or name in self._catalog:
            msg = f"the name {name!r} is taken by a {'view' if name.lower() in self._views else 'table'}"
            raise SchemaError(msg)
        query = bind_query(sql, self._catalog)
        for join in query.joins:
            if len(join.atoms) > _MAX_ATOMS:
                msg = f"the query joins {len(join.atoms)} tables; allowed are {_MAX_ATOMS}"
                raise SchemaError(msg)
        known = self._known(query.joins, statistics)
        plan = plan_query(query, known, deltas, algorithm, self.threads)
        settings = (self._codec, self._tables, known, algorithm, self._workers, adaptive)
        view = View(name, query, plan, deltas, *settings)
        view._rebuild()
        self._views[name.lower()] = view
        return view

    def explain(
        self,
        sql: str,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        log: Mapping[str, object] | None = None,
        algorithm: Algorithm = "auto",
    ) -> Explanation:
        """What maintaining a query would cost, before anything is loaded; also of a query that is not maintained yet.

        Args:
            sql: The query, Spark SQL.
            deltas: As for `create_view`.
            statistics: As for `create_view`.
            log: Changes of each table as for `replay`, of which the enclosureness is computed; they are not applied.
            algorithm: As for `create_view`.

        Returns:
            What ``print`` and a notebook show; ``json``, ``svg`` and ``html`` give other forms.

        Raises:
            SqlError: The query is wrong, with the position.
            ChangeError: The log cannot be read.

        >>> db = Database()
        >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
        >>> db.explain("SELECT A.src FROM G A JOIN G B ON A.dst = B.src").guarantee.update
        'O(1) a change, for every change sequence (height 1: the query is q-hierarchical)'
        """
        check_algorithm(algorithm)
        query = bind_query(sql, self._catalog)
        known = self._known(query.joins, statistics)
        if log is not None and not isinstance(log, Mapping):
            msg = f"a log is a mapping from tables to their changes, as {{'G': changes}}; found {log!r:.80}"
            raise ChangeFormatError(msg)
        changes = [read_changes(self._catalog[name], data, len(log) > 1) for name, data in log.items()] if log else None
        return describe_query(query, known, deltas, changes, algorithm, self.threads)

    def drop_view(self, name: str) -> None:
        """Stop maintaining a view.

        Raises:
            SchemaError: There is no such view.
        """
        if name.lower() not in self._views:
            msg = f"there is no view {name!r}; known views: {', '.join(map(repr, self.views)) or 'none'}"
            raise SchemaError(msg)
        self._views.pop(name.lower())._drop()

    def drop_table(self, name: str) -> None:
        """Forget a table that no view uses and no foreign key of another table references.

        Raises:
            SchemaError: There is no such table, or a view uses it, or a foreign key references it.
        """
        table = self._catalog[name]
        users = [view.name for view in self._views.values() if view._uses(table.name)]
        if users:
            msg = f"table {table.name!r} is used by {', '.join(map(repr, users))}; drop these views first"
            raise SchemaError(msg)
        self._catalog.remove(table.name)
        del self._tables[table.name.lower()]

    def apply(
        self, changes: str | Mapping[str, object], data: object = None, *, on_conflict: OnConflict = "error"
    ) -> Commit:
        """Apply one atomic commit.

        Args:
            changes: A table's name, or a mapping from names to the data of each.
            data: The changes of the one table: anything with the Arrow stream interface (pyarrow, pandas, Polars,
                DuckDB), or a list of tuples or dicts. A column ``_change_type`` (``insert``, ``delete``,
                ``update_preimage``, ``update_postimage``) is optional; without it every row is inserted.
                A column ``_seq`` orders them, which only a window looks at.
            on_conflict: What happens to a deletion of an absent row and to a second row with the same key: ``error``,
                or ``ignore``, which skips and counts it in the commit's ``ignored`` (a second row with a key stays an
                error in a table with a window, where only `replay` can tell which of the two counts).

        Returns:
            The commit with the net delta of every view.

        Raises:
            ChangeError: A change cannot be applied, or a static table that a view uses would change; nothing was
                applied.
            ExpressionError: A view's predicate or output fails on a changed row; nothing was applied.
            SchemaError: There is no such table.

        Cost: O(changes) base operations and O(enclosureness) propagation each, plus O(delta).
        """
        if not isinstance(changes, str) and data is not None:
            msg = "apply takes a table's name and its data, or a mapping from names to data; found both"
            raise ChangeFormatError(msg)
        named = {changes: data} if isinstance(changes, str) else changes
        batches = self._read(named, needs_sequence=False)
        versions = {id(batch): np.full(batch.weights.shape, self.version + 1, np.int64) for batch in batches}
        return self._commit(batches, versions, 1, "commit", on_conflict)

    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
    ) -> Commit:
        """Replay logs of changes in the order of their column ``_seq``, which goes across tables.

        Args:
            logs: The changes of each table, as for `apply`, with distinct int64 values of ``_seq``.
            granularity: ``change`` gives the delta of every single change, in order, each with a version of its own (a
                row that leaves a window belongs to the change that pushed it out). ``commit`` makes one commit of all,
                a set as in `apply`: its insertions come before its deletions and its window moves once, at the end.
            on_conflict: As for `apply`.

        Returns:
            All of it as one commit: its version is the last, its deltas are those of all changes. Either the whole
            log is applied or, after an error, nothing of it.

        Raises:
            ChangeError, ExpressionError, SchemaError: As for `apply`.
        """
        if granularity not in ("change", "commit"):
            msg = f"granularity is {granularity!r}; allowed are 'change' and 'commit'"
            raise ChangeFormatError(msg)
        batches = self._read(logs, needs_sequence=True)
        ranks = ranks_by_sequence(batches)
        if granularity == "commit":
            versions = {key: np.full(rank.shape, self.version + 1, np.int64) for key, rank in ranks.items()}
            return self._commit(batches, versions, 1, "commit", on_conflict)
        versions = {key: rank + self.version + 1 for key, rank in ranks.items()}
        changes = sum(rank.shape[0] for rank in ranks.values())
        return self._commit(batches, versions, changes, "change", on_conflict)

    def save(self, folder: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write a snapshot of everything; the folder holds the old one until the new one is complete.

        Args:
            folder: Where; created if missing.
            extra: JSON values to keep with it; they come back as ``extra``.

        Raises:
            StateError: ``extra`` has values that are not JSON; nothing was written.

        Cost: the bytes of the state, about 1 ms a MB and the disk.
        """
        kept = self.extra if extra is None else dict(extra)
        snapshot.write(Path(folder), self._image(kept))
        self.extra = kept

    @classmethod
    def load(cls, folder: str | Path, *, threads: int = 1) -> Database:
        """The database that `save` wrote.

        Args:
            folder: Where it was written.
            threads: As for `Database`. Views that were saved with another number are loaded anew from their tables, in
                O(base rows).

        Raises:
            StateError: There is no snapshot, or it is damaged or of another version.
        """
        return cls._from_image(snapshot.read(Path(folder)), threads)

    def _add_table(self, table: Table) -> None:
        if table.name.lower() in self._views:
            msg = f"the name {table.name!r} is taken by a view"
            raise SchemaError(msg)
        self._catalog.add(table)
        self._tables[table.name.lower()] = BaseTable(table)

    def _read(self, named: Mapping[str, object], needs_sequence: bool) -> list[ChangeBatch]:
        """Validated changes, one batch a table, in the order of ``_seq`` where that counts."""
        batches: list[ChangeBatch] = []
        for name, data in named.items():
            table = self._catalog[name]
            if any(batch.table.name == table.name for batch in batches):
                msg = "the table is given twice in one commit; give all of its changes together"
                raise ChangeFormatError(msg, table.name)
            batch = read_changes(table, data, needs_sequence)
            refuse_static(batch, [view.name for view in self._views.values() if view._uses(table.name)])
            batches.append(batch)
        return batches

    def _commit(
        self,
        batches: list[ChangeBatch],
        versions: Mapping[int, Words],
        count: int,
        granularity: Granularity,
        on_conflict: OnConflict,
    ) -> Commit:
        """Stage all tables, then bring the events into all views; undo everything if anything fails."""
        if on_conflict not in ("error", "ignore"):
            msg = f"on_conflict is {on_conflict!r}; allowed are 'error' and 'ignore'"
            raise ChangeFormatError(msg)
        inputs = [self._encode(batch, versions[id(batch)]) for batch in batches]
        staged: list[tuple[TableInput, Staged]] = []
        touched: list[View] = []
        deltas: dict[str, pa.Table] = {}
        for view in self._views.values():
            view._prepare()
        try:
            for given in inputs:
                staged.append((given, stage(given, granularity, on_conflict == "ignore")))
            for view in self._views.values():
                touched.append(view)
                delta = view._apply(
                    {g.table.name: events_for(view, g, done) for g, done in staged if view._uses(g.table.name)}, count
                )
                if delta is not None:
                    deltas[view.name] = delta
        except BaseException:
            for given in inputs:
                given.base.rollback()
            for view in touched:
                view._undo()
            raise
        for given, _ in staged:
            given.base.commit()
        self.version += count
        self._collect()
        ignored = sum(done.ignored for _, done in staged)
        changes = sum(given.batch.weights.shape[0] for given in inputs) - ignored
        quiet = frozenset(view.name for view in self._views.values() if not view.deltas)
        commit = Commit(self.version, changes, ignored, deltas, quiet)
        self._notify(deltas)
        return commit

    def _notify(self, deltas: Mapping[str, pa.Table]) -> None:
        """Call all subscribers; the first exception of one of them is raised when all were called."""
        failure: Exception | None = None
        for name, delta in deltas.items():
            for callback in self._views[name.lower()]._callbacks():
                try:
                    callback(delta)
                except Exception as error:
                    failure = failure or error
        if failure is not None:
            raise failure

    def _encode(self, batch: ChangeBatch, versions: Words) -> TableInput:
        """Words and masks of a batch; nothing but the dictionaries changes."""
        base = self._tables[batch.table.name.lower()]
        words = self._codec.encode(batch.rows, batch.table)
        selections = {
            view.name: view._selections(batch.table.name, batch.rows, words)
            for view in self._views.values()
            if view._uses(batch.table.name)
        }
        return TableInput(base, batch, words, versions, selections)

    def _collect(self) -> None:
        """Forget strings and wide decimals that no row uses, once they may be most of those kept."""
        if self._codec.entries <= 2 * self._kept_entries + _MIN_GARBAGE:
            return
        used: dict[str, list[Words]] = {"string": [np.empty(0, np.int64)], "decimal": [np.empty(0, np.int64)]}
        for base in self._tables.values():
            for position, column in enumerate(base.table.columns):
                if column.type.kind in used:
                    used[column.type.kind].append(base.used_words(position))
        for view in self._views.values():
            used["string"] += view._flow.used_words("string")
            used["decimal"] += view._flow.used_words("decimal")
        self._codec.retain(np.concatenate(used["string"]), np.concatenate(used["decimal"]))
        self._kept_entries = self._codec.entries

    def _known(self, joins: Sequence[ConjunctiveQuery], statistics: GivenStatistics | None = None) -> Statistics:
        """What is known of the joins' tables: what is given, and the sizes and distinct keys of the rows there are."""
        known = statistics if isinstance(statistics, Statistics) else given(self._catalog, statistics or {})
        filled = {name: base for name, base in self._tables.items() if base.rows}
        return known.over(observe_tables(filled, joins))

    def _image(self, extra: Mapping[str, Any]) -> snapshot.Image:
        return snapshot.Image(
            version=self.version,
            extra=extra,
            codec=self._codec.arrays(),
            tables=[(base.table, base.arrays()) for base in self._tables.values()],
            views=[
                snapshot.ViewImage(
                    v.name,
                    v.sql,
                    v.deltas,
                    v.algorithm,
                    v._statistics.plain(),
                    digest(v._plan),
                    v._flow.arrays(),
                    v.adaptive,
                )
                for v in self._views.values()
            ],
        )

    @classmethod
    def _from_image(cls, image: snapshot.Image, threads: int) -> Database:
        database = cls(threads=threads)
        database.version = image.version
        database.extra = dict(image.extra)
        database._codec = Codec.from_arrays(image.codec)
        for table, arrays in image.tables:
            database._catalog.add(table)
            database._tables[table.name.lower()] = BaseTable.from_arrays(table, arrays)
        for kept in image.views:
            query = bind_query(kept.sql, database._catalog)
            known = Statistics.from_plain(kept.statistics)
            plan = plan_query(query, known, kept.deltas, kept.algorithm, threads)
            settings = (database._codec, database._tables, known, kept.algorithm, database._workers, kept.adaptive)
            view = View(kept.name, query, plan, kept.deltas, *settings)
            if digest(plan) == kept.digest:
                view._restore(kept.arrays)
            else:
                view._rebuild()
            database._views[kept.name.lower()] = view
        return database

    def _check(self) -> None:
        """Assert all invariants of every structure; for tests."""
        self._codec._check()
        for base in self._tables.values():
            base._check()
        for view in self._views.values():
            view._check()
