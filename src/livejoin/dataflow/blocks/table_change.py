"""What a commit does to a base table, as the joins that read it take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from livejoin.dataflow.selection import Selection, Selector
from livejoin.families.events import TableEvents, table_events
from livejoin.kernels.join.events import gather
from livejoin.kernels.join.layout import EVENT_FIELDS
from livejoin.state.table import Staged
from livejoin.words import Words


@dataclass(eq=False)
class TableChange:
    """The staged changes of a base table.

    Args:
        staged: The events.
        versions: The version of each change as it was given; events name the changes they come from.
        selections: The predicates and factors of the changes, for each join that reads the table.
        is_one: Whether it is known that all changes are of one version.
    """

    staged: Staged
    versions: Words
    selections: Mapping[Selector, Selection]
    is_one: bool = False

    def event_versions(self) -> Words:
        """The version of each event; not in order where a window took rows out that no change names."""
        changes = self.staged.changes
        if self.is_one and changes.shape[0] <= self.versions.shape[0]:
            return self.versions[: changes.shape[0]]
        if self.versions.shape[0] == 0:
            return self.staged.rows
        versions = self.versions[changes]
        versions[changes < 0] = self.versions[0]
        return versions

    def events(self, selector: Selector, position: int) -> TableEvents:
        """The events as a join sees them; rows that only a window took out need no mask.

        Args:
            selector: The join's selector for this table.
            position: The position of the table in the join's program.
        """
        staged, name = self.staged, selector.table
        if self.versions.shape[0] == 0:
            return table_events(name, staged.rows, staged.weights, staged.rows, staged.rows)
        chosen = self.selections[selector]
        matrix = np.empty((EVENT_FIELDS, staged.rows.shape[0]), np.int64)
        known = gather(staged.rows, staged.weights, staged.changes, chosen.masks, self.versions, position, matrix)
        factors = chosen.factors.take(staged.changes, axis=1) if chosen.factors.shape[0] else None
        return TableEvents(name, matrix, factors, position, known)
