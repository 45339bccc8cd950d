"""The arguments of a call: all that are written are kept, and there are as many as Spark's function takes.

sqlglot makes nodes of calls, and leaves out arguments that a node has no place for: it reads ``mod(a, 2, b)`` as
``a % 2``. Such a call becomes one of a function that nobody knows instead, with all of its arguments, so that the
number is checked where functions are bound. Of some functions sqlglot's node takes other numbers than Spark does,
``hex(s, 16)`` and ``nvl(a)`` for example; these are counted here, by Spark 4's error WRONG_NUM_ARGS.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

Build = Callable[..., exp.Expr]
"""What makes the node of a call, of its arguments and, if it has such a parameter, of the dialect."""

_COUNTS = {
    **dict.fromkeys(("BOOLEAN", "DATE", "DOUBLE", "FLOAT", "INT", "STRING", "TIMESTAMP"), (1, 1)),
    **dict.fromkeys(("DAY", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "MONTH", "TIME", "WEEKOFYEAR", "YEAR"), (1, 1)),
    **dict.fromkeys(("ARRAY_AGG", "COLLECT_LIST", "COLLECT_SET"), (1, 1)),
    **dict.fromkeys(("HEX", "INITCAP", "LOG10", "LOG2", "LOWER", "UPPER"), (1, 1)),
    **dict.fromkeys(("LTRIM", "RTRIM", "CEIL", "CEILING", "FLOOR"), (1, 2)),
    **dict.fromkeys(("IFNULL", "NVL", "DATE_FORMAT", "DATE_TRUNC", "DATE_SUB", "TRUNC"), (2, 2)),
    **dict.fromkeys(("DATEDIFF", "DATE_DIFF"), (2, 3)),
    "LEVENSHTEIN": (2, 3),
    "REGEXP_REPLACE": (3, 4),
}


class WrongCount(Exception):
    """A call has another number of arguments than its function takes.

    Args:
        given: How many it has.
        least: How many the function takes at least.
        most: How many it takes at most.
    """

    def __init__(self, given: int, least: int, most: int) -> None:
        super().__init__(given, least, most)
        self.given = given
        self.least = least
        self.most = most


def with_arguments(name: str, build: Build) -> Build:
    """What builds the node of a call, or a call of an unknown function where the node would lack an argument.

    Args:
        name: The function.
        build: sqlglot's way to make the node.

    Raises:
        WrongCount: When it builds a call of another number of arguments.
    """
    whole = _with_all(name, build)
    if name not in _COUNTS:
        return whole
    least, most = _COUNTS[name]

    def built(args: list[exp.Expr], **dialect: Dialect) -> exp.Expr:
        if not least <= len(args) <= most:
            raise WrongCount(len(args), least, most)
        return whole(args, **dialect)

    return built


def _with_all(name: str, build: Build) -> Build:
    """What builds the node of a call with all of its arguments, however many."""
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
