"""SELECTs that give at most one row by their text: LIMIT without ORDER BY then keeps that row.

    SELECT SUM(v) FROM S LIMIT 100        SELECT * FROM (SELECT MAX(a) FROM R) x, (SELECT MAX(v) FROM S) y LIMIT 1

A SELECT with aggregates and without GROUP BY gives one row, or none with HAVING. A SELECT without aggregates gives at
most one if everything in its FROM does; only a FULL JOIN of two single rows may have two.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from livejoin.sql.lower.grouped.aggregates import find_aggregate


def limit_keeps_all(select: exp.Select) -> bool:
    """Whether a SELECT has a LIMIT of at least one row, no order and no OFFSET, and at most one row.

    Also true if the LIMIT is ALL.
    """
    limit = select.args.get("limit")
    if select.args.get("order") or select.args.get("offset") or not isinstance(limit, exp.Limit):
        return False
    number = limit.expression
    if isinstance(number, exp.Var) and number.name.upper() == "ALL":
        return True
    is_one = isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit() and int(number.name) > 0
    return is_one and gives_one_row(select)


def gives_one_row(query: exp.Expr) -> bool:
    """Whether a query gives at most one row for all tables; False if its text does not tell.

    >>> from sqlglot import parse_one
    >>> gives_one_row(parse_one("SELECT MAX(a) AS m FROM R")), gives_one_row(parse_one("SELECT a FROM R"))
    (True, False)
    >>> gives_one_row(parse_one("SELECT m, (SELECT MAX(v) FROM S) AS v FROM (SELECT MAX(a) AS m FROM R) x"))
    True
    """
    while isinstance(query, exp.Subquery) and not query.args.get("joins"):
        query = query.this
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("laterals"):
        return False
    if query.args.get("having") or any(_aggregates(item) for item in query.expressions):
        return True
    return all(side != "FULL" and gives_one_row(source) for side, source in _sources(query))


def _aggregates(item: exp.Expr) -> bool:
    return find_aggregate(item) is not None


def _sources(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """The items of FROM, each with the side of the join that brings it."""
    if first := select.args.get("from_"):
        yield "", first.this
    yield from ((join.side.upper(), join.this) for join in select.args.get("joins") or [])
