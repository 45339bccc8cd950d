"""The statements that a database runs: those that declare something, and those that change rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import TokenType, exp

from livejoin.errors import SqlSyntaxError
from livejoin.schema import Table
from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.other_dialects import of_statement
from livejoin.sql.parse.parse import parse, tokenized
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.tables.alter import AlterTable, alter_table, is_alter
from livejoin.sql.tables.alter_columns import AlterColumns
from livejoin.sql.tables.assertion import CreateAssertion, DropAssertion, is_assertion, read_assertion
from livejoin.sql.tables.declare import declare, table_name
from livejoin.sql.tables.row_changes import RowChanges, changes_rows, read_row_changes

_ALLOWED = (
    "Allowed are CREATE and DROP of TABLE, VIEW and ASSERTION, ALTER TABLE, REFRESH TABLE, INSERT, UPDATE, DELETE and "
    "MERGE INTO"
)


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE [IF NOT EXISTS] name (column type, ...)."""

    table: Table
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateView:
    """CREATE [OR REPLACE] [MATERIALIZED] VIEW [IF NOT EXISTS] name AS SELECT ...

    Args:
        name: The view's name.
        sql: The text of the query, not yet bound.
        if_not_exists: Whether it has IF NOT EXISTS.
        replace: Whether it has OR REPLACE.
        begins: Where in the statement the query begins.
    """

    name: str
    sql: str
    if_not_exists: bool = False
    replace: bool = False
    begins: int = field(default=0, compare=False)


@dataclass(frozen=True)
class DropTable:
    """DROP TABLE [IF EXISTS] name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DropView:
    """DROP VIEW [IF EXISTS] name [CASCADE | RESTRICT]; with ``cascade`` its readers are dropped too."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class RefreshTable:
    """REFRESH TABLE name."""

    name: str


Declaration = (
    CreateTable | CreateView | CreateAssertion | DropTable | DropView | DropAssertion | AlterTable | AlterColumns
)
"""A statement that has no data with it."""
Statement = Declaration | RefreshTable | RowChanges


@within_depth
def parse_statement(sql: str) -> Statement:
    """The statement of a SQL text.

    Raises:
        SqlSyntaxError: The text does not parse.
        SqlTypeError: A column has a type that livejoin does not support.
        UnknownNameError: A name is qualified, or a primary key names no column.
        UnsupportedQueryError: Another statement, a clause that is not supported, or a query that is nested too deeply.
        SchemaError: The names of a table are not allowed.

    >>> parse_statement("DROP VIEW IF EXISTS hop3")
    DropView(name='hop3', if_exists=True, cascade=False)
    >>> parse_statement("CREATE VIEW v AS SELECT src FROM G").sql
    'SELECT src FROM G'
    """
    text = tokenized(sql)
    if changes_rows(text):
        return read_row_changes(text)
    if is_assertion(text):
        return read_assertion(text)
    tree, source = parse(sql)
    match tree:
        case exp.Create() if tree.kind == "TABLE":
            return CreateTable(declare(tree, source), bool(tree.args.get("exists")))
        case exp.Create() if tree.kind == "VIEW":
            return _create_view(tree, source)
        case exp.Drop() if tree.kind in ("TABLE", "VIEW"):
            return _drop(tree, source)
        case exp.Refresh() if tree.args["kind"] == "TABLE" and isinstance(tree.this, exp.Table):
            return RefreshTable(table_name(tree.this, source))
        case _ if is_alter(tree):
            return alter_table(tree, source)
        case exp.Query():
            msg = (
                "a SELECT changes nothing, and execute runs what changes something; `sql` (/v1/query of a server) "
                "answers it once, and CREATE VIEW name AS ... keeps its rows live"
            )
            raise source.unsupported("SELECT", msg, source.tokens[0].start)
        case _:
            kind = tree.args.get("kind") or _kind_of_create(source)
            clause = " ".join([source.tokens[0].text.upper(), kind if isinstance(kind, str) else ""]).strip()
            msg = f"{clause} is not supported{of_statement(clause)}. {_ALLOWED}"
            raise source.unsupported(clause, msg, source.tokens[0].start)


def _kind_of_create(source: Source) -> str:
    """The word of CREATE or DROP that says of what, where it is none that is known; empty in another statement."""
    words = [token.text.upper() for token in source.tokens[:4]]
    if words[:1] not in (["CREATE"], ["DROP"]):
        return ""
    return next((word for word in words[1:] if word not in ("OR", "REPLACE")), "")


def _create_view(create: exp.Create, source: Source) -> CreateView:
    start = source.tokens[0].start
    allowed = "CREATE [OR REPLACE] [MATERIALIZED] VIEW name AS SELECT ..."
    if (properties := create.args.get("properties")) is not None:  # MATERIALIZED is what every view is
        others = [one for one in properties.expressions if not isinstance(one, exp.MaterializedProperty)]
        create.set("properties", exp.Properties(expressions=others) if others else None)
    _refuse_options(create, {"this", "kind", "exists", "expression", "replace"}, allowed, source)
    if create.args.get("replace") and create.args.get("exists"):
        msg = "OR REPLACE and IF NOT EXISTS contradict each other; give one of them"
        raise source.unsupported("IF NOT EXISTS", msg, source.word("IF", start, default=start))
    if isinstance(create.this, exp.Schema):
        msg = "a list of column names is not supported; name the columns in SELECT with AS"
        raise source.unsupported("CREATE VIEW", msg, offset_of(create.this.expressions[0], start))
    name, named = table_name(create.this, source), offset_of(create.this, start)
    behind = next((token for token in source.tokens if token.start > named), None)
    if behind is None or behind.token_type != TokenType.ALIAS:
        found = "the text ends" if behind is None else f"found {behind.text!r:.80}"
        msg = f"{found} where AS and a query are expected: CREATE VIEW name AS SELECT ..."
        raise source.error(SqlSyntaxError, msg, len(source.sql) if behind is None else behind.start)
    body = source.sql[behind.end + 1 :]
    query = body.strip().rstrip(";").rstrip()
    begins = behind.end + 1 + len(body) - len(body.lstrip())
    return CreateView(name, query, bool(create.args.get("exists")), bool(create.args.get("replace")), begins)


def _drop(drop: exp.Drop, source: Source) -> DropTable | DropView:
    known, allowed = {"this", "tables", "kind", "exists"}, f"DROP {drop.kind} [IF EXISTS] name"
    if drop.kind == "VIEW":
        known, allowed = known | {"cascade", "restrict", "materialized"}, f"{allowed} [CASCADE | RESTRICT]"
    _refuse_options(drop, known, allowed, source)
    tables = drop.args.get("tables") or [drop.this]
    if len(tables) > 1:
        msg = f"DROP {drop.kind} of several names is not supported; drop them one at a time"
        raise source.unsupported("DROP", msg, offset_of(tables[1], source.tokens[0].start))
    name, if_exists = table_name(tables[0], source), bool(drop.args.get("exists"))
    if drop.kind == "TABLE":
        return DropTable(name, if_exists)
    return DropView(name, if_exists, bool(drop.args.get("cascade")))


def _refuse_options(tree: exp.Expr, known: set[str], allowed: str, source: Source) -> None:
    for name, value in tree.args.items():
        if value and name not in known:
            clause = "OR REPLACE" if name == "replace" else name.strip("_").upper()
            if isinstance(value, exp.Properties):
                clause = shown(value.expressions[0]).strip()
            start = source.tokens[0].start
            at = source.word(clause.split()[-1], start, default=start)
            raise source.unsupported(clause, f"{clause} is not supported; allowed is {allowed}", at)
