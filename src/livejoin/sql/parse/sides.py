"""Sub-queries that are asked of one side of a UNION after the other.

    EXISTS (a UNION b)      =  EXISTS (a) OR EXISTS (b)
    x IN (a UNION b)        =  x IN (a) OR x IN (b)          as with ANY
    x < ALL (a UNION b)     =  x < ALL (a) AND x < ALL (b)

So the sides may be correlated in different ways. NULL comes out as it would of the UNION.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from livejoin.sql.parse.sub_queries import has_marks, mark_of, marked


def of_sides(node: exp.Expr, sides: Mapping[int, tuple[int, ...]], of_all: frozenset[int]) -> exp.Expr:
    """An expression in which some marks are those of several sub-queries.

    Args:
        node: The expression.
        sides: The numbers of the sub-queries in the place of each.
        of_all: Which of them ask for ALL.
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
