"""The arguments of a call: none is dropped, and their number is that of Spark's function.

sqlglot makes nodes of calls and drops arguments for which a node has no place: it reads ``mod(a, 2, b)`` as ``a % 2``.
Such a call becomes one of an unknown function instead, with all of its arguments, so that the number is checked when
functions are bound. For some functions, such as ``hex(s, 16)`` and ``nvl(a)``, sqlglot's node accepts other numbers
than Spark. These are counted here, as in Spark 4's error WRONG_NUM_ARGS.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from livejoin.handlers import raised_by_handler

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
        given: How many arguments the call has.
        least: How many the function needs.
        most: How many the function takes.
    """

    def __init__(self, given: int, least: int, most: int) -> None:
        super().__init__(given, least, most)
        self.given = given
        self.least = least
        self.most = most


def with_arguments(name: str, build: Build) -> Build:
    """The builder for the node of a call, or for a call of an unknown function where the node would drop an argument.

    Args:
        name: The function.
        build: sqlglot's builder.

    Raises:
        WrongCount: The builder got another number of arguments than the function takes.
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
    """The builder for a node with all arguments of the call, however many."""
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
        except Exception as error:  # it wants other arguments than columns, and says so when it has them
            if raised_by_handler(error):
                raise
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
