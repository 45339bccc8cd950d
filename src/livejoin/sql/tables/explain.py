"""``EXPLAIN``: the statement that asks what a query would cost as a view, or what a view costs.

``EXPLAIN SELECT ...`` is of a query, ``EXPLAIN name`` of a view, and ``EXPLAIN ANALYZE name`` of a view with what it
really cost. What is explained keeps its place in the text, so that errors name the right line and column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livejoin.errors import SqlSyntaxError
from livejoin.sql.tables.script import filled

_COMMENT = r"--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/"
_HEAD = re.compile(rf"(?:\s|;|{_COMMENT})*EXPLAIN\b(?P<analyze>(?:\s|{_COMMENT})+ANALYZE\b)?", re.IGNORECASE)
_NAME = re.compile(rf"(?:\s|{_COMMENT})*(?:`([^`]+)`|\"([^\"]+)\"|([A-Za-z_]\w*))(?:\s|;|{_COMMENT})*\Z")


@dataclass(frozen=True)
class Explain:
    """What an ``EXPLAIN`` asks for.

    Args:
        query: The text of a query, which stands where it was written; empty if a view is named.
        view: The name of a view; empty if there is a query.
        analyze: Whether what the view really cost is asked for, too.
    """

    query: str = ""
    view: str = ""
    analyze: bool = False


def read_explain(sql: str, parameters: object = None) -> Explain | None:
    """What a text that begins with ``EXPLAIN`` asks for; None for any other text.

    Args:
        sql: The text.
        parameters: The values of its places, as for `livejoin.sql.tables.script.pieces`.

    Raises:
        SqlSyntaxError: Nothing is named, ``ANALYZE`` stands before a query, or values are missing or too many.

    >>> read_explain("EXPLAIN ANALYZE totals;")
    Explain(query='', view='totals', analyze=True)
    >>> read_explain("explain SELECT a FROM t").query
    '        SELECT a FROM t'
    >>> read_explain("SELECT a FROM t")
    """
    head = _HEAD.match(sql) if isinstance(sql, str) else None  # what is no text is refused where it is parsed
    if head is None:
        return None
    rest, analyze = sql[head.end() :], head["analyze"] is not None
    if named := _NAME.match(rest):
        if parameters is not None:
            filled(sql, parameters)
        return Explain(view=named[1] or named[2] or named[3], analyze=analyze)
    lines = sql[: head.end()].splitlines() or [""]
    if not rest.strip(" \t\r\n;"):
        msg = "EXPLAIN needs a query or the name of a view: EXPLAIN SELECT ..., EXPLAIN name or EXPLAIN ANALYZE name"
        raise SqlSyntaxError(msg, sql, len(lines), len(lines[-1]))
    if analyze:
        msg = (
            "EXPLAIN ANALYZE tells what the commits into a view really cost, so it takes the name of a view: "
            "CREATE VIEW name AS SELECT ..., and then EXPLAIN ANALYZE name; EXPLAIN SELECT ... tells what is expected"
        )
        raise SqlSyntaxError(msg, sql, len(lines), len(lines[-1]))
    query = re.sub(r"[^\n]", " ", sql[: head.end()]) + rest
    return Explain(query=query if parameters is None else filled(query, parameters))
