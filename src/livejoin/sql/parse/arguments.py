"""Calls keep every argument that is written.

sqlglot makes nodes of calls, and leaves out arguments that a node has no place for: it reads ``mod(a, 2, b)`` as
``a % 2``. Such a call becomes one of a function that nobody knows instead, with all of its arguments, so that the
number is checked where functions are bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

Build = Callable[..., exp.Expr]
"""What makes the node of a call, of its arguments and, if it has such a parameter, of the dialect."""


def with_all_arguments(name: str, build: Build) -> Build:
    """What builds the node of a call, or a call of an unknown function where the node would lack an argument.

    Args:
        name: The function.
        build: sqlglot's way to make the node.
    """
    if getattr(build, "__name__", "") == "from_arg_list":
        return build  # these are counted by sqlglot

    def plain(args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
        try:  # as sqlglot calls it
            return build(args)
        except TypeError:
            return build(args, dialect=dialect)

    @cache
    def keeps(count: int, dialect: type[Dialect]) -> bool:
        names = [f"argument_{place}" for place in range(count)]
        try:
            node = plain([exp.column(one) for one in names], dialect())
        except Exception:  # it wants other arguments than columns, and says so when it has them
            return True
        return set(names) <= {part.name.lower() for part in node.walk()}

    def built(args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
        if keeps(len(args), type(dialect)):
            try:
                return plain(args, dialect)
            except (IndexError, ValueError):  # too few
                pass
        return exp.Anonymous(this=name, expressions=args)

    return built
