"""Texts of SQL: several statements, transactions, and queries that are asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.statements.asked_once import asked_with_types
from livejoin.database.statements.declaring import declare
from livejoin.database.statements.row_changes import Pending, of_statement
from livejoin.database.transactions import transaction
from livejoin.database.transactions.requests import Numbered
from livejoin.errors import ChangeError, SqlError, UnsupportedQueryError
from livejoin.schema import SqlType
from livejoin.sql import (
    CreateAssertion,
    CreateView,
    Piece,
    RefreshTable,
    RowChanges,
    Statement,
    parse_statement,
    pieces,
)


def run_script(
    contents: Contents, sql: str, parameters: object, allow_product: bool, request: Numbered | None = None
) -> Commit | None:
    """Run the statements of a text, one after the other; as `livejoin.Database.execute`.

    Args:
        contents: The database's contents.
        sql: The text.
        parameters: The values of ``?`` or ``:name``; None for none.
        allow_product: Whether views may have conditions over tables that no equality connects.
        request: The request that the text is, which must be one commit then; None if it is none of a client.

    Returns:
        The last commit; None if no statement changed rows.
    """
    found: Commit | None = None
    pending: Pending | None = None
    given = pieces(sql, parameters) or [Piece(sql, sql)]
    notes = transaction.NO_NOTES if request is None else {"request": request.noted(0)}
    if request is not None:
        _check_is_one_commit(given)
    for piece in given:
        if piece.begins_transaction:
            pending = _begun(pending)
        elif piece.ends_transaction:
            changes, pending = _ended(pending), None
            found = _committed(contents, changes, notes) if not piece.takes_back else found
        else:
            with _in_script(piece):
                statement = _statement(contents, piece.text)
            with _in_script(piece, statement):
                found = _run(contents, statement, pending, allow_product, notes) or found
    if pending is not None:
        msg = (
            "BEGIN without COMMIT, so that nothing behind the BEGIN was applied: no transaction stays open from one "
            "call to the next. Give all of it in one text, as 'BEGIN; INSERT ...; COMMIT', or all changes to apply, "
            "which is one commit"
        )
        raise UnsupportedQueryError(msg, clause="BEGIN")
    return found


def _statement(contents: Contents, text: str) -> Statement:
    """The statement of a text.

    Raises:
        SqlError: The text is none; of a SELECT, which is none, first what is wrong with it itself.
    """
    try:
        return parse_statement(text)
    except UnsupportedQueryError as error:
        if error.clause == "SELECT":
            contents.bind(text, allow_product=True)
        raise


def _check_is_one_commit(given: Sequence[Piece]) -> None:
    """Refuse a text that would be several commits, or none, where it has one number.

    Raises:
        UnsupportedQueryError: The text is one of these.
    """
    first, last = given[0], given[-1]
    is_framed = len(given) > 2 and first.begins_transaction and last.ends_transaction and not last.takes_back
    inner = given[1:-1] if is_framed else given
    if (is_framed or len(inner) == 1) and not any(
        piece.begins_transaction or piece.ends_transaction for piece in inner
    ):
        statements = []
        for piece in inner:
            with _in_script(piece):
                statements.append(parse_statement(piece.text))
        if all(isinstance(statement, RowChanges) for statement in statements):
            return
    raise refuse_many_commits()


def refuse_many_commits() -> UnsupportedQueryError:
    """That a text with the number of a request is not one commit."""
    msg = (
        "a request with a number is one commit: one INSERT, UPDATE, DELETE or MERGE INTO, or several between BEGIN and "
        "COMMIT; send other statements without a number"
    )
    return UnsupportedQueryError(msg, clause="request")


def _run(
    contents: Contents,
    statement: Statement,
    pending: Pending | None,
    allow_product: bool,
    notes: Mapping[str, Any],
) -> Commit | None:
    """Run one statement; its commit, if it made one. Within a transaction its changes are added to those that wait."""
    if isinstance(statement, RowChanges):
        changes = pending or Pending()
        changes.add(contents, statement)
        return _committed(contents, changes, notes) if pending is None else None
    if isinstance(statement, RefreshTable):
        msg = "REFRESH TABLE stands alone, with its rows: db.execute('REFRESH TABLE t', rows)"
        raise UnsupportedQueryError(msg, clause="REFRESH TABLE")
    if pending is not None:
        msg = "only INSERT, UPDATE, DELETE and MERGE INTO stand between BEGIN and COMMIT"
        raise UnsupportedQueryError(msg, clause="BEGIN")
    return declare(contents, statement, allow_product)


@contextmanager
def _in_script(piece: Piece, statement: Statement | None = None) -> Iterator[None]:
    """A context whose errors are said of the script, and not of the statement or of a view's query alone."""
    try:
        yield
    except SqlError as error:
        if isinstance(statement, (CreateView, CreateAssertion)):
            piece.put_in_script(error, statement.sql, statement.begins)
        else:
            piece.put_in_script(error)
        raise


def ask(contents: Contents, sql: str, parameters: object) -> tuple[pa.Table, tuple[SqlType, ...]]:
    """The result of one query, as `livejoin.Database.sql`, and the types of its columns."""
    found = pieces(sql, parameters)
    if len(found) > 1:
        msg = f"found {len(found)} statements; sql answers one query, and execute runs several statements"
        raise UnsupportedQueryError(msg, clause=";")
    piece = found[0] if found else Piece(sql, sql)
    with _in_script(piece):
        return asked_with_types(contents, piece.text)


def _begun(pending: Pending | None) -> Pending:
    if pending is not None:
        msg = "BEGIN within a transaction; COMMIT it first"
        raise UnsupportedQueryError(msg, clause="BEGIN")
    return Pending()


def _ended(pending: Pending | None) -> Pending:
    if pending is None:
        msg = "COMMIT and ROLLBACK stand behind a BEGIN in the same text"
        raise UnsupportedQueryError(msg, clause="COMMIT")
    return pending


def _committed(contents: Contents, changes: Pending, notes: Mapping[str, Any]) -> Commit:
    given = changes.given()
    try:
        return transaction.commit(contents, transaction.read(contents, given, False, "error"), "error", notes)
    except ChangeError as error:
        raise of_statement(contents, error, given) from error.__cause__
