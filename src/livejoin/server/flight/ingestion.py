"""Rows that come as a stream of Arrow and become one commit: CommandStatementIngest, and values of statements."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import pyarrow as pa

from livejoin.database import Database
from livejoin.errors import CapacityError
from livejoin.server.access import Who
from livejoin.server.answers import RequestError
from livejoin.server.flight.protobuf import Message
from livejoin.server.limits import Limits
from livejoin.server.permissions import refuse_but_admin, table_for, violations_told_to

_IF_NOT_THERE, _IF_THERE = 1, 2  # fields of TableDefinitionOptions
_CREATE = 1
_FAIL, _APPEND, _REPLACE = 1, 2, 3


def read_rows(reader: Any, limits: Limits, is_gone: Callable[[], bool]) -> pa.Table:
    """All rows of a stream, checked.

    Args:
        reader: The stream of Flight.
        limits: The limits of a request.
        is_gone: Whether the client has gone, which looks as if its stream had ended.

    Raises:
        RequestError: The client went before it said that these are all rows.
        CapacityError: There are more rows or bytes than there may be; what comes behind them is not read.
        ArrowInvalid: The rows are damaged.
    """
    batches, rows, size = [], 0, 0
    for chunk in reader:
        batch = chunk.data
        if batch is None:
            continue
        rows += batch.num_rows
        size += batch.nbytes
        if size > limits.body:
            msg = f"the rows take more than the {limits.body:,} bytes that a request may have; send them in parts"
            raise CapacityError(msg)
        if rows > limits.rows:
            msg = f"the request has more than {limits.rows:,} rows; send them in parts"
            raise CapacityError(msg)
        batch.validate(full=True)
        batches.append(batch)
    if is_gone():
        msg = f"the client went after {rows:,} rows, and before the end of them; nothing was changed"
        raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
    return pa.Table.from_batches(batches, reader.schema)


def ingest(db: Database, who: Who, asked: Message, rows: pa.Table) -> int:
    """Insert rows, as one commit; gives how many changes there were.

    Args:
        db: The database.
        who: Who asks.
        asked: The command: what to do where the table is there or not (1), the table (2), its schema (3) and
            catalog (4), whether it is temporary (5), a transaction (6).
        rows: The rows; with a column ``_change_type`` they are changes, as for `livejoin.Database.apply`.

    Raises:
        RequestError: The table is there, or not, or may not be changed, or something is asked for that is not there.
        LivejoinError: As for `livejoin.Database.apply` and `livejoin.Database.create_table`; nothing has changed.
    """
    name = asked.text(2)
    _refuse_others(asked, name)
    options = asked.message(1)
    if name in db.views:
        msg = f"{name!r} is a view, which takes no rows; send them to a table that it reads"
        raise RequestError(msg, HTTPStatus.CONFLICT)
    if name not in db.tables:
        if options.number(_IF_NOT_THERE) != _CREATE:
            table_for(db, name, who, writes=True)  # says what there is
        return _create(db, who, name, rows)
    table = table_for(db, name, who, writes=True)
    wanted = options.number(_IF_THERE)
    with violations_told_to(who):
        if wanted in (0, _APPEND):
            return db.apply(table.name, rows, coerce="json").changes
        if wanted == _REPLACE and table.static:
            return db.refresh(table.name, rows, coerce="json").changes
    if wanted == _FAIL:
        msg = f"there is a table {table.name!r} already; append to it (mode='append'), or give another name"
        raise RequestError(msg, HTTPStatus.CONFLICT)
    if wanted == _REPLACE:
        msg = (
            f"the rows of table {table.name!r} cannot be replaced, as it is not static; delete those that are to go "
            "(DELETE FROM), then append (mode='append')"
        )
        raise RequestError(msg, HTTPStatus.CONFLICT)
    msg = f"if_exists is {wanted}; allowed are 1 (fail), 2 (append) and 3 (replace)"
    raise RequestError(msg)


def _refuse_others(asked: Message, name: str) -> None:
    if not name:
        msg = "the command names no table"
        raise RequestError(msg)
    if asked.text(3) or asked.text(4):
        msg = "a table here has no schema and no catalog; leave them out"
        raise RequestError(msg)
    if asked.flag(5):
        msg = "there are no temporary tables here; create one that stays, or append to it"
        raise RequestError(msg)
    refuse_transaction(asked, 6)


def refuse_transaction(asked: Message, number: int) -> None:
    """Refuse a command of a transaction.

    Raises:
        RequestError: The field says one.
    """
    if asked.data(number):
        raise RequestError(NO_TRANSACTIONS, HTTPStatus.NOT_IMPLEMENTED)


NO_TRANSACTIONS = (
    "there are no transactions over several calls: each statement is a commit of its own (autocommit=True). Statements "
    "between BEGIN and COMMIT in one text are one commit"
)


def _create(db: Database, who: Who, name: str, rows: pa.Table) -> int:
    refuse_but_admin(who, "creating a table")
    db.create_table(name, rows.schema)
    try:
        return db.apply(name, rows, coerce="json").changes if rows.num_rows else 0
    except BaseException:
        db.drop_table(name)
        raise
