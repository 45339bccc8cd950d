"""What a query over spread tables is made of: stages, between which rows go to other cells.

A cell is a database of its own. In a stage each cell is brought the changes of some relations, those that are routed to
it, as changes of tables of its own, and maintains views over them; the deltas of these views are changes of the
relations of later stages. The relations of the first stage are the base tables.

Law: after each batch a relation is the multiset union of its views in all cells; a relation that is *alone* is in the
first cell only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from livejoin.catalog import tables_beside
from livejoin.plan.dispatch import Dispatch
from livejoin.query.bound_query import Query
from livejoin.schema import Table


@dataclass(frozen=True)
class ByColumns:
    """Each row goes to one cell, that of its values in some columns; without columns to the first cell.

    Args:
        columns: The positions of the columns. NULLs are equal.
        nulls: Only rows that have NULL in one of these go there; empty for all rows.
    """

    columns: tuple[int, ...]
    nulls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cube:
    """Rows go to the cells where a join needs them, and there to some of its atoms.

    Args:
        dispatch: Where the rows of the join's tables go.
        table: The table as the dispatch knows it.
    """

    dispatch: Dispatch
    table: Table


@dataclass(frozen=True)
class Everywhere:
    """Each row goes to all cells."""


Route: TypeAlias = ByColumns | Cube | Everywhere


@dataclass(frozen=True)
class Exchange:
    """The changes of a relation come to cells, as changes of tables there.

    Args:
        relation: The name of a base table, or of what an earlier stage shows.
        route: The cells that each row goes to.
        tables: The tables in the cells, each with bits of the masks of a route: a row comes to those of which its mask
            has one, and to all where that is -1.
    """

    relation: str
    route: Route
    tables: tuple[tuple[Table, int], ...]

    @property
    def ticks(self) -> bool:
        """Whether each cell is told the newest time of the rows, which says what leaves the tables there."""
        return self.tables[0][0].window_range is not None and self.route != ByColumns(())


@dataclass(frozen=True)
class Home:
    """A table of the cells that has rows of a base table.

    Args:
        stage: The stage.
        place: The position of the exchange there.
        table: The table's name.
        route: Where a join brings its rows, if a row may be in several cells: the first of them counts. None where
            it is in one.
        bits: The table's bits in the masks of the route.
    """

    stage: int
    place: int
    table: str
    route: Cube | Everywhere | None = None
    bits: int = -1


@dataclass(frozen=True)
class Shown:
    """A view in the cells, whose deltas are changes of a relation.

    Args:
        relation: The name of the relation, and of the views.
        query: The query, over tables of the cells.
        alone: Whether there is one in the first cell only.
        scattered: Whether equal rows may come from several cells, so that what one takes back another may bring.
    """

    relation: str
    query: Query
    alone: bool
    scattered: bool


@dataclass(frozen=True)
class Stage:
    """What happens in each cell between two exchanges of rows: one commit.

    Args:
        exchanges: The relations that are brought to the cells. All tables of the stage are in one of them.
        shown: The relations that the cells show, over these tables.
    """

    exchanges: tuple[Exchange, ...]
    shown: tuple[Shown, ...]

    @property
    def watched(self) -> tuple[tuple[str, Table], ...]:
        """The tables with a watermark, each behind the base table, by its name in lower case, whose changes it gets."""
        return tuple(
            (one.relation, table) for one in self.exchanges for table, _ in one.tables if table.watermark is not None
        )

    @property
    def by_key(self) -> frozenset[str]:
        """The tables whose changes are told by key: to these the changes of a base table with a primary key come."""
        owned = (one.tables[0][0] for one in self.exchanges if not isinstance(one.route, Cube))
        return frozenset(table.name for table in owned if table.takes_place)


@dataclass(frozen=True)
class Staged:
    """Views over spread tables.

    Args:
        stages: In order; what a stage is brought are changes of base tables, and of what earlier ones show.
        views: For each view the relation that is its result, which some stage shows.
        homes: For each base table, by its name in lower case, where its rows are.
    """

    stages: tuple[Stage, ...]
    views: Mapping[str, str]
    homes: Mapping[str, tuple[Home, ...]] = field(default_factory=dict)

    @property
    def scattered(self) -> frozenset[str]:
        """The views of which equal rows may come from several cells."""
        told = {shown.relation for stage in self.stages for shown in stage.shown if shown.scattered}
        return frozenset(view for view, relation in self.views.items() if relation in told)

    @cached_property
    def views_over(self) -> Mapping[str, tuple[str, ...]]:
        """For each relation that a stage shows the views whose results come of it."""
        found: dict[str, tuple[str, ...]] = {}
        for stage in reversed(self.stages):
            of = {
                found.name: one.relation
                for one in stage.exchanges
                for table, _ in one.tables
                for found in (table, *tables_beside(table))
            }
            for shown in stage.shown:
                mine = tuple(view for view, relation in self.views.items() if relation == shown.relation)
                mine = found[shown.relation] = tuple(dict.fromkeys((*found.get(shown.relation, ()), *mine)))
                for relation in {of[table.name] for table in shown.query.tables}:
                    found[relation] = tuple(dict.fromkeys((*found.get(relation, ()), *mine)))
        return found

    def readers(self, relation: str) -> list[tuple[int, int]]:
        """The stages that a relation is brought to, each with the position of the exchange there."""
        return [
            (number, place)
            for number, stage in enumerate(self.stages)
            for place, exchange in enumerate(stage.exchanges)
            if exchange.relation == relation
        ]
