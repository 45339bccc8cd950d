"""Which parts of a view's output were written, so that missing and foreign parts are noticed.

Law: the sum of the parts up to the last batch is the view's result. A part that is missing, or one too many, makes the
sum wrong for ever. The batches are saved with the engine as ranges: one range for a view that every batch changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class WrittenParts:
    """The batches that left a part, for each view; mutable.

    Args:
        since: The first batch that is covered.

    >>> parts = WrittenParts()
    >>> parts.add(7, ["hop2"])
    >>> parts.add(8, ["hop2", "loops"])
    >>> parts.plain(), list(parts.batches("hop2"))
    ({'since': 0, 'views': {'hop2': [[7, 8]], 'loops': [[8, 8]]}}, [7, 8])
    """

    def __init__(self, since: int = 0) -> None:
        self.since = since
        self._ranges: dict[str, list[list[int]]] = {}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> WrittenParts:
        """The parts from the JSON values of `plain`."""
        parts = cls(values["since"])
        parts._ranges = {view: [[first, last] for first, last in ranges] for view, ranges in values["views"].items()}
        return parts

    def plain(self) -> dict[str, Any]:
        """The parts as JSON values: for each view ranges of batches, both ends included."""
        views = {view: [list(one) for one in ranges] for view, ranges in self._ranges.items()}
        return {"since": self.since, "views": views}

    def add(self, batch_id: int, views: Iterable[str]) -> None:
        """Note the views for which a batch left a part; the batch is later than all before."""
        for view in views:
            ranges = self._ranges.setdefault(view, [])
            if ranges and ranges[-1][1] == batch_id - 1:
                ranges[-1][1] = batch_id
            else:
                ranges.append([batch_id, batch_id])

    def batches(self, view: str, after: int = -1) -> Iterable[int]:
        """The batches after one that left a part of a view, ascending."""
        ranges = self._ranges.get(view, ())
        return (batch for first, last in ranges for batch in range(max(first, after + 1), last + 1))
