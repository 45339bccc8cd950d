"""The plan of a commit: what is known of a set of tables before any of them changes, found once for each set.

Law: a plan says of a set of tables what the views and the graph say of it, as long as these are those that it was made
for; else another one is made (`plan_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.dataflow.path import Path

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.shown_views import ShownViews
    from livejoin.database.view import View

_PLANS = 1024  # sets of tables that are known


@dataclass(frozen=True, eq=False, slots=True)
class CommitPlan:
    """What commits of some tables have in common.

    Args:
        names: The tables' names in lower case.
        path: The blocks that their changes go through.
        views: The views with deltas that they may reach, with their names in lower case.
        asserted: The enforced assertions among these.
        shown: The views that it was made for.
        epoch: The graph's epoch that it was made in.
    """

    names: tuple[str, ...]
    path: Path
    views: tuple[tuple[str, View], ...]
    asserted: tuple[View, ...]
    shown: ShownViews
    epoch: int


def plan_of(contents: Contents, tables: tuple[str, ...]) -> CommitPlan:
    """The plan of commits that change some tables.

    Args:
        contents: The database's contents.
        tables: The tables' names, as they are declared.

    Cost: O(tables), but O(blocks) for the first commit of these tables since blocks or views came or went.
    """
    found, shown, graph = contents.plans.get(tables), contents.shown, contents.graph
    if found is not None and found.shown is shown and found.epoch == graph.epoch:
        return found
    names = tuple([name.lower() for name in tables])
    path = graph.path(names)
    views = shown.reached(path.nodes)
    made = CommitPlan(names, path, views, shown.asserted(views), shown, graph.epoch)
    if len(contents.plans) >= _PLANS:
        contents.plans.clear()
    contents.plans[tables] = made
    return made
