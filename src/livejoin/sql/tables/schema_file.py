"""Files of CREATE TABLE and CREATE VIEW statements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import TokenType
from sqlglot.errors import TokenError

from livejoin.catalog import Catalog
from livejoin.errors import SchemaError, SqlError, SqlSyntaxError, UnsupportedQueryError
from livejoin.query.bound_query import Query
from livejoin.sql.bind.views import bind_view
from livejoin.sql.parse.parse import SparkAnsi
from livejoin.sql.parse.source import Source
from livejoin.sql.tables.declare import parse_create_table
from livejoin.sql.tables.statement import CreateView, parse_statement

_VIEW = re.compile(r"create\s+(materialized\s+)?view\b", re.IGNORECASE)


@dataclass(frozen=True)
class SchemaText:
    """The declarations of a text.

    Args:
        catalog: The tables.
        views: The views by their names in lower case, in order.
    """

    catalog: Catalog
    views: Mapping[str, Query]


def parse_schema(sql: str) -> Catalog:
    """The tables of a text; raises as `parse_schema_text`.

    >>> [table.name for table in parse_schema("CREATE TABLE G (src BIGINT); -- and\\nCREATE TABLE H (dst BIGINT);")]
    ['G', 'H']
    """
    return parse_schema_text(sql).catalog


def parse_schema_text(sql: str, allow_product: bool = False) -> SchemaText:
    """The tables and views of a text: CREATE TABLE and CREATE VIEW statements, separated by semicolons.

    A view may read earlier tables and views.

    Args:
        sql: The text.
        allow_product: As for `livejoin.sql.bind_query`.

    Raises:
        SqlError: A statement has an error or is of another kind; the position is that in the whole text.
        SchemaError: The text declares no table, or a declaration is refused; the message names the line.

    >>> text = (
    ...     "CREATE TABLE G (src BIGINT); CREATE VIEW v AS SELECT src + 1 AS n FROM G; CREATE VIEW w AS SELECT n FROM v"
    ... )
    >>> [(name, view.reads) for name, view in parse_schema_text(text).views.items()]
    [('v', ()), ('w', ('v',))]
    """
    catalog, views = Catalog(), dict[str, Query]()
    for begin, end in _statements(sql):
        try:
            if _VIEW.match(sql, begin, end):
                _add_view(sql, begin, end, catalog, views, allow_product)
            else:
                table = parse_create_table(_from(sql, begin, end))
                if table.name.lower() in views:
                    msg = f"the name {table.name!r} is taken by a view; give the table another one"
                    raise SchemaError(msg)
                catalog.add(table)
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
    return SchemaText(catalog, views)


def _add_view(sql: str, begin: int, end: int, catalog: Catalog, views: dict[str, Query], allow_product: bool) -> None:
    statement = parse_statement(_from(sql, begin, end))
    assert isinstance(statement, CreateView)
    if statement.if_not_exists and statement.name.lower() in views:
        return
    text = _from(sql, statement.begins, end)
    query = bind_view(statement.name, text, catalog, views, {statement.name: text}, allow_product)
    views[statement.name.lower()] = replace(query, sql=statement.sql)


def _from(sql: str, begin: int, end: int) -> str:
    """A part of a text after blanks, so that positions are those of the whole text."""
    return "".join(character if character == "\n" else " " for character in sql[:begin]) + sql[begin:end]


def _statements(sql: str) -> list[tuple[int, int]]:
    """The begin and end of each statement, without the semicolon."""
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
