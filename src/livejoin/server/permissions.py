"""What one who asks may name: views and tables, and the statements over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from livejoin.database import Database, View
from livejoin.errors import AbsentNameError, ViolationError
from livejoin.schema import Table
from livejoin.server.access import Who
from livejoin.server.answers import RequestError
from livejoin.shown import meant
from livejoin.sql import RowChanges, names_said, parse_statement, pieces


def view_for(db: Database, name: str, who: Who) -> View:
    """A view that somebody may read.

    Raises:
        AbsentNameError: There is none of this name for them.
    """
    views = db.views
    if name in views and who.may_read(name):
        return views[name]
    raise absent("view", name, [one for one in views if who.may_read(one)])


def table_for(db: Database, name: str, who: Who, writes: bool = False) -> Table:
    """A table that somebody may read, or change.

    Raises:
        AbsentNameError: There is none of this name for them.
        RequestError: The token may not change it, or not read it.
    """
    tables = db.tables
    may = who.may_read(name) or who.may_write(name)
    if name not in tables or not may:
        known = [one for one in tables if who.may_read(one) or who.may_write(one)]
        raise absent("table", name, known)
    if writes and not who.may_write(name):
        msg = f"the token {who.name!r} may read table {name!r}, and not change it"
        raise RequestError(msg, HTTPStatus.FORBIDDEN)
    if not writes and not who.may_read(name):
        msg = f"the token {who.name!r} may change table {name!r}, and not read it"
        raise RequestError(msg, HTTPStatus.FORBIDDEN)
    return tables[name]


def absent(kind: str, name: str, known: list[str]) -> AbsentNameError:
    """That there is nothing of a name that somebody may use."""
    msg = f"there is no {kind} {name!r} that you may use{meant(name, known)}; there are {', '.join(known) or 'none'}"
    return AbsentNameError(msg)


@contextmanager
def violations_told_to(who: Who) -> Iterator[None]:
    """A context in which the rows that violate an assertion are told to those alone who may read it."""
    try:
        yield
    except ViolationError as error:
        raise told_to(who, error) from None


def told_to(who: Who, error: ViolationError) -> ViolationError:
    """A violation as somebody may know it."""
    if who.may_read(error.assertion):
        return error
    msg = f"assertion {error.assertion!r} does not hold; nothing of the commit stands"
    return ViolationError(msg, error.table, assertion=error.assertion, count=error.count)


def refuse_hidden_tables(db: Database, view: View, who: Who) -> None:
    """Refuse what tells rows of the tables below a view, to somebody who may not read all of them.

    Raises:
        RequestError: There is such a table.
    """
    hidden = [name for name in db.tables if view._reads_table(name) and not who.may_read(name)]
    if hidden:
        msg = (
            f"this tells rows of the tables below view {view.name!r}, and the token {who.name!r} may not read all of "
            "them; ask with a token that may"
        )
        raise RequestError(msg, HTTPStatus.FORBIDDEN)


def refuse_but_admin(who: Who, what: str) -> None:
    """Refuse what an admin alone may do.

    Raises:
        RequestError: Who asks is none.
    """
    if not who.is_admin:
        msg = f"{what} needs a token with admin = true; {who.name!r} has none"
        raise RequestError(msg, HTTPStatus.FORBIDDEN)


def refuse_script(db: Database, who: Who, sql: str, parameters: Any) -> None:
    """Refuse statements that somebody may not run.

    Args:
        db: The database.
        who: Who asks.
        sql: The statements, as for `livejoin.Database.execute`.
        parameters: The values of their places.

    Raises:
        RequestError: A statement declares something and they are no admin, changes a table that they may not change,
            or reads what they may not read.
        SqlError: A statement is wrong.
    """
    if who.is_admin:
        return
    for piece in pieces(sql, parameters):
        if piece.begins_transaction or piece.ends_transaction:
            continue
        statement = parse_statement(piece.text)
        if not isinstance(statement, RowChanges):
            refuse_but_admin(who, "a statement that does not change rows")
            continue
        table_for(db, statement.table, who, writes=True)
        queries = [*(part.query for part in statement.parts), *(statement.matches or ())]
        for name in sorted(name for query in queries for name in names_said(query)):
            if not who.may_read(name):
                msg = f"the statement reads {name!r}, which the token {who.name!r} may not"
                raise RequestError(msg, HTTPStatus.FORBIDDEN)
