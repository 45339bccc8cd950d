"""Conditions that name one value of a column, as ``id = 5``: what a look-up needs to find the rows of a query."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import Source, shown

_TRUE = "TRUE"
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Pin:
    """A condition ``column = constant`` that each row meets which a query looks at.

    Args:
        value: The constant, where it is a whole number of 64 bits or a string; else None.
        span: Where the whole condition begins and ends in the query; None where that is not known.
        node: The constant as it was parsed.
    """

    value: int | str | None
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


def _value(node: exp.Expr) -> int | str | None:
    """The value of a literal."""
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_int:
        return -int(node.this.this) if int(node.this.this) <= _LARGEST else None
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return str(node.this)
    return int(node.this) if node.this.isdecimal() and int(node.this) <= _LARGEST else None


def _span(equality: exp.EQ, value: exp.Expr, source: Source) -> tuple[int, int] | None:
    """Where ``column = literal`` begins and ends, if it is written so, with its tokens next to each other."""
    if not isinstance(value, exp.Literal | exp.Neg) or value is equality.this:
        return None
    marked = [node.meta["start"] for node in equality.walk() if "start" in node.meta]
    begin, last = min(marked), max(marked)
    end = next(token.end for token in source.tokens if token.start == last)
    return begin, end + 1
