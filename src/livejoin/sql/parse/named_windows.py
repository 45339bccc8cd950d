"""Windows that a SELECT names in its WINDOW clause: the definition replaces the name in each OVER.

    SELECT SUM(x) OVER w AS s, RANK() OVER w AS r FROM R WINDOW w AS (PARTITION BY k ORDER BY t)
      =  SELECT SUM(x) OVER (PARTITION BY k ORDER BY t) AS s, RANK() OVER (PARTITION BY k ORDER BY t) AS r FROM R

A window may begin with the name of another one: ``(w ORDER BY t)`` has the partitions of ``w``.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import TokenType, exp

from livejoin.errors import SqlSyntaxError, UnknownNameError
from livejoin.sql.parse.source import Source, offset_of


def named_windows(select: exp.Select, source: Source) -> None:
    """Replace the names of windows by their definitions, and remove the WINDOW clause.

    Raises:
        SqlSyntaxError: There is no AS after a name.
        UnknownNameError: A name is unknown, defined twice, or defined by itself.
        UnsupportedQueryError: A window repeats a part of the window that it refers to.
    """
    clause = source.find_outermost({TokenType.WINDOW}, default=source.tokens[0].start)
    named: dict[str, exp.Window] = {}
    for one in select.args.get("windows") or ():
        at = offset_of(one.this, clause)
        if next((token.token_type for token in source.tokens if token.start > at), None) != TokenType.ALIAS:
            msg = f"AS is missing behind {one.name!r}; write WINDOW {one.name} AS (PARTITION BY ... ORDER BY ...)"
            raise source.error(SqlSyntaxError, msg, at)
        if one.name.lower() in named:
            msg = f"WINDOW defines {one.name!r} twice; give each window its own name"
            raise source.error(UnknownNameError, msg, at)
        named[one.name.lower()] = one
    for node in list(select.walk(prune=lambda part: isinstance(part, exp.Query) and part is not select)):
        if isinstance(node, exp.Window) and node.args.get("over") and node.args.get("alias"):
            _complete(node, named, (), source)
    select.set("windows", None)


def _complete(window: exp.Window, named: Mapping[str, exp.Window], before: tuple[str, ...], source: Source) -> None:
    """Add the parts of the window that a window refers to; ``before`` are the names on the way to it."""
    alias = window.args.get("alias")
    if alias is None:
        return
    name, at = alias.name.lower(), offset_of(alias, source.tokens[0].start)
    base = named.get(name)
    if base is None or name in before:
        known = "; ".join(f"WINDOW has {one.name!r}" for one in named.values()) or "there is no WINDOW clause"
        what = "is defined by itself" if base is not None else f"is not there: {known}"
        msg = f"the window {alias.name!r} {what}; write WINDOW {alias.name} AS (PARTITION BY ... ORDER BY ...)"
        raise source.error(UnknownNameError, msg, at)
    _complete(base, named, (*before, name), source)
    window.set("alias", None)
    for part, clause in (("partition_by", "PARTITION BY"), ("order", "ORDER BY"), ("spec", "a frame")):
        given = base.args.get(part)
        if not given:
            continue
        if window.args.get(part):
            msg = f"the window {alias.name!r} has {clause} already; write the whole window behind OVER"
            raise source.unsupported("WINDOW", msg, at)
        window.set(part, [one.copy() for one in given] if isinstance(given, list) else given.copy())
