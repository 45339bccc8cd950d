"""Scalar expressions over Arrow tables, evaluated by DuckDB a batch at a time.

An expression is DuckDB text over the table's columns (double-quoted where their names ask for it). The law: value i of
a result belongs to row i, for any number of rows, and depends on that row alone. All meaning is DuckDB's, so that only
expressions come here of which it is known that they mean the same in Spark (`livejoin.sql.scalars.same_meaning`).

Rows are evaluated in pieces of at most 131,072 rows and about 64 MiB. Each piece may take 1 GiB in DuckDB and a minute
(`livejoin.query.session.EXPRESSIONS`) and give 2 GiB of text a column; one that takes more is an error. DuckDB looks at
memory and time between two vectors of rows only: these have 2,048 rows, and 64 where a function is called that makes
much of little. What it takes for one vector is not bounded by them, but by the functions that are taken
(`livejoin.query.functions`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from livejoin.errors import ExpressionError
from livejoin.query.session import EXPRESSIONS, passes_limits, reason, session
from livejoin.shown import shown_row, shown_scalar

_SHOWN_COLUMNS = 8
_PIECE_ROWS = 1 << 17
_PIECE_BYTES = 1 << 26
_FEW_ROWS = 64
_GROWS = re.compile(
    r"\b(repeat|lpad|rpad|replace|regexp_replace|printf|format|levenshtein|damerau_levenshtein|editdist3|reduce|aggregate"
    r"|apply|transform|filter|(list|array)_\w+)\s*\(",
    re.IGNORECASE,
)
_FAILURES = (duckdb.Error, RuntimeError, pa.ArrowException)
_SOURCE = re.compile(r" when casting from source column \w+")


@dataclass(frozen=True)
class Written:
    """What errors show in place of expressions over columns that a plan has named.

    Args:
        expressions: Each expression as its user knows it.
        columns: The names of the columns; empty where they have none, and then a row is shown by its values.
    """

    expressions: tuple[str, ...]
    columns: tuple[str, ...] = ()


def evaluate(expressions: Sequence[str], rows: pa.Table, written: Written | None = None) -> list[pa.ChunkedArray]:
    """The values of each expression for each row, in the order of the rows.

    Args:
        expressions: DuckDB expressions over the columns of ``rows``.
        rows: The rows; a table without columns has rows too, ``pa.Table.num_rows`` of them.
        written: The texts that errors show; the expressions and the columns' names if None.

    Returns:
        One array an expression, of a type that does not depend on the rows.

    Raises:
        ExpressionError: DuckDB cannot evaluate an expression for some row; the message shows both. Or it takes more
            memory or time than is allowed.

    Cost: one DuckDB query a piece, about 1 ms and then the rows times the expressions.

    >>> [values.to_pylist() for values in evaluate(["a * 2", "a > 1"], pa.table({"a": [1, 2, None]}))]
    [[2, 4, None], [False, True, None]]
    """
    if not expressions:
        return []
    try:
        return _evaluate(expressions, rows)
    except _FAILURES as error:
        raise ExpressionError(_explain(expressions, rows, error, written)) from error


def _evaluate(expressions: Sequence[str], rows: pa.Table) -> list[pa.ChunkedArray]:
    # DuckDB has no relations without columns.
    source = rows if rows.num_columns else pa.table({"": pa.nulls(rows.num_rows, pa.bool_())})
    items = ", ".join(f"({expression}) AS e{i}" for i, expression in enumerate(expressions))
    few = _GROWS.search(items) is not None
    size = min(_PIECE_ROWS, max(1, source.num_rows * _PIECE_BYTES // max(1, source.nbytes)))
    pieces = [
        _evaluate_piece(items, source.slice(begin, size), few) for begin in range(0, max(1, source.num_rows), size)
    ]
    result = pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)
    if result.num_rows != rows.num_rows or result.num_columns != len(expressions):
        msg = (
            f"{_quoted(expressions)} gives {result.num_columns} columns of {result.num_rows} values for "
            f"{rows.num_rows} rows; allowed are scalar expressions, with one value a row"
        )
        raise ExpressionError(msg)
    return [_normal(column) for column in result.columns]


def _evaluate_piece(items: str, rows: pa.Table, few: bool) -> pa.Table:
    source = pa.Table.from_batches(rows.to_batches(max_chunksize=_FEW_ROWS), rows.schema) if few else rows
    with session(EXPRESSIONS) as connection:
        return connection.from_arrow(source).project(items).to_arrow_table()


def _normal(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The bare NULL has the type INTEGER, as in a DuckDB table made from it."""
    return values.cast(pa.int32()) if pa.types.is_null(values.type) else values


def _explain(expressions: Sequence[str], rows: pa.Table, error: Exception, written: Written | None) -> str:
    """The first expression that fails, the first row that it fails for, and why. Cost: log(rows) evaluations."""
    names = written.expressions if written else expressions
    if passes_limits(error):
        most = min(rows.num_rows, _PIECE_ROWS)
        return (
            f"DuckDB cannot evaluate {_quoted(names)}: for {most} rows it takes more than {EXPRESSIONS.memory} of "
            f"memory, 2 GiB of text in a column or {EXPRESSIONS.seconds:g} seconds; give fewer rows, or simplify the "
            "expression"
        )
    why = reason(error) if written is None else _SOURCE.sub("", reason(error))
    failing, name = next(((e, n) for e, n in zip(expressions, names, strict=True) if _fails(e, rows)), (None, ""))
    if failing is None:
        return f"DuckDB cannot evaluate {_quoted(names)}: {why}"
    if _fails(failing, rows.slice(0, 0)):
        return f"DuckDB cannot evaluate {name!r}: {why}"
    good, bad = 0, rows.num_rows
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if _fails(failing, rows.slice(good, middle - good)) else (middle, bad)
    row = rows.slice(good, 1)
    shown = _shown(row) if written is None else _written(row, written.columns)
    return f"DuckDB cannot evaluate {name!r} for the row {shown}: {why}"


def _fails(expression: str, rows: pa.Table) -> bool:
    try:
        _evaluate([expression], rows)
    except (*_FAILURES, ExpressionError):
        return True
    return False


def _shown(row: pa.Table) -> str:
    return f"({shown_row(row, _SHOWN_COLUMNS)})"


def _written(row: pa.Table, columns: Sequence[str]) -> str:
    """A row under other names, by its values alone where there are none."""
    if columns:
        return _shown(row.rename_columns(list(columns)))
    values = [shown_scalar(column[0]) for column in row.columns[:_SHOWN_COLUMNS]]
    return "(" + ", ".join(values) + (", ..." if row.num_columns > _SHOWN_COLUMNS else "") + ")"


def _quoted(expressions: Sequence[str]) -> str:
    return ", ".join(repr(expression) for expression in expressions)
