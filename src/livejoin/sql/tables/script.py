"""A text of several statements, and values in the place of ``?`` and ``:name``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from uuid import UUID

import numpy as np
from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.shown import shown, text_literal
from livejoin.sql.parse.parse import tokenized
from livejoin.sql.parse.source import Source
from livejoin.sql.tables.piece import Filled, Piece

_LARGEST = 1 << 63


def statements(sql: str, parameters: object = None) -> list[str]:
    """The texts of `pieces`.

    >>> statements("DELETE FROM t WHERE a = ?; INSERT INTO t VALUES (?, ':b')", [1, "it's"])
    ['DELETE FROM t WHERE a = 1', "INSERT INTO t VALUES ('it\\\\'s', ':b')"]
    """
    return [piece.text for piece in pieces(sql, parameters)]


def pieces(sql: str, parameters: object = None) -> list[Piece]:
    """The statements of a text, with the values of parameters in their places.

    Args:
        sql: The text; statements end with a semicolon.
        parameters: The values of ``?`` in their order, or of ``:name`` by name.

    Raises:
        SqlSyntaxError: The text ends within a string; a value is missing, too many, or none that SQL writes.

    >>> [piece.begin for piece in pieces("DELETE FROM t WHERE a = ?; DELETE FROM u", [1])]
    [0, 27]
    """
    source = tokenized(sql)
    text, at, filled = "", 0, list[Filled]()
    for begin, end, value in _values(source, parameters):
        apart = [" " if sql[place : place + 1].isalnum() else "" for place in (begin - 1, end)]
        text += sql[at:begin]
        here = len(text)
        text += f"{apart[0]}{value}{apart[1]}"
        filled.append(Filled(here, len(text), begin, end - begin))
        at = end
    text += sql[at:]
    source = tokenized(text) if filled else source
    ends = [(token.start, token.end + 1) for token in source.tokens if token.token_type is TokenType.SEMICOLON]
    found, begin = list[Piece](), 0
    for end, behind in [*ends, (len(text), len(text))]:
        one = text[begin:end]
        if one.strip() and tokenized(one.strip()).tokens:
            found.append(Piece(one.strip(), sql, begin + len(one) - len(one.lstrip()), tuple(filled)))
        begin = behind
    return found


def filled(sql: str, parameters: object) -> str:
    """A text of one statement with the values of parameters in their places.

    Raises:
        SqlSyntaxError: As for `pieces`, or there are several statements.

    >>> filled("SELECT a FROM t WHERE a = ?", [1])
    'SELECT a FROM t WHERE a = 1'
    """
    found = statements(sql, parameters)
    if len(found) != 1:
        msg = f"one statement is expected, and there are {len(found)}"
        raise SqlSyntaxError(msg, sql)
    return found[0]


def places(sql: str) -> list[str | None]:
    """The names of the places for values in a text, in their order; None for each ``?``.

    Raises:
        SqlSyntaxError: The text ends within a string.

    >>> places("DELETE FROM t WHERE a = ? AND b = :b")
    [None, 'b']
    """
    return [name for _, _, name in _places(tokenized(sql).tokens)]


def is_complete(text: str) -> bool:
    """Whether a text ends with a semicolon that is within no string, comment or transaction.

    >>> [is_complete(text) for text in ("SELECT 1;", "SELECT ';", "-- a;", "BEGIN; DELETE FROM t;", "BEGIN; COMMIT;")]
    [True, False, False, False, True]
    """
    try:
        tokens = tokenized(text).tokens
    except SqlSyntaxError:
        return False
    firsts = [
        token.text.upper()
        for place, token in enumerate(tokens)
        if not place or tokens[place - 1].token_type is TokenType.SEMICOLON
    ]
    opened = sum((word in ("BEGIN", "START")) - (word in ("COMMIT", "END", "ROLLBACK")) for word in firsts)
    return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON and opened <= 0


def _values(source: Source, parameters: object) -> Iterator[tuple[int, int, str]]:
    """Where values go, from where to where, and the values as SQL."""
    if parameters is None:
        return
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, (Sequence, Mapping)):
        msg = f"parameters are {shown(parameters)}; allowed are a list of values for ?, or a dict of values for :name"
        raise source.error(SqlSyntaxError, msg, 0)
    used, named = 0, set[str]()
    for begin, end, name in _places(source.tokens):
        if isinstance(parameters, Mapping):
            if name is None:
                raise source.error(SqlSyntaxError, "the values are given by name, and this one has none", begin)
            if name not in parameters:
                known = ", ".join(map(repr, parameters)) or "none"
                raise source.error(SqlSyntaxError, f"no value is given for :{name}; given are {known}", begin)
            value = parameters[name]
            named.add(name)
        else:
            if name is not None:
                msg = f"the values are given in a list, and :{name} has a name; give a dict, or write ?"
                raise source.error(SqlSyntaxError, msg, begin)
            if used == len(parameters):
                raise source.error(
                    SqlSyntaxError, f"{used} values are given, and there are more places for them", begin
                )
            value = parameters[used]
            used += 1
        yield begin, end, literal(value, source, begin)
    if isinstance(parameters, Sequence) and used < len(parameters):
        msg = f"{len(parameters)} values are given, and there are {used} places for them"
        raise source.error(SqlSyntaxError, msg, 0)
    if isinstance(parameters, Mapping) and (surplus := [name for name in parameters if name not in named]):
        msg = (
            f"values are given for {', '.join(map(repr, surplus))}, which have no place; write :name, or leave them out"
        )
        raise source.error(SqlSyntaxError, msg, 0)


def _places(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str | None]]:
    """Where a value goes, from where to where, and its name if it has one."""
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.PLACEHOLDER:
            yield token.start, token.end + 1, None
        elif token.token_type is TokenType.COLON and place + 1 < len(tokens):
            name, before = tokens[place + 1], tokens[place - 1] if place else None
            behind = before is not None and before.end + 1 == token.start
            is_path = behind and before is not None and (before.text.isidentifier() or before.text in ")]`")
            if name.start == token.end + 1 and name.text.isidentifier() and not is_path:
                yield token.start, name.end + 1, name.text


def literal(value: object, source: Source, offset: int) -> str:
    """A value of Python as SQL, which means the same whatever stands beside it.

    >>> literal(-5, Source("", ()), 0)  # as in a-?, where two signs would begin a comment
    '(-5)'

    Raises:
        SqlSyntaxError: There is no such value in SQL.
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return _signed(str(value) if -_LARGEST < value < _LARGEST else f"{value}BD")
        case float():
            return _signed(f"{value!r}D") if value - value == 0.0 else f"CAST('{value!r}' AS DOUBLE)"
        case Decimal() if value.is_finite():
            return _signed(f"{value:f}BD")
        case str():
            return text_literal(value)
        case bytes() | bytearray() | memoryview():
            return f"X'{bytes(value).hex()}'"
        case dt.datetime():
            zone = value.utcoffset()
            moment = value if zone is None else (value - zone).replace(tzinfo=None)
            return f"TIMESTAMP '{moment.isoformat(' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case UUID():
            return text_literal(str(value))
        case dt.timedelta():
            whole = (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
            sign, whole = ("-" if whole < 0 else ""), abs(whole)
            days, rest = divmod(whole, 86400 * 10**6)
            hours, rest = divmod(rest, 3600 * 10**6)
            minutes, rest = divmod(rest, 60 * 10**6)
            seconds, micros = divmod(rest, 10**6)
            return f"INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{micros:06}' DAY TO SECOND"
    several = "; write one ? for each value, as in IN (?, ?)" if isinstance(value, list | tuple | set) else ""
    msg = f"the value {shown(value)} has no literal in SQL{several or '; give it by apply, or as a text'}"
    raise source.error(SqlSyntaxError, msg, offset)


def _signed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number
