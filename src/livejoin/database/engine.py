"""The database: tables, views, and commits that move all of them from one version to the next."""

from __future__ import annotations

import datetime as dt
import uuid
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

import pyarrow as pa

from livejoin.changes import STRICT, ChangeBatch, Coerce, ExtraColumns, joined
from livejoin.database import notebook
from livejoin.database.arguments import (
    check_bytes,
    check_changes,
    check_extra,
    check_folder,
    check_granularity,
    check_intake,
    check_json,
    check_name,
    check_pace,
    check_piece,
    check_place,
    check_scratch,
    check_switch,
    check_word,
)
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents, GivenStatistics
from livejoin.database.durable.bodies import KEEP, plain
from livejoin.database.durable.closing import close, close_left
from livejoin.database.durable.home import Damaged, open_home, refuse_home, refuse_to_load
from livejoin.database.durable.log import Sync
from livejoin.database.durable.store_home import open_store
from livejoin.database.explaining import explain_query
from livejoin.database.names import ByName
from livejoin.database.now import check_time, rows_of_time
from livejoin.database.overview import explain_graph, figures
from livejoin.database.slow_commits import SlowCommits
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.image import image_of, restored
from livejoin.database.statements import asserting, views
from livejoin.database.statements.script import ask, refuse_many_commits, run_script
from livejoin.database.statements.views import ViewSettings
from livejoin.database.stored_table import StoredTable
from livejoin.database.transactions import transaction
from livejoin.database.transactions.bad_rows import ON_BAD_ROWS, Good, OnBadRows, commit_good
from livejoin.database.transactions.compaction import compact
from livejoin.database.transactions.guard import Guard, alone, commits, first
from livejoin.database.transactions.preview import Preview, previewed, previewed_good
from livejoin.database.transactions.redeclare import redeclare
from livejoin.database.transactions.refresh import refresh, refresh_good
from livejoin.database.transactions.replay import Manner, Replay, replay_good, replay_whole
from livejoin.database.transactions.requests import Numbered, Request, check_request
from livejoin.database.transactions.sealing import drop_unread
from livejoin.database.transactions.staging import Granularity, OnConflict
from livejoin.database.transactions.watermarks import add_watermarks
from livejoin.database.versions.snapshot import Snapshot
from livejoin.database.view import View
from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.expressions import Expression, sql_of
from livejoin.families.cells.workers import Workers
from livejoin.kernels.warm import ready
from livejoin.plan import Explanation
from livejoin.plan.explain.forms.graph import GraphExplanation
from livejoin.plan.explain.forms.rows import as_rows
from livejoin.schema import Assertion, Deletes, Keep, Late, Retain, TableSettings, declared_columns
from livejoin.schema.now import NOW, NOW_COLUMN, NOW_RANGE
from livejoin.search.algorithm import Algorithm
from livejoin.sql import (
    Explain,
    RefreshTable,
    parse_columns,
    parse_statement,
    read_explain,
    violations_of,
)
from livejoin.state.heap import keep_freed_memory
from livejoin.state.objects import open_objects

_MAX_THREADS = 1024
_SYNC_EVERY = dt.timedelta(milliseconds=100)


def _named(changes: str | Mapping[str, object], data: object, method: str) -> Mapping[str, object]:
    """The data of each table that a commit changes."""
    if not isinstance(changes, str) and data is not None:
        msg = f"{method} takes a table's name and its data, or a mapping from names to data; found both"
        raise ChangeFormatError(msg)
    if isinstance(changes, str):
        return {changes: data}
    return check_changes(changes, f"{method}({{'G': rows}}), or {method}('G', rows)")


def _is_refresh(sql: object) -> bool:
    return isinstance(sql, str) and sql.lstrip()[:7].upper() == "REFRESH"


