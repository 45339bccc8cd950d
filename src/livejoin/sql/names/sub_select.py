"""Sub-queries in expressions with their names resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from livejoin.sql.names.nested import NestedQuery
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import Form

if TYPE_CHECKING:
    from livejoin.sql.lower.select_block import SelectBlock


@dataclass(frozen=True, eq=False)
class SubSelect:
    """A sub-query in an expression.

    Args:
        form: What is asked of it.
        comparison: The comparison of ANY and ALL.
        query: A SELECT, which may have outer columns, or any other query, which has none.
        source: The tokens of the query around it.
        offset: Where it begins.
    """

    form: Form
    comparison: type[exp.Expr] | None
    query: SelectBlock | NestedQuery
    source: Source
    offset: int
