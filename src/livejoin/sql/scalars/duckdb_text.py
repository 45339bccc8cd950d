"""Bound expressions as DuckDB text, and checking them in DuckDB.

Every column's node has a `ColumnRef` in its ``meta`` (see `livejoin.sql.names.scope`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import sqlglot.dialects.duckdb  # noqa: F401 - else when the first text is written, where Ctrl-C could cut it off
from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from livejoin.errors import ExpressionError, SqlTypeError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.expression import evaluate
from livejoin.query.functions import find_not_scalar
from livejoin.query.growth import MOST_COPIES
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF
from livejoin.sql.scalars.time_window import field_of, interval_of, window_of

# The timestamps of livejoin have no time zone.
_ZONED = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)

_WHAT = {
    "aggregate": "is an aggregate function",
    "unbounded": "may make a value without a bound, or one much longer than its arguments",
    "naming": "depends on the names that columns have inside",
}
_REMEDY = {
    "aggregate": "allowed are expressions over one row of the join, and aggregates (livejoin docs aggregates)",
    "window": "allowed are expressions over one row of the join",
    "table": "it gives several rows; allowed are expressions with one value a row",
    "volatile": "its value changes from call to call. A deleted row must give the value that it had when it was "
    "inserted. Store the value in a column, or give it to a query that is asked once as a parameter. To keep the rows "
    "of the last hour, declare the table with window_range, or compare a column with now() by <, <=, >, >= or BETWEEN, "
    "as a condition of WHERE that stands alone or is joined by AND: WHERE ts > now() - INTERVAL '1' HOUR",
    "sub-query": "Compare with IN (value, ...), or with a sub-query that begins with SELECT. Examples are IN (SELECT * "
    "FROM VALUES (1), (2) AS v(x)) and ALL (SELECT ...)",
    "unbounded": "one row could take all memory. Store what is needed in a table and join it",
    "naming": "write the columns, or the names, that are meant",
}


_CASTS = {"to_date": exp.DType.DATE, "to_timestamp": exp.DType.TIMESTAMP}
_SPARKS = frozenset(
    {
        *_CASTS,
        "try_to_date",
        "try_to_timestamp",
        "unix_timestamp",
        "to_unix_timestamp",
        "to_char",
        "to_varchar",
        "format_string",
        "printf",
        "from_utc_timestamp",
        "to_utc_timestamp",
    }
)
"""Functions that are calls as they are written here, and none or another one in DuckDB."""


_ABSENT = re.compile(r"Function with name \"?(\w+)\"? does not exist", re.IGNORECASE)
_NO_VALUE = re.compile(r"Could not convert string '([^']*)'")


def expression_text(node: exp.Expr, names: Callable[[ColumnRef], str], source: Source, offset: int) -> str:
    """A bound expression as DuckDB text, its columns named by ``names`` and double-quoted.

    Raises:
        UnsupportedQueryError: DuckDB has no way to write the expression.
    """
    try:
        text = rewritten(node, for_duckdb).transform(lambda part: _named(part, names), copy=False)
        return text.sql("duckdb", comments=False, unsupported_level=ErrorLevel.RAISE, copy=False)
    except UnsupportedError as error:
        clause = source.text_at(offset).upper()
        msg = f"{clause} is not supported with these arguments; store what it gives in a column, or leave it out"
        raise source.unsupported(clause, msg, offset) from error


def for_duckdb(part: exp.Expr) -> exp.Expr:
    """A node in DuckDB's terms, if sqlglot's rules give another meaning; for ``transform``."""
    match part:
        case exp.DataType() if part.this in _ZONED:
            return exp.DataType.build(exp.DType.TIMESTAMP)
        case exp.TsOrDsAdd() if not isinstance(part.parent, exp.Cast):
            return exp.cast(part, exp.DType.DATE)  # Spark's date_add gives a DATE, DuckDB's sum a TIMESTAMP
        case exp.IntDiv() if not isinstance(part.parent, exp.Cast):
            return exp.cast(part, exp.DType.BIGINT)  # Spark's type, whatever the operands have
        case exp.ArraySize() if not isinstance(part.parent, exp.Cast):
            return exp.cast(part, exp.DType.INT)  # Spark's type; DuckDB has BIGINT
        case exp.Anonymous() if part.name in _CASTS and len(part.expressions) == 1:
            return exp.cast(part.expressions[0], _CASTS[part.name])
        case exp.Anonymous() if part.name in _SPARKS:
            msg = f"{part.name.upper()} has the patterns and names of Spark"
            raise UnsupportedError(msg)
        case exp.Dot() if field_of(part) == "start":
            return _bucket(part)
        case exp.Dot() if field_of(part) == "end":
            return exp.paren(exp.Add(this=_bucket(part), expression=interval_of(window_of(part.this).duration)))
        case exp.Repeat():
            part.set("times", _at_most(part.args["times"], "REPEAT makes"))
            return part
        case exp.Space():
            part.set("this", _at_most(part.this, "SPACE makes"))
            return part
        case exp.Pad():
            part.set("expression", _at_most(part.expression, f"{'LPAD' if part.args.get('is_left') else 'RPAD'} makes"))
            return part
        case _:
            return part


def _bucket(part: exp.Dot) -> exp.Expr:
    """The start of a window of a time as DuckDB's TIME_BUCKET."""
    window = window_of(part.this)
    first = exp.Anonymous(this="make_timestamp", expressions=[exp.Literal.number(window.offset)])
    time = exp.cast(part.this.expressions[0], exp.DType.TIMESTAMP)
    return exp.Anonymous(this="time_bucket", expressions=[interval_of(window.slide), time, first])


