"""The views of a database, prepared for commits."""

from __future__ import annotations

from collections.abc import Mapping

from livejoin.database.names import ByName
from livejoin.database.view import View
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.dataflow.graph import Graph

_KNOWN = 1024


class ShownViews:
    """The present views, and which of them a commit may reach; rebuilt when views come or go. Mutable.

    Args:
        views: The views by name in lower case.
        graph: The blocks that maintain them.

    Attributes:
        views: As given.
        unchanged: For each view with deltas the empty delta of a commit that does not change it.
        quiet: The names of the views without deltas.
        asserts: Whether there is an enforced assertion.
    """

    def __init__(self, views: Mapping[str, View], graph: Graph) -> None:
        self.views = views
        self.unchanged: ByName[ViewDelta] = ByName((v.name, v._no_delta) for v in views.values() if v.deltas)
        self.quiet = ByName((v.name, v.name) for v in views.values() if not v.deltas)
        self.asserts = any(_is_enforced(view) for view in views.values())
        self._graph = graph
        self._reached: dict[tuple[str, ...], tuple[tuple[str, View], ...]] = {}
        self._asserted: dict[tuple[str, ...], tuple[View, ...]] = {}

    def reached(self, tables: tuple[str, ...]) -> tuple[tuple[str, View], ...]:
        """The views with deltas that changes of some base tables may reach, with their names in lower case.

        Args:
            tables: The tables' names in lower case.

        Cost: O(tables); more for the first call.
        """
        found = self._reached.get(tables)
        if found is None:
            nodes = set(self._graph.reached(tables))
            found = tuple((name, view) for name, view in self.views.items() if view.deltas and view._node in nodes)
            if len(self._reached) >= _KNOWN:
                self._reached = {}
            self._reached[tables] = found
        return found

    def asserted(self, tables: tuple[str, ...]) -> tuple[View, ...]:
        """The enforced assertions among the views that changes of some base tables may reach; as `reached`."""
        if not self.asserts:
            return ()
        found = self._asserted.get(tables)
        if found is None:
            found = tuple(view for _, view in self.reached(tables) if _is_enforced(view))
            if len(self._asserted) >= _KNOWN:
                self._asserted = {}
            self._asserted[tables] = found
        return found


def _is_enforced(view: View) -> bool:
    return view.assertion is not None and view.assertion.enforced
