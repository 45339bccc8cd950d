"""The SELECT list: output columns, and the base columns that they need.

An item that is a column copies the column; every other item is a DuckDB expression over the head. A name after AS must
be unique. Other names that occur twice, as those of ``*`` over a self-join, get ``_1``, ``_2``, ... as DuckDB gives
them to the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import TokenType, exp

from livejoin.errors import SqlSyntaxError, SqlTypeError, UnknownNameError
from livejoin.query.conjunctive import ColumnRef, Output
from livejoin.schema import CHANGE_COLUMNS, SqlType
from livejoin.sql.names.scope import relation_named, resolve
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.parse.sub_queries import is_distinct_on
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF, bound_column, refs_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import Scope
from livejoin.sql.scalars.expression import RowType, bind_expression
from livejoin.sql.scalars.result_types import column_type

# What ends a SELECT list; the text may begin with FROM.
_ENDS = (TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.SEMICOLON)


def select_items(select: exp.Select, scope: Scope, source: Source) -> tuple[Item, ...]:
    """The items of a SELECT list, resolved, with distinct names.

    Raises:
        UnknownNameError: A name is unknown or ambiguous.
        UnsupportedQueryError: An expression or a name that is not supported.
    """
    items = [item for node, text, at in _split(select, source) for item in _items(node, text, at, scope, source)]
    _refuse_alias_twice(items, source)
    names = distinct_names([item.name for item in items])
    for name, item in zip(names, items, strict=True):
        if name.lower() in CHANGE_COLUMNS:
            msg = f"output column {name!r} is reserved for change streams; give it another name with AS"
            raise source.unsupported("AS", msg, item.offset)
    return tuple(replace(item, name=name, written=item.name) for name, item in zip(names, items, strict=True))


def _refuse_alias_twice(items: Sequence[Item], source: Source) -> None:
    """Refuse a name after AS that another item has too.

    Raises:
        UnsupportedQueryError: Two items have one name; the position is that of the second name.
    """
    first: dict[str, Item] = {}
    for item in items:
        other = first.setdefault(item.name.lower(), item)
        if other is not item and (other.alias_offset, item.alias_offset) != (None, None):
            at = item.offset if item.alias_offset is None else item.alias_offset
            line, column = source.position(other.offset)
            msg = (
                f"two output columns have the name {item.name!r}, the first at line {line}, column {column}. A name "
                "with AS is that of one column: give one of the two another"
            )
            raise source.unsupported("AS", msg, at)


def compute(items: Sequence[Item], scope: Scope, source: Source) -> tuple[tuple[ColumnRef, ...], tuple[Output, ...]]:
    """The head that some resolved items need, and an output for each.

    Raises:
        SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column.
        UnsupportedQueryError: An expression is no function of its row.
    """
    head = tuple(dict.fromkeys(ref for item in items for ref in refs_of(item.value)))
    row = RowType.of_types([scope.declared(ref).type for ref in head], [scope.arrow(ref) for ref in head], head.index)
    return head, tuple(_output(item, row, source) for item in items)


def _split(select: exp.Select, source: Source) -> Iterator[tuple[exp.Expr, str, int]]:
    """The items of the SELECT list with their texts and offsets, by the commas outside of parentheses."""
    opening = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
    closing = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
    start = source.find({TokenType.SELECT})
    if is_distinct_on(select):
        start = _closing(source.find({TokenType.ON}, start), source)
    groups: list[list[int]] = [[]]
    depth, before = 0, TokenType.SELECT
    for token in (t for t in source.tokens if t.start > start):
        kind = token.token_type
        depth += (kind in opening) - (kind in closing)
        is_end = kind in _ENDS and not (kind == TokenType.FROM and before == TokenType.DISTINCT and groups[-1])
        if depth < 0 or (depth == 0 and is_end):
            break
        if depth == 0 and kind == TokenType.COMMA:
            groups.append([])
        elif groups[-1] or kind not in (TokenType.ALL, TokenType.DISTINCT):
            groups[-1] += [token.start, token.end + 1]
        before = kind
    if not all(groups) or len(groups) != len(select.expressions):
        msg = "the SELECT list is empty or has an empty item; write columns or expressions, with commas between them"
        raise source.error(SqlSyntaxError, msg, start)
    for node, group in zip(select.expressions, groups, strict=True):
        yield node, " ".join(source.sql[group[0] : group[-1]].split()), group[0]


def _closing(start: int, source: Source) -> int:
    """The offset of the parenthesis that closes the first one opened after ``start``."""
    depth = 0
    for token in (token for token in source.tokens if token.start > start):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return token.start
    return start


def _items(node: exp.Expr, text: str, offset: int, scope: Scope, source: Source) -> Iterator[Item]:
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        star = node if isinstance(node, exp.Star) else node.this
        if any(value for name, value in star.args.items() if name != "except_"):
            msg = "* with REPLACE or RENAME is not supported; name the columns, or leave some out with EXCEPT (column)"
            raise source.unsupported("*", msg, offset)
        yield from _without(_star(node, offset, scope, source), star.args.get("except_") or (), source, offset)
        return
    node = node.unnest()
    name, value, alias_offset = text, node, None
    if isinstance(node, exp.Alias):
        name, value, alias_offset = node.alias, node.this, offset_of(node.args["alias"], offset)
    elif isinstance(node, exp.Column):
        name = node.name
    bare = any(not isinstance(star.parent, exp.Column) for star in nodes_of(value, exp.Star))
    if bare and not value.find(exp.AggFunc):
        msg = "* within an expression is not supported; name the columns"
        raise source.unsupported("*", msg, offset)
    value = resolve(value.unnest(), scope, source)
    if isinstance(node, exp.Column) and REF in value.meta:
        name = scope.name(value.meta[REF])
    yield Item(name, value, offset, alias_offset=alias_offset)


def _star(node: exp.Expr, offset: int, scope: Scope, source: Source) -> Sequence[Item]:
    if isinstance(node, exp.Star):
        return [Item(shown.name, bound_column(shown.ref, shown.name), offset) for shown in scope.shown]
    relation = relation_named(node.args["table"], scope, source)
    names = enumerate(relation.names)
    return [Item(name, bound_column(relation.column(i), name), offset) for i, name in names]


def _without(items: Sequence[Item], excepted: Sequence[exp.Expr], source: Source, offset: int) -> Sequence[Item]:
    """The columns of ``*`` without those that EXCEPT names.

    Raises:
        UnknownNameError: ``*`` has no such column, or several.
        UnsupportedQueryError: No column is left.
    """
    gone: list[Item] = []
    for column in excepted:
        found = [item for item in items if item.name.lower() == column.name.lower()]
        if len(found) != 1 or found[0] in gone:
            how = "shows no column" if not found else "shows several columns" if len(found) > 1 else "names twice"
            msg = f"EXCEPT ({column.name}): * {how} {column.name!r}; it has {', '.join(item.name for item in items)}"
            raise source.error(UnknownNameError, msg, offset_of(column, offset))
        gone += found
    left = [item for item in items if item not in gone]
    if not left:
        msg = "* EXCEPT leaves no column; name one" if gone else "there is no FROM, and no column for *; name a value"
        raise source.unsupported("*", msg, offset)
    return left


def _output(item: Item, row: RowType, source: Source) -> Output:
    if isinstance(item.value, exp.Column):
        position = row.place(item.value.meta[REF])
        return Output(item.name, row.arrow[position], position)
    expression, found = bind_expression(item.value, row, source, item.offset)
    if column_type(found) is None:
        raise no_column_type(item, found, source)
    return Output(item.name, found, expression)


def output_types(outputs: Sequence[Output], copied: Sequence[SqlType]) -> tuple[SqlType, ...]:
    """The types of outputs, where known: Arrow does not tell TIMESTAMP from TIMESTAMP_NTZ.

    Args:
        outputs: The outputs.
        copied: The types of the columns below.
    """
    return tuple(kind for output in outputs if (kind := _output_type(output, copied)) is not None)


def _output_type(output: Output, copied: Sequence[SqlType]) -> SqlType | None:
    known = said = column_type(output.type)
    if isinstance(output.source, int):
        said = copied[output.source]
    elif output.source.scalar is not None:
        said = output.source.scalar.type
    return said if said is not None and known is not None and said.arrow == known.arrow else known


def no_column_type(item: Item, found: pa.DataType, source: Source) -> SqlTypeError:
    """The error for an item whose type no column can have."""
    bracketed = item.name.startswith("[") and item.name[1:-1].isidentifier()
    name = f"; if {item.name} is a name, write `{item.name[1:-1]}`" if bracketed else ""
    msg = (
        f"{item.role} {item.name!r} has the type {found}{name}; CAST it to one of BOOLEAN, TINYINT, SMALLINT, INT, "
        "BIGINT, FLOAT, DOUBLE, DECIMAL, DATE, TIMESTAMP, STRING, BINARY, INTERVAL DAY TO SECOND and INTERVAL YEAR TO "
        "MONTH"
    )
    return source.error(SqlTypeError, msg, item.offset)
