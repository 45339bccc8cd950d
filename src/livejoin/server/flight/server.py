"""A server of Arrow Flight SQL, on an address, until it is told to stop.

Flight has few calls, and Flight SQL says in a message what each is about. A query is asked by GetFlightInfo, which says
its columns, and read by DoGet with the ticket that came. Here the ticket is the statement itself: the server keeps
nothing between two calls, and a client goes on when the server was started anew. What changes something runs once, in
GetFlightInfo or in DoPut, and the ticket says what came of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.flight as fl

from livejoin.database import Database
from livejoin.errors import CapacityError, SchemaError, StorageError
from livejoin.schema.names import backticked
from livejoin.server.access import Access, Open, Who
from livejoin.server.answers import RequestError
from livejoin.server.flight import catalog
from livejoin.server.flight.door import NAME, Door, NoHandshake, who_asks
from livejoin.server.flight.errors import answering
from livejoin.server.flight.ingestion import NO_TRANSACTIONS, ingest, read_rows, refuse_transaction
from livejoin.server.flight.protobuf import Message, pack, unpack, write
from livejoin.server.flight.statements import CHANGED, Prepared, Statements, changes_something, text_of
from livejoin.server.limits import Limits
from livejoin.server.queries import Queries
from livejoin.server.run import is_loopback
from livejoin.sql import places

logger = logging.getLogger("livejoin")

_SQL = "arrow.flight.protocol.sql."
_TICKET = f"{_SQL}TicketStatementQuery"
_BATCH = 65_536  # rows of a batch
_MESSAGE = 4_000_000  # bytes of a batch
_GRACE = 5.0  # seconds in which calls that are under way may end
_SCHEMES = ("grpc", "grpc+tcp", "grpc+tls")
_STATEMENT, _CHANGED = 1, 2  # fields of our ticket


class _Calls(fl.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """The calls of Flight; made and ended by `FlightServer`."""

    def __init__(self, db: Database, limits: Limits, is_stopping: threading.Event, **options: Any) -> None:
        self._db = db
        self._limits = limits
        self._stopping = is_stopping
        self.queries = Queries(limits)
        self._statements = Statements(db, self.queries, limits)
        super().__init__(**options)

    def _is_gone(self, context: Any) -> Callable[[], bool]:
        return lambda: self._stopping.is_set() or bool(context.is_cancelled())

    def _unpacked(self, data: bytes) -> tuple[str, Message]:
        """The name and the message of a command.

        Raises:
            MessageError: The bytes are no command.
            CapacityError: The command has more bytes than a request may have.
        """
        if len(data) > self._limits.body:
            msg = f"the command has more than the {self._limits.body:,} bytes that a request may have"
            raise CapacityError(msg)
        return unpack(data)

    @answering
    def get_flight_info(self, context: Any, descriptor: fl.FlightDescriptor) -> fl.FlightInfo:
        """What a query gives, and the ticket for it; runs what is no query."""
        who = who_asks(context)
        if descriptor.descriptor_type == fl.DescriptorType.PATH:
            return self._info(descriptor, self._statement(context, who, _of_path(descriptor)))
        name, asked = self._unpacked(descriptor.command)
        prepared = self._prepared(name, asked)
        if prepared is not None:
            return self._info(descriptor, self._statement(context, who, prepared))
        return self._info(descriptor, (self._listed(who, name, asked).schema, descriptor.command, -1))

    @staticmethod
    def _info(descriptor: fl.FlightDescriptor, found: tuple[pa.Schema, bytes, int]) -> fl.FlightInfo:
        schema, ticket, rows = found
        return fl.FlightInfo(schema, descriptor, [fl.FlightEndpoint(ticket, [])], rows, -1)

    def _statement(self, context: Any, who: Who, prepared: Prepared) -> tuple[pa.Schema, bytes, int]:
        """The columns that a statement gives, the ticket to read them, and how many rows there are, -1 for unknown."""
        if changes_something(prepared.sql):
            version, changes = self._statements.run(who, prepared, self._is_gone(context))
            return CHANGED, pack(_TICKET, write({1: write({_CHANGED: write({1: version, 2: changes})})})), 1
        schema = self._statements.schema(who, prepared.sql, prepared.only)
        return schema, pack(_TICKET, write({1: write({_STATEMENT: prepared.handle})})), -1

    @answering
    def get_schema(self, context: Any, descriptor: fl.FlightDescriptor) -> fl.SchemaResult:
        """What a query gives; runs nothing."""
        who = who_asks(context)
        if descriptor.descriptor_type == fl.DescriptorType.PATH:
            return fl.SchemaResult(self._schema(who, _of_path(descriptor)))
        name, asked = self._unpacked(descriptor.command)
        prepared = self._prepared(name, asked)
        found = self._listed(who, name, asked).schema if prepared is None else self._schema(who, prepared)
        return fl.SchemaResult(found)

    def _schema(self, who: Who, prepared: Prepared) -> pa.Schema:
        if changes_something(prepared.sql):
            return CHANGED
        return self._statements.schema(who, prepared.sql, prepared.only)

    def _prepared(self, name: str, asked: Message) -> Prepared | None:
        """The statement of a command; None if it is one that lists something."""
        match name.removeprefix(_SQL):
            case "CommandStatementQuery":
                refuse_transaction(asked, 2)
                return Prepared(text_of(asked, 1))
            case "CommandPreparedStatementQuery":
                return Prepared.of(asked.data(1), self._limits)
            case _:
                return None

    def _listed(self, who: Who, name: str, asked: Message) -> pa.Table:
        """The rows that a command lists.

        Raises:
            RequestError: The command is none that is known.
        """
        match name.removeprefix(_SQL):
            case "CommandGetCatalogs":
                return catalog.catalogs()
            case "CommandGetDbSchemas":
                return catalog.schemas(asked)
            case "CommandGetTables":
                return catalog.tables(self._db, who, asked)
            case "CommandGetTableTypes":
                return catalog.table_types()
            case "CommandGetPrimaryKeys":
                return catalog.primary_keys(self._db, who, asked)
            case "CommandGetExportedKeys":
                return catalog.foreign_keys(self._db, who, asked, 1, None)
            case "CommandGetImportedKeys":
                return catalog.foreign_keys(self._db, who, asked, None, 1)
            case "CommandGetCrossReference":
                return catalog.foreign_keys(self._db, who, asked, 1, 4)
            case "CommandGetSqlInfo":
                return catalog.sql_info(asked.numbers(1), self._limits)
            case other:
                raise _unknown("the command", other)

    @answering
    def do_get(self, context: Any, ticket: fl.Ticket) -> fl.FlightDataStream:
        """The rows of a ticket."""
        who = who_asks(context)
        name, asked = self._unpacked(ticket.ticket)
        if name != _TICKET:
            prepared = self._prepared(name, asked)
            rows = self._listed(who, name, asked) if prepared is None else self._rows(context, who, prepared)
        else:
            inner = asked.message(1)
            if inner.has(_CHANGED):
                changed = inner.message(_CHANGED)
                rows = pa.table([[changed.number(1)], [changed.number(2)]], schema=CHANGED)
            else:
                rows = self._rows(context, who, Prepared.of(inner.data(_STATEMENT), self._limits))
        return fl.RecordBatchStream(pa.RecordBatchReader.from_batches(rows.schema, messages(rows)))

    def _rows(self, context: Any, who: Who, prepared: Prepared) -> pa.Table:
        return self._statements.query(who, prepared.sql, prepared.only, self._is_gone(context))

    @answering
    def do_put(self, context: Any, descriptor: fl.FlightDescriptor, reader: Any, writer: Any) -> None:
        """Change rows: a statement, one with rows of values, or rows for a table; or keep values for a query."""
        who = who_asks(context)
        if descriptor.descriptor_type == fl.DescriptorType.PATH:
            msg = "rows are sent with CommandStatementIngest, and not by a path"
            raise RequestError(msg)
        name, asked = self._unpacked(descriptor.command)
        is_gone = self._is_gone(context)
        match name.removeprefix(_SQL):
            case "CommandStatementUpdate":
                refuse_transaction(asked, 2)
                changes = self._run(context, who, Prepared(text_of(asked, 1)))
            case "CommandPreparedStatementUpdate":
                prepared = Prepared.of(asked.data(1), self._limits)
                rows = read_rows(reader, self._limits, is_gone)
                changes = self._run(context, who, Prepared(prepared.sql, rows if rows.num_columns else prepared.rows))
            case "CommandPreparedStatementQuery":
                prepared = Prepared.of(asked.data(1), self._limits)
                bound = Prepared(prepared.sql, read_rows(reader, self._limits, is_gone))
                _tell(writer, write({1: bound.handle}))
                return
            case "CommandStatementIngest":
                changes = ingest(self._db, who, asked, read_rows(reader, self._limits, is_gone))
            case other:
                raise _unknown("the command", other)
        _tell(writer, write({1: changes}))

    def _run(self, context: Any, who: Who, prepared: Prepared) -> int:
        if not changes_something(prepared.sql):
            msg = "the statement changes nothing; ask it as a query"
            raise RequestError(msg)
        return self._statements.run(who, prepared, self._is_gone(context))[1]

    def do_action(self, context: Any, action: fl.Action) -> Iterator[fl.Result]:
        """Prepare a statement, or forget it, for which nothing is to be done."""
        return iter(self._act(context, action))

    @answering
    def _act(self, context: Any, action: fl.Action) -> list[fl.Result]:
        who = who_asks(context)
        match action.type:
            case "CreatePreparedStatement":
                _, asked = self._unpacked(action.body.to_pybytes())
                refuse_transaction(asked, 2)
                found = self._prepare(who, text_of(asked, 1))
                return [fl.Result(pa.py_buffer(pack(f"{_SQL}ActionCreatePreparedStatementResult", found)))]
            case "ClosePreparedStatement":
                return []
            case "BeginTransaction" | "EndTransaction" | "BeginSavepoint" | "EndSavepoint":
                raise RequestError(NO_TRANSACTIONS, HTTPStatus.NOT_IMPLEMENTED)
            case other:
                raise _unknown("the action", other)

    def _prepare(self, who: Who, sql: str) -> bytes:
        """The handle of a statement, its columns, and those of its values.

        What stands in the place of a value decides the types of some queries: the columns of one with such places are
        not said before its values have come.
        """
        wanted = pa.schema([pa.field(name or str(place), pa.string()) for place, name in enumerate(places(sql), 1)])
        gives = None
        if not changes_something(sql) and not wanted:
            gives = self._statements.schema(who, sql, None).serialize().to_pybytes()
        return write({1: Prepared(sql).handle, 2: gives, 3: wanted.serialize().to_pybytes() if wanted else None})

    @answering
    def list_actions(self, context: Any) -> list[fl.ActionType]:
        """The actions."""
        del context
        return [
            fl.ActionType("CreatePreparedStatement", "Prepare a statement: Flight SQL"),
            fl.ActionType("ClosePreparedStatement", "Forget a prepared statement: Flight SQL"),
        ]

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[fl.FlightInfo]:
        """The tables and views, each by its path."""
        del criteria
        return iter(self._flights(context))

    @answering
    def _flights(self, context: Any) -> list[fl.FlightInfo]:
        who = who_asks(context)
        found = []
        for name, _, schema in catalog.listed(self._db, who):
            if who.may_read(name):
                descriptor = fl.FlightDescriptor.for_path(name)
                ticket = pack(_TICKET, write({1: write({_STATEMENT: _of_path(descriptor).handle})}))
                found.append(self._info(descriptor, (schema, ticket, -1)))
        return found


def _tell(writer: Any, answer: bytes) -> None:
    """Answer a client that may have gone, when what it asked for is done."""
    try:
        writer.write(answer)
    except OSError:
        logger.info("a client of Flight went before it was told that its call is done")


def messages(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows in batches of 4 MB at most, or of one row: clients refuse large messages, ADBC those beyond 16 MB."""
    waiting = rows.to_batches(max_chunksize=_BATCH)[::-1]
    while waiting:
        batch = waiting.pop()
        if batch.nbytes <= _MESSAGE or batch.num_rows == 1:
            yield batch
        else:
            half = batch.num_rows // 2
            waiting += [batch.slice(half), batch.slice(0, half)]


