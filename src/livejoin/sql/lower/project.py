"""Expressions over the columns of a relation: SELECT lists over groups, HAVING, and further columns for ORDER BY.

Expressions name column i of the relation below as the `ColumnRef` (0, i), as if the relation were the only atom.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.conjunctive import Output
from livejoin.query.filters import conjunction
from livejoin.query.orders import SortKey
from livejoin.query.relational import Project, Relation, TopK
from livejoin.query.scalar import Constant, Expression
from livejoin.schema import SqlType, is_made_list
from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.names.outputs import no_column_type
from livejoin.sql.parse.source import Source, shown
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF, column_at
from livejoin.sql.resolved.item import Item, Order, SortBy
from livejoin.sql.scalars.expression import RowType, bind_expression
from livejoin.sql.scalars.operands import BIGINT
from livejoin.sql.scalars.result_types import column_type


def project(
    relation: Relation,
    items: Sequence[tuple[Item, exp.Expr]],
    condition: tuple[exp.Expr, exp.Expr] | None,
    source: Source,
) -> Project:
    """Expressions over a relation.

    Args:
        relation: The relation below.
        items: Each output with its text, and its expression over the relation's columns.
        condition: The condition of HAVING with its text, over the relation's columns.
        source: The SQL text.

    Raises:
        SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column or a condition.
        UnsupportedQueryError: An expression that is no function of its row.
    """
    row = columns_of(relation)
    outputs, types = [], []
    for item, value in items:
        output, kind = _output(item, value, relation, row, source)
        outputs.append(output)
        types.append(kind)
    predicate = None if condition is None else _predicate(*condition, row, source)
    said = "" if condition is None else shown(condition[0])
    return Project(relation, tuple(outputs), tuple(types), predicate, written=said)


def _predicate(written: exp.Expr, value: exp.Expr, row: RowType, source: Source) -> Expression | None:
    at = source.word("HAVING", 0, 0)
    found = []
    for part in conjuncts(exp.cast(value, exp.DType.BOOLEAN) if isinstance(value, exp.Null) else value):
        bound, kind = bind_expression(part, row, source, at, written)
        if kind != pa.bool_():
            msg = f"the condition {shown(written)} has the type {kind}; a condition is BOOLEAN"
            raise source.error(SqlTypeError, msg, at)
        found.append(bound)
    return conjunction(found)


def first_rows(
    relation: Relation, keys: Sequence[tuple[SortBy, exp.Expr]], order: Order, visible: int, source: Source
) -> Relation:
    """The first rows of a relation in an order, without the columns that only the order needs.

    Args:
        relation: The relation below.
        keys: Each key with its text, over the relation's columns; a key that is no column becomes a further column.
        order: The numbers of LIMIT and OFFSET.
        visible: How many of the relation's columns belong to the result.
        source: The SQL text.

    Raises:
        SqlTypeError: A key whose type is not one of a column.
        UnsupportedQueryError: A column is a list, which has no order.
    """
    refuse_lists(relation, "ORDER BY", source, keys[0][0].offset)
    copies = copied(relation)
    extra = [
        (Item(shown(key.value), key.value, key.offset, "the key of ORDER BY"), value)
        for key, value in keys
        if not isinstance(value, exp.Column)
    ]
    wide = project(relation, [*copies, *extra], None, source) if extra else relation
    sort, added = [], len(copies)
    for key, value in keys:
        if isinstance(value, exp.Column):
            column = value.meta[REF].column
        else:
            column, added = added, added + 1
        sort.append(SortKey(column, key.descending, key.nulls_first))
    assert order.limit is not None, "rows that are only read in an order are not kept in it"
    top = TopK(wide, tuple(sort), order.limit, order.offset)
    return top if added == visible else project(top, copies[:visible], None, source)


def copied(relation: Relation) -> list[tuple[Item, exp.Expr]]:
    """The columns of a relation as items for `project`."""
    return [(Item(field.name, column_at(i), 0), column_at(i)) for i, field in enumerate(relation.schema)]


def project_nothing(relation: Relation) -> Project:
    """A relation of which no column is used: its rows with one column ``nothing``, which is always 0."""
    zero = Expression(f"CAST(0 AS {BIGINT})", Constant(0, BIGINT))
    return Project(relation, (Output("nothing", BIGINT.arrow, zero),), (BIGINT,))


def columns_of(relation: Relation) -> RowType:
    """The columns of a relation for expressions over it."""
    return RowType.of_types(relation.types, relation.schema.types)


def refuse_lists(relation: Relation, clause: str, source: Source, offset: int) -> None:
    """Refuse a relation with lists, which cannot be compared.

    Raises:
        UnsupportedQueryError: A column is the result of ARRAY_AGG.
    """
    lists = list_columns(relation.schema)
    if lists:
        raise _no_order(relation.schema.names[lists[0]], clause, source, offset)


def list_columns(schema: pa.Schema) -> list[int]:
    """The positions of the columns that are lists."""
    return [i for i, kind in enumerate(schema.types) if is_made_list(kind)]


def _no_order(name: str, clause: str, source: Source, offset: int) -> UnsupportedQueryError:
    msg = f"the column {name!r} is a list, and {clause} would compare lists; leave the list out"
    return source.unsupported(clause, msg, offset)


def _output(item: Item, value: exp.Expr, relation: Relation, row: RowType, source: Source) -> tuple[Output, SqlType]:
    if isinstance(value, exp.Column):
        position = value.meta[REF].column
        return Output(item.name, row.arrow[position], position), relation.types[position]
    expression, found = bind_expression(value, row, source, item.offset, item.value)
    # A list has the type of its elements, like the result of ARRAY_AGG.
    element = found.value_type if is_made_list(found) else found
    kind = column_type(element)
    if kind is None:
        raise no_column_type(item, found, source)
    said = {relation.types[column.meta[REF].column] for column in nodes_of(value, exp.Column)}
    if expression.scalar is not None:
        said = {expression.scalar.type}
    if len(said) == 1 and next(iter(said)).arrow == kind.arrow:
        (kind,) = said  # Arrow does not tell TIMESTAMP from TIMESTAMP_NTZ
    return Output(item.name, pa.list_(element) if is_made_list(found) else found, expression), kind