class Database:
    """Tables and live views in this process, and in a folder if they are to stay.

    A commit is an atomic set of changes: a view shows the state after a whole commit, and a commit that fails changes
    nothing. The order of changes within a commit matters in two cases: rows enter a window in the order given, and
    changes by key follow one another. Calls may come from any thread; one runs at a time.

    Args:
        path: A folder in which all stays, or a URL of an object store; `livejoin.open` says more. By default nothing
            stays but what `save` writes.
        threads: With more than one, every join is split into so many cells by the values of one variable, each
            maintained by a thread: the same answers and deltas, faster for large commits and results. What the split
            does not share out is kept in every cell; `explain` names it. Joins that cannot be split, such as those of
            aggregates without groups, stay whole; `explain` says so too.
        memory_limit: The most memory for tables, dictionaries, the states of views, and what a commit takes for staging
            and deltas: a number of bytes, or a text as ``4GB`` or ``4GiB``. A commit or a view that would pass it is
            refused with `MemoryLimitError`, and nothing is changed. docs/guarantees.md says what is not counted.
        spill: A folder on a disk, made if it is missing. A delta that takes more memory than ``spill_over`` is written
            there piece by piece, before the commit stands, and `Commit.batches` reads it so; where the disk refuses,
            the commit is refused with `StorageError`, and nothing is changed. What is written has no name in the folder
            and is gone with its commit object, or with the process. Without it every delta is in memory, as are those
            of views with subscribers.
        spill_over: A number of bytes, or a text as for ``memory_limit``; by default 256 MB, or a sixteenth of
            ``memory_limit`` if that is less.
        sync: With a path: when what was changed is on the disk, so that it survives a loss of power. ``commit``:
            before a call returns. ``batch``: ``sync_every`` at the latest, or after 1 MB. ``off``: when the
            system writes it by itself, or the database is closed. A process that is killed loses nothing with any.
        sync_every: How long ``batch`` waits at most; by default 100 ms.
        damaged: With a path: what becomes of a log that is damaged in its middle: ``refuse`` to open it, or ``cut``,
            which goes on from what comes before the damage, and keeps the rest in files beside it.
        coerce: Which values of changes columns take. ``strict``: those of their own kind, so that '1.10' is no DECIMAL.
            ``json``: also what JSON and people write, as `apply` says.
        extra_columns: What happens to columns in changes that their table does not have: ``refuse`` or ``ignore``.
        on_bad_rows: What happens to changes that cannot be read, or that views have no value for, in `apply` and
            `refresh`: ``fail``, ``skip`` or ``dead_letter``.

    Attributes:
        extra: The user's JSON values; `keep_extra`, and `save`, keep them.

    Raises:
        SchemaError: ``threads`` is not a positive integer, ``memory_limit`` or ``spill_over`` no size, ``spill`` no
            path, ``sync``, ``damaged``, ``coerce``, ``extra_columns`` or
            ``on_bad_rows`` none of these words.
        StateError: Another database has the folder open, or it is damaged, or is no folder of a database.
        StorageError: No file can be made in ``spill``, or the folder cannot be read or written.
        MemoryLimitError: The content of the folder takes more than it may.

    >>> db = Database()
    >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    >>> view = db.create_view("hop2", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
    >>> commit = db.apply("G", [(1, 2), (2, 3)])
    >>> commit["hop2"].to_pylist()
    [{'a': 1, 'b': 2, 'c': 3, '_change_type': 'insert', '_commit_version': 1}]
    """

    def __init__(  # noqa: PLR0913  # the options of a database
        self,
        path: str | Path | None = None,
        *,
        threads: int = 1,
        memory_limit: str | int | None = None,
        spill: str | Path | None = None,
        spill_over: str | int | None = None,
        sync: Sync = "commit",
        sync_every: dt.timedelta = _SYNC_EVERY,
        damaged: Damaged = "refuse",
        coerce: Coerce = "strict",
        extra_columns: ExtraColumns = "refuse",
        on_bad_rows: OnBadRows = "fail",
    ) -> None:
        limit = check_bytes(memory_limit, "memory_limit")
        if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= _MAX_THREADS:
            msg = f"threads is {threads!r}; allowed are 1 to {_MAX_THREADS}, best no more than there are cores"
            raise SchemaError(msg)
        pace = check_pace(sync, sync_every)
        check_word(damaged, "damaged", ("refuse", "cut"))
        check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
        self._on_bad_rows = on_bad_rows
        self._identity = uuid.uuid4().hex
        self._intake = check_intake(coerce, extra_columns, STRICT)
        where = None if path is None else check_place(path)
        scratch = check_scratch(spill, spill_over, limit)
        ready(cells=threads > 1)
        keep_freed_memory()
        self._contents = Contents(Workers(threads), limit, scratch=scratch)
        if where is not None:
            if isinstance(where, str):
                self._contents = open_store(open_objects(where), self._contents, pace, damaged)
            else:
                self._contents = open_home(where, self._contents, pace, damaged)
            assert self._contents.log is not None
            self._contents.slowest.forget()  # those that opening has applied again
            self._contents.times.forget()
            add_watermarks(self._contents, list(self._contents.catalog))
            drop_unread(self._contents)
            for table in list(self._contents.catalog):
                asserting.enforce(self._contents, table)
            # a view of it may be all that somebody keeps
            weakref.finalize(self._contents, close_left, self._contents.log)
        self.extra: dict[str, Any] = self._contents.extra

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
    def path(self) -> Path | None:
        """The folder in which it stays; None if it has none."""
        path = None if self._contents.log is None else self._contents.log.path
        return path if isinstance(path, Path) else None

    @property
    def url(self) -> str | None:
        """The place in an object store where it stays; None if it has none."""
        path = None if self._contents.log is None else self._contents.log.path
        return path if isinstance(path, str) else None

    @property
    def waits_for_disk(self) -> bool:
        """Whether a commit returns when it is on the disk or in the store: it has such a place, ``sync="commit"``."""
        log = self._contents.log
        return log is not None and log.pace.sync == "commit"

    @property
    def identity(self) -> str:
        """Names the history of its versions: who knows a version of another history knows nothing of this one.

        In a folder with ``sync="commit"`` it stays; else it is another one each time, as the last versions may be lost.
        It is another one too when versions were cut off by ``damaged="cut"``.
        """
        log = self._contents.log
        account = log.account if log is not None and self.waits_for_disk else None
        return self._identity if account is None else account.identity + account.epoch

    @property
    @alone
    def offsets(self) -> dict[str, Any]:
        """Up to where each source was read, as the commits said that stand (`apply`)."""
        return dict(self._contents.offsets)

    @alone
    def keep_extra(self, extra: Mapping[str, Any]) -> None:
        """Let JSON values of yours stay with the database, in the place of those of before; they are in `extra`.

        Raises:
            StateError: A value is no JSON value; nothing has changed.
            StorageError: The values could not be written; nothing has changed.
        """
        kept = check_json(extra, "extra")
        contents = self._contents
        if contents.log is not None:
            contents.log.append(KEEP, contents.version, plain({"extra": kept}), lambda: contents.extra is kept)
        contents.extra = kept
        if contents.log is not None:
            contents.log.settle()
        self.extra = kept

    def close(self) -> None:
        """Make all durable and give the folder back; every later call is refused. Once more changes nothing.

        Raises:
            StorageError: The disk refused; the folder is given back all the same.
        """
        close(self._contents)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @alone
    def tables(self) -> Mapping[str, StoredTable]:
        """The tables by name: their declarations, and their rows, which are read as those of views."""
        contents = self._contents
        return ByName((table.name, StoredTable.of(table, contents)) for table in contents.catalog)

    @property
    @alone
    def views(self) -> Mapping[str, View]:
        """The views by name."""
        return ByName((view.name, view) for view in self._contents.views.values())

    @property
    @alone
    def assertions(self) -> Mapping[str, View]:
        """The assertions by name. Each is also among `views`; its rows are what violates it."""
        asserted = (view for view in self._contents.views.values() if view.assertion is not None)
        return ByName((view.name, view) for view in asserted)

    @commits
    def execute(
        self, sql: str, parameters: Any = None, *, allow_product: bool = False, request: Request | None = None
    ) -> Commit | None:
        """Run SQL: INSERT, UPDATE, DELETE, MERGE INTO, CREATE, DROP, ALTER TABLE or REFRESH TABLE; also several.

        Args:
            sql: The statement, or several with semicolons between them, which run one after the other. Statements
                between ``BEGIN`` and ``COMMIT`` that change rows are one commit; each of them reads the tables as they
                were before ``BEGIN``.
            parameters: The values of ``?`` in a list, or of ``:name`` in a dict. For ``REFRESH TABLE`` all rows that
                the table is to have, as for `refresh`.
            allow_product: As for `create_view`.
            request: As for `apply`, where the text is one commit: one statement that changes rows, or several between
                ``BEGIN`` and ``COMMIT``.

        Returns:
            The last commit; None if no statement changed rows.

        Raises:
            SqlError: A statement is none of these, or is wrong, with its position. Those before it stand.
            SchemaError: A name is taken, or not there.
            ChangeError, ExpressionError, CapacityError, StorageError: As for `apply`; the statement changed nothing.

        Cost: that of `apply` for the rows that change; for what a statement reads, beside VALUES, that of creating a
        view of it: O(rows of its tables).

        >>> db = Database()
        >>> _ = db.execute('''
        ...     CREATE TABLE stock (item STRING PRIMARY KEY, pieces INT);
        ...     CREATE VIEW total AS SELECT SUM(pieces) AS pieces FROM stock;
        ...     INSERT INTO stock VALUES ('nuts', 100), ('bolts', 50)
        ... ''')
        >>> sold = {"sold": 5, "item": "nuts"}
        >>> commit = db.execute("UPDATE stock SET pieces = pieces - :sold WHERE item = :item", sold)
        >>> [(row["_change_type"], row["pieces"]) for row in commit["total"].to_pylist()]
        [('update_preimage', 150), ('update_postimage', 145)]
        """
        asked = None if request is None else check_request(request)
        if (done := self._done(asked)) is not None:
            return done
        if _is_refresh(sql):
            statement = parse_statement(sql)
            assert isinstance(statement, RefreshTable)
            if asked is not None:
                raise refuse_many_commits()
            if parameters is None:
                msg = "REFRESH TABLE needs all rows that the table is to have: db.execute('REFRESH TABLE t', rows)"
                raise ChangeFormatError(msg, statement.name)
            return self.refresh(statement.name, parameters)
        return run_script(self._contents, sql, parameters, allow_product, asked)

    def sql(self, query: str | Expression, parameters: Any = None) -> pa.Table:
        """The result of a query that is asked once, over tables and views as they are.

        Args:
            query: A SELECT, or an expression of Ibis, as for `create_view`. Nothing is maintained of it afterwards.
                ``EXPLAIN SELECT ...``, ``EXPLAIN name`` and ``EXPLAIN ANALYZE name`` of a view give the lines of
                `explain` and of `View.explain` as rows.
            parameters: The values of ``?`` in a list, or of ``:name`` in a dict.

        Raises:
            SqlError: The text is no query, is wrong, or is outside of what livejoin has.
            AbsentNameError: ``EXPLAIN`` names a view that is not there.
            ExpressionError: An expression has no value on some row.
            CapacityError: The query takes more memory than there may be.

        Cost: that of creating a view of it and of reading that: O(rows of its tables, and result). Commits wait while
        the rows are read, and not while the text is planned, which takes some 10 ms; the plans of the last 128 texts
        are kept. A query of one table or view with ``key = constant`` in its condition costs a look-up, as `View.get`,
        and a few ms for its text.

        >>> db = Database()
        >>> _ = db.execute("CREATE TABLE stock (item STRING, pieces INT); INSERT INTO stock VALUES ('nuts', 7)")
        >>> db.sql("SELECT item FROM stock WHERE pieces > :least", {"least": 5}).to_pylist()
        [{'item': 'nuts'}]
        """
        text = sql_of(query)
        if (asked := read_explain(text, parameters)) is not None:
            return as_rows(self._explained(asked))
        return ask(self._contents, text, parameters)[0]

    def _explained(self, asked: Explain) -> Explanation:
        return self.views[asked.view].explain(analyze=asked.analyze) if asked.view else self.explain(asked.query)

    def snapshot(self) -> Snapshot:
        """All views and tables at the present version, to be read from any thread, whatever is committed meanwhile.

        Use it in a ``with``, or `Snapshot.close` it: while it is open, commits keep what they change. Taking it copies
        nothing. The first reader of a view copies its rows; commits go on while these become Arrow, and whoever reads
        the same version later shares them.

        Raises:
            StorageError: The present version could not be made durable.

        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("total", "SELECT SUM(pieces) AS pieces FROM stock")
        >>> _ = db.apply("stock", [("nuts", 7)])
        >>> with db.snapshot() as at:
        ...     _ = db.apply("stock", [("bolts", 5)])
        ...     print(at.version, at["total"].to_pylist(), at["stock"].to_pylist(), view.to_pylist())
        1 [{'pieces': 7}] [{'item': 'nuts', 'pieces': 7}] [{'pieces': 12}]
        """
        return Snapshot(self._contents)

    def publish(self, view: str | View) -> int:
        """Make the rows of a view ready for those who will read or follow it: they find them without waiting.

        The first reader of a version copies the rows of a view, and those who follow begin with them. Publish after a
        large load, before many come at once. The rows stay, and those of later versions are made of them and of what
        has changed since, until that no longer pays (half of the rows have changed), or the view is dropped.

        Args:
            view: The view, or its name.

        Returns:
            The version whose rows are ready.

        Raises:
            AbsentNameError, ReadError: There is no such view, or it was dropped.
            ExpressionError, CapacityError, MemoryLimitError, StorageError: As for reading the view.

        Cost: O(rows), of which words are copied while commits wait; nothing if they are there.
        """
        found = view if isinstance(view, View) else self.views[view]
        return found._publish()

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
        columns: str | Mapping[str, Any] | type | pa.Schema,
        *,
        key: str | Sequence[str] | None = None,
        window_rows: int | None = None,
        window_range: tuple[str, dt.timedelta | int] | None = None,
        static: bool = False,
        sequence_by: str | None = None,
        tombstones: int | None = None,
        retain: Retain = "all",
        watermark: tuple[str, dt.timedelta | int] | None = None,
        late: Late = "skip",
        keep: Keep = "all",
        keep_final: dt.timedelta | None = None,
        append_only: bool = False,
        deletes: Deletes = "checked",
    ) -> None:
        """Declare a table.

        Args:
            name: The name.
            columns: The columns as in SQL, for example ``"src BIGINT, dst BIGINT"``; also NOT NULL, PRIMARY KEY, UNIQUE
                and FOREIGN KEY, which promises something to the planner, and with ENFORCED is an assertion. Keys are
                checked for what each version leaves; a row with NULL in a column of UNIQUE never conflicts. Changes by
                key go by the PRIMARY KEY alone. Or a dict of names and types, as ``{"src": "BIGINT", "dst": "BIGINT NOT
                NULL"}``; a class with annotated fields (a dataclass, a NamedTuple, a TypedDict, a pydantic model), or
                an Arrow schema: `livejoin.schema.models` says which types they stand for, docs/writing.md shows it.
            key: The columns of the PRIMARY KEY, by name, where ``columns`` does not say it.
            window_rows: Keep this many rows; the oldest leave as new ones come, in the commit that brings these.
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
            watermark: A column of times and a delay, as ``("ts", timedelta(minutes=10))``. The *watermark* is the
                newest time that the table had at the end of a commit, less the delay; it never goes back. A change is
                late if its time is before the watermark, as it was before the commit, or if the row with its key is of
                such a time. The one row of the table ``livejoin_watermark_NAME (at TIMESTAMP)`` has it. In SQL:
                ``WATERMARK FOR ts AS ts - INTERVAL '10 minutes'`` among the columns. No row leaves by it, and views
                with ``EMIT FINAL`` show what it has closed.
            late: The way to treat late changes: ``skip`` skips them and counts them in the commit's ``late``. With
                ``refuse`` they are bad rows, so that ``on_bad_rows`` says whether the commit fails, or they are left
                out or become dead letters.
            keep: With ``open``, a table with a watermark keeps the rows of open windows alone. Its views have ``EMIT
                FINAL``. When all of them have closed the windows of a row, it leaves the table some time later, and the
                views keep what they showed. So memory does not grow with the stream, but with what the views show. A
                view that is created later begins with the rows that are there. By default, ``all`` rows are kept.
            keep_final: With ``keep="open"``: how long closed windows can be read, as ``timedelta(days=1)``. Older rows
                leave the views, and their deltas say so. It is the least time; by default they stay for ever.
            append_only: Rows are inserted only. Deletions and changes by key are refused, and plans may rest on that. A
                second row with a key is refused as in any table, or skipped with ``on_conflict="ignore"``.
            deletes: With ``trusted`` no row is kept: memory grows with the groups that views show, and not with the
                rows. Each deletion has to be of a row that is there, given whole, as a feed of changes with the old
                rows has it; keys are not checked either. A deletion that leaves a group, or a row of a view, with fewer
                rows than none is refused. Views that group the rows by COUNT, SUM, AVG and the like keep the groups
                alone, all others the columns that they read. They are created before the first rows come, or with
                ``backfill`` (docs/tables.md). By default deletions are ``checked``.

        Raises:
            SqlError: The columns do not parse.
            SchemaError: The name is taken, or the declaration contradicts itself or other tables: for example, a
                foreign key references columns that are no key.
        """
        check_name(name, "table")
        declared = declared_columns(name, columns, key)
        settings = TableSettings(
            static=static,
            append_only=append_only,
            deletes=deletes,
            window_rows=window_rows,
            window_range=window_range,
            sequence_by=sequence_by,
            tombstones=tombstones,
            retain=retain,
            watermark=watermark,
            late=late,
            keep=keep,
            keep_final=keep_final,
        )
        asserting.create_table(self._contents, parse_columns(name, declared, settings))

    @alone
    def create_view(  # noqa: PLR0913  # the options of a view
        self,
        name: str,
        sql: str | Expression,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        algorithm: Algorithm = "auto",
        adaptive: bool = False,
        allow_product: bool = False,
        preprocessing_limit: int | None = None,
        replace: bool = False,
        backfill: Mapping[str, object] | None = None,
    ) -> View:
        """Maintain a query from now on. Over filled tables the view is loaded first, in O(base rows).

        Args:
            name: The view's name.
            sql: The query, in Spark SQL, or an expression of Ibis over ``db.tables["orders"].to_ibis()`` and its like.
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
            replace: If there is a view of this name, give it this query, in one commit (docs/durable.md says which
                deltas that has). Views that read it go on with the new result. ``execute`` of CREATE OR REPLACE
                VIEW gives the commit.
            backfill: The rows of tables with ``deletes="trusted"``, by the tables' names, as ``{"events": rows}``. Such
                a table keeps no rows, so a view that is created after some came has to be told all that are there now.
                Nobody checks that.

        Raises:
            SqlError: The query has an error or cannot be maintained; the message gives the position.
            SchemaError: The name is taken, there is no such algorithm, a column is not kept (``retain``), or the rows
                of a table are not kept (``deletes``) and not given; with ``replace``, the query does not fit views that
                read this one, or reads it itself.
            ExpressionError: A predicate fails on rows that are there.
            PreprocessingLimitError: A static bag has more rows than ``preprocessing_limit``.
        """
        settings = ViewSettings(deltas, statistics, algorithm, adaptive, allow_product, preprocessing_limit)
        return views.create_view(self._contents, name, sql_of(sql), settings, replace, backfill)

    @alone
    def stats(self) -> dict[str, Any]:
        """Figures of the whole database, each table and each block of the views counted once.

        Returns:
            ``version``; ``views``, their number; ``state_bytes`` (in use) and ``capacity_bytes`` (allocated) of all
            blocks; ``dictionary_state_bytes``, in use by strings and wide decimals; ``table_bytes`` and
            ``dictionary_bytes``, allocated; ``image_bytes``, the rows of versions that somebody reads, follows or has
            published; ``memory_bytes``, all memory that counts for ``memory_limit``, which is None where there is no
            limit; ``log``; ``tables`` and ``blocks``.

            ``log`` is None for a database without a folder; else it has ``sync``, as given, and ``records`` and
            ``bytes``, which the next start reads behind the last snapshot.

            ``tables`` has by name ``rows``, ``distinct_rows``, ``state_bytes``, ``capacity_bytes``, ``tombstones``
            (deleted keys that are remembered), ``late`` (late changes so far), ``changes`` (applied so far, since the
            database was opened), ``keys`` (as declared) and ``dropped``
            (columns that are not kept).

            ``blocks`` lists the blocks in the order in which a commit goes through them, each with ``number``,
            ``kind``, ``reads`` (tables, and blocks as ``#2``), ``read_by`` (blocks and views), ``rows``,
            ``state_bytes`` and ``capacity_bytes``; and, since it was made in this process, of commits that stand:
            ``commits`` that reached it with changes, ``changes_received`` (net changed rows of tables, and rows that
            blocks below passed on), ``changes_passed_on`` (delta rows), ``commits_stopped`` (of which it passed nothing
            on) and ``seconds`` spent on changes. ``changes_passed_on`` and ``commits_stopped`` are None where no view
            or block has asked for its changes so far. ``rows_touched`` are the rows that a join visited; None for
            other blocks. ``rows`` are None where they are not known and more than 10,000 rows would be gone through
            to count them, as behind a condition across tables; `View.count` counts them.
        """
        return figures(self._contents)

    @alone
    def slow_commits(self, *, forget: bool = False) -> SlowCommits:
        """The ten slowest commits since the database was opened, the slowest first.

        The first ones of a process may be those that compile kernels or load states. ``forget=True`` begins anew.

        Args:
            forget: Whether they are forgotten afterwards, so that the next call tells of commits from now on.

        Returns:
            Of each commit ``version``, ``at`` (when it stood), ``milliseconds`` from when its changes had been read,
            the ``part`` that took longest (``preparing``, ``tables``, ``blocks``, ``deltas``, ``disk``, ``ending``) and
            its share, ``waited_milliseconds`` and ``waited_for`` (``followers``, ``other calls``, ``disk``), the net
            ``changes`` of each table, and the ``block`` that took longest with its share.
            Subscribers do not count. ``print`` and notebooks show a table; ``to_pylist`` and ``to_arrow`` give the
            figures.

        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("total", "SELECT item, SUM(pieces) AS pieces FROM stock GROUP BY item")
        >>> _ = db.apply("stock", [("nuts", 7), ("bolts", 5)])
        >>> [(one.version, dict(one.changes)) for one in db.slow_commits()]
        [(1, {'stock': 2})]
        """
        check_switch(forget, "forget")
        found = self._contents.slowest.now(self._contents.graph.nodes)
        if forget:
            self._contents.slowest.forget()
        return found

    @overload
    def explain(self) -> GraphExplanation: ...
    @overload
    def explain(
        self,
        sql: str | Expression,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        log: Mapping[str, object] | None = None,
        algorithm: Algorithm = "auto",
        allow_product: bool = False,
        cells: int | None = None,
        preprocessing_limit: int | None = None,
        suppose: Sequence[Mapping[str, object]] = (),
    ) -> Explanation: ...
    @alone
    def explain(  # noqa: PLR0913  # all that may be said of a view, and supposed
        self,
        sql: str | Expression | None = None,
        *,
        deltas: bool = True,
        statistics: GivenStatistics | None = None,
        log: Mapping[str, object] | None = None,
        algorithm: Algorithm = "auto",
        allow_product: bool = False,
        cells: int | None = None,
        preprocessing_limit: int | None = None,
        suppose: Sequence[Mapping[str, object]] = (),
    ) -> Explanation | GraphExplanation:
        """What it would cost to maintain a query, before anything is loaded.

        Without a query: all blocks that maintain the present views, each once, with the views and blocks that read it.

        Args:
            sql: The query, in Spark SQL or as an expression of Ibis; it need not be a view.
            deltas: As for `create_view`.
            statistics: As for `create_view`.
            log: Changes of each table as for `replay`, which are not applied. The enclosureness is computed from them.
            algorithm: As for `create_view`.
            allow_product: As for `create_view`.
            cells: The number of cells, as for ``livejoin.spark.maintain(mode="distributed")``. The answer then also
                says in which stages the query runs, where rows go, and what load is expected. The plan is chosen from
                ``log`` as if it were the first batch; without a log, all values are taken to be equally frequent.
            preprocessing_limit: As for `create_view`.
            suppose: Declarations that are taken to be there, as ``suggestions[].suppose`` of an explanation's JSON has
                them; the database stays as it is. An index, ``{"table": "G", "kind": "primary key", "columns":
                ["src"]}``, is a key here.

        Returns:
            The explanation. ``print`` and notebooks show it; ``json``, ``svg`` and ``html`` give other forms.

        Raises:
            SqlError: The query has an error; the message gives the position.
            ChangeError: The log cannot be read.
            CapacityError: The query cannot run in so many cells.
            SchemaError: A supposed declaration names no table or column, or cannot be made.

        >>> db = Database()
        >>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
        >>> db.explain("SELECT A.src FROM G A JOIN G B ON A.dst = B.src").guarantee.update
        'O(1) a change, for every change sequence (height 1: the query is q-hierarchical)'
        """
        if sql is None:
            return explain_graph(self._contents)
        settings = ViewSettings(deltas, statistics, algorithm, False, allow_product, preprocessing_limit)
        return explain_query(self._contents, sql_of(sql), settings, log, cells, suppose)

    @alone
    def drop_view(self, name: str, *, cascade: bool = False) -> None:
        """Stop maintaining a view; blocks that other views share stay.

        Args:
            name: The view's name.
            cascade: Drop also the views that read this one, directly or through others.

        Raises:
            SchemaError: There is no such view, or another view reads it and ``cascade`` is not set.
        """
        views.drop_view(self._contents, name, cascade)

    @alone
    def create_assertion(
        self, name: str, condition: str, *, warn: bool = False, deferrable: bool = False, allow_product: bool = False
    ) -> View:
        """Refuse from now on each commit behind which a condition over the tables is false; as CREATE ASSERTION.

        Args:
            name: The assertion's name; views and tables have others.
            condition: The condition, often ``NOT EXISTS (SELECT ...)``; or a query, which must have no rows. One that
                is unknown, because of NULL, holds.
            warn: Whether commits stand that violate it. Its rows then are what violates it, and the view
                ``livejoin_violations`` says which assertions have some.
            deferrable: Whether a replay with a version for each change may violate it on its way, if it holds at the
                end.
            allow_product: As for `create_view`.

        Returns:
            The assertion as a view: of what violates it.

        Raises:
            ViolationError: The condition does not hold for what is there.
            SqlError, SchemaError, ExpressionError: As for `create_view`.

        Cost: that of the view. A commit that does not touch what violates it pays nothing more.

        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING PRIMARY KEY, left INT)")
        >>> _ = db.create_assertion("never_below_zero", "NOT EXISTS (SELECT item, left FROM stock WHERE left < 0)")
        >>> db.apply("stock", [("cup", -1)])
        Traceback (most recent call last):
        livejoin.errors.ViolationError: assertion 'never_below_zero' does not hold: a row violates it: item = 'cup', \
left = -1; nothing of the commit stands
        """
        check_switch(warn, "warn")
        check_switch(deferrable, "deferrable")
        settings = ViewSettings(allow_product=allow_product)
        assertion = Assertion(enforced=not warn, deferred=deferrable)
        return asserting.create_assertion(self._contents, name, violations_of(condition), assertion, settings)

    @alone
    def drop_assertion(self, name: str) -> None:
        """Assert no longer what an assertion does.

        Raises:
            SchemaError: There is no such assertion, a view reads it, or it is the FOREIGN KEY of a table.
        """
        asserting.drop_assertion(self._contents, name)

    @alone
    def drop_table(self, name: str) -> None:
        """Forget a table that no view uses and no foreign key of another table references.

        Raises:
            SchemaError: There is no such table, or a view uses it, or a foreign key references it.
        """
        asserting.drop_table(self._contents, self._contents.catalog[check_name(name, "table")])

    @commits
    def apply(
        self,
        changes: str | Mapping[str, object],
        data: object = None,
        *,
        on_conflict: OnConflict = "error",
        offsets: Mapping[str, Any] | None = None,
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
        request: Request | None = None,
    ) -> Commit:
        """Apply one atomic commit.

        A row's ``_change_type`` says what it does. The changes of a table are either all of *whole rows* or all *by
        key*. They are by key if the table has a PRIMARY KEY, and one of the changes is an ``upsert``, or a ``delete``
        without the columns outside of the key, or ``on_conflict`` is ``"update"``.

        ====================  =======================================  =========================================
        ``_change_type``      of whole rows                            by key, one after the other
        ====================  =======================================  =========================================
        ``insert``, or none   the row comes                            the row comes; its key must be free
        ``delete``            a row that is equal in all columns goes  the row with this key goes
        ``update_preimage``   as ``delete``                            as ``delete``
        ``update_postimage``  as ``insert``                            as ``upsert``
        ``upsert``                                                     the row comes, the one with its key goes
        ====================  =======================================  =========================================

        An ``upsert`` may leave out columns. They stay as they are in the row that goes. If there is no such row, they
        have their DEFAULT, or are NULL. An ``upsert`` of a row as it is there changes nothing. In a window the row that
        comes is the newest.

        ================  ================================  ================================  ==========================
        ``on_conflict``   an ``insert`` whose key is there  a ``delete`` of what is absent    for
        ================  ================================  ================================  ==========================
        ``"error"``       refuses the commit                refuses the commit                any table
        ``"ignore"``      is skipped, and counted           is skipped, and counted           any table
        ``"update"``      replaces the row                  is skipped, and counted           tables with a PRIMARY KEY
        ================  ================================  ================================  ==========================

        Args:
            changes: A table's name, or a mapping from names to the data of each.
            data: The changes of the one table: anything with the Arrow stream interface (pyarrow, pandas, Polars,
                DuckDB), or a list of tuples or dicts. Without a column ``_change_type`` every row is inserted. A column
                ``_seq`` orders the changes; only windows and changes by key look at it.
            on_conflict: A word of the second table. The commit's ``ignored`` counts what is skipped. With ``"update"``
                one table at least has a PRIMARY KEY; the others do as with ``"error"``. In a table with a window a
                second whole row with a key is an error with ``"ignore"`` too: only `replay` can tell which one counts.
            offsets: Up to where sources have been read when this commit stands, as ``{"orders": 17}``: JSON values by
                names, which take the place of those in `offsets`. They stand if and only if the commit does, so that
                who reads a source knows where to go on.
            coerce: Which values columns take; None as the database does. With ``strict`` every value is of its column's
                kind, and every column is given. ``json`` also takes texts and floats for a DECIMAL if they are exact
                at its scale, other numbers and texts of numbers for a DOUBLE (the nearest one), texts of digits for
                integers, and ISO texts for DATE and TIMESTAMP, where one with an offset is the instant that it names
                and one without is in UTC. Columns that are not given have their DEFAULT, or are NULL.
            extra_columns: What happens to columns that the table does not have: ``refuse`` or ``ignore``; None as the
                database does.
            on_bad_rows: What happens to a change that is none of its table, has a value that does not fit, or for which
                a view's expression has no value: ``fail`` refuses the commit, ``skip`` leaves the change out and counts
                it in the commit's ``bad_rows``, ``dead_letter`` also gives it back there, in ``dead_letters``; None as
                the database does. Conflicts are what ``on_conflict`` says.
            request: The name of a client, and its number of this request, as ``("till-3", 17)``, for who sends a
                request again when no answer came. One that was done already changes nothing: the commit has the figures
                of the first one, ``repeated``, and no deltas. A client's numbers ascend; the last 1,000 of each are
                known, and the last 10,000 clients. In a folder they stay with the commits. A third number, from 0 to
                2^63 - 1, may stand for what is asked, as a hash: the same number with another one is refused.

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
        named = {changes: data} if type(changes) is str else _named(changes, data, "apply")
        notes = transaction.NO_NOTES if offsets is None else {"offsets": check_json(offsets, "offsets")}
        intake = self._intake
        if coerce is not None or extra_columns is not None:
            intake = check_intake(coerce, extra_columns, intake)
        manner = self._on_bad_rows if on_bad_rows is None else self._manner(on_bad_rows)
        asked = None if request is None else check_request(request)
        if asked is not None and (done := self._done(asked)) is not None:
            return done
        if manner == "fail":
            batches = transaction.read(self._contents, named, False, on_conflict, intake)
            noted = notes if asked is None else {**notes, "request": asked.noted(0)}
            return transaction.commit(self._contents, batches, on_conflict, noted)
        commit, bad = commit_good(self._contents, named, on_conflict, intake, notes, asked)
        commit.bad_rows = len(bad)
        commit.dead_letters = tuple(bad) if manner == "dead_letter" else ()
        return commit

    def advance(self, time: dt.datetime, *, request: Request | None = None) -> Commit:
        """Set the time that `now()` stands for in queries, in one commit: rows that a view gains or loses by it.

        A view compares a column with `now()` in WHERE, as ``ts > now() - INTERVAL '1' HOUR``. The time is never that of
        the clock: call this with the time of the data before the first such view, and as time goes on. The time is the
        row of the table ``livejoin_now (at TIMESTAMP)``, which the first call declares. To move it together with rows,
        give them in one commit: ``db.apply({"events": rows, "livejoin_now": [(time,)]})``.

        Args:
            time: The time, without a time zone. That of now leaves everything as it is.
            request: As for `apply`.

        Returns:
            The commit.

        Raises:
            ChangeValueError: The time is before that of now, or no ``datetime`` without a time zone.
            SchemaError: A table of that name has another declaration.
            Error: As for `apply`.

        Cost: O(log rows) for each row that a comparison with ``now()`` begins or ceases to hold for, in a SELECT that
        compares it with ``now()`` by AND.

        >>> db = Database()
        >>> db.execute("CREATE TABLE events (id BIGINT, ts TIMESTAMP)")
        >>> _ = db.advance(dt.datetime(2026, 1, 1, 12))
        >>> hour = db.create_view("hour", "SELECT id FROM events WHERE ts > now() - INTERVAL '1' HOUR")
        >>> _ = db.apply("events", [(1, dt.datetime(2026, 1, 1, 11, 30))])
        >>> hour.to_arrow()["id"].to_pylist(), db.advance(dt.datetime(2026, 1, 1, 12, 30))["hour"].num_rows
        ([1], 1)
        """
        if NOW not in self._contents.catalog:
            check_time(time)
            self.create_table(NOW, f"{NOW_COLUMN} TIMESTAMP", window_range=(NOW_COLUMN, NOW_RANGE))
        return self.apply(NOW, rows_of_time(self._contents, time), request=request)

    def _manner(self, on_bad_rows: OnBadRows | None) -> OnBadRows:
        """What becomes of bad rows, where a call may say it."""
        if on_bad_rows is not None:
            check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
        return on_bad_rows or self._on_bad_rows

    def _done(self, request: Numbered | None) -> Commit | None:
        """The commit of a request that was done before, which is durable when this returns; None if it is new."""
        answer = None if request is None else self._contents.requests.answer(request)
        if answer is None:
            return None
        self._contents.images.make_told()
        commit = Commit(answer.version, answer.changes, answer.ignored, ByName(()), (), late=answer.late)
        commit.bad_rows, commit.repeated = answer.bad_rows, True
        return commit

    @first
    def preview(
        self,
        changes: str | Mapping[str, object],
        data: object = None,
        *,
        on_conflict: OnConflict = "error",
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
    ) -> Preview:
        """What a commit would change; nothing is changed, and nobody who follows hears of it.

        Args:
            changes: As for `apply`.
            data: As for `apply`.
            on_conflict: As for `apply`.
            coerce: As for `apply`.
            extra_columns: As for `apply`.
            on_bad_rows: What happens to bad rows, as for `apply`: with ``dead_letter`` the preview has them.

        Raises:
            LivejoinError: As `apply` would refuse the changes.

        Cost: that of the commit, of undoing it, and of the deltas as Arrow.

        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("total", "SELECT SUM(pieces) AS pieces FROM stock")
        >>> db.preview("stock", [("nuts", 7)]).deltas["total"]["pieces"].to_pylist(), view.to_pylist()
        ([None, 7], [{'pieces': None}])
        """
        named = _named(changes, data, "preview")
        intake = check_intake(coerce, extra_columns, self._intake)
        manner = self._manner(on_bad_rows)
        if manner != "fail":
            tells = manner == "dead_letter"
            return previewed_good(self._contents, named, on_conflict, intake, tells=tells)
        batches = transaction.read(self._contents, named, False, on_conflict, intake)
        return previewed(self._contents, batches, on_conflict)

    @first
    def what_if(
        self,
        steps: Iterable[Mapping[str, object]],
        *,
        on_conflict: OnConflict = "error",
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
    ) -> Preview:
        """What several commits would change together; nothing is changed, and nobody who follows hears of it.

        Args:
            steps: The changes of each commit, by the names of the tables.
            on_conflict: As for `apply`.
            coerce: As for `apply`.
            extra_columns: As for `apply`.

        Returns:
            As `preview` of one commit with all changes, those of each table one behind the other: deltas are net.

        Raises:
            LivejoinError: As `apply` would refuse the changes.

        >>> db = Database()
        >>> db.execute("CREATE TABLE stock (item STRING, pieces INT)")
        >>> view = db.create_view("total", "SELECT SUM(pieces) AS pieces FROM stock")
        >>> seen = db.what_if([{"stock": [("nuts", 7)]}, {"stock": [("bolts", 3)]}])
        >>> seen.deltas["total"]["pieces"].to_pylist(), view.to_pylist()
        ([None, 10], [{'pieces': None}])
        """
        intake = check_intake(coerce, extra_columns, self._intake)
        found: dict[str, list[ChangeBatch]] = {}
        form = "what_if([{'G': rows}, {'G': more}])"
        if isinstance(steps, str | Mapping) or not isinstance(steps, Iterable):
            msg = f"what_if takes a list of commits; found a {type(steps).__name__}. Allowed is {form}"
            raise ChangeFormatError(msg)
        for step in steps:
            named = check_changes(step, form)
            for batch in transaction.read(self._contents, named, False, on_conflict, intake):
                found.setdefault(batch.table.name, []).append(batch)
        return previewed(self._contents, [joined(batches) for batches in found.values()], on_conflict)

    @commits
    def refresh(
        self,
        table: str,
        data: object,
        *,
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
    ) -> Commit:
        """Replace the rows of a static table, also while views use it: one commit with its deltas.

        Args:
            table: The name of the table.
            data: All rows that it is to have, as for `apply`: those that it has already cost a look and change nothing.
            coerce: As for `apply`.
            extra_columns: As for `apply`.
            on_bad_rows: As for `apply`: with ``skip`` and ``dead_letter`` the table does not have the bad rows.

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
        intake = check_intake(coerce, extra_columns, self._intake)
        if on_bad_rows is not None:
            check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
        manner = on_bad_rows or self._on_bad_rows
        if manner == "fail":
            return refresh(self._contents, table, data, intake)
        commit, bad = refresh_good(self._contents, table, data, intake)
        commit.bad_rows = len(bad)
        commit.dead_letters = tuple(bad) if manner == "dead_letter" else ()
        return commit

    @overload
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: None = None,
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
    ) -> Commit: ...
    @overload
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: int,
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
    ) -> Replay: ...
    @commits
    def replay(
        self,
        logs: Mapping[str, object],
        *,
        granularity: Granularity = "change",
        on_conflict: OnConflict = "error",
        max_rows: int | None = None,
        coerce: Coerce | None = None,
        extra_columns: ExtraColumns | None = None,
        on_bad_rows: OnBadRows | None = None,
    ) -> Commit | Replay:
        """Replay logs of changes in the order of their column ``_seq``, which goes across tables.

        Args:
            logs: The changes of each table, as for `apply`, with a column ``_seq`` of distinct int64 values.
            granularity: With ``change``, every change has a version and a delta of its own, in order; a row that leaves
                a window belongs to the change that pushed it out. With ``commit``, all changes are one commit as in
                `apply`: insertions come before deletions and a window moves once, at the end.
            on_conflict: As for `apply`.
            max_rows: Cut the log into pieces of so many changes, each an atomic commit that is applied when the
                iterator comes to it, so that the memory for deltas and for undoing is that of a piece. All values are
                read and checked before; with the granularity ``commit`` each piece is a set, with a version of its own.
            coerce: As for `apply`.
            extra_columns: As for `apply`.
            on_bad_rows: As for `apply`; None as the database does. A change that is left out has no version of its own
                that changes anything. With ``max_rows`` the commit of a piece has those of the piece in ``bad_rows``,
                and the first one those of the whole log that cannot be read.

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
        intake = check_intake(coerce, extra_columns, self._intake)
        manner = Manner(granularity, on_conflict)
        if on_bad_rows is not None:
            check_word(on_bad_rows, "on_bad_rows", ON_BAD_ROWS)
        of_bad_rows = on_bad_rows or self._on_bad_rows
        if of_bad_rows == "fail":
            batches = transaction.read(self._contents, named, True, on_conflict, intake)
            if max_rows is None:
                return replay_whole(self._contents, batches, manner)
            return Replay(self._contents, batches, max_rows, manner)
        good, tells = Good(self._contents, named, True, on_conflict, intake), of_bad_rows == "dead_letter"
        if max_rows is not None:
            return Replay(self._contents, good.read(), max_rows, manner, good, tells)
        commit, bad = replay_good(self._contents, good, manner)
        commit.bad_rows = len(bad)
        commit.dead_letters = tuple(bad) if tells else ()
        return commit

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
        target = check_folder(folder)
        refuse_home(target)
        compact(self._contents)
        snapshot.write(target, image_of(self._contents, kept))
        self.extra = kept

    @classmethod
    def load(  # noqa: PLR0913  # the options of a database
        cls,
        folder: str | Path,
        *,
        threads: int = 1,
        trusted: bool = False,
        memory_limit: str | int | None = None,
        spill: str | Path | None = None,
        spill_over: str | int | None = None,
        coerce: Coerce = "strict",
        extra_columns: ExtraColumns = "refuse",
        on_bad_rows: OnBadRows = "fail",
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
            coerce: As for `Database`.
            extra_columns: As for `Database`.
            on_bad_rows: As for `Database`.

        Raises:
            StateError: There is no snapshot, or it is damaged or of another version.
            StorageError: The disk or the system refuses to read it.
            MemoryLimitError: The database would take more memory than ``memory_limit``.

        Cost: O(base rows) and the loading of the views; with ``trusted``, O(base rows) and the bytes of the state.
        """
        check_switch(trusted, "trusted")
        path = check_folder(folder)
        refuse_to_load(path)
        image = snapshot.read(path, trusted)
        database = cls(
            threads=threads,
            memory_limit=memory_limit,
            spill=spill,
            spill_over=spill_over,
            coerce=coerce,
            extra_columns=extra_columns,
            on_bad_rows=on_bad_rows,
        )
        empty = database._contents
        database._contents = restored(image, empty.workers, empty.memory_limit, empty.scratch)
        database.extra = dict(image.extra)
        return database

    @alone
    def _repr_html_(self) -> str:
        return notebook.of_database(self._contents)

    def __repr__(self) -> str:
        where = "" if self.path is None else f"{str(self.path)!r}, "
        tables, views = len(self._contents.tables), len(self._contents.views)
        return f"Database({where}version={self.version}, {tables} tables, {views} views)"

    @alone
    def _check(self) -> None:
        """Assert all invariants of every structure; for tests."""
        self._contents.codec._check()
        for base in self._contents.tables.values():
            base._check()
        self._contents.graph._check()
