"""Errors of INSERT, UPDATE, DELETE and MERGE INTO, at the place in the statement that the user wrote.

The queries that say which rows change are made of pieces of the statement, and an error in one of them names a position
of the query. So each piece has a comment before it there, which says where it stands in the statement. Law: the error
that a user sees shows the statement, and its caret stands in the piece that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livejoin.errors import SqlError, UnsupportedQueryError
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import Source

_MARK = re.compile(r"/\*livejoin:(\d+)-(\d+)\*/")
_QUERIES = ("SELECT", "WITH", "VALUES")


def marked(text: str, offset: int) -> str:
    """A piece of a statement behind a comment that says from where to where it stands.

    >>> marked("a + b", 17)
    '/*livejoin:17-22*/a + b'
    """
    return f"/*livejoin:{offset}-{offset + len(text)}*/{text}"


def at_its_place(error: SqlError, source: Source, queries: Sequence[str]) -> SqlError:
    """An error of a query, as one of the statement that queries are made of.

    Args:
        error: The error, with the text of a query.
        source: The statement.
        queries: The queries, with their marks.

    >>> from livejoin.errors import UnknownNameError
    >>> query = f"SELECT {marked('a + b', 17)} AS x FROM t"
    >>> error = UnknownNameError("no column 'b'", query, 1, query.index("b ") + 1)
    >>> print(at_its_place(error, Source("UPDATE t SET a = a + b", ()), [query]))
    no column 'b'
      at line 1, column 22:
        UPDATE t SET a = a + b
                             ^
    """
    if not error.line or error.sql == source.sql:
        return error
    pieces = {(int(mark[1]), int(mark[2])) for query in queries for mark in _MARK.finditer(query)}
    for begin, end in sorted(pieces):
        wrong = _syntax_error(source, begin, source.sql[begin:end])
        if wrong is not None:
            return wrong
    return _moved(error, source, _offset(error, source))


def _syntax_error(source: Source, offset: int, text: str) -> SqlError | None:
    """The error of an expression that does not parse by itself, at its place; None if it does.

    It is parsed behind blanks, so that positions are those of the statement, also those that messages name.
    """
    if text.lstrip("( ").upper().startswith(_QUERIES):
        return None  # a query, whose errors are found with it
    blanks = "".join(one if one in "\r\n" else " " for one in source.sql[:offset])
    try:
        parse(f"SELECT{blanks[len('SELECT') :]}{text}")
    except SqlError as error:
        if offset + len(text) < len(source.sql):
            error.message = error.message.replace("the text ends", "the expression ends", 1)
        return _moved(error, source, Source(error.sql, ()).offset(error.line, error.column))
    return None


def _moved(error: SqlError, source: Source, offset: int) -> SqlError:
    position = source.position(offset)
    if isinstance(error, UnsupportedQueryError):
        return UnsupportedQueryError(error.message, source.sql, *position, clause=error.clause)
    return type(error)(error.message, source.sql, *position)


def _offset(error: SqlError, source: Source) -> int:
    """Where in the statement stands what an error stands at in a query; the beginning if the query alone has it."""
    at = Source(error.sql, ()).offset(error.line, error.column)
    before = [mark for mark in _MARK.finditer(error.sql) if mark.end() <= at]
    if before:
        begin, end = int(before[-1][1]), int(before[-1][2])
        if begin + at - before[-1].end() <= end:
            return begin + at - before[-1].end()
    if error.sql[at : at + 1] == "`":  # a name, which is in backticks in the query alone
        name = error.sql[at + 1 :].partition("`")[0]
        return next((token.start for token in source.tokens if token.text == name), 0)
    return 0
