"""What a program does with a server: read, query, write, follow."""

from __future__ import annotations

import itertools
import ssl
import uuid
from collections.abc import Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias, overload

import pyarrow as pa

from livejoin.client import following
from livejoin.client.address import read_address
from livejoin.client.exchange import Ask, Exchange
from livejoin.client.following import ArrowUpdate, Following, Shape, Update, Upserts
from livejoin.client.rows import ARROW, JSON, arrow_body, is_arrow, json_body, objects, read_arrow
from livejoin.client.said import (
    Applied,
    Previewed,
    TableInfo,
    ViewInfo,
    read_applied,
    read_previewed,
    read_tables,
    read_views,
)
from livejoin.errors import ChangeFormatError, ReadError, SchemaError
from livejoin.shown import shown

OnConflict: TypeAlias = Literal["error", "ignore", "update"]
OnBadRows: TypeAlias = Literal["fail", "skip", "dead_letter"]
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

_JSON_BODY: Final = {"Content-Type": JSON}


def connect(
    url: str,
    token: str | None = None,
    *,
    timeout: float = 30.0,
    patience: float = 30.0,
    tls: ssl.SSLContext | None = None,
) -> Client:
    """The database that a server at a URL serves. Nothing is sent yet.

    Args:
        url: The URL, as ``http://127.0.0.1:8000``; of a server within another application with the path to it.
        token: The token that the server knows you by; None for none.
        timeout: The most seconds to wait for an answer.
        patience: The most seconds in which what failed is tried again, while the server is busy or out of reach.
        tls: Which certificates are trusted, of a URL with https; None for those that the machine trusts.

    Raises:
        SchemaError: The URL, the token or the seconds are none.

    >>> client = connect("http://127.0.0.1:8000")
    >>> client
    Client('http://127.0.0.1:8000')
    """
    if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable() and token.strip()):
        msg = "the token is no text of printable ASCII characters"
        raise SchemaError(msg)
    for name, seconds in (("timeout", timeout), ("patience", patience)):
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= 86_400:
            msg = f"{name} is {shown(seconds)}; allowed are seconds from 0 to 86,400"
            raise SchemaError(msg)
    if not timeout:
        msg = "timeout is 0, in which no answer comes"
        raise SchemaError(msg)
    return Client(Exchange(read_address(url, tls), token, timeout, patience))


