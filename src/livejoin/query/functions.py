"""What the functions of a DuckDB expression are, by DuckDB's own parser and catalog.

A maintained expression must be a function of its row: the row that is deleted must give the value that it gave when it
was inserted. So aggregates, window and table functions are outside, and so are functions that DuckDB does not declare
``CONSISTENT``. Macros are what the functions in their definitions are.

Its value must also be of a size that its row gives a bound for: ``range(1000000000)`` takes 8 GB from a row without
columns. Functions that make lists or bits as long as a number says are outside, and so is what grows too much
(`livejoin.query.growth`). And it must not tell the names that a
plan gives to columns, as ``COLUMNS('c0')`` and ``alias(a)`` do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import duckdb

from livejoin.errors import ExpressionError
from livejoin.query.growth import is_unbounded
from livejoin.query.session import EXPRESSIONS, reason, session

Kind = Literal["aggregate", "window", "table", "volatile", "sub-query", "unbounded", "naming"]

# DuckDB's parser leaves these words as column references.
_CLOCK_WORDS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})

_OUTSIDE: dict[str, Kind] = {
    **dict.fromkeys(("range", "generate_series", "list_resize", "array_resize", "bitstring"), "unbounded"),
    "alias": "naming",
    "unnest": "table",
}


def find_not_scalar(expression: str, columns: frozenset[str] = frozenset()) -> tuple[str, Kind] | None:
    """The first function call of an expression that is not a function of its row.

    Args:
        expression: A DuckDB expression.
        columns: Names of the columns that it may use, in lower case.

    Returns:
        The function's name and what it is, None if all are scalar.

    Raises:
        ExpressionError: The text does not parse.

    >>> find_not_scalar("upper(s) || sum(a)"), find_not_scalar("a + random()"), find_not_scalar("abs(a)")
    (('sum', 'aggregate'), ('random', 'volatile'), None)
    """
    for name, kind in _calls(_syntax_tree(expression), columns):
        found = kind or _kinds().get(name)
        if found is not None:
            return name, found
    return None


def kind_of(name: str) -> Kind | None:
    """What a function of DuckDB's is, None if it is a scalar one or DuckDB does not have it.

    >>> kind_of("MEDIAN"), kind_of("abs"), kind_of("nothing")
    ('aggregate', None, None)
    """
    return _kinds().get(name.lower())


def is_known(name: str) -> bool:
    """Whether DuckDB has a function of a name.

    >>> is_known("MEDIAN"), is_known("nothing")
    (True, False)
    """
    return name.lower() in _names()


def _syntax_tree(expression: str) -> Any:
    try:
        rows = _rows("SELECT json_serialize_sql($1)", f"SELECT {expression}")
    except duckdb.Error as error:
        msg = f"DuckDB cannot parse {expression!r}: {reason(error)}"
        raise ExpressionError(msg) from error
    tree: Any = json.loads(rows[0][0])
    if tree["error"]:
        msg = f"DuckDB cannot parse {expression!r}: {tree.get('error_message', 'not a single SELECT')}"
        raise ExpressionError(msg)
    return tree["statements"][0]["node"]["select_list"]


def _rows(query: str, *parameters: str) -> list[Any]:
    with session(EXPRESSIONS) as connection:
        return connection.execute(query, list(parameters)).fetchall()


def _calls(tree: Any, columns: frozenset[str]) -> Iterator[tuple[str, Kind | None]]:
    """Names of the functions called, with their kind where the syntax says it."""
    if isinstance(tree, list):
        for item in tree:
            yield from _calls(item, columns)
    elif isinstance(tree, dict):
        match tree.get("class"):
            case "FUNCTION":
                name = tree["function_name"].lower()
                yield name, "unbounded" if is_unbounded(tree) else None
            case "WINDOW":
                yield tree["function_name"].lower(), "window"
            case "SUBQUERY":
                yield "SELECT", "sub-query"
            case "STAR":
                yield "columns", "naming"
            case "COLUMN_REF" if len(tree["column_names"]) == 1:
                name = tree["column_names"][0].lower()
                if name in _CLOCK_WORDS - columns:
                    yield name, "volatile"
        for item in tree.values():
            yield from _calls(item, columns)


@cache
def _names() -> frozenset[str]:
    return frozenset(name for (name,) in _rows("SELECT DISTINCT lower(function_name) FROM duckdb_functions()"))


@cache
def _kinds() -> dict[str, Kind]:
    """The functions of DuckDB's catalog that are not scalar functions of their arguments."""
    query = "SELECT lower(function_name), function_type, stability, macro_definition FROM duckdb_functions()"
    types: dict[str, set[str]] = {}
    kinds: dict[str, Kind] = {}
    macros: dict[str, str] = {}
    for name, function_type, stability, definition in _rows(query):
        types.setdefault(name, set()).add(function_type)
        if function_type == "scalar" and stability != "CONSISTENT":
            kinds[name] = "volatile"
        if function_type == "macro" and definition is not None:
            macros[name] = definition
    for name, found in types.items():
        if not found & {"scalar", "macro"}:
            kinds.setdefault(name, "aggregate" if "aggregate" in found else "window" if "window" in found else "table")
    del kinds["error"]  # it has no value that could change
    kinds |= _OUTSIDE
    return kinds | _macro_kinds(macros, kinds)


def _macro_kinds(macros: dict[str, str], kinds: dict[str, Kind]) -> dict[str, Kind]:
    calls = {name: tuple(_calls(_syntax_tree(definition), frozenset())) for name, definition in macros.items()}

    def kind(name: str, above: frozenset[str]) -> Kind | None:
        if name not in calls or name in above:
            return kinds.get(name)
        inner = (given or kind(called, above | {name}) for called, given in calls[name])
        return next((found for found in inner if found is not None), kinds.get(name))

    found = {name: kind(name, frozenset()) for name in macros}
    return {name: value for name, value in found.items() if value is not None}
