"""The database: tables, views, and commits that move all of them from one version to the next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, assert_never, overload

from livejoin.changes import read_changes
from livejoin.database.arguments import (
    check_bytes,
    check_changes,
    check_extra,
    check_folder,
    check_granularity,
    check_limit,
    check_name,
    check_piece,
    check_scratch,
    check_switch,
    check_text,
)
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents, GivenStatistics, refuse_large_joins
from livejoin.database.names import ByName
from livejoin.database.overview import explain_graph, figures
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.image import image_of, restored
from livejoin.database.transactions import transaction
from livejoin.database.transactions.compaction import compact
from livejoin.database.transactions.guard import Guard, alone
from livejoin.database.transactions.redeclare import redeclare
from livejoin.database.transactions.refresh import refresh
from livejoin.database.transactions.replay import Manner, Replay, replay_whole
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.transactions.staging import Granularity, OnConflict
from livejoin.database.view import View, ViewOptions
from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.families.cells.workers import Workers
from livejoin.families.registry import check_algorithm
from livejoin.kernels.warm import ready
from livejoin.plan import Explanation, describe_query
from livejoin.plan.explain.describe_spread import with_cells
from livejoin.plan.explain.graph import GraphExplanation
from livejoin.plan.explain.not_null import with_not_null
from livejoin.plan.query_plan import refuse_cells
from livejoin.schema import Retain, Table, TableSettings
from livejoin.search.algorithm import Algorithm
from livejoin.sql import (
    AlterTable,
    CreateTable,
    CreateView,
    DropTable,
    DropView,
    RefreshTable,
    bind_query,
    parse_columns,
    parse_statement,
)

Declaration: TypeAlias = CreateTable | CreateView | DropTable | DropView | AlterTable
"""A statement that has no data with it."""

_MAX_THREADS = 1024
_APPLY = "apply({'G': rows}), or apply('G', rows)"


class Database:
    """Tables and live views in this process.

    A commit is an atomic set of changes: a view shows the state after a whole commit, and a commit that fails changes
    nothing. The order of changes within a commit matters in two cases: rows enter a window in the order given, and
    changes by key follow one another. Calls may come from any thread; one runs at a time.

    Args:
        threads: With more than one, each join is split into that many cells by the values of one variable, and a thread
            maintains each cell. Answers and deltas stay the same; large commits and results get faster. Rows that the
            split does not divide are kept in every cell, and `explain` names them. A join that cannot be split, such as
            that of an aggregate without groups, stays whole; `explain` says so too.
        memory_limit: The most memory for tables, dictionaries, the states of views, and the staging and deltas of a
            commit: a number of bytes, or a text as ``4GB`` or ``4GiB``. A commit or a view beyond it is refused with
            `MemoryLimitError`, and nothing is changed. docs/guarantees.md says what is not counted.
        spill: A folder on a disk, made if it is missing. A delta larger than ``spill_over`` is written there piece by
            piece before the commit stands, and `Commit.batches` streams it. If the disk refuses, so does the commit,
            with `StorageError`, and nothing is changed. The files have no names in the folder; they are gone with the
            commit object, or with the process. Deltas of views with subscribers stay in memory, and all do without
            ``spill``.
        spill_over: The size of a delta from which on it is written to ``spill``: bytes, or a text as for
            ``memory_limit``. By default 256 MB, or a sixteenth of ``memory_limit`` if that is less.

    Raises:
        SchemaError: ``threads`` is not a positive integer, ``memory_limit`` or ``spill_over`` is no size, or ``spill``
            is no path.
        StorageError: No file can be made in ``spill``.

    >>> db = Database()
    >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    >>> view = db.create_view("hop2", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
    >>> commit = db.apply("G", [(1, 2), (2, 3)])
    >>> commit["hop2"].to_pylist()
    [{'a': 1, 'b': 2, 'c': 3, '_change_type': 'insert', '_commit_version': 1}]
    """

    def __init__(
        self,
        *,
        threads: int = 1,
        memory_limit: str | int | None = None,
        spill: str | Path | None = None,
        spill_over: str | int | None = None,
    ) -> None:
        limit = check_bytes(memory_limit, "memory_limit")
        if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= _MAX_THREADS:
            msg = f"threads is {threads!r}; allowed are 1 to {_MAX_THREADS}, best no more than there are cores"
            raise SchemaError(msg)
        scratch = check_scratch(spill, spill_over, limit)
        ready(cells=threads > 1)
        self._contents = Contents(Workers(threads), limit, scratch=scratch)
        self.extra: dict[str, Any] = {}

    @property
    def _guard(self) -> Guard:
        return self._contents.guard

    @property
    def version(self) -> int:
        """The version of the last commit; 0 before the first."""
        return self._contents.version

    @property
    def threads(self) -> int:
        """How many threads maintain the views."""
        return self._contents.workers.threads

    @property
    @alone
    def tables(self) -> Mapping[str, Table]:
        """Declarations of the tables by name."""
        return ByName((table.name, table) for table in self._contents.catalog)

    @property
    @alone
    def views(self) -> Mapping[str, View]:
        """The views by name."""
        return ByName((view.name, view) for view in self._contents.views.values())

    @alone
    def execute(self, sql: str, data: object = None, *, allow_product: bool = False) -> Commit | None:
        """Run a statement: CREATE or DROP of a TABLE or a VIEW, ``ALTER TABLE`` or ``REFRESH TABLE``.

        Args:
            sql: The statement, as ``CREATE VIEW name AS SELECT ...``, ``ALTER TABLE name SET STATIC`` (see
                `alter_table`) or ``REFRESH TABLE name``.
            data: For ``REFRESH TABLE`` all rows that the table shall have, as for `refresh`.
            allow_product: As for `create_view`.

        Returns:
            The commit of ``REFRESH TABLE``; else None.

        Raises:
            SqlError: The statement is of another kind or has an error; the message gives the position.
            SchemaError: A name is taken, or there is none such.
            ChangeError: As for `refresh`; or ``data`` is missing for ``REFRESH TABLE``, or given for another statement.
        """
        statement = parse_statement(sql)
        if isinstance(statement, RefreshTable):
            if data is None:
                msg = "REFRESH TABLE needs all rows that the table is to have: db.execute('REFRESH TABLE t', rows)"
                raise ChangeFormatError(msg, statement.name)
            return self.refresh(statement.name, data)
        if data is not None:
            msg = "data goes with REFRESH TABLE alone; changes of rows go through apply('t', rows)"
            raise ChangeFormatError(msg)
        self._execute(statement, allow_product)
        return None

    def _execute(self, statement: Declaration, allow_product: bool) -> None:
        match statement:
            case CreateTable(table, if_not_exists):
                if not (if_not_exists and table.name in self._contents.catalog):
                    self._contents.add_table(table)
            case CreateView(name, query, if_not_exists):
                if not (if_not_exists and name.lower() in self._contents.views):
                    self.create_view(name, query, allow_product=allow_product)
            case DropTable(name, if_exists):
                if not (if_exists and name not in self._contents.catalog):
                    self.drop_table(name)
            case DropView(name, if_exists, cascade):
                if not (if_exists and name.lower() not in self._contents.views):
                    self.drop_view(name, cascade=cascade)
            case AlterTable(name, static, append_only):
                redeclare(self._contents, name, static, append_only)
            case _:
                assert_never(statement)

    @alone
    def alter_table(self, name: str, *, static: bool | None = None, append_only: bool | None = None) -> None:
        """Change what a table promises; its views move to plans that rest on the new promises.

        The rows of tables and views stay as they are, and there is no commit.

        Args:
            name: The table's name.
            static: Whether the table is static from now on; None leaves it as it is. A table that is not static any
                more takes changes again.
            append_only: Whether the table is append-only from now on; None leaves it as it is.

        Raises:
            SchemaError: There is no such table, or it cannot promise that: a static table is not append-only too, and a
                table with a window or ``sequence_by`` is neither.
            UnsupportedQueryError: The algorithm that was asked for a view cannot maintain it with the new promises.
            CapacityError: The new plans take more memory than is allowed; nothing was changed.

        Cost: O(base rows) for each plan that changes. The new plan is loaded while the old one is still in memory.

        >>> db = Database()
        >>> db.execute("CREATE TABLE rates (code STRING, rate INT) TBLPROPERTIES ('livejoin.static' = 'true')")
        >>> view = db.create_view("cheap", "SELECT code FROM rates WHERE rate < 3")
        >>> db.execute("ALTER TABLE rates SET DYNAMIC")  # the same as db.alter_table("rates", static=False)
        >>> db.apply("rates", [("EUR", 1)])["cheap"].num_rows
        1
        """
        check_name(name, "table")
        if static is None and append_only is None:
            msg = "nothing is to be altered; say static=True or False, or append_only=True or False"
            raise SchemaError(msg)
        for value, argument in ((static, "static"), (append_only, "append_only")):
            if value is not None:
                check_switch(value, argument)
        redeclare(self._contents, name, static, append_only)

    @alone
    def create_table(  # noqa: PLR0913  # the options of a table
        self,
        name: str,
        columns: str,
        *,
        window_rows: int | None = None,
        window_range: tuple[str, dt.timedelta | int] | None = None,
        static: bool = False,
        sequence_by: str | None = None,
        tombstones: int | None = None,
        retain: Retain = "all",
        append_only: bool = False,
    ) -> None:
        """Declare a table.

        Args:
            name: The table's name.
            columns: The columns as in SQL, for example ``"src BIGINT, dst BIGINT"``; also NOT NULL, PRIMARY KEY, UNIQUE
                and FOREIGN KEY. Keys are checked at the end of each version; a row with NULL in a column of UNIQUE
                never conflicts. A FOREIGN KEY is a promise to the planner and is not checked. Changes by key use the
                PRIMARY KEY.
            window_rows: Keep this many rows. The oldest rows leave in the commit that brings newer ones.
            window_range: A column of times and a range, as ``("ts", timedelta(hours=1))``; for a DATE whole days, for
                an integer an ``int``. Rows stay while their time is ``> newest - range``. *newest* is the newest time
                that was ever inserted, also if its row was deleted since. Rows leave in the commit that brings a newer
                time. Rows that come too late are skipped and counted in the commit's ``ignored``. NULL in this column
                is refused.
            static: The table is filled before a view uses it, and does not change after that.
            sequence_by: A column of numbers or times that orders the changes of each PRIMARY KEY; all changes then go
                by key. A change is *late* if its value is smaller than that of the row with its key, or of the deletion
                that removed that row. Late changes are skipped and counted in the commit's ``late``. Of equal values
                the later given one wins. NULL in this column is refused. A deletion needs the key and this column
                alone.
            tombstones: For ``sequence_by``: how many deleted keys are remembered, by default 100,000. Beyond that, the
                deletions with the smallest ``sequence_by`` are forgotten first. A change of a key that is not there is
                then late unless it is newer than all forgotten deletions.
            retain: With ``used``, only the columns that views read are kept, and those that the table needs for its
                keys, ``sequence_by`` and its window. The choice is made when a row comes into the empty table; as long
                as the table has rows, a view that reads another column is refused. Rows that differ in other columns
                alone are equal, also to a deletion. By default, ``all`` columns are kept.
            append_only: Rows are inserted only. Deletions and changes by key are refused, and plans may rest on that. A
                second row with a key is refused as in any table, or skipped with ``on_conflict="ignore"``.

        Raises:
            SqlError: The columns do not parse.
            SchemaError: The name is taken, or the declaration contradicts itself or other tables: for example, a
                foreign key references columns that are no key.
        """
        check_name(name, "table")
        check_text(columns, "columns", "src BIGINT, dst BIGINT")
        settings = TableSettings(
            static=static,
            append_only=append_only,
            window_rows=window_rows,
            window_range=window_range,
            sequence_by=sequence_by,
            tombstones=tombstones,
            retain=retain,
        )
        self._contents.add_table(parse_columns(name, columns, settings))

    @alone
    def create_view(
        self,
        name: str,
        sql: str,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        algorithm: Algorithm = "auto",
        adaptive: bool = False,
        allow_product: bool = False,
        preprocessing_limit: int | None = None,
    ) -> View:
        """Maintain a query from now on. Over filled tables the view is loaded first, in O(base rows).

        Args:
            name: The view's name.
            sql: The query, in Spark SQL.
            deltas: Whether commits say what changed. Without deltas the state is smaller and commits are cheaper.
            statistics: Figures of the tables, for the choice of the join tree: `livejoin.plan.Statistics`, or plain
                values for `livejoin.search.statistics.given`, as ``{"G": {"changes": 10, "rows": 1000}}``. Sizes and
                distinct keys that are missing are counted from the rows that are there.
            algorithm: The algorithm that maintains the joins. All give the same answers; `View.stats` shows what they
                cost.

                - ``auto``: the planner's choice among all but ``transitions``.
                - ``crown``: CROWN; ``dyn``: Dynamic Yannakakis.
                - ``change-propagation``: materialised binary joins.
                - ``aju``: rows linked along primary keys; for foreign-key joins alone.
                - ``view-tree``: static tables are joined once; only for queries where each change then costs O(1).
                - ``transitions``: a state is the set of dynamic rows that matter, and a change is a step to another
                  state; only where static tables decide which rows these are, and with ``threads=1``.

            adaptive: Whether the view may move to another join tree between two commits. It moves when the changes
                differ from those that its tree was chosen for and the move pays; a move costs O(base rows). Over empty
                tables the first tree is chosen from the first changes. Deltas are the same; ``stats()["moves"]`` and
                the logger ``livejoin`` tell of each move.
            allow_product: Whether a condition may compare tables that no equality connects, as in ``FROM R, S WHERE R.a
                < S.b``. A read then looks at each pair of their rows, and each new row at all rows on the other side. A
                CROSS JOIN without such a condition is always allowed.
            preprocessing_limit: The most rows in each static bag: a join of static tables that is computed before
                changes come (docs/static-tables.md). A plan that is expected to need more rows is not chosen. If a bag
                turns out larger, now or at a refresh, that call is refused. By default ``auto`` makes bags of up to
                100,000 rows, or ten times the rows of the static tables; ``view-tree`` has no limit.

        Raises:
            SqlError: The query has an error or cannot be maintained; the message gives the position.
            SchemaError: The name is taken, there is no such algorithm, or a column is not kept (``retain``).
            ExpressionError: A predicate fails on rows that are there.
            PreprocessingLimitError: A static bag has more rows than ``preprocessing_limit``.
        """
        check_algorithm(algorithm)
        check_name(name, "view")
        check_switch(deltas, "deltas")
        check_switch(adaptive, "adaptive")
        check_switch(allow_product, "allow_product")
        limit = check_limit(preprocessing_limit)
        self._contents.refuse_taken(name)
        query = self._contents.bind(sql, allow_product)
        refuse_large_joins(query)
        refuse_dropped(self._contents, query)
        options = ViewOptions(deltas, algorithm, adaptive, self._contents.known(query.joins, statistics, limit))
        return self._contents.add_view(name, query, options)

    @alone
    def stats(self) -> dict[str, Any]:
        """Figures of the whole database, each table and each block of the views counted once.

        Returns:
            ``version``; ``views``, their number; ``state_bytes`` (in use) and ``capacity_bytes`` (allocated) of all
            blocks; ``dictionary_state_bytes``, in use by strings and wide decimals; ``table_bytes`` and
            ``dictionary_bytes``, allocated; ``memory_bytes``, all memory that counts for ``memory_limit``, which is
            None where there is no limit; ``tables`` and ``blocks``.

            ``tables`` has by name ``rows``, ``distinct_rows``, ``state_bytes``, ``capacity_bytes``, ``tombstones``
            (deleted keys that are remembered), ``late`` (late changes so far), ``keys`` (as declared) and ``dropped``
            (columns that are not kept).

            ``blocks`` lists the blocks in the order in which a commit goes through them, each with ``number``,
            ``kind``, ``reads`` (tables, and blocks as ``#2``), ``read_by`` (blocks and views), ``rows``,
            ``state_bytes``, ``capacity_bytes`` and ``seconds`` spent on changes.
        """
        return figures(self._contents)

    @overload
    def explain(self) -> GraphExplanation: ...
    @overload
    def explain(
        self,
        sql: str,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        log: Mapping[str, object] | None = None,
        algorithm: Algorithm = "auto",
        allow_product: bool = False,
        cells: int | None = None,
        preprocessing_limit: int | None = None,
    ) -> Explanation: ...
    @alone
    def explain(
        self,
        sql: str | None = None,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        log: Mapping[str, object] | None = None,
        algorithm: Algorithm = "auto",
        allow_product: bool = False,
        cells: int | None = None,
        preprocessing_limit: int | None = None,
    ) -> Explanation | GraphExplanation:
        """What it would cost to maintain a query, before anything is loaded.

        Without a query: all blocks that maintain the present views, each once, with the views and blocks that read it.

        Args:
            sql: The query, in Spark SQL; it need not be a view.
            deltas: As for `create_view`.
            statistics: As for `create_view`.
            log: Changes of each table as for `replay`, which are not applied. The enclosureness is computed from them.
            algorithm: As for `create_view`.
            allow_product: As for `create_view`.
            cells: The number of cells, as for ``livejoin.spark.maintain(mode="distributed")``. The answer then also
                says in which stages the query runs, where rows go, and what load is expected. The plan is chosen from
                ``log`` as if it were the first batch; without a log, all values are taken to be equally frequent.
            preprocessing_limit: As for `create_view`.

        Returns:
            The explanation. ``print`` and notebooks show it; ``json``, ``svg`` and ``html`` give other forms.

        Raises:
            SqlError: The query has an error; the message gives the position.
            ChangeError: The log cannot be read.
            CapacityError: The query cannot run in so many cells.

        >>> db = Database()
        >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
        >>> db.explain("SELECT A.src FROM G A JOIN G B ON A.dst = B.src").guarantee.update
        'O(1) a change, for every change sequence (height 1: the query is q-hierarchical)'
        """
        if sql is None:
            return explain_graph(self._contents)
        check_algorithm(algorithm)
        check_switch(deltas, "deltas")
        check_switch(allow_product, "allow_product")
        if cells is not None:
            refuse_cells(algorithm, cells, f"cells={cells} is asked for")
        if log is not None:
            log = check_changes(log, "{'G': changes}")
        query = self._contents.bind(sql, allow_product)
        known = self._contents.known(query.joins, statistics, check_limit(preprocessing_limit))
        changes = (
            [read_changes(self._contents.catalog[name], data, len(log) > 1, "never") for name, data in log.items()]
            if log
            else None
        )
        contents = self._contents
        found = with_not_null(
            describe_query(query, known, deltas, changes, algorithm, self.threads, static=contents.graph.kept_static),
            query,
            contents.catalog,
            lambda catalog: bind_query(sql, catalog, contents.queries, allow_product),
            lambda other: describe_query(other, known, deltas, None, algorithm, self.threads),
        )
        return found if cells is None else with_cells(found, query, changes or (), cells)

    @alone
    def drop_view(self, name: str, *, cascade: bool = False) -> None:
        """Stop maintaining a view; blocks that other views share stay.

        Args:
            name: The view's name.
            cascade: Drop also the views that read this one, directly or through others.

        Raises:
            SchemaError: There is no such view, or another view reads it and ``cascade`` is not set.
        """
        check_name(name, "view")
        if name.lower() not in self._contents.views:
            msg = f"there is no view {name!r}; known views: {', '.join(map(repr, self.views)) or 'none'}"
            raise SchemaError(msg)
        readers = self._contents.readers(name)
        if readers and not cascade:
            msg = (
                f"view {name!r} is read by {', '.join(map(repr, readers))}; drop these views first, or drop it with "
                "CASCADE, in Python drop_view(name, cascade=True)"
            )
            raise SchemaError(msg)
        self._contents.drop_views({name.lower(), *(reader.lower() for reader in readers)})

    @alone
    def drop_table(self, name: str) -> None:
        """Forget a table that no view uses and no foreign key of another table references.

        Raises:
            SchemaError: There is no such table, or a view uses it, or a foreign key references it.
        """
        table = self._contents.catalog[check_name(name, "table")]
        users = [view.name for view in self._contents.views.values() if view._names_table(table.name)]
        if users:
            msg = f"table {table.name!r} is used by {', '.join(map(repr, users))}; drop these views first"
            raise SchemaError(msg)
        self._contents.drop_table(table)

    @alone
    def apply(
        self, changes: str | Mapping[str, object], data: object = None, *, on_conflict: OnConflict = "error"
    ) -> Commit:
        """Apply one atomic commit.

        Args:
            changes: A table's name, or a mapping from names to the changes of each table.
            data: The changes, if ``changes`` is one table's name: anything with the Arrow stream interface (pyarrow,
                pandas, Polars, DuckDB), or a list of tuples or dicts. An optional column ``_change_type`` says what
                each row is: ``insert``, ``delete``, ``update_preimage``, ``update_postimage`` or ``upsert``; without it
                every row is inserted. An optional column ``_seq`` gives the order for windows and changes by key.

                A table with a PRIMARY KEY takes its changes *by key* in three cases: one of them is an ``upsert``, a
                ``delete`` leaves out columns that are not in the key, or ``on_conflict="update"``. They then apply one
                after the other. ``upsert`` and ``update_postimage`` replace the row with their key; ``delete`` and
                ``update_preimage`` remove that row, whatever other columns they give. An upsert of an unchanged row
                changes nothing. In a window the replaced row leaves, and the new one is the newest.
            on_conflict: What happens to the deletion of an absent row or key, and to a second row with the same key.

                - ``error``: the commit is refused.
                - ``ignore``: the change is skipped and counted in the commit's ``ignored``. In a table with a window a
                  second row with a key stays an error, because only `replay` knows which of the two is newer.
                - ``update``: an insertion replaces the row with its key, else as ``ignore``. At least one table of the
                  commit must have a PRIMARY KEY; tables without one are treated as with ``error``.

        Returns:
            The commit with the net delta of every view.

        Raises:
            ChangeError: A change cannot be applied, changes a static table that a view uses, or a subscriber makes the
                commit while it is called; nothing was applied.
            ExpressionError: A view's predicate or output fails on a changed row; nothing was applied.
            SchemaError: There is no such table.
            CapacityError: A size beyond what the state can address, or memory beyond the database's limit
                (`MemoryLimitError`); nothing was applied.
            StorageError: A delta is too large for memory and cannot be written; nothing was applied.

        Cost: O(changes) base operations and O(enclosureness) propagation each, plus O(delta).
        """
        if not isinstance(changes, str) and data is not None:
            msg = "apply takes a table's name and its data, or a mapping from names to data; found both"
            raise ChangeFormatError(msg)
        named = {changes: data} if isinstance(changes, str) else check_changes(changes, _APPLY)
        batches = transaction.read(self._contents, named, False, on_conflict)
        return transaction.commit(self._contents, batches, on_conflict)

    @alone
    def refresh(self, table: str, data: object) -> Commit:
        """Replace the rows of a static table, also while views use it: one commit with its deltas.

        Args:
            table: The table's name.
            data: All rows that the table shall have, as for `apply`. Rows that are there already change nothing.

        Returns:
            The commit with the net delta of every view.

        Raises:
            ChangeError: The table is not static, or the rows break one of its keys; nothing was applied.
            ExpressionError, CapacityError, StorageError: As for `apply`.

        Cost: O(rows) to compare, then for each row that comes or goes the cost of a change of a dynamic table in the
        views' plans; what plans promise does not bound that. A static join that the plans keep is computed anew.

        >>> db = Database()
        >>> db.execute("CREATE TABLE rates (code STRING, rate INT) TBLPROPERTIES ('livejoin.static' = 'true')")
        >>> _ = db.apply("rates", [("EUR", 1), ("USD", 2)])
        >>> view = db.create_view("cheap", "SELECT code FROM rates WHERE rate < 3")
        >>> db.refresh("rates", [("EUR", 1), ("USD", 4)])["cheap"].to_pylist()
        [{'code': 'USD', '_change_type': 'delete', '_commit_version': 2}]
        """
        check_name(table, "table")
        return refresh(self._contents, table, data)

    @overload
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: None = None,
    ) -> Commit: ...
    @overload
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: int,
    ) -> Replay: ...
    @alone
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: int | None = None,
    ) -> Commit | Replay:
        """Replay logs of changes in the order of their column ``_seq``, which goes across tables.

        Args:
            logs: The changes of each table, as for `apply`, with a column ``_seq`` of distinct int64 values.
            granularity: With ``change``, every change has a version and a delta of its own, in order; a row that leaves
                a window belongs to the change that pushed it out. With ``commit``, all changes are one commit as in
                `apply`: insertions come before deletions and a window moves once, at the end.
            on_conflict: As for `apply`.
            max_rows: Cut the log into pieces of this many changes. Each piece is an atomic commit, applied when the
                iterator comes to it, so that memory is needed for one piece alone. All values are read and checked
                before the first piece. With the granularity ``commit`` each piece has one version.

        Returns:
            Without ``max_rows`` one commit with the last version and the deltas of all changes; after an error nothing
            of the log is applied. With ``max_rows`` an iterator of commits, which has applied nothing yet. If you stop
            iterating, or after an error, the earlier pieces stay applied: the `Commit.sequence` of the last piece, and
            `Replay.sequence`, is the last ``_seq`` that was applied. Other calls may come between two pieces.

        Raises:
            ChangeError, ExpressionError, SchemaError, CapacityError, StorageError: As for `apply`.

        >>> db = Database()
        >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
        >>> log = [{"src": i, "dst": i + 1, "_seq": 10 * i} for i in range(5)]
        >>> [(commit.version, commit.sequence) for commit in db.replay({"G": log}, max_rows=2)]
        [(2, 10), (4, 30), (5, 40)]
        """
        check_granularity(granularity)
        transaction.refuse_unknown(on_conflict)
        named = check_changes(logs, "replay({'G': rows})")
        if max_rows is not None:
            check_piece(max_rows)
        batches = transaction.read(self._contents, named, True, on_conflict)
        manner = Manner(granularity, on_conflict)
        if max_rows is None:
            return replay_whole(self._contents, batches, manner)
        return Replay(self._contents, batches, max_rows, manner)

    @alone
    def save(self, folder: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write a snapshot of everything; the folder holds the old one until the new one is complete.

        One database at a time may save to a folder: leftovers of a killed process are removed there.

        Args:
            folder: The folder; made if missing.
            extra: JSON values to keep with the snapshot; `load` gives them back as ``extra``.

        Raises:
            StateError: ``extra`` has values that are not JSON; nothing was written.
            StorageError: The disk is full or refuses; the unfinished snapshot is removed and the old one is still
                there.

        Cost: the bytes of the rows and of the state, about 1 ms a MB and the disk; memory for two copies of one table.
        """
        kept = self.extra if extra is None else check_extra(extra)
        compact(self._contents)
        snapshot.write(check_folder(folder), image_of(self._contents, kept))
        self.extra = kept

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        threads: int = 1,
        trusted: bool = False,
        memory_limit: str | int | None = None,
        spill: str | Path | None = None,
        spill_over: str | int | None = None,
    ) -> Database:
        """The database that `save` wrote.

        Tables and dictionaries are checked value by value, their indexes are rebuilt, and the views are loaded from the
        tables. Files that somebody made up give an error, or a database whose views are those of its tables. Nothing
        outside of the folder is read. The views' SQL is run, as any SQL given to `create_view`.

        Args:
            folder: The folder that `save` wrote to.
            threads: As for `Database`.
            trusted: Take the states of the views from the files, after a comparison of checksums alone. Use this for a
                folder that only you can write to: a forged state makes kernels read and write outside of their arrays.
                States of another number of threads, version of livejoin or plan are rebuilt anyway, and the logger
                ``livejoin`` says so.
            memory_limit: As for `Database`; a snapshot has none.
            spill: As for `Database`; a snapshot has none.
            spill_over: As for `Database`.

        Raises:
            StateError: There is no snapshot, or it is damaged or of another version.
            StorageError: The disk or the system refuses to read it.
            MemoryLimitError: The database would take more memory than ``memory_limit``.

        Cost: O(base rows) and the loading of the views; with ``trusted``, O(base rows) and the bytes of the state.
        """
        check_switch(trusted, "trusted")
        image = snapshot.read(check_folder(folder), trusted)
        database = cls(threads=threads, memory_limit=memory_limit, spill=spill, spill_over=spill_over)
        empty = database._contents
        database._contents = restored(image, empty.workers, empty.memory_limit, empty.scratch)
        database.extra = dict(image.extra)
        return database

    @alone
    def _check(self) -> None:
        """Assert all invariants of every structure; for tests."""
        self._contents.codec._check()
        for base in self._contents.tables.values():
            base._check()
        self._contents.graph._check()
