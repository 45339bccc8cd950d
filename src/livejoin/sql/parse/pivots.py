"""PIVOT and UNPIVOT apply to all items before them in FROM, as in Spark.

sqlglot attaches them to the table or join before. Here, those at the end of FROM are attached to the SELECT. Others are
followed by further joins:

    FROM a, b JOIN c ON x PIVOT (...) AS p JOIN d ON y  =  FROM ((a, b JOIN c ON x) PIVOT (...) AS p) JOIN d ON y
"""

from __future__ import annotations

from sqlglot import exp

PIVOTS = "pivots"


def take_pivots(select: exp.Select) -> None:
    """Attach the PIVOT clauses after the last table of FROM to the SELECT; others stay where they are.

    A PIVOT before an ON stays too; Spark does not allow it.
    """
    if select.args.get("from_") is None:
        return
    last: exp.Expr = select.args["from_"].this
    found: list[exp.Expr] = []
    while joins := last.args.get("joins") or (select.args.get("joins") if last is select.args["from_"].this else None):
        found += joins[-1].args.pop(PIVOTS, None) or []
        last = joins[-1].this
        if is_before_condition(joins[-1]):
            break
    else:
        found = (last.args.pop(PIVOTS, None) or []) + found
    if found:
        select.set(PIVOTS, found)


def is_before_condition(join: exp.Join) -> bool:
    """Whether a PIVOT stands between the right side of a join and its ON or USING."""
    on = join.args.get("on")
    has_condition = bool(join.args.get("using")) or not (on is None or (isinstance(on, exp.Boolean) and on.this))
    return has_condition and bool(join.this.args.get(PIVOTS))


def pivots_behind(join: exp.Join) -> list[exp.Pivot]:
    """The PIVOT clauses after a join, which apply to all items before them."""
    return [*(join.this.args.get(PIVOTS) or ()), *(join.args.get(PIVOTS) or ())]
