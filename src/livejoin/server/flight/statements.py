"""Statements of clients: queries, each at one version, and changes of rows and declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import pyarrow as pa

from livejoin.database import Commit, Database
from livejoin.database.versions.rows_at import Named
from livejoin.errors import CapacityError, LivejoinError, ReadError
from livejoin.plan.explain.forms.rows import SCHEMA as EXPLAINED
from livejoin.plan.explain.forms.rows import as_rows
from livejoin.server.access import Who
from livejoin.server.answers import RequestError, status_of
from livejoin.server.arrow_guard import read_stream
from livejoin.server.explaining import explained_as_asked
from livejoin.server.flight.protobuf import Message, read, write
from livejoin.server.limits import Limits
from livejoin.server.permissions import absent, refuse_script, violations_told_to
from livejoin.server.queries import Queries
from livejoin.sql import RowChanges, names_said, parse_statement, pieces, places, read_explain

_COMMENT = r"--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/"
_FIRST_WORD = re.compile(rf"(?:\s|;|{_COMMENT})*([A-Za-z]*)")
_CHANGING = frozenset(
    (
        *("INSERT", "UPDATE", "DELETE", "MERGE"),
        *("CREATE", "DROP", "ALTER", "REFRESH"),
        *("BEGIN", "START", "COMMIT", "END", "ROLLBACK"),
    )
)
_PLAIN = re.compile(
    r"\s*SELECT\s+\*\s+FROM\s+(?:`([^`]+)`|([A-Za-z_][A-Za-z_0-9]*))(?:\s+LIMIT\s+([0-9]{1,18}))?\s*;?\s*\Z",
    re.IGNORECASE,
)
_PIECE = 65_536  # rows that are read at once of a view that is too large to be read whole
_MOST_RUNS = 1_000  # of a statement in a call: each takes some 4 ms, for which others wait
CHANGED = pa.schema([pa.field("version", pa.int64()), pa.field("changes", pa.int64())])
"""What a statement that changes something gives where a result is expected: the version, and how many changes."""


def changes_something(sql: str) -> bool:
    """Whether a text is of statements that change rows or declare something, by its first word.

    >>> changes_something("/* a */ insert into t values (1)"), changes_something("(SELECT 1)")
    (True, False)
    """
    found = _FIRST_WORD.match(sql)
    return found is not None and found[1].upper() in _CHANGING


@dataclass(frozen=True)
class Prepared:
    """A statement with the values of its places; a client keeps all of it, so that the server keeps nothing.

    Args:
        sql: The text.
        rows: The values, a row for each time that it runs; None if none were given.
    """

    sql: str
    rows: pa.Table | None = None

    @staticmethod
    def of(handle: bytes, limits: Limits) -> Prepared:
        """The statement of a handle that `handle` gave, or that somebody made up.

        Raises:
            MessageError: The handle is none.
            ChangeFormatError, CapacityError: The values are no Arrow data, or too many.
        """
        found = read(handle)
        rows = read_stream(found.data(2), limits.body) if found.has(2) else None
        if rows is not None and rows.num_rows > limits.rows:
            msg = f"the statement has {rows.num_rows:,} rows of values; allowed are {limits.rows:,}"
            raise CapacityError(msg)
        return Prepared(text_of(found, 1), rows)

    @property
    def handle(self) -> bytes:
        """The statement as bytes."""
        if self.rows is None:
            return write({1: self.sql})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_table(self.rows)
        return write({1: self.sql, 2: sink.getvalue().to_pybytes()})

    @property
    def values(self) -> list[Any]:
        """The values of each time that it runs, as `livejoin.Database.execute` takes them."""
        if self.rows is None:
            return [None]
        if any(name is not None for name in places(self.sql)):
            return list(self.rows.to_pylist())
        columns = [column.to_pylist() for column in self.rows.columns]
        return [list(row) for row in zip(*columns, strict=True)] if columns else [None] * max(1, self.rows.num_rows)

    @property
    def only(self) -> Any:
        """The values, where it runs once.

        Raises:
            RequestError: There are several rows of values, or none.
        """
        found = self.values
        if len(found) != 1:
            msg = f"{len(found)} rows of values are given; a query takes one, so ask it once for each"
            raise RequestError(msg)
        return found[0]


def text_of(message: Message, number: int) -> str:
    """A statement in a field of a message.

    Raises:
        RequestError: There is none.
    """
    found = message.text(number)
    if not found.strip():
        msg = "the command has no statement"
        raise RequestError(msg)
    return found


class Statements:
    """Runs statements; may be called from any thread.

    Args:
        db: The database.
        queries: Answers ad-hoc queries.
        limits: The limits of one who asks.
    """

    def __init__(self, db: Database, queries: Queries, limits: Limits) -> None:
        self._db = db
        self._queries = queries
        self._limits = limits

    def schema(self, who: Who, sql: str, parameters: Any) -> pa.Schema:
        """The columns that a query gives.

        Raises:
            LivejoinError: As for `query`, but for what the rows decide.

        Cost: that of planning it; none for ``SELECT * FROM name``.
        """
        if read_explain(sql, parameters) is not None:
            return EXPLAINED
        with self._db.snapshot() as at:
            if parameters is None and (plain := _PLAIN.match(sql)):
                return self._rows_of(at, plain[1] or plain[2], who).schema
            named = {
                name: Named(one.name, one.schema, one.types, partial(_empty, one.schema))
                for name, one in {**at.tables, **at.views}.items()
                if who.may_read(name)
            }
        return self._queries.ask(sql, parameters, named)[0].schema

    def query(self, who: Who, sql: str, parameters: Any, is_gone: Callable[[], bool]) -> pa.Table:
        """The rows that a query gives, at one version.

        Args:
            who: Who asks; what they may not read is not there for the query.
            sql: The query.
            parameters: The values of its places.
            is_gone: Whether nobody waits any more.

        Raises:
            LivejoinError: The query is wrong, or takes more than it may.

        Cost: ``SELECT * FROM name``, also with a LIMIT, is read as `livejoin.Database.snapshot` reads; any other query
        has a process of its own, O(rows of what it reads, and result).
        """
        if (explain := read_explain(sql, parameters)) is not None:
            return as_rows(explained_as_asked(self._db, who, explain))
        with self._db.snapshot() as at:
            if parameters is None and (plain := _PLAIN.match(sql)):
                return self._plain(at, plain[1] or plain[2], who, None if plain[3] is None else int(plain[3]))
            both: Mapping[str, Any] = {**at.tables, **at.views}
            named = {name: one.named for name, one in both.items() if who.may_read(name)}
            return self._queries.ask(sql, parameters, named, is_gone)[0]

    @staticmethod
    def _rows_of(at: Any, name: str, who: Who) -> Any:
        for rows in (at.views, at.tables):
            if name in rows and who.may_read(name):
                return rows[name]
        raise absent("view or table", name, [one for one in (*at.views, *at.tables) if who.may_read(one)])

    def _plain(self, at: Any, name: str, who: Who, limit: int | None) -> pa.Table:
        """The rows of a view or a table, the first ones where there is a limit."""
        found, most = self._rows_of(at, name, who), self._limits.rows
        views = self._db.views
        if name in at.views and name in views:
            view = views[name]
            count = view.count()
            if count > most:
                if limit is None or limit > most:
                    raise self._too_many(name, count)
                pieces_of = [view.slice(begin, min(_PIECE, limit - begin)) for begin in range(0, limit, _PIECE)]
                return pa.concat_tables(pieces_of) if pieces_of else found.schema.empty_table()
            try:
                rows = found.to_arrow()
            except ReadError:  # it keeps no deltas, and changed meanwhile
                rows = view.to_arrow()
        else:
            rows = found.to_arrow()
        rows = rows if limit is None else rows.slice(0, limit)
        if rows.num_rows > most:
            raise self._too_many(name, rows.num_rows)
        return rows

    def _too_many(self, name: str, rows: int) -> CapacityError:
        msg = f"{name!r} has {rows:,} rows; an answer has {self._limits.rows:,} at most, so give the query a LIMIT"
        return CapacityError(msg)

    def run(self, who: Who, prepared: Prepared, is_gone: Callable[[], bool]) -> tuple[int, int]:
        """Run statements that change rows or declare something, once for each row of values.

        An INSERT that reads no table is one commit for all rows of values; else each row has its own, as a statement
        reads what those before it left.

        Args:
            who: Who asks.
            prepared: The statements and the values.
            is_gone: Whether nobody waits any more: those that have not run do not run then.

        Returns:
            The version, and how many changes there were.

        Raises:
            LivejoinError: A statement is wrong or not allowed; the message says how many rows of values stand.
        """
        if prepared.rows is not None and prepared.rows.num_rows > _MOST_RUNS:
            msg = (
                f"the statement has {prepared.rows.num_rows:,} rows of values; allowed are {_MOST_RUNS:,}, as it is "
                "read anew for each. Send rows as a table (bulk ingestion, adbc_ingest)"
            )
            raise CapacityError(msg)
        every = prepared.values
        for values in every:
            refuse_script(self._db, who, prepared.sql, values)
        if len(every) > 1 and self._reads_nothing(prepared.sql, every[0]):
            text = "\n;\n".join(["BEGIN", *[prepared.sql.strip().rstrip(";")] * len(every), "COMMIT"])
            with violations_told_to(who):
                return self._said(self._db.execute(text, [value for values in every for value in values]))
        version, changes = self._db.version, 0
        for done, values in enumerate(every):
            if is_gone():
                msg = f"nobody waits any more; the first {done} of {len(every)} rows of values stand"
                raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
            try:
                with violations_told_to(who):
                    version, more = self._said(self._db.execute(prepared.sql, values))
            except LivejoinError as error:
                if not done:
                    raise
                msg = f"the first {done} of {len(every)} rows of values stand; the one behind them: {error}"
                raise RequestError(msg, status_of(error)) from error
            changes += more
        return version, changes

    def _said(self, commit: Commit | None) -> tuple[int, int]:
        return (self._db.version, 0) if commit is None else (commit.version, commit.changes)

    @staticmethod
    def _reads_nothing(sql: str, values: Any) -> bool:
        """Whether a text is one INSERT of values that are given by position, and reads no table."""
        found = pieces(sql, values)
        if len(found) != 1 or not isinstance(values, list):
            return False
        statement = parse_statement(found[0].text)
        return (
            isinstance(statement, RowChanges)
            and statement.verb.upper() == "INSERT"
            and not any(names_said(part.query) for part in statement.parts)
        )


def _empty(schema: pa.Schema) -> pa.Table:
    return schema.empty_table()
