"""Expressions of Ibis as queries: ``db.create_view(name, x)`` takes a SQL text, or what one built with Ibis.

Ibis's own compiler writes an expression in Spark's SQL, which is then read as any other text, and refused as any other.
Ibis is imported where one of its expressions is met, or a table is asked for (``db.tables["orders"].to_ibis()``).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

import pyarrow as pa

from livejoin.errors import SchemaError, UnsupportedQueryError

_TYPES = {
    **{name: name for name in ("int8", "int16", "int32", "int64", "string", "binary")},
    "bool": "boolean",
    "float": "float32",
    "double": "float64",
    "date32[day]": "date",
}
"""Ibis's names of types, by Arrow's; Ibis's own table of them needs a further package."""
_EXTRA = "pip install 'livejoin[ibis]'"


class Expression(Protocol):
    """An expression of Ibis: a table, a column or a value."""

    def as_table(self) -> Any:
        """The expression as a table."""

    def unbind(self) -> Any:
        """The expression over names of tables alone."""


def sql_of(query: str | Expression) -> str:
    """The SQL text of an expression of Ibis over tables' names. What is none comes back as it is.

    Raises:
        SchemaError: The object is Ibis's, and no expression.
        UnsupportedQueryError: The expression has rows of its own, or something that Spark's SQL cannot say.

    >>> sql_of("SELECT 1 AS n")
    'SELECT 1 AS n'
    """
    if type(query).__module__.partition(".")[0] != "ibis":
        return cast("str", query)
    if not isinstance(query, import_module("ibis.expr.types").Expr):
        msg = f"the query is {query!r:.80} of Ibis, which is no expression; give a table, a column or a value"
        raise SchemaError(msg)
    return _compiled(query)


def _compiled(expression: Any) -> str:
    operations = import_module("ibis.expr.operations")
    problems = import_module("ibis.common.exceptions")
    compiler = _compiler()()
    table = expression.as_table()
    if table.op().find(operations.InMemoryTable):
        msg = "the expression has a memtable, whose rows are no table of the database; create a table and fill it"
        raise UnsupportedQueryError(msg, clause="memtable")
    try:
        tree = compiler.to_sqlglot(table.unbind())
        return str(tree.sql(dialect=compiler.dialect))
    except (problems.IbisError, NotImplementedError, AttributeError) as error:
        msg = f"Ibis cannot write the expression in Spark's SQL: {' '.join(str(error).split())}"
        raise UnsupportedQueryError(msg, clause="Ibis") from error


@cache
def _compiler() -> Any:
    """Ibis's compiler for Spark, without what it asks a setting of its backend for, which needs PySpark."""
    found = import_module("ibis.backends.sql.compilers")
    plain = import_module("ibis.backends.sql.compilers.base").SQLGlotCompiler.visit_Field
    return type("Compiler", (found.PySparkCompiler,), {"__slots__": (), "visit_Field": plain})


def ibis_table(name: str, schema: pa.Schema) -> Any:
    """A table of Ibis that stands for a table or view with that name.

    Raises:
        ImportError: Ibis is not installed.
        SchemaError: A column has a type that Ibis lacks.
    """
    try:
        ibis = import_module("ibis")
    except ModuleNotFoundError as error:
        msg = f"Ibis is not installed: {_EXTRA}"
        raise ImportError(msg, name=error.name) from error
    columns = {}
    for field in schema:
        kind = _type(field.type)
        if kind is None:
            msg = f"the column {field.name!r} of {name!r} is {field.type}, a type that Ibis lacks; write SQL instead"
            raise SchemaError(msg)
        columns[field.name] = ibis.dtype(kind, nullable=field.nullable)
    return ibis.table(columns, name=name)


def _type(kind: pa.DataType) -> str | None:
    """Ibis's name of a type of a column; None if it has none."""
    if isinstance(kind, pa.DictionaryType):
        return _type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return f"timestamp({kind.tz!r}, 6)" if kind.tz else "timestamp(6)"
    if pa.types.is_list(kind):
        inner = _type(kind.value_type)
        return inner and f"array<{inner}>"
    return _TYPES.get(str(kind))