def _at_most(count: exp.Expr, what: str) -> exp.Expr:
    """A number that is an error above `MOST_COPIES`, so that a row cannot use up all memory."""
    if isinstance(count, exp.Literal) and not count.is_string and len(count.name) < len(str(MOST_COPIES)):
        return count
    if count.find(exp.Repeat, exp.Space, exp.Pad):  # written once, or each level would double the text
        return exp.cast(exp.cast(count, "DECIMAL(5, 0)"), "INT")
    message = f"{what} at most {MOST_COPIES} copies or characters of a text"
    refused = exp.Anonymous(this="error", expressions=[exp.Literal.string(message)])
    above = exp.GT(this=exp.paren(count.copy()), expression=exp.Literal.number(MOST_COPIES))
    return exp.Case(ifs=[exp.If(this=above, true=refused)], default=count.copy())


def _named(part: exp.Expr, names: Callable[[ColumnRef], str]) -> exp.Expr:
    if isinstance(part, exp.Column):
        return exp.column(exp.to_identifier(names(part.meta[REF]), quoted=True))
    return part


def _why(error: str) -> str:
    """The reason why DuckDB does not bind an expression or evaluate its constants, in plain words."""
    if name := _ABSENT.search(error):
        return f"livejoin has no function {name[1].upper()}"
    if value := _NO_VALUE.search(error):
        return f"{value[1]!r} does not convert to the type that is wanted"
    if "No function matches" in error:
        return "a function does not take arguments of these types; CAST them"
    return "its parts do not fit together; check the number and the types of the arguments"


def check_scalar(node: exp.Expr, text: str, schema: pa.Schema, source: Source, offset: int) -> pa.DataType:
    """The type of an expression whose DuckDB text is ``text``.

    Cost: about 1 ms; nothing for one of the last 4,096 pairs of a text and columns. A query that is merged level by
    level asks for the same pairs again.

    Raises:
        UnsupportedQueryError: The expression calls a function that is no function of its row.
        SqlTypeError: DuckDB cannot bind the expression, or cannot evaluate its constants.
    """
    try:
        found = _type_of(text, schema)
    except ExpressionError as error:
        msg = f"{shown(node)} has no value: {_why(str(error))}"
        raise source.error(SqlTypeError, msg, offset) from error
    if isinstance(found, pa.DataType):
        return found
    name, kind = found
    if kind == "sub-query":
        msg = f"{shown(node)} has a sub-query of a form that is not supported. {_REMEDY[kind]}"
        raise source.unsupported(kind, msg, offset)
    at = _call_offset(node, found, source, offset)
    written = source.text_at(at)
    is_call = written.lower() == name or source.sql[at + len(written) :].lstrip().startswith("(")
    function = (written if written.isidentifier() and is_call else name).upper()
    if not is_call:
        calls = (token.start for token in source.tokens if token.start > at and token.text.lower() == name)
        at = next(calls, at)
    msg = f"{function} {_WHAT.get(kind, f'is a {kind} function')}: {_REMEDY[kind]}"
    raise source.unsupported(function, msg, at)


@lru_cache(maxsize=4096)
def _type_of(text: str, schema: pa.Schema) -> pa.DataType | tuple[str, str]:
    """The type of an expression, or the call in it that is no function of its row; a pure function of its arguments."""
    found = find_not_scalar(text, frozenset(name.lower() for name in schema.names))
    return found or evaluate([text], _row_of_nulls(schema))[0].type


def _row_of_nulls(schema: pa.Schema) -> pa.Table:
    """A row of NULLs: it shows errors that every row has, such as a bad cast of a constant. No row shows types only."""
    fields = list(schema) or [pa.field("", pa.bool_())]
    return pa.table([pa.nulls(1, field.type) for field in fields], names=[field.name for field in fields])


def _call_offset(node: exp.Expr, found: tuple[str, str], source: Source, offset: int) -> int:
    """The offset of the innermost call of a function, by its name in DuckDB."""
    for part in sorted(node.find_all(exp.Func), key=lambda call: len(list(call.walk()))):
        alone = part.transform(lambda n: exp.null() if isinstance(n, exp.Column) else n)
        if find_not_scalar(alone.sql("duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE)) == found:
            # A function without parentheses, such as current_date, does not know its offset.
            return offset_of(part, source.word(part.sql_name(), offset, offset))
    return offset