class Client:
    """A database that a server serves; made by `connect`. May be used from several threads.

    Every call is tried again while the server cannot be reached or says that it is busy. `apply` is done once however
    often it is sent, as each request has a number by which the server knows it. `execute` has none: where its answer
    is lost, it is not sent again.

    Args:
        exchange: The server.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._name = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._lock = Lock()

    def tables(self) -> dict[str, TableInfo]:
        """The tables that you may read or change, by name."""
        return read_tables(self._exchange.ask(Ask("GET", ("v1", "tables"))).json())

    def views(self) -> dict[str, ViewInfo]:
        """The views that you may read, by name."""
        return read_views(self._exchange.ask(Ask("GET", ("v1", "views"))).json())

    def rows(self, view: str, *, limit: int | None = None) -> pa.Table:
        """The rows of a view, at one version, which stands in the schema's metadata as ``version``.

        Args:
            view: The view's name.
            limit: The most rows to give.

        Raises:
            AbsentNameError: There is no such view that you may read.
            CapacityError: The view has more rows than the server gives at once.
        """
        return self._rows("views", view, limit)

    def table_rows(self, table: str, *, limit: int | None = None) -> pa.Table:
        """The rows of a table; as `rows`.

        Args:
            table: The table's name.
            limit: The most rows to give.
        """
        return self._rows("tables", table, limit)

    def _rows(self, kind: str, name: str, limit: int | None) -> pa.Table:
        query = {"format": "arrow"} | ({} if limit is None else {"limit": str(limit)})
        return self._read(Ask("GET", ("v1", kind, name, "rows"), query))

    def query(self, sql: str, parameters: Parameters | None = None) -> pa.Table:
        """The answer to a SELECT over tables and views, at one version; as `rows`.

        Args:
            sql: The query.
            parameters: Values for ``?``, or by names for ``:name``. DECIMAL and what JSON does not know go as texts, so
                that they want a cast: ``CAST(? AS DATE)``.

        Raises:
            SqlError: The query is none, or names what is not there.
            CapacityError: The query takes more time, memory or rows than the server gives to a query.
        """
        return self._read(
            Ask("POST", ("v1", "query"), {"format": "arrow"}, _asked(sql, parameters), _JSON_BODY, sql=sql)
        )

    def why(self, view: str, row: Mapping[str, Any], *, limit: int = 100) -> dict[str, Any]:
        """What a row of a view is made of; your token must be one that may read all tables below the view.

        Args:
            view: The view's name.
            row: The row by the names of its columns; of a view with a key those of the key are enough. What JSON does
                not know goes as text.
            limit: The most combinations of rows.

        Returns:
            What `livejoin.database.lineage.found.Why.to_dict` gives, and the ``version``.

        Raises:
            ServerError: There is no such row.
        """
        query = {"get": _values(row), "limit": str(limit)}
        found: dict[str, Any] = self._exchange.ask(Ask("GET", ("v1", "views", view, "why"), query)).json()
        return found

    def why_not(self, view: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Why no row of a view has some values; as `why`.

        Args:
            view: The view's name.
            values: The values by the names of columns.

        Returns:
            What `livejoin.database.lineage.found.WhyNot.to_dict` gives, and the ``version``.
        """
        query = {"get": _values(values)}
        found: dict[str, Any] = self._exchange.ask(Ask("GET", ("v1", "views", view, "why_not"), query)).json()
        return found

    def _read(self, asked: Ask) -> pa.Table:
        found = self._exchange.ask(asked)
        rows, version = read_arrow(found.body), found.headers.get("livejoin-version")
        said = rows.schema.metadata or {}
        return rows if version is None else rows.replace_schema_metadata({**said, b"version": version.encode()})

    @overload
    def apply(
        self,
        changes: str,
        rows: object,
        *,
        on_conflict: OnConflict = ...,
        on_bad_rows: OnBadRows | None = ...,
        request: tuple[str, int] | None = ...,
    ) -> Applied: ...
    @overload
    def apply(
        self,
        changes: Mapping[str, object],
        rows: None = None,
        *,
        on_conflict: OnConflict = ...,
        on_bad_rows: OnBadRows | None = ...,
        request: tuple[str, int] | None = ...,
    ) -> Applied: ...
    def apply(
        self,
        changes: str | Mapping[str, object],
        rows: object = None,
        *,
        on_conflict: OnConflict = "error",
        on_bad_rows: OnBadRows | None = None,
        request: tuple[str, int] | None = None,
    ) -> Applied:
        """Apply one commit, once, however often it must be sent.

        Args:
            changes: A table's name, or a mapping from names to the changes of each, which are one commit.
            rows: The changes of the one table: a list of dicts, or anything with the Arrow stream interface (pyarrow,
                pandas, Polars, DuckDB). ``_change_type`` is ``insert``, ``delete``, ``update_preimage``,
                ``update_postimage`` or ``upsert``; without it every row is inserted.
            on_conflict: What happens to a deletion of what is not there, and to a second row with a key: ``error``,
                ``ignore``, or ``update``, by which the new row takes the other one's place.
            on_bad_rows: What happens to a row that does not fit its table: ``fail`` refuses the commit, ``skip`` leaves
                the row out and counts it in ``bad_rows``, ``dead_letter`` also gives it back in ``dead_letters``; None
                as the database of the server does.
            request: A name of yours and a number of this commit, as ``("till-3", 17)``, for who sends it again in
                another process. Numbers ascend; the server knows the last 1,000 of each name. None for a name and
                numbers of this client.

        Raises:
            ChangeError: A change cannot be applied; nothing was.
            AbsentNameError: There is no such table that you may use.
            ServerError: You may read the table, and not change it.
            UnreachableError: No answer came. Nobody knows whether it was done, but for who gave a request, and sends
                the same one again.

        Cost: Arrow of one table goes as it is. Of several tables each value becomes JSON.
        """
        query = _manner(on_conflict, on_bad_rows)
        parts, kind, body = _commit(changes, rows)
        headers = {"Content-Type": kind, **_numbered(self._request() if request is None else request)}
        return read_applied(self._exchange.ask(Ask("POST", parts, query, body, headers)).json())

    def preview(
        self,
        changes: str | Mapping[str, object],
        rows: object = None,
        *,
        on_conflict: OnConflict = "error",
        on_bad_rows: OnBadRows | None = None,
    ) -> Previewed:
        """What a commit would do, as `livejoin.Database.preview`: it is tried, and nothing is changed.

        Args:
            changes: As for `apply`.
            rows: As for `apply`.
            on_conflict: As for `apply`.
            on_bad_rows: As for `apply`.

        Returns:
            The figures of the commit, what would change in the views, and which assertions would refuse it.

        Raises:
            ChangeError, AbsentNameError, ServerError: As for `apply`.
        """
        query = {"dry_run": "1", **_manner(on_conflict, on_bad_rows)}
        parts, kind, body = _commit(changes, rows)
        return read_previewed(self._exchange.ask(Ask("POST", parts, query, body, {"Content-Type": kind})).json())

    def _request(self) -> tuple[str, int]:
        with self._lock:
            return self._name, next(self._numbers)

    def execute(
        self, sql: str, parameters: Parameters | None = None, *, request: tuple[str, int] | None = None
    ) -> Applied:
        """Run SQL that changes rows, or that declares tables and views, which needs a token of an admin.

        Args:
            sql: One or more statements.
            parameters: Values for ``?``, or by names for ``:name``.
            request: As for `apply`, for one statement that changes rows, or several between ``BEGIN`` and ``COMMIT``:
                it is done once, however often it must be sent.

        Raises:
            SqlError, ChangeError: As `livejoin.Database.execute`.
            UnreachableError: No answer came. If it was sent, nobody knows whether it was done, but for who gave a
                request, and sends the same one again.
        """
        headers = _JSON_BODY if request is None else {**_JSON_BODY, **_numbered(request)}
        body, is_repeatable = _asked(sql, parameters), request is not None
        asked = Ask("POST", ("v1", "execute"), {}, body, headers, is_repeatable=is_repeatable, sql=sql)
        return read_applied(self._exchange.ask(asked).json())

    @overload
    def changes(
        self, view: str, *, shape: Literal["changes"] = "changes", since: str | None = None
    ) -> Following[Update]: ...
    @overload
    def changes(self, view: str, *, shape: Literal["upsert"], since: str | None = None) -> Following[Upserts]: ...
    @overload
    def changes(self, view: str, *, shape: Literal["arrow"], since: str | None = None) -> Following[ArrowUpdate]: ...
    def changes(
        self, view: str, *, shape: Shape = "changes", since: str | None = None
    ) -> Following[Update] | Following[Upserts] | Following[ArrowUpdate]:
        """Follow a view: first all rows, then what changes, without a gap and nothing twice.

        A connection that breaks is made anew. Where the server has not kept what changed meanwhile, a message with
        ``reset`` has all rows again.

        Args:
            view: The view's name.
            shape: ``changes`` for dicts with ``_change_type``; ``upsert`` for rows to write and keys that are gone, of
                a view with a key; ``arrow`` for Arrow tables in the view's types, over a WebSocket.
            since: The ``id`` of a message that you have; what comes behind it is told.

        Returns:
            An iterator, and a context manager that ends it. Its ``close`` also ends a loop in another thread.

        >>> with connect("http://127.0.0.1:8000").changes("totals") as told:  # doctest: +SKIP
        ...     for update in told:
        ...         print(update.version, update.reset, update.changes)
        """
        exchange = self._exchange
        match shape:
            case "changes":
                return Following(exchange, view, following.events("changes", following.update_of), since)
            case "upsert":
                return Following(exchange, view, following.events("upsert", following.upserts_of), since)
            case "arrow":
                return Following(exchange, view, following.arrow, since)
            case _:
                msg = f"shape is {shown(shape)}; allowed are changes, upsert and arrow"
                raise SchemaError(msg)

    def close(self) -> None:
        """Close the connections; loops over `changes` end. Once more changes nothing."""
        self._exchange.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._exchange.address)!r})"


