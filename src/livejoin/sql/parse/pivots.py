"""PIVOT and UNPIVOT, which are of all that stands before them in FROM.

sqlglot hangs them on the last table, or on the last join; here they hang on the SELECT.
"""

from __future__ import annotations

from sqlglot import exp

PIVOTS = "pivots"


def take_pivots(select: exp.Select) -> None:
    """Hang the PIVOT clauses behind the last table of FROM on the SELECT; those elsewhere stay where they are."""
    if select.args.get("from_") is None:
        return
    last: exp.Expr = select.args["from_"].this
    found: list[exp.Expr] = []
    while True:
        joins = last.args.get("joins") if last is not select else None
        joins = joins or (select.args.get("joins") if last is select.args["from_"].this else None)
        if not joins:
            break
        found += joins[-1].args.pop(PIVOTS, None) or []
        last = joins[-1].this
    found = (last.args.pop(PIVOTS, None) or []) + found
    if found:
        select.set(PIVOTS, found)
