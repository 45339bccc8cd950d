"""The SELECT list: output columns, and the base columns that they need.

An item that is a column copies it; every other one is a DuckDB expression over the head. Names that occur twice get
``_1``, ``_2``, ... as DuckDB gives them to the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import TokenType, exp

from livejoin.errors import SqlSyntaxError, SqlTypeError
from livejoin.query.conjunctive import ColumnRef, Output
from livejoin.schema import CHANGE_COLUMNS
from livejoin.sql.duckdb_text import REF, check_scalar, expression_text, refs_of
from livejoin.sql.scope import Scope, relation_named, resolve
from livejoin.sql.source import Source


@dataclass(frozen=True)
class Item:
    """One output column before its type is known: a column of the scope, or a resolved expression."""

    name: str
    value: ColumnRef | exp.Expr
    offset: int


def bind_outputs(select: exp.Select, scope: Scope, source: Source) -> tuple[tuple[ColumnRef, ...], tuple[Output, ...]]:
    """The head and the outputs of a SELECT.

    Raises:
        UnknownNameError: A name stands for nothing or for several columns.
        SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column.
        UnsupportedQueryError: An expression or a name outside.
    """
    items = [item for node, text, at in _split(select, source) for item in _items(node, text, at, scope, source)]
    head = tuple(dict.fromkeys(ref for item in items for ref in _refs(item)))
    names = distinct_names([item.name for item in items])
    for name, item in zip(names, items, strict=True):
        if name.lower() in CHANGE_COLUMNS:
            msg = f"output column {name!r} is reserved for change streams; give it another name with AS"
            raise source.unsupported("AS", msg, item.offset)
    schema = pa.schema([(f"c{i}", scope.declared(ref).type.arrow) for i, ref in enumerate(head)])
    return head, tuple(_output(name, item, head, schema, source) for name, item in zip(names, items, strict=True))


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names made distinct without regard to case, in DuckDB's way.

    >>> distinct_names(["a", "a", "A", "a_1", "a", "a_1"])
    ['a', 'a_1', 'A_2', 'a_1_1', 'a_3', 'a_1_2']
    """
    uses: dict[str, int] = {}
    distinct: list[str] = []
    for name in names:
        found = name
        while found.lower() in uses:
            found = f"{name}_{uses[name.lower()]}"
            uses[name.lower()] += 1
        uses[found.lower()] = 1
        distinct.append(found)
    return distinct


def _split(select: exp.Select, source: Source) -> Iterator[tuple[exp.Expr, str, int]]:
    """The items of the SELECT list with their texts and offsets, by the commas outside of parentheses."""
    opening = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
    closing = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
    start = source.find({TokenType.SELECT})
    groups: list[list[int]] = [[]]
    depth = 0
    for token in (t for t in source.tokens if t.start > start):
        depth += (token.token_type in opening) - (token.token_type in closing)
        if depth < 0 or (depth == 0 and token.token_type in (TokenType.FROM, TokenType.SEMICOLON)):
            break
        if depth == 0 and token.token_type == TokenType.COMMA:
            groups.append([])
        elif groups[-1] or token.token_type != TokenType.ALL:
            groups[-1] += [token.start, token.end + 1]
    if not all(groups) or len(groups) != len(select.expressions):
        msg = "the SELECT list is empty or has an empty item; write columns or expressions, with commas between them"
        raise source.error(SqlSyntaxError, msg, start)
    for node, group in zip(select.expressions, groups, strict=True):
        yield node, " ".join(source.sql[group[0] : group[-1]].split()), group[0]


def _items(node: exp.Expr, text: str, offset: int, scope: Scope, source: Source) -> Iterator[Item]:
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        star = node if isinstance(node, exp.Star) else node.this
        if any(star.args.values()):
            msg = "* with EXCEPT, REPLACE or RENAME is not supported; name the columns"
            raise source.unsupported("*", msg, offset)
        yield from _star(node, offset, scope, source)
        return
    node = node.unnest()
    name, value = text, node
    if isinstance(node, exp.Alias):
        name, value = node.alias, node.this
    elif isinstance(node, exp.Column):
        name = node.name
    bare = any(not isinstance(star.parent, exp.Column) for star in value.find_all(exp.Star))
    if bare and not value.find(exp.AggFunc):
        msg = "* within an expression is not supported; name the columns"
        raise source.unsupported("*", msg, offset)
    value = resolve(value.unnest(), scope, source)
    if not isinstance(value, exp.Column):
        yield Item(name, value, offset)
    elif name is text or isinstance(node, exp.Alias):
        yield Item(name, value.meta[REF], offset)
    else:
        yield Item(scope.declared(value.meta[REF]).name, value.meta[REF], offset)


def _star(node: exp.Expr, offset: int, scope: Scope, source: Source) -> Iterable[Item]:
    if isinstance(node, exp.Star):
        return [Item(shown.name, shown.ref, offset) for shown in scope.shown]
    relation = relation_named(node.args["table"], scope, source)
    return [Item(c.name, relation.column(i), offset) for i, c in enumerate(relation.table.columns)]


def _refs(item: Item) -> tuple[ColumnRef, ...]:
    return (item.value,) if isinstance(item.value, ColumnRef) else refs_of(item.value)


def _output(name: str, item: Item, head: tuple[ColumnRef, ...], schema: pa.Schema, source: Source) -> Output:
    if isinstance(item.value, ColumnRef):
        position = head.index(item.value)
        return Output(name, schema.field(position).type, position)
    text = expression_text(item.value, lambda ref: f"c{head.index(ref)}", source, item.offset)
    found = check_scalar(item.value, text, schema, source, item.offset)
    if not _is_column_type(found):
        msg = (
            f"output column {name!r} has the type {found}; CAST it to one of BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, "
            "DOUBLE, DECIMAL, DATE, TIMESTAMP and STRING"
        )
        raise source.error(SqlTypeError, msg, item.offset)
    return Output(name, found, text)


def _is_column_type(found: pa.DataType) -> bool:
    plain = (pa.bool_(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.string())
    return found in plain or pa.types.is_signed_integer(found) or pa.types.is_decimal128(found)
