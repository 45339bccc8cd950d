"""Files of CREATE TABLE statements."""

from __future__ import annotations

from sqlglot import TokenType
from sqlglot.errors import TokenError

from livejoin.errors import SchemaError, SqlError, SqlSyntaxError, UnsupportedQueryError
from livejoin.schema import Catalog
from livejoin.sql.parse.parse import SparkAnsi
from livejoin.sql.parse.source import Source
from livejoin.sql.tables.declare import parse_create_table


def parse_schema(sql: str) -> Catalog:
    """The tables that a text declares: CREATE TABLE statements with semicolons between them.

    Raises:
        SqlError: A statement is another one or is wrong; the position is that in the whole text.
        SchemaError: The text declares no table, or a declaration cannot stand; the message names the line.

    >>> [table.name for table in parse_schema("CREATE TABLE G (src BIGINT); -- and\\nCREATE TABLE H (dst BIGINT);")]
    ['G', 'H']
    """
    catalog = Catalog()
    for begin, end in _statements(sql):
        # Everything before the statement becomes blanks: its positions stay those of the whole text.
        before = "".join(character if character == "\n" else " " for character in sql[:begin])
        try:
            catalog.add(parse_create_table(before + sql[begin:end]))
        except UnsupportedQueryError as error:
            raise UnsupportedQueryError(error.message, sql, error.line, error.column, error.clause) from error
        except SqlError as error:
            raise type(error)(error.message, sql, error.line, error.column) from error
        except SchemaError as error:
            line, _ = Source(sql, ()).position(begin)
            msg = f"line {line} of the schema: {error}"
            raise SchemaError(msg) from error
    if not len(catalog):
        msg = "the schema declares no table; write a CREATE TABLE name (column type, ...) for each table of the query"
        raise SchemaError(msg)
    return catalog


def _statements(sql: str) -> list[tuple[int, int]]:
    """Where each statement begins and ends; a semicolon belongs to none."""
    try:
        tokens = SparkAnsi().tokenize(sql)
    except TokenError as error:
        msg = "the SQL text ends within a string, a quoted name or a comment; close it"
        raise Source(sql, ()).error(SqlSyntaxError, msg, len(sql)) from error
    found: list[tuple[int, int]] = []
    begin: int | None = None
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            begin = token.start if begin is None else begin
        elif begin is not None:
            found.append((begin, token.start))
            begin = None
    return found if begin is None else [*found, (begin, len(sql))]
