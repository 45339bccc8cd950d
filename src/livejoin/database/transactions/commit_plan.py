"""The plan of a commit: what is known of a set of tables before any of them changes, found once for each set.

Law: a plan says of a set of tables what the declarations, the views and the graph say of it, as long as these are those
that it was made for; else another one is made (`plan_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.dataflow.node import Node
from livejoin.dataflow.path import Path
from livejoin.schema import Table
from livejoin.state.table import BaseTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.shown_views import ShownViews
    from livejoin.database.view import View

_PLANS = 1024  # sets of tables that are known


@dataclass(frozen=True, eq=False, slots=True)
class TablePlan:
    """What commits know of a table that they change.

    Args:
        name: The table's name in lower case.
        base: The table.
        readers: The blocks that read it themselves.
        has_time: Whether it has a watermark, or is one of the tables that have the watermark of another one.
        has_rules: Whether columns of it are generated, or rows are refused by CHECK.
    """

    name: str
    base: BaseTable
    readers: tuple[Node, ...]
    has_time: bool
    has_rules: bool

    @property
    def table(self) -> Table:
        """The declaration."""
        return self.base.table


@dataclass(frozen=True, eq=False, slots=True)
class CommitPlan:
    """What commits of some tables have in common.

    Args:
        names: The tables' names in lower case.
        tables: The tables, in the same order.
        path: The blocks that their changes go through.
        views: The views with deltas that they may reach, with their names in lower case.
        asserted: The enforced assertions among these.
        has_time: Whether a watermark may move, or rows of closed windows be freed.
        has_static: Whether a table is static.
        shown: The views that it was made for.
        epoch: The graph's epoch that it was made in.
        declared: The epoch of the declarations that it was made in.
    """

    names: tuple[str, ...]
    tables: tuple[TablePlan, ...]
    path: Path
    views: tuple[tuple[str, View], ...]
    asserted: tuple[View, ...]
    has_time: bool
    has_static: bool
    shown: ShownViews
    epoch: int
    declared: object


def plan_of(contents: Contents, tables: tuple[str, ...]) -> CommitPlan:
    """The plan of commits that change some tables.

    Args:
        contents: The database's contents.
        tables: The tables' names, as they are declared.

    Cost: O(tables), but O(blocks) for the first commit of these tables since tables, blocks or views came or went.
    """
    found, graph, catalog = contents.plans.get(tables), contents.graph, contents.catalog
    if (
        found is not None
        and found.shown.views is contents.views
        and found.epoch == graph.epoch
        and found.declared is catalog.epoch
    ):
        return found
    shown = contents.shown
    names = tuple([name.lower() for name in tables])
    path = graph.path(names)
    views = shown.reached(path.nodes)
    planned = tuple([_planned(contents.tables[name], name, path) for name in names])
    made = CommitPlan(
        names,
        planned,
        path,
        views,
        shown.asserted(views),
        any(one.has_time for one in planned),
        any(one.table.static for one in planned),
        shown,
        graph.epoch,
        catalog.epoch,
    )
    if len(contents.plans) >= _PLANS:
        contents.plans.clear()
    contents.plans[tables] = made
    return made


def _planned(base: BaseTable, name: str, path: Path) -> TablePlan:
    table = base.table
    readers = tuple([node for node in path.nodes if name in node.reads])
    has_time = table.watermark is not None or table.is_beside
    return TablePlan(name, base, readers, has_time, bool(table.generated or table.checks))
