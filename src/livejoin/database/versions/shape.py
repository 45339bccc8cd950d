"""What an image of a view or a table keeps, and what it shows of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from livejoin.database.sorted_rows import sorted_rows
from livejoin.dataflow.deltas.arrow_delta import delta_schema
from livejoin.query.bound_query import Query
from livejoin.query.orders import SortKey
from livejoin.query.relational import Project, Relation, TopK
from livejoin.schema import SqlType, Table


@dataclass(frozen=True)
class Shape:
    """The columns and the order of an image.

    An order may go by columns that the result does not show. An image keeps these behind the columns that are shown, as
    it is put in order again when rows came and went.

    Args:
        schema: The columns that are shown.
        kept: The columns that are kept; first those that are shown, perhaps by other names.
        types: The types of the columns that are kept.
        order: The order of the rows; empty for none.
        is_below: Whether what is kept is the relation below the view's.
    """

    schema: pa.Schema
    kept: pa.Schema
    types: tuple[SqlType, ...]
    order: tuple[SortKey, ...] = ()
    is_below: bool = False

    @cached_property
    def deltas(self) -> pa.Schema:
        """The schema of changes of what is kept; made once, as Arrow lets go of Python's lock for it."""
        return delta_schema(self.kept)

    def ordered(self, rows: pa.Table) -> pa.Table:
        """The rows in their order; O(rows * log(rows)), and nothing where there is none."""
        return sorted_rows(rows, self.order) if self.order else rows

    def shown(self, rows: pa.Table) -> pa.Table:
        """What is shown of the rows that are kept."""
        columns = rows.columns[: len(self.schema)]
        if not columns:
            return rows
        return pa.Table.from_arrays(
            [column.cast(field.type) for column, field in zip(columns, self.schema, strict=True)], schema=self.schema
        )


def shape_of(query: Query) -> Shape:
    """The shape of a view's images."""
    root, order = query.read, query.order
    first = root
    if not order and isinstance(root, Project) and isinstance(root.input, TopK) and _is_part(root):
        first = root.input
    if isinstance(first, TopK):
        order = (*first.keys, *_rest(first, first.keys))
    return Shape(query.schema, first.schema, first.types, order, is_below=first is not query.root)


def shape_of_table(table: Table) -> Shape:
    """The shape of a table's images."""
    return Shape(table.arrow, table.arrow, tuple(column.type for column in table.columns))


def _is_part(root: Project) -> bool:
    """Whether a projection shows the first columns of what is below it."""
    return root.predicate is None and [one.source for one in root.outputs] == list(range(len(root.outputs)))


def _rest(relation: Relation, keys: Sequence[SortKey]) -> list[SortKey]:
    """The other columns, by which rows with equal keys are ordered so that the order is always the same."""
    named = {key.column for key in keys}
    fields = enumerate(relation.schema)
    free = [place for place, field in fields if place not in named and not pa.types.is_nested(field.type)]
    return [SortKey(place, descending=False, nulls_first=True) for place in free]
