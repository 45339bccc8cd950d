"""Scalar expressions over Arrow tables, evaluated by DuckDB a batch at a time.

An expression is DuckDB text over the table's columns (double-quoted where their names ask for it). The law: value i of
a result belongs to row i, for any number of rows, and depends on that row alone. All meaning is DuckDB's: what else
evaluates anything, `livejoin.query.condition`, takes only what Arrow evaluates alike (decision 17).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import ExpressionError
from livejoin.query.session import reason, session

_SHOWN_COLUMNS = 8
_SOURCE = re.compile(r" when casting from source column \w+")


def infer_types(expressions: Sequence[str], schema: pa.Schema) -> list[pa.DataType]:
    """The Arrow type of each expression over columns of the given types.

    Cost: one DuckDB query over no rows, about 1 ms.

    Raises:
        ExpressionError: DuckDB cannot bind an expression, or it is not scalar.

    >>> infer_types(["a + 1", "upper(s)", "NULL"], pa.schema([("a", pa.int64()), ("s", pa.string())]))
    [DataType(int64), DataType(string), DataType(int32)]
    """
    return [column.type for column in evaluate(expressions, schema.empty_table())]


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
        written: What errors show; the expressions and the columns' names if None.

    Returns:
        One array an expression, of the type that `infer_types` gives.

    Raises:
        ExpressionError: DuckDB cannot evaluate an expression for some row; the message shows both.

    Cost: one DuckDB query, about 1 ms and then the rows times the expressions.

    >>> [values.to_pylist() for values in evaluate(["a * 2", "a > 1"], pa.table({"a": [1, 2, None]}))]
    [[2, 4, None], [False, True, None]]
    """
    if not expressions:
        return []
    try:
        return _evaluate(expressions, rows)
    except duckdb.Error as error:
        raise ExpressionError(_explain(expressions, rows, error, written)) from error


def select_each_true(
    predicates: Sequence[str], rows: pa.Table, written: Written | None = None
) -> list[npt.NDArray[np.bool_]]:
    """For each predicate, which rows it is true for; NULL counts as false. Cost and errors as for `evaluate`.

    >>> select_each_true(["a > 1", "a IS NULL"], pa.table({"a": [1, 2, None]}))
    [array([False,  True, False]), array([False, False,  True])]
    """
    masks = evaluate([f"({predicate}) IS TRUE" for predicate in predicates], rows, written)
    return [cast("npt.NDArray[np.bool_]", mask.to_numpy()) for mask in masks]


def select_true(predicate: str, rows: pa.Table, written: Written | None = None) -> npt.NDArray[np.bool_]:
    """Which rows a predicate is true for; NULL counts as false. Cost and errors as for `evaluate`.

    >>> select_true("a > 1", pa.table({"a": [1, 2, None]}))
    array([False,  True, False])
    """
    return select_each_true([predicate], rows, written)[0]


def _evaluate(expressions: Sequence[str], rows: pa.Table) -> list[pa.ChunkedArray]:
    # DuckDB has no relations without columns.
    source = rows if rows.num_columns else pa.table({"": pa.nulls(rows.num_rows, pa.bool_())})
    items = ", ".join(f"({expression}) AS e{i}" for i, expression in enumerate(expressions))
    result = session().from_arrow(source).project(items).to_arrow_table()
    if result.num_rows != rows.num_rows:
        msg = (
            f"{_quoted(expressions)} gives {result.num_rows} values for {rows.num_rows} rows; "
            "allowed are scalar expressions, with one value a row"
        )
        raise ExpressionError(msg)
    return [_normal(column) for column in result.columns]


def _normal(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The bare NULL has the type INTEGER, as in a DuckDB table made from it."""
    return values.cast(pa.int32()) if pa.types.is_null(values.type) else values


def _explain(expressions: Sequence[str], rows: pa.Table, error: duckdb.Error, written: Written | None) -> str:
    """The first expression that fails, the first row that it fails for, and why. Cost: log(rows) evaluations."""
    names = written.expressions if written else expressions
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
    except (duckdb.Error, ExpressionError):
        return True
    return False


def _shown(row: pa.Table) -> str:
    values: dict[str, Any] = row.select(range(min(row.num_columns, _SHOWN_COLUMNS))).to_pylist()[0]
    more = ", ..." if row.num_columns > _SHOWN_COLUMNS else ""
    return "(" + ", ".join(f"{name} = {value!r:.80}" for name, value in values.items()) + more + ")"


def _written(row: pa.Table, columns: Sequence[str]) -> str:
    """A row under other names, by its values alone where there are none."""
    if columns:
        return _shown(row.rename_columns(list(columns)))
    values = [f"{column[0].as_py()!r:.80}" for column in row.columns[:_SHOWN_COLUMNS]]
    return "(" + ", ".join(values) + (", ..." if row.num_columns > _SHOWN_COLUMNS else "") + ")"


def _quoted(expressions: Sequence[str]) -> str:
    return ", ".join(repr(expression) for expression in expressions)
