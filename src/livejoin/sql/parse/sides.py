"""Sub-queries that are UNIONs, asked one side after the other.

    EXISTS (a UNION b)      =  EXISTS (a) OR EXISTS (b)
    x IN (a UNION b)        =  x IN (a) OR x IN (b)          as with ANY
    x < ALL (a UNION b)     =  x < ALL (a) AND x < ALL (b)

The sides may then be correlated in different ways. NULL results are those of the UNION.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from livejoin.sql.parse.sub_queries import has_marks, mark_of, marked


def of_sides(node: exp.Expr, sides: Mapping[int, tuple[int, ...]], of_all: frozenset[int]) -> exp.Expr:
    """An expression in which marks of UNIONs are replaced by marks of their sides.

    Args:
        node: The expression.
        sides: For each mark the numbers of the sub-queries in its place.
        of_all: The marks of comparisons with ALL.
    """
    if not has_marks(node):
        return node

    def exchanged(part: exp.Expr) -> exp.Expr:
        number = marked(part)
        if number is None or number not in sides:
            return part
        operands = [operand.transform(exchanged) for operand in part.expressions]
        asked = [mark_of(one, [value.copy() for value in operands], part.meta["start"]) for one in sides[number]]
        return exp.paren((exp.and_ if number in of_all else exp.or_)(*asked, wrap=False))

    return node.transform(exchanged)
