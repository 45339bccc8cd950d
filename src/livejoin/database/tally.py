"""Counts of a database's commits so far, kept once for all views."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livejoin.database.analysis import Analysis


@dataclass
class Tally:
    """Counts; mutable.

    Args:
        versions: How many versions there were.
        events: The events of each base table, by name in lower case.
        listened: The views, by name in lower case, that have subscribers.
        analyses: Counts of the views that somebody analyzes, by name in lower case.
    """

    versions: int = 0
    events: dict[str, int] = field(default_factory=dict)
    listened: set[str] = field(default_factory=set)
    analyses: dict[str, Analysis] = field(default_factory=dict)

    def note(self, versions: int, events: Mapping[str, int]) -> None:
        """Count a commit.

        Args:
            versions: How many versions it had.
            events: The events of base tables.
        """
        self.versions += versions
        for table, number in events.items():
            self.events[table] = self.events.get(table, 0) + number

    def of(self, tables: Collection[str]) -> int:
        """The events of some base tables."""
        return sum(self.events.get(table, 0) for table in tables)
