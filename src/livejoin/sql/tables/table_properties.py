"""TBLPROPERTIES of a CREATE TABLE: the options of a table beyond its columns and keys.

They are the arguments of `Database.create_table` for which SQL has no clause, written as Spark writes a table's
properties. So Spark can read the statement too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, assert_never, get_args

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.schema import Deletes, Form, Keep, Late, Retain, Span, TableSettings, form_of, options
from livejoin.shown import meant
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.tables.window_range import parse_range

_PREFIX = "livejoin."
_KNOWN = tuple(_PREFIX + option.name for option in options())


def switches(parts: Sequence[exp.Property], known: Sequence[str], source: Source) -> dict[str, bool]:
    """The values of boolean options, by their names.

    Raises:
        SqlTypeError: A value is neither true nor false.
        UnsupportedQueryError: An option is unknown, or there twice.
    """
    given = _given(parts, [_PREFIX + option for option in known], source)
    return {name.removeprefix(_PREFIX): _switch(part, source) for name, part in given.items()}


def table_settings(create: exp.Create, source: Source) -> TableSettings:
    """The settings of a table from the properties of its CREATE TABLE.

    Raises:
        SqlTypeError: A property has an invalid value.
        UnsupportedQueryError: A property is unknown, or there twice.
    """
    parts = create.args["properties"].expressions if create.args.get("properties") else ()
    given = _given([part for part in parts if is_table_property(part)], _KNOWN, source)
    return TableSettings(**{name.removeprefix(_PREFIX): _value(name, part, source) for name, part in given.items()})


def _value(name: str, part: exp.Property, source: Source) -> Any:
    """The value of a property, in the form of its option."""
    form = form_of(name.removeprefix(_PREFIX))
    match form:
        case Form.SWITCH:
            return _switch(part, source)
        case Form.ROWS:
            return _number(part, "a positive whole number of rows", source, least=1)
        case Form.KEYS:
            return _number(part, "a whole number of deleted keys", source)
        case Form.COLUMN:
            return _column(part, source)
        case Form.RANGE:
            return _range(part, source)
        case Form.COLUMNS_KEPT:
            return _word(part, get_args(Retain), source)
        case Form.LATE:
            return _word(part, get_args(Late), source)
        case Form.ROWS_KEPT:
            return _word(part, get_args(Keep), source)
        case Form.DELETES:
            return _word(part, get_args(Deletes), source)
        case Form.SPAN:
            return _span(part, source)
        case _:
            assert_never(form)


def _given(parts: Sequence[exp.Property], known: Sequence[str], source: Source) -> dict[str, exp.Property]:
    """Known properties by their names, each at most once."""
    given: dict[str, exp.Property] = {}
    for part in parts:
        name = _key(part)
        if name not in known or name in given:
            found = f"the property '{name}' is not known{meant(name, known)}"
            if name in given:
                found = f"the property '{name}' is given twice"
            elif name in _KNOWN:
                found = (
                    f"the property '{name}' is said in CREATE TABLE and stays as it is; to change it, make another "
                    "table with it and copy the rows by INSERT INTO new_table SELECT * FROM old_table"
                )
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


def _word(part: exp.Property, allowed: Sequence[str], source: Source) -> str:
    """The one of some words that is given as a text."""
    value = part.args["value"]
    given = value.name if isinstance(value, exp.Literal) and value.is_string else ""
    for word in allowed:
        if word == given:
            return word
    raise _wrong(part, " and ".join(map(repr, allowed)), source)


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


def _span(part: exp.Property, source: Source) -> dt.timedelta:
    value = part.args["value"]
    found = parse_range(f"x {value.name}") if isinstance(value, exp.Literal) and value.is_string else None
    if found is None or isinstance(found[1], int):
        raise _wrong(part, "'n UNIT', the unit from WEEK to MICROSECOND", source)
    return found[1]


def _wrong(part: exp.Property, allowed: str, source: Source) -> SqlTypeError:
    msg = f"the property '{_key(part)}' is {shown(part.args['value'])}; allowed: {allowed}"
    return source.error(SqlTypeError, msg, _offset(part, source))


def _offset(part: exp.Property, source: Source) -> int:
    return offset_of(part, source.word("TBLPROPERTIES", 0, default=source.tokens[0].start))
