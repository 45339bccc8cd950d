"""GROUP BY as sets of expressions: ROLLUP, CUBE and GROUPING SETS, as the SQL standard expands them.

    ROLLUP (a, b)  =  GROUPING SETS ((a, b), (a), ())          CUBE (a, b)  =  GROUPING SETS ((a, b), (a), (b), ())

Several elements of GROUP BY are multiplied: `GROUP BY a, ROLLUP (b)` has the sets (a, b) and (a). GROUPING SETS within
GROUPING SETS add their sets. A set that occurs twice gives its groups twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from sqlglot import TokenType, exp

from livejoin.sql.parse.source import Source

Sets = list[tuple[exp.Expr, ...]]

MOST_SETS = 64  # each is groups of its own; CUBE of six columns


def grouping_sets(group: exp.Group, source: Source) -> Sets | None:
    """The sets of a GROUP BY; None for a plain list of expressions.

    Args:
        group: The clause.
        source: The SQL text.

    Raises:
        UnsupportedQueryError: There are too many sets.
    """
    behind = [
        *(group.args.get("rollup") or ()),
        *(group.args.get("cube") or ()),
        *(group.args.get("grouping_sets") or ()),
    ]
    if behind:
        # Hive's GROUP BY a, b WITH ROLLUP and GROUP BY a, b GROUPING SETS (...)
        found = [one for node in behind for one in _sets(node, list(group.expressions), source)]
    elif any(isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)) for node in group.expressions):
        elements = [_sets(node, [], source) for node in group.expressions]
        number = 1
        for element in elements:
            number *= len(element)
        _refuse_many(number, source)
        found = [tuple(part for one in chosen for part in one) for chosen in product(*elements)]
    else:
        return None
    _refuse_many(len(found), source)
    return found


def _sets(node: exp.Expr, outside: Sequence[exp.Expr], source: Source) -> Sets:
    """The sets of an element of GROUP BY.

    Args:
        node: The element.
        outside: The expressions of ROLLUP and CUBE if they name none.
        source: The SQL text.
    """
    match node:
        case exp.Rollup():
            parts = _parts(node.expressions or outside)
            return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = _parts(node.expressions or outside)
            _refuse_many(1 << len(parts), source)
            return [_joined(chosen) for n in range(len(parts), -1, -1) for chosen in combinations(parts, n)]
        case exp.GroupingSets():
            return [one for part in node.expressions for one in _sets(part, outside, source)]
        case _:
            return [_part(node)]


def _parts(nodes: Sequence[exp.Expr]) -> Sets:
    return [_part(node) for node in nodes]


def _part(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """One expression, or several in parentheses."""
    return tuple(node.expressions) if isinstance(node, exp.Tuple) else (node,)


def _joined(parts: Sequence[tuple[exp.Expr, ...]]) -> tuple[exp.Expr, ...]:
    return tuple(expression for part in parts for expression in part)


def _refuse_many(number: int, source: Source) -> None:
    if number > MOST_SETS:
        msg = f"GROUP BY has {number:,} grouping sets, each of which is groups of its own; allowed are {MOST_SETS}"
        raise source.unsupported("GROUP BY", msg, source.find_outermost({TokenType.GROUP_BY}))
