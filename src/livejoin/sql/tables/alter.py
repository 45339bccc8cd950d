"""ALTER TABLE: changing what a table promises.

``ALTER TABLE name SET STATIC`` or ``SET DYNAMIC``; or with Spark's syntax for properties, ``SET TBLPROPERTIES
('livejoin.static' = 'true')``, which takes ``livejoin.append_only`` too.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType, exp

from livejoin.sql.parse.source import Source
from livejoin.sql.tables.alter_columns import COLUMN_FORMS, AlterColumns, alter_columns
from livejoin.sql.tables.declare import table_name
from livejoin.sql.tables.table_properties import switches

_FORMS = "SET STATIC, SET DYNAMIC and SET TBLPROPERTIES ('livejoin.static' = 'true')"
ALLOWED = f"of ALTER TABLE name are allowed {_FORMS}, with false or true, or 'livejoin.append_only'; {COLUMN_FORMS}"


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE name SET ...; None for a promise that stays."""

    name: str
    static: bool | None = None
    append_only: bool | None = None


def is_alter(tree: exp.Expr) -> bool:
    """Whether a statement is an ALTER: sqlglot has a node for some, and a generic command for others."""
    return isinstance(tree, exp.Alter) or (isinstance(tree, exp.Command) and tree.name.upper() == "ALTER")


def alter_table(tree: exp.Expr, source: Source) -> AlterTable | AlterColumns:
    """Read an ALTER TABLE.

    Raises:
        UnknownNameError: The name is qualified.
        SqlTypeError: A property has an invalid value.
        UnsupportedQueryError: The statement sets something else.
    """
    words = [token.text.upper() for token in source.tokens if token.token_type != TokenType.SEMICOLON]
    if words[1:2] == ["TABLE"] and words[3:4] == ["SET"] and words[4:] in (["STATIC"], ["DYNAMIC"]):
        return AlterTable(source.tokens[2].text, static=words[4] == "STATIC")
    if isinstance(tree, exp.Alter) and tree.kind == "TABLE" and not tree.args.get("exists"):
        found = [part for action in tree.args["actions"] for part in _properties(action)]
        parts = [part for part in found if type(part) is exp.Property]
        if parts and len(parts) == len(found):
            given = switches(parts, ("static", "append_only"), source)
            return AlterTable(table_name(tree.this, source), given.get("static"), given.get("append_only"))
    columns = alter_columns(tree, source)
    if columns is not None:
        return columns
    start = source.tokens[0].start
    at = source.tokens[3].start if len(source.tokens) > 3 else start
    raise source.unsupported("ALTER", f"this form of ALTER is not supported; {ALLOWED}", at)


def _properties(action: exp.Expr) -> list[exp.Expr]:
    """The properties that an action of ALTER TABLE sets; the action itself if it sets none."""
    if isinstance(action, exp.AlterSet) and all(isinstance(one, exp.Properties) for one in action.expressions):
        return [part for one in action.expressions for part in one.expressions]
    return [action]
