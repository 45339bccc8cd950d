"""now() in WHERE: the time of the database, which is the one row of a table.

    WHERE ts > now() - INTERVAL '1' HOUR
    WHERE ts > (SELECT MAX(at) FROM livejoin_now) - INTERVAL '1' HOUR       what is read in its place

So a view with now() is a query over tables: its state, its deltas, snapshots, undo and replays are those of any other
one. Where now() stands elsewhere it stays a function, and is refused as one whose value changes from call to call.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlglot import Token, TokenType, exp

from livejoin.schema.now import NOW, NOW_COLUMN
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.walking import nodes

_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_SUB_QUERY = (
    (TokenType.L_PAREN, "(", 0),
    (TokenType.SELECT, "SELECT", 0),
    (TokenType.VAR, "MAX", 1),
    (TokenType.L_PAREN, "(", 1),
    (TokenType.VAR, NOW_COLUMN, 1),
    (TokenType.R_PAREN, ")", 1),
    (TokenType.ALIAS, "AS", 1),
    (TokenType.VAR, "now_{}", 1),
    (TokenType.FROM, "FROM", 2),
    (TokenType.VAR, NOW, 0),
    (TokenType.R_PAREN, ")", 2),
)
"""The tokens that are read in place of a call, and how far behind its begin each stands: what is selected stands behind
its SELECT, and errors point at the call. Each call has a name of its own, so that two bounds are two sub-queries."""


def times_in(tree: exp.Expr) -> frozenset[int]:
    """The offsets of the calls of now() that a condition of WHERE compares with a column.

    Such a call stands on one side of <, <=, >, >= or in BETWEEN, with intervals added or subtracted, and another side
    reads a column. The comparison is a condition of its own or joined to others by AND.

    >>> from sqlglot import parse_one
    >>> sorted(times_in(parse_one("SELECT a FROM t WHERE a > now() AND (b OR c < now())", "spark")))
    [26]
    """
    return frozenset(node.meta["start"] for node in _calls(tree) if "start" in node.meta and _is_compared(node))


def _calls(tree: exp.Expr) -> Iterator[exp.Expr]:
    for node in nodes(tree):
        is_call = isinstance(node, exp.Anonymous) and node.name.lower() == "now"
        is_named = is_call or isinstance(node, exp.CurrentTimestamp)
        if is_named and not list(node.iter_expressions()):
            yield node


def _is_compared(call: exp.Expr) -> bool:
    side = call
    while isinstance(side.parent, exp.Paren) or (
        isinstance(side.parent, (exp.Add, exp.Sub)) and _is_moved(side.parent, side)
    ):
        side = side.parent
    comparison = side.parent
    if not isinstance(comparison, (exp.Between, *_COMPARISONS)):
        return False
    others = [other for other in comparison.iter_expressions() if other is not side]
    if not any(other.find(exp.Column) for other in others):
        return False
    above = comparison.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, exp.Where) and isinstance(above.parent, exp.Select)


def _is_moved(sum_: exp.Expr, side: exp.Expr) -> bool:
    """Whether a sum is a side and a constant interval, which is not what a time is subtracted from."""
    if sum_.expression is side and isinstance(sum_, exp.Sub):
        return False
    other = sum_.expression if sum_.this is side else sum_.this
    return isinstance(other.unnest(), exp.Interval) and not other.find(exp.Column, exp.Query)


def with_times(source: Source, times: Set[int]) -> Source:
    """A text whose calls of now() at some offsets are read as the row of the table."""
    tokens: list[Token] = []
    position = calls = 0
    while position < len(source.tokens):
        first = source.tokens[position]
        if first.start not in times:
            tokens.append(first)
            position += 1
            continue
        is_called = source.tokens[position + 1 : position + 2]
        end = position + (2 if is_called and is_called[0].token_type == TokenType.L_PAREN else 0)
        last = source.tokens[end]
        line, column, begin = first.line, first.col, first.start
        calls += 1
        tokens += [
            Token(kind, text.format(calls), line, column, begin + behind, last.end, [])
            for kind, text, behind in _SUB_QUERY
        ]
        position = end + 1
    return Source(source.sql, tuple(tokens))


def split_bounds(tree: exp.Expr, times: Set[int]) -> None:
    """Make two comparisons of ``now() BETWEEN a AND b``, of which each has a sub-query of its own."""
    for between in list(tree.find_all(exp.Between)):
        table = between.this.find(exp.Table)
        if table is None or table.name != NOW or table.this.meta.get("start") not in times:
            continue
        other = between.this.copy()
        for alias in other.find_all(exp.Alias):
            alias.set("alias", exp.to_identifier(f"{alias.alias}_again"))
        low = exp.LTE(this=between.args["low"], expression=between.this)
        between.replace(exp.And(this=low, expression=exp.LTE(this=other, expression=between.args["high"])))
