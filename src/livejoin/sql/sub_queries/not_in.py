"""NOT IN of several columns: SQL's comparison of rows with NULLs.

``(a, b) = (x, y)`` is FALSE if one pair differs, TRUE if all are equal, and else NULL. So ``(a, b) NOT IN (q)`` is TRUE
if and only if every row of q differs from (a, b) in a column where neither is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from sqlglot import exp

from livejoin.sql.resolved.outer import lifted
from livejoin.sql.resolved.query import SelectBlock, SubSelect
from livejoin.sql.sub_queries.parts import Parts

_MOST_WAYS = 27  # three columns of which either side may be NULL


def unknown_ways(
    parts: Parts, block: SelectBlock, operands: Sequence[exp.Expr], equal: Sequence[exp.Expr], sub: SubSelect
) -> list[list[exp.Expr]]:
    """The ways in which a row of a sub-query can equal the operands up to NULLs, with at least one NULL.

    Each way is a list of conditions: for every column, that it equals the operand, or that one of the two is NULL.
    Columns that are known not to be NULL need fewer ways.

    Raises:
        UnsupportedQueryError: There are too many ways.
        UnsupportedQueryError: There are too many.
    """
    cases = []  # none for EXISTS, which has no operands
    for item, operand, equality in zip(block.items, operands, equal, strict=False):
        found = [equality]
        if not parts.never_null(item.value, block):
            found.append(exp.Is(this=exp.paren(item.value.copy()), expression=exp.null()))
        if not parts.never_null(operand, parts.block):
            found.append(exp.Is(this=exp.paren(lifted(operand)), expression=exp.null()))
        cases.append(found)
    if prod(map(len, cases)) > _MOST_WAYS:
        msg = (
            f"NOT IN of {len(operands)} columns that may be NULL compares in {prod(map(len, cases))} ways, and at "
            f"most {_MOST_WAYS} are supported; declare columns NOT NULL, add IS NOT NULL to both queries, or write "
            "NOT EXISTS with equalities"
        )
        raise sub.source.unsupported("NOT IN", msg, sub.offset)
    return [list(way) for way in product(*cases)][1:]
