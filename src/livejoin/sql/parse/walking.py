"""All nodes of a syntax tree, as a list.

``Expr.walk`` and ``Expr.find_all`` of sqlglot hand on each node by two generators, one within the other. They were a
sixth of the time of binding a query. These here look at the whole tree before they give anything: take sqlglot's where
the first node that is found mostly ends the search, or where the tree changes meanwhile.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

Node = TypeVar("Node", bound=exp.Expr)


def nodes(tree: exp.Expr) -> list[exp.Expr]:
    """A node and all below it, level by level, as ``Expr.walk`` gives them.

    Cost: O(nodes).

    >>> from sqlglot import parse_one
    >>> [node.key for node in nodes(parse_one("a + f(b, 2)"))]
    ['add', 'column', 'anonymous', 'identifier', 'column', 'literal', 'identifier']
    """
    found = [tree]
    for node in found:
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [one for one in value if isinstance(one, exp.Expr)]
    return found


def nodes_of(tree: exp.Expr, kind: type[Node]) -> list[Node]:
    """The nodes of a class among `nodes`.

    >>> from sqlglot import parse_one
    >>> [column.name for column in nodes_of(parse_one("a + f(b, 2)"), exp.Column)]
    ['a', 'b']
    """
    return [node for node in nodes(tree) if isinstance(node, kind)]
