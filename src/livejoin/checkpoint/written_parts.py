"""Which parts of a view's output a checkpoint knows to be written: those that are there must be these.

Law: the sum of the parts up to the last batch is the view's result, so that a part which is gone, or is one too many,
makes it wrong for ever. The batches are saved with the engine, as ranges: one for a view that every batch changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class WrittenParts:
    """The batches that left a part, for each view; mutable.

    Args:
        since: The first batch of which it is known.

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
        """The parts of the JSON values that `plain` made."""
        parts = cls(values["since"])
        parts._ranges = {view: [[first, last] for first, last in ranges] for view, ranges in values["views"].items()}
        return parts

    def plain(self) -> dict[str, Any]:
        """The same as JSON values: for each view ranges of batches, both ends in them."""
        views = {view: [list(one) for one in ranges] for view, ranges in self._ranges.items()}
        return {"since": self.since, "views": views}

    def add(self, batch_id: int, views: Iterable[str]) -> None:
        """Note the views of which a batch left a part; it is later than all before."""
        for view in views:
            ranges = self._ranges.setdefault(view, [])
            if ranges and ranges[-1][1] == batch_id - 1:
                ranges[-1][1] = batch_id
            else:
                ranges.append([batch_id, batch_id])

    def batches(self, view: str) -> Iterable[int]:
        """The batches that left a part of a view, ascending."""
        return (batch for first, last in self._ranges.get(view, ()) for batch in range(first, last + 1))
