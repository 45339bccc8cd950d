"""Table declarations: CREATE TABLE and lists of columns.

A declaration has names, types, NOT NULL, DEFAULT, GENERATED, CHECK, PRIMARY KEY, UNIQUE, FOREIGN KEY and a few table
properties. Everything else is refused: a constraint that is parsed but not enforced would be a broken promise.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import TokenType, exp

from livejoin.errors import SchemaError, SqlError, SqlTypeError, UnknownNameError, UnsupportedQueryError
from livejoin.schema import NOTHING_SAID, Column, SqlType, Table, TableSettings
from livejoin.sql.parse.column_types import ALLOWED_TYPES, declared_type, written_type
from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.other_dialects import CONSTRAINTS
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.watermark import WATERMARK, WatermarkClause
from livejoin.sql.tables.checks import declared_checks, is_check
from livejoin.sql.tables.expression_text import expression_text
from livejoin.sql.tables.keys import ALLOWED, declared_keys, is_foreign, is_unique
from livejoin.sql.tables.table_properties import is_table_property, table_settings
from livejoin.sql.tables.window_range import parse_range

# constraints that are kept as they are written
_WRITTEN = (exp.DefaultColumnConstraint, exp.CheckColumnConstraint, exp.ComputedColumnConstraint)
_OF_LENGTH = (exp.DType.VARCHAR, exp.DType.CHAR)


def parse_create_table(sql: str) -> Table:
    """The table of a CREATE TABLE.

    Raises:
        SqlSyntaxError: The text does not parse.
        SqlTypeError: A type that livejoin does not support.
        UnsupportedQueryError: Another statement, or a clause that is not supported.
        SchemaError: Names that are not allowed.

    >>> str(parse_create_table("CREATE TABLE G (src BIGINT, price DECIMAL(10, 2) NOT NULL)").columns[1])
    'price DECIMAL(10, 2) NOT NULL'
    """
    return declare(*_create_table(sql))


@within_depth
def _create_table(sql: str) -> tuple[exp.Create, Source]:
    tree, source = parse(sql)
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE":
        clause = source.tokens[0].text.upper()
        msg = f"found {clause}; allowed is CREATE TABLE name (column type, ...)"
        raise source.unsupported(clause, msg, source.tokens[0].start)
    return tree, source


def parse_columns(name: str, columns: str, settings: TableSettings = NOTHING_SAID) -> Table:
    """The table with a name and a list of columns, for example ``"src BIGINT, dst BIGINT"``.

    Positions in errors are those in ``columns``. Raises as `parse_create_table`.

    >>> parse_columns("G", "src BIGINT PRIMARY KEY, dst BIGINT", TableSettings(window_rows=10)).primary_key
    (0,)
    """
    try:
        return declare(*_create_table(f"CREATE TABLE t (\n{columns}\n)"), name, settings)
    except UnsupportedQueryError as error:
        raise UnsupportedQueryError(
            error.message, columns, max(error.line - 1, 0), error.column, error.clause
        ) from error
    except SqlError as error:
        raise type(error)(error.message, columns, max(error.line - 1, 0), error.column) from error


def declare(
    create: exp.Create, source: Source, name: str | None = None, settings: TableSettings | None = None
) -> Table:
    """The table of a parsed CREATE TABLE, under another name, with other settings if some are given.

    Raises as `parse_create_table`.
    """
    start = source.tokens[0].start
    schema = create.this
    if create.args.get("expression") is not None or not isinstance(schema, exp.Schema) or not schema.expressions:
        msg = "CREATE TABLE needs a list of columns: CREATE TABLE name (column type, ...)"
        raise source.unsupported("CREATE TABLE", msg, source.find({TokenType.ALIAS}, default=start))
    _refuse_options(create, source)
    said = _with_watermark(create, table_settings(create, source) if settings is None else settings, source)
    columns = [
        declared_column(part, source, offset_of(part, 0))
        for part in schema.expressions
        if isinstance(part, exp.ColumnDef)
    ]
    keys = declared_keys([part for part in schema.expressions if not is_check(part)], columns, source)
    table = name or table_name(schema.this, source)
    checks = declared_checks(schema.expressions, columns, source)
    declared = Table(table, tuple(columns), keys.primary, keys.foreign, keys.unique, said, checks)
    required = zip(columns, declared.required, strict=True)
    return replace(declared, columns=tuple(replace(column, nullable=not never) for column, never in required))


def _with_watermark(create: exp.Create, said: TableSettings, source: Source) -> TableSettings:
    """Settings with what WATERMARK FOR says.

    Raises:
        SqlTypeError: The delay is no interval, or the settings have a watermark too.
    """
    clause: WatermarkClause | None = create.meta.get(WATERMARK)
    if clause is None:
        return said
    if said.watermark is not None:
        msg = "the watermark is said twice, by WATERMARK FOR and as an option; leave one out"
        raise source.error(SqlTypeError, msg, clause.offset)
    found = parse_range(f"`{clause.column}` {clause.delay or '0 seconds'}")
    if found is None or isinstance(found[1], int):
        msg = (
            f"the delay of the watermark is {clause.delay!r}; allowed is an interval of units from WEEK to "
            "MICROSECOND, as INTERVAL '10 minutes'"
        )
        raise source.error(SqlTypeError, msg, clause.offset)
    return replace(said, watermark=found)


def table_name(table: exp.Expr, source: Source) -> str:
    """The plain name of a table or view.

    Raises:
        UnknownNameError: The name is qualified.
    """
    if not isinstance(table, exp.Table) or len(table.parts) != 1:
        msg = f"{shown(table)}: a name with a database is not known here; allowed is a plain name"
        raise source.error(UnknownNameError, msg, offset_of(table, source.tokens[0].start))
    return table.name


def _refuse_options(create: exp.Create, source: Source) -> None:
    properties = create.args.get("properties")
    parts = [part for part in (properties.expressions if properties else ()) if not is_table_property(part)]
    known = {"this", "kind", "exists", "properties"}
    options = (name.strip("_").upper() for name, value in create.args.items() if value and name not in known)
    for clause in (*(shown(part).strip() for part in parts), *options):
        msg = (
            f"{clause} is not supported; allowed is "
            "CREATE TABLE [IF NOT EXISTS] name (column type, ...) [TBLPROPERTIES (...)]"
        )
        raise source.unsupported(clause, msg, source.clause(clause, source.tokens[0].start))


def declared_column(definition: exp.ColumnDef, source: Source, offset: int) -> Column:
    """The column of a definition, which begins at an offset.

    Raises:
        SqlTypeError: A type that livejoin does not support.
        UnsupportedQueryError: A constraint that is not supported.
    """
    if not isinstance(definition.this, exp.Identifier):
        msg = f"column name {definition.name!r} is a string; names are quoted with backticks: `{definition.name}`"
        raise source.unsupported("column name", msg, offset)
    for constraint in definition.args.get("constraints") or ():
        kind = constraint.args["kind"]
        plain = isinstance(kind, (exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint, *_WRITTEN))
        if not plain and not is_unique(kind) and not is_foreign(kind):
            clause = shown(kind)
            at = source.clause(clause, offset)
            instead = CONSTRAINTS.get(kind.__class__.__name__)
            said = f"{clause} in column {definition.name!r}{f'; {instead}' if instead else ''}: {ALLOWED}"
            raise source.unsupported(clause, said, at)
    not_null = _constraint(definition, exp.NotNullColumnConstraint)
    nullable = not_null is None or bool(not_null.args.get("allow_null"))
    type = _type(definition, source, offset)
    default = _constraint(definition, exp.DefaultColumnConstraint)
    computed = _constraint(definition, exp.ComputedColumnConstraint)
    return Column(
        *(definition.name, type, nullable, _length(definition), _is_uuid(definition), _is_char(definition)),
        default=None if default is None else expression_text(default.this, source, offset),
        generated=None if computed is None else expression_text(computed.this, source, offset),
    )


def _constraint(definition: exp.ColumnDef, kind: type[exp.Expr]) -> exp.Expr | None:
    found = (constraint.args["kind"] for constraint in definition.args.get("constraints") or ())
    return next((constraint for constraint in found if isinstance(constraint, kind)), None)


def _length(definition: exp.ColumnDef) -> int:
    """The number in VARCHAR(n) and CHAR(n); 0 for other types."""
    kind = definition.args.get("kind")
    if kind is None or kind.this not in _OF_LENGTH or len(kind.expressions) != 1:
        return 0
    written: str = kind.expressions[0].name
    return int(written) if written.isdigit() else 0


def _is_char(definition: exp.ColumnDef) -> bool:
    kind = definition.args.get("kind")
    return kind is not None and kind.this == exp.DType.CHAR


def _is_uuid(definition: exp.ColumnDef) -> bool:
    kind = definition.args.get("kind")
    return kind is not None and kind.this == exp.DType.UUID and not kind.expressions


def _type(definition: exp.ColumnDef, source: Source, offset: int) -> SqlType:
    kind = definition.args.get("kind")
    parameters = [int(p.name) for p in kind.expressions if p.name.isdigit()] if kind is not None else []
    try:
        is_text = _length(definition) or _is_uuid(definition)
        found = None if kind is None else SqlType("string") if is_text else declared_type(kind)
    except SchemaError as error:
        raise source.error(SqlTypeError, f"column {definition.name!r}: {error}", offset) from error
    if found is not None:
        return found
    written = "" if kind is None else written_type(offset, source)
    remedy = ""
    if kind is not None and kind.this in _OF_LENGTH:
        remedy = f"; {kind.this.value} has a length of at least 1"
    elif parameters:
        remedy = "; leave the number out"
    what = f"the type {written}" if written else "no type"
    msg = f"column {definition.name!r} has {what}; allowed are {ALLOWED_TYPES}{remedy}"
    raise source.error(SqlTypeError, msg, offset)
