"""The views of a database, prepared for commits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from livejoin.database.names import ByName
from livejoin.database.view import View
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.dataflow.node import Node


class ShownViews:
    """The present views, and which of them a commit may reach; made anew when views come or go.

    Args:
        views: The views by name in lower case.

    Attributes:
        views: As given.
        unchanged: For each view with deltas the empty delta of a commit that does not change it.
        quiet: The names of the views without deltas.
        asserts: Whether there is an enforced assertion.
    """

    def __init__(self, views: Mapping[str, View]) -> None:
        self.views = views
        self.unchanged: ByName[ViewDelta] = ByName((v.name, v._no_delta) for v in views.values() if v.deltas)
        self.quiet = ByName((v.name, v.name) for v in views.values() if not v.deltas)
        self.asserts = any(_is_enforced(view) for view in views.values())

    def reached(self, nodes: Collection[Node]) -> tuple[tuple[str, View], ...]:
        """The views with deltas that are some of the graph's nodes, with their names in lower case; O(views)."""
        there = set(nodes)
        return tuple((name, view) for name, view in self.views.items() if view.deltas and view._node in there)

    def asserted(self, views: Iterable[tuple[str, View]]) -> tuple[View, ...]:
        """The enforced assertions among some views."""
        return tuple(view for _, view in views if _is_enforced(view)) if self.asserts else ()


def _is_enforced(view: View) -> bool:
    return view.assertion is not None and view.assertion.enforced
