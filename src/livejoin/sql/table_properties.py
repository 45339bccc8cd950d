"""TBLPROPERTIES of a CREATE TABLE: what livejoin knows of a table beyond its columns and keys.

They are those arguments of `Database.create_table` that SQL has no clause for, written as Spark writes a table's
properties, so that a statement with them stays one that Spark reads too.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.sql.source import Source, offset_of, shown

STATIC = "livejoin.static"
WINDOW_ROWS = "livejoin.window_rows"
_ALLOWED = f"allowed are '{STATIC}' and '{WINDOW_ROWS}'"


@dataclass(frozen=True)
class TableProperties:
    """The properties of a table, as in `schema.Table`."""

    static: bool = False
    window_rows: int | None = None


def table_properties(create: exp.Create, source: Source) -> TableProperties:
    """The properties that a CREATE TABLE gives its table.

    Raises:
        SqlTypeError: A property has a value that it cannot have.
        UnsupportedQueryError: There is a property that livejoin does not know, or one twice.
    """
    given: dict[str, exp.Property] = {}
    for part in create.args["properties"].expressions if create.args.get("properties") else ():
        if not is_table_property(part):
            continue
        name = _key(part)
        if name not in (STATIC, WINDOW_ROWS) or name in given:
            found = f"the property '{name}' is given twice" if name in given else f"the property '{name}' is not known"
            raise source.unsupported(name, f"{found}; {_ALLOWED}, each once", _offset(part, source))
        given[name] = part
    static, window = given.get(STATIC), given.get(WINDOW_ROWS)
    return TableProperties(
        static is not None and _switch(static, source), None if window is None else _number(window, source)
    )


def is_table_property(part: exp.Expr) -> bool:
    """Whether a part of the properties that sqlglot finds is one of TBLPROPERTIES, not a clause like USING."""
    return type(part) is exp.Property


def _key(part: exp.Property) -> str:
    return (part.this.name if isinstance(part.this, exp.Literal) else shown(part.this)).lower()


def _switch(part: exp.Property, source: Source) -> bool:
    value = (
        part.args["value"].name.lower() if isinstance(part.args["value"], exp.Literal) else shown(part.args["value"])
    )
    if value.lower() not in ("true", "false"):
        raise _wrong(part, "'true' and 'false'", source)
    return value.lower() == "true"


def _number(part: exp.Property, source: Source) -> int:
    value = part.args["value"]
    if (
        not isinstance(value, exp.Literal)
        or not value.name.isascii()
        or not value.name.isdigit()
        or not int(value.name)
    ):
        raise _wrong(part, "a positive whole number of rows", source)
    return int(value.name)


def _wrong(part: exp.Property, allowed: str, source: Source) -> SqlTypeError:
    msg = f"the property '{_key(part)}' is {shown(part.args['value'])}; allowed: {allowed}"
    return source.error(SqlTypeError, msg, _offset(part, source))


def _offset(part: exp.Property, source: Source) -> int:
    return offset_of(part, source.word("TBLPROPERTIES", 0, default=source.tokens[0].start))
