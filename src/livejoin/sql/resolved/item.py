"""The output columns of a SELECT list and the keys of an ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Item:
    """One output column before its type is known.

    Args:
        name: The name of the column, or the text of its expression for messages.
        value: The resolved expression.
        offset: The offset of the item in the text.
        role: The kind of item, for messages.
        written: The name before duplicate names got numbers; a sub-query's column keeps this name.
        alias_offset: The offset of the name after AS; None if there is none.
    """

    name: str
    value: exp.Expr
    offset: int
    role: str = "output column"
    written: str = ""
    alias_offset: int | None = None


@dataclass(frozen=True)
class SortBy:
    """A key in the text: an expression and its offset."""

    value: exp.Expr
    descending: bool
    nulls_first: bool
    offset: int


@dataclass(frozen=True)
class Order:
    """The keys of ORDER BY, at least one, and the numbers of LIMIT and OFFSET; None if all rows are kept."""

    keys: tuple[SortBy, ...]
    limit: int | None
    offset: int


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names made distinct without regard to case, in DuckDB's way.

    >>> distinct_names(["a", "a", "A", "a_1", "a", "a_1"])
    ['a', 'a_1', 'A_2', 'a_1_1', 'a_3', 'a_1_2']
    """
    uses: dict[str, int] = {}
    distinct: list[str] = []
    for name in names:
        found = name
        while found.lower() in uses:
            found = f"{name}_{uses[name.lower()]}"
            uses[name.lower()] += 1
        uses[found.lower()] = 1
        distinct.append(found)
    return distinct
