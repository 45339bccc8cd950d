"""Texts of SQL: several statements, transactions, and queries that are asked once."""

from __future__ import annotations

import pyarrow as pa

from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.statements.asked_once import asked
from livejoin.database.statements.declaring import declare
from livejoin.database.statements.row_changes import Pending
from livejoin.database.transactions import transaction
from livejoin.errors import UnsupportedQueryError
from livejoin.sql import RefreshTable, RowChanges, parse_statement, statements


def run_script(contents: Contents, sql: str, parameters: object, allow_product: bool) -> Commit | None:
    """Run the statements of a text, one after the other; as `livejoin.Database.execute`.

    Args:
        contents: The database's contents.
        sql: The text.
        parameters: The values of ``?`` or ``:name``; None for none.
        allow_product: Whether views may have conditions over tables that no equality connects.

    Returns:
        The last commit; None if no statement changed rows.
    """
    found: Commit | None = None
    pending: Pending | None = None
    for text in statements(sql, parameters) or [sql]:
        word = " ".join(text.upper().split())
        if word in _BEGINS:
            pending = _begun(pending)
        elif word in _ENDS:
            changes, pending = _ended(pending), None
            found = _committed(contents, changes) if word != "ROLLBACK" else found
        else:
            statement = parse_statement(text)
            if isinstance(statement, RowChanges):
                changes = pending or Pending()
                changes.add(contents, statement)
                found = _committed(contents, changes) if pending is None else found
            elif isinstance(statement, RefreshTable):
                msg = "REFRESH TABLE stands alone, with its rows: db.execute('REFRESH TABLE t', rows)"
                raise UnsupportedQueryError(msg, clause="REFRESH TABLE")
            elif pending is not None:
                msg = "only INSERT, UPDATE, DELETE and MERGE INTO stand between BEGIN and COMMIT"
                raise UnsupportedQueryError(msg, clause="BEGIN")
            else:
                found = declare(contents, statement, allow_product) or found
    if pending is not None:
        msg = "BEGIN without COMMIT: give both in one text, or all changes to apply, which is one commit"
        raise UnsupportedQueryError(msg, clause="BEGIN")
    return found


def ask(contents: Contents, sql: str, parameters: object) -> pa.Table:
    """The result of one query; as `livejoin.Database.sql`."""
    texts = statements(sql, parameters)
    if len(texts) > 1:
        msg = f"found {len(texts)} statements; sql answers one query, and execute runs several statements"
        raise UnsupportedQueryError(msg, clause=";")
    return asked(contents, texts[0] if texts else sql)


_BEGINS = ("BEGIN", "BEGIN TRANSACTION", "START TRANSACTION")
_ENDS = ("COMMIT", "END", "ROLLBACK")


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


def _committed(contents: Contents, changes: Pending) -> Commit:
    batches = transaction.read(contents, changes.given(), False, "error")
    return transaction.commit(contents, batches, "error")
