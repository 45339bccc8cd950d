"""PIVOT and UNPIVOT, which are of all that stands before them in FROM, as in Spark.

sqlglot hangs them on the table or on the join before. Those behind all of FROM hang on the SELECT here; behind others
further joins follow.

    FROM a, b JOIN c ON x PIVOT (...) AS p JOIN d ON y  =  FROM ((a, b JOIN c ON x) PIVOT (...) AS p) JOIN d ON y
"""

from __future__ import annotations

from sqlglot import exp

PIVOTS = "pivots"


def take_pivots(select: exp.Select) -> None:
    """Hang the PIVOT clauses behind the last table of FROM on the SELECT; those elsewhere stay where they are.

    So do those in front of an ON, which Spark does not take.
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
    """The PIVOT clauses behind a join, of all that stands before them."""
    return [*(join.this.args.get(PIVOTS) or ()), *(join.args.get(PIVOTS) or ())]
