"""Write a bound expression of the Spark dialect as DuckDB text, and check it there.

The scope has left the `ColumnRef` of every column in its node's ``meta`` (see `livejoin.sql.scope`).
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from livejoin.errors import ExpressionError, SqlTypeError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.expression import infer_types
from livejoin.query.functions import find_not_scalar
from livejoin.sql.source import Source, offset_of

REF = "ref"

# The timestamps of livejoin have no time zone.
_ZONED = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)

_REMEDY = {
    "aggregate": "aggregates come later; allowed are expressions over one row of the join",
    "window": "window functions come later; allowed are expressions over one row of the join",
    "table": "it gives several rows; allowed are expressions with one value a row",
    "volatile": "its value changes from call to call, but a deleted row must give the value that it had when it was "
    "inserted; store the value in a column",
    "sub-query": "sub-queries come later; join the table instead",
}


def refs_of(node: exp.Expr) -> tuple[ColumnRef, ...]:
    """The columns that a bound expression uses, in order of their first occurrence."""
    return tuple(dict.fromkeys(column.meta[REF] for column in node.find_all(exp.Column)))


def to_duckdb(node: exp.Expr, names: Callable[[ColumnRef], str], source: Source, offset: int) -> str:
    """A bound expression as DuckDB text, its columns named by ``names`` and double-quoted.

    Raises:
        UnsupportedQueryError: There is no way to write it for DuckDB.
    """

    def rewrite(part: exp.Expr) -> exp.Expr:
        match part:
            case exp.Column():
                return exp.column(exp.to_identifier(names(part.meta[REF]), quoted=True))
            case exp.DataType() if part.this in _ZONED:
                return exp.DataType.build(exp.DType.TIMESTAMP)
            case _:
                return part

    try:
        return node.copy().transform(rewrite).sql("duckdb", comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        clause = node.sql("spark", comments=False)
        msg = f"{clause} cannot be written for DuckDB, which evaluates expressions: {str(error).splitlines()[0]}"
        raise source.unsupported(clause, msg, offset) from error


def check_scalar(node: exp.Expr, text: str, schema: pa.Schema, source: Source, offset: int) -> pa.DataType:
    """The type of an expression whose DuckDB text is ``text``.

    Raises:
        UnsupportedQueryError: It calls a function that is not a function of its row.
        SqlTypeError: DuckDB cannot bind it.
    """
    try:
        found = find_not_scalar(text, frozenset(name.lower() for name in schema.names))
        if found is None:
            return infer_types([text], schema)[0]
    except ExpressionError as error:
        clause = node.sql("spark", comments=False)
        _, _, why = str(error).partition(": ")
        msg = f"{clause} does not fit its types: {why or error}"
        raise source.error(SqlTypeError, msg, offset) from error
    name, kind = found
    function = name.removesuffix("_star").upper()
    msg = f"{function} is {'an' if kind == 'aggregate' else 'a'} {kind} function: {_REMEDY[kind]}"
    raise source.unsupported(function, msg, _call_offset(node, offset))


def _call_offset(node: exp.Expr, offset: int) -> int:
    """Where the innermost call is that is not scalar; calls without arguments come first among equals."""
    for part in sorted(node.find_all(exp.Func), key=lambda call: len(list(call.walk()))):
        alone = part.copy().transform(lambda n: exp.null() if isinstance(n, exp.Column) else n)
        if find_not_scalar(alone.sql("duckdb", comments=False)) is not None:
            return offset_of(part, offset)
    return offset
