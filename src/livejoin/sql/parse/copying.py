"""Copies of syntax trees, and their texts.

``Expr.copy`` and ``Expr.transform`` of sqlglot copy in depth what is in the ``meta`` of each node. That was a quarter
of the time of binding a query. All that is there is immutable, so here each node gets a dictionary of its own with
the same values. A text is written by a dialect that is made once, and not once a text.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import TypeVar

from sqlglot import Dialect, ErrorLevel, exp

Node = TypeVar("Node", bound=exp.Expr)


def copied(node: Node) -> Node:
    """A tree like the one below a node, which shares no node with it; it has no parent.

    Cost: O(nodes).

    >>> from sqlglot import parse_one
    >>> tree = parse_one("a + f(b, 2)")
    >>> tree.this.meta["ref"] = 1
    >>> other = copied(tree)
    >>> other == tree, other.this is tree.this, other.this.meta == tree.this.meta
    (True, False, True)
    """
    root = type(node)()
    waiting: list[tuple[exp.Expr, exp.Expr]] = [(node, root)]
    while waiting:
        old, new = waiting.pop()
        if old._meta is not None:
            new._meta = old._meta.copy()
        if old.comments is not None:
            new.comments = old.comments.copy()
        if old._type is not None:
            new._type = deepcopy(old._type)
        for key, value in old.args.items():
            if isinstance(value, exp.Expr):
                new.args[key] = _begun(value, new, key, None, waiting)
            elif isinstance(value, list):
                new.args[key] = [
                    _begun(one, new, key, index, waiting) if isinstance(one, exp.Expr) else one
                    for index, one in enumerate(value)
                ]
            else:
                new.args[key] = value
    return root


def _begun(
    old: exp.Expr, above: exp.Expr, key: str, index: int | None, waiting: list[tuple[exp.Expr, exp.Expr]]
) -> exp.Expr:
    """A node below another one, whose own arguments are still to be copied."""
    new = type(old)()
    new.parent, new.arg_key, new.index = above, key, index
    waiting.append((old, new))
    return new


def rewritten(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of a tree in which each node is what a function makes of it, from above; the tree itself stays.

    Below a node that the function exchanges nothing is asked for.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("a + 1")
    >>> other = rewritten(tree, lambda node: exp.column("b") if isinstance(node, exp.Column) else node)
    >>> str(tree), str(other)
    ('a + 1', 'b + 1')
    """
    return copied(node).transform(change, copy=False)


def sql_of(node: exp.Expr, dialect: str) -> str:
    """The text of a node, which may be changed by that, in a dialect as far as the dialect has it."""
    return _dialect(dialect).generate(node, copy=False, comments=False, unsupported_level=ErrorLevel.IGNORE)


@cache
def _dialect(name: str) -> Dialect:
    return Dialect.get_or_raise(name)
