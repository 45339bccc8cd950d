"""What is counted of a view while somebody analyzes it: which keys cost, how long rows live, how unlike a queue it is.

It begins with the first ``view.explain(analyze=True)``, or `View.analyze`, and ends with ``view.analyze(False)`` or the
view. It begins anew where the view gets another query, or one of its tables another declaration. Commits that were
undone count nowhere. Nothing of it is kept in a folder or a snapshot.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.watching.enclosing import Enclosing, StreamLives
from livejoin.dataflow.watching.watch import Watch
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.database.view import View
    from livejoin.dataflow.graph import Graph


class Analysis:
    """What is counted of one view; mutable.

    Args:
        view: The view.

    Attributes:
        version: The version from which on it counts.
        at: The time from which on it counts, in UTC.
        tables: The tables of the view, by name in lower case, in the order of `lives`.
        events: The changes of each of these that came before.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._graph = view._graph
        self._begin(view._images.version)

    def _begin(self, version: int) -> None:
        """Count from now on."""
        self.version, self.at = version, dt.datetime.now(dt.UTC)
        self._node = self._view._node
        bases = self._graph.tables
        self.tables = tuple(sorted(name for name in self._graph.tables_below(self._node) if name in bases))
        self.events = {name: self._view._tally.events.get(name, 0) for name in self.tables}
        self._declared = {name: bases[name].table for name in self.tables}
        self._renumbered: dict[str, Words | None] = {name: bases[name].renumbered for name in self.tables}
        self._stream = Enclosing([bases[name].live_rows() for name in self.tables])
        self.watched = tuple(self._graph.below(self._node))
        for node in self.watched:
            if node.watch is None:
                node.watch = Watch(self._graph.codec, version)

    def note(self, changed: Mapping[str, TableChange], version: int) -> None:
        """Take note of a commit that stands; once more changes nothing.

        Args:
            changed: The changes of the tables that change, by name in lower case.
            version: The version of the commit.

        Cost: O(changes of the view's tables).
        """
        bases = self._graph.tables
        if not self.is_of_now:
            self._begin(version)
            return
        parts = []
        for number, name in enumerate(self.tables):
            if name in changed:
                if (ids := bases[name].renumbered) is not self._renumbered[name] and ids is not None:
                    self._stream.renumber(number, ids)
                change = changed[name]
                parts.append((number, change.staged.rows, change.staged.weights, change.event_versions()))
        self._stream.note(parts, version)

    @property
    def is_of_now(self) -> bool:
        """Whether the view has the query, and its tables the declarations, that it counts for."""
        bases = self._graph.tables
        is_declared = all(name in bases and bases[name].table is was for name, was in self._declared.items())
        return is_declared and self._view._node is self._node

    def is_of(self, view: View) -> bool:
        """Whether it counts for a view as that is now, and not for one of the name that was replaced."""
        return self._view is view and self.is_of_now

    @property
    def lives(self) -> StreamLives:
        """The lives of the rows of the tables; O(rows)."""
        return self._stream.found()


def watch_only(graph: Graph, analyses: Iterable[Analysis]) -> None:
    """Let blocks count for these analyses and for no other."""
    wanted = {node for one in analyses for node in one.watched}
    for node in graph.nodes:
        if node not in wanted:
            node.watch = None
