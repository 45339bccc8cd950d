"""TBLPROPERTIES of a CREATE TABLE: what livejoin knows of a table beyond its columns and keys.

They are those arguments of `Database.create_table` that SQL has no clause for, written as Spark writes a table's
properties, so that a statement with them stays one that Spark reads too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.schema import Retain
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.tables.window_range import Span, parse_range

STATIC = "livejoin.static"
WINDOW_ROWS = "livejoin.window_rows"
WINDOW_RANGE = "livejoin.window_range"
SEQUENCE_BY = "livejoin.sequence_by"
TOMBSTONES = "livejoin.tombstones"
RETAIN = "livejoin.retain"
APPEND_ONLY = "livejoin.append_only"
_KNOWN = (STATIC, WINDOW_ROWS, WINDOW_RANGE, SEQUENCE_BY, TOMBSTONES, RETAIN, APPEND_ONLY)


@dataclass(frozen=True)
class TableProperties:
    """The properties of a table, as in `schema.Table`; columns by their names, as they are written."""

    static: bool = False
    window_rows: int | None = None
    window_range: tuple[str, Span] | None = None
    sequence_by: str | None = None
    tombstones: int | None = None
    retain: Retain | None = None
    append_only: bool = False


def switches(parts: Sequence[exp.Property], known: Sequence[str], source: Source) -> dict[str, bool]:
    """The values of properties that are true or false, by their names.

    Raises:
        SqlTypeError: One is something else.
        UnsupportedQueryError: One is not known, or there twice.
    """
    return {name: _switch(part, source) for name, part in _given(parts, known, source).items()}


def table_properties(create: exp.Create, source: Source) -> TableProperties:
    """The properties that a CREATE TABLE gives its table.

    Raises:
        SqlTypeError: A property has a value that it cannot have.
        UnsupportedQueryError: There is a property that livejoin does not know, or one twice.
    """
    parts = create.args["properties"].expressions if create.args.get("properties") else ()
    given = _given([part for part in parts if is_table_property(part)], _KNOWN, source)
    static, window, span, sequence, bound, retain, appended = (given.get(name) for name in _KNOWN)
    return TableProperties(
        static is not None and _switch(static, source),
        None if window is None else _number(window, "a positive whole number of rows", source, least=1),
        None if span is None else _range(span, source),
        None if sequence is None else _column(sequence, source),
        None if bound is None else _number(bound, "a whole number of deleted keys", source),
        None if retain is None else _retain(retain, source),
        appended is not None and _switch(appended, source),
    )


def _given(parts: Sequence[exp.Property], known: Sequence[str], source: Source) -> dict[str, exp.Property]:
    """Properties by their names, each one of those that are known."""
    given: dict[str, exp.Property] = {}
    for part in parts:
        name = _key(part)
        if name not in known or name in given:
            found = f"the property '{name}' is given twice" if name in given else f"the property '{name}' is not known"
            allowed = f"allowed are {', '.join(map(repr, known[:-1]))} and {known[-1]!r}"
            raise source.unsupported(name, f"{found}; {allowed}, each once", _offset(part, source))
        given[name] = part
    return given


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


def _retain(part: exp.Property, source: Source) -> Retain:
    value = part.args["value"]
    match value.name if isinstance(value, exp.Literal) and value.is_string else "":
        case "all":
            return "all"
        case "used":
            return "used"
        case _:
            raise _wrong(part, "'all' and 'used'", source)


def _number(part: exp.Property, allowed: str, source: Source, least: int = 0) -> int:
    value = part.args["value"]
    if (
        not isinstance(value, exp.Literal)
        or not value.name.isascii()
        or not value.name.isdigit()
        or int(value.name) < least
    ):
        raise _wrong(part, allowed, source)
    return int(value.name)


def _column(part: exp.Property, source: Source) -> str:
    value = part.args["value"]
    if not isinstance(value, exp.Literal) or not value.is_string or not value.name.strip():
        raise _wrong(part, "the name of a column, as 'ts'", source)
    return value.name.strip()


def _range(part: exp.Property, source: Source) -> tuple[str, Span]:
    value = part.args["value"]
    found = parse_range(value.name) if isinstance(value, exp.Literal) and value.is_string else None
    if found is None:
        allowed = "'column n' for a whole number n, and 'column n UNIT', the unit from WEEK to MICROSECOND"
        raise _wrong(part, allowed, source)
    return found


def _wrong(part: exp.Property, allowed: str, source: Source) -> SqlTypeError:
    msg = f"the property '{_key(part)}' is {shown(part.args['value'])}; allowed: {allowed}"
    return source.error(SqlTypeError, msg, _offset(part, source))


def _offset(part: exp.Property, source: Source) -> int:
    return offset_of(part, source.word("TBLPROPERTIES", 0, default=source.tokens[0].start))