def _manner(on_conflict: OnConflict, on_bad_rows: OnBadRows | None) -> dict[str, str]:
    """The parameters of a request that say what becomes of conflicts and of bad rows, where it is not the usual."""
    conflicts: dict[str, str] = {} if on_conflict == "error" else {"on_conflict": on_conflict}
    return conflicts if on_bad_rows is None else {**conflicts, "on_bad_rows": on_bad_rows}


def _commit(changes: str | Mapping[str, object], rows: object) -> tuple[tuple[str, ...], str, bytes]:
    """The path of a commit, the kind of its body, and the body."""
    if isinstance(changes, str):
        named: Mapping[str, object] = {changes: rows}
    elif rows is not None:
        msg = "give a table's name and its changes, or one mapping from names to the changes of each"
        raise ChangeFormatError(msg)
    else:
        named = changes
    if not named:
        msg = "no table is named; a commit has changes of one at least"
        raise ChangeFormatError(msg)
    if len(named) > 1:
        return ("v1", "commit"), JSON, json_body({table: objects(table, given) for table, given in named.items()})
    ((table, given),) = named.items()
    kind, body = (ARROW, arrow_body(table, given)) if is_arrow(given) else (JSON, json_body(objects(table, given)))
    return ("v1", "tables", table), kind, body


def _values(row: Mapping[str, Any]) -> str:
    """Values by names as JSON."""
    if not isinstance(row, Mapping):
        msg = f"a row is asked for by the names of its columns, as {{'customer': 7}}; found {shown(row)}"
        raise ReadError(msg)
    return json_body(dict(row)).decode()


def _numbered(request: tuple[str, int]) -> dict[str, str]:
    name, number = request
    return {"Livejoin-Client": name, "Livejoin-Number": str(number)}


def _asked(sql: str, parameters: Parameters | None) -> bytes:
    if parameters is None:
        return json_body({"sql": sql})
    return json_body(
        {"sql": sql, "parameters": dict(parameters) if isinstance(parameters, Mapping) else list(parameters)}
    )
