"""Factors of annotations in tests, and what people see of expressions."""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot

from livejoin.query import Factor, Output
from livejoin.query.scalar import Expression
from livejoin.sql.parse.parse import SparkAnsi
from livejoin.sql.scalars.duckdb_text import for_duckdb


def factor(atom: int, text: str) -> Factor:
    """A factor that the test itself evaluates, by its text."""
    return Factor(atom, Expression(text, None))


def in_duckdb(expression: Expression) -> str:
    """An expression in DuckDB's SQL."""
    if expression.scalar is None:
        return expression.text
    return sqlglot.parse_one(expression.text, dialect=SparkAnsi).transform(for_duckdb).sql("duckdb", identify=True)


def text_of(expression: Expression | None) -> str | None:
    """The text of an expression that there may be."""
    return None if expression is None else expression.text


def sources(outputs: Iterable[Output]) -> list[int | str]:
    """What outputs copy or compute."""
    return [output.source if isinstance(output.source, int) else output.source.text for output in outputs]


def texts(factors: Iterable[Factor]) -> list[tuple[int, str]]:
    """The atoms and texts of factors."""
    return [(factor.atom, factor.expression.text) for factor in factors]
