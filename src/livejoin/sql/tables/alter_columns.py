"""ALTER TABLE: columns come, go, and get other names, wider types and defaults; conditions come and go.

ALTER TABLE t ADD COLUMN c INT DEFAULT 0         ALTER TABLE t DROP COLUMN c
ALTER TABLE t RENAME COLUMN a TO b               ALTER TABLE t ALTER COLUMN c TYPE BIGINT
ALTER TABLE t ALTER COLUMN c SET DEFAULT 5       ALTER TABLE t ALTER COLUMN c DROP DEFAULT
ALTER TABLE t ADD CONSTRAINT x CHECK (a > 0)     ALTER TABLE t DROP CONSTRAINT x
    ALTER TABLE t RENAME TO u
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import Token, TokenType, exp

from livejoin.schema import Column
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.tables.declare import declared_column, table_name
from livejoin.sql.tables.expression_text import expression_text

COLUMN_FORMS = (
    "ADD COLUMN c type [NOT NULL] [DEFAULT x], DROP COLUMN c, RENAME COLUMN a TO b, ALTER COLUMN c TYPE type, "
    "ALTER COLUMN c SET DEFAULT x, ALTER COLUMN c DROP DEFAULT, ADD CONSTRAINT x CHECK (...), DROP CONSTRAINT x, "
    "RENAME TO name"
)


@dataclass(frozen=True)
class AddColumns:
    """ADD COLUMN c type [NOT NULL] [DEFAULT x], or ADD COLUMNS (...)."""

    columns: tuple[Column, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumns:
    """DROP COLUMN [IF EXISTS] c, or DROP COLUMNS (...)."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    """RENAME COLUMN a TO b."""

    name: str
    to: str


@dataclass(frozen=True)
class ChangeType:
    """ALTER COLUMN c TYPE type; the type is that of ``column``."""

    name: str
    column: Column


@dataclass(frozen=True)
class ChangeDefault:
    """ALTER COLUMN c SET DEFAULT x, or DROP DEFAULT, where there is no text."""

    name: str
    default: str | None


@dataclass(frozen=True)
class AddCheck:
    """ADD CONSTRAINT x CHECK (condition)."""

    name: str
    condition: str


@dataclass(frozen=True)
class DropCheck:
    """DROP CONSTRAINT [IF EXISTS] x."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameTable:
    """RENAME TO name."""

    to: str


ColumnChange: TypeAlias = (
    AddColumns | DropColumns | RenameColumn | ChangeType | ChangeDefault | AddCheck | DropCheck | RenameTable
)


@dataclass(frozen=True)
class AlterColumns:
    """ALTER TABLE of what a table is."""

    name: str
    change: ColumnChange


def alter_columns(tree: exp.Expr, source: Source) -> AlterColumns | None:
    """Read an ALTER TABLE; None if it is of another form.

    Raises:
        UnknownNameError: The name is qualified.
        SqlTypeError: A column has a type that livejoin does not support.
        UnsupportedQueryError: A column has a clause that is not supported here.
    """
    tokens = [token for token in source.tokens if token.token_type is not TokenType.SEMICOLON]
    said = _by_tokens(tokens)
    if said is not None:
        return said
    if not isinstance(tree, exp.Alter) or tree.kind != "TABLE" or tree.args.get("exists"):
        return None
    actions = tree.args["actions"]
    name = table_name(tree.this, source)
    definitions = [part for one in actions for part in (one.expressions if isinstance(one, exp.Schema) else [one])]
    if definitions and all(isinstance(part, exp.ColumnDef) for part in definitions):
        return AlterColumns(name, _added(definitions, source))
    match actions:
        case [exp.AlterColumn() as action] if action.args.get("dtype") and not action.args.get("using"):
            kind = exp.ColumnDef(this=exp.to_identifier(action.name, quoted=True), kind=action.args["dtype"])
            column = declared_column(kind, source, offset_of(action, source.tokens[0].start))
            return AlterColumns(name, ChangeType(action.name, column))
        case [exp.AlterColumn() as action] if action.args.get("default") is not None:
            text = expression_text(action.args["default"], source, offset_of(action, source.tokens[0].start))
            return AlterColumns(name, ChangeDefault(action.name, text))
        case [exp.RenameColumn() as action] if not action.args.get("exists"):
            return AlterColumns(name, RenameColumn(action.this.name, action.args["to"].name))
        case [exp.AlterRename() as action]:
            return AlterColumns(name, RenameTable(table_name(action.this, source)))
        case [exp.AddConstraint(expressions=[exp.Constraint() as part])]:
            check = part.expressions[0] if len(part.expressions) == 1 else None
            if isinstance(check, exp.CheckColumnConstraint):
                text = expression_text(check.this, source, offset_of(part, source.tokens[0].start))
                return AlterColumns(name, AddCheck(part.name, text))
    return None


def _by_tokens(tokens: list[Token]) -> AlterColumns | None:
    """The forms that sqlglot has no node for: those with DROP."""
    if len(tokens) < 5 or tokens[1].text.upper() != "TABLE":
        return None
    name, rest = tokens[2].text, tokens[3:]
    words = [token.text.upper() for token in rest]
    if words[0] == "ALTER":
        rest, words = rest[1:], words[1:]
        if words[:1] == ["COLUMN"]:
            rest, words = rest[1:], words[1:]
        return AlterColumns(name, ChangeDefault(rest[0].text, None)) if words[1:] == ["DROP", "DEFAULT"] else None
    if words[0] != "DROP" or words[1] not in ("COLUMN", "COLUMNS", "CONSTRAINT"):
        return None
    what, rest, words = words[1], rest[2:], words[2:]
    if_exists = words[:2] == ["IF", "EXISTS"]
    rest = rest[2 * if_exists :]
    if what == "COLUMNS":
        inner = rest[1:-1]
        sound = len(rest) > 2 and (rest[0].text, rest[-1].text) == ("(", ")")
        if not sound or any((token.text == ",") != bool(place % 2) for place, token in enumerate(inner)):
            return None
        return AlterColumns(name, DropColumns(tuple(token.text for token in inner[::2]), if_exists))
    if len(rest) != 1:
        return None
    only = rest[0].text
    return AlterColumns(name, DropCheck(only, if_exists) if what == "CONSTRAINT" else DropColumns((only,), if_exists))


def _added(definitions: list[exp.ColumnDef], source: Source) -> AddColumns:
    for definition in definitions:
        for constraint in definition.args.get("constraints") or ():
            kind = constraint.args["kind"]
            if not isinstance(kind, (exp.NotNullColumnConstraint, exp.DefaultColumnConstraint)):
                msg = (
                    f"{shown(kind)} in ADD COLUMN {definition.name}: allowed are NOT NULL and DEFAULT; a CHECK comes "
                    "by ADD CONSTRAINT, a key with the table"
                )
                at = source.clause(shown(kind), offset_of(definition, source.tokens[0].start))
                raise source.unsupported(shown(kind), msg, at)
    columns = tuple(
        declared_column(definition, source, offset_of(definition, source.tokens[0].start)) for definition in definitions
    )
    return AddColumns(columns, any(definition.args.get("exists") for definition in definitions))