def _of_path(descriptor: fl.FlightDescriptor) -> Prepared:
    """The query for all rows of what a path names."""
    if len(descriptor.path) != 1:
        msg = f"the path has {len(descriptor.path)} parts; allowed is one, the name of a view or table"
        raise RequestError(msg)
    return Prepared(f"SELECT * FROM {backticked(descriptor.path[0].decode('utf-8', 'replace'))}")


def _unknown(what: str, name: str) -> RequestError:
    msg = f"{what} {name:.200} is not known here; what is: livejoin docs flight-sql"
    return RequestError(msg, HTTPStatus.NOT_IMPLEMENTED)


class FlightServer:
    """A server of a database over Arrow Flight SQL; a context manager. It answers as soon as it is made.

    >>> import livejoin
    >>> with FlightServer(livejoin.Database()) as server:
    ...     server.location.startswith("grpc://127.0.0.1:")
    True

    Args:
        db: The database; it stays open when the server ends.
        location: The address to listen at, as ``grpc://127.0.0.1:31337``; port 0 is any that is free.
        access: Who may do what. Without tokens it listens on this machine alone.
        limits: The limits of one who asks: ``body``, ``rows``, ``requests``, ``query_seconds``, ``query_memory`` and
            ``queries`` count here.
        certificate: The file of the certificate chain for TLS, and that of its key; the location is
            ``grpc+tls://...`` then.

    Attributes:
        db: As given.

    Raises:
        SchemaError: The location is none, or is not of this machine, and there are no tokens; or it says TLS, and
            there is no certificate, or the other way round.
        StorageError: The port is taken, or a file of the certificate cannot be read.
    """

    def __init__(
        self,
        db: Database,
        location: str = "grpc://127.0.0.1:0",
        *,
        access: Access | None = None,
        limits: Limits | None = None,
        certificate: tuple[str | Path, str | Path] | None = None,
    ) -> None:
        self.db = db
        access, limits = access or Open(), limits or Limits()
        scheme, host = _checked(location, access, certificate is not None)
        try:
            pairs = None if certificate is None else [tuple(Path(one).read_bytes() for one in certificate)]
        except OSError as error:
            msg = f"the certificate cannot be read: {error}"
            raise StorageError(msg) from error
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        try:
            self._calls = _Calls(
                db,
                limits,
                self._stopping,
                location=location,
                auth_handler=NoHandshake(),
                tls_certificates=pairs,
                middleware={NAME: Door(access, limits.requests)},
            )
        except (pa.ArrowException, OSError) as error:
            msg = f"the server cannot listen at {location}: {error}; give another port, or repair that"
            raise StorageError(msg) from error
        self._scheme, self._host = scheme, host

    @property
    def location(self) -> str:
        """The address to ask at."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self._calls.port}"

    def run(self) -> None:
        """Serve in this thread, until Ctrl-C or SIGTERM."""
        try:
            self._calls.serve()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """End it: queries end, and other calls have 5 s to do so. Once more changes nothing."""
        self._stopping.set()
        ending = threading.Thread(target=self._end, name="livejoin-flight-stop", daemon=True)
        ending.start()
        ending.join(_GRACE)
        self._calls.queries.close()

    def _end(self) -> None:
        self._calls.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _checked(location: str, access: Access, is_safe: bool) -> tuple[str, str]:
    """The scheme and the host of a location.

    Raises:
        SchemaError: The location is none, or none to listen at.
    """
    try:
        found = urlsplit(location)
        host, port = found.hostname, found.port
    except ValueError:
        host, port = None, None
    if host is None or port is None or found.scheme not in _SCHEMES:
        msg = f"location is {location!r}; allowed are addresses as grpc://127.0.0.1:31337, or grpc+tls://..."
        raise SchemaError(msg)
    if is_safe != (found.scheme == "grpc+tls"):
        msg = f"location is {location!r}; grpc+tls:// and a certificate stand together"
        raise SchemaError(msg)
    if access.is_open and not is_loopback(host):
        msg = (
            f"host is {host!r}, where others could come in, and there are no tokens; give a file of tokens "
            "(`livejoin token` makes one), or the host 127.0.0.1"
        )
        raise SchemaError(msg)
    return found.scheme, host
