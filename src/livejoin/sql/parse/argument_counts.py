"""How many arguments Spark's functions take, of those for which sqlglot takes others and leaves some out.

``hex(s, 16)`` would be ``hex(s)`` in sqlglot's tree, and ``nvl(a)`` would be ``coalesce(a)``; Spark refuses both. The
numbers are those of Spark 4's error WRONG_NUM_ARGS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

Build = Callable[..., exp.Expr]

_COUNTS = {
    **dict.fromkeys(("BOOLEAN", "DATE", "DOUBLE", "FLOAT", "INT", "STRING", "TIMESTAMP"), (1, 1)),
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


def counted(name: str, build: Build) -> Build:
    """What builds the call of a function, which counts the arguments if the function is in the table.

    Raises:
        WrongCount: When it builds a call of another number of arguments.
    """
    if name not in _COUNTS:
        return build
    least, most = _COUNTS[name]

    def built(args: list[exp.Expr], **dialect: Any) -> exp.Expr:
        if not least <= len(args) <= most:
            raise WrongCount(len(args), least, most)
        return build(args, **dialect)

    return built
