"""The types of columns in a declaration, and their spelling in the text.

sqlglot renames some types; messages show a type as it was written. A TIMESTAMP with a time zone is an instant, as
Spark's own, and is shown in UTC; one without is TIMESTAMP_NTZ in Spark.
"""

from __future__ import annotations

from sqlglot import TokenType, exp

from livejoin.schema import SqlType
from livejoin.shown import meant
from livejoin.sql.parse.other_dialects import of_type
from livejoin.sql.parse.source import Source

TYPES: dict[exp.DType, SqlType] = {
    exp.DType.BOOLEAN: SqlType("boolean"),
    exp.DType.TINYINT: SqlType.integer(8),
    exp.DType.SMALLINT: SqlType.integer(16),
    exp.DType.INT: SqlType.integer(32),
    exp.DType.BIGINT: SqlType.integer(64),
    exp.DType.FLOAT: SqlType.real(),
    exp.DType.DOUBLE: SqlType("double"),
    exp.DType.DATE: SqlType("date"),
    exp.DType.TIMESTAMP: SqlType("timestamp"),
    exp.DType.TIMESTAMPNTZ: SqlType.local_time(),
    exp.DType.TIMESTAMPTZ: SqlType("timestamp"),
    exp.DType.TIMESTAMPLTZ: SqlType("timestamp"),
    exp.DType.TEXT: SqlType("string"),
    exp.DType.VARCHAR: SqlType("string"),
    exp.DType.BINARY: SqlType("binary"),
    exp.DType.VARIANT: SqlType("variant"),
}
_SPANS = {("DAY", "SECOND"): SqlType("interval"), ("YEAR", "MONTH"): SqlType("months")}
ALLOWED_TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIMESTAMP, STRING, VARCHAR(n), "
    "CHAR(n), UUID, BINARY, INTERVAL DAY TO SECOND, INTERVAL YEAR TO MONTH, "
    "ARRAY<type>, STRUCT<name: type, ...>, MAP<type, type>, VARIANT"
)

CAST_TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING, "
    "BINARY, and intervals of months to whole numbers"
)
"""What CAST casts to."""

_OPENING = (TokenType.L_PAREN, TokenType.LT, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.GT, TokenType.R_BRACKET)
_ENDS = (TokenType.COMMA, TokenType.NOT, TokenType.NULL, TokenType.PRIMARY_KEY, TokenType.CONSTRAINT)


def declared_type(kind: exp.DataType) -> SqlType | None:
    """The type of a declared column; None if livejoin has no such type.

    Raises:
        SchemaError: The digits of a DECIMAL are out of range, or a key of a MAP or a field of a STRUCT has a type that
            is not allowed there.

    >>> str(declared_type(exp.DataType.build("MAP<INT, ARRAY<STRUCT<a: STRING>>>", dialect="spark")))
    'MAP<INT, ARRAY<STRUCT<a: STRING>>>'
    """
    parts = kind.expressions
    match kind.this:
        case exp.Interval(args={"unit": exp.IntervalSpan() as span}):
            return _SPANS.get((span.this.name, span.expression.name))
        case exp.DType.DECIMAL:
            digits = [int(part.name) for part in parts if part.name.isdigit()]
            return SqlType.decimal(*[*(digits or [10]), 0][:2]) if len(digits) == len(parts) else None
        case exp.DType.ARRAY | exp.DType.LIST if len(parts) == 1:
            (element,) = (_within(part) for part in parts)
            return None if element is None else SqlType.array(element)
        case exp.DType.MAP if len(parts) == 2:
            key, value = (_within(part) for part in parts)
            return None if key is None or value is None else SqlType.map(key, value)
        case exp.DType.STRUCT:
            fields = [_field(part) for part in parts]
            found = [field for field in fields if field is not None]
            return SqlType.struct(found) if len(found) == len(fields) else None
        case _:
            return None if parts else TYPES.get(kind.this)


def _within(part: exp.Expr) -> SqlType | None:
    """An inner type, which may not be an interval of months."""
    found = declared_type(part) if isinstance(part, exp.DataType) else None
    return None if found is not None and found.kind == "months" else found


def _field(part: exp.Expr) -> tuple[str, SqlType] | None:
    """A field of a STRUCT: a name and a type alone."""
    kind = part.args.get("kind") if isinstance(part, exp.ColumnDef) and not part.args.get("constraints") else None
    found = None if kind is None else _within(kind)
    return None if found is None else (part.name, found)


def written_type(name_offset: int, source: Source) -> str:
    """The type after the column name at an offset, as it was written.

    >>> from livejoin.sql.parse.parse import parse
    >>> written_type(16, parse("CREATE TABLE R (a Map<INT,INT> NOT NULL)")[1])
    'Map<INT,INT>'
    """
    depth, start, end = 0, 0, 0
    for token in (t for t in source.tokens if t.start > name_offset):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth < 0 or (depth == 0 and token.token_type in _ENDS):
            break
        start, end = start or token.start, token.end + 1
    return " ".join(source.sql[start:end].lstrip(": ").split())


def cast_type(offset: int, source: Source) -> str:
    """The target type of the cast of the value at an offset, as it was written; empty if it is not found.

    >>> from livejoin.sql.parse.parse import parse
    >>> cast_type(12, parse("SELECT CAST(f(a, b) AS Map<INT,INT>)")[1]), cast_type(7, parse("SELECT a::Dec(3)")[1])
    ('Map<INT,INT>', 'Dec(3)')
    """
    depth, is_call, start, end = 0, False, -1, 0
    for token in (t for t in source.tokens if t.start >= offset):
        kind = token.token_type
        if start >= 0 and not is_call and depth == 0 and end and kind not in (*_OPENING, *_CLOSING):
            break
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth < 0:
            break
        if start >= 0:
            end = token.end + 1
        elif depth == 0 and kind in (TokenType.ALIAS, TokenType.DCOLON):
            start, is_call = token.end + 1, kind == TokenType.ALIAS
    return " ".join(source.sql[start:end].split())


def unknown_type(offset: int, source: Source) -> str | None:
    """The message for the token at an offset if it stands in place of a column's type in CREATE TABLE; else None."""
    before = [token for token in source.tokens if token.start < offset]
    kinds = [token.token_type for token in before]
    depth = kinds.count(TokenType.L_PAREN) - kinds.count(TokenType.R_PAREN)
    behind_name = kinds[-2:-1] in ([TokenType.L_PAREN], [TokenType.COMMA])
    found = source.text_at(offset)
    if TokenType.TABLE not in kinds[:2] or depth != 1 or not found.isidentifier():
        return None
    if kinds.count(TokenType.LT) > kinds.count(TokenType.GT):
        return f"{found!r}, within a type, is not a known type{of_type(found)}; allowed are {ALLOWED_TYPES}"
    if not behind_name:
        return None
    name = source.sql[before[-1].start : before[-1].end + 1]
    if name.upper() in ("PRIMARY KEY", "FOREIGN KEY", "UNIQUE"):
        return f"{name.upper()} names its columns in parentheses: write {name.upper()} ({found})"
    key = f"{name} {found}"
    if hint := meant(key.upper(), ("PRIMARY KEY", "FOREIGN KEY")):
        return f"{key!r} is no part of a table{hint}"
    what = f"{found!r}, behind the column name {name!r}, is not a known type"
    return f"{what}{of_type(found)}; allowed are {ALLOWED_TYPES}"
