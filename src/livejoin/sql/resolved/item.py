"""What a SELECT list and an ORDER BY have: output columns, and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class Item:
    """One output column before its type is known.

    Args:
        name: Its name, or for messages the text of its expression.
        value: Its expression, resolved.
        offset: Where it is written.
        role: What it is, for messages.
        written: Its name before names that occur twice got numbers: that of a sub-query's column.
        alias_offset: Where its name is written behind AS; None if it has none.
    """

    name: str
    value: exp.Expr
    offset: int
    role: str = "output column"
    written: str = ""
    alias_offset: int | None = None


@dataclass(frozen=True)
class SortBy:
    """A key as it is written: an expression, and the offset of it."""

    value: exp.Expr
    descending: bool
    nulls_first: bool
    offset: int


@dataclass(frozen=True)
class Order:
    """The keys of ORDER BY, at least one, and the numbers behind LIMIT and OFFSET; None where all rows are kept."""

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
