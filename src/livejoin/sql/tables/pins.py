"""Conditions that name one value of a column, as ``id = 5``: what a look-up needs to find the rows of a query."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from sqlglot import TokenType, exp

from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import Source, shown

_TRUE = "TRUE"
_LARGEST = 2**63 - 1
_DECIMAL = re.compile(r"\d+\.\d*|\.\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_LITERAL = re.compile(
    r"(?P<open>(L_PAREN |DASH )*)(NUMBER (DCOLON DECIMAL )?|((DATE|TIMESTAMPTZ) )?STRING )(?P<close>(R_PAREN )*)"
)
_MOST = 20  # tokens of a literal that is looked at

Constant: TypeAlias = int | str | Decimal | dt.date | dt.datetime
"""A value that a literal of SQL says."""


@dataclass(frozen=True)
class Pin:
    """A condition ``column = constant`` that each row meets which a query looks at.

    Args:
        value: The constant, where it is written as a literal; else None, as for a double and for what is computed.
        span: Where the whole condition begins and ends in the query; None where that is not known.
        node: The constant as it was parsed.
    """

    value: Constant | None
    span: tuple[int, int] | None
    node: exp.Expr

    @property
    def text(self) -> str:
        """The constant as SQL."""
        return shown(self.node)


@dataclass(frozen=True)
class Pins:
    """A query of one table or view whose condition names values.

    Args:
        query: The query.
        name: The table or view, as it is written.
        columns: The conditions by their columns in lower case; of several of one column the first.
    """

    query: str
    name: str
    columns: dict[str, Pin]

    def without(self, columns: Collection[str]) -> str:
        """The query over rows that meet the conditions of some columns.

        >>> pins = pins_of("SELECT a FROM t WHERE t.id = -5 AND b > 2 AND `name` = 'Zoë'")
        >>> pins.without(["id", "name"])
        'SELECT a FROM t WHERE TRUE AND b > 2 AND TRUE'
        """
        text = self.query
        spans = (self.columns[column].span for column in columns)
        for begin, end in sorted((span for span in spans if span is not None), reverse=True):
            text = f"{text[:begin]}{_TRUE}{text[end:]}"
        return text


@within_depth
def pins_of(query: str) -> Pins | None:
    """What a query's condition says of single columns of the one table that it reads.

    Args:
        query: The query; of one that reads several tables, or one of them twice as in a sub-query, nothing is said.

    Returns:
        The conditions; None if there are none.

    Raises:
        SqlError: The text does not parse.

    >>> pins = pins_of("SELECT * FROM t WHERE id = 5 AND (s LIKE 'a%' OR s IS NULL) AND t.day = DATE '2026-01-01'")
    >>> [(column, pin.text) for column, pin in pins.columns.items()]
    [('id', '5'), ('day', "CAST('2026-01-01' AS DATE)")]
    >>> pins_of("SELECT * FROM t WHERE id = 5 OR TRUE")
    >>> pins_of("SELECT * FROM t WHERE id = 5 AND a > (SELECT AVG(a) FROM t)")
    """
    tree, source = parse(query)
    condition, table = tree.args.get("where"), _only_table(tree)
    if condition is None or table is None:
        return None
    found: dict[str, Pin] = {}
    where = condition.this
    for one in where.flatten() if isinstance(where, exp.And) else (where,):
        if not isinstance(one, exp.EQ):
            continue
        for column, value in ((one.this, one.expression), (one.expression, one.this)):
            if _is_column(column, table) and not list(value.find_all(exp.Column, exp.Query)):
                found.setdefault(column.name.lower(), Pin(_value(value), _span(one, value, source), value))
    return Pins(query, table.name, found) if found else None


def _only_table(tree: exp.Expr) -> exp.Table | None:
    """The table of a SELECT that reads one, once, and nothing else."""
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in ("with_", "joins", "laterals")):
        return None
    given = tree.args.get("from_")
    table = given.this if given is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if any(value for part, value in table.args.items() if part not in ("this", "alias")):
        return None
    return table if len(list(tree.find_all(exp.Table, exp.Query))) == 2 else None  # the query itself, and its table


def _is_column(node: exp.Expr, table: exp.Table) -> bool:
    """Whether a node is a column of the table, and no field of one."""
    return isinstance(node, exp.Column) and node.table.lower() in ("", table.alias_or_name.lower())


def _value(node: exp.Expr) -> Constant | None:
    """The value of a literal, perhaps with a sign and in parentheses."""
    inner, sign = node.unnest(), 1
    if isinstance(inner, exp.Neg):
        inner, sign = inner.this.unnest(), -1
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return _number(inner.this, sign)
    if sign < 0 and not _is_cast(inner, exp.DType.DECIMAL):
        return None
    if isinstance(inner, exp.Literal):
        return str(inner.this)
    if _is_cast(inner, exp.DType.DECIMAL):
        return _number(inner.this.this, sign)
    if _is_cast(inner, exp.DType.DATE) and _DATE.fullmatch(inner.this.this):
        return _moment(dt.date.fromisoformat, inner.this.this)
    if _is_cast(inner, exp.DType.TIMESTAMPTZ) and _TIME.fullmatch(inner.this.this):
        return _moment(dt.datetime.fromisoformat, inner.this.this)
    return None


def _is_cast(node: exp.Expr, kind: exp.DType) -> bool:
    """Whether a node is a string as a value of a type, as in ``DATE '2026-01-01'``."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return False
    return bool(node.to.this == kind)


def _number(text: str, sign: int) -> int | Decimal | None:
    """A number of digits, if it is one of 64 bits or has a point; others are doubles."""
    if text.isdecimal():
        return sign * int(text) if int(text) <= _LARGEST else None
    return sign * Decimal(text) if _DECIMAL.fullmatch(text) else None


def _moment(read: Callable[[str], Constant], text: str) -> Constant | None:
    """A date or a time, if there is one of this text."""
    try:
        return read(text)
    except ValueError:
        return None


def _span(equality: exp.EQ, value: exp.Expr, source: Source) -> tuple[int, int] | None:
    """Where ``column = literal`` begins and ends, if it is written so, and the literal is one that `_value` reads."""
    if value is equality.this:
        return None
    begin = min(node.meta["start"] for node in equality.this.walk() if "start" in node.meta)
    tokens = source.tokens
    at = next(place for place, token in enumerate(tokens) if token.start == begin)
    while tokens[at].token_type is not TokenType.EQ:
        at += 1
    found = _LITERAL.match(" ".join(token.token_type.name for token in tokens[at + 1 : at + _MOST]) + " ")
    if found is None or found["open"].count("L_PAREN") != found["close"].count("R_PAREN"):
        return None
    return begin, tokens[at + len(found[0].split())].end + 1
